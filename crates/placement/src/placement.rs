//! What [`crate::place()`] says of a function: which checks go where, and what became of each access.

use crate::ir::{Check, Function, Gather, Instr, Kind, ListId, Path, Point};
use crate::proxy;
use std::collections::{BTreeMap, BTreeSet};

/// What became of an access.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fate {
    /// Where checks stand for it.
    pub checked_at: BTreeSet<Point>,
    /// On some way an earlier check covers it.
    pub already_checked: bool,
    /// On some way a later access is sure to come, whose check covers it.
    pub anticipated: bool,
    /// It is not deferred: there would be several checks for it ([`crate::Options::copies_stay`]).
    pub stayed: bool,
}

/// What was done, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Accesses in the function.
    pub accesses: u64,
    /// Check paths placed.
    pub checks: u64,
    /// `[ACQ]` and other deadlines at which something had to be checked.
    pub at_acquire: u64,
    /// `[REL]` at which something had to be checked.
    pub at_release: u64,
    /// `[IF]`, `[LOOP]`: edges on which something had to be checked.
    pub at_merge: u64,
    /// Ends of the function at which something had to be checked.
    pub at_end: u64,
    /// Accesses checked on the spot because the analysis gave up on them.
    pub immediate: u64,
    /// Loops that may not end and have something to commit.
    pub commits: u64,
    /// 1 if the function is beyond the analysis and got a check at each access.
    pub fallback: u64,
    /// Accesses that are not deferred because there would be several checks for each ([`crate::Options::copies_stay`]).
    pub stayed: u64,
    /// Accesses to what a loop chooses that are taken for those to what it began with ([`crate::Options::choices`]).
    pub settled: u64,
}

impl Counts {
    /// The sums.
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            accesses: self.accesses + other.accesses,
            checks: self.checks + other.checks,
            at_acquire: self.at_acquire + other.at_acquire,
            at_release: self.at_release + other.at_release,
            at_merge: self.at_merge + other.at_merge,
            at_end: self.at_end + other.at_end,
            immediate: self.immediate + other.immediate,
            commits: self.commits + other.commits,
            fallback: self.fallback + other.fallback,
            stayed: self.stayed + other.stayed,
            settled: self.settled + other.settled,
        }
    }
}

/// The contexts `H•A` of a function, for those who want to see them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Context {
    /// Tests passed.
    pub conditions: Vec<crate::ir::Cond>,
    /// Past accesses p✁.
    pub accesses: Vec<(Kind, Path)>,
    /// Past checks p√.
    pub checks: Vec<(Kind, Path)>,
    /// Anticipated accesses p✸.
    pub anticipated: Vec<(Kind, Path)>,
}

/// The result for one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placement {
    /// Checks to insert before each point.
    pub checks: BTreeMap<Point, Vec<Check>>,
    /// Checks to make now and then at each point (back edges of loops that may not end).
    pub commits: BTreeMap<Point, Vec<Check>>,
    /// Addresses to put on lists, before each point.
    pub gathers: BTreeMap<Point, Vec<Gather>>,
    /// Lists to check before each point, ahead of its other checks.
    pub gathered: BTreeMap<Point, BTreeSet<ListId>>,
    /// Of the commits, the ones whose loop calls somebody: a round of it may take long.
    pub slow_rounds: BTreeSet<Point>,
    /// What became of each access, by its id.
    pub fates: Vec<Fate>,
    /// If asked for: contexts at each point, before its checks and, where that differs, after them.
    pub contexts: BTreeMap<Point, Vec<Context>>,
    /// For each field that is checked, by offset: the fields checked along with it, itself included.
    pub company: Vec<(i64, BTreeSet<i64>)>,
    /// Why there are as many checks as there are.
    pub counts: Counts,
}

impl Placement {
    pub(crate) fn at(&mut self, point: Point, checks: Vec<Check>) {
        if !checks.is_empty() {
            self.checks.entry(point).or_default().extend(checks);
        }
    }

    /// Derives what follows from the checks.
    pub(crate) fn finish(&mut self) {
        for checks in self.checks.values().chain(self.commits.values()) {
            self.company.extend(proxy::company(checks));
        }
        self.recount();
    }

    /// Fates and counts, from the checks as they are now.
    pub(crate) fn recount(&mut self) {
        self.counts.checks = 0;
        for fate in &mut self.fates {
            fate.checked_at.clear();
        }
        for (point, checks) in &self.checks {
            for c in checks {
                self.counts.checks += c.paths.len() as u64;
                for s in &c.sources {
                    if let Some(fate) = self.fates.get_mut(s.index()) {
                        fate.checked_at.insert(*point);
                    }
                }
            }
        }
        for (point, gather) in self
            .gathers
            .iter()
            .flat_map(|(p, g)| g.iter().map(move |g| (p, g)))
        {
            self.counts.checks += 1;
            for s in &gather.check.sources {
                if let Some(fate) = self.fates.get_mut(s.index()) {
                    fate.checked_at.insert(*point);
                }
            }
        }
        self.counts.commits = self.commits.len() as u64;
    }

    /// The function with its checks in it.
    pub fn apply(&self, f: &Function) -> Function {
        let mut out = f.clone();
        for b in f.block_ids() {
            let old = &f.blocks[b.index()].instrs;
            let mut new = Vec::with_capacity(old.len());
            for index in 0..=old.len() {
                let point = Point { block: b, index };
                let lists = self.gathered.get(&point).into_iter().flatten();
                new.extend(lists.map(|list| Instr::Gathered(*list)));
                if let Some(c) = self.checks.get(&point) {
                    new.push(Instr::Check(c.clone()));
                }
                let gathers = self.gathers.get(&point).into_iter().flatten();
                new.extend(gathers.map(|gather| Instr::Gather(gather.clone())));
                if let Some(c) = self.commits.get(&point) {
                    new.push(Instr::Commit(c.clone()));
                }
                new.extend(old.get(index).cloned());
            }
            out.blocks[b.index()].instrs = new;
        }
        out
    }
}
