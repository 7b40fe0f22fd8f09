// fetch_update, a loop of compare-exchanges, releases and acquires.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, wait};
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;

static SHARED: Shared<i32> = Shared::new(0);
static FLAG: AtomicU32 = AtomicU32::new(0);

fn main() {
    let first = thread::spawn(|| {
        unsafe { *SHARED.at() = 1 };
        FLAG.fetch_update(Release, Relaxed, |v| Some(v + 1))
            .unwrap();
        signal(1);
    });
    let second = thread::spawn(|| {
        wait(1);
        FLAG.fetch_update(Relaxed, Acquire, |v| Some(v + 1))
            .unwrap();
        unsafe { *SHARED.at() = 2 };
    });
    first.join().unwrap();
    second.join().unwrap();
}
