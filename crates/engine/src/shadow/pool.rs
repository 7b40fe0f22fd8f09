//! Parts of the shadow that one location has at a time, and those of them that nobody has.
//!
//! Each has a name: its index and its *life*, which tells it from all others that had the index before. An index whose lives are used up is not used again: some bytes
//! are lost for each few thousand names.

use alloc::vec::Vec;

use super::cell::{MAX_INDEX, MAX_LIFE, Owned, Room};
use crate::grow::Grow;
use crate::lock::{AtomicU64, Lock, Ordering};

#[cfg(loom)]
use crate::grow::defaults as blank;
#[cfg(not(loom))]
use bytemuck::{Zeroable, zeroed_vec as blank};

/// What loom's atomics are not.
#[cfg(loom)]
pub(super) trait Zeroable {}
#[cfg(loom)]
impl<T> Zeroable for T {}

/// So many are taken from a pool at once; twice as many are too many to keep.
const BATCH: usize = 8;

/// What a pool has: some cells.
pub(super) trait Pooled: Default + Zeroable {
    /// The first of them, which is a link while nobody has them.
    fn first(&self) -> &AtomicU64;
}

/// All of a kind.
#[derive(Debug)]
pub(super) struct Pool<T> {
    all: Grow<T>,
    free: Lock<Free>,
    /// For stubs, by the last bit of an index (or [`FIRST_BIT`], if that is more): where index 0 would be if all were side by side as those with that last bit are.
    /// Is there before anybody has one of them. No part of the model.
    origins: [core::sync::atomic::AtomicUsize; 32],
}

/// The last bit of the largest index in the first of the chunks of [`Grow`].
pub(super) const FIRST_BIT: u32 = crate::grow::FIRST.ilog2() - 1;

#[derive(Debug, Default)]
struct Free {
    /// The first of them, which has the link to the next; unless there is none.
    first: u32,
    count: u32,
    /// The first one that nobody ever had.
    next: u32,
    /// How many are used up.
    worn: u32,
}

impl<T: Default> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool {
            all: Grow::new(),
            free: Lock::default(),
            origins: Default::default(),
        }
    }
}

impl<T: Pooled> Pool<T> {
    /// Where in it the [origins](Pool::origins) are.
    pub(super) const ORIGINS: usize = core::mem::offset_of!(Pool<T>, origins);

    /// The one with this index.
    #[inline]
    pub(super) fn get(&self, index: u32) -> &T {
        self.all.get_in(index, blank)
    }

    /// How many somebody has.
    pub(super) fn len(&self) -> usize {
        let free = self.free.lock();
        (free.next - free.count - free.worn) as usize
    }

    /// How many bytes they took, at most.
    pub(super) fn bytes(&self) -> usize {
        self.free.lock().next as usize * size_of::<T>()
    }

    /// One that nobody has.
    pub(super) fn take(&self) -> Owned {
        self.take_from(&mut self.free.lock())
    }

    fn take_from(&self, free: &mut Free) -> Owned {
        let one = if free.count == 0 {
            let index = free.next;
            free.next += 1;
            if index == 0 || index.is_power_of_two() && index.ilog2() > FIRST_BIT {
                let begin = core::ptr::from_ref(self.get(index)).addr();
                let origin = begin.wrapping_sub(index as usize * size_of::<T>());
                let bit = (index | 1 << FIRST_BIT).ilog2();
                self.origins[bit as usize].store(origin, Ordering::Release);
            }
            Owned { index, life: 0 }
        } else {
            let index = free.first;
            let link = self.get(index).first().load(Ordering::Relaxed);
            (free.first, free.count) = (link as u32, free.count - 1);
            Owned {
                index,
                life: (link >> 32) as u32,
            }
        };
        assert!(
            one.index <= MAX_INDEX >> Room::BITS,
            "footrace: 2^27 words with many accesses"
        );
        one
    }

    /// Nobody has these any more; each comes with the life that it would have next.
    pub(super) fn give(&self, those: impl IntoIterator<Item = Owned>) {
        let mut free = self.free.lock();
        for one in those {
            if one.life <= MAX_LIFE {
                let link = u64::from(one.life) << 32 | u64::from(free.first);
                self.get(one.index).first().store(link, Ordering::Relaxed);
                (free.first, free.count) = (one.index, free.count + 1);
            } else {
                free.worn += 1;
            }
        }
    }
}

/// Some of a pool that are nobody else's.
#[derive(Debug, Default)]
pub(super) struct Stock(Vec<Owned>);

impl Stock {
    /// One of them.
    pub(super) fn take<T: Pooled>(&mut self, pool: &Pool<T>) -> Owned {
        self.0.pop().unwrap_or_else(|| {
            let mut free = pool.free.lock();
            let more = core::iter::repeat_with(|| pool.take_from(&mut free));
            self.0.extend(more.take(BATCH - 1));
            pool.take_from(&mut free)
        })
    }

    /// It is not needed any more.
    #[inline(never)]
    pub(super) fn give<T: Pooled>(&mut self, pool: &Pool<T>, one: Owned) {
        let free = one.next();
        if free.life > MAX_LIFE || self.0.len() >= 2 * BATCH {
            let from = BATCH.min(self.0.len());
            pool.give(self.0.drain(from..).chain([free]));
        } else {
            self.0.push(free);
        }
    }

    /// None is.
    pub(super) fn flush<T: Pooled>(&mut self, pool: &Pool<T>) {
        pool.give(self.0.drain(..));
    }
}
