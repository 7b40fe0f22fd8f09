// Four threads contend for one Mutex: the slow path of the futex lock.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::sync::Mutex;
use std::thread;

fn main() {
    let total = Mutex::new(0_u64);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    *total.lock().unwrap() += 1;
                }
            });
        }
    });
    assert_eq!(total.into_inner().unwrap(), 8000);
}
