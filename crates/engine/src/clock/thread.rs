//! What a thread knows and where it is.

use alloc::boxed::Box;
// Not loom's: nobody but the thread itself looks at it.
use core::sync::atomic::{AtomicBool, Ordering};

use event::{Addr, Site, Tid};

use super::recorded::{Recorded, Stands};
use super::versions::Joined;
use super::{
    Clock, Copied, Published, Release, Slot, Slots, Snapshot, Time, VersionCounts, Versions,
};
use crate::shadow::Epoch;
use crate::sites::{Composite, Numbers};

/// How many composites a thread may make in one slot: enough for every pattern of accesses that is a pattern, and no more than some
/// megabytes.
const COMPOSITES: usize = 1 << 16;
/// How many levels of one are looked at. There are more only if bytes of a word were made fresh again and again in one epoch.
const LEVELS: u32 = 8;

/// The clock of one thread, and the names of its sites.
#[derive(Debug)]
pub struct ThreadClock {
    tid: Tid,
    slot: Slot,
    /// Completed epochs; the current one is the next.
    time: Time,
    /// The current epoch as the shadow writes it. A function of `slot`, `time`, `recording` and `ended`, kept for speed.
    epoch: Epoch,
    /// Was anything recorded in the shadow at the current epoch? Stubs say so, too (`runtime::step`).
    used: AtomicBool,
    /// Does the thread know more than it last published?
    learned: bool,
    /// Are its accesses recorded? Only Pacer ever says no.
    recording: bool,
    /// Has it left its slot? Whatever it still does, it does as a renewed thread.
    ended: bool,
    /// What is known of the others.
    past: Clock,
    /// How often `past` has changed.
    knowledge: u64,
    /// Which stretch of its execution this is, see `recorded`.
    stretch: u64,
    recorded: Recorded,
    /// What the last releasing fence published.
    pub(crate) fence: Option<Snapshot>,
    /// What relaxed loads read, for the next acquiring fence.
    pub(crate) pending: Published,
    /// Present if versions, not epochs, tell publications apart: then an epoch in which nothing was recorded never ends.
    versions: Option<Box<Versions>>,
    sites: Numbers<Site>,
    composites: Numbers<Composite>,
}

