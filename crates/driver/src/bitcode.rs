//! Bitcode for full LTO.
//!
//! rustc marks its modules for ThinLTO, and lld then optimises each module on its own: nobody would see
//! the whole program. The mark is nothing but the number of one block in the bit stream, the module's summary, which is the same for
//! both kinds. We walk the stream to that block and change its number; nothing moves.
//!
//! The bit stream (LLVM's "Bitcode File Format"): blocks with a length, and in them records, whose shape an abbreviation
//! may describe. Only the top level of a module is read, all inner blocks are skipped by their length.
use crate::{Error, Result};
use object::read::archive::ArchiveFile;
use std::ops::Range;

const MAGIC: [u8; 4] = *b"BC\xC0\xDE";
const WRAPPER: [u8; 4] = [0xDE, 0xC0, 0x17, 0x0B];
const ARCHIVE: &[u8] = b"!<arch>\n";

/// Numbers of blocks, from the format's definition.
mod block {
    pub(super) const MODULE: u64 = 8;
    pub(super) const THIN_SUMMARY: u64 = 20;
    pub(super) const FULL_SUMMARY: u64 = 24;
}

/// Abbreviation numbers with a fixed meaning.
mod abbreviation {
    pub(super) const END_BLOCK: u64 = 0;
    pub(super) const ENTER_BLOCK: u64 = 1;
    pub(super) const DEFINE: u64 = 2;
    pub(super) const UNABBREVIATED: u64 = 3;
    pub(super) const FIRST_DEFINED: u64 = 4;
}

/// How one part of an abbreviated record is written.
#[derive(Clone, Copy, Debug)]
enum Part {
    Literal,
    Fixed(u64),
    Variable(u64),
    Character,
    Array,
    Blob,
}

/// A position in the stream, in bits.
struct Reader<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl Reader<'_> {
    fn fixed(&mut self, width: u64) -> Option<u64> {
        let mut value = 0;
        for index in 0..width.min(64) {
            let byte = self.bytes.get(usize::try_from(self.at / 8).ok()?)?;
            value |= u64::from(byte >> (self.at % 8) & 1) << index;
            self.at += 1;
        }
        Some(value)
    }

    /// Groups of `width` bits whose top bit says that another follows.
    fn variable(&mut self, width: u64) -> Option<u64> {
        if !(2..=32).contains(&width) {
            return None;
        }
        let top = 1 << (width - 1);
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let group = self.fixed(width)?;
            value |= (group & (top - 1)).checked_shl(shift).unwrap_or(0);
            if group & top == 0 {
                return Some(value);
            }
            shift += u32::try_from(width).ok()? - 1;
        }
    }

    fn align(&mut self) {
        self.at = self.at.next_multiple_of(32);
    }

    fn skip(&mut self, bits: u64) -> Option<()> {
        self.at = self.at.checked_add(bits)?;
        (self.at <= self.bytes.len() as u64 * 8).then_some(())
    }

    fn abbreviation(&mut self) -> Option<Vec<Part>> {
        let count = self.variable(5)?;
        let mut parts = Vec::new();
        for _ in 0..count {
            parts.push(if self.fixed(1)? == 1 {
                self.variable(8)?;
                Part::Literal
            } else {
                match self.fixed(3)? {
                    1 => Part::Fixed(self.variable(5)?),
                    2 => Part::Variable(self.variable(5)?),
                    3 => Part::Array,
                    4 => Part::Character,
                    5 => Part::Blob,
                    _ => return None,
                }
            });
        }
        Some(parts)
    }

    fn scalar(&mut self, part: Part) -> Option<()> {
        match part {
            Part::Literal => Some(()),
            // A width of zero is written with no bits at all.
            Part::Fixed(0) | Part::Variable(0) => Some(()),
            Part::Fixed(width) => self.skip(width),
            Part::Variable(width) => self.variable(width).map(|_| ()),
            Part::Character => self.skip(6),
            Part::Array | Part::Blob => None,
        }
    }

    fn record(&mut self, parts: &[Part]) -> Option<()> {
        let mut parts = parts.iter();
        while let Some(part) = parts.next() {
            match part {
                Part::Array => {
                    let element = *parts.next()?;
                    for _ in 0..self.variable(6)? {
                        self.scalar(element)?;
                    }
                }
                Part::Blob => {
                    let length = self.variable(6)?;
                    self.align();
                    self.skip(length.checked_mul(8)?)?;
                    self.align();
                }
                scalar => self.scalar(*scalar)?,
            }
        }
        Some(())
    }

    fn unabbreviated(&mut self) -> Option<()> {
        self.variable(6)?;
        for _ in 0..self.variable(6)? {
            self.variable(6)?;
        }
        Some(())
    }
}

