//! Linear integer expressions `c + k₁·x₁ + … + kₙ·xₙ`, the only arithmetic that placement reasons about.
//!
//! An operation whose coefficients would overflow yields `None`: the caller then knows nothing, which
//! is always safe here.

use crate::ir::Var;
use smallvec::{SmallVec, smallvec};

/// Most expressions have no more terms than fit here, and none is kept for long: they are made and dropped by the thousand.
type Terms = SmallVec<[(Var, i64); 2]>;

/// `constant + Σ coefficient · variable`, terms sorted by variable, no zero coefficients.
#[derive(PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Lin {
    terms: Terms,
    constant: i64,
}

impl Clone for Lin {
    fn clone(&self) -> Lin {
        Lin {
            // A copy of bytes, not term by term.
            terms: Terms::from_slice(&self.terms),
            constant: self.constant,
        }
    }
}

impl From<i64> for Lin {
    fn from(constant: i64) -> Lin {
        Lin {
            terms: Terms::new(),
            constant,
        }
    }
}

impl From<Var> for Lin {
    fn from(x: Var) -> Lin {
        Lin {
            terms: smallvec![(x, 1)],
            constant: 0,
        }
    }
}

impl Lin {
    /// The terms, sorted by variable.
    pub fn terms(&self) -> &[(Var, i64)] {
        &self.terms
    }

    /// The constant part.
    pub fn constant(&self) -> i64 {
        self.constant
    }

    /// The value, if no variable is involved.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The variable, if this is just one.
    pub fn as_var(&self) -> Option<Var> {
        match self.terms[..] {
            [(x, 1)] if self.constant == 0 => Some(x),
            _ => None,
        }
    }

    /// The coefficient of `x`.
    pub fn coefficient(&self, x: Var) -> i64 {
        match self.terms.binary_search_by_key(&x, |t| t.0) {
            Ok(i) => self.terms[i].1,
            Err(_) => 0,
        }
    }

    /// The variables that occur.
    pub fn vars(&self) -> impl Iterator<Item = Var> {
        self.terms.iter().map(|t| t.0)
    }

    /// `self + k · other`.
    pub fn add_scaled(&self, other: &Lin, k: i64) -> Option<Lin> {
        let mut terms = Terms::new();
        let (mut i, mut j) = (0, 0);
        while i < self.terms.len() || j < other.terms.len() {
            let left = self.terms.get(i);
            let right = other.terms.get(j);
            match (left, right) {
                (Some(l), Some(r)) if l.0 == r.0 => {
                    let c = l.1.checked_add(r.1.checked_mul(k)?)?;
                    if c != 0 {
                        terms.push((l.0, c));
                    }
                    i += 1;
                    j += 1;
                }
                (Some(l), r) if r.is_none_or(|r| l.0 < r.0) => {
                    terms.push(*l);
                    i += 1;
                }
                (_, Some(r)) => {
                    let c = r.1.checked_mul(k)?;
                    if c != 0 {
                        terms.push((r.0, c));
                    }
                    j += 1;
                }
                (_, None) => return None,
            }
        }
        let constant = self.constant.checked_add(other.constant.checked_mul(k)?)?;
        Some(Lin { terms, constant })
    }

    /// `self + other`.
    pub fn plus(&self, other: &Lin) -> Option<Lin> {
        self.add_scaled(other, 1)
    }

    /// `self - other`.
    pub fn minus(&self, other: &Lin) -> Option<Lin> {
        self.add_scaled(other, -1)
    }

    /// `self + c`.
    pub fn offset(&self, c: i64) -> Option<Lin> {
        Some(Lin {
            constant: self.constant.checked_add(c)?,
            ..self.clone()
        })
    }

    /// `k · self`.
    pub fn scaled(&self, k: i64) -> Option<Lin> {
        Lin::default().add_scaled(self, k)
    }

    /// `self[x := e]`.
    pub fn substitute(&self, x: Var, e: &Lin) -> Option<Lin> {
        let k = self.coefficient(x);
        if k == 0 {
            return Some(self.clone());
        }
        let mut rest = self.clone();
        rest.terms.retain(|t| t.0 != x);
        rest.add_scaled(e, k)
    }

    /// Every variable replaced at once by what `f` says (`None`: kept).
    pub fn map(&self, mut f: impl FnMut(Var) -> Option<Lin>) -> Option<Lin> {
        // As long as nothing is replaced there is nothing to add up.
        let mut sum: Option<Lin> = None;
        for (i, &(x, k)) in self.terms.iter().enumerate() {
            let e = match (f(x), &sum) {
                (Some(e), _) => e,
                (None, Some(_)) => Lin::from(x),
                (None, None) => continue,
            };
            let before = sum.unwrap_or_else(|| Lin {
                terms: Terms::from_slice(&self.terms[..i]),
                constant: self.constant,
            });
            sum = Some(before.add_scaled(&e, k)?);
        }
        Some(sum.unwrap_or_else(|| self.clone()))
    }

    /// Do `k` and the expression surely have no remainder?
    pub fn divisible_by(&self, k: i64) -> bool {
        k != 0 && self.constant % k == 0 && self.terms.iter().all(|t| t.1 % k == 0)
    }

    /// `self / k`, exact.
    pub fn divided(&self, k: i64) -> Option<Lin> {
        if !self.divisible_by(k) || k == -1 {
            return if k == -1 { self.scaled(-1) } else { None };
        }
        Some(Lin {
            terms: self.terms.iter().map(|t| (t.0, t.1 / k)).collect(),
            constant: self.constant / k,
        })
    }

    /// What `self ≥ 0` says of integers, in the smallest numbers: `6·n - 37 ≥ 0` is `n - 7 ≥ 0`.
    pub fn tightened(self) -> Lin {
        let mut common = 0u64;
        for (_, k) in &self.terms {
            let (mut a, mut b) = (common, k.unsigned_abs());
            while b != 0 {
                (a, b) = (b, a % b);
            }
            common = a;
        }
        match i64::try_from(common) {
            Ok(k @ 2..) => Lin {
                terms: self.terms.iter().map(|t| (t.0, t.1 / k)).collect(),
                constant: self.constant.div_euclid(k),
            },
            _ => self,
        }
    }

    /// The same without its constant: equal for expressions a fixed distance apart.
    pub fn shape(&self) -> &[(Var, i64)] {
        &self.terms
    }

    /// The value under an assignment; `None` on overflow.
    pub fn evaluate(&self, mut value: impl FnMut(Var) -> i64) -> Option<i64> {
        self.terms.iter().try_fold(self.constant, |sum, &(x, k)| {
            sum.checked_add(value(x).checked_mul(k)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitution_is_evaluation() {
        let (x, y) = (Var(0), Var(1));
        let e = Lin::from(x)
            .scaled(3)
            .and_then(|e| e.add_scaled(&Lin::from(y), -3))
            .and_then(|e| e.offset(6))
            .unwrap_or_default();
        assert!(e.divisible_by(3));
        let s = e
            .substitute(x, &Lin::from(y).offset(2).unwrap_or_default())
            .unwrap_or_default();
        assert_eq!(s.as_constant(), Some(12));
        assert_eq!(e.evaluate(|v| if v == x { 5 } else { 2 }), Some(15));
        assert_eq!(
            Lin::from(x).scaled(i64::MAX).and_then(|e| e.scaled(2)),
            None
        );
    }
}
