//! The shadow of eight bytes.
//!
//! ```text
//! struct Location                 16 bytes for 8 bytes of the program
//!   cells[0]   an access │ EMPTY │ LOCKED │ EXTENDED(i) → everything is in extended(i)
//!   cells[1]   an access │ EMPTY
//! ```
//!
//! A location remembers accesses, each with the bytes it covers. Two of them fit inline, which
//! is what nearly all memory needs: the last write and the last read, or a write of each half. More (concurrent readers, more groups
//! of bytes, atomic accesses) live in an [`Extended`]. Nothing is ever evicted.
//!
//! **Who may touch what.** Both cells are changed only by the thread that has swapped LOCKED into the first. Anybody may
//! load them at any time for the same-epoch test: a thread finds its own current epoch only in
//! a cell that it stored itself, earlier in program order, and then the access it is about to make is
//! redundant whatever has happened to the location since, see [`Location::is_redundant`].
//! Checking and recording happen under the lock, so of two racing accesses the later one finds the other.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use event::AccessKind;

use super::cell::{Cell, Epoch};
use super::extended::{Depot, Extended};
use super::rule::Rule;
use super::stats::RuleName;
use crate::clock::ThreadClock;

/// The shadow of eight bytes.
#[derive(Debug, Default)]
#[repr(C, align(16))]
pub struct Location {
    cells: [AtomicU64; 2],
}

const _: () = assert!(size_of::<Location>() == 16);

/// A remembered access that races with the one just made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The remembered access.
    pub old: Cell,
    /// Was it atomic?
    pub atomic: bool,
    /// Which bytes are shared.
    pub mask: u8,
}

/// What an access does to a location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The access, as it will be remembered.
    pub cell: Cell,
    /// Is it atomic?
    pub atomic: bool,
    /// Remember it? If not, it is checked and supersedes what it supersedes, but leaves no trace (Pacer outside of
    /// sampling periods).
    pub record: bool,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touched {
    /// The rule that applied.
    pub rule: RuleName,
    /// Bytes of atomic objects that a plain write overwrote.
    pub overwritten: u8,
}

impl Location {
    /// Nothing happened yet.
    pub const fn new() -> Location {
        Location {
            cells: [const { AtomicU64::new(0) }; 2],
        }
    }

    /// `ReadSameEpoch`, `WriteSameEpoch`: has the thread that is in `epoch` already made an access in it that makes this one
    /// redundant?
    ///
    /// Sound without the lock: if the recorded access is still the location's state, the paper's rule applies. If somebody
    /// else changed the location since, he met the recorded access, which was not ordered before his because its epoch
    /// has not ended: either the two do not conflict, or the race on these bytes is reported already.
    #[inline(always)]
    pub fn is_redundant(&self, epoch: Epoch, kind: AccessKind, mask: u8) -> bool {
        Cell(self.cells[0].load(Ordering::Relaxed)).answers(epoch, kind, mask)
            || Cell(self.cells[1].load(Ordering::Relaxed)).answers(epoch, kind, mask)
    }

    /// Was it never accessed since it was last cleared?
    #[inline]
    pub fn is_untouched(&self) -> bool {
        self.cells[0].load(Ordering::Relaxed) == 0
    }

    /// Checks an access by `me` against all that is remembered, and remembers it.
    #[inline]
    pub fn touch<R: Rule>(
        &self,
        depot: &Depot,
        me: &ThreadClock,
        touch: Touch,
        out: &mut Vec<Conflict>,
    ) -> Touched {
        let first = self.lock();
        let second = Cell(self.cells[1].load(Ordering::Relaxed));
        let extended = first.as_extended();
        if extended.is_some() || touch.atomic {
            return self.touch_extended::<R>(depot, me, touch, [first, second], out);
        }
        let mut new = touch.cell;
        let before = out.len();
        let a = step::<R>(first, &mut new, me, out);
        let b = step::<R>(second, &mut new, me, out);
        let raced = out.len() != before;
        let (a, b) = if a.is_empty() { (b, a) } else { (a, b) };
        let rule = rule_inline(touch.cell, new, [a, b], raced);
        let new = if touch.record { new } else { Cell::EMPTY };
        let cells = if new.mask() == 0 {
            [a, b]
        } else if a.is_empty() {
            [new, b]
        } else if let Some(merged) = a.merged(new) {
            [merged, b]
        } else if b.is_empty() {
            [a, new]
        } else if let Some(merged) = b.merged(new) {
            [a, merged]
        } else {
            return self.extend(depot, [a, b], new, rule);
        };
        self.unlock(cells);
        Touched {
            rule,
            overwritten: 0,
        }
    }

    /// Two cells are not enough any more.
    #[cold]
    fn extend(&self, depot: &Depot, cells: [Cell; 2], new: Cell, rule: RuleName) -> Touched {
        let index = depot.take();
        let mut extended = depot.get(index).lock();
        for cell in cells.into_iter().chain([new]) {
            extended.insert(cell, false);
        }
        drop(extended);
        self.unlock([Cell::extended(index), Cell::EMPTY]);
        Touched {
            rule,
            overwritten: 0,
        }
    }

