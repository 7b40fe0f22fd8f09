// Scoped threads may borrow, but not behind the borrow checker's back.
// tsan: false alarm (the std that rustup installs is not instrumented, so its synchronisation is not seen)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, wait};
use std::thread;

fn main() {
    let shared = Shared::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            wait(0);
            unsafe { *shared.at() = 1 }; // RACE a
            signal(1);
            wait(9);
        });
        scope.spawn(|| {
            signal(0);
            wait(1);
            unsafe { *shared.at() = 2 }; // RACE a
            signal(9);
        });
    });
}
