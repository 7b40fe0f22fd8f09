//! The forward passes: past accesses p✁, and the frame that past checks p√ share with them.
//!
//! A state is a set of facts. At a block with several predecessors the meet keeps what all of them
//! entail, in terms of the block's own variables (`H₁ ⊓ H₂`, and `Hinv` for a loop header). Loops: the
//! first pass takes what holds on entry, conjectures included; later passes drop what the back edges do not
//! entail, until nothing is dropped: the greatest fixed point below the conjectures.

use crate::analysis::{Analysis, MAX_FACTS};
use crate::coalesce::compact;
use crate::cover::{Fact, cover, insert};
use crate::ir::{AccessId, BlockId, Extent, Instr, Kind};
use std::collections::BTreeSet;

/// After this many visits a loop header that still changes keeps nothing.
const MAX_VISITS: usize = 10;

/// Past accesses at the start of each block.
pub(crate) struct History {
    start: Vec<Vec<Fact>>,
    /// Accesses that must be checked on the spot: no path for them, or too many facts already.
    pub(crate) immediate: BTreeSet<AccessId>,
}

impl History {
    pub(crate) fn new(a: &Analysis<'_>) -> History {
        let mut h = History {
            start: vec![Vec::new(); a.f.blocks.len()],
            immediate: BTreeSet::new(),
        };
        let start = |b: BlockId, ends: &[Option<Vec<Fact>>], old: &[Fact], visits: usize| {
            start_of(a, b, ends, old, visits)
        };
        solve(a, start, |b, state| {
            h.start[b.index()].clone_from(&state);
            h.through(a, b, state)
        });
        h
    }

    /// Past accesses when `b` begins.
    pub(crate) fn at(&self, b: BlockId) -> &[Fact] {
        &self.start[b.index()]
    }

    /// [READ], [WRITE], [REL], [CALL]: what instruction `i` does to the past accesses.
    pub(crate) fn transfer(&self, a: &Analysis<'_>, i: &Instr, state: &mut Vec<Fact>) {
        if a.kills(i).forgets {
            state.clear();
        }
        if let Instr::Access { id, .. } = i
            && !self.immediate.contains(id)
            && let Some(fact) = a.fact(*id)
        {
            insert(state, fact.clone());
        }
    }

    fn through(&mut self, a: &Analysis<'_>, b: BlockId, mut state: Vec<Fact>) -> Vec<Fact> {
        let block = &a.f.blocks[b.index()];
        for i in &block.instrs {
            if let Instr::Access { id, .. } = i
                && (state.len() >= MAX_FACTS || a.fact(*id).is_none())
            {
                self.immediate.insert(*id);
            }
            self.transfer(a, i, &mut state);
        }
        if a.terminator_kills(&block.term).forgets {
            state.clear();
        }
        // Before ways meet, in as few words as can be: `a[lo..i]` and `a[i]` are `a[lo..i + 1]` for
        // whoever has a name for `i + 1` on the other side.
        if let [s] = a.cfg.succs[b.index()][..]
            && a.cfg.preds[s.index()].len() > 1
        {
            state = compact(&a.values, &a.solver(b), state);
        }
        state
    }
}

/// The facts at the start of `b`, given those at the ends of its predecessors, and for a loop header what it
/// started with before.
pub(crate) fn start_of(
    a: &Analysis<'_>,
    b: BlockId,
    ends: &[Option<Vec<Fact>>],
    old: &[Fact],
    visits: usize,
) -> Vec<Fact> {
    // What is pending on the way there is checked on the way there ([`crate::place`]'s edges), so a cycle that is no natural loop puts nothing
    // off for ever, and needs no invariant.
    if a.cfg.is_irregular(b) {
        return Vec::new();
    }
    let Some(l) = a.cfg.loop_of_header[b.index()] else {
        let mut facts = meet(a, b, ends, incoming(a, b, ends));
        for segment in a.values.segments().iter().filter(|s| s.block == b) {
            facts.retain(|f| !f.path.vars().any(|x| segment.supersedes(x)));
        }
        return facts;
    };
    let latches = &a.cfg.loops[l].latches;
    if latches.iter().any(|p| ends[p.index()].is_none()) {
        let mut candidates = incoming(a, b, ends);
        candidates.extend(a.swept[l].iter().cloned());
        return meet(a, b, ends, candidates);
    }
    let new = meet(a, b, ends, old.to_vec());
    if visits > MAX_VISITS && !same_paths(old, &new) {
        return Vec::new();
    }
    new
}

