// One thread uses AtomicI32::from_ptr, the other the plain integer.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, wait};
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
use std::thread;

static SHARED: Shared<i32> = Shared::new(0);

fn main() {
    let first = thread::spawn(move || {
        wait(0);
        unsafe { AtomicI32::from_ptr(SHARED.at()) }.store(1, SeqCst); // RACE a
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
