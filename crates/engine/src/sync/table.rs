//! Where the sync objects are.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use event::{Addr, SyncId};
use hashbrown::HashMap;
use once_cell::race::OnceBox;
use rustc_hash::FxBuildHasher;

use super::atomic::AtomicObject;
use super::barrier::Barrier;
use super::lent::Times;
use super::objects::Objects;
use super::quick::Patience;
use crate::clock::Published;
use crate::lock::{AtomicU32, AtomicU64, Ordering};
use crate::sleep::{SleepGuard, SleepLock};

type Map<T> = HashMap<u64, T, FxBuildHasher>;

/// A map whose last used entries are at hand: a program uses few objects at a time, and then often. One that goes through many uses each
/// once, so an entry is not brought before it is asked for twice in a row.
#[derive(Debug)]
pub(super) struct Handy<T> {
    /// Of keys that lie side by side, as two words do that share a bracket, both.
    recent: [Option<(u64, T)>; 2],
    others: Map<T>,
    /// The key among `others` that was asked for last.
    asked: u64,
}

impl<T> Default for Handy<T> {
    fn default() -> Handy<T> {
        Handy {
            recent: [None, None],
            others: Map::default(),
            asked: 0,
        }
    }
}

const fn way(key: u64) -> usize {
    (key >> 3) as usize % 2
}

impl<T: Default> Handy<T> {
    #[inline]
    fn has(&self, key: u64) -> bool {
        let recent = self.recent[way(key)].as_ref();
        recent.is_some_and(|(recent, _)| *recent == key)
    }

    /// The entry of `key`, made if there is none.
    #[inline]
    fn entry(&mut self, key: u64) -> &mut T {
        if !self.has(key) {
            return self.other(key);
        }
        let recent = &mut self.recent[way(key)];
        &mut recent.get_or_insert_with(|| (key, T::default())).1
    }

    fn other(&mut self, key: u64) -> &mut T {
        let again = core::mem::replace(&mut self.asked, key) == key;
        if !again && self.recent[way(key)].is_some() {
            return self.others.entry(key).or_default();
        }
        let found = self.others.remove(&key).unwrap_or_default();
        self.bring(key, found)
    }

    #[cold]
    fn bring(&mut self, key: u64, value: T) -> &mut T {
        let recent = &mut self.recent[way(key)];
        if let Some((key, value)) = recent.take() {
            self.others.insert(key, value);
        }
        &mut recent.insert((key, value)).1
    }

    fn len(&self) -> usize {
        self.others.len() + self.recent.iter().flatten().count()
    }

    fn remove(&mut self, key: u64) {
        if self.has(key) {
            self.recent[way(key)] = None;
        } else {
            self.others.remove(&key);
        }
    }
}

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
    locks: Handy<RwLock>,
    volatiles: Map<Published>,
    channels: Map<Published>,
    barriers: Map<Barrier>,
}

/// The atomic objects of some addresses.
#[derive(Debug, Default)]
pub(super) struct AtomicShard {
    pub(super) objects: Objects,
    /// Whether operations on them may do without the lock.
    pub(super) patience: Patience,
}

/// A shard of atomic objects, in one line of the cache with what operations without its lock look at; and in another, what they write.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Biased {
    shard: SleepLock<AtomicShard>,
    pub(super) bias: AtomicU64,
    /// Of objects that are lent.
    pub(super) times: Times,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Biased>() == 128);
#[cfg(not(loom))]
const _: () = assert!(core::mem::offset_of!(Biased, times) == 64);

/// Operations that overlap meet: all of so many bytes, the widest there are, are in one shard.
const BRACKET: u64 = 16;

const GROUPS: usize = 32;
const GROUP: usize = 32;

/// Things to be locked one at a time, each found by the hash of its name. They come into being in groups, when first asked for.
struct Shards<T> {
    groups: [OnceBox<Vec<T>>; GROUPS],
}

impl<T: Default> Shards<T> {
    const fn new() -> Shards<T> {
        Shards {
            groups: [const { OnceBox::new() }; GROUPS],
        }
    }

    #[inline]
    fn at(&self, key: u64) -> &T {
        // Not the bits that the maps within a shard tell their keys apart by.
        let hash = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize;
        let group = self.groups[hash / GROUP % GROUPS].get_or_init(|| {
            let mut group = Vec::new();
            group.resize_with(GROUP, T::default);
            Box::new(group)
        });
        &group[hash % GROUP]
    }
}

impl<T> Shards<T> {
    fn all(&self) -> impl Iterator<Item = &T> {
        let groups = self.groups.iter().filter_map(OnceBox::get);
        groups.flatten()
    }
}

impl<T> fmt::Debug for Shards<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shards { .. }")
    }
}

/// All sync objects, in shards that are locked one at a time. An object begins empty when it is first named.
#[derive(Debug)]
pub(super) struct Table {
    shards: Shards<SleepLock<Shard>>,
    atomics: Shards<Biased>,
    /// Size in bytes of the largest atomic object so far: how far before a byte one can begin that covers it.
    largest: AtomicU32,
}

