//! Accesses to single elements: the short way along a stream, and the long way that begins one.

use super::Strided;
use super::arrays::Owner;
use super::buffer::Cached;
use super::detector::{Slim, SlimThread};
use super::footprint::Footprint;
use super::ground::Manner;
use super::partition::Partition;
use super::streams::{PlaceKey, Seen, Target};
use super::trail::Extended;
use super::versions::Versions;
use crate::detector::{Access, Race, Sink};
use crate::precise::{PreciseThread, Shadow};
use crate::shadow::FastTrackRule;
use core::ops::Range;
use event::{AccessKind, Addr, Site};
use smallvec::SmallVec;

/// How far ahead a page that several blocks share is looked at, for what its next accesses will ask.
const NEAR: u64 = 255;

impl<F: Footprint, P: Partition> Slim<F, P> {
    /// Tells the footprint of `target` what its streams have.
    pub(super) fn fold(&self, thread: &mut SlimThread<F>, target: Target, races: Sink<'_>) {
        let SlimThread {
            base,
            buffer,
            streams,
            tally,
        } = thread;
        let entry = buffer.entry(usize::from(target.number));
        let (id, start, shift) = (entry.id, entry.bytes.start, entry.shift);
        let mut pieces = SmallVec::<[(Strided, Site); 2]>::new();
        streams.fold(target, start, shift, |piece, site| {
            pieces.push((piece, site));
        });
        if pieces.is_empty() {
            return;
        }
        let trail = entry.trail(target.kind);
        for piece in trail.absorb(&pieces) {
            tally.not_extended += 1;
            let mut ground = self.ground(base, tally, races);
            let (array, manner) = (self.arrays.get(id), Manner::plain(target.kind));
            array.commit(&trail.with(piece), shift, manner, &mut ground);
        }
    }

    /// Tells all footprints what their streams have.
    pub(super) fn fold_all(&self, thread: &mut SlimThread<F>, races: Sink<'_>) {
        for target in thread.streams.targets() {
            self.fold(thread, target, races);
        }
    }

    /// Folds and forgets all streams.
    pub fn still(&self, thread: &mut SlimThread<F>, races: Sink<'_>) {
        self.fold_all(thread, races);
        thread.streams.clear();
    }

    /// Is the access, made at the place of `key`, one that is foreseen or redundant? Then it is done.
    #[inline(always)]
    pub fn take(&self, thread: &mut SlimThread<F>, key: PlaceKey, addr: Addr, size: u64) -> bool {
        let now = self.arrays.disturbances();
        thread.streams.take(key, addr.0, size, now)
    }

    /// Is a read one of what the thread has written, as far as its window knows? Then it is done.
    #[inline(always)]
    pub fn is_written(&self, thread: &mut SlimThread<F>, addr: Addr, size: u64) -> bool {
        let now = self.arrays.disturbances();
        thread.streams.is_written(addr.0, size, now)
    }

    /// What streams, and what threads know of plain memory, are held against: see [`StreamTable`](super::StreamTable) and
    /// [`PlainTable`](super::PlainTable).
    pub fn versions(&self) -> &Versions {
        &self.arrays.versions
    }

