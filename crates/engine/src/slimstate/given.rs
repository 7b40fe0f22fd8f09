//! What an array gave away: a part of its memory that is another block's by now, while it may still be accessed or has footprints to be committed.
//!
//! The byte-exact shadow is the other block's there, so the array keeps for itself what its single elements remember. All else of it stays where it has always been: there are
//! threads that look there first, and loops that need not ask whose the memory is.

use super::ground::Ground;
use crate::shadow::{Location, words};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use event::{Addr, Elements};

/// A part of an array's memory that is another block's by now.
pub(super) struct Given {
    bytes: Range<u64>,
    /// Were they [detached](super::array) before, single or not?
    detached: bool,
    /// What its single elements remember, by word.
    words: Vec<Location>,
}

impl Given {
    /// `bytes`, which are about to be another block's, with what the byte-exact shadow remembers of them as far as `end`.
    pub(super) fn of(bytes: Range<u64>, end: u64, detached: bool, ground: &Ground<'_>) -> Given {
        let words = bytes.start / 8..bytes.end.min(end).div_ceil(8);
        let depot = ground.memory.depot();
        let mut given = Given {
            bytes,
            detached,
            words: Vec::new(),
        };
        for word in words.map(|word| Addr(word * 8)) {
            let mask = given.mask(word);
            let own = given.make(word);
            if let Some(location) = ground.memory.location(word) {
                own.absorb(depot, &location.history(depot), mask);
            }
        }
        given
    }

    /// Its bytes, if they were detached before.
    pub(super) fn detached(&self) -> Option<Range<u64>> {
        self.detached.then(|| self.bytes.clone())
    }

    /// Which bytes of a word are in it?
    pub(super) fn mask(&self, word: Addr) -> u8 {
        let here = common(&self.bytes, &(word.0..word.0 + 8));
        if here.is_empty() {
            return 0;
        }
        (((1u32 << (here.end - here.start)) - 1) << (here.start - word.0)) as u8
    }

    fn at(&self, word: Addr) -> usize {
        (word.0 / 8 - self.bytes.start / 8) as usize
    }

    /// What a word remembers that the byte-exact shadow had, of single elements.
    pub(super) fn location(&self, word: Addr) -> Option<&Location> {
        self.words.get(self.at(word))
    }

    /// The same for one that has a single element from now on.
    pub(super) fn make(&mut self, word: Addr) -> &Location {
        let at = self.at(word);
        if self.words.len() <= at {
            self.words.resize_with(at + 1, Location::new);
        }
        &self.words[at]
    }

    /// How many locations there is room for.
    pub(super) fn locations(&self) -> u64 {
        self.words.capacity() as u64
    }

    pub(super) fn into_words(self) -> Vec<Location> {
        self.words
    }
}

/// Such parts, which are apart from each other, by where they begin: there are many where a large block is given away in small ones.
pub(super) type Parts = BTreeMap<u64, Given>;

/// Remembers one more part.
pub(super) fn add(parts: &mut Parts, part: Given) {
    parts.insert(part.bytes.start, part);
}

/// Those that have some of `bytes`, of which there are some.
fn overlapping(parts: &Parts, bytes: Range<u64>) -> impl Iterator<Item = (u64, &Given)> {
    let before = parts.range(..=bytes.start).next_back();
    let from = before.map_or(bytes.start, |(&start, _)| start);
    let all = parts.range(from..bytes.end);
    all.map(|(&start, part)| (start, part))
        .filter(move |(_, part)| part.bytes.end > bytes.start)
}

/// The pieces of `all` that are in none of these parts.
pub(super) fn without(all: Range<u64>, parts: &Parts) -> Vec<Range<u64>> {
    let mut pieces = Vec::new();
    if all.is_empty() {
        return pieces;
    }
    let mut at = all.start;
    for (start, part) in overlapping(parts, all.clone()) {
        if at < start {
            pieces.push(at..start);
        }
        at = at.max(part.bytes.end);
    }
    if at < all.end {
        pieces.push(at..all.end);
    }
    pieces
}

/// The bytes that are in both.
pub(super) fn common(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// What is before `bytes` in `piece`, and behind them; either may be empty.
pub(super) fn outside(piece: &Range<u64>, bytes: &Range<u64>) -> [Range<u64>; 2] {
    [
        piece.start..piece.end.min(bytes.start),
        piece.start.max(bytes.end)..piece.end,
    ]
}

/// Some bytes of memory as elements.
pub(super) fn single_bytes(bytes: Range<u64>) -> Elements {
    Elements {
        base: Addr(bytes.start),
        elem: 1,
        lo: 0,
        hi: bytes.end - bytes.start,
        stride: 1,
    }
}

/// Some bytes of an access.
pub(super) enum Share {
    /// Of a word that is in the part of what was given away that begins there.
    Given(u64, Addr, u8),
    /// Where they have always been.
    Here(Elements),
}

/// Calls `f` with all bytes of `elements`.
pub(super) fn share(elements: Elements, parts: &Parts, mut f: impl FnMut(Share)) {
    words(elements, |word, mask| {
        for (start, part) in overlapping(parts, word.0..word.0 + 8) {
            let there = part.mask(word) & mask;
            if there != 0 {
                f(Share::Given(start, word, there));
            }
        }
    });
    let elem = u64::from(elements.elem);
    let mut here = |start: u64, len: u64| {
        for piece in without(start..start + len, parts) {
            f(Share::Here(single_bytes(piece)));
        }
    };
    if elements.stride <= 1 {
        return here(elements.addr(elements.lo).0, elements.len() * elem);
    }
    for i in elements.indices() {
        here(elements.addr(i).0, elem);
    }
}
