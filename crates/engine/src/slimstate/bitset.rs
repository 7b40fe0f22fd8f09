//! Bit-set footprints, for the variants `slimstate-bf` and `slimstate-bb` of Table II: any set of
//! indices has a representation, so a footprint never has to be committed before the region ends.
//!
//! Kept in pages that exist once touched, so that a footprint costs what it touches, not what the array is long.

use super::Strided;
use super::footprint::{Footprint, Shape, gcd};
use alloc::boxed::Box;
use alloc::vec::Vec;

const WORDS: usize = 16;
const PAGE: u64 = 64 * WORDS as u64;

/// A set of indices, one bit each.
#[derive(Clone, Default, Debug)]
pub struct BitSet {
    pages: Vec<Option<Box<[u64; WORDS]>>>,
    /// How many are in the set.
    len: u64,
}

impl BitSet {
    fn word(&self, index: u64) -> u64 {
        let page = self
            .pages
            .get(usize::try_from(index / WORDS as u64).unwrap_or(usize::MAX));
        match page {
            Some(Some(words)) => words[(index % WORDS as u64) as usize],
            _ => 0,
        }
    }

    /// Sets the bits of `mask` in word `index`.
    fn set(&mut self, index: u64, mask: u64) {
        let page = (index / WORDS as u64) as usize;
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        let words = self.pages[page].get_or_insert_with(|| Box::new([0; WORDS]));
        let word = &mut words[(index % WORDS as u64) as usize];
        self.len += u64::from((mask & !*word).count_ones());
        *word |= mask;
    }

    fn insert(&mut self, more: Strided) {
        for (index, mask) in words(more) {
            self.set(index, mask);
        }
    }

    /// The first index at or after `from` whose membership is `member`.
    fn next(&self, from: u64, member: bool) -> Option<u64> {
        let end = self.pages.len() as u64 * PAGE;
        let mut i = from;
        while i < end {
            if i.is_multiple_of(PAGE) && member && self.pages[(i / PAGE) as usize].is_none() {
                i += PAGE;
                continue;
            }
            let word = self.word(i / 64);
            let word = (if member { word } else { !word }) >> (i % 64);
            if word != 0 {
                return Some(i + u64::from(word.trailing_zeros()));
            }
            i = (i / 64 + 1) * 64;
        }
        (!member).then_some(i)
    }

    /// Calls `f` with each word that has a bit, ascending.
    fn each_word(&self, f: &mut dyn FnMut(u64, u64)) {
        for (number, page) in (0..).zip(&self.pages) {
            if let Some(words) = page {
                for (at, &word) in (number * WORDS as u64..).zip(&**words) {
                    if word != 0 {
                        f(at, word);
                    }
                }
            }
        }
    }

    /// Calls `f` with each maximal run of neighbours, ascending.
    fn runs(&self, f: &mut dyn FnMut(u64, u64)) {
        let (mut at, mut left) = (0, self.len);
        while left > 0
            && let Some(first) = self.next(at, true)
            && let Some(end) = self.next(first, false)
        {
            f(first, end - 1);
            left -= end - first;
            at = end;
        }
    }

    /// Is the set a union of residue classes modulo `s`, a divisor of `n`?
    fn repeats(&self, s: u64, n: u64) -> bool {
        // Each class has `n / s` members.
        if !self.len.is_multiple_of(n / s) {
            return false;
        }
        let mut same = true;
        self.runs(&mut |first, last| {
            same = same
                && (first..=last).all(|i| {
                    let next = if i + s < n { i + s } else { i + s - n };
                    self.contains(next)
                });
        });
        same
    }
}

/// The bits of a word that are so far apart, from the lowest on.
const fn every(step: u64) -> u64 {
    let (mut bits, mut width) = (1, step);
    while width < 64 {
        bits |= bits << width;
        width *= 2;
    }
    bits
}

/// The words that a strided range has a bit in, each with its bits.
fn words(range: Strided) -> impl Iterator<Item = (u64, u64)> {
    let (mut at, last, step) = (range.first(), range.last(), range.step());
    core::iter::from_fn(move || {
        if at > last {
            return None;
        }
        let index = at / 64;
        let end = last.min(index * 64 + 63);
        let mut mask = 0;
        if step == 1 {
            mask = (u64::MAX << (at % 64)) & (u64::MAX >> (63 - end % 64));
            at = end + 1;
        }
        while at <= end {
            mask |= 1 << (at % 64);
            at += step;
        }
        Some((index, mask))
    })
}

