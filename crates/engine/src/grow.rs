//! A table that grows without moving: readers need no lock, references stay valid.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use once_cell::race::OnceBox;

/// Entries of the first chunk.
pub(crate) const FIRST: usize = 16;
/// Chunks of 16, 16, 32, 64, … entries: enough for 2³² of them.
const CHUNKS: usize = 29;

/// An endless array of `T`, all of them `T::default()` until somebody changes them through `&T`.
pub struct Grow<T> {
    chunks: [OnceBox<Vec<T>>; CHUNKS],
}

impl<T: Default> Grow<T> {
    /// Costs nothing until used.
    pub const fn new() -> Grow<T> {
        Grow {
            chunks: [const { OnceBox::new() }; CHUNKS],
        }
    }

    /// Entry `index`, its chunk allocated if this is the first use.
    #[inline]
    pub fn get(&self, index: u32) -> &T {
        self.get_in(index, defaults)
    }

    /// The same in a chunk that `make` makes, of so many defaults. If these are zeroes, the allocator may have them already: then what is not used
    /// takes no memory.
    #[inline(always)]
    pub fn get_in(&self, index: u32, make: fn(usize) -> Vec<T>) -> &T {
        let (chunk, offset) = place(index);
        let entries = self.chunks[chunk].get_or_init(|| Box::new(make(chunk_len(chunk))));
        &entries[offset]
    }
}

/// So many defaults, one by one.
pub(crate) fn defaults<T: Default>(count: usize) -> Vec<T> {
    let mut entries = Vec::new();
    entries.resize_with(count, T::default);
    entries
}

impl<T: Default> Default for Grow<T> {
    fn default() -> Grow<T> {
        Grow::new()
    }
}

impl<T> fmt::Debug for Grow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Grow { .. }")
    }
}

const fn chunk_len(chunk: usize) -> usize {
    if chunk == 0 {
        FIRST
    } else {
        FIRST << (chunk - 1)
    }
}

#[inline]
const fn place(index: u32) -> (usize, usize) {
    let index = index as usize;
    if index < FIRST {
        return (0, index);
    }
    let chunk = index.ilog2() as usize - FIRST.ilog2() as usize + 1;
    (chunk, index - chunk_len(chunk))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn places_are_dense_and_distinct() {
        let mut expected = (0, 0);
        for index in 0..100_000u32 {
            assert_eq!(place(index), expected);
            expected.1 += 1;
            if expected.1 == chunk_len(expected.0) {
                expected = (expected.0 + 1, 0);
            }
        }
        assert!(place(u32::MAX).0 < CHUNKS);
    }

    #[test]
    fn entries_keep_their_values() {
        let table: Grow<AtomicU32> = Grow::new();
        for i in 0..1000 {
            table.get(i).store(i, Ordering::Relaxed);
        }
        assert!((0..1000).all(|i| table.get(i).load(Ordering::Relaxed) == i));
    }
}
