//! Which accesses a check stands for, and what became of each access, written into the program ([`places`]): for
//! `footrace explain` and for reports, which name the lines of accesses, not of checks.
use crate::access::{Access, Kind};
use crate::llvm::{Location, Module, Value};
use crate::stats::{Count, Stats};
use places::{CallId, CheckId, Extent, Table};

/// A check that was inserted.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    /// The instruction whose debug location the check's call has.
    pub(crate) at: Value,
    pub(crate) kind: Kind,
    pub(crate) extent: Extent,
    /// Indices into [`Function::accesses`], sorted.
    pub(crate) sources: Vec<usize>,
}

/// A function whose checks were placed.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) function: Value,
    /// The accesses that need a check, in the order of the function's blocks.
    pub(crate) accesses: &'a [Access],
    /// What became of each of them.
    pub(crate) fates: &'a [placement::Fate],
    pub(crate) checks: &'a [Check],
}

/// The table of the module, as it is filled.
#[derive(Debug, Default)]
pub(crate) struct Places {
    table: Table,
}

fn kind(kind: Kind) -> places::Kind {
    match kind {
        Kind::Read => places::Kind::Read,
        Kind::Write => places::Kind::Write,
    }
}

impl Places {
    fn place(&mut self, location: Location) -> Option<places::Place> {
        let (file, line, column) = location.place()?;
        Some(self.table.place(&file, line, column))
    }

    /// The call that a location was inlined at.
    fn inlined(&mut self, location: Location) -> Option<CallId> {
        let call = location.inlined_at()?;
        let outer = self.inlined(call);
        let place = self.place(call)?;
        Some(self.table.call(place, outer))
    }

    fn access(&mut self, function: Value, access: &Access, fate: places::Fate) {
        if let Some(location) = access.instruction.location()
            && let Some(place) = self.place(location)
        {
            let at = (place, self.inlined(location));
            let function = function.name();
            self.table.access(&function, at, kind(access.kind), fate);
        }
    }

    fn check(&mut self, at: Value, access: Kind, extent: Extent) -> Option<CheckId> {
        let place = self.place(at.location()?)?;
        Some(self.table.check(place, kind(access), extent))
    }

    /// The access is checked where it is.
    pub(crate) fn kept(&mut self, function: Value, access: &Access) {
        let check = self.check(access.instruction, access.kind, Extent::One);
        self.access(function, access, places::Fate::checked(check));
    }

    /// The access has no check, for one of the reasons that have a count.
    pub(crate) fn dropped(&mut self, function: Value, access: &Access, reason: Count) {
        let why = reason.name().trim_start_matches("skipped: ");
        self.access(function, access, places::Fate::dropped(why));
    }

    /// The checks of a whole function were placed.
    pub(crate) fn placed(&mut self, placed: &Function<'_>) {
        let mut checks: Vec<Vec<CheckId>> = vec![Vec::new(); placed.accesses.len()];
        for check in placed.checks {
            let Some(id) = self.check(check.at, check.kind, check.extent) else {
                continue;
            };
            for source in &check.sources {
                if let Some(list) = checks.get_mut(*source) {
                    list.push(id);
                }
            }
        }
        for ((access, fate), checks) in placed.accesses.iter().zip(placed.fates).zip(checks) {
            let fate = places::Fate {
                checks,
                already_checked: fate.already_checked,
                anticipated: fate.anticipated,
                stayed: fate.stayed,
                dropped: None,
            };
            self.access(placed.function, access, fate);
        }
    }

    /// Puts the table into the module: a section that is not loaded, for which IR has no words.
    pub(crate) fn write(&self, module: Module) {
        if self.table.is_empty() {
            return;
        }
        let mut text = format!(".pushsection {},\"\",@progbits\n", places::SECTION);
        for line in self.table.to_bytes().chunks(64) {
            text.push_str(".ascii \"");
            for byte in line {
                match byte {
                    b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
                    b' '..=b'~' => text.push(char::from(*byte)),
                    _ => text.push_str(&format!("\\{byte:03o}")),
                }
            }
            text.push_str("\"\n");
        }
        text.push_str(".popsection\n");
        module.append_assembly(&text);
    }
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
