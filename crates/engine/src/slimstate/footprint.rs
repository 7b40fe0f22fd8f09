//! What a thread touched of one array since its last synchronisation: the footprint.
//!
//! A footprint is a set of element indices, added to by `[SS ACCESS]` and emptied by
//! `[SS COMMIT]`. The paper represents it as a strided range ([`Strided`](super::Strided)) and, in
//! the variants of its Table II, as a bit set ([`BitSet`](super::BitSet)). What Table I wants to
//! know of a footprint is the same for both: its [`Shape`].

use super::Strided;
use alloc::vec::Vec;

/// A set of indices that grows by accesses.
pub trait Footprint: Clone + Default + Send {
    /// How many arrays a thread may have footprints of. With more, all are committed early.
    const ARRAYS: usize;
    /// Adds `more`, or says no and stays as it is, if the union has no representation.
    fn extend(&mut self, more: Strided) -> bool;
    /// The same for one index: what nearly all accesses do.
    #[inline]
    fn extend_one(&mut self, i: u64) -> bool {
        self.extend(Strided::one(i))
    }
    /// Adds all of `pieces` that has a representation together, whatever their order; the rest stays in `pieces`.
    fn extend_all(&mut self, pieces: &mut Vec<Strided>) {
        pieces.retain(|&piece| !self.extend(piece));
    }
    /// If `i` is in the set: the first and the last of some neighbours, `i` among them, that are all in it.
    fn run_at(&self, i: u64) -> Option<(u64, u64)>;
    /// How many indices.
    fn len(&self) -> u64;
    /// No index at all?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Back to no index.
    fn clear(&mut self);
    /// Calls `f` with evenly spaced pieces that make up the set, each above the one before.
    fn pieces(&self, f: &mut dyn FnMut(Strided));
    /// What Table I asks, for an array of `n` elements. The set must not be empty.
    fn shape(&self, n: u64) -> Shape;
    /// The least divisor `s` of `n` such that the set is a union of residue classes modulo `s`.
    /// For ⟨b : e : k⟩ that is `k` if `k | n`, `b < k` and `n - 1 < e + k`, and else `n`.
    fn period(&self, n: u64) -> u64;
    /// Is `i` in the set?
    fn contains(&self, i: u64) -> bool;
    /// Is all of `more` in the set?
    fn includes(&self, more: Strided) -> bool;
    /// The same bytes in elements that are `ratio` times smaller, if that has a representation.
    fn finer(&self, ratio: u64) -> Option<Self>;
}

/// The answers a footprint gives to the conditions of Table I (with [`Footprint::period`], which can
/// be costly and is only asked where a row needs it).
///
/// The paper states the conditions for strided ranges ⟨b : e : k⟩. Each is the special case of a
/// question that makes sense for any set, so one table serves both representations; that the two
/// readings agree on every strided range is a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// `b`, the least index.
    pub first: u64,
    /// `e`, the greatest.
    pub last: u64,
    /// All of `b..=e` (the paper's `k = 1`).
    pub contiguous: bool,
    /// First index of the run of neighbours that ends at `last`.
    pub last_run: u64,
    /// The greatest `d` such that the set is a union of runs `[xd, yd)`: `gcd(b, e + 1)` if `k = 1`,
    /// and 1 for a wider stride, whose members have no neighbours.
    pub blocks: u64,
}

/// Greatest common divisor; `gcd(0, x) = x`.
pub(super) const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Least common multiple of two divisors of the same array length, so it cannot overflow.
pub(super) const fn lcm(a: u64, b: u64) -> u64 {
    a / gcd(a, b) * b
}
