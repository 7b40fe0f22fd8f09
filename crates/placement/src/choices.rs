//! What a loop chooses: `if (a[i] > a[best]) best = i`, the largest element so far.
//!
//! # Contract
//!
//! The address of `a[best]` is no walk, and is checked in each round as it stands. But what it leads to is known: the round that chose an
//! index accessed its element, and the rounds before any choice accessed the first one. So the access is taken for one of `a[init]`,
//! which stays in place and is checked once, wherever that is best.
//!
//! That is the same set of bytes between any two points that checks may not cross, since all of it happens within one run of a loop in which there are none:
//!
//! - The access is made in each round, and so in the first, to `a[init]`: what is checked in its name was accessed.
//! - In a later round it is to `a[init]` again, or to `a[v]`, where `v` was chosen in a round that has accessed `a[v]` by itself, in the same way or
//!   by a write, before it chose or as surely. Whatever check covers that access covers this one: if it comes before, nothing that releases is in
//!   between, and if it comes after, nothing that acquires.
//!
//! This is done before the analysis, so that no check of the other access relies on one of this.

use crate::analysis::Analysis;
use crate::cfg::Cfg;
use crate::gather::is_quiet;
use crate::ir::{BlockId, Effects, Extent, Function, Instr, Kind, OpaqueOp, Path, Phi, Point, Var};
use crate::lin::Lin;
use crate::values::Values;
use std::collections::BTreeMap;

/// The function with such accesses taken for those of the first round, and how many, if it has any.
pub(crate) fn settled(
    f: &Function,
    cfg: &Cfg,
    effects: &[Effects],
    loops_end: bool,
) -> Option<(Function, u64)> {
    let made = Made::new(f, cfg);
    if !(0..cfg.loops.len()).any(|l| made.kept(cfg, l).next().is_some()) {
        return None;
    }
    let values = Values::new(f, cfg, &[]);
    let a = Analysis::new(f, cfg.clone(), values, effects, loops_end);
    let mut found: Vec<(Point, Path)> = Vec::new();
    for l in (0..cfg.loops.len()).filter(|l| is_quiet(&a, *l)) {
        for phi in made.kept(cfg, l) {
            if let Some(choice) = Choice::new(&a, &made, l, phi) {
                found.extend(choice.accesses(&a));
            }
        }
    }
    if found.is_empty() {
        return None;
    }
    let (mut out, count) = (f.clone(), found.len() as u64);
    for (point, settled) in found {
        let instr = &mut out.blocks[point.block.index()].instrs[point.index];
        if let Instr::Access { path, .. } = instr {
            *path = settled;
        }
    }
    Some((out, count))
}

