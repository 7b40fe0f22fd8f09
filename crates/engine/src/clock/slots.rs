//! Which thread is in which slot, and what a slot's cells mean.
//!
//! Slots are reused. A vector-clock component is sound as long as its events are totally ordered by
//! happens-before, so a new thread may continue a dead thread's slot if the dead one's last epoch is in the
//! new one's past when it begins: `past[slot] ≥ final`. No other thread needs to know anything: one that has not
//! heard of the dead thread's end has not heard of the new thread either, and one that hears of the new
//! thread hears of all that came before it. (Accordion clocks, Christiaens and De Bosschere 2001, wait until every living
//! thread knows; they also remove the component, we only pass it on.) A thread from nowhere has no
//! past and always gets a fresh slot.
//!
//! If more threads are alive than there are slots, or ended without anybody knowing, the next one is put into a slot that is
//! not its own and the slots are *exhausted*: from then on verdicts mean nothing, and whoever drives the detector has to
//! stop ([`Detector::exhausted`](crate::Detector::exhausted)). Panicking here would take a program down in the middle of anything.
//!
//! A slot ends when its times or its sites run out: its thread goes on in another one (*renewal*), with its
//! old self in its past. Nothing wraps around.

use alloc::vec::Vec;

use event::{Site, Tid};

use super::{Clock, Slot, Time};
use crate::grow::Grow;
use crate::lock::{AtomicU32, AtomicU64, Lock, Ordering};
use crate::sites::Composite;

/// How large numbers may get. The defaults are what a shadow cell has bits for; tests use tiny ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Number of slots.
    pub slots: u32,
    /// Largest time of a slot.
    pub time: u32,
    /// Number of sites that one slot can name.
    pub sites: u32,
    /// How many atomic operations in a row have to be repeated ones before a thread may make them without a bracket.
    pub row: u32,
}

impl Limits {
    /// What fits into a cell of the shadow. (The current epoch is one more than the completed time,
    /// and the largest epoch is never used: see `Epoch::NEVER`.)
    pub const CELL: Limits = Limits {
        slots: 1 << 16,
        time: (1 << 20) - 3,
        sites: 1 << 19,
        row: 16,
    };

    /// Largest version of a slot: all of 31 bits, for real limits. Clocks compare signed numbers.
    pub(super) const fn versions(self) -> u32 {
        self.time.saturating_mul(2047)
    }
}

/// A slot that nobody is in.
#[derive(Clone, Copy, Debug)]
struct Dead {
    slot: Slot,
    last: Time,
    /// The last version of the thread that left, if versions are counted; else 0.
    version: Time,
}

impl Dead {
    /// May a thread with this past go on here? It must know all that its predecessor knew and did. With versions the last
    /// epoch does not imply that: time may have stood still while the predecessor learned something.
    fn is_past(self, past: &Clock, received: Option<&Clock>) -> bool {
        past.get(self.slot) >= self.last
            && received.is_none_or(|received| received.get(self.slot) >= self.version)
    }
}

/// A thread that was or is in a slot, from this time on.
#[derive(Clone, Copy, Debug)]
struct Occupant {
    from: Time,
    tid: Tid,
}

#[derive(Debug, Default)]
struct Entry {
    /// Appended to by the slot's thread only. A reader finds an index in a shadow cell, which was stored after
    /// the entry.
    sites: Grow<AtomicU64>,
    used: AtomicU32,
    occupants: Lock<Vec<Occupant>>,
}

#[derive(Debug, Default)]
struct Allocation {
    fresh: u32,
    dead: Vec<Dead>,
}

/// All slots of a detector.
#[derive(Debug)]
pub struct Slots {
    limits: Limits,
    entries: Grow<Entry>,
    allocation: Lock<Allocation>,
    /// 1 once a thread did not get a slot of its own.
    exhausted: AtomicU32,
}

/// How many of the latest dead slots a new thread tries before it takes a fresh one.
const TRIES: usize = 32;

impl Slots {
    /// No slot is taken. Limits above those of a cell are cut down to them.
    pub fn new(limits: Limits) -> Slots {
        Slots {
            limits: Limits {
                slots: limits.slots.clamp(1, Limits::CELL.slots),
                time: limits.time.clamp(2, Limits::CELL.time),
                sites: limits.sites.clamp(1, Limits::CELL.sites),
                row: limits.row,
            },
            entries: Grow::new(),
            allocation: Lock::default(),
            exhausted: AtomicU32::new(0),
        }
    }

