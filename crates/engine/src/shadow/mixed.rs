//! A [`Block`] with atomic accesses: what a word needs that is an atomic object, or that has one beside other fields.
//!
//! ```text
//!   cells      plain accesses … EMPTY … atomic accesses
//! ```
//!
//! The rules are those of `Extended`: an atomic access is checked against the plain ones and supersedes atomic ones only
//! ([`Rule::supersedes_atomic`]); a plain access is checked against all, and a plain write supersedes all. Who is ordered by the object itself, as
//! those are who take turns in a read-modify-write that acquires and releases, leaves one record; threads that do not
//! acquire leave one each.

use alloc::vec::Vec;

use super::block::{Block, Left, ROOM};
use super::cell::{Cell, Timeless};
use super::depot::Depot;
use super::fit::{conflict, merge};
use super::location::{Conflict, Location, Touched};
use super::memo::Memo;
use super::outside::atomic_left;
use super::rule::Rule;
use super::stats::RuleName;
use crate::clock::{Slots, ThreadClock};

/// How many accesses fit: there is a gap between the two kinds.
pub(super) const MIXED_ROOM: usize = ROOM - 1;

impl Block {
    /// The atomic accesses.
    pub(super) fn atomics(&self) -> impl Iterator<Item = Cell> {
        let all = (0..ROOM).rev().map(|at| self.get(at));
        all.take_while(|cell| !cell.is_empty())
    }

    /// Replaces all by `plain` and `atomic` accesses, of which there are [not too many](MIXED_ROOM).
    pub(super) fn load_mixed(&self, plain: &[Cell], atomic: impl Iterator<Item = Cell>) {
        self.load(plain);
        for (at, cell) in (0..ROOM).rev().zip(atomic) {
            self.set(at, cell);
        }
        debug_assert!((0..ROOM).any(|at| self.get(at).is_empty()));
    }

    /// The bytes of `mask` that are those of atomic objects.
    pub(super) fn objects(&self, mask: u8) -> u8 {
        let writes = self.atomics().filter(|cell| cell.is_write());
        writes.fold(0, |all, cell| all | cell.mask() & mask)
    }

    /// `f` says what is left of each atomic access. Returns where the first one is, and what is before it is not.
    #[inline(always)]
    fn keep_atomics(&self, mut f: impl FnMut(Cell) -> Cell) -> usize {
        let mut kept = ROOM;
        let mut at = ROOM;
        while at > 0 {
            let old = self.get(at - 1);
            if old.is_empty() {
                break;
            }
            at -= 1;
            let left = f(old);
            if !left.is_empty() {
                kept -= 1;
                if kept != at || left != old {
                    self.set(kept, left);
                }
            }
        }
        (at..kept).for_each(|at| self.set(at, Cell::EMPTY));
        kept
    }

    /// Remembers an atomic access where that is easy: in the place of the only one, which is the thread's own, but for the epoch.
    #[inline(always)]
    fn renew_atomic<R: Rule>(&self, access: Cell) -> bool {
        let last = self.get(ROOM - 1);
        let easy = last.is_renewed_by(access) && self.get(ROOM - 2).is_empty();
        if easy {
            debug_assert!(R::supersedes_atomic(last, access));
            self.set(ROOM - 1, access);
        }
        easy
    }

    /// As [`Block::touch_atomic`], for an access that is recorded, where it is easy and there is no plain access to race with. Returns false if nothing was done.
    #[inline(always)]
    pub(super) fn touch_again<R: Rule>(&self, access: Cell) -> bool {
        self.get(0).is_empty() && self.renew_atomic::<R>(access)
    }

