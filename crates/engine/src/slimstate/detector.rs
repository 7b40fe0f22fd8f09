//! The detector `slimstate` and its variants.

use super::array::{ATOMICS, ArrayId, SINGLES};
use super::arrays::{Arrays, Owner};
use super::buffer::{Buffer, Cached, PlainTable};
use super::directory::Directory;
use super::footprint::Footprint;
use super::ground::{Ground, Manner, Tally};
use super::options::Options;
use super::partition::{Mode, Partition};
use super::sitelists::SiteLists;
use super::streams::{PlaceKey, Streams, Target};
use super::trail::{Extended, Trail};
use super::versions::Versions;
use super::{BitSet, Labels, Strided};
use crate::clock::ThreadClock;
use crate::detector::{Access, AtomicOp, BlockShadow, Counters, Detector, Race, Sink, SyncOp};
use crate::precise::{PreciseThread, Shadow};
use crate::shadow::{Depot, Entries, Epoch, FastTrackRule, Location, Page, RuleName, Span};
use crate::sync::{Bracket, HappensBefore};
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::AtomicU64;
use event::{AccessKind, Addr, Elements, Site, Tid};

/// The paper's detector: strided-range footprints, the partition modes of Table I.
pub type SlimState = Slim<Strided, Mode>;
/// Bit-set footprints.
pub type SlimStateBf = Slim<BitSet, Mode>;
/// Bit-set partitions.
pub type SlimStateBp = Slim<Strided, Labels>;
/// Both.
pub type SlimStateBb = Slim<BitSet, Labels>;

/// SlimState with footprints `F` and partitions `P`.
#[derive(Debug)]
pub struct Slim<F, P> {
    pub(super) order: HappensBefore,
    /// The shadow of all memory that is not in a compressed array.
    pub(super) memory: Shadow<FastTrackRule>,
    pub(super) arrays: Arrays<P>,
    pub(super) lists: SiteLists,
    small: u64,
    frugal: bool,
    thrifty: bool,
    footprints: PhantomData<fn() -> F>,
}

/// A thread of [`Slim`].
#[derive(Debug)]
pub struct SlimThread<F> {
    pub(super) base: PreciseThread,
    pub(super) buffer: Buffer<F>,
    pub(super) streams: Streams,
    pub(super) tally: Tally,
}

impl<F: Footprint> SlimThread<F> {
    fn new(base: PreciseThread, thrifty: bool) -> Self {
        SlimThread {
            base,
            buffer: Buffer::new(thrifty),
            streams: Streams::new(thrifty),
            tally: Tally::default(),
        }
    }
}

impl<F: Footprint> SlimThread<F> {
    /// What the thread knows.
    pub fn clock(&mut self) -> &mut ThreadClock {
        &mut self.base.clock
    }
    /// The thread's current epoch.
    pub fn epoch(&self) -> Epoch {
        self.base.clock.epoch()
    }
    /// Where it is in time, and what it knows of the others.
    pub fn now(&self) -> &ThreadClock {
        &self.base.clock
    }
    /// How often it followed FastTrack's rules.
    pub fn counts(&self) -> &[AtomicU64] {
        self.base.counts.entries()
    }
    /// What the thread knows of states outside, in the locations of FINE elements.
    pub fn settled(&self) -> &Entries {
        self.base.memo.settled()
    }
    /// Where the program's checks find what memory has no array, until an access comes the long way, and the mask of its pages.
    #[inline]
    pub fn plain(&self) -> (*const PlainTable, u32) {
        self.buffer.plain()
    }
    /// Where the program's checks find what is foreseen, a [`StreamTable`](super::StreamTable), until an access comes the long way.
    pub fn streams(&self) -> *const () {
        self.streams.table()
    }
    /// The entry of that table which answers for reads from all places: another one whenever an access came the long way.
    pub fn window(&self) -> *const () {
        self.streams.window()
    }
    /// Is the memory at `addr` in an array that the thread has touched since it last synchronised, as far as it remembers?
    pub fn is_in_array(&self, addr: Addr, versions: &Versions) -> bool {
        matches!(self.buffer.recall(addr.0, versions), Cached::Entry(_))
    }
}

