//! The precise detectors: every access is checked, every race on a byte that has none yet is found.
//!
//! **Contract.** For every byte: if the execution so far has a race on it (as `event` defines it), a race
//! on this byte was reported, at the latest when the second access of the first race was made; and every
//! reported race is one. After a race on a byte, further ones on the same byte are mostly, but not always, reported: the
//! shadow goes on as if the two accesses had been ordered.
//!
//! The detectors differ only in what a location remembers: [`FastTrack`] forgets what cannot matter,
//! [`Djit`] keeps whole vectors.

use alloc::vec::Vec;
use core::marker::PhantomData;

mod again;
mod atomic;
mod census;
mod few;
mod fresh;
mod layered;
mod ranges;
mod report;
mod settle;

pub use few::Few;
pub use report::report_conflict;

use event::{AccessKind, Addr, Elements, Site, Tid};

use crate::clock::{Limits, Slot, ThreadClock};
use crate::detector::{Access, AtomicOp, Counters, Detector, Side, Sink, SyncOp};
use crate::shadow::{
    Asked, Cell, Comb, Conflict, Counts, Depot, DjitRule, Epoch, FastTrackRule, Footprints, Form,
    Like, Location, Memo, Memory, Page, Repeats, Rule, RuleName, Touch, word_of,
};
use crate::sync::{Bracket, HappensBefore};

/// FastTrack: epochs for writes, and for reads where they are ordered.
pub type FastTrack = Precise<FastTrackRule>;
/// DJIT⁺, Pacer's GENERIC: vectors for reads and writes.
pub type Djit = Precise<DjitRule>;

/// A precise detector with one location for each eight bytes.
#[derive(Debug)]
pub struct Precise<R> {
    order: HappensBefore,
    shadow: Shadow<R>,
}

/// A thread of a precise detector.
#[derive(Debug)]
pub struct PreciseThread {
    /// What it knows.
    pub clock: ThreadClock,
    /// How often each rule fired for it.
    pub counts: Counts,
    /// What it remembers of states that locations share.
    pub memo: Memo,
    /// What it remembers of its reads.
    repeats: Repeats,
    /// What its last accesses to lanes did, by kind, and to lanes of one word.
    likes: [[Like; 2]; 2],
    /// What it still has to check.
    footprints: Footprints,
    /// Whether it goes through the same rows again and again.
    hope: again::Hope,
    /// By kind of the access.
    rows: [again::Rows; 2],
    /// Races of the access under way; empty in between.
    found: Vec<Conflict>,
}

impl PreciseThread {
    /// A thread with that clock.
    pub fn new(clock: ThreadClock) -> PreciseThread {
        PreciseThread {
            clock,
            counts: Counts::default(),
            memo: Memo::default(),
            repeats: Repeats::default(),
            likes: [[Like::NONE; 2]; 2],
            footprints: Footprints::default(),
            hope: again::Hope::default(),
            rows: Default::default(),
            found: Vec::new(),
        }
    }
}

impl Counters for PreciseThread {
    fn each(&self, f: &mut dyn FnMut(&'static str, u64)) {
        self.counts.each(f);
    }
}

impl<R: Rule> Default for Precise<R> {
    fn default() -> Precise<R> {
        Precise::new(Limits::CELL)
    }
}

impl<R: Rule> Precise<R> {
    /// Nothing happened yet.
    pub fn new(limits: Limits) -> Precise<R> {
        Precise {
            order: HappensBefore::new(limits),
            shadow: Shadow::new(),
        }
    }

    /// The same with threads that count versions (Pacer).
    pub fn versioned(limits: Limits) -> Precise<R> {
        Precise {
            order: HappensBefore::versioned(limits),
            shadow: Shadow::new(),
        }
    }

    /// The same with another [credit](Memory::with_runs) for pages with runs.
    pub fn with_runs(mut self, credit: i32) -> Precise<R> {
        self.shadow.memory = Memory::with_runs(credit);
        self
    }

    /// The memory half.
    pub fn shadow(&self) -> &Shadow<R> {
        &self.shadow
    }
}

/// The shadow of all memory, byte-exact: a [`Location`] for each aligned word of eight bytes, or for many with the same past.
///
/// Usable by any detector that brings a [`HappensBefore`] and a [`PreciseThread`] of each thread.
#[derive(Debug)]
pub struct Shadow<R> {
    memory: Memory,
    rule: PhantomData<R>,
}

impl<R: Rule> Default for Shadow<R> {
    fn default() -> Shadow<R> {
        Shadow::new()
    }
}

/// Were there races?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Raced(pub bool);

/// The shadow at work: for one access of one thread.
struct Work<'a, R> {
    shadow: &'a Shadow<R>,
    order: &'a HappensBefore,
    thread: &'a mut PreciseThread,
    kind: AccessKind,
    atomic: bool,
    /// Made earlier than it is checked: atomic objects that it overwrote then are gone already, and there may be new ones.
    late: bool,
    site: Site,
    /// The slot, and the site's number in it, once a word of the range needed them.
    number: Option<(Slot, u32)>,
    /// What the last of its words became.
    like: Like,
}

