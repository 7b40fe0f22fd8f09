// Rc is cloned by two threads (a wrapper lied about Send): its counter is not atomic.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Sent, signal, wait};
use std::rc::Rc;
use std::thread;

fn main() {
    let rc = Sent(Box::into_raw(Box::new(Rc::new(1))));
    let first = thread::spawn(move || {
        wait(0);
        let _copy = std::mem::ManuallyDrop::new(unsafe { (*rc.at()).clone() }); // RACE a
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        let _copy = std::mem::ManuallyDrop::new(unsafe { (*rc.at()).clone() }); // RACE a
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