    /// Checks an atomic access by `me`, and remembers it if it is recorded. Returns it if there is no room for it.
    #[inline]
    pub(super) fn touch_atomic<R: Rule>(
        &self,
        me: &mut ThreadClock,
        slots: &Slots,
        access: Cell,
        record: bool,
        out: &mut Vec<Conflict>,
    ) -> Option<Cell> {
        let mut plain = 0;
        for old in self.iter() {
            plain += 1;
            let shared = old.mask() & access.mask();
            if shared != 0
                && (old.is_write() || access.is_write())
                && !me.covers(old.slot(), old.time())
            {
                conflict(out, old, false, shared);
            }
        }
        if record && self.renew_atomic::<R>(access) {
            return None;
        }
        let mut new = access;
        let first = self.keep_atomics(|old| meet::<R>(old, &mut new, record, me));
        if !record || new.is_empty() {
            return None;
        }
        for at in first..ROOM {
            if let Some(merged) = merge(self.get(at), new, me, slots) {
                self.set(at, merged);
                return None;
            }
        }
        if plain + 1 < first {
            self.set(first - 1, new);
            return None;
        }
        Some(new)
    }

    /// Checks a plain access by `me`, and remembers it if it is recorded. What is left is told of the plain accesses; nothing if there are
    /// no atomic ones any more.
    pub(super) fn touch_plain<R: Rule>(
        &self,
        me: &mut ThreadClock,
        slots: &Slots,
        access: Cell,
        record: bool,
        out: &mut Vec<Conflict>,
    ) -> (Touched, Option<Left>) {
        let write = access.is_write();
        let mut overwritten = 0;
        let first = self.keep_atomics(|old| {
            let shared = old.mask() & access.mask();
            if shared == 0 || !write && !old.is_write() {
                return old;
            }
            if !me.covers(old.slot(), old.time()) {
                conflict(out, old, true, shared);
            }
            if !write {
                return old;
            }
            if old.is_write() {
                overwritten |= shared;
            }
            if R::supersedes(old, access, true) {
                old.without(shared)
            } else {
                old
            }
        });
        let (rule, left) = self.touch::<R>(me, slots, access, record, first - 1, out);
        let touched = Touched { rule, overwritten };
        let mixed = first < ROOM || matches!(left, Left::More(_));
        (touched, mixed.then_some(left))
    }
}

/// Holds the atomic access `new` against a remembered atomic one. Returns what is left of `old`; what of `new` needs no record is taken from
/// it. An access that is not recorded takes the place of none but the thread's own.
#[inline(always)]
pub(super) fn meet<R: Rule>(old: Cell, new: &mut Cell, record: bool, me: &ThreadClock) -> Cell {
    let shared = old.mask() & new.mask();
    if shared == 0 {
        return old;
    }
    if old.same_epoch(*new) && R::subsumes(old, *new) {
        *new = new.without(shared);
        return old;
    }
    let ordered = if record {
        me.covers(old.slot(), old.time())
    } else {
        old.slot() == new.slot() && old.is_write() == new.is_write()
    };
    if ordered && R::supersedes_atomic(old, *new) {
        old.without(shared)
    } else {
        old
    }
}

/// A location and its block with atomic accesses, as they were once: no other block will ever have the name.
#[derive(Clone, Copy, Debug)]
pub struct MixedAt<'a> {
    pub(super) location: &'a Location,
    pub(super) first: Cell,
    pub(super) block: &'a Block,
}

impl MixedAt<'_> {
    /// As [`Location::touch_in_block`] for an atomic access, which is recorded, if the location still has the block.
    #[inline(always)]
    pub(crate) fn touch<R: Rule>(
        self,
        depot: &Depot,
        me: &mut ThreadClock,
        slots: &Slots,
        memo: &mut Memo,
        access: Timeless,
        out: &mut Vec<Conflict>,
    ) -> Option<RuleName> {
        if !self.location.try_lock(self.first) {
            return None;
        }
        let access = access.at(me.stamp_again());
        let mut new = [self.first, Cell::EMPTY];
        if !self.block.touch_again::<R>(access) {
            let left = self.block.touch_atomic::<R>(me, slots, access, true, out);
            new = atomic_left(self.first, left, depot, memo);
        }
        self.location.unlock(new);
        Some(RuleName::atomic(access.kind()))
    }
}
