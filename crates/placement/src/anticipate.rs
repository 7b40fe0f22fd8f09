//! The backward pass: anticipated accesses p✸.
//!
//! p✸ holds at a point if every continuation accesses p before it acquires, ends, or may go away for
//! ever. A loop that may be endless promises nothing beyond the current round: its back edge
//! anticipates nothing.

use crate::analysis::{Analysis, MAX_FACTS};
use crate::cover::{Fact, cover, insert};
use crate::ir::{BlockId, Instr, Point};

/// Anticipated accesses at the end of each block, before what its terminator kills is killed.
pub(crate) struct Anticipated {
    start: Vec<Vec<Fact>>,
    end: Vec<Vec<Fact>>,
}

impl Anticipated {
    /// Anticipates nothing, ever.
    pub(crate) fn nothing(a: &Analysis<'_>) -> Anticipated {
        Anticipated {
            start: vec![Vec::new(); a.f.blocks.len()],
            end: vec![Vec::new(); a.f.blocks.len()],
        }
    }

    pub(crate) fn new(a: &Analysis<'_>) -> Anticipated {
        let mut this = Anticipated::nothing(a);
        // What is assumed at each loop header: conjectures first, then also what the first pass found.
        // From there on it only shrinks.
        let mut assumed: Vec<Vec<Fact>> =
            (0..a.cfg.loops.len()).map(|l| conjectures(a, l)).collect();
        this.pass(a, &mut assumed, false);
        for (l, facts) in assumed.iter_mut().enumerate() {
            this.add_found(a, l, facts);
        }
        while this.pass(a, &mut assumed, true) {}
        this
    }

    /// One pass over the function; says whether an assumption was dropped.
    fn pass(&mut self, a: &Analysis<'_>, assumed: &mut [Vec<Fact>], judge: bool) -> bool {
        let mut dropped = false;
        for &b in a.cfg.order.iter().rev() {
            let end = self.merge(a, b, assumed);
            let mut state = end.clone();
            self.end[b.index()] = end;
            let block = &a.f.blocks[b.index()];
            if a.terminator_kills(&block.term).deadline {
                state.clear();
            }
            for (index, i) in block.instrs.iter().enumerate().rev() {
                transfer(a, i, Point { block: b, index }, &mut state);
            }
            if let Some(l) = a.cfg.loop_of_header[b.index()] {
                let solver = a.solver(b);
                if judge {
                    let before = assumed[l].len();
                    assumed[l].retain(|f| cover(&solver, state.iter(), f, f.kind).is_some());
                    dropped |= assumed[l].len() < before;
                    state.clone_from(&assumed[l]);
                } else {
                    // In its words, if it will be right: `a[i..n]` is said of an outer loop more easily than `a[i]` and `a[i + 1..n]` are.
                    let found = std::mem::replace(&mut state, assumed[l].clone());
                    for f in found {
                        if cover(&solver, state.iter(), &f, f.kind).is_none() {
                            insert(&mut state, f);
                        }
                    }
                }
            }
            self.start[b.index()] = state;
        }
        dropped
    }

    /// What the first pass found at the loop's header, and where the loop ends: that is anticipated in
    /// it, if nothing in it objects.
    fn add_found(&self, a: &Analysis<'_>, l: usize, facts: &mut Vec<Fact>) {
        let this = &a.cfg.loops[l];
        let speakable = |f: &&Fact| f.path.vars().all(|x| a.cfg.in_scope_at(x, this.header));
        let solver = a.solver(this.header);
        let mut add = |new: &[Fact]| {
            for f in new.iter().filter(speakable) {
                let known = cover(&solver, facts.iter(), f, f.kind).is_some();
                if !known && facts.len() < MAX_FACTS {
                    insert(facts, f.clone());
                }
            }
        };
        add(&self.start[this.header.index()]);
        for b in a.cfg.order.iter().filter(|b| this.contains[b.index()]) {
            for s in &a.cfg.succs[b.index()] {
                if !this.contains[s.index()] {
                    add(&self.start[s.index()]);
                }
            }
        }
    }