impl<F: Send> Counters for SlimThread<F> {
    fn each(&self, f: &mut dyn FnMut(&'static str, u64)) {
        self.base.each(f);
        self.tally.each(f);
        f("[SS ACCESS] foreseen", self.streams.foreseen());
    }
}

impl<F: Footprint, P: Partition> Default for Slim<F, P> {
    fn default() -> Self {
        Slim::new(Options::default())
    }
}

impl<F: Footprint, P: Partition> Slim<F, P> {
    /// Nothing happened yet.
    pub fn new(options: Options) -> Self {
        Slim {
            order: HappensBefore::new(options.limits),
            memory: Shadow::new(),
            arrays: Arrays::new(options.history),
            lists: SiteLists::default(),
            small: options.small,
            frugal: options.frugal,
            thrifty: options.thrifty,
            footprints: PhantomData,
        }
    }

    /// The location of the word that `addr` is in, if it has one of its own. It may have none that counts: words of
    /// compressed arrays have locations that nobody touches, which never make an access redundant.
    pub fn split_location(&self, addr: Addr) -> Option<&Location> {
        self.memory.split_location(addr)
    }

    /// See [`Shadow::each_untouched`].
    pub fn each_untouched(&self, addr: Addr, len: u64, f: impl FnMut(&Page<Location>)) {
        self.memory.each_untouched(addr, len, f);
    }

    /// Where the states of locations are that do not fit into them.
    pub fn depot(&self) -> &Depot {
        self.memory.depot()
    }

    /// Where these locations are found.
    pub fn split_root(&self) -> *const () {
        self.memory.split_root()
    }

