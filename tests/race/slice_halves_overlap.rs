// A slice is split by hand, one element too far: both threads write element 50.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Sent, signal, wait};
use std::thread;

fn main() {
    let numbers: &'static mut [i32] = vec![0; 100].leak();
    let base = Sent(numbers.as_mut_ptr());
    let first = thread::spawn(move || {
        wait(0);
        for i in 0..=50 {
            unsafe { *base.at().add(i) = 1 }; // RACE a
        }
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        for i in 50..100 {
            unsafe { *base.at().add(i) = 2 }; // RACE a
        }
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
