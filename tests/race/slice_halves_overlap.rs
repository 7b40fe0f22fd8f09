// A slice is split by hand, one element too far: both threads write element 50.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Sent, signal, wait};
use std::thread;

fn main() {
    let numbers: &'static mut [i32] = vec![0; 100].leak();
    let base = Sent(numbers.as_mut_ptr());
    let first = thread::spawn(move || {
        for i in 0..=50 {
            unsafe { *base.at().add(i) = 1 }; // RACE a
        }
        signal(1);
    });
    let second = thread::spawn(move || {
        wait(1);
        for i in 50..100 {
            unsafe { *base.at().add(i) = 2 }; // RACE a
        }
    });
    first.join().unwrap();
    second.join().unwrap();
}
