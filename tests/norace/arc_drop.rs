// The last owner of an Arc drops the value after all uses by the others. std uses a fence there.
// tsan: false alarm (the std that rustup installs is not instrumented, so its synchronisation is not seen)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{signal, use_value, wait};
use std::sync::Arc;
use std::thread;

struct Value([u8; 32]);
impl Drop for Value {
    fn drop(&mut self) {
        self.0[5] = 9;
    }
}

fn main() {
    let first = Arc::new(Value([1; 32]));
    let second = first.clone();
    let a = thread::spawn(move || {
        use_value(first.0[5].into());
        drop(first);
        signal(1);
    });
    let b = thread::spawn(move || {
        wait(1);
        drop(second);
    });
    a.join().unwrap();
    b.join().unwrap();
}
