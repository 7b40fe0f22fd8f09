//! Lists of addresses that a loop has accessed in no order: gathers and scatters, each list one call.
//!
//! # Contract
//!
//! As a check of each entry. Nothing that synchronises lies between the accesses and this, so the order of the entries means nothing:
//! an entry that is the one before it, or its neighbour, is taken together with it.

use core::slice;
use core::sync::atomic::Ordering;

use engine::shadow::Comb;
use event::{AccessKind, Addr};

use crate::analysis::{Analysis, State};
use crate::entry::{quick_words, range_inside};
use crate::few;
use crate::thread::{self, Runtime, Thread};
use crate::tls;
use crate::unwind::caller;

fn gathered(kind: AccessKind, list: *const usize, count: u64, size: u32, pc: usize) {
    let own = tls::own();
    if count == 0 || size == 0 || own.is_alone() || !own.enter() {
        return;
    }
    // SAFETY: the caller's list, which has so many entries.
    let list = unsafe { slice::from_raw_parts(list, count as usize) };
    own.idle.store(0, Ordering::Relaxed);
    if let Some((thread, runtime)) = thread::current() {
        let many = kind == AccessKind::Read && list.len() >= MANY && thread.ignore == [0, 0];
        if !(many && scattered(own, thread, runtime, list, size, pc)) {
            for (at, bytes) in Runs::new(list, size as usize) {
                run(own, thread, runtime, kind, (at, bytes), size, pc);
            }
        }
    }
    own.leave();
}

/// A list of so many reads is remembered.
const MANY: usize = 64;

/// Checks reads that the thread remembers, with a detector that has locations by word.
fn scattered(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    list: &[usize],
    size: u32,
    pc: usize,
) -> bool {
    match size {
        1 => scattered_of::<0>(own, thread, runtime, list, pc),
        2 => scattered_of::<1>(own, thread, runtime, list, pc),
        4 => scattered_of::<2>(own, thread, runtime, list, pc),
        8 => scattered_of::<3>(own, thread, runtime, list, pc),
        _ => false,
    }
}

/// The same for elements of 2 to the power of `SHIFT` bytes.
#[inline(never)]
fn scattered_of<const SHIFT: u32>(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    list: &[usize],
    pc: usize,
) -> bool {
    let Analysis::FastTrack(detector) = &runtime.analysis else {
        return false;
    };
    let shadow = detector.shadow();
    let mut rest = list;
    loop {
        let State::FastTrack(precise) = &mut thread.state else {
            return false;
        };
        rest = &rest[shadow.scattered::<SHIFT>(precise, rest)..];
        let Some((&at, others)) = rest.split_first() else {
            return true;
        };
        let read = shadow.begin_scattered::<SHIFT>(precise, Addr(at as u64));
        one(own, thread, runtime, AccessKind::Read, at, 1 << SHIFT, pc);
        if let State::FastTrack(precise) = &mut thread.state {
            shadow.keep_scattered(precise, read);
        }
        rest = others;
    }
}

/// A read that is not remembered.
#[inline(never)]
fn one(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    at: usize,
    size: u32,
    pc: usize,
) {
    run(own, thread, runtime, kind, (at, size as usize), size, pc);
}

/// Checks neighbours of `size` bytes each.
#[inline(always)]
fn run(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    (at, bytes): (usize, usize),
    size: u32,
    pc: usize,
) {
    if at % 8 + bytes <= 8 {
        return few::one(own, thread, runtime, kind, (at, bytes as u32), pc);
    }
    many(own, thread, runtime, kind, (at, bytes), size, pc);
}

/// The same for more than a word has.
#[inline(never)]
fn many(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    (at, bytes): (usize, usize),
    size: u32,
    pc: usize,
) {
    let aligned = at.is_multiple_of(size as usize) && size <= 8;
    if aligned && (bytes < SHORTEST || !matches!(runtime.analysis, Analysis::FastTrack(_))) {
        for at in (at..at + bytes).step_by(size as usize) {
            run(own, thread, runtime, kind, (at, size as usize), size, pc);
        }
        return;
    }
    let words = Comb {
        first: Addr(at as u64),
        count: bytes as u64 / 8,
        period: 1,
        mask: 0xFF,
    };
    let whole = (at | bytes).is_multiple_of(8);
    if !(whole && quick_words(thread, runtime, kind, words, pc)) {
        range_inside(thread, runtime, kind, at as u64, bytes as u64, pc);
        thread.show(own);
    }
}

/// Bytes of neighbours that are worth being a range.
const SHORTEST: usize = 128;

/// The entries of a list, those together that follow each other and are the same or neighbours: where they begin and how many bytes
/// they have.
struct Runs<'a> {
    list: &'a [usize],
    size: usize,
}

impl<'a> Runs<'a> {
    fn new(list: &'a [usize], size: usize) -> Runs<'a> {
        Runs { list, size }
    }
}

impl Iterator for Runs<'_> {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, usize)> {
        let (&first, mut rest) = self.list.split_first()?;
        let mut last = first;
        while let Some((&next, others)) = rest.split_first() {
            // Upwards, and not past the end of all addresses.
            let on = next.wrapping_sub(last);
            if on != 0 && on != self.size || next < last {
                break;
            }
            last = next;
            rest = others;
        }
        self.list = rest;
        Some((first, last - first + self.size))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_read_gathered(list: *const usize, count: u64, size: u32) {
    gathered(AccessKind::Read, list, count, size, caller!());
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_write_gathered(list: *const usize, count: u64, size: u32) {
    gathered(AccessKind::Write, list, count, size, caller!());
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    /// Runs have the bytes of their entries, and no others.
    #[test]
    fn runs_are_the_entries() {
        let lists: [&[usize]; 7] = [
            &[],
            &[8],
            &[8, 8, 8, 16, 24, 24, 16],
            &[24, 16, 8, 16, 24, 40],
            &[0, 4, 8, 12, 20, 28, 36],
            &[usize::MAX - 15, usize::MAX - 7, 0, 8],
            &[3, 11, 19, 12, 20, 5],
        ];
        for list in lists {
            for size in [1, 2, 4, 8] {
                let bytes = |at: usize, n: usize| (0..n).map(move |byte| at.wrapping_add(byte));
                let expected: BTreeSet<usize> =
                    list.iter().flat_map(|at| bytes(*at, size)).collect();
                let runs: Vec<(usize, usize)> = Runs::new(list, size).collect();
                let found: BTreeSet<usize> =
                    runs.iter().flat_map(|(at, n)| bytes(*at, *n)).collect();
                assert_eq!(found, expected, "{list:?} {size}");
                assert!(runs.iter().all(|(at, n)| at.checked_add(n - 1).is_some()));
            }
        }
        assert_eq!(Runs::new(&[8, 8, 16, 24, 24, 8], 8).count(), 2);
    }
}
