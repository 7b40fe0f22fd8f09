//! Checks that are put off: accesses to pages with layers, and what becomes of them when the thread synchronises.

use alloc::vec::Vec;

use event::{AccessKind, Addr};

use super::report::report_extent;
use super::{Precise, PreciseThread, Shadow, Side, Work};
use crate::detector::Sink;
use crate::shadow::{
    Cell, Found, Layer, Numbers, PAGE_BYTES, Renewed, Rule, RuleName, Seen, Sweeps,
};
use crate::sync::HappensBefore;

impl PreciseThread {
    /// Has it checks to make before its clock changes?
    #[inline(always)]
    pub fn puts_off(&self) -> bool {
        !self.footprints.is_empty()
    }

    /// What it has accessed of the page of `addr`, if the check of that was put off.
    pub fn seen(&self, addr: Addr) -> Option<&Seen> {
        self.footprints.seen(addr)
    }
}

impl<R: Rule> Precise<R> {
    /// The same with pages that have [layers](Memory::with_layers): checks are put off.
    pub fn with_layers(mut self, credit: i32) -> Precise<R> {
        self.shadow.memory = self.shadow.memory.with_layers(credit);
        self
    }

    /// Are checks put off?
    pub fn puts_off(&self) -> bool {
        self.shadow.memory.has_layers()
    }

    /// Makes the checks that a thread has put off, which may never make them itself: the process ends.
    pub fn settle(&self, thread: &mut PreciseThread, races: Sink<'_>) {
        self.shadow.commit_all(&self.order, thread, races);
    }
}

impl<R: Rule> Work<'_, R> {
    /// Puts off the check of an access to words of the page at `base`, if it has layers.
    pub(super) fn put_off(&mut self, base: Addr, sweeps: &Sweeps, races: Sink<'_>) -> bool {
        let memory = &self.shadow.memory;
        let Some(index) = memory.layered(base) else {
            return false;
        };
        let (epoch, site) = self.thread.clock.stamp(self.order.slots(), self.site);
        loop {
            let footprints = &mut self.thread.footprints;
            let number = match footprints.find(base) {
                Some(number) => number,
                None => {
                    if footprints.are_many() {
                        self.shadow.commit_all(self.order, self.thread, races);
                    }
                    let Some(begun) = memory.begin_footprint(base, index) else {
                        return false;
                    };
                    let now = (self.thread.clock.slot(), epoch);
                    self.thread.footprints.begin(base, index, begun, now)
                }
            };
            let footprint = self.thread.footprints.get(number);
            if !footprint.is_of(epoch, memory.renewed_layers(base)) {
                self.shadow.commit(self.order, self.thread, number, races);
                continue;
            }
            let new = footprint.mark(self.kind, sweeps, site);
            self.thread.counts.add(match new {
                true => RuleName::put_off(self.kind),
                false => RuleName::same_epoch(self.kind),
            });
            return true;
        }
    }
}

impl<R: Rule> Shadow<R> {
    /// See [`Memory::all_renewed`].
    pub fn renewed(&self) -> Option<&Renewed> {
        self.memory.all_renewed()
    }

    /// Puts off the check of an access to `len` bytes at `addr`, which are on one page, from the site that has this number in
    /// [`ThreadClock::numbering`](crate::clock::ThreadClock::numbering), where that is easy: in the thread's footprint with that number, which may be another page's. Returns false if nothing was done.
    #[inline(always)]
    pub fn mark(
        &self,
        thread: &mut PreciseThread,
        footprint: usize,
        (kind, addr, len): (AccessKind, Addr, u64),
        number: u32,
    ) -> bool {
        let Some(footprint) = thread.footprints.at(footprint, addr) else {
            return false;
        };
        if !footprint.is_of(thread.clock.epoch(), self.memory.renewed_layers(addr)) {
            return false;
        }
        footprint.mark_bytes(kind, addr, len, number);
        thread.clock.stamp_again();
        thread.counts.add(RuleName::put_off(kind));
        true
    }

