//! What a thread hands to others, and what a sync object keeps of it.

use super::versions::{Joined, Version};
use super::{Clock, Slot, Time};

/// All that a thread knew at one moment: its clock, and its own completed epochs on top.
///
/// The own component is kept apart, so that a thread that releases lock after lock without learning
/// anything hands out one and the same [`Clock`].
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(super) past: Clock,
    pub(super) slot: Slot,
    pub(super) time: Time,
    /// Present if threads count versions.
    pub(super) version: Option<Version>,
}

impl Snapshot {
    fn stamp(&self) -> Stamp {
        Stamp {
            slot: self.slot,
            time: self.time,
            version: self.version.as_ref().map(|version| version.number),
        }
    }

    /// The same as one clock; and the versions received, if they are counted.
    pub(crate) fn into_clocks(mut self) -> (Clock, Option<Clock>) {
        self.past.raise(self.slot, self.time);
        let received = self.version.map(|mut version| {
            version.received.raise(self.slot, version.number);
            version.received
        });
        (self.past, received)
    }

    /// The same as one clock, without versions.
    fn all(&self) -> Clock {
        let mut all = self.past.clone();
        all.raise(self.slot, self.time);
        all
    }

    fn get(&self, slot: Slot) -> Time {
        let known = self.past.get(slot);
        if slot == self.slot {
            known.max(self.time)
        } else {
            known
        }
    }

    /// Is it clear without comparing clocks that the publication is covered by this snapshot?
    fn has(&self, stamp: Stamp) -> bool {
        match (stamp.version, &self.version) {
            (None, None) => self.get(stamp.slot) >= stamp.time,
            (Some(number), Some(mine)) if stamp.slot == self.slot => mine.number >= number,
            (Some(number), Some(mine)) => mine.received.get(stamp.slot) >= number,
            _ => false,
        }
    }
}

/// Names a publication: who knows it knows its content.
///
/// Without versions the epoch that the publication completed is name enough: a thread completes an epoch whenever it
/// publishes news. With versions (Pacer's version epoch) time may stand still between two publications, and the version tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    slot: Slot,
    time: Time,
    version: Option<Time>,
}

/// How a snapshot came into a sync object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Copied {
    /// By sharing the thread's clock.
    Shared,
    /// By a join: the object holds more than the thread knew.
    Joined,
}

/// What a release does to what was released before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Release {
    /// Nobody acquires that any more: a store.
    Replace,
    /// Whoever acquires gets both.
    Add,
}

/// The clock of a sync object: everything that was released into it.
#[derive(Clone, Debug, Default)]
pub struct Published {
    clock: Clock,
    /// If present, this is what one thread knew when it published this: exactly a [`Snapshot`]. The test for "nothing new"
    /// is one comparison then.
    stamp: Option<Stamp>,
}

impl Published {
    /// Nothing was released yet.
    pub const fn new() -> Published {
        Published {
            clock: Clock::new(),
            stamp: None,
        }
    }

    /// Forgets what was released before and holds `snapshot` alone.
    pub fn replace(&mut self, snapshot: Snapshot) {
        self.stamp = Some(snapshot.stamp());
        self.clock = snapshot.past;
    }

    /// Does it hold nothing but what the thread in `slot`, or one before it there, knew and did once?
    #[inline]
    pub(crate) fn is_of(&self, slot: Slot) -> bool {
        self.stamp.is_some_and(|stamp| stamp.slot == slot)
    }

    /// Does it hold a snapshot of the thread in `slot`, made when that knew `past` of the others?
    #[inline]
    pub(super) fn shares(&self, past: &Clock, slot: Slot) -> bool {
        self.is_of(slot) && self.clock.shares(past)
    }

    /// Is it a snapshot made at `time`?
    #[inline]
    pub(super) fn is_at(&self, time: Time) -> bool {
        self.stamp.is_some_and(|stamp| stamp.time == time)
    }

    /// When the snapshot was made, if it is one.
    pub(crate) fn time(&self) -> Option<Time> {
        self.stamp.map(|stamp| stamp.time)
    }

