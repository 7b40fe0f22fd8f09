// Race, then panic: the report is there although the process ends with the code of a panic.
// exit: 101
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, wait};
use std::thread;

static SHARED: Shared<i32> = Shared::new(0);

fn main() {
    let first = thread::spawn(|| {
        unsafe { *SHARED.at() = 1 }; // RACE a
        signal(1);
    });
    wait(1);
    unsafe { *SHARED.at() = 2 }; // RACE a
    first.join().unwrap();
    panic!("after the race");
}
