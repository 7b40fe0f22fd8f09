//! What became of the arrays of an allocation site: those of a site whose arrays end FINE anyway may begin so.
//!
//! An array that ends FINE costs what plain memory costs, and its entry, its place in the directory and its footprints on top. A site that allocates small
//! nodes does so all the time. No verdict depends on it: FINE is the most precise partition, and what is not compressed cannot be compressed wrongly. One in
//! [`AGAIN`] is an array all the same, so that a site of which something else becomes is found out.

use crate::lock::{AtomicU64, Ordering::Relaxed};
use event::Site;

const SITES: usize = 64;
/// So many arrays of a site must have become FINE, and [`MORE`] times as many as did not.
const ENOUGH: u64 = 32;
const MORE: u64 = 16;
const AGAIN: u64 = 32;
/// Bits of a count.
const COUNT: u32 = 14;
const MOST: u64 = (1 << COUNT) - 1;

/// The fates of some sites' arrays, by a hash of the site: the site (32 bits), log2 of the bytes in an element of the last one (4), how many ended FINE and how many did not. They
/// are guesses, so nobody minds if two threads that count at once count one.
pub(super) struct Fates([AtomicU64; SITES]);

/// What is known of a site.
#[derive(Clone, Copy, Default)]
struct Fate {
    shift: u8,
    fine: u64,
    other: u64,
}

impl Fates {
    pub(super) fn new() -> Self {
        Fates(core::array::from_fn(|_| AtomicU64::new(0)))
    }

    fn cell(&self, site: Site) -> &AtomicU64 {
        &self.0[(site.0.wrapping_mul(0x9E37_79B1) >> 26) as usize % SITES]
    }

    fn get(&self, site: Site) -> Fate {
        let word = self.cell(site).load(Relaxed);
        if word >> 32 != u64::from(site.0) {
            return Fate::default();
        }
        Fate {
            shift: (word >> (2 * COUNT)) as u8 & 15,
            fine: word >> COUNT & MOST,
            other: word & MOST,
        }
    }

    fn set(&self, site: Site, mut fate: Fate) {
        if fate.fine.max(fate.other) > MOST {
            fate.fine /= 2;
            fate.other /= 2;
        }
        let counts = u64::from(fate.shift) << (2 * COUNT) | fate.fine << COUNT | fate.other;
        self.cell(site)
            .store(u64::from(site.0) << 32 | counts, Relaxed);
    }

    /// An array of `site` became FINE, with elements of `1 << shift` bytes.
    pub(super) fn became_fine(&self, site: Site, shift: u8) {
        let mut fate = self.get(site);
        fate.fine += 1;
        fate.shift = shift;
        self.set(site, fate);
    }

    /// An array of `site` is no more, and never was FINE, or its elements were checked by ranges to the end.
    pub(super) fn stayed(&self, site: Site) {
        let mut fate = self.get(site);
        fate.other += 1;
        self.set(site, fate);
    }

    /// May a new array of `site` be FINE from the beginning? If so, log2 of the bytes in an element, as far as can be told.
    pub(super) fn foretold(&self, site: Site) -> Option<u8> {
        let mut fate = self.get(site);
        if fate.fine < ENOUGH || fate.fine < MORE * fate.other {
            return None;
        }
        fate.fine += 1;
        self.set(site, fate);
        (!fate.fine.is_multiple_of(AGAIN)).then_some(fate.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_told_apart_and_may_change() {
        let fates = Fates::new();
        let (nodes, rows) = (Site(7), Site(1 << 20));
        let foretold = |site| (0..64).filter(|_| fates.foretold(site).is_some()).count();
        for _ in 0..ENOUGH {
            assert_eq!(foretold(nodes), 0);
            fates.became_fine(nodes, 2);
            fates.stayed(rows);
        }
        assert_eq!((foretold(nodes), foretold(rows)), (62, 0));
        assert_eq!(fates.foretold(nodes), Some(2));
        // What is found out by the others.
        for _ in 0..100 {
            fates.stayed(nodes);
        }
        assert_eq!(foretold(nodes), 0);
        (0..100_000).for_each(|_| fates.became_fine(rows, 3));
        assert_eq!(fates.foretold(rows), Some(3));
    }
}
