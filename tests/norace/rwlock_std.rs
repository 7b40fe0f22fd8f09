// std::sync::RwLock: writer, readers, writer.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{signal, use_value, wait};
use std::sync::RwLock;
use std::thread;

static SHARED: RwLock<i32> = RwLock::new(0);

fn main() {
    let writer = thread::spawn(|| {
        *SHARED.write().unwrap() = 1;
        signal(1);
        wait(2);
        *SHARED.write().unwrap() = 2;
    });
    let reader = thread::spawn(|| {
        wait(1);
        use_value((*SHARED.read().unwrap()).into());
        signal(2);
    });
    writer.join().unwrap();
    reader.join().unwrap();
}
