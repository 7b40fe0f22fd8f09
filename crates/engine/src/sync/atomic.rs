//! C++20 atomics: release sequences and fences.
//!
//! An atomic object holds what a load of it would acquire: the union of what the heads of the release sequences released that
//! its last write belongs to. A store replaces it, a read-modify-write adds to it. Relaxed loads put it
//! aside for the thread's next acquiring fence, and a releasing fence leaves behind what the relaxed writes after it
//! release.

use event::{AccessKind, Addr, FenceOrder};

use super::quick::Patience;
use super::{Bracket, HappensBefore};
use crate::clock::{Published, Release, Stands, ThreadClock};
use crate::detector::AtomicOp;

/// The writes to an address since it was last overwritten.
#[derive(Debug, Default)]
pub(super) struct AtomicObject {
    /// What a read of it acquires.
    pub(super) released: Published,
    /// How many bytes the largest write had. If any of them is overwritten otherwise, the object is no more.
    pub(super) size: u32,
    /// Has nobody but the thread that released last read the object since?
    pub(super) untaken: bool,
    /// If it is lent (`lent`): which of the shard's times is its own, plus 1.
    pub(super) lent: u8,
}

/// An atomic operation under way.
#[derive(Debug)]
pub struct Operation<'a> {
    object: Option<&'a mut AtomicObject>,
    patience: &'a mut Patience,
    addr: Addr,
    size: u32,
    effect: Effect,
    stands: bool,
}

impl Operation<'_> {
    /// Does an earlier access of the thread stand for that of the operation?
    #[inline(always)]
    pub fn stands(&self) -> bool {
        self.stands
    }
}

/// What an atomic operation does, as far as its order goes.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    /// Does it read?
    pub reads: bool,
    /// Does it write?
    pub writes: bool,
    /// Does it acquire what it reads?
    pub acquires: bool,
    /// Does it release?
    pub releases: bool,
}

impl Effect {
    /// What the operation does.
    #[inline]
    pub const fn of(op: AtomicOp) -> Effect {
        match op {
            AtomicOp::Load(order) => Effect {
                reads: true,
                writes: false,
                acquires: order.acquires(),
                releases: false,
            },
            AtomicOp::Store(order) => Effect {
                reads: false,
                writes: true,
                acquires: false,
                releases: order.releases(),
            },
            AtomicOp::Rmw(order) => Effect {
                reads: true,
                writes: true,
                acquires: order.acquires(),
                releases: order.releases(),
            },
        }
    }
}

impl HappensBefore {
    /// The bracket of atomic operations on `addr`. Not to be asked for by who has one.
    #[inline(always)]
    pub fn bracket(&self, addr: Addr) -> Bracket<'_> {
        self.table.bracket(addr)
    }

    /// The reading half of an atomic operation: what it acquires. Unless [an earlier access](Operation::stands) of the thread stands for its own, that has to be checked and recorded
    /// next: it happens after what the operation acquires, and is part of what it releases.
    #[inline(always)]
    pub fn begin_atomic<'a>(
        &self,
        thread: &mut ThreadClock,
        bracket: &'a mut Bracket<'_>,
        size: u32,
        op: AtomicOp,
    ) -> Operation<'a> {
        let effect = Effect::of(op);
        let addr = bracket.addr();
        let (mut object, patience, again) = bracket.parts(effect.writes);
        *again = object
            .as_deref()
            .is_some_and(|object| object.untaken && object.released.is_of(thread.slot()));
        let stands = take(thread, object.as_deref_mut(), addr, size, effect);
        Operation {
            object,
            patience,
            addr,
            size,
            effect,
            stands,
        }
    }

    /// The writing half: what it releases.
    #[inline(always)]
    pub fn end_atomic(&self, thread: &mut ThreadClock, operation: Operation<'_>) {
        let Operation {
            object,
            patience,
            addr,
            size,
            effect,
            stands,
        } = operation;
        if !stands {
            thread.recorded(addr, size, effect.writes);
        }
        let changes = effect.writes
            && object.is_some_and(|object| self.give(thread, object, addr, size, effect));
        patience.count(thread.tid(), stands && !changes);
    }

    /// Does the object change?
    #[inline(always)]
    fn give(
        &self,
        thread: &mut ThreadClock,
        object: &mut AtomicObject,
        addr: Addr,
        size: u32,
        effect: Effect,
    ) -> bool {
        let how = if effect.reads {
            Release::Add
        } else {
            Release::Replace
        };
        if object.size < size {
            object.size = size;
            self.table.note_size(size);
        }
        if effect.releases {
            object.untaken = true;
            if thread.is_released(&object.released) {
                return false;
            }
            thread.release_at(addr, &self.slots, &mut object.released, how);
        } else if thread.fence.is_some() {
            thread.release_fence(&mut object.released, how);
        } else if how == Release::Replace && !object.released.is_empty() {
            object.released = Published::new();
        } else {
            return false;
        }
        true
    }

    pub(super) fn fence(&self, thread: &mut ThreadClock, order: FenceOrder) {
        if order.acquires() {
            let pending = core::mem::take(&mut thread.pending);
            thread.learn(&pending);
        }
        if order.releases() {
            let snapshot = thread.publish(&self.slots);
            thread.fence = Some(snapshot);
        }
    }

    /// The bytes of `mask` in the word at `word` were written without an atomic operation, or are fresh: atomic
    /// objects that they were part of are no more.
    #[cold]
    pub fn overwrite(&self, word: Addr, mask: u8) {
        let before = u64::from(self.table.largest()) - 1;
        let starts = word.0.saturating_sub(before)..word.0 + 8;
        self.table.remove_atomics(starts, |start, object| {
            let end = start + u64::from(object.size);
            (0..8).any(|b| mask >> b & 1 != 0 && (start..end).contains(&(word.0 + b)))
        });
    }
}

/// The reading half of an atomic operation. True if the access needs no check: an earlier one of the thread stands for it.
#[inline(always)]
fn take(
    thread: &mut ThreadClock,
    object: Option<&mut AtomicObject>,
    addr: Addr,
    size: u32,
    effect: Effect,
) -> bool {
    // The records of an object's writes say which plain writes overwrite it: one that was overwritten needs new ones.
    let mut whole = !effect.writes;
    let mut untaken = false;
    if let Some(object) = object {
        whole |= object.size >= size;
        if object.released.is_of(thread.slot()) {
            untaken = object.untaken;
        } else if effect.reads {
            object.untaken = false;
            if effect.acquires {
                thread.learn(&object.released);
            } else if !thread.knows(&object.released) {
                thread.pending.merge(&object.released);
            }
        }
    }
    take_own(thread, addr, size, effect, (untaken, whole))
}

impl Effect {
    /// The access that the operation is. An atomic write races with all that an atomic read races with.
    #[inline(always)]
    pub const fn kind(self) -> AccessKind {
        if self.writes {
            AccessKind::Write
        } else {
            AccessKind::Read
        }
    }
}

/// The same where there is nothing to learn. `untaken`: is what the thread released into the object last still there, taken by nobody; `whole`: does the object
/// have all bytes that are written?
#[inline(always)]
pub(super) fn take_own(
    thread: &ThreadClock,
    addr: Addr,
    size: u32,
    effect: Effect,
    (untaken, whole): (bool, bool),
) -> bool {
    match thread.stands(addr, size, effect.writes) {
        Stands::No => false,
        Stands::IfUntaken => effect.releases && untaken && whole,
        Stands::Yes => whole,
    }
}
