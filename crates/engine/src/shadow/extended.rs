//! What does not fit into a [`Location`](super::Location)'s two cells, nor into a [`Block`](super::block::Block).

use alloc::vec::Vec;

use smallvec::SmallVec;

use super::block::{Block, TURN};
use super::cell::{Cell, Room};
use super::depot::Depot;
use super::fit::{conflict, merge, step};
use super::location::{Conflict, Touch, Touched};
use super::mixed::{MIXED_ROOM, meet};
use super::rule::Rule;
use super::stats::RuleName;
use crate::clock::{Slots, ThreadClock};

/// Any number of accesses to eight bytes, by what they are; each list is ordered by slot.
///
/// An atomic access races with plain ones only, so it supersedes atomic ones only: a plain write that happened before it can still race with
/// another atomic access.
#[derive(Debug, Default)]
pub(super) struct Extended {
    writes: List,
    reads: List,
    atomic_writes: List,
    atomic_reads: List,
}

/// A few accesses need no memory of their own.
type List = SmallVec<[Cell; 2]>;

/// Up to here a read looks at all other reads, to forget those that happened before it. Beyond, and for the most part if the thread
/// is among the readers already, it looks at its own only (FastTrack's `ReadShared`); see also [`TURN`].
const FEW: usize = 8;

impl Extended {
    /// Checks an access by `me`, and remembers it.
    pub(super) fn touch<R: Rule>(
        &mut self,
        me: &mut ThreadClock,
        slots: &Slots,
        touch: Touch,
        out: &mut Vec<Conflict>,
    ) -> Touched {
        let mut new = touch.cell;
        let mut overwritten = 0;
        let rule = match (touch.atomic, new.is_write()) {
            (false, false) => {
                check(&self.atomic_writes, true, new, me, out);
                pass::<R>(&mut self.writes, &mut new, me, out);
                let shared = self.reads.len() > 1;
                let mut replaced = false;
                if self.reads.len() <= FEW
                    && (new.time().0.is_multiple_of(TURN) || !self.has_read(new))
                {
                    pass::<R>(&mut self.reads, &mut new, me, out);
                } else {
                    replaced = own(&mut self.reads, &mut new, touch.record);
                }
                if new.is_empty() && !replaced {
                    RuleName::ReadSameEpoch
                } else if shared {
                    RuleName::ReadShared
                } else {
                    RuleName::ReadShare
                }
            }
            (false, true) => {
                for atomic in &self.atomic_writes {
                    overwritten |= atomic.mask() & new.mask();
                }
                let shared = self.reads.iter().any(|r| r.mask() & new.mask() != 0);
                check(&self.atomic_writes, true, new, me, out);
                check(&self.atomic_reads, true, new, me, out);
                forget::<R>(&mut self.atomic_writes, new);
                forget::<R>(&mut self.atomic_reads, new);
                check(&self.reads, false, new, me, out);
                check(&self.writes, false, new, me, out);
                forget::<R>(&mut self.reads, new);
                forget::<R>(&mut self.writes, new);
                if shared {
                    RuleName::WriteShared
                } else {
                    RuleName::WriteExclusive
                }
            }
            (true, false) => {
                check(&self.writes, false, new, me, out);
                self.atomic_writes.iter().for_each(|&old| {
                    meet::<R>(old, &mut new, touch.record, me);
                });
                meet_all::<R>(&mut self.atomic_reads, &mut new, touch.record, me);
                RuleName::AtomicRead
            }
            (true, true) => {
                check(&self.writes, false, new, me, out);
                check(&self.reads, false, new, me, out);
                meet_all::<R>(&mut self.atomic_reads, &mut new, touch.record, me);
                meet_all::<R>(&mut self.atomic_writes, &mut new, touch.record, me);
                RuleName::AtomicWrite
            }
        };
        if touch.record {
            self.insert_as(new, touch.atomic, |old, new| merge(old, new, me, slots));
        }
        Touched { rule, overwritten }
    }

    /// Is there a read by the slot of `new`?
    fn has_read(&self, new: Cell) -> bool {
        self.reads.iter().any(|old| old.slot() == new.slot())
    }

    /// Remembers an access.
    pub(super) fn insert(&mut self, new: Cell, atomic: bool) {
        self.insert_as(new, atomic, Cell::merged);
    }

    /// Remembers an access, as one with another if `merge` makes one of them.
    fn insert_as(
        &mut self,
        new: Cell,
        atomic: bool,
        mut merge: impl FnMut(Cell, Cell) -> Option<Cell>,
    ) {
        if new.is_empty() {
            return;
        }
        let list = match (atomic, new.is_write()) {
            (false, false) => &mut self.reads,
            (false, true) => &mut self.writes,
            (true, false) => &mut self.atomic_reads,
            (true, true) => &mut self.atomic_writes,
        };
        let at = list.partition_point(|old| old.slot() < new.slot());
        let same = list[at..]
            .iter_mut()
            .take_while(|old| old.slot() == new.slot())
            .find_map(|old| merge(*old, new).map(|merged| (old, merged)));
        match same {
            Some((old, merged)) => *old = merged,
            None => list.insert(at, new),
        }
    }

    /// Replaces all by the plain accesses `cells`, writes first, each kind ordered by slot.
    pub(super) fn load(&mut self, cells: &[Cell]) {
        let (writes, reads) = cells.split_at(cells.partition_point(|cell| cell.is_write()));
        for list in self.lists() {
            list.clear();
        }
        self.writes.extend_from_slice(writes);
        self.reads.extend_from_slice(reads);
    }

