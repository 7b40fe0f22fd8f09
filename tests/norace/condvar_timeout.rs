// Condvar::wait_timeout runs out: the Mutex was free meanwhile.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

fn main() {
    let (value, never) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let guard = value.lock().unwrap();
            let (mut guard, _) = never.wait_timeout(guard, Duration::from_millis(5)).unwrap();
            *guard += 1;
        });
        scope.spawn(|| *value.lock().unwrap() += 1);
    });
    assert_eq!(value.into_inner().unwrap(), 2);
}
