//! The shadow of eight bytes.
//!
//! ```text
//! struct Location                 16 bytes for 8 bytes of the program
//!   cells[0]   an access │ EMPTY │ LOCKED │ SHARED(i), OWNED(i), BLOCK(i), FIELDS(i), MIXED(i) → all that is remembered is in the depot
//!   cells[1]   an access │ EMPTY; never an access if the first is EMPTY
//!              beside these five: a hint, an access that somebody made and that the state answers for
//! ```
//!
//! A location remembers accesses, each with the bytes it covers. Two of them fit inline, which
//! is what nearly all memory needs: the last write and the last read, or a write of each half. More (concurrent readers, more groups
//! of bytes, atomic accesses) are in the [`Depot`]. Nothing is ever evicted.
//!
//! **Who may touch what.** Both cells are changed only by the thread that has swapped LOCKED into the first, or by a stub that exchanges two inline cells
//! for two others with one instruction (`runtime::step`), which fails if the first is LOCKED: whoever holds the lock sees no change but his own. Anybody may
//! load them at any time for the same-epoch test: a thread finds its own current epoch only in
//! a cell that it stored itself, earlier in program order, and then the access it is about to make is
//! redundant whatever has happened to the location since, see [`Location::is_redundant`]. Beside a state outside there is room for one such hint, left
//! by who recorded something last; who only reads what he has read before leaves nothing, and is answered by a table of his own ([`Settled`](super::Settled)).
//! Checking and recording happen under the lock, so of two racing accesses the later one finds the other.

#[cfg(not(loom))]
use alloc::boxed::Box;
use alloc::vec::Vec;

use event::AccessKind;
use smallvec::SmallVec;

use super::cell::{Asked, Cell, Epoch};
use super::depot::Depot;
use super::extended::Extended;
use super::fit::{Like, conflict, fit, fit_like};
use super::memo::Memo;
use super::mixed::MixedAt;
use super::outside::{
    clear_outside, discard, disown, load, outside, shareable, store, touch_block, touch_fields,
    touch_mixed, touch_outside, touch_shared,
};
use super::pages::Blank;
#[cfg(not(loom))]
use super::pages::Page;
use super::rule::Rule;
use super::settled::{Entries, known};
use super::stats::RuleName;
use crate::clock::{Slots, ThreadClock};
use crate::lock::{AtomicU64, Ordering};

/// The shadow of eight bytes.
#[derive(Debug, Default)]
#[cfg_attr(not(loom), derive(bytemuck::Zeroable))]
#[repr(C, align(16))]
pub struct Location {
    cells: [AtomicU64; 2],
}

impl Blank for Location {
    #[cfg(not(loom))]
    fn blank_page() -> Box<Page<Location>> {
        bytemuck::zeroed_box()
    }
}

#[cfg(not(loom))]
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

impl Touch {
    /// The same without the bytes for which the hint beside a state outside, the second of these cells, says that the access is redundant.
    ///
    /// [`Location::is_redundant`] has the argument, which is one for each byte. A program that goes through text by the word, a byte further each time, adds one byte to a word that it
    /// has read but for that.
    #[inline(always)]
    pub(super) fn narrowed(self, old: [Cell; 2]) -> Touch {
        let [state, hint] = old;
        let redundant = hint.is_write() || !self.cell.is_write();
        if state.is_inline() || !hint.same_epoch(self.cell) || !redundant {
            return self;
        }
        // Who looked at the hint before is not here for nothing; nobody else is sent away.
        match self.cell.without(hint.mask()) {
            Cell::EMPTY => self,
            cell => Touch { cell, ..self },
        }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touched {
    /// The rule that applied.
    pub rule: RuleName,
    /// Bytes of atomic objects that a plain write overwrote.
    pub overwritten: u8,
}

/// What the location of a page stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The whole page.
    Whole,
    /// Nothing: the page is in the table of pages with runs, by this number.
    Runs(u32),
    /// Nothing: the page is in the table of pages with layers, by this number.
    Layers(u32),
    /// Nothing: the words of the page have locations.
    Split,
}

impl Kind {
    fn of(first: Cell) -> Kind {
        match (first.as_runs(), first.as_layers()) {
            (Some(index), _) => Kind::Runs(index),
            (_, Some(index)) => Kind::Layers(index),
            _ if first == Cell::SPLIT => Kind::Split,
            _ => Kind::Whole,
        }
    }
}

impl Location {
    /// Nothing happened yet.
    pub fn new() -> Location {
        Location::default()
    }