    /// Replaces all by the plain accesses of a block.
    pub(super) fn load_block(&mut self, block: &Block) {
        self.load(&[]);
        block.each(|cell| self.insert(cell, false));
    }

    /// Replaces all by the accesses to fields.
    pub(super) fn load_fields(&mut self, depot: &Depot, room: Room) {
        self.load(&[]);
        room.each(depot, |cell| self.insert(cell, false));
    }

    /// Replaces all by the accesses of a block that is mixed.
    pub(super) fn load_mixed(&mut self, block: &Block) {
        self.load_block(block);
        block.atomics().for_each(|cell| self.insert(cell, true));
    }

    /// Is it what a mixed block is for?
    pub(super) fn fits_mixed(&self) -> bool {
        let atomics = self.atomic_writes.len() + self.atomic_reads.len();
        atomics != 0 && self.writes.len() + self.reads.len() + atomics <= MIXED_ROOM
    }

    /// Writes it all to a block, where it [fits](Extended::fits_mixed).
    pub(super) fn store_mixed(&self, block: &Block) {
        let plain: List = self.writes.iter().chain(&self.reads).copied().collect();
        let atomic = self.atomic_writes.iter().chain(&self.atomic_reads);
        block.load_mixed(&plain, atomic.copied());
    }

    /// Writes the accesses to `flat` in the order that depends on nothing but what they are, if all are plain.
    pub(super) fn flatten(&self, flat: &mut Vec<Cell>) -> bool {
        if !self.atomic_reads.is_empty() || !self.atomic_writes.is_empty() {
            return false;
        }
        flat.clear();
        flat.extend_from_slice(&self.writes);
        flat.extend_from_slice(&self.reads);
        flat.sort_unstable_by_key(|cell| (!cell.is_write(), cell.slot(), cell.0));
        true
    }

    /// Is it so little that it need not be an `Extended`, and will not soon?
    pub(super) fn fits(&self) -> bool {
        let atomics = self.atomic_reads.len() + self.atomic_writes.len();
        let all = self.writes.len() + self.reads.len() + atomics;
        all <= if atomics == 0 { 2 } else { MIXED_ROOM / 2 }
    }

    /// Makes the bytes of `mask` fresh. Returns those of atomic objects among them.
    pub(super) fn clear(&mut self, mask: u8) -> u8 {
        let overwritten = self
            .atomic_writes
            .iter()
            .fold(0, |all, cell| all | cell.mask() & mask);
        for list in self.lists() {
            list.retain(|cell| {
                *cell = cell.without(mask);
                !cell.is_empty()
            });
        }
        overwritten
    }

    pub(super) fn each(&self, mut f: impl FnMut(Cell, bool)) {
        self.writes.iter().for_each(|&cell| f(cell, false));
        self.reads.iter().for_each(|&cell| f(cell, false));
        self.atomic_writes.iter().for_each(|&cell| f(cell, true));
        self.atomic_reads.iter().for_each(|&cell| f(cell, true));
    }

    fn lists(&mut self) -> [&mut List; 4] {
        [
            &mut self.writes,
            &mut self.reads,
            &mut self.atomic_writes,
            &mut self.atomic_reads,
        ]
    }
}

/// Reports each access of `list` that races with `new`; all of them conflict with it.
fn check(list: &[Cell], atomic: bool, new: Cell, me: &ThreadClock, out: &mut Vec<Conflict>) {
    for &old in list {
        let shared = old.mask() & new.mask();
        if shared != 0 && !me.covers(old.slot(), old.time()) {
            conflict(out, old, atomic, shared);
        }
    }
}

/// The full treatment: check, subsume, supersede.
fn pass<R: Rule>(list: &mut List, new: &mut Cell, me: &ThreadClock, out: &mut Vec<Conflict>) {
    list.retain(|old| {
        *old = step::<R>(*old, new, me, &mut |old, mask| {
            conflict(out, old, false, mask);
        });
        !old.is_empty()
    });
}

/// Holds the atomic access `new` against remembered ones; where there are many, against the thread's own.
fn meet_all<R: Rule>(list: &mut List, new: &mut Cell, record: bool, me: &ThreadClock) {
    let many = list.len() > FEW;
    list.retain(|old| {
        if !many || old.slot() == new.slot() {
            *old = meet::<R>(*old, new, record, me);
        }
        !old.is_empty()
    });
}

/// Forgets what the write `new` supersedes, after the check.
fn forget<R: Rule>(list: &mut List, new: Cell) {
    list.retain(|old| {
        if R::supersedes(*old, new, true) {
            *old = old.without(new.mask());
        }
        !old.is_empty()
    });
}

/// A list in which only the thread's own accesses matter to `new`, an access of the same kind. If that is to `replace` the one there is, it is
/// recorded and empty then, and the answer is yes.
fn own(list: &mut List, new: &mut Cell, replace: bool) -> bool {
    let first = list.partition_point(|old| old.slot() < new.slot());
    let mut at = first;
    while let Some(old) = list.get_mut(at).filter(|old| old.slot() == new.slot()) {
        if old.same_epoch(*new) {
            *new = new.without(old.mask());
            at += 1;
            continue;
        }
        *old = old.without(new.mask());
        if !old.is_empty() {
            at += 1;
            continue;
        }
        let more = list
            .get(at + 1)
            .is_some_and(|next| next.slot() == new.slot());
        if replace && at == first && !more {
            list[at] = core::mem::replace(new, Cell::EMPTY);
            return true;
        }
        list.remove(at);
    }
    false
}