impl ThreadClock {
    /// A thread that begins with `past` behind it; with versions if it gets those that were `received`.
    pub(crate) fn new(
        slots: &Slots,
        tid: Tid,
        past: Clock,
        received: Option<Clock>,
    ) -> ThreadClock {
        let (slot, time, version) = slots.take(tid, &past, received.as_ref());
        ThreadClock {
            tid,
            slot,
            time,
            epoch: Epoch::new(slot, time.next()),
            used: AtomicBool::new(false),
            learned: true,
            recording: true,
            ended: false,
            past,
            knowledge: 0,
            stretch: 0,
            recorded: Recorded::new(),
            fence: None,
            pending: Published::new(),
            versions: received.map(|received| Box::new(Versions::new(version, received))),
            sites: Numbers::new(),
            composites: Numbers::new(),
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
    #[inline(always)]
    pub fn covers(&self, slot: Slot, time: Time) -> bool {
        slot == self.slot || self.past.get(slot) >= time
    }

    /// Are its accesses recorded?
    #[inline]
    pub fn recording(&self) -> bool {
        self.recording
    }

    /// Are they always, so that what it recorded in its epoch is gone only with the memory? One that is only checked makes the thread
    /// forget what it supersedes.
    #[inline]
    pub(crate) fn records_all(&self) -> bool {
        self.versions.is_none() && self.recording
    }

    /// From now on its accesses are recorded, or only checked.
    #[inline]
    pub fn set_recording(&mut self, recording: bool) {
        if self.recording != recording {
            self.recording = recording;
            self.set_epoch();
        }
    }

    /// What versions did for it, without and with recording; nothing if it has none.
    pub fn version_counts(&self) -> Option<[VersionCounts; 2]> {
        self.versions.as_ref().map(|versions| versions.counts)
    }

    /// What is known of the others.
    pub fn past(&self) -> &Clock {
        &self.past
    }

    /// Changes whenever the thread learns something: as long as it is the same, so is what [`ThreadClock::covers`] says.
    pub fn knowledge(&self) -> u64 {
        self.knowledge
    }

    /// The current epoch and the number of `site` in it, to be recorded in the shadow. Whoever records
    /// something must get it from here: from now on, the epoch counts as used.
    #[inline]
    pub fn stamp(&mut self, slots: &Slots, site: Site) -> (Epoch, u32) {
        let index = match self.sites.get(site) {
            Some(index) => index,
            None => self.name_site(slots, site),
        };
        self.set_used(true);
        (self.epoch, index)
    }

    /// Where the numbers of sites that [`ThreadClock::stamp`] gave out are good, if anything may be recorded now: in the
    /// slot. A slot never gives a number to another site.
    #[inline]
    pub fn numbering(&self) -> Option<Slot> {
        (self.recording && !self.ended).then_some(self.slot)
    }

    /// The number of `site` there, if it is one of the last.
    #[inline(always)]
    pub(crate) fn recent_number(&self, site: Site) -> Option<u32> {
        self.numbering().and_then(|_| self.sites.recent(site))
    }

    /// Who records something at the current epoch without asking for a stamp has to set it.
    #[inline]
    pub fn used(&self) -> &AtomicBool {
        &self.used
    }

    #[inline(always)]
    fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn set_used(&self, used: bool) {
        self.used.store(used, Ordering::Relaxed);
    }

    /// The last epoch that is over.
    #[inline]
    pub fn completed(&self) -> Time {
        self.time
    }

    /// As [`ThreadClock::stamp`], for a site whose number in [`ThreadClock::numbering`] is known already.
    #[inline]
    pub fn stamp_again(&mut self) -> Epoch {
        debug_assert!(self.numbering().is_some(), "there is an epoch to record in");
        self.set_used(true);
        self.epoch
    }

    /// A number of the current slot that stands for the site numbered `over` in the bytes of `mask`, which a cell gets, and for what `under` stands for
    /// in all that it had. None if there are too many of them.
    #[inline]
    pub(crate) fn compose(
        &mut self,
        slots: &Slots,
        under: u32,
        over: u32,
        mask: u8,
    ) -> Option<u32> {
        let asked = Composite::new(under, over, mask);
        self.composites
            .recent(asked)
            .or_else(|| self.compose_anew(slots, asked))
    }

    #[cold]
    fn compose_anew(&mut self, slots: &Slots, asked: Composite) -> Option<u32> {
        let (under, over, mask) = (asked.under(), asked.over(), asked.mask());
        let number = if self.is_in(slots, under, over) {
            self.compose_within(slots, under, over, mask, 0)?
        } else {
            self.name_composite(slots, asked)?
        };
        debug_assert!((0..8).filter(|byte| mask >> byte & 1 != 0).all(|byte| {
            slots.number(self.slot, number, byte) == slots.number(self.slot, over, byte)
        }));
        self.composites.note(asked, number);
        Some(number)
    }

    /// Has a composite a level for the site numbered `over`?
    fn is_in(&self, slots: &Slots, number: u32, over: u32) -> bool {
        let mut number = number;
        for _ in 0..LEVELS {
            match slots.composite(self.slot, number) {
                Some(composite) if composite.over() == over => return true,
                Some(composite) => number = composite.under(),
                None => break,
            }
        }
        number == over
    }

    /// A composite has a level for each site, in the order in which they came. So the bytes of `mask` go to the level of their site, and are taken from those
    /// above it.
    fn compose_within(
        &mut self,
        slots: &Slots,
        under: u32,
        over: u32,
        mask: u8,
        level: u32,
    ) -> Option<u32> {
        let mut bytes = (0..8).filter(|byte| mask >> byte & 1 != 0);
        if bytes.all(|byte| slots.number(self.slot, under, byte) == over) {
            return Some(under);
        }
        let top = slots.composite(self.slot, under);
        let Some(top) = top.filter(|_| level < LEVELS) else {
            return self.name_composite(slots, Composite::new(under, over, mask));
        };
        if top.over() == over {
            let more = Composite::new(top.under(), over, top.mask() | mask);
            return self.name_composite(slots, more);
        }
        let below = self.compose_within(slots, top.under(), over, mask, level + 1)?;
        match top.mask() & !mask {
            0 => Some(below),
            rest => self.name_composite(slots, Composite::new(below, top.over(), rest)),
        }
    }

    /// The number of a composite.
    fn name_composite(&mut self, slots: &Slots, composite: Composite) -> Option<u32> {
        if let Some(number) = self.composites.look_up(composite) {
            return Some(number);
        }
        if self.ended || self.composites.len() >= COMPOSITES {
            return None;
        }
        let number = slots.name_composite(self.slot, composite)?;
        self.composites.insert(composite, number);
        Some(number)
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
                // No verdict counts any more.
                None if slots.exhausted() => return 0,
                None => self.renew(slots),
            }
        }
    }