    /// `ReadSameEpoch`, `WriteSameEpoch`: has the thread that is in `epoch` already made an access in it that makes this one
    /// redundant?
    ///
    /// Sound without the lock: if the recorded access is still the location's state, the paper's rule applies. If somebody
    /// else changed the location since, he met the recorded access, which was not ordered before his because its epoch
    /// has not ended: either the two do not conflict, or the race on these bytes is reported already.
    #[inline(always)]
    pub fn is_redundant(&self, epoch: Epoch, kind: AccessKind, mask: u8) -> bool {
        self.gives(epoch, Asked::new(kind, mask))
    }

    /// The same for what was asked.
    #[inline(always)]
    pub fn gives(&self, epoch: Epoch, asked: Asked) -> bool {
        Cell(self.cells[0].load(Ordering::Relaxed)).gives(epoch, asked)
            || Cell(self.cells[1].load(Ordering::Relaxed)).gives(epoch, asked)
    }

    /// Its cells as they are seen just now, each for itself.
    #[inline(always)]
    pub(super) fn seen(&self) -> [Cell; 2] {
        self.cells
            .each_ref()
            .map(|cell| Cell(cell.load(Ordering::Relaxed)))
    }

    /// Where its atomic accesses are if they have a block, to be brought into the cache.
    #[inline]
    pub fn near(&self, depot: &Depot) -> *const () {
        match self.seen()[0].as_mixed() {
            Some(block) => core::ptr::from_ref(depot.blocks.get(block.index)).cast(),
            None => core::ptr::null(),
        }
    }

    /// Does it remember two accesses at most, just now?
    #[inline(always)]
    pub fn is_inline(&self) -> bool {
        self.seen()[0].is_inline()
    }

    /// Does it remember two accesses at most, just now, that have all bytes of `mask`?
    #[inline(always)]
    pub(crate) fn has(&self, mask: u8) -> bool {
        let [first, second] = self.seen();
        first.is_inline() && (first.mask() | second.mask()) & mask == mask
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
        me: &mut ThreadClock,
        slots: &Slots,
        memo: &mut Memo,
        touch: Touch,
        out: &mut Vec<Conflict>,
    ) -> Touched {
        let first = self.lock();
        debug_assert!(first.is_whole(), "only pages are split or have runs");
        self.touch_locked::<R>(first, depot, me, slots, memo, touch, out)
    }

    /// The same for a plain write that is checked later than it was made: atomic accesses may be later still. They stay, and the location does not answer for the write: the thread's next one, which ends
    /// the atomic object that they are to, must meet them.
    pub fn touch_late<R: Rule>(
        &self,
        depot: &Depot,
        me: &mut ThreadClock,
        slots: &Slots,
        memo: &mut Memo,
        touch: Touch,
        out: &mut Vec<Conflict>,
    ) -> Touched {
        let first = self.lock();
        let old = [first, Cell(self.cells[1].load(Ordering::Relaxed))];
        let mut atomics = SmallVec::<[(Cell, bool); 2]>::new();
        if !first.is_inline() {
            each_of(old, depot, |cell, atomic| {
                if atomic && cell.mask() & touch.cell.mask() != 0 {
                    atomics.push((cell, true));
                }
            });
        }
        let (mut new, touched) = touch_cells::<R>(old, depot, me, slots, memo, touch, out);
        if touched.overwritten != 0 {
            let [state, _] = absorb_cells(depot, new, &atomics, touch.cell.mask());
            new = [state, Cell::EMPTY];
        }
        self.unlock(new);
        touched
    }

