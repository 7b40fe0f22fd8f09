// Condvar: wait, wait_while and wait_timeout_while.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

fn main() {
    let state = Arc::new((Mutex::new(0), Condvar::new()));
    let theirs = state.clone();
    let other = thread::spawn(move || {
        let (turn, changed) = &*theirs;
        let mut guard = changed
            .wait_while(turn.lock().unwrap(), |t| *t != 1)
            .unwrap();
        *guard = 2;
        changed.notify_all();
        let (mut guard, timeout) = changed
            .wait_timeout_while(guard, Duration::from_secs(3600), |t| *t != 3)
            .unwrap();
        assert!(!timeout.timed_out());
        *guard = 4;
        changed.notify_all();
    });
    let (turn, changed) = &*state;
    *turn.lock().unwrap() = 1;
    changed.notify_one();
    let mut guard = turn.lock().unwrap();
    while *guard != 2 {
        guard = changed.wait(guard).unwrap();
    }
    *guard = 3;
    changed.notify_all();
    drop(changed.wait_while(guard, |t| *t != 4).unwrap());
    other.join().unwrap();
}
