// `static mut` incremented by two threads, the same line on both sides.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{signal, wait};
use std::thread;

static mut COUNTER: i32 = 0;

#[inline(never)]
fn count() {
    unsafe { *(&raw mut COUNTER) += 1 }; // RACE a
}

fn main() {
    let first = thread::spawn(move || {
        wait(0);
        count();
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        count();
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