impl<'a, R: Rule> Work<'a, R> {
    /// One word: the same-epoch test, then the rest.
    #[inline(always)]
    fn word(&mut self, location: &Location, word: Addr, mask: u8, races: Sink<'_>) {
        if !self.atomic && location.is_redundant(self.thread.clock.epoch(), self.kind, mask) {
            self.thread.counts.add(RuleName::same_epoch(self.kind));
        } else if !self.next(location, mask) {
            self.slow(location, word, mask, races);
        }
    }

    /// One more word of a range, if the first ones have the site's number and it is as simple as that.
    #[inline(always)]
    fn next(&mut self, location: &Location, mask: u8) -> bool {
        let Some((slot, number)) = self.number else {
            return false;
        };
        self.thread.clock.numbering() == Some(slot)
            && self.shadow.access_like(
                self.order,
                self.thread,
                location,
                (self.kind, mask, number),
                &mut self.like,
            )
    }

    /// The same from the first word on, if the site was met before: for an access that is not atomic.
    pub(super) fn numbered(mut self) -> Work<'a, R> {
        let clock = &self.thread.clock;
        self.number = clock.numbering().zip(clock.recent_number(self.site));
        self
    }

    #[inline(never)]
    fn slow(&mut self, location: &Location, word: Addr, mask: u8, races: Sink<'_>) {
        let Some(touch) = self.prepare(location, mask) else {
            return;
        };
        let thread = &mut *self.thread;
        if touch.record && !touch.atomic {
            let slot = thread.clock.numbering();
            self.number = slot.map(|slot| (slot, touch.cell.site()));
        }
        if self.late && touch.cell.is_write() && !touch.atomic {
            let touched = location.touch_late::<R>(
                self.shadow.depot(),
                &mut thread.clock,
                self.order.slots(),
                &mut thread.memo,
                touch,
                &mut thread.found,
            );
            thread.counts.add(touched.rule);
        } else {
            let overwritten = self.shadow.touch(self.order, thread, location, touch);
            if overwritten != 0 {
                self.order.overwrite(word, overwritten);
            }
        }
        if !self.thread.found.is_empty() {
            self.report(word, races);
        }
    }

    /// What to do with a location; nothing if the access is redundant, or not sampled and the first.
    #[inline(always)]
    fn prepare(&mut self, location: &Location, mask: u8) -> Option<Touch> {
        let thread = &mut *self.thread;
        let now = thread.clock.epoch();
        let asked = Asked::new(self.kind, mask);
        if !self.atomic && location.is_settled(thread.memo.settled(), now, asked) {
            thread.counts.add(RuleName::same_epoch(self.kind));
            return None;
        }
        self.touch_of(location.is_untouched(), mask)
    }

    /// What to do with a location where the access is not redundant; nothing if it is not sampled and the first.
    #[inline(always)]
    fn touch_of(&mut self, untouched: bool, mask: u8) -> Option<Touch> {
        let thread = &mut *self.thread;
        let record = thread.clock.recording();
        if !record && untouched {
            thread.counts.add(RuleName::Unsampled);
            return None;
        }
        let (epoch, site) = if record {
            thread.clock.stamp(self.order.slots(), self.site)
        } else {
            (thread.clock.epoch(), 0)
        };
        Some(Touch {
            cell: Cell::new(epoch, self.kind, mask, site),
            atomic: self.atomic,
            record,
        })
    }

    fn side(&self) -> Side {
        Side {
            thread: self.thread.clock.tid(),
            kind: self.kind,
            atomic: self.atomic,
            site: self.site,
        }
    }

    /// Says what was found. No lock is held.
    #[cold]
    #[inline(never)]
    fn report(&mut self, word: Addr, races: Sink<'_>) {
        let second = self.side();
        for conflict in core::mem::take(&mut self.thread.found) {
            report_conflict(self.order, conflict, second, word, races);
        }
    }
}

impl<R: Rule> Shadow<R> {
    /// Untouched.
    pub fn new() -> Shadow<R> {
        Shadow {
            memory: Memory::new(),
            rule: PhantomData,
        }
    }

