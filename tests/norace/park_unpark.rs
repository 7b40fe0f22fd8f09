// thread::park returns after unpark and sees what was written before it.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::Shared;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

static READY: AtomicBool = AtomicBool::new(false);
static SHARED: Shared<i32> = Shared::new(0);

fn main() {
    let sleeper = thread::spawn(|| {
        while !READY.load(Relaxed) {
            thread::park();
        }
        // Only the token that unpark left orders this: the flag is relaxed.
        thread::park();
        unsafe { *SHARED.at() += 1 };
    });
    unsafe { *SHARED.at() = 1 };
    READY.store(true, Relaxed);
    sleeper.thread().unpark();
    wait_for_token(&sleeper);
    sleeper.join().unwrap();
}

/// The sleeper may have used the first token in its loop: give it another for its second park.
fn wait_for_token(sleeper: &thread::JoinHandle<()>) {
    while !sleeper.is_finished() {
        sleeper.thread().unpark();
        thread::yield_now();
    }
}
