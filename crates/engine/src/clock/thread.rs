//! What a thread knows and where it is.

use event::{Site, Tid};

use super::{Clock, Published, Slot, Slots, Snapshot, Time};
use crate::shadow::Epoch;
use crate::sites::SiteCache;

/// The clock of one thread, and the names of its sites.
#[derive(Debug)]
pub struct ThreadClock {
    tid: Tid,
    slot: Slot,
    /// Completed epochs; the current one is the next.
    time: Time,
    /// The current epoch as the shadow writes it. A function of `slot` and `time`, kept for speed.
    epoch: Epoch,
    /// Was anything recorded in the shadow at the current epoch?
    used: bool,
    /// Does the thread know more than it last published?
    learned: bool,
    /// Has it left its slot? Whatever it still does, it does as a renewed thread.
    ended: bool,
    /// What is known of the others.
    past: Clock,
    /// What the last releasing fence published.
    pub(crate) fence: Option<Snapshot>,
    /// What relaxed loads read, for the next acquiring fence.
    pub(crate) pending: Published,
    sites: SiteCache,
}

impl ThreadClock {
    /// A thread that begins with `past` behind it.
    pub(crate) fn new(slots: &Slots, tid: Tid, past: Clock) -> ThreadClock {
        let (slot, time) = slots.take(tid, &past);
        ThreadClock {
            tid,
            slot,
            time,
            epoch: Epoch::new(slot, time.next()),
            used: false,
            learned: true,
            ended: false,
            past,
            fence: None,
            pending: Published::new(),
            sites: SiteCache::new(),
        }
    }

    /// Its name in the execution.
    pub fn tid(&self) -> Tid {
        self.tid
    }

    /// Its component of the vector clocks. Changes when the thread is renewed.
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// The current epoch, for same-epoch tests.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Did whatever was recorded at `(slot, time)` happen before what this thread does now?
    #[inline]
    pub fn covers(&self, slot: Slot, time: Time) -> bool {
        slot == self.slot || self.past.get(slot) >= time
    }

    /// What is known of the others.
    pub fn past(&self) -> &Clock {
        &self.past
    }

    /// The current epoch and the number of `site` in it, to be recorded in the shadow. Whoever records
    /// something must get it from here: from now on, the epoch counts as used.
    #[inline]
    pub fn stamp(&mut self, slots: &Slots, site: Site) -> (Epoch, u32) {
        let index = match self.sites.get(site) {
            Some(index) => index,
            None => self.name_site(slots, site),
        };
        self.used = true;
        (self.epoch, index)
    }

    #[cold]
    fn name_site(&mut self, slots: &Slots, site: Site) -> u32 {
        if self.ended {
            self.renew(slots);
        }
        loop {
            match slots.name_site(self.slot, site) {
                Some(index) => {
                    self.sites.insert(site, index);
                    return index;
                }
                None => self.renew(slots),
            }
        }
    }

    /// Ends the current epoch, if it is worth it, and hands out all that the thread knows and did.
    pub(crate) fn publish(&mut self, slots: &Slots) -> Snapshot {
        if self.ended {
            self.renew(slots);
        }
        self.complete();
        let snapshot = self.snapshot();
        if self.time.0 >= slots.limits().time {
            self.renew(slots);
        }
        snapshot
    }

    /// What a thread hands to the one that waited for it.
    pub(crate) fn last(&mut self, slots: &Slots) -> Snapshot {
        if self.ended {
            self.snapshot()
        } else {
            self.publish(slots)
        }
    }

    /// Learns what `published` holds.
    pub(crate) fn learn(&mut self, published: &Published) {
        if published.teach(&mut self.past, self.slot) {
            self.learned = true;
        }
    }

    /// Is there nothing in `published` that the thread does not know?
    pub(crate) fn knows(&self, published: &Published) -> bool {
        published.is_known(&self.past, self.slot)
    }

    /// Leaves the slot for good.
    pub(crate) fn end(&mut self, slots: &Slots) {
        if self.ended {
            return;
        }
        self.complete();
        slots.give_back(self.slot, self.time);
        self.ended = true;
        // No same-epoch test succeeds from now on, and no site has a number: a thread that goes on
        // after its end meets `renew` before it records anything.
        self.epoch = Epoch::NEVER;
        self.sites.clear();
    }

    /// Goes on in another slot, all that was done in this one in the past.
    #[cold]
    fn renew(&mut self, slots: &Slots) {
        if !self.ended {
            self.complete();
            slots.give_back(self.slot, self.time);
        }
        self.past.raise(self.slot, self.time);
        self.ended = false;
        let (slot, time) = slots.take(self.tid, &self.past);
        self.slot = slot;
        self.time = time;
        self.epoch = Epoch::new(slot, time.next());
        self.sites.clear();
        // Nobody else has seen the new slot: its next publication brings news, of the old one at least.
        self.learned = true;
    }

    /// Ends the current epoch, unless nothing happened in it that others could not know.
    fn complete(&mut self) {
        if self.used || self.learned {
            self.time = self.time.next();
            self.used = false;
            self.learned = false;
            self.epoch = Epoch::new(self.slot, self.time.next());
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            past: self.past.clone(),
            slot: self.slot,
            time: self.time,
        }
    }
}