    /// Changes nothing, but is a write: where memory is given out when it is first touched, it is given out once, and not first to be
    /// read and then to be written.
    pub(crate) fn make_room(&self) {
        // An operation that the compiler must not take for a read.
        let [_, second] = &self.cells;
        let _ = second.compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// As [`Location::touch`], for a location that stands for a whole page; nothing is done if the page no longer is.
    pub fn touch_whole<R: Rule>(
        &self,
        depot: &Depot,
        me: &mut ThreadClock,
        slots: &Slots,
        memo: &mut Memo,
        touch: Touch,
        out: &mut Vec<Conflict>,
    ) -> Option<Touched> {
        let first = self.lock();
        if !first.is_whole() {
            self.unlock([first, Cell::EMPTY]);
            return None;
        }
        Some(self.touch_locked::<R>(first, depot, me, slots, memo, touch, out))
    }

    #[inline(always)]
    #[allow(
        clippy::too_many_arguments,
        reason = "a step takes what the thread, its slot and the depot know; a struct for it would be built at each"
    )]
    fn touch_locked<R: Rule>(
        &self,
        first: Cell,
        depot: &Depot,
        me: &mut ThreadClock,
        slots: &Slots,
        memo: &mut Memo,
        touch: Touch,
        out: &mut Vec<Conflict>,
    ) -> Touched {
        let second = Cell(self.cells[1].load(Ordering::Relaxed));
        let old = [first, second];
        let (new, touched) = touch_cells::<R>(old, depot, me, slots, memo, touch, out);
        self.unlock(new);
        touched
    }

    /// As [`Location::touch`] for the plain access `cell`, which is recorded, where that is easy: the location is inline and
    /// stays so, nobody holds it, and there is no race. Otherwise nothing is done. `like` is what the same access did elsewhere.
    #[inline(always)]
    pub(crate) fn touch_inline<R: Rule>(
        &self,
        me: &mut ThreadClock,
        slots: &Slots,
        cell: Cell,
        like: &mut Like,
    ) -> Option<RuleName> {
        let first = Cell(self.cells[0].load(Ordering::Relaxed));
        if !first.is_inline() {
            return None;
        }
        if !self.try_lock(first) {
            return None;
        }
        let second = Cell(self.cells[1].load(Ordering::Relaxed));
        let old = [first, second];
        let new = fit_like::<R>(old, cell, me, slots, like);
        self.unlock(new.unwrap_or(old));
        new.map(|_| like.rule())
    }

    /// As [`Location::touch_inline`] for the access that `like` is of, where that did something to the same cells already.
    #[inline(always)]
    pub(crate) fn touch_alike(&self, like: &Like) -> bool {
        let seen = self.seen();
        let Some(new) = like.becomes(seen) else {
            return false;
        };
        if !self.try_lock(seen[0]) {
            return false;
        }
        // The second cell may have been changed by who had the lock in between.
        let second = Cell(self.cells[1].load(Ordering::Relaxed));
        let alike = second == seen[1];
        self.unlock(if alike { new } else { [seen[0], second] });
        alike
    }

    /// As [`Location::touch`], if what the location remembers is in a block, in fields, or in a shared state from which the thread has made this step before, and nobody holds it: for an atomic access,
    /// a block that is mixed. Otherwise nothing is done.
    #[inline(always)]
    pub(crate) fn touch_in_block<R: Rule>(
        &self,
        depot: &Depot,
        me: &mut ThreadClock,
        slots: &Slots,
        memo: &mut Memo,
        touch: Touch,
        out: &mut Vec<Conflict>,
    ) -> Option<RuleName> {
        let first = Cell(self.cells[0].load(Ordering::Relaxed));
        if touch.atomic {
            let block = first.as_mixed()?;
            if !self.try_lock(first) {
                return None;
            }
            let old = [first, Cell(self.cells[1].load(Ordering::Relaxed))];
            let done = touch_mixed::<R>(old, block, depot, me, slots, memo, touch, out);
            self.unlock(done.0);
            return Some(done.1.rule);
        }
        if !first.is_plain_outside() || !self.try_lock(first) {
            return None;
        }
        let old = [first, Cell(self.cells[1].load(Ordering::Relaxed))];
        let touch = touch.narrowed(old);
        let done = if let Some(room) = first.as_fields() {
            touch_fields::<R>(old, room, depot, me, memo, touch, out)
        } else if let Some(block) = first.as_block() {
            let done = touch_block::<R>(old, block, depot, me, slots, memo, touch, out);
            Some(done)
        } else {
            touch_shared(old, depot, me, memo, touch)
        };
        self.unlock(done.map_or(old, |(new, _)| new));
        done.map(|(_, touched)| touched.rule)
    }

