// std::sync::Barrier, a hundred rounds; the threads read each other's cells in turn.
// tsan: false alarm (the std that rustup installs is not instrumented, so its synchronisation is not seen)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::Shared;
use std::sync::Barrier;
use std::thread;

static CELLS: [Shared<u64>; 2] = [Shared::new(0), Shared::new(0)];

fn main() {
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        for me in 0..2 {
            let barrier = &barrier;
            scope.spawn(move || {
                for round in 0..100 {
                    unsafe { *CELLS[me].at() = round };
                    barrier.wait();
                    assert_eq!(unsafe { *CELLS[1 - me].at() }, round);
                    barrier.wait();
                }
            });
        }
    });
}
