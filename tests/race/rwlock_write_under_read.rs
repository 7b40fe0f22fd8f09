// Both threads hold the RwLock for reading and write through a raw pointer.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, wait};
use std::sync::RwLock;
use std::thread;

static LOCK: RwLock<()> = RwLock::new(());
static SHARED: Shared<i32> = Shared::new(0);

fn main() {
    let first = thread::spawn(move || {
        wait(0);
        let _guard = LOCK.read().unwrap();
        unsafe { *SHARED.at() = 1 }; // RACE a
        signal(1);
        // Giving the read lock back before the other takes it would order the two: std releases there.
        wait(2);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        let _guard = LOCK.read().unwrap();
        unsafe { *SHARED.at() = 2 }; // RACE a
        signal(2);
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