    /// Where extended locations are kept.
    pub fn depot(&self) -> &Depot {
        self.memory.depot()
    }

    /// The location of the word that `addr` is in, if anything happened on its page.
    pub fn location(&self, addr: Addr) -> Option<&Location> {
        self.memory.location(addr)
    }

    /// The same if its page is split: then that stays where it is.
    #[inline]
    pub fn split_location(&self, addr: Addr) -> Option<&Location> {
        Some(&self.memory.page(addr)?[word_of(addr)])
    }

    /// Calls `f` with the locations of each split page of `len` bytes at `addr`, all of them on these pages, of which nothing is remembered: they are as they were at first.
    pub fn each_untouched(&self, addr: Addr, len: u64, f: impl FnMut(&Page<Location>)) {
        self.memory.each_untouched(addr, len, f);
    }

    /// Where stubs find split pages, see [`Pages::root`](crate::shadow::Pages::root).
    pub fn split_root(&self) -> *const () {
        self.memory.split_root()
    }

    fn work<'a>(
        &'a self,
        order: &'a HappensBefore,
        thread: &'a mut PreciseThread,
        kind: AccessKind,
        site: Site,
    ) -> Work<'a, R> {
        Work {
            shadow: self,
            order,
            thread,
            kind,
            atomic: false,
            late: false,
            site,
            number: None,
            like: Like::NONE,
        }
    }

    /// The location of an access within one word, and the bytes of it, if its page is split.
    #[inline(always)]
    pub(crate) fn word(&self, addr: Addr, size: u32) -> Option<(&Location, u8)> {
        let offset = addr.0 as u32 % 8;
        if size.wrapping_sub(1) > 7 - offset {
            return None;
        }
        let mask = (((1u32 << size) - 1) << offset) as u8;
        Some((&self.memory.page(addr)?[word_of(addr)], mask))
    }

    /// `ReadSameEpoch`, `WriteSameEpoch` for an access within one word: the quick test, small enough to inline.
    #[inline(always)]
    pub fn is_redundant(&self, epoch: Epoch, kind: AccessKind, addr: Addr, size: u32) -> bool {
        self.word(addr, size)
            .is_some_and(|(location, mask)| location.is_redundant(epoch, kind, mask))
    }

    /// A plain access to the bytes of `mask` in the word of `location`, from the site that has this number in
    /// [`ThreadClock::numbering`], where that is easy, see [`Location::touch_inline`]. Returns false if nothing was done.
    #[inline(always)]
    pub fn access_inline(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        location: &Location,
        kind: AccessKind,
        mask: u8,
        number: u32,
    ) -> bool {
        let what = (kind, mask, number);
        self.access_like(order, thread, location, what, &mut { Like::NONE })
    }

    #[inline(always)]
    fn access_like(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        location: &Location,
        (kind, mask, number): (AccessKind, u8, u32),
        like: &mut Like,
    ) -> bool {
        let cell = Cell::new(thread.clock.stamp_again(), kind, mask, number);
        match location.touch_inline::<R>(&mut thread.clock, order.slots(), cell, like) {
            Some(rule) => {
                thread.counts.add(rule);
                true
            }
            None => false,
        }
    }

    /// Checks and records; races are in `thread.found`. Returns the bytes of atomic objects that a plain write overwrote.
    #[inline(always)]
    fn touch(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        location: &Location,
        touch: Touch,
    ) -> u8 {
        let touched = location.touch::<R>(
            self.depot(),
            &mut thread.clock,
            order.slots(),
            &mut thread.memo,
            touch,
            &mut thread.found,
        );
        thread.counts.add(touched.rule);
        touched.overwritten
    }

    /// The same where what is remembered is in a block of the location's own, see [`Location::touch_in_block`]. None if nothing was done. If there are races, who says so has to
    /// [`tell`](Shadow::tell) next.
    #[inline(never)]
    pub fn access_in_block(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        location: &Location,
        kind: AccessKind,
        mask: u8,
        number: u32,
    ) -> Option<Raced> {
        self.touch_in_block(order, thread, location, (kind, mask, false), number)
    }

    /// The same for a plain access, or an atomic one.
    #[inline(always)]
    fn touch_in_block(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        location: &Location,
        (kind, mask, atomic): (AccessKind, u8, bool),
        number: u32,
    ) -> Option<Raced> {
        let touch = Touch {
            cell: Cell::new(thread.clock.stamp_again(), kind, mask, number),
            atomic,
            record: true,
        };
        let rule = location.touch_in_block::<R>(
            self.depot(),
            &mut thread.clock,
            order.slots(),
            &mut thread.memo,
            touch,
            &mut thread.found,
        )?;
        thread.counts.add(rule);
        Some(Raced(!thread.found.is_empty()))
    }

    /// As [`Shadow::access_inline`], easy or not. If there are races, who says so has to [`tell`](Shadow::tell) next.
    #[inline(never)]
    pub fn access_numbered(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        location: &Location,
        (kind, addr, mask): (AccessKind, Addr, u8),
        number: u32,
    ) -> Raced {
        let touch = Touch {
            cell: Cell::new(thread.clock.stamp_again(), kind, mask, number),
            atomic: false,
            record: true,
        };
        let overwritten = self.touch(order, thread, location, touch);
        if overwritten != 0 {
            order.overwrite(Addr(addr.0 & !7), overwritten);
        }
        Raced(!thread.found.is_empty())
    }

    /// Tells of the races that the thread's last access was found to have.
    #[cold]
    pub fn tell(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        access: Access,
        races: Sink<'_>,
    ) {
        let word = Addr(access.addr.0 & !7);
        self.work(order, thread, access.kind, access.site)
            .report(word, races);
    }

    /// The same, easy or not, for the site itself.
    #[inline(always)]
    pub fn access_at(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        location: &Location,
        mask: u8,
        access: Access,
        races: Sink<'_>,
    ) {
        // Nearly always it is easy.
        if let Some(number) = thread.clock.recent_number(access.site)
            && self.access_inline(order, thread, location, access.kind, mask, number)
        {
            return;
        }
        let word = Addr(access.addr.0 & !7);
        self.work(order, thread, access.kind, access.site)
            .slow(location, word, mask, races);
    }

    /// Is a read of `size` bytes redundant, in a page with runs that the thread goes through word by word?
    #[inline]
    pub fn is_reread(&self, thread: &mut PreciseThread, addr: Addr, size: u32) -> bool {
        let epoch = thread.clock.epoch();
        let reread = addr.0 % 8 + u64::from(size) <= 8
            && self.memory.has_word(&mut thread.repeats, addr, epoch);
        if reread {
            thread.counts.add(RuleName::RunSameEpoch);
        }
        reread
    }

    /// Is an access to `size` bytes redundant, in a page with runs of which the thread has accessed a row with them?
    #[inline]
    pub fn is_in_row(
        &self,
        thread: &mut PreciseThread,
        kind: AccessKind,
        addr: Addr,
        size: u32,
    ) -> bool {
        let epoch = thread.clock.epoch();
        let in_row = addr.0 % 8 + u64::from(size) <= 8
            && self
                .memory
                .is_in_row(&mut thread.repeats, addr, epoch, kind);
        if in_row {
            thread.counts.add(RuleName::RunSameEpoch);
        }
        in_row
    }

    /// A plain access to `size` bytes.
    #[inline(always)]
    pub fn access(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        access: Access,
        races: Sink<'_>,
    ) {
        match self.word(access.addr, access.size) {
            Some((location, mask)) => {
                if location.is_redundant(thread.clock.epoch(), access.kind, mask) {
                    thread.counts.add(RuleName::same_epoch(access.kind));
                } else {
                    self.access_at(order, thread, location, mask, access, races);
                }
            }
            None if access.kind == AccessKind::Read
                && self.is_reread(thread, access.addr, access.size) => {}
            None if self.is_in_row(thread, access.kind, access.addr, access.size) => {}
            None => self.access_bytes(order, thread, access, races),
        }
    }

    #[cold]
    #[inline(never)]
    fn access_bytes(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        access: Access,
        races: Sink<'_>,
    ) {
        self.work(order, thread, access.kind, access.site).bytes(
            access.addr,
            u64::from(access.size),
            races,
        );
    }

    /// As [`Shadow::access`], for a word that others of its page need not go along with: a page that is whole is split, even if it was accessed as a whole before.
    pub(crate) fn access_single(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        access: Access,
        races: Sink<'_>,
    ) {
        let memory = &self.memory;
        if memory.page(access.addr).is_none()
            && let Some(whole) = memory.touched(access.addr)
            && let Some(Form::Whole(_)) = memory.form(access.addr, whole)
        {
            thread.counts.add(RuleName::PageSplit);
            memory.split(access.addr);
        }
        self.access(order, thread, access, races);
    }

    /// A plain access to many elements.
    pub fn range(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        kind: AccessKind,
        elements: Elements,
        site: Site,
        races: Sink<'_>,
    ) {
        if let Some(words) = Comb::whole(elements)
            && let Some(number) = thread.clock.recent_number(site)
            && self.access_again(order, thread, kind, words, |_| Some(number), |_| ())
        {
            return;
        }
        self.range_anew(order, thread, kind, elements, site, races);
    }

    /// The same for who knows that it is not [as before](Shadow::access_again).
    pub fn range_anew(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        kind: AccessKind,
        elements: Elements,
        site: Site,
        races: Sink<'_>,
    ) {
        self.work(order, thread, kind, site)
            .numbered()
            .elements(elements, false, races);
    }

    /// As [`Shadow::range`], for an access that was made earlier in the thread's current epoch. Is it `part` of a longer one, whose rest is elsewhere?
    pub(crate) fn late_range(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        kind: AccessKind,
        (elements, part): (Elements, bool),
        site: Site,
        races: Sink<'_>,
    ) {
        let mut work = self.work(order, thread, kind, site).numbered();
        work.late = true;
        let first = elements.addr(elements.lo);
        if elements.hi - elements.lo == 1
            && let Some((location, mask)) = self.word(first, u32::from(elements.elem))
        {
            return work.word(location, Addr(first.0 & !7), mask, races);
        }
        work.elements(elements, part, races);
    }

    /// A plain access to `len` bytes.
    pub fn bytes(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        kind: AccessKind,
        (addr, len): (Addr, u64),
        site: Site,
        races: Sink<'_>,
    ) {
        self.work(order, thread, kind, site)
            .numbered()
            .bytes(addr, len, races);
    }
}

