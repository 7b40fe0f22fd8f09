//! To bytes.

use crate::table::{CallId, Extent, Kind, Place, Table};
use crate::{MAGIC, VERSION};

/// Bits of a fate.
pub(crate) const ALREADY_CHECKED: u32 = 1;
pub(crate) const ANTICIPATED: u32 = 2;
pub(crate) const DROPPED: u32 = 4;
pub(crate) const STAYED: u32 = 8;

pub(crate) const KINDS: [Kind; 2] = [Kind::Read, Kind::Write];
pub(crate) const EXTENTS: [Extent; 4] = [
    Extent::One,
    Extent::Range,
    Extent::Strided,
    Extent::Gathered,
];

fn number(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn place(out: &mut Vec<u8>, place: Place) {
    number(out, place.file.0);
    number(out, place.line);
    number(out, place.column);
}

fn call(out: &mut Vec<u8>, call: Option<CallId>) {
    number(out, call.map_or(0, |call| call.0 + 1));
}

fn position<T: PartialEq>(of: &T, all: &[T]) -> u32 {
    all.iter().position(|one| one == of).unwrap_or(0) as u32
}

impl Table {
    /// The table as the section has it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        number(&mut body, self.texts.len() as u32);
        for text in &self.texts {
            number(&mut body, text.len() as u32);
            body.extend(text.as_bytes());
        }
        number(&mut body, self.calls.len() as u32);
        for inlined in &self.calls {
            place(&mut body, inlined.place);
            call(&mut body, inlined.outer);
        }
        number(&mut body, self.checks.len() as u32);
        for check in &self.checks {
            place(&mut body, check.place);
            number(&mut body, position(&check.kind, &KINDS));
            number(&mut body, position(&check.extent, &EXTENTS));
        }
        number(&mut body, self.accesses.len() as u32);
        for access in &self.accesses {
            number(&mut body, access.function.0);
            place(&mut body, access.place);
            call(&mut body, access.inlined);
            number(&mut body, position(&access.kind, &KINDS));
            let fate = &access.fate;
            let flag = |set: bool, bit: u32| if set { bit } else { 0 };
            let flags = flag(fate.already_checked, ALREADY_CHECKED)
                | flag(fate.anticipated, ANTICIPATED)
                | flag(fate.stayed, STAYED)
                | flag(fate.dropped.is_some(), DROPPED);
            number(&mut body, flags);
            if let Some(why) = fate.dropped {
                number(&mut body, why.0);
            }
            number(&mut body, fate.checks.len() as u32);
            fate.checks
                .iter()
                .for_each(|check| number(&mut body, check.0));
        }
        let mut out = MAGIC.to_vec();
        out.push(VERSION);
        out.extend((body.len() as u32).to_le_bytes());
        out.extend(body);
        out
    }
}
