//! Releases of something new, without a bracket.
//!
//! An atomic object that holds what its last operator knew and did, and nothing else, changes by that thread's next release in one number: the time of the
//! publication. If one thread alone operates on the objects of a shard for long enough, it gets a bias of its own ([`quick`](super::quick)), and such objects are
//! *lent* to it: the number is kept beside the shard, and the owner writes it without the bracket, saying that it is [`LENT`](super::quick::LENT) one. The access that the
//! operation is has to be checked and recorded as ever; that takes the lock of its location and no other.
//!
//! **Who may touch what.** The owner writes the time of an object that is lent, while it is within an operation that began with the bias it remembers. Anybody
//! who holds the bracket may read it, and takes the object back by that: of the others nobody holds the bracket before the bias has come to its end, and then the owner is not within. The owner itself
//! is not either. An object that it took back and that is not lent to it again at the end of the operation makes it forget all that it was lent there: the bias becomes
//! another one.

use event::Addr;

use super::atomic::{AtomicObject, Effect, take_own};
use super::{Bracket, HappensBefore};
use crate::clock::{ThreadClock, Time};
use crate::lock::{AtomicU32, Ordering};

/// How many objects of a shard may be lent at a time. The model makes all of them for each shard.
const MANY: usize = if cfg!(loom) { 1 } else { 16 };

/// The times of a shard's objects that are lent: a line of the cache.
pub(super) type Times = [AtomicU32; MANY];

/// An object that the thread may operate on without a bracket, as long as the bias is the one that it was lent with.
#[derive(Clone, Copy, Debug)]
pub struct Lent {
    /// Which of the shard's times is that of what it holds.
    index: u8,
    /// Of the operation that it was lent after.
    size: u32,
    /// What the owner knew then: the object holds the same.
    knowledge: u64,
}

impl Lent {
    /// May its owner make the operation, as far as that depends on the owner's own state? It may if the object holds afterwards what the owner knows and did.
    #[inline(always)]
    pub fn admits(&self, thread: &ThreadClock, size: u32, effect: Effect) -> bool {
        self.knowledge == thread.knowledge()
            && self.size == size
            && (effect.releases || !effect.writes || effect.reads && thread.fence.is_none())
    }
}

impl AtomicObject {
    /// Which of the shard's times is that of the object?
    pub(super) fn lent(&self) -> Option<usize> {
        (self.lent as usize).checked_sub(1)
    }

    /// Has the time `free` of `times` for its own, if there is such a one.
    pub(super) fn lend(&mut self, times: &Times, free: usize) -> Option<usize> {
        debug_assert!(self.lent == 0);
        let time = self.released.time()?;
        times.get(free)?.store(time.0, Ordering::Relaxed);
        self.lent = free as u8 + 1;
        Some(free)
    }

    /// Is not lent any more.
    fn take_back(&mut self, times: &Times) {
        if let Some(time) = self.lent().and_then(|index| times.get(index)) {
            self.released.advance(Time(time.load(Ordering::Relaxed)));
        }
        self.lent = 0;
    }
}

impl<'a> Bracket<'a> {
    /// Where the time of an object is that is lent.
    pub fn time(&self, lent: Lent) -> &'a AtomicU32 {
        &self.times()[usize::from(lent.index) % MANY]
    }

    /// Takes the object back if it is lent.
    #[cold]
    #[inline(never)]
    pub(super) fn take_back(&mut self) {
        let times = self.times();
        if let Some(object) = self.find()
            && let Some(index) = object.lent()
        {
            object.take_back(times);
            self.shard.objects.give_back(index);
            self.took_back = true;
        }
    }
}

impl HappensBefore {
    /// Lends the object to `thread`, which is alone in the shard and has just released into it.
    #[inline(never)]
    pub(super) fn lend(
        &self,
        thread: &ThreadClock,
        bracket: &mut Bracket<'_>,
        size: u32,
    ) -> Option<Lent> {
        let (addr, times) = (bracket.addr(), bracket.times());
        let object = bracket.find()?;
        if object.size < size || !thread.owns(&object.released) {
            return None;
        }
        let index = bracket.shard.objects.lend(addr.0, times)?;
        bracket.took_back = false;
        Some(Lent {
            index: index as u8,
            size,
            knowledge: thread.knowledge(),
        })
    }

    /// Does an earlier access of `thread` stand for that of an operation on an object that it was lent?
    #[inline(always)]
    pub fn stands_for_lent(
        &self,
        thread: &ThreadClock,
        addr: Addr,
        size: u32,
        effect: Effect,
    ) -> bool {
        // It holds so many bytes, and nobody took what is in it: who takes it is not its owner.
        take_own(thread, addr, size, effect, (true, true))
    }

    /// An operation on an object that was lent, which [admits](Lent::admits) it, was made, and its access recorded unless an earlier one stands for it. `time` is that [of the
    /// object](Bracket::time).
    #[inline(always)]
    pub fn end_lent(
        &self,
        thread: &mut ThreadClock,
        time: &AtomicU32,
        (addr, size): (Addr, u32),
        effect: Effect,
        stands: bool,
    ) {
        if effect.releases {
            let now = thread.release_lent(addr, size, &self.slots);
            time.store(now.0, Ordering::Relaxed);
        } else if !stands {
            thread.recorded(addr, size, effect.writes);
        }
    }
}