impl<R: Rule> Detector for Precise<R> {
    type Thread = PreciseThread;

    fn root(&self, tid: Tid) -> PreciseThread {
        PreciseThread::new(self.order.root(tid))
    }

    fn fork(&self, parent: &mut PreciseThread, tid: Tid, races: Sink<'_>) -> PreciseThread {
        self.shadow.commit_all(&self.order, parent, races);
        PreciseThread::new(self.order.fork(&mut parent.clock, tid))
    }

    fn end(&self, thread: &mut PreciseThread, races: Sink<'_>) {
        self.shadow.commit_all(&self.order, thread, races);
        thread.memo.flush(self.shadow.depot());
        self.order.end(&mut thread.clock);
    }

    fn join(&self, thread: &mut PreciseThread, child: &mut PreciseThread, races: Sink<'_>) {
        self.shadow.commit_all(&self.order, thread, races);
        self.order.join(&mut thread.clock, &mut child.clock);
    }

    #[inline]
    fn access(&self, thread: &mut PreciseThread, access: Access, races: Sink<'_>) {
        self.shadow.access(&self.order, thread, access, races);
    }

    fn range(
        &self,
        thread: &mut PreciseThread,
        kind: AccessKind,
        elements: Elements,
        site: Site,
        races: Sink<'_>,
    ) {
        self.shadow
            .range(&self.order, thread, kind, elements, site, races);
    }

