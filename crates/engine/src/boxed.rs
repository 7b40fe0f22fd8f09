//! Large arrays of a thread or a page. Threads of libc's own have stacks of 16 KiB, and the runtime works on them: nothing large
//! may pass over a stack on its way to the heap.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// An array that was never on the stack.
pub(crate) fn boxed_with<T, const N: usize>(make: impl FnMut() -> T) -> Box<[T; N]> {
    let mut all = Vec::with_capacity(N);
    all.resize_with(N, make);
    match all.into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("exactly N elements were made"),
    }
}