    #[cold]
    #[inline(never)]
    fn touch_extended<R: Rule>(
        &self,
        depot: &Depot,
        me: &ThreadClock,
        touch: Touch,
        cells: [Cell; 2],
        out: &mut Vec<Conflict>,
    ) -> Touched {
        let index = match cells[0].as_extended() {
            Some(index) => index,
            None => {
                let index = depot.take();
                let mut fresh = depot.get(index).lock();
                for cell in cells {
                    fresh.insert(cell, false);
                }
                index
            }
        };
        let mut extended = depot.get(index).lock();
        let touched = extended.touch::<R>(me, touch, out);
        self.put_back(depot, index, &mut extended);
        touched
    }

    /// Unlocks with the extended state, or without it if it fits inline again.
    fn put_back(&self, depot: &Depot, index: u32, extended: &mut Extended) {
        match extended.inline() {
            Some(cells) => {
                *extended = Extended::default();
                depot.give_back(index);
                self.unlock(cells);
            }
            None => self.unlock([Cell::extended(index), Cell::EMPTY]),
        }
    }

    /// Makes the bytes of `mask` fresh. Returns those of atomic objects among them.
    pub fn clear(&self, depot: &Depot, mask: u8) -> u8 {
        if self.is_untouched() {
            return 0;
        }
        let first = self.lock();
        match first.as_extended() {
            None => {
                let second = Cell(self.cells[1].load(Ordering::Relaxed));
                let (a, b) = (first.without(mask), second.without(mask));
                self.unlock(if a.is_empty() { [b, a] } else { [a, b] });
                0
            }
            Some(index) => {
                let mut extended = depot.get(index).lock();
                let overwritten = extended.clear(mask);
                self.put_back(depot, index, &mut extended);
                overwritten
            }
        }
    }

    /// Calls `f` with each access remembered, and whether it is atomic.
    pub fn each(&self, depot: &Depot, mut f: impl FnMut(Cell, bool)) {
        let first = self.lock();
        let second = Cell(self.cells[1].load(Ordering::Relaxed));
        match first.as_extended() {
            Some(index) => depot.get(index).lock().each(f),
            None => {
                for cell in [first, second].into_iter().filter(|c| !c.is_empty()) {
                    f(cell, false);
                }
            }
        }
        self.unlock([first, second]);
    }

    /// Swaps LOCKED into the first cell and returns what was there.
    #[inline]
    fn lock(&self) -> Cell {
        let seen = self.cells[0].load(Ordering::Relaxed);
        if seen != Cell::LOCKED.0
            && self.cells[0]
                .compare_exchange(seen, Cell::LOCKED.0, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        {
            return Cell(seen);
        }
        self.lock_contended()
    }

    #[cold]
    fn lock_contended(&self) -> Cell {
        let mut round = 0;
        loop {
            let seen = self.cells[0].load(Ordering::Relaxed);
            if seen != Cell::LOCKED.0
                && self.cells[0]
                    .compare_exchange_weak(
                        seen,
                        Cell::LOCKED.0,
                        Ordering::Acquire,
                        Ordering::Relaxed,
                    )
                    .is_ok()
            {
                return Cell(seen);
            }
            crate::lock::relax(round);
            round += 1;
        }
    }

    /// Stores the new state; the first cell, last, ends the lock.
    #[inline]
    fn unlock(&self, cells: [Cell; 2]) {
        self.cells[1].store(cells[1].0, Ordering::Relaxed);
        self.cells[0].store(cells[0].0, Ordering::Release);
    }
}

/// Holds `new` against one remembered plain access. Returns what is left of `old`; what of `new` needs no record is
/// taken from it.
#[inline(always)]
pub(super) fn step<R: Rule>(
    old: Cell,
    new: &mut Cell,
    me: &ThreadClock,
    out: &mut Vec<Conflict>,
) -> Cell {
    let shared = old.mask() & new.mask();
    if shared == 0 {
        return old;
    }
    if old.same_epoch(*new) && R::subsumes(old, *new) {
        *new = new.without(shared);
        return old;
    }
    let ordered = me.covers(old.slot(), old.time());
    if !ordered && (old.is_write() || new.is_write()) {
        conflict(out, old, false, shared);
    }
    if R::supersedes(old, *new, ordered) {
        old.without(shared)
    } else {
        old
    }
}

#[cold]
pub(super) fn conflict(out: &mut Vec<Conflict>, old: Cell, atomic: bool, mask: u8) {
    out.push(Conflict { old, atomic, mask });
}

/// Which of FastTrack's rules was that? `left`: what of the access still needs a record; `kept`: what is
/// remembered beside it.
#[inline(always)]
fn rule_inline(access: Cell, left: Cell, kept: [Cell; 2], _raced: bool) -> RuleName {
    if access.is_write() {
        if left.is_empty() {
            RuleName::WriteSameEpoch
        } else {
            RuleName::WriteExclusive
        }
    } else if left.is_empty() {
        RuleName::ReadSameEpoch
    } else if kept
        .iter()
        .any(|old| !old.is_write() && old.mask() & left.mask() != 0)
    {
        RuleName::ReadShare
    } else {
        RuleName::ReadExclusive
    }
}