    /// What is anticipated at the start of `b`.
    pub(crate) fn at(&self, b: BlockId) -> &[Fact] {
        &self.start[b.index()]
    }

    /// What is anticipated before each instruction of `b` that kills something or is `wanted`; the
    /// last entry is before its terminator.
    pub(crate) fn points(
        &self,
        a: &Analysis<'_>,
        b: BlockId,
        wanted: impl Fn(usize) -> bool,
    ) -> Vec<Vec<Fact>> {
        let block = &a.f.blocks[b.index()];
        let mut state = self.end[b.index()].clone();
        if a.terminator_kills(&block.term).deadline {
            state.clear();
        }
        let mut out = vec![state.clone()];
        for (index, i) in block.instrs.iter().enumerate().rev() {
            transfer(a, i, Point { block: b, index }, &mut state);
            out.push(if wanted(index) || a.kills(i).any() {
                state.clone()
            } else {
                Vec::new()
            });
        }
        out.reverse();
        out
    }

    /// `H₁•A₁ ⊓ H₂•A₂` over the successors of `b`.
    fn merge(&self, a: &Analysis<'_>, b: BlockId, assumed: &[Vec<Fact>]) -> Vec<Fact> {
        let block = &a.f.blocks[b.index()];
        let point = Point {
            block: b,
            index: block.instrs.len(),
        };
        let speakable = |f: &Fact| f.path.vars().all(|x| a.cfg.in_scope(x, point));
        let mut ways: Vec<(BlockId, Vec<Fact>)> = Vec::new();
        for &s in &a.cfg.succs[b.index()] {
            let edge = a.edge(b, s);
            let facts: &[Fact] = if a.cfg.is_irregular_edge(b, s) {
                // Such a cycle may have no end, and is gone through once only.
                &[]
            } else if a.cfg.is_back_edge(b, s) {
                let l = a.cfg.loop_of_header[s.index()].unwrap_or_default();
                if a.endless[l] { &[] } else { &assumed[l] }
            } else {
                &self.start[s.index()]
            };
            let facts = facts
                .iter()
                .filter_map(|f| edge.backward_fact(f))
                .filter(speakable)
                .collect();
            ways.push((s, facts));
        }
        let mut out: Vec<Fact> = Vec::new();
        for (_, facts) in &ways {
            for f in facts {
                if out.len() < MAX_FACTS
                    && !out.iter().any(|g| g.path == f.path && g.kind == f.kind)
                {
                    out.push(f.clone());
                }
            }
        }
        if ways.len() > 1 {
            for (s, facts) in &ways {
                let solver = a.solver(*s);
                out.retain(|f| cover(&solver, facts.iter(), f, f.kind).is_some());
            }
        }
        out
    }
}

/// Aheuristic: what the rest of the loop may access, in words of its header.
fn conjectures(a: &Analysis<'_>, l: usize) -> Vec<Fact> {
    let this = &a.cfg.loops[l];
    let mut out = a.anticipated_sweeps(l);
    for b in a.cfg.order.iter().filter(|b| this.contains[b.index()]) {
        for i in &a.f.blocks[b.index()].instrs {
            if let Instr::Access { id, .. } = i
                && let Some(fact) = a.fact(*id)
                && fact.path.vars().all(|x| a.cfg.in_scope_at(x, this.header))
                && out.len() < MAX_FACTS
            {
                insert(&mut out, fact.clone());
            }
        }
    }
    out
}

/// [READ], [WRITE], [ACQ], [CALL], [NEW], backwards over `i`.
fn transfer(a: &Analysis<'_>, i: &Instr, before: Point, state: &mut Vec<Fact>) {
    if a.kills(i).deadline {
        state.clear();
    }
    if let Some(x) = i.defines() {
        // Resolved paths speak of x only if x is a root.
        state.retain(|f| !f.path.vars().any(|y| y == x));
    }
    if let Instr::Access { id, .. } = i
        && state.len() < MAX_FACTS
        && let Some(fact) = a.fact(*id)
        && fact.path.vars().all(|x| a.cfg.in_scope(x, before))
    {
        insert(state, fact.clone());
    }
}
