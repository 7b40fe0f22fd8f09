//! Static field proxies (section 4 of the paper, RedCard): fields that share one shadow location.
//!
//! Field x is a *proxy* for field y if whoever checks `p.y` also checks `p.x`: in the same coalesced
//! check, or, for RedCard, with an earlier access to `p.x` in the same release-free span. Then a race on `p.y` implies one on
//! `p.x`, and y's checks can go. The other direction need not hold: a one-way proxy keeps the verdict of a trace but may
//! name x where y races, or x alone. If x and y are proxies for each other, nothing is lost.
//!
//! Offsets identify fields, so the result is meant for programs whose objects are laid out alike, such as
//! BFJ's.

use crate::ir::{Check, Program, Shape};
use crate::placement::Placement;
use std::collections::{BTreeMap, BTreeSet};

/// Which proxies to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProxyUse {
    /// None.
    #[default]
    Never,
    /// Those that work in both directions: address-precise.
    Symmetric,
    /// All: trace-precise.
    OneWay,
}

/// For each field that has one, the field that stands for it, by offset.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Proxies {
    of: BTreeMap<i64, i64>,
}

impl Proxies {
    /// From all checks of a program.
    pub fn find(placements: &[Placement], allowed: ProxyUse) -> Proxies {
        // For each field: the fields that every one of its checks brings along.
        let mut company: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        for (field, others) in placements.iter().flat_map(|p| &p.company) {
            company
                .entry(*field)
                .and_modify(|c| c.retain(|x| others.contains(x)))
                .or_insert_with(|| others.clone());
        }
        let brings = |y: &i64, x: &i64| company.get(y).is_some_and(|c| c.contains(x));
        let mut proxies = Proxies::default();
        if allowed == ProxyUse::Never {
            return proxies;
        }
        for y in company.keys() {
            let found = company.keys().find(|x| {
                let mutual = brings(x, y);
                // Of two that stand for each other, the one at the lower offset stays.
                *x != y
                    && brings(y, x)
                    && (allowed == ProxyUse::OneWay || mutual)
                    && (!mutual || *x < y)
                    && !proxies.of.contains_key(x)
            });
            if let Some(x) = found {
                proxies.of.insert(*y, *x);
            }
        }
        // A proxy that was given one itself stands for nobody: follow the chain, which company makes
        // transitive.
        let resolved = proxies
            .of
            .iter()
            .map(|(y, x)| {
                let mut x = *x;
                for _ in 0..proxies.of.len() {
                    match proxies.of.get(&x) {
                        Some(next) => x = *next,
                        None => break,
                    }
                }
                (*y, x)
            })
            .filter(|(y, x)| y != x)
            .collect();
        Proxies { of: resolved }
    }

    /// The field that stands for the one at this offset: itself, if it has no proxy.
    pub fn stand_in(&self, offset: i64) -> i64 {
        self.of.get(&offset).copied().unwrap_or(offset)
    }

    /// Has any field a proxy?
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Takes the fields that have a proxy out of a program's checks.
    pub(crate) fn apply(&self, placement: &mut Placement) {
        for checks in placement
            .checks
            .values_mut()
            .chain(placement.commits.values_mut())
        {
            for c in checks.iter_mut() {
                c.paths
                    .retain(|p| p.shape != Shape::Field || !self.of.contains_key(&p.lo.constant()));
            }
            checks.retain(|c| !c.paths.is_empty());
        }
        placement.checks.retain(|_, c| !c.is_empty());
        placement.commits.retain(|_, c| !c.is_empty());
    }

    /// For printing: `f for g`.
    pub fn describe(&self, program: &Program) -> Vec<String> {
        let name = |offset: &i64| {
            usize::try_from(offset / 8)
                .ok()
                .and_then(|i| program.fields.get(i).cloned())
                .unwrap_or_else(|| offset.to_string())
        };
        self.of
            .iter()
            .map(|(y, x)| format!("{} for {}", name(x), name(y)))
            .collect()
    }
}

/// The company that the fields of coalesced checks keep.
pub(crate) fn company(checks: &[Check]) -> Vec<(i64, BTreeSet<i64>)> {
    let mut out = Vec::new();
    for c in checks {
        let fields: BTreeSet<i64> = c
            .paths
            .iter()
            .filter(|p| p.shape == Shape::Field)
            .map(|p| p.lo.constant())
            .collect();
        out.extend(fields.iter().map(|f| (*f, fields.clone())));
    }
    out
}
