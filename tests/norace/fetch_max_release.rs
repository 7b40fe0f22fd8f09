// fetch_max with Release hands over.
// tsan: false alarm (atomic min and max are not instrumented)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, wait};
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Release},
};
use std::thread;

static SHARED: Shared<i32> = Shared::new(0);
static FLAG: AtomicU32 = AtomicU32::new(0);

fn main() {
    let first = thread::spawn(|| {
        unsafe { *SHARED.at() = 1 };
        FLAG.fetch_max(5, Release);
        signal(1);
    });
    let second = thread::spawn(|| {
        wait(1);
        assert_eq!(FLAG.load(Acquire), 5);
        unsafe { *SHARED.at() = 2 };
    });
    first.join().unwrap();
    second.join().unwrap();
}
