//! Bit-set footprints, for the variants `slimstate-bf` and `slimstate-bb` of Table II: any set of
//! indices has a representation, so a footprint never has to be committed before the region ends.
//!
//! Kept in pages that exist once touched, so that a footprint costs what it touches, not what the array is long.

use super::Strided;
use super::footprint::{Footprint, Shape, gcd};
use alloc::boxed::Box;
use alloc::vec::Vec;

const WORDS: usize = 64;
const PAGE: u64 = 64 * WORDS as u64;

/// A set of indices, one bit each.
#[derive(Clone, Default, Debug)]
pub struct BitSet {
    pages: Vec<Option<Box<[u64; WORDS]>>>,
    /// How many are in the set.
    len: u64,
}

impl BitSet {
    /// How many indices.
    pub fn len(&self) -> u64 {
        self.len
    }
    /// No index at all?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

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
        if more.step() > 1 {
            for i in more.indices() {
                self.set(i / 64, 1 << (i % 64));
            }
            return;
        }
        let (first, last) = (more.first(), more.last());
        for index in first / 64..=last / 64 {
            let from = if index == first / 64 { first % 64 } else { 0 };
            let to = if index == last / 64 { last % 64 } else { 63 };
            self.set(index, (u64::MAX << from) & (u64::MAX >> (63 - to)));
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

impl Footprint for BitSet {
    fn extend(&mut self, more: Strided) -> bool {
        if !more.is_empty() {
            self.insert(more);
        }
        true
    }
    fn is_empty(&self) -> bool {
        self.len == 0
    }
    fn clear(&mut self) {
        self.pages.clear();
        self.len = 0;
    }
    fn pieces(&self, f: &mut dyn FnMut(Strided)) {
        self.runs(&mut |first, last| f(Strided::run(first, last)));
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
        more.indices().all(|i| self.contains(i))
    }
    fn finer(&self, ratio: u64) -> Option<Self> {
        let mut finer = BitSet::default();
        self.runs(&mut |first, last| {
            finer.insert(Strided::run(first * ratio, last * ratio + ratio - 1));
        });
        Some(finer)
    }
}
