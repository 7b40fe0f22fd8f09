//! Where the sync objects are.

use alloc::boxed::Box;

use event::{Addr, SyncId};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::atomic::AtomicObject;
use super::barrier::Barrier;
use crate::clock::Published;
use crate::lock::{AtomicU32, Lock, Ordering};

type Map<T> = HashMap<u64, T, FxBuildHasher>;

/// A lock that several readers can hold together.
#[derive(Debug, Default)]
pub(super) struct RwLock {
    /// By writers: every acquire comes after it.
    pub(super) released: Published,
    /// By readers: only a writer's acquire comes after it.
    pub(super) read_released: Published,
}

#[derive(Debug, Default)]
struct Shard {
    locks: Map<RwLock>,
    volatiles: Map<Published>,
    channels: Map<Published>,
    barriers: Map<Barrier>,
    atomics: Map<AtomicObject>,
}

const SHARDS: usize = 256;

/// All sync objects, in shards that are locked one at a time. An object begins empty when it is first named.
#[derive(Debug)]
pub(super) struct Table {
    shards: Box<[Lock<Shard>]>,
    /// Size in bytes of the largest atomic object so far: how far before a byte one can begin that covers it.
    largest: AtomicU32,
}

impl Table {
    pub(super) fn new() -> Table {
        Table {
            shards: (0..SHARDS).map(|_| Lock::default()).collect(),
            largest: AtomicU32::new(8),
        }
    }

    pub(super) fn note_size(&self, size: u32) {
        if size > self.largest.load(Ordering::Relaxed) {
            self.largest.fetch_max(size, Ordering::Relaxed);
        }
    }

    pub(super) fn largest(&self) -> u32 {
        self.largest.load(Ordering::Relaxed)
    }

    fn shard(&self, key: u64) -> crate::lock::Guard<'_, Shard> {
        // Not the bits that the maps within the shard tell their keys apart by.
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        self.shards[hash as usize % SHARDS].lock()
    }

    pub(super) fn lock(&self, id: SyncId, f: impl FnOnce(&mut RwLock)) {
        f(self.shard(id.0).locks.entry(id.0).or_default());
    }

    pub(super) fn volatile(&self, id: SyncId, f: impl FnOnce(&mut Published)) {
        f(self.shard(id.0).volatiles.entry(id.0).or_default());
    }

    pub(super) fn channel(&self, id: SyncId, f: impl FnOnce(&mut Published)) {
        f(self.shard(id.0).channels.entry(id.0).or_default());
    }

    pub(super) fn barrier(&self, id: SyncId, f: impl FnOnce(&mut Barrier)) {
        f(self.shard(id.0).barriers.entry(id.0).or_default());
    }

    /// The atomic object at `addr`, if something was stored there.
    pub(super) fn atomic(&self, addr: Addr, f: impl FnOnce(&AtomicObject)) {
        if let Some(object) = self.shard(addr.0).atomics.get(&addr.0) {
            f(object);
        }
    }

    /// The atomic object at `addr`, made if there is none.
    pub(super) fn atomic_mut(&self, addr: Addr, f: impl FnOnce(&mut AtomicObject)) {
        f(self.shard(addr.0).atomics.entry(addr.0).or_default());
    }

    /// Removes the atomic object at `addr` if `doomed` says so.
    pub(super) fn remove_atomic_if(&self, addr: Addr, doomed: impl FnOnce(&AtomicObject) -> bool) {
        let mut shard = self.shard(addr.0);
        if shard.atomics.get(&addr.0).is_some_and(doomed) {
            shard.atomics.remove(&addr.0);
        }
    }

    pub(super) fn forget(&self, id: SyncId) {
        let mut shard = self.shard(id.0);
        shard.locks.remove(&id.0);
        shard.volatiles.remove(&id.0);
        shard.channels.remove(&id.0);
        shard.barriers.remove(&id.0);
    }
}
