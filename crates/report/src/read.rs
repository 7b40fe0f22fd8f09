//! Text to blocks: whole blocks only, and a clear word about anything that is not one.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use event::AccessKind;

use crate::VERSION;
use crate::model::{
    Access, Arrays, Block, Elements, Location, Lock, Module, Process, Race, Stack, Stats, Thread,
};

/// A line that is not what the format says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRecord {
    /// Counted from 1 over all that was read.
    pub line: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}: expected {}; the file was not written by this version of footrace, or is damaged",
            self.line, self.expected
        )
    }
}

impl core::error::Error for BadRecord {}

/// Reads a file that may still be growing: feed it what there is, take blocks, feed it more.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    bytes: Vec<u8>,
    taken: usize,
    lines: usize,
}

impl Reader {
    /// Nothing read yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes at the end.
    pub fn feed(&mut self, more: &[u8]) {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(more);
    }

    /// Bytes of a block that is not whole (yet).
    pub fn pending(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// The next whole block, if there is one. After an error the bad block is behind us.
    pub fn next_block(&mut self) -> Option<Result<Block, BadRecord>> {
        let rest = &self.bytes[self.taken..];
        let length = if rest.starts_with(b".\n") {
            2
        } else {
            rest.windows(3).position(|w| w == b"\n.\n")? + 3
        };
        let first = self.lines;
        let block = &rest[..length];
        self.lines += block.iter().filter(|&&b| b == b'\n').count();
        self.taken += length;
        let text = String::from_utf8_lossy(block);
        let mut lines = Lines {
            lines: text.lines().collect(),
            next: 0,
        };
        Some(parse(&mut lines).map_err(|expected| BadRecord {
            line: first + lines.next.max(1),
            expected,
        }))
    }
}

type Parsed<T> = Result<T, &'static str>;

struct Lines<'a> {
    lines: Vec<&'a str>,
    next: usize,
}

/// The words of one line.
struct Words<'a>(core::str::Split<'a, char>);

impl<'a> Lines<'a> {
    /// The next line if it begins with `word`.
    fn take(&mut self, word: &str) -> Option<Words<'a>> {
        let line = *self.lines.get(self.next)?;
        let mut words = line.split(' ');
        if words.next() != Some(word) {
            return None;
        }
        self.next += 1;
        Some(Words(words))
    }

    fn stack(&mut self) -> Parsed<Stack> {
        let words = self.take("at").ok_or("`at` and code addresses")?;
        words
            .0
            .map(|pc| u64::from_str_radix(pc, 16).map_err(|_| "a code address in hexadecimal"))
            .collect::<Parsed<Vec<_>>>()
            .map(Stack)
    }
}

