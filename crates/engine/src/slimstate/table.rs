//! Table I: how a partition is refined for a footprint.
//!
//! `refine(P, f)` promises three things (section V-A):
//!
//! 1. it is a *refinement*: each part of `P` is a union of its parts;
//! 2. it is *sufficiently precise*: `f` is a union of its parts;
//! 3. it is *lazy*: if `P` is sufficiently precise for `f` already, it is `P`.
//!
//! The rows are tried in the paper's order; the first whose condition holds gives the result, and
//! each has a [`Rule`] that names and counts it.
//!
//! # Where the published table breaks its third promise
//!
//! `PREFIX(i)` keeps the partition for `f = ⟨i : n-1 : 1⟩`, the tail, and for `e < i`, a set of single
//! elements. A union of *both* is a union of parts as well, but no row says so: with `n = 8`,
//! `PREFIX(2) = {0}, {1}, {2, …, 7}` and `f = ⟨1 : 7 : 1⟩ = {1} ∪ {2, …, 7}`, the published rows fall through to
//! `FINE`, eight parts instead of three. No verdict is wrong, but an array whose owner clears it once a round
//! (`f = ⟨0 : n-1 : 1⟩`) loses its compression for ever. The smallest repair is to
//! let the row ask that `f` *ends with* the tail instead of being it: `e = n-1` and all of `{i, …, n-1}` in `f`.
//! [`Rule::PrefixTail`] counts the published case, [`Rule::PrefixTailAndSingles`] ours. The exhaustive test
//! (`tests/slimstate_table.rs`) holds the repaired table to all three promises, and checks that this row is the only difference.
//!
//! `STRIDE(n)` and `BLOCK(1)` are `FINE` (the paper's own identities); we only ever say `FINE`, so that the
//! elements are single however the partition was reached.
//!
//! `n/4` is the rational number, not the rounded one: `e < n/4` is `4e < n`.

use super::footprint::{Footprint, gcd, lcm};
use super::partition::Mode;

/// A row of Table I, or of the bit-set partitions that replace it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "NAMES has the paper's text for each")]
pub enum Rule {
    CoarseWhole,
    CoarseSplitAfter,
    CoarseSplitBefore,
    CoarseBlock,
    CoarseStride,
    CoarsePrefix,
    BlockBlock,
    SplitLow,
    SplitHigh,
    SplitWhole,
    SplitBlock,
    SplitPrefix,
    StrideStride,
    PrefixTail,
    PrefixTailAndSingles,
    PrefixSingles,
    PrefixPrefix,
    FineFine,
    AnyFine,
    PartsKept,
    PartsCut,
    ElementsCut,
}

impl Rule {
    /// How many rules there are.
    pub const COUNT: usize = Rule::ElementsCut as usize + 1;
    /// Their names, by `rule as usize`.
    pub const NAMES: [&'static str; Rule::COUNT] = [
        "COARSE, f=<0:n-1:1> -> COARSE",
        "COARSE, f=<0:e:1> -> SPLIT(e+1)",
        "COARSE, f=<b:n-1:1> -> SPLIT(b)",
        "COARSE, d'=gcd(n,b,e+1) -> BLOCK(d')",
        "COARSE, k|n -> STRIDE(k)",
        "COARSE, e<n/4 -> PREFIX(e+1)",
        "BLOCK(d), d'=gcd(d,b,e+1) -> BLOCK(d')",
        "SPLIT(i), f=<0:i-1:1> -> SPLIT(i)",
        "SPLIT(i), f=<i:n-1:1> -> SPLIT(i)",
        "SPLIT(i), f=<0:n-1:1> -> SPLIT(i)",
        "SPLIT(i), d'=gcd(n,i,b,e+1) -> BLOCK(d')",
        "SPLIT(i), d=max(i,e)<n/4 -> PREFIX(d+1)",
        "STRIDE(s), s'=lcm(k,s) -> STRIDE(s')",
        "PREFIX(i), f=<i:n-1:1> -> PREFIX(i)",
        "PREFIX(i), f=singles+<i:n-1:1> -> PREFIX(i) (not in the paper)",
        "PREFIX(i), e<i -> PREFIX(i)",
        "PREFIX(i), 2e<n-1 -> PREFIX(2e)",
        "FINE -> FINE",
        "any -> FINE",
        "bit sets: f is a union of parts",
        "bit sets: parts cut by f",
        "element size refined (not in the paper)",
    ];
    /// The paper's name.
    pub const fn name(self) -> &'static str {
        Rule::NAMES[self as usize]
    }
}

impl Mode {
    /// Table I. `f` is not empty and within the array's `n` elements.
    pub fn table<F: Footprint>(self, footprint: &F, n: u64) -> (Mode, Rule) {
        let f = footprint.shape(n);
        let (b, e) = (f.first, f.last);
        let run = |from: u64, to: u64| f.contiguous && b == from && e == to;
        match self {
            Mode::Coarse => {
                let d = gcd(n, f.blocks);
                if run(0, n - 1) {
                    (Mode::Coarse, Rule::CoarseWhole)
                } else if run(0, e) {
                    (Mode::Split(e + 1), Rule::CoarseSplitAfter)
                } else if run(b, n - 1) {
                    (Mode::Split(b), Rule::CoarseSplitBefore)
                } else if d > 1 {
                    (Mode::Block(d), Rule::CoarseBlock)
                } else {
                    match footprint.period(n) {
                        s if s < n => (Mode::Stride(s), Rule::CoarseStride),
                        _ if e < n.div_ceil(4) => (Mode::Prefix(e + 1), Rule::CoarsePrefix),
                        _ => (Mode::Fine, Rule::AnyFine),
                    }
                }
            }
            Mode::Block(size) => match gcd(size, f.blocks) {
                1 => (Mode::Fine, Rule::AnyFine),
                d => (Mode::Block(d), Rule::BlockBlock),
            },
            Mode::Split(i) => {
                let d = gcd(gcd(n, i), f.blocks);
                let reach = i.max(e);
                if run(0, i - 1) {
                    (self, Rule::SplitLow)
                } else if run(i, n - 1) {
                    (self, Rule::SplitHigh)
                } else if run(0, n - 1) {
                    (self, Rule::SplitWhole)
                } else if d > 1 {
                    (Mode::Block(d), Rule::SplitBlock)
                } else if reach < n.div_ceil(4) {
                    (Mode::Prefix(reach + 1), Rule::SplitPrefix)
                } else {
                    (Mode::Fine, Rule::AnyFine)
                }
            }
            Mode::Stride(s) => match footprint.period(n) {
                k if k == n => (Mode::Fine, Rule::AnyFine),
                k if lcm(k, s) == n => (Mode::Fine, Rule::StrideStride),
                k => (Mode::Stride(lcm(k, s)), Rule::StrideStride),
            },
            Mode::Prefix(i) => {
                if run(i, n - 1) {
                    (self, Rule::PrefixTail)
                } else if e == n - 1 && f.last_run <= i {
                    (self, Rule::PrefixTailAndSingles)
                } else if e < i {
                    (self, Rule::PrefixSingles)
                } else if 2 * e < n - 1 {
                    (Mode::Prefix(2 * e), Rule::PrefixPrefix)
                } else {
                    (Mode::Fine, Rule::AnyFine)
                }
            }
            Mode::Fine => (Mode::Fine, Rule::FineFine),
        }
    }
}
