// ptr::copy_nonoverlapping reads 400 bytes, of which the other thread has written four.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Sent, signal, use_value, wait};
use std::thread;

fn main() {
    let base = Sent(vec![0_i32; 100].leak().as_mut_ptr());
    let first = thread::spawn(move || {
        wait(0);
        unsafe { *base.at().add(99) = 1 }; // RACE a
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        let mut copy = [0_i32; 100];
        unsafe { std::ptr::copy_nonoverlapping(base.at(), copy.as_mut_ptr(), 100) }; // RACE a
        use_value(copy[99].into());
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
