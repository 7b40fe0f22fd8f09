//! C++20 atomics: release sequences and fences.
//!
//! An atomic object holds what a load of it would acquire: the union of what the heads of the release sequences released that
//! its last write belongs to. A store replaces it, a read-modify-write adds to it. Relaxed loads put it
//! aside for the thread's next acquiring fence, and a releasing fence leaves behind what the relaxed writes after it
//! release.

use event::{Addr, FenceOrder};

use super::HappensBefore;
use crate::clock::{Copied, Published, ThreadClock};
use crate::detector::AtomicOp;

/// The writes to an address since it was last overwritten.
#[derive(Debug, Default)]
pub(super) struct AtomicObject {
    /// What a read of it acquires.
    released: Published,
    /// How many bytes the largest write had. If any of them is overwritten otherwise, the object is no more.
    size: u32,
}

impl HappensBefore {
    /// The reading half of an atomic operation, to be called before its access is checked: the operation itself
    /// happens after what it acquires.
    pub fn atomic_read(&self, thread: &mut ThreadClock, addr: Addr, op: AtomicOp) {
        let acquires = match op {
            AtomicOp::Load(order) => order.acquires(),
            AtomicOp::Rmw(order) => order.acquires(),
            AtomicOp::Store(_) => return,
        };
        self.table.atomic(addr, |object| {
            if acquires {
                thread.learn(&object.released);
            } else if !thread.knows(&object.released) {
                thread.pending.merge(&object.released);
            }
        });
    }

    /// The writing half of an atomic operation, to be called after its access is recorded: the access
    /// is part of what it releases.
    pub fn atomic_write(&self, thread: &mut ThreadClock, addr: Addr, size: u32, op: AtomicOp) {
        let (releases, replaces) = match op {
            AtomicOp::Load(_) => return,
            AtomicOp::Store(order) => (order.releases(), true),
            AtomicOp::Rmw(order) => (order.releases(), false),
        };
        let snapshot = if releases {
            Some(thread.publish(&self.slots))
        } else {
            thread.fence.clone()
        };
        self.table.note_size(size);
        self.table.atomic_mut(addr, |object| {
            object.size = object.size.max(size);
            match (snapshot, replaces) {
                (Some(snapshot), true) => {
                    object.released.replace(snapshot);
                    thread.copied(Copied::Shared);
                }
                (Some(snapshot), false) => thread.copied(object.released.accumulate(snapshot)),
                (None, true) => object.released = Published::new(),
                (None, false) => {}
            }
        });
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
        for start in word.0.saturating_sub(before)..word.0 + 8 {
            self.table.remove_atomic_if(Addr(start), |object| {
                let end = start + u64::from(object.size);
                (0..8).any(|b| mask >> b & 1 != 0 && (start..end).contains(&(word.0 + b)))
            });
        }
    }
}