/// How variables are chosen.
struct Made<'a> {
    f: &'a Function,
    /// Merges, and where.
    merges: BTreeMap<Var, (BlockId, &'a Phi)>,
    /// Choices within a block, and where.
    chosen: BTreeMap<Var, (BlockId, &'a [Lin])>,
}

impl<'a> Made<'a> {
    fn new(f: &'a Function, cfg: &Cfg) -> Made<'a> {
        let (mut merges, mut chosen) = (BTreeMap::new(), BTreeMap::new());
        for &b in &cfg.order {
            let block = &f.blocks[b.index()];
            merges.extend(block.phis.iter().map(|phi| (phi.dst, (b, phi))));
            for i in &block.instrs {
                if let Instr::Opaque {
                    dst,
                    op: OpaqueOp::Choice,
                    args,
                } = i
                {
                    chosen.insert(*dst, (b, &args[..]));
                }
            }
        }
        Made { f, merges, chosen }
    }

    /// What `y` may be, each with a block that is passed if it is.
    fn ways(&self, y: Var) -> Vec<(BlockId, &'a Lin)> {
        if let Some((_, phi)) = self.merges.get(&y) {
            return phi.args.iter().map(|(from, e)| (*from, e)).collect();
        }
        let chosen = self.chosen.get(&y);
        let ways = chosen.map(|(b, args)| args.iter().map(move |e| (*b, e)));
        ways.into_iter().flatten().collect()
    }

    /// Merges where loop `l` begins that some round may keep.
    fn kept(&self, cfg: &Cfg, l: usize) -> impl Iterator<Item = &'a Phi> {
        let l = &cfg.loops[l];
        self.f.blocks[l.header.index()].phis.iter().filter(|phi| {
            let next = l.latches.iter().filter_map(|latch| phi.from(*latch));
            let itself = Lin::from(phi.dst);
            next.filter_map(Lin::as_var)
                .filter(|y| *y != phi.dst)
                .any(|y| self.ways(y).iter().any(|(_, e)| **e == itself))
        })
    }
}

/// A variable that is `init` in the first round of its loop, and then what a round has kept or chosen.
struct Choice {
    of_loop: usize,
    var: Var,
    init: Lin,
    /// What it may become, each with a block that is passed if it does.
    others: Vec<(BlockId, Lin)>,
}

impl Choice {
    fn new(a: &Analysis<'_>, made: &Made<'_>, of_loop: usize, phi: &Phi) -> Option<Choice> {
        let l = &a.cfg.loops[of_loop];
        let itself = Lin::from(phi.dst);
        // A copy of something is no choice.
        if a.values.resolve(&itself)? != itself {
            return None;
        }
        let mut init = None;
        let mut others = Vec::new();
        for pred in &a.cfg.preds[l.header.index()] {
            let value = a.values.resolve(phi.from(*pred)?)?;
            if !l.latches.contains(pred) {
                if init.get_or_insert_with(|| value.clone()) != &value {
                    return None;
                }
                continue;
            }
            if value == itself {
                continue;
            }
            let ways = made.ways(value.as_var()?);
            if ways.is_empty() {
                return None;
            }
            for (from, way) in ways {
                let way = a.values.resolve(way)?;
                if way != itself {
                    others.push((from, way));
                }
            }
        }
        Some(Choice {
            of_loop,
            var: phi.dst,
            init: init?,
            others,
        })
    }

    /// The accesses by this variable that stand for that of the first round, with its path.
    fn accesses(&self, a: &Analysis<'_>) -> Vec<(Point, Path)> {
        let l = &a.cfg.loops[self.of_loop];
        let inside = a.cfg.order.iter().filter(|b| l.contains[b.index()]);
        let always = inside.filter(|b| l.latches.iter().all(|latch| a.cfg.dominates(**b, *latch)));
        let mut found = Vec::new();
        for &block in always {
            for (index, i) in a.f.blocks[block.index()].instrs.iter().enumerate() {
                if let Instr::Access { kind, path, .. } = i
                    && let Some(path) = self.settled(a, *kind, path)
                {
                    found.push((Point { block, index }, path));
                }
            }
        }
        found
    }

    /// The path of the first round, if this one is of one location that it differs from in nothing but the variable, and the elements of all others are
    /// accessed when they are chosen.
    fn settled(&self, a: &Analysis<'_>, kind: Kind, path: &Path) -> Option<Path> {
        let path = a.values.resolve_path(path)?;
        let l = &a.cfg.loops[self.of_loop];
        let stays = |x: Var| {
            let defined = a.cfg.def_block(x);
            defined.is_none_or(|b| !l.contains[b.index()])
        };
        if path.extent != Extent::One
            || path.lo.coefficient(self.var) == 0
            || path.lo.vars().any(|x| x != self.var && !stays(x))
        {
            return None;
        }
        let with = |value: &Lin| path.lo.substitute(self.var, value);
        let accessed = |(from, value): &(BlockId, Lin)| {
            with(value).is_some_and(|lo| self.is_accessed(a, kind, &path, &lo, *from))
        };
        self.others.iter().all(accessed).then_some(())?;
        let first = Path {
            lo: with(&self.init)?,
            ..path.clone()
        };
        let is_there = first.vars().all(stays);
        is_there.then_some(first)
    }

    /// Is the location at `lo` accessed in each round that passes `by`, as `like` is?
    fn is_accessed(
        &self,
        a: &Analysis<'_>,
        kind: Kind,
        like: &Path,
        lo: &Lin,
        by: BlockId,
    ) -> bool {
        let l = &a.cfg.loops[self.of_loop];
        let mut sure = a.cfg.order.iter().filter(|b| {
            l.contains[b.index()] && l.contains[by.index()] && a.cfg.dominates(**b, by)
        });
        sure.any(|b| {
            a.f.blocks[b.index()].instrs.iter().any(|i| {
                let Instr::Access { kind: by, path, .. } = i else {
                    return false;
                };
                let covers = *by == Kind::Write || *by == kind;
                let other = a.values.resolve_path(path).filter(|_| covers);
                other.is_some_and(|other| {
                    (other.extent, other.size, &other.lo) == (Extent::One, like.size, lo)
                })
            })
        })
    }
}
