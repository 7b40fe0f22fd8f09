//! The boolean part of the history: what branch tests and loop invariants say at each block.
//!
//! Values never change in SSA, so a test once passed stays true wherever it dominates. The facts of a
//! block are those of its dominators, the test on its own incoming edge, and for a loop header the
//! invariants found here: conditions that held at the end of a round, shifted to the next one, kept if
//! they hold on entry and, assumed, again at the end of every round.

use crate::cfg::Cfg;
use crate::ir::{BlockId, Cond, Function, Terminator};
use crate::lin::Lin;
use crate::solve::{Facts, Solver};
use crate::values::{Edge, Values};

/// Older facts are forgotten first.
const MAX_FACTS: usize = 24;

pub(crate) struct Conditions {
    at: Vec<Vec<Cond>>,
    facts: Vec<Facts>,
}

impl Conditions {
    pub(crate) fn new(f: &Function, cfg: &Cfg, values: &Values) -> Conditions {
        let none = vec![Vec::new(); cfg.loops.len()];
        let plain = Conditions::with_invariants(f, cfg, values, &none);
        let mut invariants: Vec<Vec<Cond>> = (0..cfg.loops.len())
            .map(|l| plain.candidates(f, cfg, values, l))
            .collect();
        // Greatest fixed point: drop what is not kept up, until nothing is dropped.
        loop {
            let c = Conditions::with_invariants(f, cfg, values, &invariants);
            let mut dropped = false;
            for (l, invariants) in invariants.iter_mut().enumerate() {
                let header = cfg.loops[l].header;
                invariants.retain(|inv| {
                    let kept = cfg.preds[header.index()].iter().all(|&p| {
                        let edge = Edge::new(f, cfg, values, p, header);
                        let solver = c.solver(values, p);
                        edge.backward(inv.lin())
                            .and_then(|e| values.expand(&e))
                            .is_some_and(|e| solver.nonnegative(&e))
                    });
                    dropped |= !kept;
                    kept
                });
            }
            if !dropped {
                return c;
            }
        }
    }

    /// What is known when `b` begins, and all through it.
    pub(crate) fn at(&self, b: BlockId) -> &[Cond] {
        &self.at[b.index()]
    }

    pub(crate) fn solver<'v>(&'v self, values: &'v Values, b: BlockId) -> Solver<'v> {
        Solver::new(values, &self.facts[b.index()])
    }

    fn with_invariants(
        f: &Function,
        cfg: &Cfg,
        values: &Values,
        invariants: &[Vec<Cond>],
    ) -> Conditions {
        let mut at: Vec<Vec<Cond>> = vec![Vec::new(); f.blocks.len()];
        for &b in &cfg.order {
            let mut facts = match cfg.idom(b) {
                Some(d) => at[d.index()].clone(),
                None => Vec::new(),
            };
            if let [p] = cfg.preds[b.index()][..] {
                facts.extend(edge_condition(f, values, p, b));
            }
            if let Some(l) = cfg.loop_of_header[b.index()] {
                facts.extend(invariants[l].iter().cloned());
            }
            let surplus = facts.len().saturating_sub(MAX_FACTS);
            facts.drain(..surplus);
            at[b.index()] = facts;
        }
        let facts = at.iter().map(|c| Facts::new(values, c)).collect();
        Conditions { at, facts }
    }

    /// Conditions at the end of a round, in terms of the next round's induction variables.
    fn candidates(&self, f: &Function, cfg: &Cfg, values: &Values, l: usize) -> Vec<Cond> {
        let header = cfg.loops[l].header;
        let known = self.at(header).len();
        let mut out = Vec::new();
        for &latch in &cfg.loops[l].latches {
            for c in self.at(latch).iter().skip(known.min(self.at(latch).len())) {
                let Cond::NonNegative(e) = c else {
                    continue;
                };
                let mut speakable = true;
                let shifted = e.map(|x| {
                    speakable &= cfg.in_scope_at(x, header);
                    match values.induction(x) {
                        Some(i) if i.of_loop == l => Lin::from(x).offset(-i.step),
                        _ => {
                            // Other merges of the header have no known next value.
                            speakable &=
                                !f.blocks[header.index()].phis.iter().any(|phi| phi.dst == x);
                            None
                        }
                    }
                });
                if let (true, Some(e)) = (speakable, shifted)
                    && !out.contains(&Cond::NonNegative(e.clone()))
                {
                    out.push(Cond::NonNegative(e));
                }
            }
        }
        out
    }
}

/// The test that the edge `p → b` has passed, resolved.
fn edge_condition(f: &Function, values: &Values, p: BlockId, b: BlockId) -> Option<Cond> {
    let Terminator::Branch {
        cond,
        then,
        otherwise,
    } = &f.blocks[p.index()].term
    else {
        return None;
    };
    if then == otherwise {
        return None;
    }
    let cond = if b == *then {
        cond.clone()
    } else {
        cond.negated()?
    };
    let e = values.resolve(cond.lin())?;
    Some(match cond {
        Cond::NonNegative(_) => Cond::NonNegative(e),
        Cond::Zero(_) => Cond::Zero(e),
        Cond::NonZero(_) => Cond::NonZero(e),
    })
}
