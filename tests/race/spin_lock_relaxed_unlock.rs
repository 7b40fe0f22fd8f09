// A spin lock whose unlock is relaxed: it excludes, but it does not publish.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, wait};
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed},
};
use std::thread;

static SHARED: Shared<i32> = Shared::new(0);
static LOCKED: AtomicBool = AtomicBool::new(false);

fn main() {
    let first = thread::spawn(move || {
        wait(0);
        while LOCKED.swap(true, Acquire) {}
        unsafe { *SHARED.at() = 1 }; // RACE a
        LOCKED.store(false, Relaxed);
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        while LOCKED.swap(true, Acquire) {}
        unsafe { *SHARED.at() = 2 }; // RACE a
        LOCKED.store(false, Relaxed);
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
