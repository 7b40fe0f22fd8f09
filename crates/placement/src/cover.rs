//! Entailment of paths: do some paths together contain another one?
//!
//! Used for past accesses, past checks and anticipated accesses alike: each of these says something
//! of every location of its path, so a path is entailed if each of its locations lies in one of those
//! known. Kinds: what holds of a write holds of a read (a write check covers reads, an access that
//! wrote makes a read check legitimate), never the other way round.

use crate::ir::{AccessId, Extent, Kind, ONCE, Path};
use crate::lin::Lin;
use crate::solve::Solver;
use crate::values::Values;

/// A path with its kind and the accesses behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fact {
    /// Resolved: what is said.
    pub(crate) path: Path,
    pub(crate) kind: Kind,
    /// Sorted.
    pub(crate) sources: Vec<AccessId>,
    /// The ends of the path, expanded for proofs.
    lo: Lin,
    hi: Option<Lin>,
}

impl Fact {
    /// `None` if the numbers get too large to reason about.
    pub(crate) fn new(
        values: &Values,
        path: Path,
        kind: Kind,
        sources: Vec<AccessId>,
    ) -> Option<Fact> {
        let lo = values.expand(&path.lo)?;
        let hi = match &path.extent {
            Extent::One => None,
            Extent::Many { hi, .. } => Some(values.expand(hi)?),
        };
        Some(Fact {
            path,
            kind,
            sources,
            lo,
            hi,
        })
    }

    /// The same of another path.
    pub(crate) fn with_path(&self, values: &Values, path: Path) -> Option<Fact> {
        if path == self.path {
            return Some(self.clone());
        }
        Fact::new(values, path, self.kind, self.sources.clone())
    }

    pub(crate) fn add_sources(&mut self, more: &[AccessId]) {
        if more.iter().all(|s| self.sources.binary_search(s).is_ok()) {
            return;
        }
        self.sources.extend_from_slice(more);
        self.sources.sort_unstable();
        self.sources.dedup();
    }

    /// The first address, expanded.
    pub(crate) fn lo(&self) -> &Lin {
        &self.lo
    }

    /// The bound and the stride, expanded; an element is a range of one by `like`, or its size.
    pub(crate) fn range(&self, like: Option<i64>) -> Option<(Lin, i64)> {
        match (&self.path.extent, &self.hi) {
            (Extent::Many { stride, .. }, Some(hi)) => Some((hi.clone(), *stride)),
            _ => {
                let stride = like.unwrap_or(i64::from(self.path.size));
                Some((self.lo.offset(stride)?, stride))
            }
        }
    }

    /// Every byte from `lo` to `hi`, whatever the size of its locations.
    fn is_dense(&self) -> bool {
        self.stride() == Some(i64::from(self.path.size))
    }

    /// Where the bytes end that it has all of, from `lo` on: a dense range, or one large location.
    fn solid_end(&self, solver: &Solver<'_>) -> Option<Lin> {
        let hi = self.hi.as_ref()?;
        if self.is_dense() {
            return Some(hi.clone());
        }
        let there = self.stride() == Some(ONCE) && solver.at_most(&self.lo.offset(1)?, hi);
        there
            .then(|| self.lo.offset(i64::from(self.path.size)))
            .flatten()
    }

    /// May this range have `element`? It is one of the same array, as far as one can see: whole elements away.
    pub(crate) fn may_have(&self, element: &Fact) -> bool {
        let size = i64::from(self.path.size);
        self.is_dense()
            && size > 1
            && element.path.extent == Extent::One
            && element.path.size == self.path.size
            && element.kind <= self.kind
            && element
                .lo
                .minus(&self.lo)
                .is_some_and(|d| d.divisible_by(size))
    }

