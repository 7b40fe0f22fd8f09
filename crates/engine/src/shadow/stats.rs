//! How often each rule fired.

use alloc::boxed::Box;
// Not loom's: nobody but the thread itself adds to it.
use core::sync::atomic::{AtomicU64, Ordering};

use event::AccessKind;

use crate::boxed::boxed_with;
use crate::detector::Counters;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The rules for one access to one location, by FastTrack's names where it has one.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum RuleName { $($(#[$doc])* $name,)* }
        const NAMES: &[&str] = &[$(stringify!($name),)*];
    };
}

rules! {
    /// The thread already read or wrote these bytes in this epoch.
    ReadSameEpoch,
    /// A read that is ordered after all remembered reads of its bytes.
    ReadExclusive,
    /// A read concurrent with a remembered one: from now on there are several.
    ReadShare,
    /// A read of bytes with several concurrent readers.
    ReadShared,
    /// The thread already wrote these bytes in this epoch.
    WriteSameEpoch,
    /// A write of bytes without concurrent readers.
    WriteExclusive,
    /// A write of bytes with several readers: all of them were checked.
    WriteShared,
    /// An access that is not recorded, where nothing is remembered (Pacer's fast path).
    Unsampled,
    /// An access to a whole page that has one location: one check for 4096 bytes, by whichever rule.
    WholePage,
    /// An access to all words of a lane of a run: one check for all of them, by whichever rule.
    Run,
    /// The same for a lane that the page knows by the words, and that has nothing but what the thread knows: a few steps.
    RunAgain,
    /// A range or a word of a page with runs that the thread already accessed in this epoch.
    RunSameEpoch,
    /// A long range that the thread already read in this epoch.
    RangeSameEpoch,
    /// A page gets runs.
    RunPage,
    /// An access cut a run of its page, or more.
    RunSplit,
    /// After an access, runs of its page were joined.
    RunJoin,
    /// A page gets a location for each of its words, as it is accessed in detail. There is no way back.
    PageSplit,
    /// A read whose check is put off, on a page with layers, …
    ReadPutOff,
    /// … a write, …
    WritePutOff,
    /// … and all of one page are made.
    Commit,
    /// An atomic load.
    AtomicRead,
    /// An atomic store or read-modify-write.
    AtomicWrite,
    /// An atomic access that an earlier one of the thread stands for.
    AtomicRepeated,
}

impl RuleName {
    /// The same-epoch rule for this kind of access.
    #[inline]
    pub const fn same_epoch(kind: AccessKind) -> RuleName {
        match kind {
            AccessKind::Read => RuleName::ReadSameEpoch,
            AccessKind::Write => RuleName::WriteSameEpoch,
        }
    }

    /// The rule for an access of this kind whose check is put off.
    #[inline]
    pub const fn put_off(kind: AccessKind) -> RuleName {
        match kind {
            AccessKind::Read => RuleName::ReadPutOff,
            AccessKind::Write => RuleName::WritePutOff,
        }
    }

    /// The rule for an atomic access of this kind.
    #[inline]
    pub const fn atomic(kind: AccessKind) -> RuleName {
        match kind {
            AccessKind::Read => RuleName::AtomicRead,
            AccessKind::Write => RuleName::AtomicWrite,
        }
    }
}

/// One count for each rule. Belongs to a thread, whose stubs add to it too while it is not in the engine.
#[derive(Debug)]
pub struct Counts(Box<[AtomicU64; NAMES.len()]>);

impl Default for Counts {
    fn default() -> Counts {
        Counts(boxed_with(|| AtomicU64::new(0)))
    }
}

impl Counts {
    /// The counts, by [`RuleName`]. They stay where they are.
    pub fn entries(&self) -> &[AtomicU64] {
        &self.0[..]
    }

    /// The rule fired once more.
    #[inline]
    pub fn add(&mut self, rule: RuleName) {
        self.add_many(rule, 1);
    }

    /// The rule fired so many times more.
    #[inline]
    pub fn add_many(&mut self, rule: RuleName, times: u64) {
        *self.0[rule as usize].get_mut() += times;
    }

    /// How often it did.
    pub fn get(&self, rule: RuleName) -> u64 {
        self.0[rule as usize].load(Ordering::Relaxed)
    }
}

impl Counters for Counts {
    fn each(&self, f: &mut dyn FnMut(&'static str, u64)) {
        for (name, count) in NAMES.iter().zip(self.entries()) {
            f(name, count.load(Ordering::Relaxed));
        }
    }
}