/// Runs a forward pass to its fixed point: `start` makes the facts at a block's start, `through` those at its
/// end. A block is visited again when a predecessor's end has changed.
pub(crate) fn solve(
    a: &Analysis<'_>,
    start: impl Fn(BlockId, &[Option<Vec<Fact>>], &[Fact], usize) -> Vec<Fact>,
    mut through: impl FnMut(BlockId, Vec<Fact>) -> Vec<Fact>,
) {
    let n = a.f.blocks.len();
    let mut starts: Vec<Vec<Fact>> = vec![Vec::new(); n];
    let mut ends: Vec<Option<Vec<Fact>>> = vec![None; n];
    let mut visits = vec![0; n];
    let mut waiting = vec![true; n];
    let mut again = true;
    while again {
        again = false;
        for &b in &a.cfg.order {
            if !std::mem::replace(&mut waiting[b.index()], false) {
                continue;
            }
            again = true;
            let state = start(b, &ends, &starts[b.index()], visits[b.index()]);
            visits[b.index()] += 1;
            starts[b.index()].clone_from(&state);
            let end = through(b, state);
            if ends[b.index()].as_ref() != Some(&end) {
                ends[b.index()] = Some(end);
                for s in &a.cfg.succs[b.index()] {
                    waiting[s.index()] = true;
                }
            }
        }
    }
}

fn same_paths(a: &[Fact], b: &[Fact]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| a.path == b.path && a.kind == b.kind)
}

/// What the predecessors' facts are called in `b`.
pub(crate) fn incoming(a: &Analysis<'_>, b: BlockId, ends: &[Option<Vec<Fact>>]) -> Vec<Fact> {
    let preds = &a.cfg.preds[b.index()];
    if let [p] = preds[..] {
        // One way in: everything that can still be spoken of stays.
        return ends[p.index()].clone().unwrap_or_default();
    }
    let mut out = Vec::new();
    for &p in preds {
        let edge = a.edge(p, b);
        for fact in ends[p.index()].iter().flatten() {
            for path in edge.forward(&fact.path) {
                let Some(new) = fact.with_path(&a.values, path) else {
                    continue;
                };
                // The weaker kind may hold on all ways where the stronger one does not.
                match out.iter_mut().find(|f: &&mut Fact| f.path == new.path) {
                    Some(f) => f.kind = f.kind.min(new.kind),
                    None => out.push(new),
                }
            }
        }
    }
    out
}

/// The candidates that every predecessor seen so far entails.
pub(crate) fn meet(
    a: &Analysis<'_>,
    b: BlockId,
    ends: &[Option<Vec<Fact>>],
    candidates: Vec<Fact>,
) -> Vec<Fact> {
    let preds = &a.cfg.preds[b.index()];
    if let [_] = preds[..] {
        return candidates;
    }
    let mut kept = candidates;
    kept.truncate(MAX_FACTS);
    for &p in preds {
        let Some(end) = &ends[p.index()] else {
            continue;
        };
        let edge = a.edge(p, b);
        let solver = a.solver(p);
        kept.retain_mut(|fact| {
            let Some(here) = edge.backward_fact(fact) else {
                return false;
            };
            let covering = |kind| cover(&solver, end.iter(), &here, kind);
            let found = covering(fact.kind).or_else(|| {
                // A write on one way, a read on the other: a read on both.
                (fact.kind == Kind::Write)
                    .then(|| covering(Kind::Read))
                    .flatten()
                    .inspect(|_| fact.kind = Kind::Read)
            });
            match found {
                Some(used) => {
                    for i in used {
                        fact.add_sources(&end[i].sources);
                    }
                    true
                }
                None => false,
            }
        });
    }
    drop_second_names(a, b, &mut kept);
    kept
}

/// A merge gives what came along it a second name: after `x = φ(y, y')`, an access to `y.f` on both ways is one to
/// `x.f`, too. Such a name is dropped if the other facts say the same on every way: it would only
/// be checked twice.
fn drop_second_names(a: &Analysis<'_>, b: BlockId, kept: &mut Vec<Fact>) {
    let phis = &a.f.blocks[b.index()].phis;
    if phis.is_empty() {
        return;
    }
    let mut i = 0;
    while i < kept.len() {
        let merged = |x| phis.iter().any(|phi| phi.dst == x);
        if kept[i].path.extent != Extent::One || !kept[i].path.vars().any(merged) {
            i += 1;
            continue;
        }
        let fact = kept.remove(i);
        let redundant = a.cfg.preds[b.index()].iter().all(|&p| {
            let edge = a.edge(p, b);
            let others: Vec<Fact> = kept.iter().filter_map(|f| edge.backward_fact(f)).collect();
            edge.backward_fact(&fact)
                .is_some_and(|f| cover(&a.solver(p), others.iter(), &f, f.kind).is_some())
        });
        if !redundant {
            kept.insert(i, fact);
            i += 1;
        }
    }
}