impl Words<'_> {
    fn word(&mut self) -> Parsed<&str> {
        self.0.next().ok_or("one more word on the line")
    }
    fn hex(&mut self) -> Parsed<u64> {
        u64::from_str_radix(self.word()?, 16).map_err(|_| "an address in hexadecimal")
    }
    fn number<T: core::str::FromStr>(&mut self) -> Parsed<T> {
        self.word()?.parse().map_err(|_| "a number")
    }
    fn string(&mut self) -> Parsed<String> {
        let word = self.word()?;
        if word == "-" {
            return Ok(String::new());
        }
        let mut bytes = Vec::with_capacity(word.len());
        let mut rest = word.as_bytes();
        while let Some((&b, tail)) = rest.split_first() {
            rest = tail;
            if b != b'%' {
                bytes.push(b);
                continue;
            }
            let code = rest.get(..2).ok_or("two digits after %")?;
            let code = core::str::from_utf8(code).map_err(|_| "two digits after %")?;
            bytes.push(u8::from_str_radix(code, 16).map_err(|_| "two digits after %")?);
            rest = &rest[2..];
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn parse(lines: &mut Lines<'_>) -> Parsed<Block> {
    let block = if let Some(mut words) = lines.take("footrace") {
        if words.number::<u32>()? != VERSION {
            return Err("a format version that this footrace knows");
        }
        Block::Process(process(lines)?)
    } else if lines.take("modules").is_some() {
        Block::Modules(modules(lines)?)
    } else if let Some(mut words) = lines.take("race") {
        Block::Race(race(words.number()?, lines)?)
    } else if let Some(mut words) = lines.take("repeat") {
        Block::Repeat {
            number: words.number()?,
            times: words.number()?,
        }
    } else if lines.take("stats").is_some() {
        Block::Stats(stats(lines)?)
    } else if let Some(mut words) = lines.take("end") {
        Block::End {
            code: words.number()?,
        }
    } else {
        lines.next += 1;
        return Err("the first line of a block");
    };
    if lines.lines.get(lines.next) == Some(&".") {
        Ok(block)
    } else {
        lines.next += 1;
        Err("the end of the block")
    }
}

fn stats(lines: &mut Lines<'_>) -> Parsed<Stats> {
    let mut stats = Stats::default();
    while let Some(mut words) = lines.take("count") {
        stats.counts.push((words.string()?, words.number()?));
    }
    while let Some(mut words) = lines.take("arrays") {
        stats.arrays.push(Arrays {
            partition: words.string()?,
            blocks: words.number()?,
            elements: words.number()?,
            locations: words.number()?,
            stack: lines.stack()?,
        });
    }
    Ok(stats)
}

fn process(lines: &mut Lines<'_>) -> Parsed<Process> {
    let mut words = lines.take("process").ok_or("`process`")?;
    Ok(Process {
        pid: words.number()?,
        parent: words.number()?,
        detector: words.string()?,
        executable: words.string()?,
    })
}

fn modules(lines: &mut Lines<'_>) -> Parsed<Vec<Module>> {
    let mut modules = Vec::new();
    while let Some(mut words) = lines.take("module") {
        modules.push(Module {
            start: words.hex()?,
            end: words.hex()?,
            bias: words.hex()?,
            build_id: words.string()?,
            path: words.string()?,
        });
    }
    Ok(modules)
}

fn race(number: u32, lines: &mut Lines<'_>) -> Parsed<Race> {
    let mut words = lines.take("memory").ok_or("`memory`")?;
    let (address, bytes) = (words.hex()?, words.number()?);
    let elements = match lines.take("elements") {
        None => None,
        Some(mut words) => Some(Elements {
            size: words.number()?,
            step: words.number()?,
            count: words.number()?,
        }),
    };
    let accesses = [access(lines)?, access(lines)?];
    let mut threads = Vec::new();
    while let Some(mut words) = lines.take("thread") {
        let id = words.number()?;
        let parent = match words.word()? {
            "main" => None,
            parent => Some(parent.parse().map_err(|_| "`main` or a thread's number")?),
        };
        threads.push(Thread {
            id,
            parent,
            name: words.string()?,
            stack: lines.stack()?,
        });
    }
    Ok(Race {
        number,
        address,
        bytes,
        elements,
        accesses,
        threads,
        location: location(lines)?,
    })
}

fn access(lines: &mut Lines<'_>) -> Parsed<Access> {
    let mut words = lines.take("access").ok_or("`access`")?;
    let kind = match words.word()? {
        "read" => AccessKind::Read,
        "write" => AccessKind::Write,
        _ => return Err("`read` or `write`"),
    };
    let atomic = match words.word()? {
        "plain" => false,
        "atomic" => true,
        _ => return Err("`plain` or `atomic`"),
    };
    let thread = words.number()?;
    let stack = lines.stack()?;
    let mut locks = Vec::new();
    while let Some(mut words) = lines.take("lock") {
        locks.push(Lock {
            address: words.hex()?,
            shared: words.word()? == "shared",
            stack: lines.stack()?,
        });
    }
    Ok(Access {
        kind,
        atomic,
        thread,
        stack,
        locks,
    })
}

fn location(lines: &mut Lines<'_>) -> Parsed<Location> {
    if let Some(mut words) = lines.take("heap") {
        Ok(Location::Heap {
            start: words.hex()?,
            bytes: words.number()?,
            thread: words.number()?,
            stack: lines.stack()?,
        })
    } else if let Some(mut words) = lines.take("mapped") {
        Ok(Location::Mapped {
            start: words.hex()?,
            bytes: words.number()?,
            thread: words.number()?,
            stack: lines.stack()?,
        })
    } else if let Some(mut words) = lines.take("stack") {
        Ok(Location::ThreadStack {
            thread: words.number()?,
            start: words.hex()?,
            end: words.hex()?,
        })
    } else if lines.take("none").is_some() {
        Ok(Location::Unknown)
    } else {
        lines.next += 1;
        Err("what the memory is: `heap`, `mapped`, `stack` or `none`")
    }
}
