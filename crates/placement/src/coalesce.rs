//! Path coalescing (section 4 of the paper): the paths of one `check`, as few as can be, naming the very
//! same locations.

use crate::cover::{Fact, MAX_INTERLEAVED, cover};
use crate::ir::{Check, Extent, Kind, ONCE, Path, Shape};
use crate::lin::Lin;
use crate::solve::Solver;
use crate::values::Values;

/// Ranges beyond this many are left as they are.
const MAX_PAIRS: usize = 160;

/// One check for each coalesced group.
pub(crate) fn coalesce(values: &Values, solver: &Solver<'_>, facts: Vec<Fact>) -> Vec<Check> {
    let mut out = Vec::new();
    group_fields(compact(values, solver, facts), &mut out);
    out
}

/// The same facts in as few as can be; writes first.
pub(crate) fn compact(values: &Values, solver: &Solver<'_>, facts: Vec<Fact>) -> Vec<Fact> {
    let (mut writes, mut reads): (Vec<Fact>, Vec<Fact>) =
        facts.into_iter().partition(|f| f.kind == Kind::Write);
    merge_ranges(values, solver, &mut writes);
    // A write check covers reads.
    reads.retain(|r| match cover(solver, writes.iter(), r, Kind::Read) {
        Some(used) => {
            for i in used {
                writes[i].add_sources(&r.sources);
            }
            false
        }
        None => true,
    });
    merge_ranges(values, solver, &mut reads);
    writes.extend(reads);
    writes
}

/// `x.f`, `x.g` → `x.f/g`.
fn group_fields(facts: Vec<Fact>, out: &mut Vec<Check>) {
    for f in facts {
        let same_object = |c: &&mut Check| {
            let p = &c.paths[0];
            c.kind == f.kind
                && p.shape == Shape::Field
                && p.extent == Extent::One
                && p.lo.shape() == f.path.lo.shape()
        };
        if f.path.shape == Shape::Field
            && f.path.extent == Extent::One
            && let Some(c) = out.iter_mut().find(same_object)
        {
            c.paths.push(f.path);
            c.paths.sort();
            c.sources.extend(f.sources);
            c.sources.sort_unstable();
            c.sources.dedup();
            continue;
        }
        out.push(Check {
            kind: f.kind,
            paths: vec![f.path],
            sources: f.sources,
        });
    }
}

/// Joins ranges and elements as long as two of them make one.
fn merge_ranges(values: &Values, solver: &Solver<'_>, facts: &mut Vec<Fact>) {
    drop_contained(solver, facts);
    if facts.len() > MAX_PAIRS {
        return;
    }
    // Ranges grow first: two elements side by side may belong to different strided ranges.
    join(values, solver, facts, |p, q| {
        p.extent != Extent::One || q.extent != Extent::One
    });
    while interleave(values, solver, facts) {}
    join(values, solver, facts, |_, _| true);
}

/// Replaces two of the facts by their union, while there are two that have one.
fn join(
    values: &Values,
    solver: &Solver<'_>,
    facts: &mut Vec<Fact>,
    wanted: impl Fn(&Path, &Path) -> bool,
) {
    let mut i = 0;
    while i < facts.len() {
        let joined = (0..facts.len()).filter(|j| *j != i).find_map(|j| {
            let (p, q) = (&facts[i], &facts[j]);
            let path = wanted(&p.path, &q.path)
                .then(|| union(solver, p, q))
                .flatten()?;
            Some((j, p.with_path(values, path)?))
        });
        match joined {
            Some((j, fact)) => {
                let other = facts[j].sources.clone();
                facts[i] = fact;
                facts[i].add_sources(&other);
                facts.remove(j);
                i = 0;
            }
            None => i += 1,
        }
    }
}