    fn alloc(
        &self,
        thread: &mut PreciseThread,
        addr: Addr,
        elem: u8,
        len: u64,
        _site: Site,
        races: Sink<'_>,
    ) {
        let bytes = len.saturating_mul(u64::from(elem.max(1)));
        self.shadow
            .commit_within(&self.order, thread, (addr, bytes), races);
        thread.clock.renewed_memory();
        self.shadow.clear(&self.order, addr, bytes);
    }

    fn free(
        &self,
        thread: &mut PreciseThread,
        addr: Addr,
        bytes: u64,
        site: Site,
        races: Sink<'_>,
    ) {
        thread.clock.renewed_memory();
        let bytes = (addr, bytes);
        self.shadow.free(&self.order, thread, bytes, site, races);
    }

    #[inline]
    fn order(&self) -> &HappensBefore {
        &self.order
    }

    #[inline(always)]
    fn bracketed(
        &self,
        thread: &mut PreciseThread,
        bracket: &mut Bracket<'_>,
        size: u32,
        op: AtomicOp,
        site: Site,
        races: Sink<'_>,
    ) {
        self.atomic(thread, bracket, (size, op), site, races);
    }

    fn bytes(&self, f: &mut dyn FnMut(&'static str, u64)) {
        self.shadow.bytes_used(f);
    }

    #[inline(always)]
    fn sync(&self, thread: &mut PreciseThread, op: SyncOp, races: Sink<'_>) {
        self.shadow.commit_all(&self.order, thread, races);
        self.order.sync(&mut thread.clock, op);
    }
}