    /// Does an earlier atomic access stand for one to these bytes? Never with versions: time stands still there, and stretches
    /// do not tell who knows what.
    #[inline]
    pub(crate) fn stands(&self, addr: Addr, size: u32, write: bool) -> Stands {
        if self.versions.is_some() {
            return Stands::No;
        }
        self.recorded.stands(addr, size, write, self.stretch)
    }

    /// An atomic access to these bytes was recorded.
    pub(crate) fn recorded(&mut self, addr: Addr, size: u32, write: bool) {
        self.recorded.note(addr, size, write, self.stretch);
    }

    /// The thread got memory or gave some back: what it recorded there is gone.
    pub(crate) fn renewed_memory(&mut self) {
        self.stretch += 1;
    }

    /// Which stretch of its execution this is: another one whenever it publishes something, gets memory or gives some back.
    #[inline]
    pub fn stretch(&self) -> u64 {
        self.stretch
    }

    /// Would it publish now what it has published already?
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.versions.is_none() && !self.ended && !self.is_used() && !self.learned
    }

    /// Does the sync object hold exactly what the thread would release into it now?
    #[inline(always)]
    pub(crate) fn is_released(&self, into: &Published) -> bool {
        self.is_idle() && into.shares(&self.past, self.slot) && into.is_at(self.time)
    }

    /// As [`ThreadClock::release`], into the atomic object at `addr`.
    #[inline(always)]
    pub(crate) fn release_at(
        &mut self,
        addr: Addr,
        slots: &Slots,
        into: &mut Published,
        how: Release,
    ) {
        let before = self.stretch;
        self.release(slots, into, how);
        self.recorded.released(addr, before, self.stretch);
    }

    /// Publishes into a sync object. If the object holds what the thread released last and the thread has learned nothing since, that takes
    /// constant time and touches no clock.
    #[inline]
    pub(crate) fn release(&mut self, slots: &Slots, into: &mut Published, how: Release) {
        if self.owns(into) {
            into.advance(self.publish_time(slots));
            return;
        }
        let snapshot = self.publish(slots);
        self.copied(into.release(snapshot, how));
    }

    /// Does the sync object hold what the thread knew and did once, when it knew no less than now?
    #[inline(always)]
    pub(crate) fn owns(&self, published: &Published) -> bool {
        self.versions.is_none() && !self.ended && published.shares(&self.past, self.slot)
    }

    /// As [`ThreadClock::release_at`], into an object that [holds](ThreadClock::owns) what the thread released last, by a write that is recorded or that an earlier one stands
    /// for: the time of what the object holds from now on.
    #[inline(always)]
    pub(crate) fn release_lent(&mut self, addr: Addr, size: u32, slots: &Slots) -> Time {
        let time = self.publish_time(slots);
        self.recorded.note_released(addr, size, self.stretch);
        time
    }

    /// Ends the current epoch, if it is worth it, for an object in which only the time is new.
    #[inline(always)]
    fn publish_time(&mut self, slots: &Slots) -> Time {
        debug_assert!(self.versions.is_none() && !self.ended);
        self.stretch += 1;
        if self.is_used() || self.learned {
            self.begin_epoch();
        }
        let time = self.time;
        if time.0 >= slots.limits().time {
            self.renew(slots);
        }
        time
    }

    /// What a relaxed write publishes after a releasing fence.
    pub(crate) fn release_fence(&mut self, into: &mut Published, how: Release) {
        if let Some(fence) = &self.fence
            && !into.is(fence)
        {
            let copied = into.release(fence.clone(), how);
            self.copied(copied);
        }
    }

    /// Ends the current epoch, if it is worth it, and hands out all that the thread knows and did.
    pub(crate) fn publish(&mut self, slots: &Slots) -> Snapshot {
        if self.ended {
            self.renew(slots);
        }
        self.stretch += 1;
        self.complete();
        let snapshot = self.snapshot();
        if self.time.0 >= slots.limits().time
            || self
                .versions
                .as_ref()
                .is_some_and(|versions| versions.number.0 >= slots.limits().versions())
        {
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
    #[inline]
    pub(crate) fn learn(&mut self, published: &Published) {
        // The most common case of all.
        if self.versions.is_none() && published.is_of(self.slot) {
            return;
        }
        self.join(published);
    }

    fn join(&mut self, published: &Published) {
        let Some(versions) = &mut self.versions else {
            let news = published.teach(&mut self.past, self.slot);
            self.learned |= news;
            self.knowledge += u64::from(news);
            return;
        };
        let joined = published.teach_version(&mut self.past, self.slot, &mut versions.received);
        let news = joined == Joined::Concurrent;
        self.learned |= news;
        self.knowledge += u64::from(news);
        let counts = &mut versions.counts[usize::from(self.recording)];
        match joined {
            Joined::SameVersion => counts.fast_joins += 1,
            Joined::HappensBefore | Joined::Concurrent => counts.slow_joins += 1,
        }
    }

    /// Counts a release.
    pub(crate) fn copied(&mut self, copied: Copied) {
        if let Some(versions) = &mut self.versions {
            let counts = &mut versions.counts[usize::from(self.recording)];
            match copied {
                Copied::Shared => counts.shallow_copies += 1,
                Copied::Joined => counts.deep_copies += 1,
            }
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
        self.give_back(slots);
        self.ended = true;
        // No same-epoch test succeeds from now on, and no site has a number: a thread that goes on
        // after its end meets `renew` before it records anything.
        self.set_epoch();
        self.sites.clear();
        self.composites.clear();
    }

    /// Goes on in another slot, all that was done in this one in the past.
    #[cold]
    fn renew(&mut self, slots: &Slots) {
        if !self.ended {
            self.complete();
            self.give_back(slots);
        }
        self.past.raise(self.slot, self.time);
        self.knowledge += 1;
        self.ended = false;
        if let Some(versions) = &mut self.versions {
            versions.received.raise(self.slot, versions.number);
        }
        let received = self.versions.as_ref().map(|versions| &versions.received);
        let (slot, time, version) = slots.take(self.tid, &self.past, received);
        if let Some(versions) = &mut self.versions {
            versions.number = version;
        }
        self.slot = slot;
        self.time = time;
        self.set_epoch();
        self.sites.clear();
        self.composites.clear();
        // Nobody else has seen the new slot: its next publication brings news, of the old one at least.
        self.learned = true;
    }

    fn set_epoch(&mut self) {
        self.epoch = if self.ended {
            Epoch::NEVER
        } else if self.recording {
            Epoch::new(self.slot, self.time.next())
        } else {
            Epoch::unrecorded(self.slot)
        };
    }

    fn give_back(&self, slots: &Slots) {
        let version = self.versions.as_ref().map(|versions| versions.number);
        slots.give_back(self.slot, self.time, version.unwrap_or_default());
    }

    /// Ends the current epoch, unless nothing happened in it that others could not know. If there are versions, learning
    /// something makes another version and ends no epoch.
    fn complete(&mut self) {
        let news = self.is_used() || self.learned;
        if let Some(versions) = &mut self.versions {
            if news {
                versions.number = versions.number.next();
            }
            self.learned = false;
            if !self.is_used() {
                return;
            }
        }
        if news {
            self.begin_epoch();
        }
    }

    #[inline(always)]
    fn begin_epoch(&mut self) {
        self.time = self.time.next();
        self.set_used(false);
        self.learned = false;
        self.set_epoch();
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            past: self.past.clone(),
            slot: self.slot,
            time: self.time,
            version: self.versions.as_ref().map(|versions| versions.snapshot()),
        }
    }
}
