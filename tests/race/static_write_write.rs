// Two threads write a static through an UnsafeCell without any lock.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, wait};
use std::thread;

static SHARED: Shared<i32> = Shared::new(0);

fn main() {
    let first = thread::spawn(move || {
        wait(0);
        unsafe { *SHARED.at() = 1 }; // RACE a
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        unsafe { *SHARED.at() = 2 }; // RACE a
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
