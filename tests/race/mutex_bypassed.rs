// One thread locks the mutex, the other goes around it with a raw pointer.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Sent, signal, wait};
use std::sync::Mutex;
use std::thread;

static SHARED: Mutex<i32> = Mutex::new(0);

fn main() {
    let pointer = {
        let mut guard = SHARED.lock().unwrap();
        Sent(&raw mut *guard)
    };
    let first = thread::spawn(move || {
        wait(0);
        *SHARED.lock().unwrap() = 1; // RACE a
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        unsafe { *pointer.at() = 2 }; // RACE a
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