    pub(super) fn ground<'a>(
        &'a self,
        base: &'a mut PreciseThread,
        tally: &'a mut Tally,
        races: Sink<'a>,
    ) -> Ground<'a> {
        Ground {
            order: &self.order,
            memory: &self.memory,
            lists: &self.lists,
            frugal: self.frugal,
            disturbances: self.arrays.versions.disturbances(),
            thread: base,
            tally,
            found: Vec::new(),
            races,
        }
    }

    /// Commits the reads and then the writes of entry `number`.
    fn commit_entry(&self, thread: &mut SlimThread<F>, number: usize, races: Sink<'_>) {
        let kinds = [AccessKind::Read, AccessKind::Write];
        for kind in kinds {
            let target = Target {
                number: number as u16,
                kind,
            };
            self.fold(thread, target, races);
        }
        self.commit_folded(thread, number, races);
    }

    /// The same for an entry whose streams have been folded.
    fn commit_folded(&self, thread: &mut SlimThread<F>, number: usize, races: Sink<'_>) {
        let kinds = [AccessKind::Read, AccessKind::Write];
        let SlimThread {
            base,
            buffer,
            tally,
            ..
        } = thread;
        let entry = buffer.entry(number);
        let (id, shift) = (entry.id, entry.shift);
        if entry.reads_are_writes() {
            tally.own_writes += 1;
            entry.trail(AccessKind::Read).clear();
        }
        for kind in kinds {
            let trail = entry.trail(kind);
            if !trail.footprint.is_empty() {
                let mut ground = self.ground(base, tally, races);
                let array = self.arrays.get(id);
                array.commit(trail, shift, Manner::plain(kind), &mut ground);
                trail.clear();
            }
        }
    }

    /// Commits everything on behalf of a thread that may never synchronise again, as the process ends. The thread keeps what it has,
    /// and may go on taking foreseen accesses meanwhile, but nothing else.
    pub fn settle(&self, thread: &mut SlimThread<F>, races: Sink<'_>) {
        for number in 0..thread.buffer.len() {
            self.commit_entry(thread, number, races);
        }
    }

    /// Commits everything: the thread is about to synchronise. Must come before its clock changes.
    #[inline(always)]
    fn flush(&self, thread: &mut SlimThread<F>, races: Sink<'_>) {
        if !thread.buffer.is_empty() {
            self.flush_all(thread, races);
        }
    }

    #[inline(never)]
    fn flush_all(&self, thread: &mut SlimThread<F>, races: Sink<'_>) {
        self.fold_all(thread, races);
        for number in 0..thread.buffer.len() {
            self.commit_folded(thread, number, races);
        }
        thread.streams.clear();
        for number in 0..thread.buffer.len() {
            let id = thread.buffer.entry(number).id;
            self.arrays.unpin(id, self.memory.depot());
        }
        thread.buffer.clear();
    }

    /// The entry of the array at `addr`. None if the array is not there any more.
    fn entry(
        &self,
        thread: &mut SlimThread<F>,
        id: ArrayId,
        addr: u64,
        races: Sink<'_>,
    ) -> Option<usize> {
        if let Ok(number) = thread.buffer.find(id) {
            return Some(number);
        }
        if thread.buffer.is_full() {
            thread.tally.overflows += 1;
            self.flush(thread, races);
        }
        if !self.arrays.pin(id, addr) {
            return None;
        }
        let array = self.arrays.get(id);
        let shift = array.body.read().shift;
        match thread.buffer.find(id) {
            Ok(number) => Some(number),
            Err(place) => Some(thread.buffer.insert(place, id, array.bytes(), shift)),
        }
    }

    /// An access to bytes that may belong to anybody.
    #[inline(never)]
    pub(super) fn touch(
        &self,
        thread: &mut SlimThread<F>,
        bytes: Range<u64>,
        manner: Manner,
        site: Site,
        races: Sink<'_>,
    ) {
        if thread.buffer.knows_plain(&bytes, &self.arrays.versions) {
            return self.touch_plain(thread, bytes, manner, site, races);
        }
        let mut at = bytes.start;
        while at < bytes.end {
            let version = self.arrays.versions.at(at);
            match self.arrays.owner(at, bytes.end - 1) {
                Owner::Plain(plain) => {
                    let end = plain.end.min(bytes.end);
                    thread.buffer.saw_plain(plain, version);
                    self.touch_plain(thread, at..end, manner, site, races);
                    at = end;
                }
                Owner::Array(id, _, end) => {
                    let end = end.min(bytes.end);
                    if let Some(plain) = self.arrays.get(id).plain_around(at) {
                        let end = end.min(plain.end);
                        thread.buffer.saw_plain(plain, version);
                        self.touch_plain(thread, at..end, manner, site, races);
                        thread.tally.at_once += 1;
                        at = end;
                        continue;
                    }
                    if self.touch_array(thread, id, (at..end, 1), manner, site, races) {
                        at = end;
                    }
                }
            }
        }
    }

    /// Does the byte-exact shadow have all of these bytes?
    fn is_single(&self, bytes: Range<u64>) -> bool {
        let mut at = bytes.start;
        while at < bytes.end {
            at = match self.arrays.owner(at, bytes.end - 1) {
                Owner::Plain(plain) => plain.end,
                Owner::Array(id, _, end) => {
                    let array = self.arrays.get(id);
                    if array.flags() != SINGLES || !array.is_single(end.min(bytes.end)) {
                        return false;
                    }
                    end
                }
            };
        }
        true
    }

    /// An access to bytes that have their own shadow.
    fn touch_plain(
        &self,
        thread: &mut SlimThread<F>,
        bytes: Range<u64>,
        manner: Manner,
        site: Site,
        races: Sink<'_>,
    ) {
        let races: Sink<'_> = &mut |race: &Race| self.lists.report(race, races);
        let span = (Addr(bytes.start), bytes.end - bytes.start);
        let (order, base) = (&self.order, &mut thread.base);
        let (addr, size) = span;
        if !manner.atomic && addr.0 % 8 + size <= 8 {
            let access = Access {
                kind: manner.kind,
                addr,
                size: size as u32,
                site,
            };
            return self.memory.access_single(order, base, access, races);
        }
        if manner.atomic {
            self.memory
                .atomic_bytes(order, base, manner.kind, span, site, races);
        } else {
            self.memory
                .bytes(order, base, manner.kind, span, site, races);
        }
    }

    /// An access to some bytes of an array, or to elements of that many at each `stride` of them. False if the array is not there any more.
    fn touch_array(
        &self,
        thread: &mut SlimThread<F>,
        id: ArrayId,
        (bytes, stride): (Range<u64>, u64),
        manner: Manner,
        site: Site,
        races: Sink<'_>,
    ) -> bool {
        thread.tally.accesses += 1;
        let array = self.arrays.get(id);
        let plain_write = manner == Manner::plain(AccessKind::Write);
        if plain_write && array.flags() & ATOMICS != 0 {
            self.overwrite(&bytes);
        }
        if array.flags() & SINGLES != 0 && stride == 1 && array.is_single(bytes.end) {
            thread.tally.at_once += 1;
            self.touch_plain(thread, bytes, manner, site, races);
            return true;
        }
        let Some(number) = self.entry(thread, id, bytes.start, races) else {
            return false;
        };
        // Not before it has an entry: till then it may have become another array.
        let all = array.bytes();
        if bytes.start < all.start || all.end < bytes.end {
            return false;
        }
        thread.buffer.saw(bytes.start, number);
        let (from, len) = (bytes.start - all.start, bytes.end - bytes.start);
        let unit = 1u64 << thread.buffer.entry(number).shift;
        if (from | len) & (unit - 1) != 0 {
            self.commit_entry(thread, number, races);
            let mut ground = self.ground(&mut thread.base, &mut thread.tally, races);
            array.refine_elements((from | len).trailing_zeros() as u8, &mut ground);
            thread.buffer.entry(number).shift = array.body.read().shift;
        }
        let shift = thread.buffer.entry(number).shift;
        let more = Strided::new(from >> shift, ((from + len) >> shift) - 1, stride);
        if manner.atomic || array.flags() & SINGLES != 0 {
            if manner.atomic {
                array.add_flag(ATOMICS, self.arrays.versions.disturbances());
            }
            self.commit_entry(thread, number, races);
            thread.tally.at_once += 1;
            let mut trail: Trail<F> = Trail::default();
            trail.extend(more, site);
            let mut ground = self.ground(&mut thread.base, &mut thread.tally, races);
            array.commit(&trail, shift, manner, &mut ground);
            return true;
        }
        let extended = |thread: &mut SlimThread<F>| {
            let trail = thread.buffer.entry(number).trail(manner.kind);
            trail.extend(more, site) == Extended::Yes
        };
        if extended(thread) {
            return true;
        }
        // What is missing in between may have been foreseen.
        let target = Target {
            number: number as u16,
            kind: manner.kind,
        };
        self.fold(thread, target, races);
        if !extended(thread) {
            thread.tally.not_extended += 1;
            self.commit_entry(thread, number, races);
            // It may be PREFIX or FINE by now.
            thread.tally.accesses -= 1;
            return self.touch_array(thread, id, (bytes, stride), manner, site, races);
        }
        true
    }

    /// A plain access whose place is known by its line only. `cached` is what the thread remembers of the address.
    #[inline(never)]
    fn access_line(
        &self,
        thread: &mut SlimThread<F>,
        access: Access,
        cached: Cached,
        races: Sink<'_>,
    ) {
        // The caller has asked the streams of an array that it knows.
        let asked = matches!(cached, Cached::Entry(_));
        let cached = match cached {
            Cached::Unknown => self.look(thread, access.addr),
            known => known,
        };
        // No array is concerned, and no stream begins.
        if cached == Cached::Plain && access.addr.0 % 8 + u64::from(access.size) <= 8 {
            let races: Sink<'_> = &mut |race: &Race| self.lists.report(race, races);
            let (order, base) = (&self.order, &mut thread.base);
            return self.memory.access_single(order, base, access, races);
        }
        let number = match cached {
            Cached::Entry(number) => number,
            // The one that it will have, if it is an array's.
            Cached::Plain | Cached::Unknown => thread.buffer.len(),
        };
        let key = place_of(access, number);
        if asked || !self.take(thread, key, access.addr, u64::from(access.size)) {
            self.access_array(thread, key, access, cached, races);
        }
    }

    /// `bytes` are fresh: an array if `shift` is given, else plain memory.
    #[inline]
    fn begin(
        &self,
        thread: &mut SlimThread<F>,
        bytes: Range<u64>,
        shift: Option<u8>,
        site: Site,
        races: Sink<'_>,
    ) {
        thread.base.clock.renewed_memory();
        if shift.is_none() && !bytes.is_empty() && self.arrays.are_apart(&bytes) {
            let len = bytes.end - bytes.start;
            return self.memory.clear(&self.order, Addr(bytes.start), len);
        }
        self.supersede(thread, bytes, shift, site, races);
    }

    /// The same where arrays are.
    #[inline(never)]
    fn supersede(
        &self,
        thread: &mut SlimThread<F>,
        bytes: Range<u64>,
        shift: Option<u8>,
        site: Site,
        races: Sink<'_>,
    ) {
        let old = self.arrays.superseded(&bytes);
        if !old.is_empty() {
            self.still(thread, races);
        }
        if old
            .iter()
            .any(|&id| self.arrays.get(id).body.read().singles() > 0)
        {
            self.flush(thread, races);
        }
        let ground = self.ground(&mut thread.base, &mut thread.tally, races);
        self.arrays.alloc(bytes, shift, &old, site, &ground);
    }

    /// A block that is in no array is freed.
    #[inline]
    fn free_plain(
        &self,
        thread: &mut SlimThread<F>,
        bytes: Range<u64>,
        site: Site,
        races: Sink<'_>,
    ) {
        let races: Sink<'_> = &mut |race: &Race| self.lists.report(race, races);
        let (order, base) = (&self.order, &mut thread.base);
        let bytes = (Addr(bytes.start), bytes.end - bytes.start);
        self.memory.free(order, base, bytes, site, races);
    }

    /// Atomic objects in `bytes` are no more.
    fn overwrite(&self, bytes: &Range<u64>) {
        for span in Span::cut(Addr(bytes.start), bytes.end - bytes.start) {
            let page = span.addr.0 & !4095;
            for (word, mask) in span.words() {
                self.order.overwrite(Addr(page + 8 * word as u64), mask);
            }
        }
    }
}

