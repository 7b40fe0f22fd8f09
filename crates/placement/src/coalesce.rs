//! Path coalescing (section 4 of the paper): the paths of one `check`, as few as can be, naming the very
//! same locations.

use crate::cover::{Fact, cover};
use crate::ir::{Check, Extent, Kind, Path, Shape};
use crate::lin::Lin;
use crate::solve::Solver;

/// Ranges beyond this many are left as they are.
const MAX_PAIRS: usize = 40;

/// One check for each coalesced group.
pub(crate) fn coalesce(solver: &Solver<'_>, facts: Vec<Fact>) -> Vec<Check> {
    let mut out = Vec::new();
    group_fields(compact(solver, facts), &mut out);
    out
}

/// The same facts in as few as can be; writes first.
pub(crate) fn compact(solver: &Solver<'_>, facts: Vec<Fact>) -> Vec<Fact> {
    let (mut writes, mut reads): (Vec<Fact>, Vec<Fact>) =
        facts.into_iter().partition(|f| f.kind == Kind::Write);
    merge_ranges(solver, &mut writes);
    // A write check covers reads.
    reads.retain(
        |r| match cover(solver, writes.iter(), &r.path, Kind::Read) {
            Some(used) => {
                for i in used {
                    writes[i].add_sources(&r.sources);
                }
                false
            }
            None => true,
        },
    );
    merge_ranges(solver, &mut reads);
    writes.extend(reads);
    writes
}

/// `x.f`, `x.g` → `x.f/g`.
fn group_fields(facts: Vec<Fact>, out: &mut Vec<Check>) {
    for f in facts {
        let same_object = |c: &&mut Check| {
            let p = &c.paths[0];
            c.kind == f.kind && p.shape == Shape::Field && p.lo.shape() == f.path.lo.shape()
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
fn merge_ranges(solver: &Solver<'_>, facts: &mut Vec<Fact>) {
    drop_contained(solver, facts);
    if facts.len() > MAX_PAIRS {
        return;
    }
    // Ranges grow first: two elements side by side may belong to different strided ranges.
    join(solver, facts, |p, q| {
        p.extent != Extent::One || q.extent != Extent::One
    });
    while interleave(solver, facts) {}
    join(solver, facts, |_, _| true);
}

/// Replaces two of the facts by their union, while there are two that have one.
fn join(solver: &Solver<'_>, facts: &mut Vec<Fact>, wanted: impl Fn(&Path, &Path) -> bool) {
    let mut i = 0;
    while i < facts.len() {
        let joined = (0..facts.len()).filter(|j| *j != i).find_map(|j| {
            let (p, q) = (&facts[i].path, &facts[j].path);
            let path = wanted(p, q).then(|| union(solver, p, q)).flatten()?;
            Some((j, path))
        });
        match joined {
            Some((j, path)) => {
                let other = facts[j].sources.clone();
                facts[i].path = path;
                facts[i].add_sources(&other);
                facts.remove(j);
                i = 0;
            }
            None => i += 1,
        }
    }
}

fn drop_contained(solver: &Solver<'_>, facts: &mut Vec<Fact>) {
    let mut i = 0;
    while i < facts.len() {
        let f = facts.remove(i);
        match cover(solver, facts.iter(), &f.path, f.kind) {
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

/// A range seen as `lo..hi` by `stride`; an element is a range of one.
fn ends(p: &Path, like: Option<i64>) -> Option<(&Lin, Lin, i64)> {
    match &p.extent {
        Extent::Many { hi, stride } => Some((&p.lo, hi.clone(), *stride)),
        Extent::One => {
            let stride = like.unwrap_or(i64::from(p.size));
            Some((&p.lo, p.lo.offset(stride)?, stride))
        }
    }
}

fn stride(p: &Path) -> Option<i64> {
    match p.extent {
        Extent::One => None,
        Extent::Many { stride, .. } => Some(stride),
    }
}

/// `p ∪ q` as one path, if `p` begins first and `q` goes on where `p` ends, or before.
fn union(solver: &Solver<'_>, p: &Path, q: &Path) -> Option<Path> {
    if p.size != q.size || p.shape != q.shape || p.shape != Shape::Element {
        return None;
    }
    let k = stride(p).or(stride(q));
    let (p_lo, p_hi, k1) = ends(p, k)?;
    let (q_lo, q_hi, k2) = ends(q, k)?;
    // `p_lo ≤ q_lo ≤ p_hi ≤ q_hi` with everything but perhaps `q_hi` on one grid: neither can be
    // empty in a way that the union would not be.
    let regular = k1 == k2
        && solver.congruent(p_lo, q_lo, k1)
        && solver.congruent(&p_hi, q_lo, k1)
        && solver.at_most(p_lo, q_lo)
        && solver.at_most(q_lo, &p_hi)
        && solver.at_most(&p_hi, &q_hi);
    regular.then(|| Path {
        lo: p_lo.clone(),
        extent: Extent::Many {
            hi: q_hi,
            stride: k1,
        },
        size: p.size,
        shape: p.shape,
    })
}

/// `k` ranges of stride `k·size`, each one location further on than the one before, are one dense range.
fn interleave(solver: &Solver<'_>, facts: &mut Vec<Fact>) -> bool {
    for i in 0..facts.len() {
        let p = facts[i].path.clone();
        let Extent::Many { hi, stride } = &p.extent else {
            continue;
        };
        let size = i64::from(p.size);
        let k = stride / size;
        if !(2..=8).contains(&k) || stride % size != 0 || !solver.congruent(hi, &p.lo, *stride) {
            continue;
        }
        let sibling = |j: i64| {
            facts.iter().position(|q| {
                let Extent::Many {
                    hi: q_hi,
                    stride: q_stride,
                } = &q.path.extent
                else {
                    return false;
                };
                let at = |a: &Lin, b: &Lin| b.offset(j * size).is_some_and(|b| solver.equal(a, &b));
                q_stride == stride && q.path.size == p.size && at(&q.path.lo, &p.lo) && at(q_hi, hi)
            })
        };
        let Some(mut siblings) = (1..k).map(sibling).collect::<Option<Vec<usize>>>() else {
            continue;
        };
        facts[i].path.extent = Extent::Many {
            hi: hi.clone(),
            stride: size,
        };
        siblings.sort_unstable();
        for s in siblings.iter().rev() {
            let sources = facts[*s].sources.clone();
            facts[i].add_sources(&sources);
        }
        let mut index = 0;
        facts.retain(|_| {
            index += 1;
            !siblings.contains(&(index - 1))
        });
        return true;
    }
    false
}
