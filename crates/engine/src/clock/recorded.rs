//! Which atomic accesses of a thread need no record, because an earlier one stands for them.
//!
//! An access A to some bytes is in the shadow, made in epoch `e`. A later atomic access B of the same thread to the same bytes, not of a
//! stronger kind, needs no record of its own if whoever gets to know `e` from now on comes after B, too: then what races with B races with
//! A, or did already. Others get to know `e` from what the thread publishes. So A stands for B
//!
//! * as long as the thread has published nothing since A: B is in the same epoch, FastTrack's same-epoch rule;
//! * if B releases, as long as all that the thread has published since A went into the atomic object itself and nobody took
//!   it from there: B replaces it, before anybody knows `e`.
//!
//! and, if B writes, the object was not overwritten since by a plain write: that took A from the shadow, where it says which bytes are the
//! object's.
//!
//! The second is why a counter that one thread counts up costs no epochs and no records, however strong its order. A *stretch* of a
//! thread's execution is what lies between two publications; each has a number. A stretch ends also when the thread frees memory or
//! gets some, as its records there are gone then.

use crate::boxed::boxed_with;
use alloc::boxed::Box;
use event::Addr;

const WAYS: usize = 128;

#[derive(Clone, Copy, Debug)]
struct Entry {
    addr: Addr,
    size: u32,
    write: bool,
    /// Was something published since, into the object at `addr`?
    released: bool,
    stretch: u64,
}

/// The atomic accesses that a thread recorded last.
#[derive(Debug)]
pub(super) struct Recorded {
    entries: Box<[Entry; WAYS]>,
}

/// On what condition an earlier access stands for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stands {
    /// It does not.
    No,
    /// If this access releases, and nobody took what the thread released into the object.
    IfUntaken,
    /// In any case.
    Yes,
}

fn place(addr: Addr) -> usize {
    // Neighbours of four bytes or of eight, and counters that are padded to a cache line, all have places of their own.
    (addr.0 >> 2 ^ addr.0 >> 9) as usize % WAYS
}

impl Recorded {
    pub(super) fn new() -> Recorded {
        Recorded {
            entries: boxed_with(|| Entry {
                addr: Addr(0),
                size: 0,
                write: false,
                released: false,
                stretch: u64::MAX,
            }),
        }
    }

    #[inline]
    pub(super) fn stands(&self, addr: Addr, size: u32, write: bool, stretch: u64) -> Stands {
        let entry = &self.entries[place(addr)];
        let same = (entry.addr, entry.size, entry.stretch) == (addr, size, stretch);
        match (same && entry.write >= write, entry.released) {
            (false, _) => Stands::No,
            (true, true) => Stands::IfUntaken,
            (true, false) => Stands::Yes,
        }
    }

    pub(super) fn note(&mut self, addr: Addr, size: u32, write: bool, stretch: u64) {
        let entry = &mut self.entries[place(addr)];
        // A read after a write of the same stretch: the write is the stronger one.
        let stronger = (entry.addr, entry.size, entry.stretch) == (addr, size, stretch)
            && entry.write
            && !entry.released;
        *entry = Entry {
            addr,
            size,
            write: write || stronger,
            released: false,
            stretch,
        };
    }

    /// A write to these bytes was recorded and released into the object at `addr`, and nothing was published in between; now is stretch `after`.
    #[inline(always)]
    pub(super) fn note_released(&mut self, addr: Addr, size: u32, after: u64) {
        self.entries[place(addr)] = Entry {
            addr,
            size,
            write: true,
            released: true,
            stretch: after,
        };
    }

    /// Stretch `before` ended with a release into the object at `addr`; now is stretch `after`.
    #[inline]
    pub(super) fn released(&mut self, addr: Addr, before: u64, after: u64) {
        let entry = &mut self.entries[place(addr)];
        if entry.addr == addr && entry.stretch == before {
            entry.released = true;
            entry.stretch = after;
        }
    }
}
