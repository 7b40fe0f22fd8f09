//! What the pass did, by reason: `FOOTRACE_STATS=1` or `footrace-ld --footrace-stats` prints it.
use crate::options::{Options, Report};
use std::fmt;
use std::io::Write;

/// Something that is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    /// Functions whose accesses were looked at.
    Functions,
    /// Functions with atomic operations and fences only.
    SynchronisationOnly,
    /// Functions that asked to be left alone, or have to be.
    SkippedFunctions,
    /// A check with a size of its own, before a read.
    Read,
    /// The same before a write.
    Write,
    /// A check of a range, before a read.
    ReadRange,
    /// The same before a write.
    WriteRange,
    /// A check of a vector with a mask, before a read.
    ReadMasked,
    /// The same before a write.
    WriteMasked,
    /// Atomic operations in their bracket.
    Atomic,
    /// Fences between threads.
    Fence,
    /// No check: a stack slot whose address stays in the function.
    SkippedStack,
    /// No check: a thread-local variable whose address stays in the module's code.
    SkippedThreadLocal,
    /// No check: memory that never changes.
    SkippedConstant,
    /// No check: a write in the same block, with no chance to synchronise in between, is checked.
    SkippedCovered,
    /// No check: a counter of a profile or of coverage, which the compiler added.
    SkippedProfile,
    /// No check: an address relative to a segment register.
    SkippedSegment,
    /// Inline assembly: not seen into.
    Assembly,
    /// Intrinsics with a pointer that are not known to the pass.
    UnknownIntrinsic,
    /// Call sites that update the calling context.
    CallSites,
}

const NAMES: &[(Count, &str)] = &[
    (Count::Functions, "functions"),
    (
        Count::SynchronisationOnly,
        "functions, synchronisation only",
    ),
    (Count::SkippedFunctions, "functions left alone"),
    (Count::Read, "read checks"),
    (Count::Write, "write checks"),
    (Count::ReadRange, "read range checks"),
    (Count::WriteRange, "write range checks"),
    (Count::ReadMasked, "read masked checks"),
    (Count::WriteMasked, "write masked checks"),
    (Count::Atomic, "atomic operations"),
    (Count::Fence, "fences"),
    (Count::SkippedStack, "skipped: private stack slot"),
    (Count::SkippedThreadLocal, "skipped: private thread-local"),
    (Count::SkippedConstant, "skipped: constant memory"),
    (Count::SkippedCovered, "skipped: covered by a write"),
    (Count::SkippedProfile, "skipped: profile counter"),
    (Count::SkippedSegment, "skipped: segment-relative"),
    (Count::Assembly, "inline assembly"),
    (Count::UnknownIntrinsic, "unknown intrinsics"),
    (Count::CallSites, "call sites"),
];

/// The counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stats {
    counts: [u64; NAMES.len()],
}

impl Stats {
    pub(crate) fn add(&mut self, count: Count) {
        if let Some(index) = NAMES.iter().position(|(name, _)| *name == count) {
            self.counts[index] += 1;
        }
    }

    /// Tells the counts to whoever asked.
    pub(crate) fn print(&self, options: &Options) -> Result<(), String> {
        match &options.stats {
            Report::No => Ok(()),
            Report::Print => {
                eprint!("{self}");
                Ok(())
            }
            Report::Append(path) => std::fs::File::options()
                .create(true)
                .append(true)
                .open(path)
                .and_then(|mut file| file.write_all(self.to_string().as_bytes()))
                .map_err(|error| format!("cannot write the counts to {path}: {error}")),
        }
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, (_, name)) in self.counts.iter().zip(NAMES) {
            if *count > 0 {
                writeln!(f, "footrace: {count:>9} {name}")?;
            }
        }
        Ok(())
    }
}