    /// Its block with atomic accesses, if it has one just now.
    pub fn mixed<'a>(&'a self, depot: &'a Depot) -> Option<MixedAt<'a>> {
        let first = self.seen()[0];
        let block = depot.blocks.get(first.as_mixed()?.index);
        Some(MixedAt {
            location: self,
            first,
            block,
        })
    }

    /// As [`Location::is_redundant`], for states outside: what the thread itself knows of them.
    #[inline(always)]
    pub fn is_settled(&self, settled: &Entries, epoch: Epoch, asked: Asked) -> bool {
        self.settled(settled, epoch, asked).is_some()
    }

    /// The same, and in which state.
    #[inline(always)]
    pub fn settled(&self, settled: &Entries, epoch: Epoch, asked: Asked) -> Option<Cell> {
        let first = Cell(self.cells[0].load(Ordering::Relaxed));
        let outside = !first.is_inline();
        (outside && known(settled, first).gives(epoch, asked)).then_some(first)
    }

    /// Is it in a state that another one is [settled](Location::settled) in, and so settled itself?
    #[inline(always)]
    pub fn is_in(&self, state: Cell) -> bool {
        self.cells[0].load(Ordering::Relaxed) == state.0
    }

    /// What is asked of a word by who looks at several: is the access redundant, by the location itself or by what the thread knows?
    #[inline(always)]
    pub fn is_known(&self, settled: &Entries, epoch: Epoch, asked: Asked) -> bool {
        self.gives(epoch, asked) || self.is_settled(settled, epoch, asked)
    }

    /// Makes all bytes fresh, if it remembers two accesses at most and nobody holds it. Otherwise nothing is done.
    #[inline(always)]
    pub(crate) fn clear_inline(&self) -> bool {
        let first = Cell(self.cells[0].load(Ordering::Relaxed));
        if first.is_empty() {
            return true;
        }
        if !first.is_access() || !self.try_lock(first) {
            return false;
        }
        self.unlock([Cell::EMPTY; 2]);
        true
    }

    /// Makes the bytes of `mask` fresh. Returns those of atomic objects among them.
    #[inline]
    pub fn clear(&self, depot: &Depot, mask: u8) -> u8 {
        if self.is_untouched() {
            return 0;
        }
        let first = self.lock();
        let second = Cell(self.cells[1].load(Ordering::Relaxed));
        let (new, overwritten) = clear_cells(depot, [first, second], mask);
        self.unlock(new);
        overwritten
    }

    /// For the location of a page: which runs it has, if it has some just now.
    #[inline(always)]
    pub(super) fn as_runs(&self) -> Option<u32> {
        Cell(self.cells[0].load(Ordering::Acquire)).as_runs()
    }

    /// For the location of a page: what it is now, while nobody changes it.
    pub(super) fn kind(&self) -> Kind {
        let mut round = 0;
        loop {
            match Cell(self.cells[0].load(Ordering::Acquire)) {
                Cell::LOCKED => crate::lock::relax(round),
                first => return Kind::of(first),
            }
            round += 1;
        }
    }

    /// For the location of a page that is whole: `f` gets its cells, and what becomes of the page is what it returns. Nothing
    /// is done to a page that is not whole.
    pub(super) fn divide(&self, depot: &Depot, f: impl FnOnce([Cell; 2]) -> Cell) {
        let first = self.lock();
        if !first.is_whole() {
            return self.unlock([first, Cell::EMPTY]);
        }
        let second = Cell(self.cells[1].load(Ordering::Relaxed));
        let becomes = f(shareable(depot, [first, second]));
        self.unlock([becomes, Cell::EMPTY]);
    }

