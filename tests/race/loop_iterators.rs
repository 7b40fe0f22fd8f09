// Iterators of all kinds over a slice that another thread has written to: forwards, backwards, by steps, in chunks, two at a time.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Sent, signal, use_value, wait};
use std::thread;

const N: usize = 600;

fn fresh() -> Sent<i32> {
    Sent(vec![0; N].leak().as_mut_ptr())
}

fn slice(from: Sent<i32>) -> &'static mut [i32] {
    // A second reference to the same memory: what safe Rust forbids, and what the test is about.
    unsafe { std::slice::from_raw_parts_mut(from.at(), N) }
}

fn main() {
    let (forwards, backwards, stepped, chunked, zipped) = (fresh(), fresh(), fresh(), fresh(), fresh());
    let untouched = fresh();
    let first = thread::spawn(move || {
        wait(0);
        slice(forwards)[17] = 1; // RACE a
        slice(backwards)[18] = 1; // RACE b
        slice(stepped)[21] = 1; // RACE c
        slice(stepped)[22] = 1;
        slice(chunked)[599] = 1; // RACE d
        slice(zipped)[0] = 1; // RACE e
        slice(untouched)[300] = 1;
        signal(1);
        wait(9);
    });
    let second = thread::spawn(move || {
        signal(0);
        wait(1);
        for number in slice(forwards).iter_mut() {
            *number += 1; // RACE a
        }
        for i in (0..N).rev() {
            slice(backwards)[i] = 7; // RACE b
        }
        for i in (0..N).step_by(3) {
            slice(stepped)[i] = 7; // RACE c
        }
        for chunk in slice(chunked).chunks_mut(100) {
            for number in chunk {
                *number = 7; // RACE d
            }
        }
        let mut sum = 0;
        for (a, b) in slice(zipped).iter().zip(slice(untouched)[..300].iter()) {
            sum += i64::from(*a * *b); // RACE e
        }
        use_value(sum);
        signal(9);
    });
    first.join().unwrap();
    second.join().unwrap();
}
