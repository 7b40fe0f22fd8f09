//! Hheuristic and Aheuristic: conjectures about what a loop's induction variables have swept over
//! before the current round, and will sweep over from it on. The fixed points decide which hold.

use crate::analysis::Analysis;
use crate::cfg::Loop;
use crate::cover::{Fact, insert};
use crate::ir::{BlockId, Cond, Extent, Instr, ONCE, Path, Terminator, Var};
use crate::lin::Lin;
use crate::segments::Segment;

/// Conjectures per loop.
const MAX_SWEEPS: usize = 48;

/// Bytes of a table.
const MAX_TABLE: u32 = 4096;

/// A counter with steps of at most this takes years to [`ONCE`].
const MAX_STEP: i64 = 64;
const NEGATIVE_MAX_STEP: i64 = -MAX_STEP;

impl Analysis<'_> {
    /// For each access in loop `l` whose address moves with it: the range from where the induction
    /// variables began up to, not including, where they are. Inner loops are taken at their start, so
    /// that a matrix swept row by row is one range of its outer loop.
    pub(crate) fn sweeps(&self, l: usize) -> Vec<Fact> {
        let mut out = Vec::new();
        self.each_moving(l, |at_header, segment, step, stride, fact| {
            let Some(start) = self.at_start(&at_header, l, segment) else {
                return;
            };
            let size = i64::from(fact.path.size);
            let (lo, hi) = if step > 0 {
                (Some(start), Some(at_header))
            } else {
                // Downwards: everything above the current one, up to the first.
                (at_header.offset(-step), start.offset(size))
            };
            if let (Some(lo), Some(hi)) = (lo, hi) {
                self.push(&mut out, fact, lo, hi, stride);
            }
        });
        self.visited(l, &mut out);
        self.tables(l, &mut out);
        out
    }

    /// For each range that a loop in `l` sweeps over in a fixed number of rounds, and that stays in all rounds of `l`, such as a table of
    /// coefficients: it was accessed if there was a round of `l` before the current one.
    fn tables(&self, l: usize, out: &mut Vec<Fact>) {
        let Some(rounds) = self.rounds(l, None) else {
            return;
        };
        for inner in 0..self.cfg.loops.len() {
            let header = self.cfg.loops[inner].header;
            if inner == l || !self.cfg.loops[l].contains[header.index()] {
                continue;
            }
            let Some(count) = self.fixed_rounds(inner) else {
                continue;
            };
            // What one round accesses, in order.
            let mut parts: Vec<(Lin, i64, Fact)> = Vec::new();
            self.each_moving(inner, |at_header, segment, step, stride, fact| {
                if segment.is_none()
                    && step == stride
                    && let Some(start) = self.at_start(&at_header, inner, None)
                    && self.stays(&start, l, None)
                {
                    parts.push((start, stride, fact.clone()));
                }
            });
            parts.sort_by(|a, b| {
                let by =
                    |p: &(Lin, i64, Fact)| (p.1, p.2.kind, p.0.shape().to_vec(), p.0.constant());
                by(a).cmp(&by(b))
            });
            let neighbours = |a: &(Lin, i64, Fact), b: &(Lin, i64, Fact)| {
                a.1 == b.1
                    && a.2.kind == b.2.kind
                    && b.0.minus(&a.0).and_then(|d| d.as_constant())
                        == Some(i64::from(a.2.path.size))
            };
            for group in parts.chunk_by(neighbours) {
                let (start, stride, first) = &group[0];
                let bytes: i64 = group.iter().map(|p| i64::from(p.2.path.size)).sum();
                let size = count
                    .checked_mul(*stride)
                    .and_then(|n| u32::try_from(n).ok());
                if bytes == *stride
                    && let Some(size) = size.filter(|size| *size <= MAX_TABLE)
                    && let Some(hi) = start.plus(&rounds)
                {
                    let mut path = first.path.clone();
                    path.size = size;
                    path.lo = start.clone();
                    path.extent = Extent::Many { hi, stride: ONCE };
                    out.extend(first.with_path(&self.values, path));
                }
            }
        }
    }

    /// How many rounds loop `l` has, if its only way out is a test that ends it after as many each time.
    fn fixed_rounds(&self, l: usize) -> Option<i64> {
        let stay = self.values.expand(self.only_test(l)?.lin())?;
        let n = self.values.ghost(l);
        let k = stay.coefficient(n);
        let first = stay.substitute(n, &Lin::from(0))?.as_constant()?;
        match self.only_test(l)? {
            Cond::NonNegative(_) if k < 0 && first >= 0 => Some(first / k.checked_neg()? + 2),
            Cond::NonZero(_) if k != 0 && first % k == 0 && first / k < 0 => {
                (first / k).checked_neg()?.checked_add(1)
            }
            _ => None,
        }
    }

    /// For each access in loop `l` whose address stays: it was made if there was a round before the
    /// current one. Only of loops without loops in them: beside a range that an inner loop has swept, which stays as well but
    /// is no such access, these would be checked with the range in each round instead of being found before the loop.
    fn visited(&self, l: usize, out: &mut Vec<Fact>) {
        let this = &self.cfg.loops[l];
        let within =
            |other: &Loop| other.header != this.header && this.contains[other.header.index()];
        if self.cfg.loops.iter().any(within) {
            return;
        }
        let blocks = self.cfg.order.iter().filter(|b| this.contains[b.index()]);
        for i in blocks.flat_map(|b| &self.f.blocks[b.index()].instrs) {
            if let Instr::Access { id, .. } = i
                && let Some(fact) = self.fact(*id)
                && fact.path.extent == Extent::One
                && out.len() < MAX_SWEEPS
                && let Some((lo, segment)) = self.carried(&fact.path.lo, l)
                && self.stays(&lo, l, segment)
                && let Some(rounds) = self.rounds(l, segment)
                && let Some(hi) = lo.plus(&rounds)
            {
                self.push(out, fact, lo, hi, ONCE);
            }
        }
    }

    /// Something that is 0 in the first round of loop `l`, or of a segment, and more in the others, but never as much as [`ONCE`].
    fn rounds(&self, l: usize, segment: Option<&Segment>) -> Option<Lin> {
        let header = &self.f.blocks[self.cfg.loops[l].header.index()];
        header.phis.iter().find_map(|phi| {
            let i = self.values.induction(phi.dst)?;
            let counter = Lin::from(phi.dst);
            let passed = counter.minus(&self.at_start(&counter, l, segment)?)?;
            match i.step {
                1..=MAX_STEP => Some(passed),
                NEGATIVE_MAX_STEP..=-1 => passed.scaled(-1),
                _ => None,
            }
        })
    }

    /// Is `e` made of what is there before loop `l` begins, or for all of a segment?
    fn stays(&self, e: &Lin, l: usize, segment: Option<&Segment>) -> bool {
        let this = &self.cfg.loops[l];
        let bases = segment.map_or(&[][..], |s| &s.bases);
        e.vars().all(|x| {
            bases.iter().any(|base| base.before == x)
                || self
                    .cfg
                    .def_block(x)
                    .is_some_and(|b| !this.contains[b.index()])
        })
    }

    /// `e` in terms of the base that was there when the round began, if it has one of a segment of loop `l`.
    fn carried(&self, e: &Lin, l: usize) -> Option<(Lin, Option<&Segment>)> {
        let segments = self.values.segments().iter().filter(|s| s.of_loop == l);
        for segment in segments {
            let base = segment.bases.iter().find(|b| e.coefficient(b.after) != 0);
            if let Some(base) = base {
                return Some((
                    e.substitute(base.after, &Lin::from(base.before))?,
                    Some(segment),
                ));
            }
        }
        Some((e.clone(), None))
    }

    /// For each access in loop `l` whose address moves upwards with it: the range from where it is up to
    /// where the test at the loop's end lets it come. The address need not be what is tested: all
    /// induction variables of a loop move together.
    pub(crate) fn anticipated_sweeps(&self, l: usize) -> Vec<Fact> {
        let Some((var, bound)) = self.bound(l) else {
            return Vec::new();
        };
        let tested = self.values.induction(var).map_or(0, |i| i.step);
        // What the tested variable has still before it.
        let Some(rest) = bound.minus(&Lin::from(var)) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        self.each_moving(l, |at_header, segment, step, stride, fact| {
            if segment.is_none()
                && step > 0
                && tested > 0
                && step % tested == 0
                && let Some(hi) = at_header.add_scaled(&rest, step / tested)
            {
                self.push(&mut out, fact, at_header, hi, stride);
            }
        });
        out
    }

    /// Accesses in the loop whose address is linear in its induction variables: the address in terms of
    /// what is in scope at the header, with the segment that it is of, its movement per round of `l`, and the stride of the range.
    fn each_moving(&self, l: usize, mut each: impl FnMut(Lin, Option<&Segment>, i64, i64, &Fact)) {
        let this = &self.cfg.loops[l];
        let mut count = 0;
        for b in &self.cfg.order {
            if !this.contains[b.index()] {
                continue;
            }
            for i in &self.f.blocks[b.index()].instrs {
                let Instr::Access { id, .. } = i else {
                    continue;
                };
                let Some(fact) = self.fact(*id) else {
                    continue;
                };
                let path = &fact.path;
                if path.extent != Extent::One || count == MAX_SWEEPS {
                    continue;
                }
                let Some((lo, segment)) = self.carried(&path.lo, l) else {
                    continue;
                };
                let Some((at_header, inner)) = self.hoisted(&lo, l) else {
                    continue;
                };
                let Some(expanded) = self.values.expand(&at_header) else {
                    continue;
                };
                let step = expanded.coefficient(self.values.ghost(l));
                let stride = inner.unwrap_or(step).saturating_abs();
                if step == 0 || stride < i64::from(path.size) {
                    continue;
                }
                count += 1;
                each(at_header, segment, step, stride, fact);
            }
        }
    }

    /// `e` with the induction variables of loops inside `l` at their start, and the movement of the
    /// innermost of them; `None` if it depends on anything else that `l` computes.
    fn hoisted(&self, e: &Lin, l: usize) -> Option<(Lin, Option<i64>)> {
        let header = self.cfg.loops[l].header;
        let mut e = e.clone();
        let mut inner = None;
        for _ in 0..8 {
            let Some(x) = e.vars().filter(|x| !self.cfg.in_scope_at(*x, header)).max() else {
                return Some((e, inner));
            };
            let induction = self.values.induction(x)?;
            inner = inner.or(e.coefficient(x).checked_mul(induction.step));
            e = e.substitute(x, &induction.init)?;
        }
        None
    }

    /// `e` as it was in the first round of loop `l`, or of a segment.
    fn at_start(&self, e: &Lin, l: usize, segment: Option<&Segment>) -> Option<Lin> {
        let counts = |x: Var| self.values.induction(x).filter(|i| i.of_loop == l);
        let Some(segment) = segment else {
            return e.map(|x| counts(x).map(|i| i.init.clone()));
        };
        let since = |x: Var| segment.since.iter().find(|s| s.counter == x);
        let known = e.vars().all(|x| counts(x).is_none() || since(x).is_some());
        known
            .then(|| e.map(|x| since(x).map(|s| Lin::from(s.carried.before))))
            .flatten()
    }

    /// If the loop's only way out is a test at its end that an induction variable, moving up, stays
    /// below a bound: that variable (as in the header) and the bound.
    fn bound(&self, l: usize) -> Option<(Var, Lin)> {
        let this = &self.cfg.loops[l];
        let stay = self.only_test(l)?;
        let e = self.values.resolve(stay.lin())?;
        let (x, k) = e
            .terms()
            .iter()
            .copied()
            .find(|(x, _)| self.values.induction(*x).is_some_and(|i| i.of_loop == l))?;
        let step = self.values.induction(x)?.step;
        let rest = e.substitute(x, &Lin::from(0))?;
        let steady = rest.vars().all(|y| {
            self.cfg.in_scope_at(y, this.header)
                && self.values.induction(y).is_none_or(|i| i.of_loop != l)
        });
        if !steady || step <= 0 {
            return None;
        }
        // The test speaks of the next round's value x + step.
        let bound = match (&stay, k) {
            // rest - x ≥ 0, so x + step ≤ rest + step: the first value out of reach is that plus 1.
            (Cond::NonNegative(_), -1) => rest.offset(step)?.offset(1)?,
            (Cond::NonZero(_), -1) => rest.offset(step)?,
            (Cond::NonZero(_), 1) => rest.scaled(-1)?.offset(step)?,
            _ => return None,
        };
        Some((x, bound))
    }

    /// What holds whenever loop `l` goes on, if there is one way out of it.
    fn only_test(&self, l: usize) -> Option<Cond> {
        let this = &self.cfg.loops[l];
        let mut exit: Option<BlockId> = None;
        for b in self.cfg.order.iter().filter(|b| this.contains[b.index()]) {
            let leaves = self.cfg.succs[b.index()]
                .iter()
                .any(|s| !this.contains[s.index()]);
            if leaves && exit.replace(*b).is_some() {
                return None;
            }
        }
        let Terminator::Branch { cond, then, .. } = &self.f.blocks[exit?.index()].term else {
            return None;
        };
        if this.contains[then.index()] {
            Some(cond.clone())
        } else {
            cond.negated()
        }
    }

    fn push(&self, out: &mut Vec<Fact>, like: &Fact, lo: Lin, hi: Lin, stride: i64) {
        let path = Path {
            lo,
            extent: Extent::Many { hi, stride },
            size: like.path.size,
            shape: like.path.shape,
        };
        if let Some(fact) = like.with_path(&self.values, path) {
            insert(out, fact);
        }
    }
}