    /// For the location of a page that has runs or layers: `f` is told which, and what becomes of the page is what it returns. Nothing is done to one that has none.
    pub(super) fn change(&self, f: impl FnOnce(Kind) -> Cell) {
        let first = self.lock();
        if let kind @ (Kind::Runs(_) | Kind::Layers(_)) = Kind::of(first) {
            let becomes = f(kind);
            return self.unlock([becomes, Cell::EMPTY]);
        }
        let second = Cell(self.cells[1].load(Ordering::Relaxed));
        self.unlock([first, second]);
    }

    /// A location with these cells.
    pub(super) fn with_cells(cells: [Cell; 2]) -> Location {
        Location {
            cells: cells.map(|cell| AtomicU64::new(cell.0)),
        }
    }

    /// Makes a whole page fresh. Returns false if it no longer is whole.
    pub(crate) fn clear_whole(&self, depot: &Depot) -> bool {
        let first = self.lock();
        if !first.is_whole() {
            self.unlock([first, Cell::EMPTY]);
            return false;
        }
        self.unlock([Cell::EMPTY; 2]);
        discard(depot, [first, Cell::EMPTY]);
        true
    }

    /// Calls `f` with each access remembered, and whether it is atomic.
    pub fn each(&self, depot: &Depot, f: impl FnMut(Cell, bool)) {
        let first = self.lock();
        let second = Cell(self.cells[1].load(Ordering::Relaxed));
        each_of([first, second], depot, f);
        self.unlock([first, second]);
    }

    /// One with the same past, made by who has this one alone.
    pub(crate) fn copy(&self, depot: &Depot) -> Location {
        let cells = self.cells.each_ref();
        let cells = cells.map(|cell| Cell(cell.load(Ordering::Relaxed)));
        if cells[0].is_inline() {
            return Location::with_cells(cells);
        }
        let copy = Location::new();
        copy.absorb(depot, &self.history(depot), 0xFF);
        copy
    }

    /// All accesses remembered, and whether each is atomic.
    pub(crate) fn history(&self, depot: &Depot) -> SmallVec<[(Cell, bool); 2]> {
        let mut all = SmallVec::new();
        self.each(depot, |cell, atomic| all.push((cell, atomic)));
        all
    }

    /// Takes over the accesses of another location's `history` for the bytes of `mask`, which are fresh here.
    pub(crate) fn absorb(&self, depot: &Depot, history: &[(Cell, bool)], mask: u8) {
        if history.is_empty() {
            return;
        }
        let first = self.lock();
        let second = Cell(self.cells[1].load(Ordering::Relaxed));
        self.unlock(absorb_cells(depot, [first, second], history, mask));
    }

    /// As [`Location::absorb`], for a location that stands for a whole page and plain accesses. Returns false if the page was
    /// divided: nothing was done.
    pub(crate) fn absorb_whole(&self, depot: &Depot, history: &[(Cell, bool)]) -> bool {
        let first = self.lock();
        let fresh = first.is_empty();
        if !fresh {
            debug_assert!(!first.is_whole(), "the page was fresh");
            self.unlock([first, Cell(self.cells[1].load(Ordering::Relaxed))]);
            return false;
        }
        let flat: Vec<Cell> = history.iter().map(|&(cell, _)| cell).collect();
        self.unlock(outside(depot, &flat));
        true
    }

    /// Swaps LOCKED into the first cell and returns what was there.
    #[inline]
    fn lock(&self) -> Cell {
        let seen = Cell(self.cells[0].load(Ordering::Relaxed));
        if seen != Cell::LOCKED && self.try_lock(seen) {
            return seen;
        }
        self.lock_contended()
    }

