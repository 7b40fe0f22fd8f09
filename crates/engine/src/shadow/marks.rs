//! From which site bytes of a page were accessed first.

use alloc::boxed::Box;
use alloc::vec;

use super::bits::Bits;
use super::pages::PAGE_BYTES;
use super::sweep::Sweep;

/// Some bytes of a page, as many as a power of two and at a multiple of that, and the number of the site.
///
/// ```text
///  31                19 18          0
/// ┌────────────────────┬─────────────┐
/// │ 2 * first + length │ site number │   the last bit that is set in the left part is the length
/// └────────────────────┴─────────────┘
/// ```
///
/// In a list of them, in the order in which they were made, the first one that has a byte is the access that the byte remembers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(pub u32);

impl Mark {
    /// Bits of a site's number.
    pub const SITE_BITS: u32 = 64 - super::cell::Cell::SITE_SHIFT;

    #[inline(always)]
    fn new(first: usize, len: usize, number: u32) -> Mark {
        debug_assert!(len.is_power_of_two() && first.is_multiple_of(len));
        debug_assert!(number >> Mark::SITE_BITS == 0);
        Mark(((2 * first + len) as u32) << Mark::SITE_BITS | number)
    }

    /// The first byte, and how many.
    #[inline(always)]
    fn bytes(self) -> (usize, usize) {
        let code = (self.0 >> Mark::SITE_BITS) as usize;
        let len = code & code.wrapping_neg();
        ((code - len) / 2, len)
    }

    /// The site's number.
    #[inline(always)]
    fn number(self) -> u32 {
        self.0 & ((1 << Mark::SITE_BITS) - 1)
    }

    /// As few as say that `len` bytes from `first` on were accessed there.
    #[inline(always)]
    pub(super) fn pieces(first: usize, len: usize, number: u32, mut f: impl FnMut(Mark)) {
        let (mut at, end) = (first, first + len);
        while at < end {
            let most = 1 << (end - at).ilog2();
            let piece = match at {
                0 => most,
                _ => most.min(at & at.wrapping_neg()),
            };
            f(Mark::new(at, piece, number));
            at += piece;
        }
    }

    /// The same for some words.
    pub(super) fn each(sweep: Sweep, number: u32, mut f: impl FnMut(Mark)) {
        if sweep.period == 1 && sweep.mask == 0xFF {
            let (first, len) = (8 * usize::from(sweep.first), 8 * sweep.count() as usize);
            return Mark::pieces(first, len, number, f);
        }
        for word in sweep.words() {
            Mark::masked(word, sweep.mask, number, &mut f);
        }
    }

    /// The same for bytes of a word.
    pub(super) fn masked(word: usize, mask: u8, number: u32, f: &mut impl FnMut(Mark)) {
        let (mut rest, mut at) = (u32::from(mask), 8 * word);
        while rest != 0 {
            let skip = rest.trailing_zeros();
            rest >>= skip;
            at += skip as usize;
            let len = rest.trailing_ones();
            Mark::pieces(at, len as usize, number, &mut *f);
            rest >>= len;
            at += len as usize;
        }
    }

    /// Is one of its bytes there?
    pub(super) fn meets(self, bits: &Bits) -> bool {
        let (first, len) = self.bytes();
        (first..first + len).any(|byte| bits.word(byte / 8) >> (byte % 8) & 1 != 0)
    }

    /// Are all of them?
    pub(super) fn is_in(self, bits: &Bits) -> bool {
        let (first, len) = self.bytes();
        bits.has(first, len)
    }

    /// The same of those of its bytes that are there.
    pub(super) fn within(self, bits: &Bits, mut f: impl FnMut(Mark)) {
        if self.is_in(bits) {
            return f(self);
        }
        let (first, len) = self.bytes();
        let is_there = |byte: &usize| bits.has(*byte, 1);
        let (mut at, end) = (first, first + len);
        while at < end {
            let run = (at..end).take_while(is_there).count();
            Mark::pieces(at, run, self.number(), &mut f);
            at += run + 1;
        }
    }

    /// The number of the site from which a byte was accessed first.
    pub(super) fn find(marks: &[Mark], byte: usize) -> u32 {
        let has = |mark: &&Mark| {
            let (first, len) = mark.bytes();
            byte.wrapping_sub(first) < len
        };
        marks.iter().find(has).map_or(0, |mark| mark.number())
    }
}

/// From which site each byte of a page was accessed first, of those that a list of marks has: one table for many lists.
#[derive(Debug)]
pub(crate) struct Numbers(Box<[u32]>);

impl Numbers {
    pub(crate) fn new() -> Numbers {
        Numbers(vec![0; PAGE_BYTES as usize].into_boxed_slice())
    }

    /// It is about the bytes of these marks from now on, and says nothing of others.
    pub(super) fn put(&mut self, marks: &[Mark]) {
        for mark in marks.iter().rev() {
            let (first, len) = mark.bytes();
            self.0[first..first + len].fill(mark.number());
        }
    }

    /// The numbers of the bytes of a word.
    pub(super) fn word(&self, word: usize) -> impl Fn(usize) -> u32 + use<'_> {
        let bytes = &self.0[8 * word..8 * word + 8];
        move |byte| bytes[byte]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_mark_of_a_byte_counts(accesses in prop::collection::vec((0..4096usize, 1..100usize), 1..20)) {
            let mut marks = Vec::new();
            let mut expected = vec![0; 4096];
            for (number, &(first, len)) in (1..).zip(&accesses) {
                let len = len.min(4096 - first);
                Mark::pieces(first, len, number, |mark| marks.push(mark));
                for byte in &mut expected[first..first + len] {
                    if *byte == 0 {
                        *byte = number;
                    }
                }
            }
            let mut numbers = Numbers::new();
            numbers.put(&marks);
            prop_assert_eq!(&*numbers.0, &expected[..]);
            for (byte, &number) in expected.iter().enumerate() {
                prop_assert_eq!(Mark::find(&marks, byte), number);
            }
        }

        #[test]
        fn bytes_of_a_word_are_marked(word in 0..512usize, mask: u8) {
            let mut marks = Vec::new();
            Mark::masked(word, mask, 7, &mut |mark| marks.push(mark));
            let mut numbers = Numbers::new();
            numbers.put(&marks);
            for (byte, &number) in numbers.0.iter().enumerate() {
                let has = byte / 8 == word && mask >> (byte % 8) & 1 != 0;
                prop_assert_eq!(number, if has { 7 } else { 0 });
            }
        }
    }

    #[test]
    fn the_largest_fit() {
        let most = (1 << Mark::SITE_BITS) - 1;
        for (first, len) in [(0, 4096), (4095, 1), (2048, 2048)] {
            let mark = Mark::new(first, len, most);
            assert_eq!((mark.bytes(), mark.number()), ((first, len), most));
        }
    }
}
