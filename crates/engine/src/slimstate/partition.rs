//! Which elements of an array share a shadow location: partitions and their modes.
//!
//! A partition divides the indices `0..n` into parts, each with one shadow location. The paper's
//! modes ([`Mode`]) are few and O(1) to map; its Table II also measures arbitrary partitions
//! ([`Labels`](super::Labels)).

use super::footprint::Footprint;
use super::{Rule, Strided};

/// Number of a part, an index into the array's shadow locations `T`.
pub type Part = u64;

/// The shadow locations of an array, as far as a refinement changes them.
pub trait Shadow {
    /// `T` gets `locations` locations, the `x`-th a copy of the present `origin(x)`-th.
    fn rebuild(&mut self, locations: u64, origin: &dyn Fn(u64) -> u64);
    /// `T` gets one more location, a copy of the `origin`-th.
    fn grow(&mut self, origin: u64);
    /// From now on `elements` have a location each, outside `T`: a copy of the `origin`-th. Does the array go on in `T`?
    fn single(&mut self, elements: Strided, origin: u64, goes_on: bool);
    /// How many locations outside `T` all `n` elements would need: small ones share theirs with neighbours.
    fn singles(&self, n: u64) -> u64 {
        n
    }
}

/// A division of `0..n` into parts. [`refine`](Partition::refine) is the only way to change one.
///
/// The first [`singles`](Partition::singles) elements have a part, hence a location, of their own.
/// These are kept apart, where memory that belongs to no array has its shadow; `T` holds the others:
/// part `p` is at `T[p - singles]`.
pub trait Partition: Clone + Send + Sync + core::fmt::Display {
    /// What it remembers of the parts of a footprint from one question to the next.
    type Met;
    /// `{Index}`: one part for everything.
    fn coarse(n: u64) -> Self;
    /// Its name without numbers, such as `BLOCK`.
    fn kind(&self) -> &'static str;
    /// How many parts.
    fn parts(&self, n: u64) -> u64;
    /// ϕ(P, i), the part that `i` belongs to.
    fn part_of(&self, i: u64) -> Part;
    /// The first `i` elements have a part each (`PREFIX(i)`; `FINE` says `n`), with locations outside `T`.
    fn singles(&self, n: u64) -> u64;
    /// Is `f` a union of parts? Then `refine` would change nothing, by the rule returned.
    fn keeps<F: Footprint>(&self, f: &F, n: u64) -> Option<(Rule, Self::Met)>;
    /// `refine(P, f)`: a refinement of this partition that is sufficiently precise for `f`, and the same
    /// if this one is already. `shadow` is told what becomes of `T`. Returns the rule's name.
    fn refine<F: Footprint>(&mut self, f: &F, n: u64, shadow: &mut dyn Shadow) -> Rule;
    /// To `FINE`, whatever it is now.
    fn refine_to_fine(&mut self, n: u64, shadow: &mut dyn Shadow);
    /// Calls `g` once with each part of `f`, and one of its members, for which the partition is sufficiently precise: `keeps` has said so.
    /// Except for those of single elements.
    fn each_part<F: Footprint>(&self, f: &F, met: &Self::Met, g: &mut dyn FnMut(Part, u64));
    /// Calls `g` with the members of part `p`, ascending, as strided ranges.
    fn members(&self, p: Part, n: u64, g: &mut dyn FnMut(Strided));
    /// The same parts for elements that are `ratio` times smaller (single elements stay single), if
    /// there is a mode for them.
    fn finer(&self, ratio: u64) -> Option<Self>;
    /// Do its parts follow no order, and take so much memory that there will be as much before long as `singles` locations take?
    fn is_in_vain(&self, _singles: u64) -> bool {
        false
    }
    /// Bytes that it needs beside itself.
    fn bytes(&self) -> usize {
        0
    }
}

/// The partition modes of section V-A. `d` and `s` divide `n`; `0 < i < n`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// `{0, …, n-1}`.
    Coarse,
    /// `{0, …, d-1}, {d, …, 2d-1}, …`; `1 < d < n`.
    Block(u64),
    /// `{0, …, i-1}, {i, …, n-1}`.
    Split(u64),
    /// Residue classes modulo `s`; `1 < s < n`.
    Stride(u64),
    /// `{0}, {1}, …, {i-1}, {i, …, n-1}`.
    Prefix(u64),
    /// `{0}, {1}, …, {n-1}`.
    Fine,
}

impl core::fmt::Display for Mode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.kind())?;
        match self {
            Mode::Block(n) | Mode::Split(n) | Mode::Stride(n) | Mode::Prefix(n) => {
                write!(f, "({n})")
            }
            Mode::Coarse | Mode::Fine => Ok(()),
        }
    }
}

