//! Pacer's versions: knowing what was received without comparing clocks, while time stands still.
//!
//! Outside of sampling periods Pacer records nothing, so epochs do not end, and threads that talk to each other
//! soon know the same. A *version* of a thread numbers what it knows: it goes up when that changes. A
//! publication carries its thread's version, and a thread remembers the latest version that it received from
//! each slot; one that is not newer holds nothing new. Without versions a thread would have to end an epoch
//! to tell others that it learned something, and that would be news to them, and so on, back and forth.

use super::{Clock, Time};

/// A thread's version at one moment, and those it had received.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) number: Time,
    pub(super) received: Clock,
}

impl Version {
    /// A version of which nothing else is known.
    pub(super) fn alone(number: Time) -> Version {
        Version {
            number,
            received: Clock::new(),
        }
    }
}

/// How a thread joined a sync object's clock (Table 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Joined {
    /// It had that version, or a newer one: nothing to do. A fast join, O(1).
    SameVersion,
    /// It knew everything already.
    HappensBefore,
    /// It learned something.
    Concurrent,
}

/// The version vector of a thread, and how often it was of use.
#[derive(Debug)]
pub struct Versions {
    pub(super) number: Time,
    pub(super) received: Clock,
    /// Outside of sampling periods, and inside.
    pub(super) counts: [VersionCounts; 2],
}

/// How many clock operations took constant time (the paper's Table 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VersionCounts {
    /// Joins saved by the version.
    pub fast_joins: u64,
    /// Joins that compared clocks.
    pub slow_joins: u64,
    /// Copies that share the thread's clock.
    pub shallow_copies: u64,
    /// Releases into an object that knew more: a join.
    pub deep_copies: u64,
}

impl Versions {
    pub(super) fn new(number: Time, received: Clock) -> Versions {
        Versions {
            number,
            received,
            counts: [VersionCounts::default(); 2],
        }
    }

    pub(super) fn snapshot(&self) -> Version {
        Version {
            number: self.number,
            received: self.received.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::clock::Limits;
    use crate::detector::SyncOp;
    use crate::shadow::Cell;
    use crate::sync::HappensBefore;
    use event::{AccessKind, Site, SyncId, Tid};

    /// A thread that runs out of versions goes on in another slot, and nothing is forgotten.
    #[test]
    fn versions_do_not_wrap() {
        let order = HappensBefore::versioned(Limits {
            time: 2,
            ..Limits::CELL
        });
        let [mut source, mut carrier, mut sink] = [1, 2, 3].map(|t| order.root(Tid(t)));
        carrier.set_recording(false);
        let start = carrier.slot();
        let mut slots = alloc::vec![start];
        for _ in 0..20_000 {
            let (epoch, site) = source.stamp(order.slots(), Site(1));
            let cell = Cell::new(epoch, AccessKind::Write, 1, site);
            order.sync(&mut source, SyncOp::Send(SyncId(1)));
            order.sync(&mut carrier, SyncOp::Receive(SyncId(1)));
            order.sync(&mut carrier, SyncOp::Send(SyncId(2)));
            if !slots.contains(&carrier.slot()) {
                slots.push(carrier.slot());
            }
            assert!(!sink.covers(cell.slot(), cell.time()));
            order.sync(&mut sink, SyncOp::Receive(SyncId(2)));
            assert!(sink.covers(cell.slot(), cell.time()));
        }
        assert!(slots.len() >= 2, "it moved: {slots:?}");
    }
}
