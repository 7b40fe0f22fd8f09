//! Strided ranges ⟨b : e : k⟩ = { b + ik | b ≤ b + ik ≤ e }, the paper's footprints (section V-A).

use super::footprint::{Footprint, Shape, gcd};
use alloc::vec::Vec;

/// Evenly spaced indices, possibly none.
///
/// Invariant, as in the paper: EMPTY is ⟨1 : 0 : 1⟩; else `b ≤ e`, `k ≥ 1` and `k | e - b`.
/// We add that a single index has `k = 1`, so that equal sets are equal values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Strided {
    b: u64,
    e: u64,
    k: u64,
}

impl Default for Strided {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Strided {
    /// No index.
    pub const EMPTY: Strided = Strided { b: 1, e: 0, k: 1 };

    /// The set `{i}`.
    pub const fn one(i: u64) -> Self {
        Strided { b: i, e: i, k: 1 }
    }

    /// The indices `first, first + 1, … last`; empty if `last < first`.
    pub const fn run(first: u64, last: u64) -> Self {
        Self::new(first, last, 1)
    }

    /// The indices `first, first + step, …` up to and not beyond `last`.
    pub const fn new(first: u64, last: u64, step: u64) -> Self {
        if last < first {
            return Self::EMPTY;
        }
        let step = if step == 0 { 1 } else { step };
        let e = last - (last - first) % step;
        Strided {
            b: first,
            e,
            k: if e == first { 1 } else { step },
        }
    }

    /// `b`, the least index (1 if empty).
    pub const fn first(self) -> u64 {
        self.b
    }
    /// `e`, the greatest index (0 if empty).
    pub const fn last(self) -> u64 {
        self.e
    }
    /// `k`, the distance between neighbours.
    pub const fn step(self) -> u64 {
        self.k
    }
    /// No index at all?
    pub const fn is_empty(self) -> bool {
        self.e < self.b
    }
    /// How many indices.
    pub const fn len(self) -> u64 {
        if self.is_empty() {
            0
        } else {
            (self.e - self.b) / self.k + 1
        }
    }
    /// Is `i` one of them?
    pub const fn contains(self, i: u64) -> bool {
        self.b <= i && i <= self.e && (self.k == 1 || (i - self.b).is_multiple_of(self.k))
    }
    /// Is every index of `other` one of them?
    pub const fn includes(self, other: Strided) -> bool {
        other.is_empty()
            || self.contains(other.b)
                && self.contains(other.e)
                && (other.k.is_multiple_of(self.k) || other.b == other.e)
    }
    /// The indices in ascending order.
    pub fn indices(self) -> impl Iterator<Item = u64> {
        let (mut next, e, k) = (self.b, self.e, self.k);
        core::iter::from_fn(move || {
            (next <= e).then(|| {
                let i = next;
                next += k;
                i
            })
        })
    }

    /// The paper's rules for ⟨b : e : k⟩ ∪ {i}. `None` if the union is no strided range.
    pub const fn with(self, i: u64) -> Option<Strided> {
        let Strided { b, e, k } = self;
        if self.contains(i) {
            Some(self)
        } else if self.is_empty() {
            Some(Strided::one(i))
        } else if b == e {
            // ⟨b : b : 1⟩ ∪ {b ± k}: any distance will do.
            Some(if i > b {
                Strided { b, e: i, k: i - b }
            } else {
                Strided { b: i, e, k: b - i }
            })
        } else if i > e && i - e == k {
            Some(Strided { b, e: i, k })
        } else if i < b && b - i == k {
            Some(Strided { b: i, e, k })
        } else {
            None
        }
    }