/// The place of an access of which only its line is known, in the array of that entry. A line goes through several arrays, each a place of its own;
/// but a place goes as far as its array, since what it accesses there is to be one footprint.
#[inline(always)]
fn place_of(access: Access, number: usize) -> PlaceKey {
    let number = number as u64;
    let line = u64::from(access.site.0) << 1 | access.kind as u64;
    let place = line.wrapping_add(number.wrapping_mul(37)) << 3 | 1;
    PlaceKey::new(place, number << 33 | line)
}

/// Can the operation change what its thread knows, or what others know of it?
const fn synchronises(op: AtomicOp) -> bool {
    match op {
        AtomicOp::Load(order) => order.acquires(),
        AtomicOp::Store(order) => order.releases(),
        AtomicOp::Rmw(order) => order.acquires() || order.releases(),
    }
}

impl<F: Footprint, P: Partition> Detector for Slim<F, P> {
    type Thread = SlimThread<F>;

    fn root(&self, tid: Tid) -> Self::Thread {
        SlimThread::new(PreciseThread::new(self.order.root(tid)), self.thrifty)
    }

    fn fork(&self, parent: &mut Self::Thread, tid: Tid, races: Sink<'_>) -> Self::Thread {
        self.flush(parent, races);
        let clock = self.order.fork(&mut parent.base.clock, tid);
        SlimThread::new(PreciseThread::new(clock), self.thrifty)
    }

