//! Ranges that are accessed in the same way again and again: rows of a matrix, in one epoch after the other.
//!
//! Each of their pages is whole, and so is the row's part of it; or it has runs, and their words in it are a lane of its own, which the page remembers ([`Memory::again`](crate::shadow::Memory)). Then a page is one look and one step
//! under its lock. All that is not as simple as that is left to [`Shadow::range`], which may find a part of it done already.

use event::{AccessKind, Addr};

use super::{PreciseThread, Shadow};
use crate::clock::{Slot, Slots, ThreadClock};
use crate::shadow::{
    Ahead, Asked, Cell, Comb, Epoch, Like, Location, Part, Range, Rule, RuleName, Watch, fit_anew,
};
use crate::sync::HappensBefore;

/// After so many ranges in a row that were not as simple as that …
const VAIN: u32 = 16;
/// … so many are not looked at.
const WAIT: u32 = 31;

/// Whether there are such ranges: a matrix that is factorised has none.
#[derive(Debug, Default)]
pub(super) struct Hope {
    /// Ranges in a row that were none.
    in_vain: u32,
    wait: u32,
}

impl Hope {
    fn is_gone(&mut self) -> bool {
        let gone = self.wait > 0;
        self.wait -= u32::from(gone);
        gone
    }

    fn is_fulfilled(&mut self, done: bool) -> bool {
        self.in_vain = if done { 0 } else { self.in_vain + 1 };
        if self.in_vain > VAIN {
            self.in_vain = VAIN;
            self.wait = WAIT;
        }
        done
    }
}

/// The rows that a thread goes through: which will be next, if they are equally far from each other?
///
/// Rows that pass from thread to thread have their shadow in another core's cache, and to wait for it was a third of the time of a matrix that is factorised. So what a row needs is asked for when
/// the thread is two rows before it, and what that leads to when it is one row before. No verdict depends on it; a row that never comes costs the time of asking.
#[derive(Debug, Default)]
pub(super) struct Rows {
    last: u64,
    distance: u64,
}

impl Rows {
    /// The thread has accessed this row. How far is it to the next one?
    #[inline(always)]
    fn next(&mut self, words: Comb) -> Option<u64> {
        let distance = words.first.0.wrapping_sub(self.last);
        // A row of a triangle begins a word later than the one before it.
        let steady = distance != 0 && distance.wrapping_sub(self.distance).wrapping_add(8) <= 16;
        (self.last, self.distance) = (words.first.0, distance);
        steady.then_some(distance)
    }
}

impl PreciseThread {
    /// Will [`Shadow::access_again`] want to know the number of a site the next time?
    pub fn asks_for_numbers(&self) -> bool {
        self.hope.wait == 0
    }
}

/// An element that is about to be read, to be remembered.
#[derive(Clone, Copy, Debug)]
pub struct Scatter<const SHIFT: u32> {
    addr: Addr,
    epoch: Epoch,
    watch: Watch,
}

impl<R: Rule> Shadow<R> {
    /// How many of the first of these elements, of 2 to the power of `SHIFT` bytes each, need not be read again: the thread has [remembered](Shadow::keep_scattered) that it did, in its
    /// epoch.
    #[inline(always)]
    pub fn scattered<const SHIFT: u32>(&self, thread: &PreciseThread, list: &[usize]) -> usize {
        let epoch = thread.clock.epoch();
        self.memory.scattered::<SHIFT>(&thread.repeats, list, epoch)
    }

    /// The thread is about to read an element, and wants to remember it.
    #[inline]
    pub fn begin_scattered<const SHIFT: u32>(
        &self,
        thread: &PreciseThread,
        addr: Addr,
    ) -> Scatter<SHIFT> {
        Scatter {
            addr,
            epoch: thread.clock.epoch(),
            watch: self.memory.watch(addr),
        }
    }

    /// It did.
    #[inline]
    pub fn keep_scattered<const SHIFT: u32>(
        &self,
        thread: &mut PreciseThread,
        read: Scatter<SHIFT>,
    ) {
        // A thread that went on in another slot has recorded it there.
        if thread.clock.records_all() && thread.clock.epoch() == read.epoch {
            let (repeats, epoch) = (&mut thread.repeats, read.epoch);
            self.memory
                .keep_scattered::<SHIFT>(repeats, read.addr, epoch, read.watch);
        }
    }