    /// The snapshot of the same thread at a later time, with the same knowledge of others.
    #[inline]
    pub(crate) fn advance(&mut self, time: Time) {
        if let Some(stamp) = &mut self.stamp {
            debug_assert!(stamp.time <= time && stamp.version.is_none());
            stamp.time = time;
        }
    }

    /// Does it hold exactly this?
    pub(super) fn is(&self, snapshot: &Snapshot) -> bool {
        self.stamp == Some(snapshot.stamp()) && self.clock.shares(&snapshot.past)
    }

    pub(crate) fn release(&mut self, snapshot: Snapshot, how: Release) -> Copied {
        match how {
            Release::Replace => {
                self.replace(snapshot);
                Copied::Shared
            }
            Release::Add => self.accumulate(snapshot),
        }
    }

    /// Adds `snapshot` to what was released before.
    pub(crate) fn accumulate(&mut self, snapshot: Snapshot) -> Copied {
        let covered = match self.stamp {
            Some(stamp) if stamp == snapshot.stamp() || snapshot.has(stamp) => true,
            // Without versions, the test above is exact.
            Some(Stamp { version: None, .. }) => false,
            Some(stamp) => {
                let known = snapshot.all();
                known.get(stamp.slot) >= stamp.time && known.covers(&self.clock)
            }
            None => self.is_empty() || snapshot.all().covers(&self.clock),
        };
        if covered {
            // Also if it says the same: the next release finds the thread's own clock here.
            self.replace(snapshot);
            Copied::Shared
        } else {
            self.fold();
            self.clock.join(&snapshot.past);
            self.clock.raise(snapshot.slot, snapshot.time);
            Copied::Joined
        }
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Published) {
        match other.stamp {
            Some(Stamp {
                slot,
                time,
                version,
            }) => {
                self.accumulate(Snapshot {
                    past: other.clock.clone(),
                    slot,
                    time,
                    version: version.map(Version::alone),
                });
            }
            None => {
                self.fold();
                self.clock.join(&other.clock);
            }
        }
    }

    /// Turns a thread's snapshot into a plain clock.
    fn fold(&mut self) {
        if let Some(Stamp { slot, time, .. }) = self.stamp.take() {
            self.clock.raise(slot, time);
        }
    }

    /// Joins all this into `past`, the knowledge of the thread in slot `own`. Was any of it news?
    pub(super) fn teach(&self, past: &mut Clock, own: Slot) -> bool {
        match self.stamp {
            Some(Stamp { slot, time, .. }) if slot == own || past.get(slot) >= time => false,
            Some(Stamp { slot, time, .. }) => {
                past.join(&self.clock);
                past.raise(slot, time);
                true
            }
            None => past.join(&self.clock),
        }
    }

    /// The same for a thread that counts versions (Pacer's Algorithm 11 and Table 7, rules 4 to 6).
    pub(super) fn teach_version(
        &self,
        past: &mut Clock,
        own: Slot,
        received: &mut Clock,
    ) -> Joined {
        match self.stamp {
            Some(Stamp {
                slot,
                version: Some(number),
                ..
            }) if slot == own || received.get(slot) >= number => return Joined::SameVersion,
            None if self.is_empty() => return Joined::SameVersion,
            _ => {}
        }
        let mut news = past.join(&self.clock);
        if let Some(stamp) = self.stamp {
            if stamp.slot != own && past.get(stamp.slot) < stamp.time {
                past.raise(stamp.slot, stamp.time);
                news = true;
            }
            if let Some(number) = stamp.version {
                received.raise(stamp.slot, number);
            }
        }
        if news {
            Joined::Concurrent
        } else {
            Joined::HappensBefore
        }
    }

    /// Does a thread that knows `past` and is in slot `own` know all of this?
    pub(super) fn is_known(&self, past: &Clock, own: Slot) -> bool {
        match self.stamp {
            Some(Stamp { slot, .. }) if slot == own => true,
            Some(Stamp {
                slot,
                time,
                version,
            }) => past.get(slot) >= time && (version.is_none() || past.covers(&self.clock)),
            None => past.covers(&self.clock),
        }
    }

    /// Was nothing released yet?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.stamp.is_none() && self.clock.is_empty()
    }
}