    /// The same algebra for a whole range at once: the union, if it is a strided range.
    pub const fn union(self, other: Strided) -> Option<Strided> {
        if other.b == other.e {
            return self.with(other.b);
        }
        if self.b == self.e {
            return other.with(self.b);
        }
        if self.includes(other) {
            return Some(self);
        }
        if other.includes(self) {
            return Some(other);
        }
        // Two ranges of at least two indices, neither inside the other: they must be in step, and
        // overlap or follow one another without a gap.
        if self.k != other.k || !self.b.abs_diff(other.b).is_multiple_of(self.k) {
            return None;
        }
        let (low, high) = if self.b < other.b {
            (self, other)
        } else {
            (other, self)
        };
        if high.b > low.e && high.b - low.e > self.k {
            return None;
        }
        let e = if low.e > high.e { low.e } else { high.e };
        Some(Strided {
            b: low.b,
            e,
            k: self.k,
        })
    }
}

impl Footprint for Strided {
    // Section V-B.
    const ARRAYS: usize = 2048;

    #[inline]
    fn extend(&mut self, more: Strided) -> bool {
        match self.union(more) {
            Some(union) => {
                *self = union;
                true
            }
            None => false,
        }
    }
    #[inline]
    fn extend_one(&mut self, i: u64) -> bool {
        // What loops do, first: the next element, or the last one again.
        if self.b < self.e && i == self.e + self.k {
            self.e = i;
            return true;
        }
        if i == self.e && self.b <= self.e {
            return true;
        }
        match self.with(i) {
            Some(union) => {
                *self = union;
                true
            }
            None => false,
        }
    }
    fn extend_all(&mut self, pieces: &mut Vec<Strided>) {
        if !Strided::is_empty(*self) {
            pieces.push(*self);
        }
        merge(pieces);
        // The largest one; it has what was here before, unless that does not fit in with the rest.
        if let Some(at) = (0..pieces.len()).max_by_key(|&at| pieces[at].len()) {
            *self = pieces.swap_remove(at);
        }
    }
    fn run_at(&self, i: u64) -> Option<(u64, u64)> {
        (self.k == 1 && self.b <= i && i <= self.e).then_some((self.b, self.e))
    }
    fn len(&self) -> u64 {
        Strided::len(*self)
    }
    fn is_empty(&self) -> bool {
        Strided::is_empty(*self)
    }
    fn clear(&mut self) {
        *self = Strided::EMPTY;
    }
    fn pieces(&self, f: &mut dyn FnMut(Strided)) {
        if !Strided::is_empty(*self) {
            f(*self);
        }
    }
    fn shape(&self, n: u64) -> Shape {
        let Strided { b, e, k } = *self;
        debug_assert!(
            b <= e && e < n,
            "{self:?} is not a footprint of {n} elements"
        );
        let contiguous = k == 1;
        Shape {
            first: b,
            last: e,
            contiguous,
            last_run: if contiguous { b } else { e },
            blocks: if contiguous { gcd(b, e + 1) } else { 1 },
        }
    }
    fn period(&self, n: u64) -> u64 {
        let Strided { b, e, k } = *self;
        let classes = n.is_multiple_of(k) && b < k && n - 1 < e + k;
        if classes { k } else { n }
    }
    fn contains(&self, i: u64) -> bool {
        Strided::contains(*self, i)
    }
    fn includes(&self, more: Strided) -> bool {
        Strided::includes(*self, more)
    }
    fn finer(&self, ratio: u64) -> Option<Self> {
        if Strided::is_empty(*self) || ratio == 1 {
            return Some(*self);
        }
        (self.k == 1).then(|| Strided::run(self.b * ratio, self.e * ratio + ratio - 1))
    }
}

/// The same set in as few pieces as we can make out.
fn merge(pieces: &mut Vec<Strided>) {
    while cut(pieces) || unite(pieces) || interleave(pieces) {}
}

/// Takes from a piece what a run has at its beginning or end: {0, 1, … 7}, {4, 6, … 126} becomes {0, 1, … 7}, {8, 10, … 126}, which may lie
/// between the elements of another one.
fn cut(pieces: &mut Vec<Strided>) -> bool {
    for i in 0..pieces.len() {
        let run = pieces[i];
        if run.k > 1 || run.b == run.e {
            continue;
        }
        for j in 0..pieces.len() {
            let Strided { b, e, k } = pieces[j];
            let inside = |at: u64| run.b <= at && at <= run.e;
            let rest = if k == 1 {
                continue;
            } else if inside(b) && inside(e) {
                pieces.swap_remove(j);
                return true;
            } else if inside(b) {
                Strided::new(b + ((run.e - b) / k + 1) * k, e, k)
            } else if inside(e) {
                Strided::new(b, e - ((e - run.b) / k + 1) * k, k)
            } else {
                continue;
            };
            pieces[j] = rest;
            return true;
        }
    }
    false
}

/// Replaces two pieces by their union, if there are two that have one.
fn unite(pieces: &mut Vec<Strided>) -> bool {
    for i in 0..pieces.len() {
        for j in i + 1..pieces.len() {
            if let Some(union) = pieces[i].union(pieces[j]) {
                pieces[i] = union;
                pieces.swap_remove(j);
                return true;
            }
        }
    }
    false
}

/// Replaces pieces that lie between one another, as the copies of an unrolled loop's body leave them, by one piece and
/// what sticks out: {0, 4, 8, 12}, {2, 6, 10} becomes {0, 2, … 10}, {12}.
fn interleave(pieces: &mut Vec<Strided>) -> bool {
    pieces.sort_unstable_by_key(|piece| (piece.k, piece.b));
    for at in 0..pieces.len() {
        let Strided { b, k, .. } = pieces[at];
        let group = pieces[at..]
            .iter()
            .take_while(|piece| piece.k == k && piece.b < b + k)
            .count() as u64;
        if group < 2 || k % group != 0 {
            continue;
        }
        let d = k / group;
        let all = at..at + group as usize;
        let even = pieces[all.clone()].iter().zip(0..);
        if !even.clone().all(|(piece, i)| piece.b == b + i * d) {
            continue;
        }
        let rounds = even.map(|(piece, _)| piece.len()).min().unwrap_or(0);
        let whole = Strided::new(b, b + (rounds * group - 1) * d, d);
        let rest: Vec<Strided> = pieces
            .drain(all)
            .map(|piece| Strided::new(piece.b + rounds * k, piece.e, k))
            .filter(|rest| !rest.is_empty())
            .collect();
        pieces.push(whole);
        pieces.extend(rest);
        return true;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use alloc::collections::BTreeSet;
    use alloc::vec;

    fn all(pieces: &[Strided]) -> BTreeSet<u64> {
        pieces.iter().flat_map(|piece| piece.indices()).collect()
    }

    #[test]
    fn what_two_loops_read_one_after_the_other_is_one_run() {
        // The first four pairs, then all pairs; the field of a pair is read in a place of its own.
        let pairs = [(0, 7, 1), (4, 6, 2), (5, 7, 2), (8, 126, 2), (9, 127, 2)];
        let pieces = pairs.map(|(b, e, k)| Strided::new(b, e, k));
        let mut footprint = Strided::EMPTY;
        let mut left = pieces.to_vec();
        footprint.extend_all(&mut left);
        assert_eq!((footprint, left), (Strided::run(0, 127), vec![]));
    }

    /// However pieces are put together, no element is lost and none is added.
    #[test]
    fn merged_pieces_are_the_same_set() {
        let mut numbers = Random::new(7, 0);
        for _ in 0..20_000 {
            let mut pieces = Vec::new();
            for _ in 0..=numbers.up_to(4) {
                let (b, k) = (numbers.up_to(12), 1 + numbers.up_to(3));
                pieces.push(Strided::new(b, b + numbers.up_to(20), k));
            }
            let expected = all(&pieces);
            let before = pieces.len();
            merge(&mut pieces);
            assert_eq!(all(&pieces), expected);
            assert!(pieces.len() <= before + 2, "{pieces:?}");
        }
    }
}
