//! Walks whose base a loop reads again in each round, and which hardly ever changes: a *segment* is what was walked since it last did.
//!
//! The producer of the IR makes them. With `p` the base that was just read, in every round of a loop with counter `i`:
//!
//! ```text
//! header:  last = φ(…, last'), since = φ(first i, since')
//!          …
//!          if p ≠ last: changed
//! changed: …
//! same:    last' = φ(last, p), since' = φ(since, i)
//! ```
//!
//! Accesses are in terms of `last'`. So `last[since..i]` is what was accessed before the current round through the present base: a
//! conjecture ([`crate::sweep`]) that the fixed point confirms, given that `since` is an earlier `i`, which `values` knows.
//! Behind `same` it is called `last'[since'..i]`. Its first name goes there ([`Segment::supersedes`]), so that it is checked in
//! `changed`, where the two differ.

use crate::cfg::Cfg;
use crate::ir::{BlockId, Function, Phi, Var};
use crate::lin::Lin;
use crate::values::Values;

/// A merge in a loop's header and the one in the loop that it gets its next value from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Carried {
    pub(crate) before: Var,
    pub(crate) after: Var,
}

/// Where a segment began, in terms of one of the loop's counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Since {
    pub(crate) counter: Var,
    pub(crate) carried: Carried,
}

#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) of_loop: usize,
    /// Where it is over or goes on.
    pub(crate) block: BlockId,
    pub(crate) since: Vec<Since>,
    pub(crate) bases: Vec<Carried>,
}

impl Segment {
    /// Is `x` a name for what is called otherwise from the segment's block on?
    pub(crate) fn supersedes(&self, x: Var) -> bool {
        self.since.iter().any(|s| s.carried.before == x)
    }

    /// All segments of a function.
    pub(crate) fn find(f: &Function, cfg: &Cfg, values: &Values) -> Vec<Segment> {
        let mut out: Vec<Segment> = Vec::new();
        for of_loop in 0..cfg.loops.len() {
            let header = cfg.loops[of_loop].header;
            let mut carried: Vec<(BlockId, &Phi, Carried)> = Vec::new();
            for phi in &f.blocks[header.index()].phis {
                carried.extend(carried_by(f, cfg, values, of_loop, phi));
            }
            for (block, merge, this) in &carried {
                let Some(counter) = counter_of(f, cfg, values, of_loop, merge, *this) else {
                    continue;
                };
                let since = Since {
                    counter,
                    carried: *this,
                };
                match out
                    .iter_mut()
                    .find(|s| s.of_loop == of_loop && s.block == *block)
                {
                    Some(segment) => segment.since.push(since),
                    None => out.push(Segment {
                        of_loop,
                        block: *block,
                        since: vec![since],
                        bases: Vec::new(),
                    }),
                }
            }
            for segment in out.iter_mut().filter(|s| s.of_loop == of_loop) {
                let bases = carried.iter().filter(|c| c.0 == segment.block);
                let is_base = |c: &Carried| segment.since.iter().all(|s| s.carried != *c);
                segment.bases = bases.map(|c| c.2).filter(is_base).collect();
            }
        }
        out.retain(|s| !s.bases.is_empty());
        out
    }
}

/// If what a merge of the header gets from the loop is a merge in the loop again, of itself and something else: where that is.
fn carried_by<'f>(
    f: &'f Function,
    cfg: &Cfg,
    values: &Values,
    of_loop: usize,
    phi: &Phi,
) -> Option<(BlockId, &'f Phi, Carried)> {
    let this = &cfg.loops[of_loop];
    let [latch] = this.latches[..] else {
        return None;
    };
    let after = values.resolve(phi.from(latch)?)?.as_var()?;
    let block = cfg.def_block(after)?;
    if block == this.header || !this.contains[block.index()] {
        return None;
    }
    let merge = f.blocks[block.index()]
        .phis
        .iter()
        .find(|m| m.dst == after)?;
    let before = phi.dst;
    let itself = Lin::from(before);
    let kept = |p: &BlockId| merge.from(*p).and_then(|v| values.resolve(v)) == Some(itself.clone());
    let any = cfg.preds[block.index()].iter().any(kept);
    any.then_some((block, merge, Carried { before, after }))
}

/// The counter that `carried` is an earlier value of: it begins as the counter does, and is left alone or becomes what the counter is.
fn counter_of(
    f: &Function,
    cfg: &Cfg,
    values: &Values,
    of_loop: usize,
    merge: &Phi,
    carried: Carried,
) -> Option<Var> {
    let this = &cfg.loops[of_loop];
    let phis = &f.blocks[this.header.index()].phis;
    let phi = phis.iter().find(|phi| phi.dst == carried.before)?;
    let block = cfg.def_block(carried.after)?;
    let new = cfg.preds[block.index()]
        .iter()
        .map(|p| merge.from(*p).and_then(|v| values.resolve(v)?.as_var()))
        .filter(|x| *x != Some(carried.before));
    let mut new = new.collect::<Option<Vec<Var>>>()?;
    new.dedup();
    let [counter] = new[..] else {
        return None;
    };
    let induction = values.induction(counter).filter(|i| i.of_loop == of_loop)?;
    cfg.preds[this.header.index()]
        .iter()
        .filter(|p| !this.latches.contains(p))
        .all(|p| phi.from(*p).and_then(|v| values.resolve(v)).as_ref() == Some(&induction.init))
        .then_some(counter)
}
