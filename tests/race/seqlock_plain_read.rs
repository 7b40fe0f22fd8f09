// A sequence lock whose data are plain: reading during a write is a race, even if the value is thrown away.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, use_value, wait};
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed},
};
use std::thread;

static SHARED: Shared<i32> = Shared::new(0);
static SEQUENCE: AtomicU32 = AtomicU32::new(0);

fn main() {
    let first = thread::spawn(move || {
        wait(0);
        SEQUENCE.store(1, Relaxed);
        unsafe { *SHARED.at() = 1 }; // RACE a
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        let before = SEQUENCE.load(Acquire);
        let value = unsafe { *SHARED.at() }; // RACE a
        if before % 2 == 0 && before == SEQUENCE.load(Acquire) {
            use_value(value.into());
        }
        use_value(value.into());
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
