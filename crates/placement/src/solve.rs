//! Entailment of linear integer facts: `facts ⊢ e ≥ 0`.
//!
//! A small search for a certificate: `e` is a non-negative combination of facts plus a non-negative
//! constant (Farkas). Variables are eliminated one after the other with facts that bound them from the
//! right side, under a budget. "No" means "not found", which is always safe for the caller.
//!
//! All expressions here are expanded (see `values`).

use crate::ir::{Cond, Var};
use crate::lin::Lin;
use crate::values::Values;

const BUDGET: u32 = 160;
const DEPTH: u32 = 5;

/// Facts made ready for proofs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Each `≥ 0`.
    known: Vec<Lin>,
    /// The variables that occur, sorted.
    mentioned: Vec<Var>,
    /// The facts contradict each other: nothing ever comes here, and everything holds.
    absurd: bool,
}

impl Facts {
    pub(crate) fn new<'f>(
        values: &Values,
        conditions: impl IntoIterator<Item = &'f Cond>,
    ) -> Facts {
        let mut facts = Facts::default();
        for c in conditions {
            facts.assume(values, c);
        }
        let constant = |f: &Lin| f.as_constant();
        facts.absurd = facts.known.iter().filter_map(constant).any(|c| c < 0);
        facts.mentioned = facts.known.iter().flat_map(|f| f.vars()).collect();
        facts.mentioned.sort_unstable();
        facts.mentioned.dedup();
        facts
    }

    fn assume(&mut self, values: &Values, c: &Cond) {
        let Some(e) = values.expand(c.lin()) else {
            return;
        };
        match c {
            Cond::NonNegative(_) => self.known.push(e.tightened()),
            Cond::Zero(_) => {
                self.known.extend(e.scaled(-1));
                self.known.push(e);
            }
            // Integers: not 0 and not negative is at least 1.
            Cond::NonZero(_) => {
                for e in [Some(e.clone()), e.scaled(-1)].into_iter().flatten() {
                    let solver = Solver {
                        values,
                        facts: self,
                    };
                    if solver.nonnegative(&e)
                        && let Some(e) = e.offset(-1)
                    {
                        self.known.push(e);
                    }
                }
            }
        }
    }
}

/// Asks questions of facts.
pub(crate) struct Solver<'a> {
    values: &'a Values,
    facts: &'a Facts,
}

impl<'a> Solver<'a> {
    pub(crate) fn new(values: &'a Values, facts: &'a Facts) -> Solver<'a> {
        Solver { values, facts }
    }

    pub(crate) fn is_absurd(&self) -> bool {
        self.facts.absurd
    }

    /// Could anything be known of the distance between `a` and `b`? Variables on which they differ
    /// must be round counters, or in some fact.
    pub(crate) fn related(&self, a: &Lin, b: &Lin) -> bool {
        let (a, b) = (a.terms(), b.terms());
        let (mut i, mut j) = (0, 0);
        let known =
            |x: Var| self.values.is_ghost(x) || self.facts.mentioned.binary_search(&x).is_ok();
        loop {
            match (a.get(i), b.get(j)) {
                (None, None) => return true,
                (Some(l), Some(r)) if l == r => {
                    i += 1;
                    j += 1;
                }
                (Some(l), r) if r.is_none_or(|r| l.0 <= r.0) => {
                    if !known(l.0) {
                        return false;
                    }
                    i += 1;
                    j += usize::from(r.is_some_and(|r| l.0 == r.0));
                }
                (_, Some(r)) => {
                    if !known(r.0) {
                        return false;
                    }
                    j += 1;
                }
                (Some(_), None) => return false,
            }
        }
    }

    /// `facts ⊢ e ≥ 0`?
    pub(crate) fn nonnegative(&self, e: &Lin) -> bool {
        if self.facts.absurd {
            return true;
        }
        let mut budget = BUDGET;
        self.search(e, DEPTH, &mut budget)
    }

    /// `facts ⊢ a ≤ b`?
    pub(crate) fn at_most(&self, a: &Lin, b: &Lin) -> bool {
        if a.shape() == b.shape() {
            return a.constant() <= b.constant() || self.facts.absurd;
        }
        self.related(a, b) && b.minus(a).is_some_and(|d| self.nonnegative(&d))
    }

    /// `facts ⊢ a = b`?
    pub(crate) fn equal(&self, a: &Lin, b: &Lin) -> bool {
        if a.shape() == b.shape() {
            return a.constant() == b.constant() || self.facts.absurd;
        }
        self.at_most(a, b) && self.at_most(b, a)
    }

    /// `k` surely divides `a - b`?
    pub(crate) fn congruent(&self, a: &Lin, b: &Lin, k: i64) -> bool {
        if a.shape() == b.shape() {
            let d = a.constant().checked_sub(b.constant());
            return d.is_some_and(|d| k != 0 && d % k == 0);
        }
        a.minus(b).is_some_and(|d| d.divisible_by(k))
    }

    fn search(&self, e: &Lin, depth: u32, budget: &mut u32) -> bool {
        let Some(&(x, k)) = e.terms().first() else {
            return e.constant() >= 0;
        };
        if depth == 0 || *budget == 0 {
            return false;
        }
        *budget -= 1;
        if k > 0
            && self.values.is_ghost(x)
            && let Some(rest) = e.substitute(x, &Lin::from(0))
            && self.search(&rest, depth - 1, budget)
        {
            return true;
        }
        for f in &self.facts.known {
            let a = f.coefficient(x);
            if a == 0 || (a > 0) != (k > 0) {
                continue;
            }
            // |a|·e - |k|·f has no x, and |a|·e ≥ it.
            let combined = e
                .scaled(a.saturating_abs())
                .and_then(|s| s.add_scaled(f, -k.saturating_abs()));
            if let Some(rest) = combined
                && self.search(&rest, depth - 1, budget)
            {
                return true;
            }
        }
        false
    }
}