impl Mode {
    /// The parts that make up one evenly spaced piece of a footprint, themselves evenly spaced; no
    /// single elements.
    fn parts_of(self, f: Strided) -> Strided {
        let (b, e, k) = (f.first(), f.last(), f.step());
        match self {
            Mode::Coarse => Strided::one(0),
            Mode::Block(d) => Strided::run(b / d, e / d),
            Mode::Split(i) => Strided::run(u64::from(b >= i), u64::from(e >= i)),
            // A piece of a union of classes visits each of its classes at least once; those below
            // `s` stand for all.
            Mode::Stride(s) => Strided::new(b, e.min(s - 1), k),
            Mode::Prefix(i) if e >= i => Strided::one(i),
            Mode::Prefix(_) | Mode::Fine => Strided::EMPTY,
        }
    }

    /// Some index of part `p`.
    const fn member(self, p: Part) -> u64 {
        match self {
            Mode::Coarse => 0,
            Mode::Block(d) => p * d,
            Mode::Split(i) => p * i,
            Mode::Stride(_) | Mode::Prefix(_) | Mode::Fine => p,
        }
    }

    /// Makes this partition `new`, a refinement of it.
    fn change(&mut self, new: Mode, n: u64, shadow: &mut dyn Shadow) {
        let old = *self;
        if old == new {
            return;
        }
        let (had, has) = (old.singles(n), new.singles(n));
        if had < has {
            for p in had..old.parts(n) {
                old.members(p, n, &mut |all| {
                    let now = Strided::new(all.first(), all.last().min(has - 1), all.step());
                    shadow.single(now, p - had, has < n);
                });
            }
        }
        shadow.rebuild(new.parts(n) - has, &|x| {
            old.part_of(new.member(has + x)) - had
        });
        *self = new;
    }
}

impl Partition for Mode {
    type Met = ();
    fn coarse(n: u64) -> Self {
        if n == 1 { Mode::Fine } else { Mode::Coarse }
    }
    fn kind(&self) -> &'static str {
        match self {
            Mode::Coarse => "COARSE",
            Mode::Block(_) => "BLOCK",
            Mode::Split(_) => "SPLIT",
            Mode::Stride(_) => "STRIDE",
            Mode::Prefix(_) => "PREFIX",
            Mode::Fine => "FINE",
        }
    }
    fn parts(&self, n: u64) -> u64 {
        match *self {
            Mode::Coarse => 1,
            Mode::Block(d) => n / d,
            Mode::Split(_) => 2,
            Mode::Stride(s) => s,
            Mode::Prefix(i) => i + 1,
            Mode::Fine => n,
        }
    }
    fn part_of(&self, i: u64) -> Part {
        match *self {
            Mode::Coarse => 0,
            Mode::Block(d) => i / d,
            Mode::Split(at) => u64::from(i >= at),
            Mode::Stride(s) => i % s,
            Mode::Prefix(at) => i.min(at),
            Mode::Fine => i,
        }
    }
    fn singles(&self, n: u64) -> u64 {
        match *self {
            Mode::Prefix(i) => i,
            Mode::Fine => n,
            _ => 0,
        }
    }
    fn keeps<F: Footprint>(&self, f: &F, n: u64) -> Option<(Rule, ())> {
        let (new, rule) = self.table(f, n);
        (new == *self).then_some((rule, ()))
    }
    fn refine<F: Footprint>(&mut self, f: &F, n: u64, shadow: &mut dyn Shadow) -> Rule {
        let (new, rule) = self.table(f, n);
        self.change(new, n, shadow);
        rule
    }
    fn refine_to_fine(&mut self, n: u64, shadow: &mut dyn Shadow) {
        self.change(Mode::Fine, n, shadow);
    }
    fn each_part<F: Footprint>(&self, f: &F, (): &(), g: &mut dyn FnMut(Part, u64)) {
        let mut beyond = 0;
        f.pieces(&mut |piece| {
            for p in self.parts_of(piece).indices() {
                // Pieces ascend, so parts do, and two pieces of one part are met in a row.
                if p >= beyond {
                    g(p, self.member(p));
                    beyond = p + 1;
                }
            }
        });
    }
    fn members(&self, p: Part, n: u64, g: &mut dyn FnMut(Strided)) {
        g(match *self {
            Mode::Coarse => Strided::run(0, n - 1),
            Mode::Block(d) => Strided::run(p * d, p * d + d - 1),
            Mode::Split(i) if p == 0 => Strided::run(0, i - 1),
            Mode::Split(i) => Strided::run(i, n - 1),
            Mode::Stride(s) => Strided::new(p, n - 1, s),
            Mode::Prefix(i) if p == i => Strided::run(i, n - 1),
            Mode::Prefix(_) | Mode::Fine => Strided::one(p),
        });
    }
    fn finer(&self, ratio: u64) -> Option<Self> {
        match *self {
            Mode::Coarse => Some(Mode::Coarse),
            Mode::Block(d) => Some(Mode::Block(d * ratio)),
            Mode::Split(i) => Some(Mode::Split(i * ratio)),
            // What had a location each has one still, or more.
            Mode::Prefix(i) => Some(Mode::Prefix(i * ratio)),
            Mode::Fine => Some(Mode::Fine),
            // Runs of `ratio` elements, `s * ratio` apart: no mode says that.
            Mode::Stride(_) => None,
        }
    }
}
