//! Where the checks of a program went and why. The pass writes it into a section that is not loaded, so it costs nothing at run time;
//! `footrace explain` and race reports read it.
//!
//! ```text
//! section   = table…                     one for each module that was linked in
//! table     = "FRPL" version:u8 length:u32 body, length bytes of it
//! body      = strings calls checks accesses    every number as a LEB128 varint
//! strings   = count { length bytes }
//! calls     = count { place inlined }
//! checks    = count { place kind extent }
//! accesses  = count { function:string place inlined kind fate }
//! inlined   = 0, or one more than the number of a call
//! place     = file:string line column
//! fate      = flags [why:string] count { check }
//! ```
//!
//! A check is found again by its place: the optimiser may copy it and inline it, and takes its source location along. So a
//! race report asks "which accesses does a check of this kind, at this line and column, stand for".
#![forbid(unsafe_code)]

mod read;
mod table;
mod write;

pub use read::BadTable;
pub use table::{Access, Call, CallId, Check, CheckId, Extent, Fate, Kind, Place, Table, Text};

/// The section.
pub const SECTION: &str = ".footrace.places";

const MAGIC: &[u8; 4] = b"FRPL";
const VERSION: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::default();
        let a = table.place("/src/a.c", 12, 7);
        let b = table.place("/src/b.c", 300, 1);
        let one = table.check(a, Kind::Write, Extent::One);
        let many = table.check(b, Kind::Read, Extent::Range);
        let outer = table.call(b, None);
        let call = table.call(a, Some(outer));
        table.access("main", (a, None), Kind::Write, Fate::checked([one]));
        table.access(
            "main",
            (b, Some(call)),
            Kind::Read,
            Fate {
                checks: vec![many, one],
                already_checked: true,
                anticipated: false,
                stayed: true,
                dropped: None,
            },
        );
        let dropped = Fate::dropped("private stack slot");
        table.access("worker", (a, Some(outer)), Kind::Read, dropped);
        table
    }

    #[test]
    fn what_is_written_is_read() {
        let table = sample();
        assert_eq!(Table::read(&table.to_bytes()), Ok(table.clone()));
        // Modules that are linked together lie one after the other.
        let twice = [table.to_bytes(), table.to_bytes()].concat();
        let both = Table::read(&twice).unwrap_or_default();
        assert_eq!(both.accesses().len(), 6);
        assert_eq!(both.checks().len(), 4);
        let last = &both.accesses()[4];
        assert_eq!(last.fate.checks, [CheckId(3), CheckId(2)]);
        assert_eq!(both.text(last.function), "main");
        let lines: Vec<u32> = both.inlined_at(last).map(|place| place.line).collect();
        assert_eq!(lines, [12, 300]);
    }

    #[test]
    fn every_cut_and_every_flipped_byte_is_an_error_or_a_table() {
        let bytes = sample().to_bytes();
        for cut in 1..bytes.len() {
            assert!(Table::read(&bytes[..cut]).is_err(), "{cut}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                let _ = Table::read(&bad);
            }
        }
    }

    #[test]
    fn a_check_stands_for_the_accesses_that_name_it() {
        let table = sample();
        let found: Vec<_> = table
            .sources("/src/a.c", 12, 7, Kind::Write)
            .map(|access| table.line(access.place))
            .collect();
        assert_eq!(found, [("/src/a.c", 12), ("/src/b.c", 300)]);
        assert_eq!(table.sources("/src/a.c", 12, 7, Kind::Read).count(), 0);
    }
}
