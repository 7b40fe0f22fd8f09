//! A few accesses to eight bytes, in one line of the cache: what a word needs that several threads read at a time, in many epochs, or that is atomic.
//!
//! ```text
//! struct Block                    64 bytes
//!   cells[8]   plain accesses, in no order; then EMPTY
//!              if it is *mixed*: at least one EMPTY, then atomic accesses up to the end (`mixed`)
//!              of a block that nobody has: a link
//! ```
//!
//! Words that several threads read at the same time are mostly alike, and share a state as long as that pays; see `Memo`. Where it does not, a location owns its block and changes it in
//! place. What is more than a block holds is an `Extended`; what has no two readers at a time, however many fields, is in [`Fields`](super::fields::Fields), which have the
//! same room.
//!
//! **Who may touch what.** Only who has the location locked that has the block. So all of it may be relaxed: the location's lock, or that of the
//! list of free blocks, orders what two threads do to it.

use alloc::vec::Vec;

use super::cell::Cell;
use super::fit::{conflict, merge, step, step_if};
use super::location::Conflict;
use super::pool::Pooled;
use super::rule::Rule;
use super::stats::RuleName;
use crate::clock::{Slot, Slots, ThreadClock};
use crate::lock::{AtomicU64, Ordering};

/// How many accesses fit.
pub(super) const ROOM: usize = 8;

/// In each so-manieth epoch a thread that is among the readers of a word looks at the other ones, to forget those that happened before it; otherwise at its own reads
/// only (FastTrack's `ReadShared`): readers that used to come together may take turns now, and a location that remembers one of them is inline.
pub(super) const TURN: u32 = 8;

/// A few accesses to eight bytes.
#[derive(Debug, Default)]
#[cfg_attr(not(loom), derive(bytemuck::Zeroable))]
#[repr(C, align(64))]
pub(super) struct Block {
    pub(super) cells: [AtomicU64; ROOM],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Block>() == 64);

impl Pooled for Block {
    fn first(&self) -> &AtomicU64 {
        &self.cells[0]
    }
}

/// What an access left of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Left {
    /// What a block is for.
    Some,
    /// So little that it fits into a location.
    Few([Cell; 2]),
    /// All of its room is taken, and this access is not recorded yet.
    More(Cell),
}

