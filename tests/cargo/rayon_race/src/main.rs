// Two tasks of a rayon pool write one variable behind the borrow checker's back. Each waits until the other runs, so they
// are on different threads.
// verdict: race
// timeout: 120
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
#[path = "../../../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, wait};

static SHARED: Shared<u64> = Shared::new(0);

fn main() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    pool.scope(|scope| {
        scope.spawn(|_| {
            signal(1);
            wait(2);
            unsafe { *SHARED.at() = 1 }; // RACE a
            signal(3);
        });
        scope.spawn(|_| {
            wait(1);
            signal(2);
            wait(3);
            unsafe { *SHARED.at() = 2 }; // RACE a
        });
    });
}
