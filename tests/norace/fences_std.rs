// std::sync::atomic::fence on both sides.
// tsan: false alarm (fences are not modelled)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, wait};
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};
use std::thread;

static SHARED: Shared<i32> = Shared::new(0);
static FLAG: AtomicBool = AtomicBool::new(false);

fn main() {
    let first = thread::spawn(|| {
        unsafe { *SHARED.at() = 1 };
        fence(Release);
        FLAG.store(true, Relaxed);
        signal(1);
    });
    let second = thread::spawn(|| {
        wait(1);
        assert!(FLAG.load(Relaxed));
        fence(Acquire);
        unsafe { *SHARED.at() = 2 };
    });
    first.join().unwrap();
    second.join().unwrap();
}