impl Block {
    #[inline]
    pub(super) fn get(&self, at: usize) -> Cell {
        Cell(self.cells[at].load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn set(&self, at: usize, cell: Cell) {
        self.cells[at].store(cell.0, Ordering::Relaxed);
    }

    /// The plain accesses.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = Cell> {
        let all = (0..ROOM).map(|at| self.get(at));
        all.take_while(|cell| !cell.is_empty())
    }

    /// The plain accesses.
    pub(super) fn each(&self, mut f: impl FnMut(Cell)) {
        self.iter().for_each(&mut f);
    }

    /// Replaces all by the plain accesses `cells`, of which there are not too many.
    pub(super) fn load(&self, cells: &[Cell]) {
        let mut given = cells.iter().filter(|cell| !cell.is_empty());
        for at in 0..ROOM {
            self.set(at, given.next().copied().unwrap_or_default());
        }
        debug_assert!(given.next().is_none());
    }

    /// There are `count`.
    fn left(&self, count: usize) -> Left {
        match count {
            0 => Left::Few([Cell::EMPTY; 2]),
            1 => Left::Few([self.get(0), Cell::EMPTY]),
            2 => Left::Few([self.get(0), self.get(1)]),
            _ => Left::Some,
        }
    }

    /// Checks a plain access by `me` against the plain ones, of which there may be up to `room`, and remembers it if it is recorded.
    #[inline(always)]
    pub(super) fn touch<R: Rule>(
        &self,
        me: &mut ThreadClock,
        slots: &Slots,
        access: Cell,
        record: bool,
        room: usize,
        out: &mut Vec<Conflict>,
    ) -> (RuleName, Left) {
        if record && self.is_of(access.slot()) {
            return self.touch_own::<R>(me, slots, access, room);
        }
        self.touch_any::<R>(me, slots, access, record, room, out)
    }

    /// Are all plain accesses by this slot?
    #[inline(always)]
    fn is_of(&self, slot: Slot) -> bool {
        // A loop that is unrolled, which `all` is not everywhere.
        for at in 0..ROOM {
            let old = self.get(at);
            if old.is_empty() {
                break;
            }
            if old.slot() != slot {
                return false;
            }
        }
        true
    }

    /// The same for a word that nobody else has accessed: all is ordered, and nothing races.
    #[inline(always)]
    fn touch_own<R: Rule>(
        &self,
        me: &mut ThreadClock,
        slots: &Slots,
        access: Cell,
        room: usize,
    ) -> (RuleName, Left) {
        let mut new = access;
        let mut count = 0;
        let mut kept = 0;
        let mut same = None;
        while count < ROOM {
            let old = self.get(count);
            if old.is_empty() {
                break;
            }
            count += 1;
            let left = step_if::<R>(old, &mut new, || true, &mut |_, _| {});
            if left.is_empty() {
                continue;
            }
            if left.same_but_site(access) {
                same = Some(kept);
            }
            self.set(kept % ROOM, left);
            kept += 1;
        }
        let rule = rule(access, new, 0, false);
        self.record(me, slots, new, same, (kept, count), room)
            .map_or_else(|| (rule, Left::More(new)), |left| (rule, left))
    }

    /// Adds what is `new` to the `kept` accesses, of `count` that were there before: to the one that is the `same` but for site and bytes, if there is one and the
    /// two can be one. None if there is no room.
    #[inline(always)]
    fn record(
        &self,
        me: &mut ThreadClock,
        slots: &Slots,
        new: Cell,
        same: Option<usize>,
        (mut kept, count): (usize, usize),
        room: usize,
    ) -> Option<Left> {
        if !new.is_empty() {
            let merged =
                same.and_then(|at| Some((at, merge(self.get(at % ROOM), new, me, slots)?)));
            if let Some((at, merged)) = merged {
                self.set(at, merged);
            } else if kept < room {
                self.set(kept, new);
                kept += 1;
            } else {
                return None;
            }
        }
        (kept..count).for_each(|at| self.set(at, Cell::EMPTY));
        Some(self.left(kept))
    }

    /// The same for any word.
    #[inline(never)]
    fn touch_any<R: Rule>(
        &self,
        me: &mut ThreadClock,
        slots: &Slots,
        access: Cell,
        record: bool,
        room: usize,
        out: &mut Vec<Conflict>,
    ) -> (RuleName, Left) {
        let mut new = access;
        let mut count = 0;
        let mut kept = 0;
        let mut readers = 0;
        let mut same = None;
        let mut among = None;
        let mut reader = false;
        let is_own = |old: Cell| !old.is_write() && old.slot() == access.slot();
        // Is the thread among the readers, and not to look at the others in this epoch? What is before `at` has changed already.
        let is_among = |reader: bool, at: usize| {
            !access.is_write()
                && !access.time().0.is_multiple_of(TURN)
                && (reader
                    || (at..ROOM)
                        .map(|at| self.get(at))
                        .take_while(|cell| !cell.is_empty())
                        .any(is_own))
        };
        for at in 0..ROOM {
            let old = self.get(at);
            if old.is_empty() {
                break;
            }
            count = at + 1;
            let mut left = old;
            reader |= is_own(old);
            // Most accesses in a block are to other bytes.
            if old.mask() & access.mask() != 0 {
                let other = !old.is_write() && old.slot() != access.slot();
                // Other readers matter to no read; forgetting them is a matter of room.
                if !(other && *among.get_or_insert_with(|| is_among(reader, at))) {
                    left = step::<R>(old, &mut new, me, &mut |old, mask| {
                        conflict(out, old, false, mask);
                    });
                }
                // Those that a write supersedes are counted, those that a read does are not.
                let seen = if access.is_write() { old } else { left };
                readers += usize::from(other && seen.mask() & access.mask() != 0);
                if left.is_empty() {
                    continue;
                }
            }
            if left.same_but_site(access) {
                same = Some(kept);
            }
            if kept != at || left != old {
                self.set(kept, left);
            }
            kept += 1;
        }
        let known = among == Some(true);
        let rule = rule(access, new, readers, known);
        let new = if record { new } else { Cell::EMPTY };
        self.record(me, slots, new, same, (kept, count), room)
            .map_or_else(|| (rule, Left::More(new)), |left| (rule, left))
    }
}

/// Which of FastTrack's rules was that? `left`: what of the access still needs a record; `readers`: how many reads by others there are of its bytes; `known`: is the thread among
/// the readers?
#[inline(always)]
fn rule(access: Cell, left: Cell, readers: usize, known: bool) -> RuleName {
    match (access.is_write(), readers) {
        _ if left.is_empty() => RuleName::same_epoch(access.kind()),
        (true, 0 | 1) => RuleName::WriteExclusive,
        (true, _) => RuleName::WriteShared,
        (false, 0) => RuleName::ReadExclusive,
        (false, 1) if !known => RuleName::ReadShare,
        (false, _) => RuleName::ReadShared,
    }
}