    pub(crate) fn stride(&self) -> Option<i64> {
        match self.path.extent {
            Extent::One => None,
            Extent::Many { stride, .. } => Some(stride),
        }
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

/// Strided ranges that may make up a dense one.
pub(crate) const MAX_INTERLEAVED: i64 = 16;

/// The indices of facts that together contain `wanted` for `kind`; none needed if it is surely empty.
pub(crate) fn cover<'f>(
    solver: &Solver<'_>,
    facts: impl Iterator<Item = &'f Fact> + Clone,
    wanted: &Fact,
    kind: Kind,
) -> Option<Vec<usize>> {
    if solver.is_absurd() {
        return Some(Vec::new());
    }
    let usable = || {
        facts
            .clone()
            .enumerate()
            .filter(|(_, f)| f.kind >= kind)
            .filter(|(_, f)| f.path.size >= wanted.path.size || f.is_dense())
            .filter(|(_, f)| solver.related(&f.lo, &wanted.lo))
    };
    let Extent::Many { stride, .. } = wanted.path.extent else {
        return usable()
            .find(|(_, f)| contains_one(solver, f, wanted))
            .map(|(i, _)| vec![i])
            .or_else(|| pieces(facts.clone(), wanted, kind));
    };
    let hi = wanted.hi.as_ref()?;
    if let Some((i, _)) = usable().find(|(_, f)| f.path == wanted.path) {
        return Some(vec![i]);
    }
    if stride == ONCE {
        if solver.at_most(hi, &wanted.lo) {
            return Some(Vec::new());
        }
        let same = |f: &Fact| {
            f.stride() == Some(ONCE)
                && f.path.size == wanted.path.size
                && f.hi.as_ref().is_some_and(|f| solver.at_most(hi, f))
                && solver.equal(&f.lo, &wanted.lo)
        };
        return usable()
            .find(|(_, f)| contains_one(solver, f, wanted) || same(f))
            .map(|(i, _)| vec![i])
            .or_else(|| pieces(facts.clone(), wanted, kind));
    }
    // Walk from the low end: `at` is the first location not yet contained.
    let walk = |lo: Lin, stride: i64| {
        let mut at = lo;
        let mut used = Vec::new();
        loop {
            if solver.at_most(hi, &at) {
                return Some(used);
            }
            if used.len() == MAX_PIECES {
                return None;
            }
            // The one that reaches furthest, as far as is known.
            let mut found: Option<(usize, Lin)> = None;
            for (i, f) in usable().filter(|(i, _)| !used.contains(i)) {
                if let Some(next) = advance(solver, f, &at, hi, stride, wanted.path.size)
                    && found.as_ref().is_none_or(|(_, n)| solver.at_most(n, &next))
                {
                    let last = next == *hi;
                    found = Some((i, next));
                    if last {
                        break;
                    }
                }
            }
            let (i, next) = found?;
            used.push(i);
            at = next;
        }
    };
    if let Some(used) = walk(wanted.lo.clone(), stride) {
        return Some(used);
    }
    // A dense range is `k` sparse ones, each of which may be known on its own.
    let sparse = usable()
        .filter(|(_, f)| f.path.size == wanted.path.size)
        .filter_map(|(_, f)| f.stride().filter(|s| *s > stride && s % stride == 0))
        .max()
        .filter(|s| s / stride <= MAX_INTERLEAVED)?;
    let mut used = Vec::new();
    for j in 0..sparse / stride {
        used.extend(walk(wanted.lo.offset(j * stride)?, sparse)?);
    }
    used.sort_unstable();
    used.dedup();
    Some(used)
}

/// The one location of `wanted`, put together from others a fixed distance apart: a structure from its fields.
fn pieces<'f>(
    facts: impl Iterator<Item = &'f Fact> + Clone,
    wanted: &Fact,
    kind: Kind,
) -> Option<Vec<usize>> {
    let start = wanted.lo.constant();
    let end = start.checked_add(i64::from(wanted.path.size))?;
    let mut at = start;
    let mut used = Vec::new();
    while at < end {
        let reaches = |f: &Fact| {
            let from = f.lo.constant();
            let to = match &f.hi {
                None => from.checked_add(i64::from(f.path.size)),
                Some(hi) if f.is_dense() && hi.shape() == f.lo.shape() => Some(hi.constant()),
                Some(_) => None,
            };
            to.filter(|to| from <= at && at < *to)
        };
        let (i, to) = facts
            .clone()
            .enumerate()
            .filter(|(_, f)| f.kind >= kind && f.lo.shape() == wanted.lo.shape())
            .find_map(|(i, f)| Some((i, reaches(f)?)))?;
        if used.len() == MAX_PIECES {
            return None;
        }
        used.push(i);
        at = to;
    }
    Some(used)
}

/// Does `known` surely contain the one location of `wanted`?
fn contains_one(solver: &Solver<'_>, known: &Fact, wanted: &Fact) -> bool {
    let (addr, size) = (&wanted.lo, wanted.path.size);
    if known.path.size != size
        && let Some(hi) = known.solid_end(solver)
    {
        let end = addr.offset(i64::from(size));
        return solver.at_most(&known.lo, addr) && end.is_some_and(|end| solver.at_most(&end, &hi));
    }
    match (&known.path.extent, &known.hi) {
        (Extent::Many { stride, .. }, Some(hi)) => {
            known.path.size == size
                && solver.congruent(addr, &known.lo, *stride)
                && solver.at_most(&known.lo, addr)
                && addr.offset(1).is_some_and(|a| solver.at_most(&a, hi))
        }
        _ if addr.shape() == known.lo.shape() => {
            let distance = addr.constant().checked_sub(known.lo.constant());
            distance.is_some_and(|d| {
                d >= 0 && d.saturating_add(i64::from(size)) <= i64::from(known.path.size)
            })
        }
        _ => known.path.size == size && solver.equal(addr, &known.lo),
    }
}

/// If `known` contains the location at `at`: the first location of `at, at + stride, …` that it may
/// not contain, or `hi` if there is none below it.
fn advance(
    solver: &Solver<'_>,
    known: &Fact,
    at: &Lin,
    hi: &Lin,
    stride: i64,
    size: u32,
) -> Option<Lin> {
    if known.path.size != size {
        let known_hi = known.solid_end(solver)?;
        // The last location starts a stride before `hi`, or right before it.
        let last = if solver.congruent(hi, at, stride) {
            hi.offset(-stride)?
        } else {
            hi.offset(-1)?
        };
        let end = last.offset(i64::from(size))?;
        if !solver.at_most(&known.lo, at) {
            return None;
        }
        if solver.at_most(&end, &known_hi) {
            return Some(hi.clone());
        }
        // Every location before `known_hi`.
        let on_grid = stride == i64::from(size)
            && solver.congruent(&known_hi, at, stride)
            && solver.at_most(at, &known_hi);
        return on_grid.then_some(known_hi);
    }
    let one = || {
        let same = solver.equal(at, &known.lo);
        same.then(|| at.offset(stride)).flatten()
    };
    let (Some(known_stride), Some(known_hi)) = (known.stride(), &known.hi) else {
        return one();
    };
    if known_stride == ONCE {
        // If there surely was a round.
        let first = known.lo.offset(1)?;
        return solver.at_most(&first, known_hi).then(one).flatten();
    }
    let regular = stride % known_stride == 0
        && solver.congruent(at, &known.lo, known_stride)
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