    /// Swaps LOCKED into the first cell if it is `seen` still.
    #[inline(always)]
    pub(super) fn try_lock(&self, seen: Cell) -> bool {
        let locked = Cell::LOCKED.0;
        self.cells[0]
            .compare_exchange(seen.0, locked, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
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
    pub(super) fn unlock(&self, cells: [Cell; 2]) {
        self.cells[1].store(cells[1].0, Ordering::Relaxed);
        self.cells[0].store(cells[0].0, Ordering::Release);
    }
}

/// What the cells of a location become by an access of `me`, which is checked against all that they remember.
#[inline(always)]
pub(crate) fn touch_cells<R: Rule>(
    old: [Cell; 2],
    depot: &Depot,
    me: &mut ThreadClock,
    slots: &Slots,
    memo: &mut Memo,
    touch: Touch,
    out: &mut Vec<Conflict>,
) -> ([Cell; 2], Touched) {
    if touch.atomic
        && let Some(block) = old[0].as_mixed()
    {
        return touch_mixed::<R>(old, block, depot, me, slots, memo, touch, out);
    }
    if !old[0].is_inline() || touch.atomic {
        return touch_outside::<R>(old, depot, me, slots, memo, touch, out);
    }
    let raced = out.len();
    let fits = fit::<R>(old, touch.cell, touch.record, me, slots, |old, mask| {
        conflict(out, old, false, mask);
    });
    let Some((cells, rule)) = fits else {
        // The races, if any, will be found again.
        out.truncate(raced);
        return touch_outside::<R>(old, depot, me, slots, memo, touch, out);
    };
    let touched = Touched {
        rule,
        overwritten: 0,
    };
    (cells, touched)
}

/// Calls `f` with each access that the cells of a location remember, and whether it is atomic. Who calls has it locked.
fn each_of([first, second]: [Cell; 2], depot: &Depot, mut f: impl FnMut(Cell, bool)) {
    if let Some(index) = first.as_owned() {
        depot.with_owned(index, |extended| extended.each(f));
    } else if let Some(block) = first.as_block() {
        depot.blocks.get(block.index).each(|cell| f(cell, false));
    } else if let Some(room) = first.as_fields() {
        room.each(depot, |cell| f(cell, false));
    } else if let Some(block) = first.as_mixed() {
        let block = depot.blocks.get(block.index);
        block.each(|cell| f(cell, false));
        block.atomics().for_each(|cell| f(cell, true));
    } else if let Some(index) = first.as_shared() {
        depot.cells(index).iter().for_each(|&cell| f(cell, false));
    } else {
        for cell in [first, second].into_iter().filter(|c| !c.is_empty()) {
            f(cell, false);
        }
    }
}

/// The cells of a location that remembers this history, too, for the bytes of `mask`.
pub(super) fn absorb_cells(
    depot: &Depot,
    [first, second]: [Cell; 2],
    history: &[(Cell, bool)],
    mask: u8,
) -> [Cell; 2] {
    if first.is_empty() && history.len() <= 2 && history.iter().all(|&(_, atomic)| !atomic) {
        let cell = |i: usize| history.get(i).map_or(Cell::EMPTY, |old| old.0.only(mask));
        let (a, b) = (cell(0), cell(1));
        return if a.is_empty() { [b, a] } else { [a, b] };
    }
    let mut all = disown(depot, first).unwrap_or_else(|| {
        let mut all = Extended::default();
        load(depot, [first, second], &mut all);
        all
    });
    for &(cell, atomic) in history {
        all.insert(cell.only(mask), atomic);
    }
    let new = store(depot, all);
    if let Some(index) = first.as_shared() {
        depot.let_go(index, 1);
    }
    new
}

/// What the cells of a location become when the bytes of `mask` are made fresh, and those of atomic objects among them.
#[inline]
pub(super) fn clear_cells(depot: &Depot, old: [Cell; 2], mask: u8) -> ([Cell; 2], u8) {
    if !old[0].is_inline() {
        return clear_outside(depot, old, mask);
    }
    let [a, b] = old.map(|cell| cell.without(mask));
    (if a.is_empty() { [b, a] } else { [a, b] }, 0)
}
