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
    /// No check: a block of the heap whose address stays in the function.
    SkippedHeap,
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
    /// Functions that placement analysed.
    Analysed,
    /// Microseconds of processor time that lowering and analysis took.
    AnalysisTime,
    /// Functions with a check at each access: too large to analyse.
    FallbackSize,
    /// The same: they end a block in a way that placement does not know.
    FallbackTerminator,
    /// The same: they call something that returns twice.
    FallbackReturnsTwice,
    /// The same: a loop with several entries, or an edge that cannot be split.
    FallbackFlow,
    /// Accesses that are checked where they are: deferred, there would be several checks for each.
    Stayed,
    /// Accesses that placement looked at.
    PlacedAccesses,
    /// Accesses without a check of their own: an earlier check covers them.
    CoveredBefore,
    /// The same: a later access is sure to come, whose check covers them.
    CoveredAfter,
    /// Checks that stand for several accesses.
    MergedChecks,
    /// Calls through pointers whose callees are known by their type.
    Indirect,
    /// Accesses checked where they are, since placement has no words for them.
    Immediate,
    /// A check of a range with gaps, of reads.
    ReadStrided,
    /// The same of writes.
    WriteStrided,
    /// A check of which a loop makes a list.
    Gathers,
    /// Loops that may not end and check now and then.
    Commits,
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
    (Count::SkippedHeap, "skipped: private heap block"),
    (Count::SkippedThreadLocal, "skipped: private thread-local"),
    (Count::SkippedConstant, "skipped: constant memory"),
    (Count::SkippedCovered, "skipped: covered by a write"),
    (Count::SkippedProfile, "skipped: profile counter"),
    (Count::SkippedSegment, "skipped: segment-relative"),
    (Count::Assembly, "inline assembly"),
    (Count::UnknownIntrinsic, "unknown intrinsics"),
    (Count::ReadStrided, "read strided checks"),
    (Count::WriteStrided, "write strided checks"),
    (Count::PlacedAccesses, "accesses placed"),
    (Count::CoveredBefore, "accesses covered by an earlier check"),
    (Count::CoveredAfter, "accesses covered by a later check"),
    (Count::MergedChecks, "checks of several accesses"),
    (Count::Immediate, "accesses checked on the spot"),
    (Count::Indirect, "indirect calls by type"),
    (Count::Gathers, "checks on lists"),
    (Count::Commits, "loops that commit"),
    (Count::Analysed, "functions analysed"),
    (Count::AnalysisTime, "us of analysis"),
    (Count::FallbackSize, "fallback: too large"),
    (Count::FallbackTerminator, "fallback: terminator"),
    (Count::FallbackReturnsTwice, "fallback: returns twice"),
    (Count::FallbackFlow, "fallback: control flow"),
    (Count::Stayed, "accesses not deferred"),
    (Count::CallSites, "call sites"),
];

impl Count {
    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        let name = NAMES.iter().find(|(count, _)| *count == self);
        name.map_or("", |(_, name)| name)
    }
}

/// The counters.
#[derive(Clone, Debug)]
pub(crate) struct Stats {
    counts: [u64; NAMES.len()],
}

impl Default for Stats {
    fn default() -> Stats {
        Stats {
            counts: [0; NAMES.len()],
        }
    }
}

impl Stats {
    pub(crate) fn add(&mut self, count: Count) {
        self.add_many(count, 1);
    }

    pub(crate) fn add_many(&mut self, count: Count, many: u64) {
        if let Some(index) = NAMES.iter().position(|(name, _)| *name == count) {
            self.counts[index] += many;
        }
    }

    /// Takes over what was counted on trial.
    pub(crate) fn absorb(&mut self, other: &Stats) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
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
