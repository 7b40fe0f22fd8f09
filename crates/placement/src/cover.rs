//! Entailment of paths: do some paths together contain another one?
//!
//! Used for past accesses, past checks and anticipated accesses alike: each of these says something
//! of every location of its path, so a path is entailed if each of its locations lies in one of those
//! known. Kinds: what holds of a write holds of a read (a write check covers reads, an access that
//! wrote makes a read check legitimate), never the other way round.

use crate::ir::{AccessId, Extent, Kind, Path};
use crate::lin::Lin;
use crate::solve::Solver;

/// A path with its kind and the accesses behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fact {
    pub(crate) path: Path,
    pub(crate) kind: Kind,
    /// Sorted.
    pub(crate) sources: Vec<AccessId>,
}

impl Fact {
    pub(crate) fn add_sources(&mut self, more: &[AccessId]) {
        self.sources.extend_from_slice(more);
        self.sources.sort_unstable();
        self.sources.dedup();
    }
}

/// Adds a fact; one path is held once, with the stronger kind.
pub(crate) fn insert(facts: &mut Vec<Fact>, new: Fact) {
    match facts.iter_mut().find(|f| f.path == new.path) {
        Some(f) => {
            f.kind = f.kind.max(new.kind);
            f.add_sources(&new.sources);
        }
        None => facts.push(new),
    }
}

/// Pieces that a cover may consist of.
const MAX_PIECES: usize = 6;

/// The indices of facts that together contain `path` for `kind`; none needed if it is surely empty.
pub(crate) fn cover<'f>(
    solver: &Solver<'_>,
    facts: impl Iterator<Item = &'f Fact> + Clone,
    path: &Path,
    kind: Kind,
) -> Option<Vec<usize>> {
    if solver.is_absurd() {
        return Some(Vec::new());
    }
    let usable = || {
        facts
            .clone()
            .enumerate()
            .filter(|(_, f)| f.kind >= kind && may_relate(&f.path, path))
    };
    if let Some((i, _)) = usable().find(|(_, f)| f.path == *path) {
        return Some(vec![i]);
    }
    let Extent::Many { hi, stride } = &path.extent else {
        return usable()
            .find(|(_, f)| contains_one(solver, &f.path, &path.lo, path.size))
            .map(|(i, _)| vec![i]);
    };
    // Walk from the low end: `at` is the first location not yet contained.
    let mut at = path.lo.clone();
    let mut used = Vec::new();
    loop {
        if solver.at_most(hi, &at) {
            return Some(used);
        }
        if used.len() == MAX_PIECES {
            return None;
        }
        let (i, next) = usable()
            .filter(|(i, _)| !used.contains(i))
            .find_map(|(i, f)| Some((i, advance(solver, &f.path, &at, hi, *stride, path.size)?)))?;
        used.push(i);
        at = next;
    }
}

/// Cheap refusal: nothing known would ever relate them.
fn may_relate(known: &Path, wanted: &Path) -> bool {
    known.size >= wanted.size
}

/// Does `known` surely contain the `size` bytes at `addr`?
fn contains_one(solver: &Solver<'_>, known: &Path, addr: &Lin, size: u32) -> bool {
    match &known.extent {
        Extent::One => {
            let Some(distance) = addr.minus(&known.lo) else {
                return false;
            };
            match distance.as_constant() {
                Some(d) => d >= 0 && d + i64::from(size) <= i64::from(known.size),
                None => known.size == size && solver.equal(addr, &known.lo),
            }
        }
        Extent::Many { hi, stride } => {
            known.size == size
                && solver.congruent(addr, &known.lo, *stride)
                && solver.at_most(&known.lo, addr)
                && below(solver, addr, hi)
        }
    }
}

fn below(solver: &Solver<'_>, a: &Lin, b: &Lin) -> bool {
    a.offset(1).is_some_and(|a| solver.at_most(&a, b))
}

/// If `known` contains the location at `at`: the first location of `at, at + stride, …` that it may
/// not contain, or `hi` if there is none below it.
fn advance(
    solver: &Solver<'_>,
    known: &Path,
    at: &Lin,
    hi: &Lin,
    stride: i64,
    size: u32,
) -> Option<Lin> {
    if known.size != size {
        return None;
    }
    match &known.extent {
        Extent::One => solver
            .equal(at, &known.lo)
            .then(|| at.offset(stride))
            .flatten(),
        Extent::Many {
            hi: known_hi,
            stride: known_stride,
        } => {
            let regular = stride % known_stride == 0
                && solver.congruent(at, &known.lo, *known_stride)
                && solver.at_most(&known.lo, at);
            if !regular {
                return None;
            }
            if solver.at_most(hi, known_hi) {
                return Some(hi.clone());
            }
            // If `hi` is on the grid, the last location is a stride before it.
            let last = hi.offset(1 - stride)?;
            if solver.congruent(hi, at, stride) && solver.at_most(&last, known_hi) {
                return Some(hi.clone());
            }
            // `at ≤ known_hi` and both on the grid: everything before `known_hi` is contained.
            let on_grid = solver.congruent(known_hi, at, stride) && solver.at_most(at, known_hi);
            on_grid.then(|| known_hi.clone())
        }
    }
}
