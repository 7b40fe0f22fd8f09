// A home-made reference count that is decremented with Relaxed: the last owner frees what another one has just used.
// tsan: misses (the count itself: of two atomic operations it keeps one)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Sent, signal, use_value, wait};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

struct Counted {
    count: AtomicUsize,
    value: i64,
}

fn main() {
    let pointer = Sent(Box::into_raw(Box::new(Counted {
        count: AtomicUsize::new(2),
        value: 5,
    })));
    let first = thread::spawn(move || {
        wait(0);
        use_value(unsafe { (*pointer.at()).value }); // RACE a
        unsafe { (*pointer.at()).count.fetch_sub(1, Relaxed) }; // RACE b
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        if unsafe { (*pointer.at()).count.fetch_sub(1, Relaxed) } == 1 {
            drop(unsafe { Box::from_raw(pointer.at()) }); // RACE a b
        }
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
