//! Which bytes may belong to an atomic object.
//!
//! A plain write ends the release sequence of an atomic object it touches, so it takes part in
//! happens-before and must reach the detector, whatever a filter or sampler thinks of it as an
//! access. This is the set of bytes where that can matter, kept as a bit per hashed 8-byte granule:
//! it may say yes where the answer is no (a write is checked that need not be), never the reverse.

use crate::random::mix;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use event::{Addr, Elements};

const BITS: u64 = 1 << 16;
/// Above this many granules a range is not looked at in detail.
const LOOK: u64 = 256;

#[derive(Debug)]
pub(crate) struct AtomicBytes {
    bits: Box<[AtomicU64]>,
    any: AtomicBool,
}

impl AtomicBytes {
    pub(crate) fn new() -> Self {
        AtomicBytes {
            bits: (0..BITS / 64).map(|_| AtomicU64::new(0)).collect(),
            any: AtomicBool::new(false),
        }
    }

    fn bit(granule: u64) -> (usize, u64) {
        let bit = mix(granule) % BITS;
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    /// An atomic store is about to happen. To be called before the detector sees it: whoever then
    /// finds the bit unset comes before the store.
    pub(crate) fn mark(&self, addr: Addr, size: u32) {
        for granule in granules(addr.0, u64::from(size)) {
            let (word, mask) = Self::bit(granule);
            if self.bits[word].load(Ordering::Acquire) & mask == 0 {
                self.bits[word].fetch_or(mask, Ordering::AcqRel);
            }
        }
        if !self.any.load(Ordering::Acquire) {
            self.any.store(true, Ordering::Release);
        }
    }

    /// May one of these bytes belong to an atomic object?
    pub(crate) fn touches(&self, addr: Addr, size: u64) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let mut granules = granules(addr.0, size);
        granules.end() - granules.start() >= LOOK
            || granules.any(|granule| {
                let (word, mask) = Self::bit(granule);
                self.bits[word].load(Ordering::Acquire) & mask != 0
            })
    }

    /// Calls `f` with each aligned word of these bytes that may belong to an atomic object, and which bytes of it are meant.
    pub(crate) fn each(&self, addr: Addr, size: u64, mut f: impl FnMut(Addr, u8)) {
        if size == 0 || !self.any.load(Ordering::Acquire) {
            return;
        }
        let last = addr.0.saturating_add(size - 1);
        for granule in granules(addr.0, size) {
            let (word, mask) = Self::bit(granule);
            if self.bits[word].load(Ordering::Acquire) & mask != 0 {
                let start = granule << 3;
                let from = addr.0.saturating_sub(start);
                let to = (last - start).min(7);
                f(Addr(start), (0xFF << from) & (0xFF >> (7 - to)));
            }
        }
    }

    /// May a byte from the first to the last of these elements belong to an atomic object?
    pub(crate) fn touches_elements(&self, elements: Elements) -> bool {
        let (addr, bytes) = hull(elements);
        bytes > 0 && self.touches(addr, bytes)
    }
}

/// First byte and number of bytes from the first to the last element named.
pub(crate) fn hull(elements: Elements) -> (Addr, u64) {
    if elements.is_empty() {
        return (elements.base, 0);
    }
    let elem = u64::from(elements.elem);
    let first = elements
        .base
        .0
        .saturating_add(elements.lo.saturating_mul(elem));
    let bytes = (elements.hi - elements.lo).saturating_mul(elem);
    (Addr(first), bytes)
}

fn granules(addr: u64, size: u64) -> core::ops::RangeInclusive<u64> {
    (addr >> 3)..=(addr.saturating_add(size.saturating_sub(1)) >> 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_bytes_are_found() {
        let set = AtomicBytes::new();
        assert!(!set.touches(Addr(64), 8));
        set.mark(Addr(68), 8);
        assert!(set.touches(Addr(64), 1));
        assert!(set.touches(Addr(72), 1));
        assert!(set.touches(Addr(60), 16));
        assert!(!set.touches(Addr(80), 8));
        assert!(set.touches(Addr(1 << 20), 1 << 20), "too long to look");
        let mut elements = Elements {
            base: Addr(0),
            elem: 4,
            lo: 0,
            hi: 16,
            stride: 1,
        };
        assert!(!set.touches_elements(elements));
        elements.hi = 17;
        assert!(set.touches_elements(elements));
        elements.lo = 17;
        assert!(!set.touches_elements(elements));
    }

    #[test]
    fn words_come_with_the_bytes_that_are_meant() {
        let set = AtomicBytes::new();
        set.mark(Addr(64), 16);
        let mut words = alloc::vec::Vec::new();
        set.each(Addr(67), 8, |word, mask| words.push((word.0, mask)));
        set.each(Addr(56), 0, |_, _| unreachable!());
        set.each(Addr(70), 1, |word, mask| words.push((word.0, mask)));
        assert_eq!(
            words,
            [(64, 0b1111_1000), (72, 0b0000_0111), (64, 0b0100_0000)]
        );
    }

    #[test]
    fn the_end_of_memory_is_no_problem() {
        let set = AtomicBytes::new();
        set.mark(Addr(u64::MAX), 8);
        assert!(set.touches(Addr(u64::MAX - 1), u64::MAX));
    }
}
