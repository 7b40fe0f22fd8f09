//! What variables are worth: the equalities that hold wherever their variables are in scope.
//!
//! In SSA a definition is a fact for as long as it can be spoken of, so `x = e` of [ASSIGN] needs no
//! place in the history: every expression is *resolved* to roots (parameters, loads, merges, results
//! that are not linear). An induction variable `i` of loop `L` is a root, too, but for proofs it is
//! *expanded* to `init + step · n`, where the ghost `n ≥ 0` counts the rounds of `L`. That gives the
//! congruences that strided ranges need, and relates the induction variables of one loop to each other.

use crate::cfg::Cfg;
use crate::cover::Fact;
use crate::ir::{BlockId, Function, Instr, Path, Var};
use crate::lin::Lin;
use crate::segments::Segment;

/// `i = init + step · n` in the `n`th round of its loop.
#[derive(Clone, Debug)]
pub(crate) struct Induction {
    pub(crate) of_loop: usize,
    pub(crate) init: Lin,
    pub(crate) step: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Values {
    resolved: Vec<Option<Lin>>,
    induction: Vec<Option<Induction>>,
    expanded: Vec<Option<Lin>>,
    segments: Vec<Segment>,
    vars: usize,
    loops: usize,
}

impl Values {
    pub(crate) fn new(f: &Function, cfg: &Cfg, aliases: &[(Var, Var)]) -> Values {
        let mut v = Values {
            resolved: vec![None; f.vars.len()],
            induction: vec![None; f.vars.len()],
            expanded: vec![None; f.vars.len()],
            segments: Vec::new(),
            vars: f.vars.len(),
            loops: cfg.loops.len(),
        };
        for &(y, x) in aliases {
            v.resolved[y.index()] = Some(Lin::from(x));
        }
        // Resolving a loop's merge as a copy may turn others into copies; few rounds suffice, and
        // stopping early only leaves more roots.
        for _ in 0..3 {
            v.resolve_all(f, cfg, aliases);
            if !v.find_copies(f, cfg) {
                break;
            }
        }
        v.find_induction(f, cfg);
        for b in &cfg.order {
            for phi in &f.blocks[b.index()].phis {
                v.expand_induction(phi.dst);
            }
        }
        v.segments = Segment::find(f, cfg, &v);
        v.expand_segments();
        v
    }

    fn resolve_all(&mut self, f: &Function, cfg: &Cfg, aliases: &[(Var, Var)]) {
        for &(y, x) in aliases {
            self.resolved[y.index()] = self.resolve(&Lin::from(x));
        }
        for b in &cfg.order {
            for i in &f.blocks[b.index()].instrs {
                if let Instr::Let { dst, value } = i {
                    self.resolved[dst.index()] = self.resolve(value);
                } else if let Some(y) = i.defines()
                    && let Some((_, x)) = aliases.iter().find(|a| a.0 == y)
                {
                    self.resolved[y.index()] = self.resolve(&Lin::from(*x));
                }
            }
        }
    }

    /// Merges whose operands all agree (or are the merge itself).
    fn find_copies(&mut self, f: &Function, cfg: &Cfg) -> bool {
        let mut changed = false;
        for &b in &cfg.order {
            for phi in &f.blocks[b.index()].phis {
                if self.resolved[phi.dst.index()].is_some() {
                    continue;
                }
                let itself = Lin::from(phi.dst);
                let mut same: Option<Lin> = None;
                let agree = cfg.preds[b.index()].iter().all(|&p| {
                    let value = phi.from(p).and_then(|v| self.resolve(v));
                    match value {
                        None => false,
                        Some(v) if v == itself => true,
                        Some(v) => same.get_or_insert_with(|| v.clone()) == &v,
                    }
                });
                // The value must exist where the merge happens, not in a later round only.
                let exists = |e: &Lin| e.vars().all(|x| x != phi.dst && cfg.in_scope_at(x, b));
                if agree && same.as_ref().is_some_and(exists) {
                    self.resolved[phi.dst.index()] = same;
                    changed = true;
                }
            }
        }
        changed
    }

