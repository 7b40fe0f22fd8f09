// Lazy initialisation with a relaxed pointer: the pointer arrives, what it points to need not.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Sent, signal, use_value, wait};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use std::thread;

static INSTANCE: AtomicPtr<i64> = AtomicPtr::new(std::ptr::null_mut());

fn main() {
    let value = Sent(Box::into_raw(Box::new(0_i64)));
    let first = thread::spawn(move || {
        wait(0);
        unsafe { *value.at() = 7 }; // RACE a
        INSTANCE.store(value.at(), Relaxed);
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        let found = INSTANCE.load(Relaxed);
        if !found.is_null() {
            use_value(unsafe { *found }); // RACE a
        }
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
