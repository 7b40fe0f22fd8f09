//! Which accesses a check stands for, and what became of each access: kept for `footrace explain` and for
//! reports, which name the lines of accesses, not of checks.
use crate::access::{Access, Kind};
use crate::llvm::Value;
use crate::stats::{Count, Stats};
use placement::Fate;

/// A check that was inserted.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "for whoever writes places down")]
pub(crate) struct Check {
    /// The instruction whose debug location the check's call has.
    pub(crate) at: Value,
    pub(crate) kind: Kind,
    /// Indices into [`Function::accesses`], sorted.
    pub(crate) sources: Vec<usize>,
}

/// A function whose checks were placed.
#[derive(Debug)]
#[allow(dead_code, reason = "for whoever writes places down")]
pub(crate) struct Function<'a> {
    pub(crate) function: Value,
    /// The accesses that need a check, in the order of the function's blocks.
    pub(crate) accesses: &'a [Access],
    /// What became of each of them.
    pub(crate) fates: &'a [Fate],
    pub(crate) checks: &'a [Check],
}

/// Counts what became of the accesses.
pub(crate) fn count(function: &Function<'_>, stats: &mut Stats) {
    for fate in function.fates {
        if fate.checked_at.is_empty() {
            stats.add(if fate.already_checked {
                Count::CoveredBefore
            } else {
                Count::CoveredAfter
            });
        }
    }
    let merged = function.checks.iter().filter(|c| c.sources.len() > 1);
    stats.add_many(Count::MergedChecks, merged.count() as u64);
}
