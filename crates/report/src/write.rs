//! Blocks to text.

use alloc::vec::Vec;
use core::fmt::{self, Write};

use event::AccessKind;

use crate::VERSION;
use crate::model::{Access, Block, Elements, Location, Module, Process, Race, Stack, Thread};

/// Text in bytes; never fails.
struct Text<'a>(&'a mut Vec<u8>);

impl Write for Text<'_> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.0.extend_from_slice(s.as_bytes());
        Ok(())
    }
}

/// A string as one word.
struct Word<'a>(&'a str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("-");
        }
        if self.0 == "-" {
            return f.write_str("%2D");
        }
        for c in self.0.chars() {
            if c == '%' || c == ' ' || c.is_control() {
                let mut utf8 = [0; 4];
                for byte in c.encode_utf8(&mut utf8).bytes() {
                    write!(f, "%{byte:02X}")?;
                }
            } else {
                f.write_char(c)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("at")?;
        for pc in &self.0 {
            write!(f, " {pc:x}")?;
        }
        f.write_char('\n')
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "footrace {VERSION}")?;
        let (detector, executable) = (Word(&self.detector), Word(&self.executable));
        writeln!(
            f,
            "process {} {} {detector} {executable}",
            self.pid, self.parent
        )
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, path) = (Word(&self.build_id), Word(&self.path));
        writeln!(
            f,
            "module {:x} {:x} {:x} {id} {path}",
            self.start, self.end, self.bias
        )
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
        };
        let manner = if self.atomic { "atomic" } else { "plain" };
        writeln!(f, "access {kind} {manner} {}", self.thread)?;
        write!(f, "{}", self.stack)?;
        for lock in &self.locks {
            let manner = if lock.shared { "shared" } else { "alone" };
            writeln!(f, "lock {:x} {manner}", lock.address)?;
            write!(f, "{}", lock.stack)?;
        }
        Ok(())
    }
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parent {
            None => writeln!(f, "thread {} main {}", self.id, Word(&self.name))?,
            Some(parent) => writeln!(f, "thread {} {parent} {}", self.id, Word(&self.name))?,
        }
        write!(f, "{}", self.stack)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Heap {
                start,
                bytes,
                thread,
                stack,
            } => write!(f, "heap {start:x} {bytes} {thread}\n{stack}"),
            Location::Mapped {
                start,
                bytes,
                thread,
                stack,
            } => write!(f, "mapped {start:x} {bytes} {thread}\n{stack}"),
            Location::ThreadStack { thread, start, end } => {
                writeln!(f, "stack {thread} {start:x} {end:x}")
            }
            Location::Unknown => writeln!(f, "none"),
        }
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "race {}", self.number)?;
        writeln!(f, "memory {:x} {}", self.address, self.bytes)?;
        if let Some(Elements { size, step, count }) = self.elements {
            writeln!(f, "elements {size} {step} {count}")?;
        }
        let [first, second] = &self.accesses;
        write!(f, "{first}{second}")?;
        for thread in &self.threads {
            write!(f, "{thread}")?;
        }
        write!(f, "{}", self.location)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Block::Process(process) => write!(f, "{process}")?,
            Block::Modules(modules) => {
                f.write_str("modules\n")?;
                for module in modules {
                    write!(f, "{module}")?;
                }
            }
            Block::Race(race) => write!(f, "{race}")?,
            Block::Repeat { number, times } => writeln!(f, "repeat {number} {times}")?,
            Block::Stats(stats) => {
                f.write_str("stats\n")?;
                for (name, count) in &stats.counts {
                    writeln!(f, "count {} {count}", Word(name))?;
                }
                for arrays in &stats.arrays {
                    let partition = Word(&arrays.partition);
                    let (blocks, elements) = (arrays.blocks, arrays.elements);
                    let locations = arrays.locations;
                    writeln!(f, "arrays {partition} {blocks} {elements} {locations}")?;
                    write!(f, "{}", arrays.stack)?;
                }
            }
            Block::End { code } => writeln!(f, "end {code}")?,
        }
        f.write_str(".\n")
    }
}

impl Block {
    /// The block's text, to be written at once.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Writing to memory does not fail.
        let _ = write!(Text(&mut bytes), "{self}");
        bytes
    }
}
