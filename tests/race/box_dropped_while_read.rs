// One thread frees a Box that another one has read.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Sent, signal, use_value, wait};
use std::thread;

fn main() {
    let pointer = Sent(Box::into_raw(Box::new(5_i64)));
    let first = thread::spawn(move || {
        wait(0);
        use_value(unsafe { pointer.at().read() }); // RACE a
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        drop(unsafe { Box::from_raw(pointer.at()) }); // RACE a
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