/// Positions, in bits, of the block numbers of ThinLTO summaries. `None` if the stream is not what it should be.
fn thin_summaries(bytes: &[u8]) -> Option<Vec<u64>> {
    let mut reader = Reader { bytes, at: 32 };
    let mut found = Vec::new();
    let end = bytes.len() as u64 * 8;
    // The top level: blocks only, abbreviation numbers of 2 bits.
    while reader.at + 32 <= end {
        if reader.fixed(2)? != abbreviation::ENTER_BLOCK {
            return None;
        }
        let number = reader.variable(8)?;
        let width = reader.variable(4)?;
        reader.align();
        let length = reader.fixed(32)?;
        if number == block::MODULE {
            module(&mut reader, width, &mut found)?;
        } else {
            reader.skip(length * 32)?;
        }
    }
    Some(found)
}

fn module(reader: &mut Reader<'_>, width: u64, found: &mut Vec<u64>) -> Option<()> {
    let mut abbreviations: Vec<Vec<Part>> = Vec::new();
    loop {
        match reader.fixed(width)? {
            abbreviation::END_BLOCK => {
                reader.align();
                return Some(());
            }
            abbreviation::ENTER_BLOCK => {
                let place = reader.at;
                let number = reader.variable(8)?;
                reader.variable(4)?;
                reader.align();
                let length = reader.fixed(32)?;
                reader.skip(length * 32)?;
                if number == block::THIN_SUMMARY {
                    found.push(place);
                }
            }
            abbreviation::DEFINE => {
                let parts = reader.abbreviation()?;
                abbreviations.push(parts);
            }
            abbreviation::UNABBREVIATED => reader.unabbreviated()?,
            number => {
                let index = usize::try_from(number - abbreviation::FIRST_DEFINED).ok()?;
                reader.record(&abbreviations.get(index)?.clone())?;
            }
        }
    }
}

/// Where the modules are in a file: the file itself, or the members of an archive.
fn modules(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    if bytes.starts_with(ARCHIVE) {
        let members = ArchiveFile::parse(bytes).ok();
        for member in members
            .iter()
            .flat_map(|archive| archive.members())
            .flatten()
        {
            let (start, size) = member.file_range();
            let range = usize::try_from(start)
                .ok()
                .zip(usize::try_from(start + size).ok());
            parts.extend(range.map(|(start, end)| start..end.min(bytes.len())));
        }
    } else {
        parts.push(0..bytes.len());
    }
    parts
        .into_iter()
        .filter_map(|range| {
            let part = bytes.get(range.clone())?;
            if part.starts_with(&WRAPPER) {
                let field = |at: usize| {
                    let field = part.get(at..at + 4)?.try_into().ok()?;
                    usize::try_from(u32::from_le_bytes(field)).ok()
                };
                let start = range.start.checked_add(field(8)?)?;
                return Some(start..start.checked_add(field(12)?)?.min(range.end));
            }
            part.starts_with(&MAGIC).then_some(range)
        })
        .collect()
}

/// Starts like bitcode or an archive, so that it is worth a look.
pub fn may_hold_bitcode(start: &[u8]) -> bool {
    start.starts_with(&MAGIC) || start.starts_with(&WRAPPER) || start.starts_with(ARCHIVE)
}

/// Turns every ThinLTO module in the file or archive into one for full LTO. Returns how many there were.
pub fn make_full(name: &str, bytes: &mut [u8]) -> Result<usize> {
    let mut count = 0;
    for range in modules(bytes) {
        let Some(part) = bytes.get_mut(range) else {
            continue;
        };
        let summaries = thin_summaries(part).ok_or_else(|| {
            Error::new(format!(
                "{name}: broken bitcode, or bitcode of an LLVM that is not 22; build it again"
            ))
        })?;
        for place in summaries {
            write_bits(part, place, block::FULL_SUMMARY);
            count += 1;
        }
    }
    Ok(count)
}

/// Overwrites the 8 bits of a small block number.
fn write_bits(bytes: &mut [u8], place: u64, value: u64) {
    for index in 0..8 {
        let at = place + index;
        if let Some(byte) = usize::try_from(at / 8)
            .ok()
            .and_then(|at| bytes.get_mut(at))
        {
            let mask = 1u8 << (at % 8);
            *byte = if value >> index & 1 == 1 {
                *byte | mask
            } else {
                *byte & !mask
            };
        }
    }
}