impl Footprint for BitSet {
    // More than the paper has: whoever goes through many arrays side by side, a column of a matrix at a time, would commit each element of each for itself, and that is what these
    // sets are there to avoid.
    const ARRAYS: usize = 16_384;

    fn extend(&mut self, more: Strided) -> bool {
        if !more.is_empty() {
            self.insert(more);
        }
        true
    }
    #[inline]
    fn extend_one(&mut self, i: u64) -> bool {
        self.set(i / 64, 1 << (i % 64));
        true
    }
    fn len(&self) -> u64 {
        self.len
    }
    fn clear(&mut self) {
        self.pages.clear();
        self.len = 0;
    }
    fn pieces(&self, f: &mut dyn FnMut(Strided)) {
        let mut piece = Strided::EMPTY;
        self.each_word(&mut |index, word| {
            let mut rest = word;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                let i = index * 64 + u64::from(bit);
                let step = match piece.len() {
                    0 => 0,
                    // Not one that a run begins with.
                    1 if i - piece.last() > 1 && rest >> bit & 2 != 0 => 0,
                    1 => i - piece.last(),
                    _ => piece.step(),
                };
                if step == 0 || i - piece.last() != step {
                    if step != 0 || piece.len() == 1 {
                        f(piece);
                    }
                    piece = Strided::one(i);
                    rest &= rest - 1;
                    continue;
                }
                // As far as the word goes on like that.
                let expected = every(step) << bit;
                let other = (rest ^ expected).trailing_zeros();
                let below = u64::MAX.checked_shr(64 - other).unwrap_or(0);
                let last = 63 - (expected & below).leading_zeros();
                piece = Strided::new(piece.first(), index * 64 + u64::from(last), step);
                rest &= !below;
            }
        });
        if !piece.is_empty() {
            f(piece);
        }
    }
    fn run_at(&self, i: u64) -> Option<(u64, u64)> {
        let words = self.pages.get((i / PAGE) as usize)?.as_ref()?;
        let (mut at, bit) = ((i / 64) as usize % WORDS, (i % 64) as u32);
        let word = words[at];
        if word >> bit & 1 == 0 {
            return None;
        }
        let mut down = (word << (63 - bit)).leading_ones();
        let mut first = i + 1 - u64::from(down);
        while first.is_multiple_of(64) && at > 0 {
            at -= 1;
            down = words[at].leading_ones();
            first -= u64::from(down);
            if down < 64 {
                break;
            }
        }
        at = (i / 64) as usize % WORDS;
        let mut up = (word >> bit).trailing_ones();
        let mut end = i + u64::from(up);
        while end.is_multiple_of(64) && at + 1 < WORDS {
            at += 1;
            up = words[at].trailing_ones();
            end += u64::from(up);
            if up < 64 {
                break;
            }
        }
        Some((first, end - 1))
    }
    fn shape(&self, n: u64) -> Shape {
        let mut shape: Option<Shape> = None;
        self.runs(&mut |first, last| {
            let blocks = gcd(first, last + 1);
            shape = Some(match shape {
                None => Shape {
                    first,
                    last,
                    contiguous: true,
                    last_run: first,
                    blocks,
                },
                Some(before) => Shape {
                    first: before.first,
                    last,
                    contiguous: false,
                    last_run: first,
                    blocks: gcd(before.blocks, blocks),
                },
            });
        });
        shape.unwrap_or(Shape {
            first: 0,
            last: n - 1,
            contiguous: true,
            last_run: 0,
            blocks: n,
        })
    }
    fn period(&self, n: u64) -> u64 {
        // The periods among the divisors of n are the multiples of the least one: strip prime
        // factors while the rest is still a period.
        let mut s = n;
        let mut rest = n;
        let mut prime = 2;
        while rest > 1 {
            if prime * prime > rest {
                prime = rest;
            }
            while rest.is_multiple_of(prime) {
                rest /= prime;
                if self.repeats(s / prime, n) {
                    s /= prime;
                }
            }
            prime += 1;
        }
        s
    }
    fn contains(&self, i: u64) -> bool {
        self.word(i / 64) >> (i % 64) & 1 != 0
    }
    fn includes(&self, more: Strided) -> bool {
        words(more).all(|(index, mask)| self.word(index) & mask == mask)
    }
    fn finer(&self, ratio: u64) -> Option<Self> {
        let mut finer = BitSet::default();
        self.runs(&mut |first, last| {
            finer.insert(Strided::run(first * ratio, last * ratio + ratio - 1));
        });
        Some(finer)
    }
}
