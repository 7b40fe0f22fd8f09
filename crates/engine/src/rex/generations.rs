//! When memory was last handed out.
//!
//! `Alloc` makes bytes fresh: an access from before it says nothing about one after it, even to the
//! same thread in the same span. A counter per hashed 256-byte region goes up with each `Alloc` that
//! touches it; the sum over the regions of an access is unchanged if and only if none of them
//! changed. Two blocks may share a counter, which costs some filtering, never a race.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering};
use event::Addr;

const REGION_SHIFT: u32 = 8;
const REGIONS: u64 = 4096;

#[derive(Debug)]
pub(crate) struct Generations {
    counters: Box<[AtomicU64]>,
}

impl Generations {
    pub(crate) fn new() -> Self {
        Generations {
            counters: (0..REGIONS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn of(&self, addr: Addr, bytes: u64) -> impl Iterator<Item = &AtomicU64> {
        let first = addr.0 >> REGION_SHIFT;
        let last = addr.0.saturating_add(bytes.saturating_sub(1)) >> REGION_SHIFT;
        // Region r uses counter r mod REGIONS: REGIONS consecutive regions use every counter once.
        (0..=(last - first).min(REGIONS - 1))
            .map(move |i| &self.counters[((first + i) % REGIONS) as usize])
    }

    /// These bytes have become fresh. To be called after the detector behind the filter has been
    /// told: an access that still sees the old generation comes before the `Alloc`, and whatever it
    /// is compared with was not erased by it.
    pub(crate) fn renew(&self, addr: Addr, bytes: u64) {
        if bytes > 0 {
            for counter in self.of(addr, bytes) {
                counter.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    /// A number that changes when one of these bytes becomes fresh.
    pub(crate) fn current(&self, addr: Addr, bytes: u64) -> u64 {
        self.of(addr, bytes)
            .map(|counter| counter.load(Ordering::Acquire))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_handed_out_changes() {
        let generations = Generations::new();
        let before = [0, 255, 256, 511, 512].map(|a| generations.current(Addr(a), 1));
        let across = generations.current(Addr(500), 24);
        generations.renew(Addr(256), 256);
        let after = [0, 255, 256, 511, 512].map(|a| generations.current(Addr(a), 1));
        assert_eq!(
            core::array::from_fn(|i| before[i] == after[i]),
            [true, true, false, false, true]
        );
        assert_ne!(across, generations.current(Addr(500), 24));
        generations.renew(Addr(0), 0);
        assert_eq!(after[0], generations.current(Addr(0), 1));
    }

    #[test]
    fn huge_blocks_change_everything_once() {
        let generations = Generations::new();
        generations.renew(Addr(1 << 30), u64::MAX);
        assert_eq!(generations.current(Addr(12345), 1), 1);
        assert_eq!(generations.current(Addr(0), u64::MAX), REGIONS);
    }
}
