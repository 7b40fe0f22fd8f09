//! A program that runs by itself shows its races at the end, through the tool that built it.

use alloc::format;

use crate::analysis::State;
use crate::{records, sys, thread};

/// Tells the user where the records are, if `footrace run` does not already.
pub fn at_exit() {
    let Some(runtime) = thread::runtime() else {
        return;
    };
    if records::count() == 0 || !runtime.options.records.is_empty() {
        return;
    }
    let path = records::path();
    sys::write_all(2, b"footrace: data races found, recorded in ");
    sys::write_all(2, path.as_bytes());
    sys::write_all(2, b"; show them with: footrace show ");
    sys::write_all(2, path.as_bytes());
    sys::write_all(2, b"\n");
}

/// `stats=1`: how often each rule fired for the thread that ends the process.
pub fn counters(state: &State) {
    state.counters(&mut |rule, count| {
        sys::write_all(2, format!("footrace: {rule} {count}\n").as_bytes());
    });
    let mapped = crate::memory::mapped();
    sys::write_all(
        2,
        format!("footrace: runtime memory {mapped} bytes\n").as_bytes(),
    );
}