/// The atomic objects around an address, held: operations on these bytes wait until it is dropped.
///
/// A program's atomic operation and what the detector makes of it must be one step, or the value read and the clock taken would not
/// belong together. So whoever presents such an operation holds its bracket from before the operation to after the event.
#[derive(Debug)]
pub struct Bracket<'a> {
    addr: Addr,
    pub(super) shard: SleepGuard<'a, AtomicShard>,
    pub(super) biased: &'a Biased,
    /// Was the object lent, and is not any more?
    pub(super) took_back: bool,
    /// Did the thread release into the object before its operation, and nobody take it?
    pub(super) again: bool,
}

impl<'a> Bracket<'a> {
    /// The times of objects that are lent.
    pub(super) fn times(&self) -> &'a Times {
        &self.biased.times
    }

    /// The first byte of the operations that it is for.
    pub fn addr(&self) -> Addr {
        self.addr
    }

    /// Where the object there most likely is, to be brought into the cache.
    #[inline]
    pub fn near(&self) -> *const () {
        self.shard.objects.near(self.addr.0)
    }

    /// The object there, if something was stored there.
    #[inline]
    pub(super) fn find(&mut self) -> Option<&mut AtomicObject> {
        self.shard.objects.find(self.addr.0)
    }

    /// The object there, made if there is none and it is to be; the shard's patience; and where to say whether the thread released there before.
    #[inline(always)]
    pub(super) fn parts(
        &mut self,
        make: bool,
    ) -> (Option<&mut AtomicObject>, &mut Patience, &mut bool) {
        if self.shard.objects.are_lent() {
            self.take_back();
        }
        let AtomicShard { objects, patience } = &mut *self.shard;
        let object = if make {
            Some(objects.entry(self.addr.0))
        } else {
            objects.find(self.addr.0)
        };
        (object, patience, &mut self.again)
    }
}

impl Table {
    pub(super) fn new() -> Table {
        Table {
            shards: Shards::new(),
            atomics: Shards::new(),
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

    fn shard(&self, key: u64) -> SleepGuard<'_, Shard> {
        self.shards.at(key).lock()
    }

    pub(super) fn lock(&self, id: SyncId, f: impl FnOnce(&mut RwLock)) {
        f(self.shard(id.0).locks.entry(id.0));
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

    #[inline(always)]
    pub(super) fn bracket(&self, addr: Addr) -> Bracket<'_> {
        let biased = self.atomics.at(addr.0 / BRACKET);
        Bracket {
            addr,
            shard: biased.shard.lock(),
            biased,
            took_back: false,
            again: false,
        }
    }

    /// Removes the atomic objects at the `addresses` of which `doomed` says so. A bracket is entered once for all of its addresses.
    pub(super) fn remove_atomics(
        &self,
        addresses: Range<u64>,
        doomed: impl Fn(u64, &AtomicObject) -> bool,
    ) {
        let mut at = addresses.start;
        while at < addresses.end {
            let end = (at / BRACKET + 1)
                .saturating_mul(BRACKET)
                .min(addresses.end);
            let mut bracket = self.bracket(Addr(at));
            if !bracket.shard.objects.is_empty() {
                for addr in at..end {
                    let object = bracket.shard.objects.find(addr);
                    if object.is_some_and(|object| doomed(addr, object)) {
                        bracket.unbias();
                        bracket.shard.objects.remove(addr);
                    }
                }
            }
            at = end;
        }
    }

    /// How many bytes the objects take at least: clocks that several of them share are not counted.
    pub(super) fn bytes(&self, f: &mut dyn FnMut(&'static str, u64)) {
        fn of<T>(count: usize) -> u64 {
            (count * size_of::<(u64, T)>()) as u64
        }
        let (mut locks, mut others, mut atomics) = (0, 0, 0);
        for shard in self.shards.all() {
            let shard = shard.lock();
            locks += of::<RwLock>(shard.locks.len());
            others += of::<Published>(shard.volatiles.len() + shard.channels.len());
            others += of::<Barrier>(shard.barriers.len());
        }
        for biased in self.atomics.all() {
            atomics += of::<AtomicObject>(biased.shard.lock().objects.len());
        }
        f("locks", locks);
        f("channels and barriers", others);
        f("atomic objects", atomics);
    }

    pub(super) fn forget(&self, id: SyncId) {
        let mut shard = self.shard(id.0);
        shard.locks.remove(id.0);
        shard.volatiles.remove(&id.0);
        shard.channels.remove(&id.0);
        shard.barriers.remove(&id.0);
    }
}

#[cfg(test)]
mod tests {
    use super::Handy;

    #[test]
    fn every_entry_is_found_again() {
        let mut map: Handy<u64> = Handy::default();
        for key in [1, 2, 3, 8, 2, 1, 3, 3] {
            *map.entry(key) += key;
        }
        assert_eq!(map.len(), 4);
        for (key, times) in [(1, 2), (8, 1), (2, 2), (3, 3), (3, 3)] {
            assert_eq!(*map.entry(key), times * key);
        }
        for key in [1, 3, 2, 8] {
            map.remove(key);
        }
        assert_eq!(map.len(), 0);
        assert_eq!(*map.entry(3), 0);
    }
}