    /// Makes all checks that the thread has put off. Must come before its clock changes.
    #[inline(always)]
    pub fn commit_all(&self, order: &HappensBefore, thread: &mut PreciseThread, races: Sink<'_>) {
        if thread.puts_off() {
            self.commit_each(order, thread, races);
        }
    }

    #[inline(never)]
    fn commit_each(&self, order: &HappensBefore, thread: &mut PreciseThread, races: Sink<'_>) {
        for number in (0..thread.footprints.len()).rev() {
            self.commit(order, thread, number, races);
        }
    }

    /// Makes those of the pages of `len` bytes at `addr`, which are about to be made fresh.
    pub(super) fn commit_within(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        (addr, len): (Addr, u64),
        races: Sink<'_>,
    ) {
        if !thread.puts_off() || len == 0 {
            return;
        }
        let pages = addr.0 / PAGE_BYTES..=addr.0.saturating_add(len - 1) / PAGE_BYTES;
        if pages.end() - pages.start() < 4 {
            for page in pages {
                if let Some(number) = thread.footprints.find(Addr(page * PAGE_BYTES)) {
                    self.commit(order, thread, number, races);
                }
            }
            return;
        }
        for number in (0..thread.footprints.len()).rev() {
            let base = thread.footprints.get(number).base();
            if pages.contains(&(base.0 / PAGE_BYTES)) {
                self.commit(order, thread, number, races);
            }
        }
    }

    /// Makes the checks of one footprint, which is over then.
    fn commit(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        number: usize,
        races: Sink<'_>,
    ) {
        thread.counts.add(RuleName::Commit);
        let footprint = thread.footprints.get(number);
        let (base, begun) = (footprint.base(), footprint.begun);
        let (index, marks) = (footprint.index, footprint.marks());
        let layers = thread.footprints.take_layers(number);
        let mut found = Found::new();
        let mut words: Vec<Layer> = Vec::new();
        let mut page = self.memory.layers(index);
        let (split, others) = (page.is_split(), page.is_shared());
        for mut layer in layers.into_iter().flatten() {
            page.layers
                .exhume(&thread.clock, begun, &mut layer, &mut found, others);
            if split {
                words.push(layer);
            } else {
                let bits = &mut thread.footprints.bits;
                page.layers
                    .commit::<R>(&thread.clock, layer, &mut found, bits);
            }
        }
        let goes_on = split || self.memory.spend_layers(&mut page, marks);
        self.memory.end_footprint(index, page);
        if !goes_on {
            thread.counts.add(RuleName::PageSplit);
            self.memory.split_by(base, Some(&mut thread.memo));
        }
        for layer in &words {
            self.commit_words(order, thread, base, layer, races);
        }
        thread.footprints.end(number);
        for (conflict, second, extent) in found {
            let second = side_of(order, thread, second);
            report_extent(order, conflict, extent, second, base, races);
        }
    }

    /// Checks the words of a layer in a page that was split in the meantime.
    #[cold]
    fn commit_words(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        base: Addr,
        layer: &Layer,
        races: Sink<'_>,
    ) {
        let Some(page) = self.memory.page(base) else {
            return;
        };
        layer.each(&mut Numbers::new(), |word, access| {
            let site = side_of(order, thread, access).site;
            let mut work = self.work(order, thread, access.kind(), site).numbered();
            work.late = true;
            let addr = Addr(base.0 + 8 * word as u64);
            work.word(&page[word], addr, access.mask(), races);
        });
    }
}

/// An access of the thread's, as a side of a race.
fn side_of(order: &HappensBefore, thread: &PreciseThread, cell: Cell) -> Side {
    Side {
        thread: thread.clock.tid(),
        kind: cell.kind(),
        atomic: false,
        site: order.slots().site(cell.slot(), cell.site(), 0),
    }
}
