//! Bytes of an access, cut into words and pages.

use event::{Addr, Elements};

use super::pages::{ADDRESSES, PAGE_BYTES};

/// The bytes of one page that an access covers, all of them contiguous.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// First byte.
    pub addr: Addr,
    /// Number of bytes; all in the page of `addr`.
    pub len: u64,
}

impl Span {
    /// Cuts `len` bytes at `addr` into spans. Bytes outside of the address space are left out: there is no memory.
    pub fn cut(addr: Addr, len: u64) -> impl Iterator<Item = Span> {
        let end = addr.0.saturating_add(len).min(ADDRESSES);
        let mut at = addr.0;
        core::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let stop = (at | (PAGE_BYTES - 1)).saturating_add(1).min(end);
            let span = Span {
                addr: Addr(at),
                len: stop - at,
            };
            at = stop;
            Some(span)
        })
    }

    /// The words of the span: each one's number in the page, and the bytes of it that are covered.
    #[inline]
    pub fn words(self) -> impl Iterator<Item = (usize, u8)> {
        let first = self.addr.0 % PAGE_BYTES;
        let last = first + self.len - 1;
        (first / 8..last / 8 + 1).map(move |word| {
            let lo = first.max(word * 8) - word * 8;
            let hi = last.min(word * 8 + 7) - word * 8;
            (word as usize, mask(lo as u32, hi as u32))
        })
    }
}

/// Bytes `lo..=hi` of a word.
pub(super) const fn mask(lo: u32, hi: u32) -> u8 {
    (0xFF_u8 << lo) & (0xFF_u8 >> (7 - hi))
}

/// Calls `f` with the address of each word that `elements` touch and the bytes of it that they cover. Each
/// word once, in ascending order.
pub fn words(elements: Elements, mut f: impl FnMut(Addr, u8)) {
    let elem = u64::from(elements.elem.max(1));
    let step = elem.saturating_mul(elements.stride.max(1));
    let Some(start) = elements
        .lo
        .checked_mul(elem)
        .and_then(|offset| elements.base.0.checked_add(offset))
    else {
        return;
    };
    if elem.is_power_of_two() && elem <= 8 && start.is_multiple_of(elem) && step.is_multiple_of(8) {
        // What is strided mostly is: one element in a word, at the same place in each.
        let mask = mask((start % 8) as u32, (start % 8 + elem - 1) as u32);
        let mut word = start & !7;
        for _ in 0..elements.len() {
            if word >= ADDRESSES {
                break;
            }
            f(Addr(word), mask);
            word = word.saturating_add(step);
        }
        return;
    }
    let mut current = (0u64, 0u8);
    let mut at = start;
    for _ in 0..elements.len() {
        if at >= ADDRESSES {
            break;
        }
        for span in Span::cut(Addr(at), elem) {
            for (word, mask) in span.words() {
                let word = span.addr.0 & !(PAGE_BYTES - 1) | (word as u64) << 3;
                if word == current.0 {
                    current.1 |= mask;
                } else {
                    if current.1 != 0 {
                        f(Addr(current.0), current.1);
                    }
                    current = (word, mask);
                }
            }
        }
        at = at.saturating_add(step);
    }
    if current.1 != 0 {
        f(Addr(current.0), current.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    fn bytes(word: u64, mask: u8) -> impl Iterator<Item = u64> {
        (0..8)
            .filter(move |b| mask >> b & 1 != 0)
            .map(move |b| word + b)
    }

    #[test]
    fn spans_cover_each_byte_once() {
        for start in (0..20).chain(4080..4100) {
            for len in (0..20).chain(4090..4110) {
                let mut seen = Vec::new();
                for span in Span::cut(Addr(start), len) {
                    for (word, mask) in span.words() {
                        seen.extend(bytes(span.addr.0 / 4096 * 4096 + 8 * word as u64, mask));
                    }
                }
                assert_eq!(seen, (start..start + len).collect::<Vec<_>>());
            }
        }
        assert_eq!(Span::cut(Addr(u64::MAX), 5).count(), 0);
        assert_eq!(
            Span::cut(Addr(ADDRESSES - 1), 5)
                .map(|s| s.len)
                .sum::<u64>(),
            1
        );
    }

    #[test]
    fn elements_cover_their_bytes() {
        for elem in [1u8, 2, 4, 8] {
            for base in [0, 3, 4089] {
                for lo in 0..4 {
                    for hi in 0..24 {
                        for stride in 1..6 {
                            let elements = Elements {
                                base: Addr(base),
                                elem,
                                lo,
                                hi,
                                stride,
                            };
                            let mut seen = BTreeSet::new();
                            let mut last = None;
                            words(elements, |addr, mask| {
                                assert!(last < Some(addr.0) && mask != 0);
                                last = Some(addr.0);
                                seen.extend(bytes(addr.0, mask));
                            });
                            let expected: BTreeSet<u64> = elements
                                .indices()
                                .flat_map(|i| {
                                    (0..u64::from(elem))
                                        .map(move |b| base + i * u64::from(elem) + b)
                                })
                                .collect();
                            assert_eq!(seen, expected);
                        }
                    }
                }
            }
        }
    }
}
