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
        while LOCKED.swap(true, Acquire) {}
        unsafe { *SHARED.at() = 1 }; // RACE a
        LOCKED.store(false, Relaxed);
        signal(1);
    });
    let second = thread::spawn(move || {
        wait(1);
        while LOCKED.swap(true, Acquire) {}
        unsafe { *SHARED.at() = 2 }; // RACE a
        LOCKED.store(false, Relaxed);
    });
    first.join().unwrap();
    second.join().unwrap();
}
