// Weak::upgrade races with the drop of the last Arc, safely.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{signal, wait};
use std::sync::Arc;
use std::thread;

fn main() {
    let strong = Arc::new(vec![1, 2, 3]);
    let weak = Arc::downgrade(&strong);
    let other = thread::spawn(move || {
        let seen = weak.upgrade().map(|v| v.len());
        signal(1);
        wait(2);
        assert!(weak.upgrade().is_none());
        seen
    });
    wait(1);
    drop(strong);
    signal(2);
    assert_eq!(other.join().unwrap(), Some(3));
}
