//! Entailment of linear integer facts: `facts ⊢ e ≥ 0`.
//!
//! A small search for a certificate: `e` is a non-negative combination of facts plus a non-negative
//! constant (Farkas). Variables are eliminated one after the other with facts that bound them from the
//! right side, under a budget. "No" means "not found", which is always safe for the caller.

use crate::ir::Cond;
use crate::lin::Lin;
use crate::values::Values;

const BUDGET: u32 = 160;
const DEPTH: u32 = 5;

pub(crate) struct Solver<'a> {
    values: &'a Values,
    /// Expanded, each `≥ 0`.
    facts: Vec<Lin>,
    /// The facts contradict each other: nothing ever comes here, and everything holds.
    absurd: bool,
}

impl<'a> Solver<'a> {
    pub(crate) fn new<'f>(
        values: &'a Values,
        facts: impl IntoIterator<Item = &'f Cond>,
    ) -> Solver<'a> {
        let mut s = Solver {
            values,
            facts: Vec::new(),
            absurd: false,
        };
        for c in facts {
            s.assume(c);
        }
        s.absurd = s
            .facts
            .iter()
            .any(|f| f.as_constant().is_some_and(|c| c < 0));
        s
    }

    pub(crate) fn is_absurd(&self) -> bool {
        self.absurd
    }

    fn assume(&mut self, c: &Cond) {
        let Some(e) = self.values.expand(c.lin()) else {
            return;
        };
        match c {
            Cond::NonNegative(_) => self.facts.push(e),
            Cond::Zero(_) => {
                self.facts.extend(e.scaled(-1));
                self.facts.push(e);
            }
            // Integers: not 0 and not negative is at least 1.
            Cond::NonZero(_) => {
                for e in [Some(e.clone()), e.scaled(-1)].into_iter().flatten() {
                    if self.search_all(&e)
                        && let Some(e) = e.offset(-1)
                    {
                        self.facts.push(e);
                    }
                }
            }
        }
    }

    /// `facts ⊢ e ≥ 0`?
    pub(crate) fn nonnegative(&self, e: &Lin) -> bool {
        if self.absurd {
            return true;
        }
        match e.as_constant() {
            Some(c) => c >= 0,
            None => self.values.expand(e).is_some_and(|e| self.search_all(&e)),
        }
    }

    /// `facts ⊢ a ≤ b`?
    pub(crate) fn at_most(&self, a: &Lin, b: &Lin) -> bool {
        b.minus(a).is_some_and(|d| self.nonnegative(&d))
    }

    /// `facts ⊢ a = b`?
    pub(crate) fn equal(&self, a: &Lin, b: &Lin) -> bool {
        a == b || (self.at_most(a, b) && self.at_most(b, a))
    }

    /// `facts ⊢ k divides a - b`?
    pub(crate) fn congruent(&self, a: &Lin, b: &Lin, k: i64) -> bool {
        a.minus(b)
            .and_then(|d| self.values.expand(&d))
            .is_some_and(|d| d.divisible_by(k))
    }

    fn search_all(&self, e: &Lin) -> bool {
        let mut budget = BUDGET;
        self.search(e, DEPTH, &mut budget)
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
        for f in &self.facts {
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
