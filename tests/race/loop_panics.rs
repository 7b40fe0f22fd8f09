// A loop ends by a panic, of an index out of bounds or of a function that it calls; somebody catches it. What was written until then
// races.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Sent, signal, wait};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

const N: usize = 200;

fn fresh() -> Sent<i32> {
    Sent(vec![0; N].leak().as_mut_ptr())
}

fn slice(from: Sent<i32>, length: usize) -> &'static mut [i32] {
    // A second reference to the same memory: what safe Rust forbids, and what the test is about.
    unsafe { std::slice::from_raw_parts_mut(from.at(), length) }
}

#[inline(never)]
fn refuse(i: usize, limit: usize) {
    assert!(i != limit, "that is enough");
}

fn main() {
    let (bounds, called, beyond) = (fresh(), fresh(), fresh());
    let first = thread::spawn(move || {
        wait(0);
        slice(bounds, N)[99] = 1; // RACE a
        slice(bounds, N)[100] = 1;
        slice(called, N)[100] = 1; // RACE b
        slice(beyond, N)[100] = 1;
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        std::panic::set_hook(Box::new(|_| {}));
        let (end, limit) = (black_box(N), black_box(100));
        let caught = |body: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
        caught(&|| {
            let short = slice(bounds, limit);
            for i in 0..end {
                short[i] = 7; // RACE a
            }
        });
        caught(&|| {
            for i in 0..end {
                slice(called, N)[i] = 7; // RACE b
                refuse(i, limit);
            }
        });
        caught(&|| {
            for i in 0..end {
                refuse(i, limit);
                slice(beyond, N)[i] = 7;
            }
        });
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
