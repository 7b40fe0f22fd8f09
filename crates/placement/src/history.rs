//! The forward passes: past accesses p✁, and the frame that past checks p√ share with them.
//!
//! A state is a set of facts. At a block with several predecessors the meet keeps what all of them
//! entail, in terms of the block's own variables (`H₁ ⊓ H₂`, and `Hinv` for a loop header). Loops: the
//! first pass takes what holds on entry, conjectures included; later passes drop what the back edges do not
//! entail, until nothing is dropped: the greatest fixed point below the conjectures.

use crate::analysis::{Analysis, MAX_FACTS};
use crate::coalesce::compact;
use crate::cover::{Fact, cover, insert};
use crate::ir::{AccessId, BlockId, Instr, Kind};
use std::collections::BTreeSet;

/// After this many passes a loop header that still changes keeps nothing.
pub(crate) const MAX_PASSES: usize = 10;

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
        let mut ends: Vec<Option<Vec<Fact>>> = vec![None; a.f.blocks.len()];
        for pass in 0.. {
            let mut changed = false;
            let immediate = h.immediate.len();
            for &b in &a.cfg.order {
                let state = if let Some(l) = a.cfg.loop_of_header[b.index()] {
                    let old = &h.start[b.index()];
                    let first = a.cfg.loops[l]
                        .latches
                        .iter()
                        .any(|p| ends[p.index()].is_none());
                    let candidates = if first {
                        let mut c = incoming(a, b, &ends);
                        c.extend(a.swept[l].iter().cloned());
                        c
                    } else {
                        old.clone()
                    };
                    let mut new = meet(a, b, &ends, candidates);
                    let moved = first || !same_paths(old, &new);
                    if moved && pass > MAX_PASSES {
                        new.clear();
                    }
                    changed |= moved;
                    new
                } else {
                    let candidates = incoming(a, b, &ends);
                    meet(a, b, &ends, candidates)
                };
                h.start[b.index()] = state.clone();
                ends[b.index()] = Some(h.through(a, b, state));
            }
            if !changed && h.immediate.len() == immediate {
                break;
            }
        }
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
            && let Some((path, kind)) = a.path(*id)
        {
            let fact = Fact {
                path: path.clone(),
                kind: *kind,
                sources: vec![*id],
            };
            insert(state, fact);
        }
    }

    fn through(&mut self, a: &Analysis<'_>, b: BlockId, mut state: Vec<Fact>) -> Vec<Fact> {
        let block = &a.f.blocks[b.index()];
        for i in &block.instrs {
            if let Instr::Access { id, .. } = i
                && (state.len() >= MAX_FACTS || a.path(*id).is_none())
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
        if let [s] = block.term.successors()[..]
            && a.cfg.preds[s.index()].len() > 1
        {
            state = compact(&a.solver(b), state);
        }
        state
    }
}

pub(crate) fn same_paths(a: &[Fact], b: &[Fact]) -> bool {
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
                let new = Fact {
                    path,
                    kind: fact.kind,
                    sources: fact.sources.clone(),
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
            let Some(path) = fact.path.map(|e| edge.backward(e)) else {
                return false;
            };
            let covering = |kind| cover(&solver, end.iter(), &path, kind);
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
    kept
}
