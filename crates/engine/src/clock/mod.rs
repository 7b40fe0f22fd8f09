//! Time as threads see it: slots, epochs, vector clocks, and what a thread and a sync object know.
//!
//! A thread's events live in a [`Slot`], one component of every vector clock. A slot's [`Time`] counts the
//! thread's *epochs*, stretches of its execution that end when it publishes what it did (a release, a
//! fork, its end). A vector clock holds *completed* epochs only; the current epoch of a thread is one
//! more than its completed ones. So an access made at `(slot, time)` happens before everything a thread does from
//! now on if and only if the access is the thread's own or its clock holds at least `time` for `slot`.

mod published;
mod recorded;
mod slots;
mod thread;
mod tree;
mod vector;
mod versions;

pub(crate) use published::{Copied, Release};
pub use published::{Published, Snapshot};
pub(crate) use recorded::Stands;
pub use slots::{Limits, Slots};
pub use thread::ThreadClock;
pub use vector::Clock;
pub use versions::{VersionCounts, Versions};

/// A component of the vector clocks. Its events are totally ordered by happens-before: they are
/// one thread's, or those of several threads each of which began after its predecessor in the slot had ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Slot(pub u16);

impl Slot {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A number of epochs of a slot. The first epoch is 1; 0 is "nothing".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(pub u32);

impl Time {
    pub(crate) const fn next(self) -> Time {
        Time(self.0 + 1)
    }
}
