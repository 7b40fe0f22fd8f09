// std::sync::Mutex: a futex lock made of atomics in instrumented std.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{signal, wait};
use std::sync::Mutex;
use std::thread;

static SHARED: Mutex<i32> = Mutex::new(0);

fn main() {
    let first = thread::spawn(|| {
        *SHARED.lock().unwrap() += 1;
        signal(1);
    });
    let second = thread::spawn(|| {
        wait(1);
        *SHARED.lock().unwrap() += 1;
    });
    first.join().unwrap();
    second.join().unwrap();
    assert_eq!(*SHARED.lock().unwrap(), 2);
}