    fn find_induction(&mut self, f: &Function, cfg: &Cfg) {
        for (of_loop, l) in cfg.loops.iter().enumerate() {
            for phi in &f.blocks[l.header.index()].phis {
                if self.resolved[phi.dst.index()].is_some() {
                    continue;
                }
                let (mut init, mut step) = (None, None);
                let regular = cfg.preds[l.header.index()].iter().all(|p| {
                    let Some(value) = phi.from(*p).and_then(|v| self.resolve(v)) else {
                        return false;
                    };
                    if l.latches.contains(p) {
                        let d = value
                            .minus(&Lin::from(phi.dst))
                            .and_then(|d| d.as_constant());
                        d.is_some_and(|d| d != 0 && *step.get_or_insert(d) == d)
                    } else {
                        *init.get_or_insert_with(|| value.clone()) == value
                    }
                });
                if let (true, Some(init), Some(step)) = (regular, init, step) {
                    self.induction[phi.dst.index()] = Some(Induction {
                        of_loop,
                        init,
                        step,
                    });
                }
            }
        }
    }

    /// Blocks come in an order in which the variables of `init` are expanded before.
    fn expand_induction(&mut self, x: Var) {
        if let Some(i) = &self.induction[x.index()] {
            let ghost = Lin::from(self.ghost(i.of_loop));
            self.expanded[x.index()] = self
                .expand_resolved(&i.init)
                .and_then(|e| e.add_scaled(&ghost, i.step));
        }
    }

    /// What began in an earlier round did so `step` times a number of rounds ago.
    fn expand_segments(&mut self) {
        let since = self.segments.iter().flat_map(|s| &s.since);
        let variables = since.flat_map(|s| {
            let carried = [s.carried.before, s.carried.after];
            carried.map(|x| (x, s.counter))
        });
        let mut ghosts = self.vars + self.loops..;
        for (x, counter) in variables.collect::<Vec<_>>() {
            let ghost = ghosts.next().and_then(|g| u32::try_from(g).ok());
            if let (Some(i), Some(ghost)) = (&self.induction[counter.index()], ghost) {
                self.expanded[x.index()] = self
                    .expand_resolved(&Lin::from(counter))
                    .and_then(|e| e.add_scaled(&Lin::from(Var(ghost)), i.step.checked_neg()?));
            }
        }
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The round counter of a loop.
    pub(crate) fn ghost(&self, of_loop: usize) -> Var {
        Var(u32::try_from(self.vars + of_loop).unwrap_or(u32::MAX))
    }

    pub(crate) fn is_ghost(&self, x: Var) -> bool {
        x.index() >= self.vars
    }

    pub(crate) fn induction(&self, x: Var) -> Option<&Induction> {
        self.induction.get(x.index())?.as_ref()
    }

    /// In terms of roots; all of them are in scope where the expression is.
    pub(crate) fn resolve(&self, e: &Lin) -> Option<Lin> {
        e.map(|x| self.resolved.get(x.index()).cloned().flatten())
    }

    pub(crate) fn resolve_path(&self, p: &Path) -> Option<Path> {
        p.map(|e| self.resolve(e))
    }

    fn expand_resolved(&self, e: &Lin) -> Option<Lin> {
        e.map(|x| self.expanded.get(x.index()).cloned().flatten())
    }

    /// In terms of roots that are no induction variables, and of ghosts: for proofs only.
    pub(crate) fn expand(&self, e: &Lin) -> Option<Lin> {
        self.expand_resolved(&self.resolve(e)?)
    }
}

/// What happens to an expression on the edge `pred → block`: [RENAME] for SSA.
pub(crate) struct Edge<'a> {
    f: &'a Function,
    cfg: &'a Cfg,
    values: &'a Values,
    pub(crate) pred: BlockId,
    pub(crate) block: BlockId,
}

impl<'a> Edge<'a> {
    pub(crate) fn new(
        f: &'a Function,
        cfg: &'a Cfg,
        values: &'a Values,
        pred: BlockId,
        block: BlockId,
    ) -> Edge<'a> {
        Edge {
            f,
            cfg,
            values,
            pred,
            block,
        }
    }