    /// A plain access to these words, all of them whole, as [`Shadow::range`] makes it, if it is as simple as that: from the site that has this `number` in the thread's slot, if
    /// it has one. Returns false if it is not done, or in part. Lines of the cache that the next rows will need, if there is an order in them, are told to `ask`.
    #[inline(always)]
    pub fn access_again(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        kind: AccessKind,
        words: Comb,
        number: impl FnOnce(Slot) -> Option<u32>,
        ask: impl Fn(*const ()),
    ) -> bool {
        debug_assert!(words.mask == 0xFF, "whole words");
        // An access that was only checked may take away what is remembered.
        if !thread.clock.records_all() || words.count < self.memory.long() {
            return false;
        }
        let epoch = thread.clock.epoch();
        let range = match kind {
            AccessKind::Read => self.memory.range_of(words),
            AccessKind::Write => None,
        };
        let kept = range.and_then(|range| thread.repeats.kept(range, epoch));
        if let (Some(range), Some(kept)) = (range, kept)
            && self.memory.is_in(kept, range)
        {
            thread.counts.add(RuleName::RangeSameEpoch);
            return true;
        }
        if thread.hope.is_gone() && self.memory.long() > 1 {
            return false;
        }
        let Some(number) = thread.clock.numbering().and_then(number) else {
            return false;
        };
        if let Some(distance) = thread.rows[kind as usize].next(words) {
            for (rows, what) in [(2, Ahead::Page), (1, Ahead::Lane)] {
                let first = words.first.0.wrapping_add(distance.wrapping_mul(rows));
                let first = Addr(first);
                self.memory.ask(Comb { first, ..words }, what, &ask);
            }
        }
        let Some(range) = range else {
            let done = self.lanes(order, thread, kind, words, number);
            return thread.hope.is_fulfilled(done);
        };
        let read = self.memory.begin_read(range, epoch);
        let done = match kept.and_then(|kept| self.memory.rest(kept, range)) {
            None => self.lanes(order, thread, kind, words, number),
            Some([before, behind]) => {
                let mut lanes = |part: Range| {
                    let words = part.words(words);
                    words.is_some_and(|words| self.lanes(order, thread, kind, words, number))
                };
                before.is_none_or(&mut lanes) && behind.is_none_or(&mut lanes)
            }
        };
        if done {
            thread.repeats.keep(read, epoch);
        }
        thread.hope.is_fulfilled(done)
    }

    /// Words of pages with runs, each page's a lane of it, and of whole pages.
    #[inline(never)]
    fn lanes(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        kind: AccessKind,
        words: Comb,
        number: u32,
    ) -> bool {
        let epoch = thread.clock.stamp_again();
        let asked = Asked::new(kind, 0xFF);
        let cell = Cell::new(epoch, kind, 0xFF, number);
        let (clock, likes) = (&mut thread.clock, &mut thread.likes[kind as usize]);
        let slots = order.slots();
        let (mut repeated, mut whole) = (0, 0);
        // Words of a row in one piece may be accessed besides.
        let hint = (kind == AccessKind::Write && words.period == 1).then_some(epoch);
        let pages = self.memory.again(words, hint, |part| match part {
            Part::Lane {
                cells: lane,
                single,
            } => {
                // What is at the end of a row is unlike the rest.
                let like = &mut likes[usize::from(single)];
                if let Some(new) = like.again(*lane, cell) {
                    *lane = new;
                    return true;
                }
                if lane[0].gives(epoch, asked) || lane[1].gives(epoch, asked) {
                    repeated += 1;
                    return true;
                }
                touch::<R>(lane, cell, clock, slots, like)
            }
            Part::Whole(location) => {
                whole += 1;
                touch_whole::<R>(location, cell, asked, clock, slots, &mut likes[0])
            }
        });
        if let Some(pages) = pages {
            let again = pages - repeated - whole;
            thread.counts.add_many(RuleName::RunSameEpoch, repeated);
            thread.counts.add_many(RuleName::RunAgain, again);
            thread.counts.add_many(RuleName::WholePage, whole);
        }
        pages.is_some()
    }
}

/// The access to a lane that is unlike the last one.
#[inline(never)]
fn touch<R: Rule>(
    lane: &mut [Cell; 2],
    cell: Cell,
    clock: &mut ThreadClock,
    slots: &Slots,
    like: &mut Like,
) -> bool {
    let new = fit_anew::<R>(*lane, cell, clock, slots, like);
    new.is_some_and(|new| {
        *lane = new;
        true
    })
}

/// The access to a page that is whole.
#[inline(never)]
fn touch_whole<R: Rule>(
    location: &Location,
    cell: Cell,
    asked: Asked,
    clock: &mut ThreadClock,
    slots: &Slots,
    like: &mut Like,
) -> bool {
    like.is_of(cell) && location.touch_alike(like)
        || location.gives(clock.epoch(), asked)
        || location
            .touch_inline::<R>(clock, slots, cell, like)
            .is_some()
}