    fn end(&self, thread: &mut Self::Thread, races: Sink<'_>) {
        self.flush(thread, races);
        let (blocks, elements) = core::mem::take(&mut thread.tally.small);
        self.arrays.count_small(blocks, elements);
        thread.base.memo.flush(self.memory.depot());
        self.order.end(&mut thread.base.clock);
    }

    fn join(&self, thread: &mut Self::Thread, child: &mut Self::Thread, races: Sink<'_>) {
        self.flush(child, races);
        self.flush(thread, races);
        self.order
            .join(&mut thread.base.clock, &mut child.base.clock);
    }

    #[inline(always)]
    fn access(&self, thread: &mut Self::Thread, access: Access, races: Sink<'_>) {
        let word = self.memory.word(access.addr, access.size);
        let epoch = thread.epoch();
        // The locations of words in compressed arrays are untouched, and make nothing redundant.
        if word.is_some_and(|(location, mask)| location.is_redundant(epoch, access.kind, mask)) {
            return thread.base.counts.add(RuleName::same_epoch(access.kind));
        }
        let (location, mask) = match word {
            // Bytes that have something recorded there are in no compressed array.
            Some((location, mask)) if location.has(mask) => (location, mask),
            word => {
                let cached = thread.buffer.recall(access.addr.0, &self.arrays.versions);
                let (Cached::Plain, Some(word)) = (cached, word) else {
                    let size = u64::from(access.size);
                    if let Cached::Entry(number) = cached {
                        let reads = access.kind == AccessKind::Read;
                        if reads && self.is_written(thread, access.addr, size)
                            || self.take(thread, place_of(access, number), access.addr, size)
                        {
                            return;
                        }
                    }
                    return self.access_line(thread, access, cached, races);
                };
                word
            }
        };
        let races: Sink<'_> = &mut |race: &Race| self.lists.report(race, races);
        let (order, base) = (&self.order, &mut thread.base);
        self.memory
            .access_at(order, base, location, mask, access, races);
    }

