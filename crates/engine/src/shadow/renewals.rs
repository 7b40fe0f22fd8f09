//! Whether memory has become fresh since somebody wanted to know.
//!
//! A thread that remembers by itself what it read ([`Repeats`](super::Repeats)) must be told when these bytes become fresh: an access from
//! before says nothing about one after. Memory is divided into regions, and regions share counters by their number; two that share one cost some
//! repeated work, never a race.
//!
//! **Who may touch what.** A counter is odd while somebody watches it. Who wants to remember makes it odd, if it is not, *before* its access is
//! recorded; who makes bytes fresh looks at it *after* they are, and makes it the next even number if it is odd. The two meet at each location, which is locked by
//! both: if the record came first and is gone, then the counter was odd when it was looked at, and has another value now. If it
//! came second, it is there. So memory that is handed out all the time but never read by ranges costs a load. A thread that still
//! sees the old value makes its access before the memory is handed out.

use alloc::boxed::Box;

use event::Addr;

use crate::boxed::boxed_with;
use crate::lock::{AtomicU64, Ordering};

const REGION_SHIFT: u32 = 20;
#[cfg(not(loom))]
const COUNTERS: u64 = 256;
/// The model forgets nothing, so there had better be little.
#[cfg(loom)]
const COUNTERS: u64 = 1;

/// The counters of all regions. A line for each: they are read all the time by those who repeat accesses.
#[derive(Debug)]
pub(super) struct Renewals {
    counters: Box<[Counter; COUNTERS as usize]>,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Counter(AtomicU64);

/// What was seen of the regions of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Watch([u64; 2]);

impl Renewals {
    pub(super) fn new() -> Renewals {
        Renewals {
            counters: boxed_with(Counter::default),
        }
    }

    fn counter(&self, region: u64) -> &AtomicU64 {
        &self.counters[(region % COUNTERS) as usize].0
    }

    /// Bytes that one watch can be over: in two regions.
    pub(super) const fn is_near(first: u64, last: u64) -> bool {
        (last >> REGION_SHIFT) - (first >> REGION_SHIFT) <= 1
    }

    /// Watches the bytes from `first` to `last`, which are [near](Renewals::is_near).
    #[inline(always)]
    pub(super) fn watch(&self, first: u64, last: u64) -> Watch {
        Watch([first, last].map(|at| {
            let counter = self.counter(at >> REGION_SHIFT);
            let seen = counter.load(Ordering::Acquire);
            if seen % 2 == 1 {
                seen
            } else {
                counter.fetch_or(1, Ordering::AcqRel) | 1
            }
        }))
    }

    /// Are they what they were since that watch?
    #[inline(always)]
    pub(super) fn is_still(&self, first: u64, last: u64, watch: Watch) -> bool {
        let is = |at: u64, seen| {
            let counter = self.counter(at >> REGION_SHIFT);
            counter.load(Ordering::Acquire) == seen
        };
        is(first, watch.0[0]) && is(last, watch.0[1])
    }

    /// For who asks of one byte after the other.
    #[inline(always)]
    pub(super) fn counters(&self) -> Counters<'_> {
        Counters(&self.counters)
    }

    /// These bytes are fresh now.
    pub(super) fn renewed(&self, addr: Addr, bytes: u64) {
        let Some(rest) = bytes.checked_sub(1) else {
            return;
        };
        let first = addr.0 >> REGION_SHIFT;
        let last = addr.0.saturating_add(rest) >> REGION_SHIFT;
        for region in 0..=(last - first).min(COUNTERS - 1) {
            let counter = self.counter(first + region);
            let seen = counter.load(Ordering::Acquire);
            if seen % 2 == 1 {
                // Whoever fails here was not first, and the number is another one all the same.
                let _ =
                    counter.compare_exchange(seen, seen + 1, Ordering::AcqRel, Ordering::Acquire);
            }
        }
    }
}

/// The counters themselves.
#[derive(Clone, Copy)]
pub(super) struct Counters<'a>(&'a [Counter; COUNTERS as usize]);

impl Counters<'_> {
    /// Is a byte what it was since a watch of no other region?
    #[inline(always)]
    pub(super) fn is_still(self, at: u64, watch: Watch) -> bool {
        let counter = &self.0[((at >> REGION_SHIFT) % COUNTERS) as usize].0;
        counter.load(Ordering::Acquire) == watch.0[0]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const REGION: u64 = 1 << REGION_SHIFT;

    #[test]
    fn who_watches_is_told() {
        let renewals = Renewals::new();
        let (first, last) = (REGION - 8, REGION + 7);
        assert!(Renewals::is_near(first, last));
        assert!(!Renewals::is_near(first, last + REGION));
        let watch = renewals.watch(first, last);
        assert!(renewals.is_still(first, last, watch));
        renewals.renewed(Addr(2 * REGION), 100);
        renewals.renewed(Addr(first), 0);
        assert!(renewals.is_still(first, last, watch));
        for at in [0, REGION] {
            let watch = renewals.watch(first, last);
            assert_eq!(watch, renewals.watch(first, last));
            renewals.renewed(Addr(at), 1);
            assert!(!renewals.is_still(first, last, watch));
            // Nobody watches: nothing changes, and the old number does not come back.
            renewals.renewed(Addr(at), 1);
            assert!(!renewals.is_still(first, last, watch));
        }
        let watch = renewals.watch(first, last);
        renewals.renewed(Addr(3), u64::MAX);
        assert!(!renewals.is_still(first, last, watch));
    }
}