    /// The shadow by word and the thread's part of it, if there is no array at the word of `addr`.
    #[inline(always)]
    pub fn by_word<'a>(
        &self,
        thread: &'a mut SlimThread<F>,
        addr: Addr,
    ) -> Option<(&Shadow<FastTrackRule>, &'a mut PreciseThread)> {
        let plain = self.recall(thread, addr) == Cached::Plain;
        plain.then_some((&self.memory, &mut thread.base))
    }

    /// What is there from `addr` to the end of its word, as far as the thread knows or sees at once.
    #[inline(always)]
    pub(super) fn recall(&self, thread: &mut SlimThread<F>, addr: Addr) -> Cached {
        match thread.buffer.recall(addr.0, &self.arrays.versions) {
            Cached::Unknown => self.look(thread, addr),
            known => known,
        }
    }

    /// The same, for a thread that knows it already.
    #[inline(always)]
    pub fn by_word_still<'a>(
        &self,
        thread: &'a mut SlimThread<F>,
    ) -> (&Shadow<FastTrackRule>, &'a mut PreciseThread) {
        (&self.memory, &mut thread.base)
    }

    /// A plain access at the place of `key`, for which [`Slim::take`] said no. The thread's tables may have moved since ([`SlimThread::streams`], [`SlimThread::plain`]).
    pub fn access_at(
        &self,
        thread: &mut SlimThread<F>,
        key: PlaceKey,
        access: Access,
        races: Sink<'_>,
    ) {
        thread.buffer.make_plain_room();
        let cached = self.recall(thread, access.addr);
        // No array is concerned, and no stream begins: those that are under way may go on.
        if cached == Cached::Plain && access.addr.0 % 8 + u64::from(access.size) <= 8 {
            let races: Sink<'_> = &mut |race: &Race| self.lists.report(race, races);
            let (order, base) = (&self.order, &mut thread.base);
            return self.memory.access_single(order, base, access, races);
        }
        thread.streams.make_room();
        self.access_array(thread, key, access, cached, races);
    }

    /// The same where an array may be; `cached` is what the thread knows of the address. Words without one have been told apart.
    #[inline(never)]
    pub(super) fn access_array(
        &self,
        thread: &mut SlimThread<F>,
        key: PlaceKey,
        access: Access,
        cached: Cached,
        races: Sink<'_>,
    ) {
        let now = self.arrays.disturbances();
        if thread.streams.disturbed != now {
            self.still(thread, races);
            thread.streams.disturbed = now;
        }
        let slot = thread.streams.slot(key);
        if let Some(slot) = slot
            && let Some(target) = thread.streams.in_the_way(slot)
        {
            self.fold(thread, target, races);
        }
        let Access {
            kind,
            addr,
            size,
            site,
        } = access;
        let end = addr.0.saturating_add(u64::from(size));
        let number = match cached {
            Cached::Entry(number) if self.extend(thread, number, addr.0..end, kind, site) => number,
            _ => {
                self.touch(thread, addr.0..end, Manner::plain(kind), site, races);
                match thread.buffer.recall(addr.0, &self.arrays.versions) {
                    Cached::Entry(number) => number,
                    Cached::Plain | Cached::Unknown => return,
                }
            }
        };
        self.watch(thread, (key, slot), number, access);
    }

    /// What is there from `addr` to the end of its word: no array, or one whose elements are single there; one that the thread has an
    /// entry of; or something else. The thread remembers around it what it sees at once.
    #[inline(never)]
    pub(super) fn look(&self, thread: &mut SlimThread<F>, addr: Addr) -> Cached {
        let version = self.arrays.versions.at(addr.0);
        // As far as a neighbour may go.
        let bytes = match self.arrays.owner(addr.0, addr.0.saturating_add(NEAR)) {
            Owner::Plain(bytes) => bytes,
            Owner::Array(id, ..) => match self.arrays.get(id).plain_around(addr.0) {
                Some(bytes) => bytes,
                None => {
                    let Ok(number) = thread.buffer.find(id) else {
                        return Cached::Unknown;
                    };
                    thread.buffer.saw(addr.0, number);
                    return Cached::Entry(number);
                }
            },
        };
        let all = (addr.0 | 7) < bytes.end;
        thread.buffer.saw_plain(bytes, version);
        if all { Cached::Plain } else { Cached::Unknown }
    }

    /// `[SS ACCESS]` for some bytes of entry `number`, if it is as simple as that.
    #[inline]
    pub(super) fn extend(
        &self,
        thread: &mut SlimThread<F>,
        number: usize,
        bytes: Range<u64>,
        kind: AccessKind,
        site: Site,
    ) -> bool {
        let entry = thread.buffer.entry(number);
        let (from, size) = (
            bytes.start.wrapping_sub(entry.bytes.start),
            bytes.end - bytes.start,
        );
        let all = entry.bytes.end - entry.bytes.start;
        if from >= all
            || all - from < size
            || (from | size) & ((1 << entry.shift) - 1) != 0
            || self.arrays.get(entry.id).flags() != 0
        {
            return false;
        }
        let (i, end) = (from >> entry.shift, (from + size) >> entry.shift);
        let more = Strided::run(i, end - 1);
        if kind == AccessKind::Read && entry.trail(AccessKind::Write).footprint.includes(more) {
            thread.tally.own_writes += 1;
            thread.tally.accesses += 1;
            return true;
        }
        let trail = entry.trail(kind);
        let extended = if end - i == 1 {
            trail.extend_one(i, site)
        } else {
            trail.extend(more, site)
        };
        thread.tally.accesses += u64::from(extended == Extended::Yes);
        extended == Extended::Yes
    }

    /// Begins to foresee what the place does next, if the access is in a footprint of entry `number` now.
    #[inline(always)]
    fn watch(
        &self,
        thread: &mut SlimThread<F>,
        (key, slot): (PlaceKey, Option<usize>),
        number: usize,
        access: Access,
    ) {
        let entry = thread.buffer.entry(number);
        let (addr, size) = (access.addr.0, u64::from(access.size));
        let unit = 1 << entry.shift;
        let within = entry.bytes.contains(&addr) && size <= entry.bytes.end - addr;
        if !within
            || ((addr - entry.bytes.start) | size) & (unit - 1) != 0
            || self.arrays.get(entry.id).flags() != 0
        {
            return;
        }
        let i = (addr - entry.bytes.start) >> entry.shift;
        let (base, shift) = (entry.bytes.start, entry.shift);
        let mut covered = None;
        let kinds: &[AccessKind] = match access.kind {
            AccessKind::Read => &[AccessKind::Write, AccessKind::Read],
            AccessKind::Write => &[AccessKind::Write],
        };
        for &kind in kinds {
            if covered.is_none()
                && let Some((first, last)) = entry.trail(kind).footprint.run_at(i)
            {
                covered = Some(base + (first << shift)..base + ((last + 1) << shift));
            }
        }
        let seen = Seen {
            target: Target {
                number: number as u16,
                kind: access.kind,
            },
            addr,
            size,
            site: access.site,
            array: entry.bytes.clone(),
            unit,
            covered,
        };
        // An access that was committed at once, or is only known as a write's, is in no footprint of its kind: it may be
        // where a stream begins all the same, which has what comes after it.
        thread.streams.follow(key, slot, &seen);
    }
}