    /// Was there a thread too many?
    #[inline]
    pub fn exhausted(&self) -> bool {
        self.exhausted.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// A slot for thread `tid`, whose past is `past`, and the time and version it starts from. If all slots are taken and none
    /// of the dead ones is in the past of the new thread, they are exhausted.
    pub(super) fn take(
        &self,
        tid: Tid,
        past: &Clock,
        received: Option<&Clock>,
    ) -> (Slot, Time, Time) {
        let Dead {
            slot,
            last: start,
            version,
        } = self.allocate(past, received);
        let entry = self.entries.get(u32::from(slot.0));
        entry.occupants.lock().push(Occupant {
            from: start.next(),
            tid,
        });
        (slot, start, version)
    }

    fn allocate(&self, past: &Clock, received: Option<&Clock>) -> Dead {
        let mut allocation = self.allocation.lock();
        let tries = if allocation.fresh < self.limits.slots {
            TRIES
        } else {
            usize::MAX
        };
        let found = allocation
            .dead
            .iter()
            .rev()
            .take(tries)
            .position(|dead| dead.is_past(past, received));
        if let Some(behind) = found {
            let index = allocation.dead.len() - 1 - behind;
            return allocation.dead.swap_remove(index);
        }
        match u16::try_from(allocation.fresh) {
            Ok(fresh) if allocation.fresh < self.limits.slots => {
                allocation.fresh += 1;
                Dead {
                    slot: Slot(fresh),
                    last: Time(0),
                    version: Time(0),
                }
            }
            _ => {
                self.exhausted.store(1, Ordering::Relaxed);
                Dead {
                    slot: Slot((self.limits.slots - 1) as u16),
                    last: Time(0),
                    version: Time(0),
                }
            }
        }
    }

    /// The thread in `slot` has ended, or moved on; `last` is its last epoch, `version` its last version.
    pub(super) fn give_back(&self, slot: Slot, last: Time, version: Time) {
        let entry = self.entries.get(u32::from(slot.0));
        // A slot that is nearly used up is not worth another life.
        let worn = last.0 > self.limits.time / 2
            || version.0 > self.limits.versions() / 2
            || entry.used.load(Ordering::Relaxed) > self.limits.sites / 2;
        if !worn {
            self.allocation.lock().dead.push(Dead {
                slot,
                last,
                version,
            });
        }
    }

    /// Gives `site` the next index of `slot`, if there is one left. Only the slot's thread calls this.
    pub(super) fn name_site(&self, slot: Slot, site: Site) -> Option<u32> {
        self.name(slot, u64::from(site.0), self.limits.sites)
    }

    /// The same for a composite; half of the numbers are for sites alone.
    pub(super) fn name_composite(&self, slot: Slot, composite: Composite) -> Option<u32> {
        self.name(slot, composite.bits(), self.limits.sites / 2)
    }

    fn name(&self, slot: Slot, meaning: u64, limit: u32) -> Option<u32> {
        let entry = self.entries.get(u32::from(slot.0));
        let index = entry.used.load(Ordering::Relaxed);
        if index >= limit {
            return None;
        }
        entry.sites.get(index).store(meaning, Ordering::Release);
        entry.used.store(index + 1, Ordering::Relaxed);
        Some(index)
    }

    /// The site that a cell of `slot` calls `index`, for byte `byte` of its word.
    pub fn site(&self, slot: Slot, index: u32, byte: u32) -> Site {
        let sites = &self.entries.get(u32::from(slot.0)).sites;
        let index = self.number(slot, index, byte);
        Site(sites.get(index).load(Ordering::Acquire) as u32)
    }

    /// The number of that site alone.
    pub(super) fn number(&self, slot: Slot, index: u32, byte: u32) -> u32 {
        let mut index = index;
        // Made of numbers that were given out before.
        while let Some(composite) = self.composite(slot, index) {
            index = composite.of(byte);
        }
        index
    }

    /// The composite that a cell of `slot` calls `index`, if it is one.
    pub(super) fn composite(&self, slot: Slot, index: u32) -> Option<Composite> {
        let entry = self.entries.get(u32::from(slot.0));
        Composite::from_bits(entry.sites.get(index).load(Ordering::Acquire))
    }

    /// Who was in `slot` at `time`.
    pub fn tid(&self, slot: Slot, time: Time) -> Tid {
        let occupants = self.entries.get(u32::from(slot.0)).occupants.lock();
        let after = occupants.partition_point(|o| o.from <= time);
        occupants
            .get(after.wrapping_sub(1))
            .or(occupants.first())
            .map_or(Tid(u32::MAX), |o| o.tid)
    }

    /// How many bytes the names of sites take.
    pub fn bytes(&self) -> u64 {
        let taken = 0..self.taken();
        let used = |slot| self.entries.get(slot).used.load(Ordering::Relaxed);
        taken.map(|slot| 8 * u64::from(used(slot))).sum()
    }

    /// How many slots were ever taken: the length of the longest vector clock.
    pub fn taken(&self) -> u32 {
        self.allocation.lock().fresh
    }
}