fn drop_contained(solver: &Solver<'_>, facts: &mut Vec<Fact>) {
    // Where a location is known to be visited, the plain word for it is kept.
    facts.sort_by_key(|f| f.stride() != Some(ONCE));
    let mut i = 0;
    while i < facts.len() {
        let f = facts.remove(i);
        match cover(solver, facts.iter(), &f, f.kind) {
            Some(used) => {
                for u in used {
                    facts[u].add_sources(&f.sources);
                }
            }
            None => {
                facts.insert(i, f);
                i += 1;
            }
        }
    }
}

/// The bound of a path as it is written; an element is a range of one by `stride`.
fn bound(p: &Path, stride: i64) -> Option<Lin> {
    match &p.extent {
        Extent::Many { hi, .. } => Some(hi.clone()),
        Extent::One => p.lo.offset(stride),
    }
}

/// `p ∪ q` as one path, if `p` begins first and `q` goes on where `p` ends, or before.
fn union(solver: &Solver<'_>, p: &Fact, q: &Fact) -> Option<Path> {
    let element = |f: &Fact| f.path.shape == Shape::Element;
    if p.path.size != q.path.size || !element(p) || !element(q) || !solver.related(p.lo(), q.lo()) {
        return None;
    }
    let k = p.stride().or(q.stride());
    let ((p_hi, k1), (q_hi, k2)) = (p.range(k)?, q.range(k)?);
    // `p_lo ≤ q_lo ≤ p_hi ≤ q_hi` with everything but perhaps `q_hi` on one grid: neither can be
    // empty in a way that the union would not be.
    let regular = k1 == k2
        && solver.congruent(p.lo(), q.lo(), k1)
        && solver.congruent(&p_hi, q.lo(), k1)
        && solver.at_most(p.lo(), q.lo())
        && solver.at_most(q.lo(), &p_hi)
        && solver.at_most(&p_hi, &q_hi);
    if !regular {
        return None;
    }
    Some(Path {
        lo: p.path.lo.clone(),
        extent: Extent::Many {
            hi: bound(&q.path, k1)?,
            stride: k1,
        },
        size: p.path.size,
        shape: p.path.shape,
    })
}

/// `k` ranges of stride `k·size`, each one location further on than the one before, are one dense range. So they are if the last of
/// them have a round less: an unrolled loop was left in the middle.
fn interleave(values: &Values, solver: &Solver<'_>, facts: &mut Vec<Fact>) -> bool {
    for i in 0..facts.len() {
        let p = &facts[i];
        let (Some(stride), Some((hi, _))) = (p.stride(), p.range(None)) else {
            continue;
        };
        let size = i64::from(p.path.size);
        let k = stride / size;
        if !(2..=MAX_INTERLEAVED).contains(&k)
            || stride % size != 0
            || !solver.congruent(&hi, p.lo(), stride)
        {
            continue;
        }
        let at = |a: &Lin, b: &Lin, by: i64| b.offset(by).is_some_and(|b| solver.equal(a, &b));
        let sibling = |j: i64, less: i64| {
            facts.iter().position(|q| {
                q.stride() == Some(stride)
                    && q.path.size == p.path.size
                    && at(q.lo(), p.lo(), j * size)
                    && q.range(None)
                        .is_some_and(|(q_hi, _)| at(&q_hi, &hi, j * size - less))
            })
        };
        let mut siblings: Vec<usize> = (1..k).map_while(|j| sibling(j, 0)).collect();
        let whole = siblings.len() as i64 + 1;
        siblings.extend((whole..k).map_while(|j| sibling(j, stride)));
        if siblings.len() as i64 + 1 < k {
            continue;
        }
        let mut path = p.path.clone();
        if let Extent::Many { hi, stride } = &mut path.extent {
            let Some(end) = hi.offset((whole - k) * size) else {
                continue;
            };
            *hi = end;
            *stride = size;
        }
        let Some(mut dense) = p.with_path(values, path) else {
            continue;
        };
        for s in &siblings {
            dense.add_sources(&facts[*s].sources);
        }
        facts[i] = dense;
        let mut index = 0;
        facts.retain(|_| {
            index += 1;
            !siblings.contains(&(index - 1))
        });
        return true;
    }
    false
}