    fn range(
        &self,
        thread: &mut Self::Thread,
        kind: AccessKind,
        elements: Elements,
        site: Site,
        races: Sink<'_>,
    ) {
        let Some((first, end)) = hull(&elements) else {
            return;
        };
        let manner = Manner::plain(kind);
        if elements.stride == 1 || elements.len() == 1 {
            if let Cached::Entry(number) = thread.buffer.recall(first, &self.arrays.versions)
                && self.extend(thread, number, first..end, kind, site)
            {
                return;
            }
            return self.touch(thread, first..end, manner, site, races);
        }
        if self.is_single(first..end) {
            let races: Sink<'_> = &mut |race: &Race| self.lists.report(race, races);
            let base = &mut thread.base;
            return self
                .memory
                .range(&self.order, base, kind, elements, site, races);
        }
        // One footprint, if the array has such elements; else one by one.
        if let Owner::Array(id, all, to) = self.arrays.owner(first, first)
            && end <= to
            && let Some(number) = self.entry(thread, id, first, races)
            && thread.buffer.entry(number).shift == elements.elem.trailing_zeros() as u8
            && (first - all.start).is_multiple_of(u64::from(elements.elem))
        {
            let range = (first..end, elements.stride);
            let simple = kind == AccessKind::Read || self.arrays.get(id).flags() & ATOMICS == 0;
            if simple && self.touch_array(thread, id, range, manner, site, races) {
                return;
            }
        }
        for i in elements.indices() {
            let at = elements.addr(i).0;
            let end = at + u64::from(elements.elem);
            self.touch(thread, at..end, manner, site, races);
        }
    }

    fn alloc(
        &self,
        thread: &mut Self::Thread,
        addr: Addr,
        elem: u8,
        len: u64,
        site: Site,
        races: Sink<'_>,
    ) {
        let unit = u64::from(elem.max(1));
        let end = addr.0.saturating_add(len.saturating_mul(unit));
        let bytes = addr.0..end;
        let is_array = len >= self.small
            && !bytes.is_empty()
            && unit.is_power_of_two()
            && unit <= 8
            && Directory::reaches(&bytes);
        if !is_array && !bytes.is_empty() {
            let small = &mut thread.tally.small;
            *small = (small.0 + 1, small.1 + len);
        }
        let mut shift = is_array.then_some(unit.trailing_zeros() as u8);
        if is_array
            && self.thrifty
            && let Some(fine) = self.arrays.fates.foretold(site)
        {
            self.arrays.born_fine(&bytes, fine, site);
            shift = None;
        }
        self.begin(thread, bytes, shift, site, races);
    }