    /// What `e`, spoken at the start of `block`, means at the end of `pred`.
    pub(crate) fn backward(&self, e: &Lin) -> Option<Lin> {
        let phis = &self.f.blocks[self.block.index()].phis;
        if phis.is_empty() {
            return Some(e.clone());
        }
        e.map(|x| {
            let phi = phis.iter().find(|phi| phi.dst == x)?;
            self.values.resolve(phi.from(self.pred)?)
        })
    }

    /// [`Edge::backward`], for both ends of a fact's path.
    pub(crate) fn backward_fact(&self, fact: &Fact) -> Option<Fact> {
        let phis = &self.f.blocks[self.block.index()].phis;
        let renamed = |x: Var| phis.iter().any(|phi| phi.dst == x);
        if !fact.path.vars().any(renamed) {
            return Some(fact.clone());
        }
        fact.with_path(self.values, fact.path.map(|e| self.backward(e))?)
    }

    /// What `p`, true at the end of `pred`, may be called at the start of `block`. At most two
    /// candidates; each one means `p` again when carried backward.
    pub(crate) fn forward(&self, p: &Path) -> Vec<Path> {
        let phis = &self.f.blocks[self.block.index()].phis;
        let back = self.cfg.is_back_edge(self.pred, self.block);
        let stale = |x: Var| !self.cfg.in_scope_at(x, self.block) || (back && self.redefined(x));
        if phis.is_empty() {
            return if p.vars().any(stale) {
                Vec::new()
            } else {
                vec![p.clone()]
            };
        }
        let mut inverse: Vec<(Var, Lin)> = Vec::new();
        for phi in phis {
            let Some(arg) = phi.from(self.pred).and_then(|v| self.values.resolve(v)) else {
                continue;
            };
            for &(r, k) in arg.terms() {
                if (k == 1 || k == -1) && !inverse.iter().any(|i| i.0 == r) {
                    // x = k·r + rest, so r = k·(x - rest).
                    let solved = arg
                        .substitute(r, &Lin::from(0))
                        .and_then(|rest| Lin::from(phi.dst).minus(&rest))
                        .and_then(|e| e.scaled(k));
                    if let Some(e) = solved {
                        inverse.push((r, e));
                    }
                }
            }
        }
        let rewrite = |all: bool| {
            let mut lost = false;
            let new = p.map(|e| {
                e.map(|x| {
                    if !all && !stale(x) {
                        return None;
                    }
                    match inverse.iter().find(|i| i.0 == x) {
                        Some((_, e)) => Some(e.clone()),
                        None => {
                            lost |= stale(x);
                            None
                        }
                    }
                })
            })?;
            // An inverse may itself speak of what is gone.
            let gone = |x: Var| !self.cfg.in_scope_at(x, self.block);
            (!lost && !new.vars().any(gone)).then_some(new)
        };
        let mut out: Vec<Path> = rewrite(false).into_iter().collect();
        if !inverse.is_empty() {
            out.extend(rewrite(true).filter(|q| out.first() != Some(q)));
        }
        out.retain(|q| {
            let again = q.map(|e| self.backward(e));
            again.as_ref() == Some(p)
        });
        out
    }

    /// Is `x` given a new value in each round of the loop that the back edge closes?
    fn redefined(&self, x: Var) -> bool {
        let Some(l) = self.cfg.loop_of_header[self.block.index()] else {
            return false;
        };
        self.cfg
            .def_block(x)
            .is_some_and(|b| self.cfg.loops[l].contains[b.index()])
    }
}
