//! From bytes, whatever they are.

use std::fmt;

use crate::table::{Access, Call, CallId, Check, CheckId, Fate, Place, Table, Text};
use crate::write::{ALREADY_CHECKED, ANTICIPATED, DROPPED, EXTENTS, KINDS, STAYED};
use crate::{MAGIC, VERSION};

/// What is wrong with a section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadTable {
    /// It does not begin as it should.
    NoTable,
    /// Written by another version.
    Version(u8),
    /// It ends too early, or a number in it leads nowhere.
    Broken,
}

impl fmt::Display for BadTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadTable::NoTable => f.write_str("it is not a table of checks"),
            BadTable::Version(version) => write!(
                f,
                "it is of version {version}, this program reads version {VERSION}; link the program again"
            ),
            BadTable::Broken => f.write_str("it is damaged; link the program again"),
        }
    }
}

impl std::error::Error for BadTable {}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        let mut value = 0u32;
        for shift in (0..32).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u32::from(byte & 0x7F).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A number that must be less than `end`.
    fn below(&mut self, end: usize) -> Option<u32> {
        self.number().filter(|value| (*value as usize) < end)
    }

    /// One of `calls`, or none.
    fn call(&mut self, calls: usize) -> Option<Option<CallId>> {
        let call = self.below(calls + 1)?;
        Some(call.checked_sub(1).map(CallId))
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        let at = self.number()?;
        all.get(at as usize).copied()
    }

    /// A list. Its length is not believed until its elements are there.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(one(self)?);
        }
        Some(all)
    }
}

fn table(body: &[u8]) -> Option<Table> {
    let mut bytes = Bytes(body);
    let mut table = Table::default();
    table.texts = bytes.list(|bytes| {
        let length = bytes.number()?;
        let text = bytes.take(length as usize)?;
        Some(String::from_utf8_lossy(text).into_owned())
    })?;
    let texts = table.texts.len();
    let place = |bytes: &mut Bytes<'_>| {
        Some(Place {
            file: Text(bytes.below(texts)?),
            line: bytes.number()?,
            column: bytes.number()?,
        })
    };
    let mut calls = 0;
    table.calls = bytes.list(|bytes| {
        let place = place(bytes)?;
        // It names one before it, so that none leads to itself.
        let outer = bytes.call(calls)?;
        calls += 1;
        Some(Call { place, outer })
    })?;
    table.checks = bytes.list(|bytes| {
        Some(Check {
            place: place(bytes)?,
            kind: bytes.one_of(&KINDS)?,
            extent: bytes.one_of(&EXTENTS)?,
        })
    })?;
    let checks = table.checks.len();
    table.accesses = bytes.list(|bytes| {
        let function = Text(bytes.below(texts)?);
        let place = place(bytes)?;
        let inlined = bytes.call(calls)?;
        let kind = bytes.one_of(&KINDS)?;
        let flags = bytes.number()?;
        let dropped = if flags & DROPPED != 0 {
            Some(Text(bytes.below(texts)?))
        } else {
            None
        };
        Some(Access {
            function,
            place,
            inlined,
            kind,
            fate: Fate {
                already_checked: flags & ALREADY_CHECKED != 0,
                anticipated: flags & ANTICIPATED != 0,
                stayed: flags & STAYED != 0,
                dropped,
                checks: bytes.list(|bytes| bytes.below(checks).map(CheckId))?,
            },
        })
    })?;
    Some(table)
}

impl Table {
    /// Reads a section, with the tables of all modules in it.
    pub fn read(section: &[u8]) -> Result<Table, BadTable> {
        let mut rest = Bytes(section);
        let mut all = Table::default();
        while !rest.0.is_empty() {
            if rest.take(MAGIC.len()) != Some(MAGIC) {
                return Err(BadTable::NoTable);
            }
            match rest.take(1) {
                Some([VERSION]) => {}
                Some(other) => return Err(BadTable::Version(other[0])),
                None => return Err(BadTable::Broken),
            }
            let length = rest.take(4).and_then(|b| b.try_into().ok());
            let body = length
                .map(|length| u32::from_le_bytes(length) as usize)
                .and_then(|length| rest.take(length))
                .ok_or(BadTable::Broken)?;
            all.append(table(body).ok_or(BadTable::Broken)?);
        }
        Ok(all)
    }
}
