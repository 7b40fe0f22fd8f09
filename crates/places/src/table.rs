//! The table in memory.

use std::collections::HashMap;

/// Read or write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    Read,
    Write,
}

/// How much a check covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// What one access touches.
    One,
    /// Neighbours.
    Range,
    /// Elements with gaps between them.
    Strided,
    /// What was put on a list.
    Gathered,
}

/// A text of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Text(pub(crate) u32);

/// A place in a source file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The file, as the compiler wrote it into the debug information.
    pub file: Text,
    /// From 1; 0 if unknown.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
}

/// Which check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CheckId(pub u32);

/// A check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Check {
    /// The source location that its call has.
    pub place: Place,
    /// What it checks for.
    pub kind: Kind,
    /// How much it covers.
    pub extent: Extent,
}

/// What became of the check of an access. More than one thing can be true, on different ways through the function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fate<Why = String> {
    /// The checks that stand for it.
    pub checks: Vec<CheckId>,
    /// An earlier check covers it.
    pub already_checked: bool,
    /// A later access is sure to come, whose check covers it.
    pub anticipated: bool,
    /// It was not deferred: there would be several checks for it.
    pub stayed: bool,
    /// It has none, for this reason.
    pub dropped: Option<Why>,
}

impl Fate {
    /// Checked, and nothing else.
    pub fn checked(checks: impl IntoIterator<Item = CheckId>) -> Fate {
        Fate {
            checks: checks.into_iter().collect(),
            ..Fate::default()
        }
    }

    /// Not checked.
    pub fn dropped(why: &str) -> Fate {
        Fate {
            dropped: Some(why.to_owned()),
            ..Fate::default()
        }
    }
}

/// A call that was inlined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    /// Where it was.
    pub place: Place,
    /// The one that its own function was inlined at.
    pub outer: Option<CallId>,
}

/// Which call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CallId(pub u32);

/// An access of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// The function it is in, as the linker knows it.
    pub function: Text,
    /// Where.
    pub place: Place,
    /// The call that it was inlined at.
    pub inlined: Option<CallId>,
    /// What it does.
    pub kind: Kind,
    /// What became of its check.
    pub fate: Fate<Text>,
}

/// All checks and accesses of a module, or of several.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub(crate) texts: Vec<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) checks: Vec<Check>,
    pub(crate) accesses: Vec<Access>,
    known: HashMap<String, Text>,
    known_calls: HashMap<Call, CallId>,
}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        (&self.texts, &self.calls, &self.checks, &self.accesses)
            == (&other.texts, &other.calls, &other.checks, &other.accesses)
    }
}

impl Table {
    fn intern(&mut self, text: &str) -> Text {
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let new = Text(self.texts.len() as u32);
        self.texts.push(text.to_owned());
        self.known.insert(text.to_owned(), new);
        new
    }

    /// A place.
    pub fn place(&mut self, file: &str, line: u32, column: u32) -> Place {
        Place {
            file: self.intern(file),
            line,
            column,
        }
    }

    /// A call that was inlined; `outer` is of this table.
    pub fn call(&mut self, place: Place, outer: Option<CallId>) -> CallId {
        let call = Call { place, outer };
        let new = CallId(self.calls.len() as u32);
        let id = *self.known_calls.entry(call).or_insert(new);
        if id == new {
            self.calls.push(call);
        }
        id
    }

    /// Adds a check.
    pub fn check(&mut self, place: Place, kind: Kind, extent: Extent) -> CheckId {
        self.checks.push(Check {
            place,
            kind,
            extent,
        });
        CheckId(self.checks.len() as u32 - 1)
    }

    /// Adds an access of `function`, and where it was inlined.
    pub fn access(
        &mut self,
        function: &str,
        (place, inlined): (Place, Option<CallId>),
        kind: Kind,
        fate: Fate,
    ) {
        let fate = Fate {
            checks: fate.checks,
            already_checked: fate.already_checked,
            anticipated: fate.anticipated,
            stayed: fate.stayed,
            dropped: fate.dropped.map(|why| self.intern(&why)),
        };
        let function = self.intern(function);
        self.accesses.push(Access {
            function,
            place,
            inlined,
            kind,
            fate,
        });
    }

    /// Where the calls are that an access was inlined at, innermost first.
    pub fn inlined_at(&self, access: &Access) -> impl Iterator<Item = Place> {
        let call = |id: CallId| self.calls.get(id.0 as usize);
        let calls = std::iter::successors(access.inlined.and_then(call), move |inner| {
            inner.outer.and_then(call)
        });
        calls.map(|call| call.place)
    }

    /// Nothing in it?
    pub fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    /// All accesses, as they lie in the program.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// All checks.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// A check by its number; every number in the table has one.
    pub fn get(&self, check: CheckId) -> Option<&Check> {
        self.checks.get(check.0 as usize)
    }

    /// A text.
    pub fn text(&self, text: Text) -> &str {
        self.texts.get(text.0 as usize).map_or("", |t| t.as_str())
    }

    /// File and line of a place.
    pub fn line(&self, place: Place) -> (&str, u32) {
        (self.text(place.file), place.line)
    }

    /// The accesses that the checks of a kind at a place stand for.
    pub fn sources(
        &self,
        file: &str,
        line: u32,
        column: u32,
        kind: Kind,
    ) -> impl Iterator<Item = &Access> {
        let is_there = move |check: &Check| {
            check.kind == kind
                && (check.place.line, check.place.column) == (line, column)
                && self.text(check.place.file) == file
        };
        let there: Vec<bool> = self.checks.iter().map(is_there).collect();
        self.accesses.iter().filter(move |access| {
            let mut checks = access.fate.checks.iter();
            checks.any(|check| there.get(check.0 as usize).copied().unwrap_or(false))
        })
    }

    /// Puts another module's table after this one.
    pub(crate) fn append(&mut self, other: Table) {
        let texts: Vec<Text> = other.texts.iter().map(|text| self.intern(text)).collect();
        let text = |old: Text| texts.get(old.0 as usize).copied().unwrap_or(old);
        let place = |old: Place| Place {
            file: text(old.file),
            ..old
        };
        let mut calls: Vec<CallId> = Vec::with_capacity(other.calls.len());
        for inlined in other.calls {
            // Those outside come first.
            let outer = inlined.outer.map(|outer| calls[outer.0 as usize]);
            calls.push(self.call(place(inlined.place), outer));
        }
        let first = self.checks.len() as u32;
        self.checks
            .extend(other.checks.into_iter().map(|check| Check {
                place: place(check.place),
                ..check
            }));
        let accesses = other.accesses.into_iter().map(|access| Access {
            function: text(access.function),
            place: place(access.place),
            inlined: access.inlined.map(|call| calls[call.0 as usize]),
            kind: access.kind,
            fate: Fate {
                checks: access
                    .fate
                    .checks
                    .iter()
                    .map(|c| CheckId(c.0 + first))
                    .collect(),
                dropped: access.fate.dropped.map(text),
                ..access.fate
            },
        });
        self.accesses.extend(accesses);
    }
}
