//! What a thread hands to others, and what a sync object keeps of it.

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
}

impl Snapshot {
    /// The slot that published, and the epoch that this completed.
    pub fn stamp(&self) -> (Slot, Time) {
        (self.slot, self.time)
    }

    /// The same as one clock.
    pub fn into_clock(mut self) -> Clock {
        self.past.raise(self.slot, self.time);
        self.past
    }

    fn get(&self, slot: Slot) -> Time {
        let known = self.past.get(slot);
        if slot == self.slot {
            known.max(self.time)
        } else {
            known
        }
    }
}

/// The clock of a sync object: everything that was released into it.
#[derive(Clone, Debug, Default)]
pub struct Published {
    clock: Clock,
    /// If present, this is what one thread knew when it completed this epoch: exactly a [`Snapshot`].
    ///
    /// A thread completes an epoch whenever it publishes news, so the stamp determines the content, and whoever
    /// knows the stamp's epoch knows the content: the test for "nothing new" is one comparison.
    stamp: Option<(Slot, Time)>,
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
        self.clock = snapshot.past;
        self.stamp = Some((snapshot.slot, snapshot.time));
    }

    /// Adds `snapshot` to what was released before.
    pub fn accumulate(&mut self, mut snapshot: Snapshot) {
        if self.stamp == Some((snapshot.slot, snapshot.time)) {
            return;
        }
        let covered = match self.stamp {
            Some((slot, time)) => snapshot.get(slot) >= time,
            None => {
                snapshot.past.raise(snapshot.slot, snapshot.time);
                snapshot.past.covers(&self.clock)
            }
        };
        if covered {
            self.replace(snapshot);
        } else {
            self.fold();
            self.clock.join(&snapshot.past);
            self.clock.raise(snapshot.slot, snapshot.time);
        }
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Published) {
        match other.stamp {
            Some((slot, time)) => self.accumulate(Snapshot {
                past: other.clock.clone(),
                slot,
                time,
            }),
            None => {
                self.fold();
                self.clock.join(&other.clock);
            }
        }
    }

    /// Turns a thread's snapshot into a plain clock.
    fn fold(&mut self) {
        if let Some((slot, time)) = self.stamp.take() {
            self.clock.raise(slot, time);
        }
    }

    /// Joins all this into `past`, the knowledge of the thread in slot `own`. Was any of it news?
    pub(super) fn teach(&self, past: &mut Clock, own: Slot) -> bool {
        match self.stamp {
            Some((slot, time)) if slot == own || past.get(slot) >= time => false,
            Some((slot, time)) => {
                past.join(&self.clock);
                past.raise(slot, time);
                true
            }
            None => past.join(&self.clock),
        }
    }

    /// Does a thread that knows `past` and is in slot `own` know all of this?
    pub(super) fn is_known(&self, past: &Clock, own: Slot) -> bool {
        match self.stamp {
            Some((slot, time)) => slot == own || past.get(slot) >= time,
            None => past.covers(&self.clock),
        }
    }

    /// Was nothing released yet?
    pub fn is_empty(&self) -> bool {
        self.stamp.is_none() && self.clock.shares(&Clock::new())
    }
}
