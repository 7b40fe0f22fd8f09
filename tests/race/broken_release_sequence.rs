// A relaxed store by a third thread ends the release sequence.
// tsan: misses (its relaxed store leaves the release clock in place)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, wait};
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;

static SHARED: Shared<i32> = Shared::new(0);
static FLAG: AtomicU32 = AtomicU32::new(0);

fn main() {
    let first = thread::spawn(move || {
        wait(0);
        unsafe { *SHARED.at() = 1 }; // RACE a
        FLAG.store(1, Release);
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(2);
        if FLAG.load(Acquire) == 2 {
            unsafe { *SHARED.at() = 2 }; // RACE a
        }
        signal(9);
    });
    let breaker = thread::spawn(|| {
        wait(1);
        FLAG.store(2, Relaxed);
        signal(2);
    });
    breaker.join().unwrap();
    first.join().unwrap();
    second.join().unwrap();
}