    fn renew(&self, thread: &mut Self::Thread, addr: Addr, bytes: u64, races: Sink<'_>) {
        let bytes = addr.0..addr.0.saturating_add(bytes);
        self.begin(thread, bytes, None, Site(0), races);
    }

    fn free(&self, thread: &mut Self::Thread, addr: Addr, bytes: u64, site: Site, races: Sink<'_>) {
        thread.base.clock.renewed_memory();
        let bytes = addr.0..addr.0.saturating_add(bytes);
        if self.arrays.are_plain(&bytes) {
            return self.free_plain(thread, bytes, site, races);
        }
        let whole = match self.arrays.owner(addr.0, bytes.end.saturating_sub(1)) {
            Owner::Plain(plain) if bytes.end <= plain.end => {
                return self.free_plain(thread, bytes, site, races);
            }
            Owner::Array(id, all, end) if all == bytes && end == all.end => Some(id),
            _ => None,
        };
        self.still(thread, races);
        // What was read of it would be no news beside the write, and the free be named where a read went wrong before.
        if let Some(id) = whole
            && let Ok(number) = thread.buffer.find(id)
        {
            self.commit_entry(thread, number, races);
        }
        let manner = Manner::plain(AccessKind::Write);
        self.touch(thread, bytes, manner, site, races);
        if let Some(id) = whole {
            // The memory may be given away by another thread next: nothing may be pending.
            if let Ok(number) = thread.buffer.find(id) {
                self.commit_entry(thread, number, races);
            }
            let mut ground = self.ground(&mut thread.base, &mut thread.tally, races);
            self.arrays.freed(id, site, &mut ground);
        }
    }

    #[inline]
    fn order(&self) -> &HappensBefore {
        &self.order
    }

    fn bracketed(
        &self,
        thread: &mut Self::Thread,
        bracket: &mut Bracket<'_>,
        size: u32,
        op: AtomicOp,
        site: Site,
        races: Sink<'_>,
    ) {
        if synchronises(op) {
            self.flush(thread, races);
        }
        let addr = bracket.addr();
        let kind = match op {
            AtomicOp::Load(_) => AccessKind::Read,
            AtomicOp::Store(_) | AtomicOp::Rmw(_) => AccessKind::Write,
        };
        let manner = Manner { kind, atomic: true };
        let end = addr.0.saturating_add(u64::from(size));
        let clock = &mut thread.base.clock;
        let operation = self.order.begin_atomic(clock, bracket, size, op);
        if operation.stands() {
            thread.base.counts.add(RuleName::AtomicRepeated);
        } else {
            self.touch(thread, addr.0..end, manner, site, races);
        }
        self.order.end_atomic(&mut thread.base.clock, operation);
    }

    #[inline(always)]
    fn sync(&self, thread: &mut Self::Thread, op: SyncOp, races: Sink<'_>) {
        self.flush(thread, races);
        self.order.sync(&mut thread.base.clock, op);
    }

    fn shadow(&self, f: &mut dyn FnMut(&BlockShadow)) {
        self.arrays.each(f);
    }

    fn bytes(&self, f: &mut dyn FnMut(&'static str, u64)) {
        self.memory.bytes_used(f);
        self.arrays.bytes(f);
        f("lists of sites", self.lists.bytes());
    }
}

/// First byte and one past the last of some elements.
fn hull(elements: &Elements) -> Option<(u64, u64)> {
    let last = elements.len().checked_sub(1)?;
    let elem = u64::from(elements.elem.max(1));
    let first = elements
        .base
        .0
        .checked_add(elements.lo.checked_mul(elem)?)?;
    let more = last.checked_mul(elements.stride)?.checked_mul(elem)?;
    let end = first.checked_add(more)?.checked_add(elem)?;
    Some((first, end))
}
