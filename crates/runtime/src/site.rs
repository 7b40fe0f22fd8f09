//! Where an event comes from: [`Site`]s name a call stack and the locks held there.
//!
//! A stack is met by its *key*, the calling-context hash and the return address, long before it is
//! unwound: the thread's own cache, then the shared table know the key's site. Only a new key costs a
//! walk. Stacks and lock sets are paths in two tries, so that equal ones have equal numbers and common parts
//! are kept once.
//!
//! A program can have more contexts than memory (recursion) or more locks than anybody wants to tell apart: where more than
//! [`ALIKE`] are taken at one place, it is not said any more which.
//! Beyond [`MANY`] sites the lock set is left out, beyond [`TOO_MANY`] a stack is its innermost frame.
//! What is recorded is true either way.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::sync::atomic::{Ordering, compiler_fence};
use engine::clock::Slot;
use event::Site;

use crate::lock::Spin;
use crate::table::{Append, Index, MIX, mix};
use crate::{tls, unwind};

const MANY: u32 = 1 << 20;
const TOO_MANY: u32 = 1 << 21;
const SHARDS: usize = 16;

/// A node of the stack trie; 0 is the empty stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackId(pub u32);

/// A node of the lock-set trie; 0 is the empty set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LockSetId(pub u32);

/// A lock in a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldLock {
    /// Its address.
    pub address: u64,
    /// Held with other readers?
    pub shared: bool,
    /// Where it was taken.
    pub stack: StackId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Frame {
    /// The callers.
    outer: StackId,
    pc: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SetNode {
    /// The set without this lock.
    rest: LockSetId,
    lock: HeldLock,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    stack: StackId,
    locks: LockSetId,
}

/// A list of distinct things and the way back from a thing to its number. Numbers start at 1.
struct Interned<T> {
    list: Append<T>,
    index: [Spin<Index>; SHARDS],
}

impl<T: Copy + PartialEq> Interned<T> {
    const fn new() -> Self {
        Interned {
            list: Append::new(),
            index: [const { Spin::new(Index::new()) }; SHARDS],
        }
    }

    fn number(&self, hash: u64, thing: T) -> u32 {
        let mut index = self.index[(hash >> 60) as usize % SHARDS].lock();
        let known = index.find(hash, |n| self.list.get(n - 1) == Some(thing));
        known.unwrap_or_else(|| {
            let number = self.list.push(thing) + 1;
            index.insert(hash, number);
            number
        })
    }

    fn get(&self, number: u32) -> Option<T> {
        self.list.get(number.checked_sub(1)?)
    }

    fn bytes(&self) -> usize {
        let index = self.index.iter().map(|index| index.lock().bytes());
        self.list.bytes() + index.sum::<usize>()
    }
}

static FRAMES: Interned<Frame> = Interned::new();
static SETS: Interned<SetNode> = Interned::new();
static PLACES: Interned<Place> = Interned::new();
/// From keys to sites.
static KEYS: [Spin<Index>; SHARDS] = [const { Spin::new(Index::new()) }; SHARDS];

/// The stack that a thread was last seen with, outermost first: each frame's return address, and the number of the stack up to it. The next one that is new
/// begins as this one does, nearly always, and only what is beyond is looked up.
#[derive(Debug, Default)]
struct LastStack(Vec<(u64, StackId)>);

impl LastStack {
    /// The number of a stack, given innermost first, which is the last one from now on.
    fn id(&mut self, frames: &[u64]) -> StackId {
        let outermost_first = || frames.iter().rev();
        let alike = self.0.iter().zip(outermost_first());
        let common = alike.take_while(|((pc, _), new)| pc == *new).count();
        self.0.truncate(common);
        let mut outer = self.0.last().map_or(StackId(0), |&(_, stack)| stack);
        for &pc in outermost_first().skip(common) {
            let hash = mix(u64::from(outer.0) + 1, pc);
            outer = StackId(FRAMES.number(hash, Frame { outer, pc }));
            self.0.push((pc, outer));
        }
        outer
    }
}

/// Only so many locks taken at one place are told apart; where there are more, none is from then on: a table of locks would make a
/// site of each of its locks, and of each pair of them, wherever they are held.
const ALIKE: u32 = 16;

/// The locks met at each place.
struct Alike {
    known: Index,
    /// How many, by place; more than [`ALIKE`] stands for any number.
    count: BTreeMap<u32, u32>,
}

static LOCKS: Spin<Alike> = Spin::new(Alike {
    known: Index::new(),
    count: BTreeMap::new(),
});

/// Is it one of the locks that are told apart?
fn is_told_apart(lock: &HeldLock) -> bool {
    let hash = mix(lock.address, u64::from(lock.stack.0) + 1);
    let mut locks = LOCKS.lock();
    let Alike { known, count } = &mut *locks;
    let count = count.entry(lock.stack.0).or_default();
    if *count <= ALIKE && known.find(hash, |_| true).is_none() {
        *count += 1;
        known.insert(hash, *count);
    }
    *count <= ALIKE
}

/// The set `rest` with `lock` added.
pub fn with_lock(rest: LockSetId, mut lock: HeldLock) -> LockSetId {
    if SETS.list.len() > MANY || !is_told_apart(&lock) {
        lock.address = 0;
    }
    let hash = mix(
        mix(u64::from(rest.0) + 1, lock.address),
        u64::from(lock.stack.0) << 1 | u64::from(lock.shared),
    );
    LockSetId(SETS.number(hash, SetNode { rest, lock }))
}

fn place_site(place: Place) -> Site {
    let hash = mix(u64::from(place.stack.0) + 1, u64::from(place.locks.0) + 1);
    Site(PLACES.number(hash, place))
}

/// What the [key] of a site is made of: the calling-context hash, the return address and the locks held.
pub type SiteKey = (u64, usize, LockSetId);

/// The key of a stack and the locks held there: equal keys are taken for equal sites. The stubs have it in assembler. A context is well mixed, and so are locks: two sites have the
/// same key by chance only, one in 2^63. No key is 0.
#[inline(always)]
pub fn key(context: u64, pc: usize, locks: LockSetId) -> u64 {
    context ^ pc as u64 ^ locks_in_key(locks) | 1
}

/// What the locks held are in a key.
#[inline(always)]
pub const fn locks_in_key(locks: LockSetId) -> u64 {
    (locks.0 as u64).wrapping_mul(MIX[0])
}

/// Keys that a thread remembers at first, and at most.
const CACHE: usize = 512;
const LARGEST_CACHE: usize = 32768;
/// How far up in a key its place is: the last bit tells nothing.
const PLACE_SHIFT: u32 = 1;

/// A key that a thread met (0: none), and its site's number in the detector's slot if [`SiteCache::set_number`] told. As small as it can
/// be: a thread that goes through many keys goes through as many of these.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
struct Known {
    key: u64,
    number: u32,
    /// See [`slot_in_block`].
    slot: u32,
}

impl Known {
    const NOTHING: Known = Known {
        key: 0,
        number: 0,
        slot: u32::MAX,
    };
}

/// A slot as [`abi::hot::Block::slot`] has it.
#[inline(always)]
pub const fn slot_in_block(slot: Slot) -> u32 {
    slot.0 as u32 + 1
}

/// The table of a thread that has none.
static NO_SITES: [Known; 1] = [Known::NOTHING];

/// What a thread remembers of the keys it met last. A thread that goes through more keys than that, as a recursion does, gets a larger
/// cache.
#[derive(Debug)]
pub struct SiteCache {
    /// As many as a power of two.
    entries: Box<[Known]>,
    /// The site of each.
    sites: Box<[Site]>,
    /// How often another key was in the place of one that was asked for, since the cache has this size.
    pushed_out: usize,
    frames: Box<[u64]>,
    last_stack: LastStack,
}

impl SiteCache {
    /// Where a key's entry begins is a key shifted by so much, …
    pub const SHIFT: u32 = size_of::<Known>().trailing_zeros() - PLACE_SHIFT;
    /// … and these are in it; the key comes first.
    pub const NUMBER: usize = core::mem::offset_of!(Known, number);
    /// See [`SiteCache::NUMBER`].
    pub const SLOT: usize = core::mem::offset_of!(Known, slot);

    /// Shows a table to the stubs: that of `cache`, or one in which nothing is.
    pub fn show(cache: Option<&SiteCache>, own: &tls::Block) {
        let entries = cache.map_or(&NO_SITES[..], |cache| &cache.entries);
        let mask = (entries.len() - 1) * size_of::<Known>();
        // Smaller first: whichever comes between finds a place within the table.
        own.sites_mask.store(0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let entries = entries.as_ptr().cast_mut().cast();
        own.sites.store(entries, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        own.sites_mask.store(mask, Ordering::Relaxed);
    }

    /// Nothing remembered.
    pub fn new() -> Self {
        SiteCache {
            // Never on the stack, which may be small.
            entries: alloc::vec![Known::NOTHING; CACHE].into(),
            sites: alloc::vec![Site(0); CACHE].into(),
            pushed_out: 0,
            frames: alloc::vec![0; unwind::MAX_FRAMES].into(),
            last_stack: LastStack::default(),
        }
    }

    /// Where a key is remembered.
    #[inline(always)]
    fn place_of(&self, key: u64) -> usize {
        (key >> PLACE_SHIFT) as usize & (self.entries.len() - 1)
    }

    /// Makes room for a key: if that happens often, there are more of them than places.
    fn make_room(&mut self, key: u64) -> usize {
        let many = self.entries.len();
        self.pushed_out += usize::from(self.entries[self.place_of(key)].key != 0);
        if self.pushed_out > 4 * many && many < LARGEST_CACHE {
            self.pushed_out = 0;
            let entries = alloc::vec![Known::NOTHING; 4 * many].into();
            let small = core::mem::replace(&mut self.entries, entries);
            let shown = small.as_ptr().cast();
            let sites = core::mem::replace(&mut self.sites, alloc::vec![Site(0); 4 * many].into());
            for (known, site) in small.into_iter().zip(sites) {
                let place = self.place_of(known.key);
                (self.entries[place], self.sites[place]) = (known, site);
            }
            let own = tls::own();
            if own.sites.load(Ordering::Relaxed).cast_const() == shown {
                SiteCache::show(Some(self), own);
            }
        }
        self.place_of(key)
    }

    /// The site of an event: `context` is the calling-context hash (0 if unknown), `pc` the return
    /// address into the program, `locks` what is held.
    #[inline]
    pub fn site(&mut self, context: u64, pc: usize, locks: LockSetId) -> Site {
        if context == 0 {
            return self.unknown_context(pc, locks);
        }
        let key = key(context, pc, locks);
        let place = self.place_of(key);
        if self.entries[place].key == key {
            return self.sites[place];
        }
        let site = self.shared(key, pc, locks);
        self.insert(key, site);
        site
    }

    fn insert(&mut self, key: u64, site: Site) {
        let place = self.make_room(key);
        self.entries[place] = Known {
            key,
            ..Known::NOTHING
        };
        self.sites[place] = site;
    }

    /// The site is `site`, without a look at any stack.
    #[cfg(test)]
    pub fn remember(&mut self, context: u64, pc: usize, locks: LockSetId, site: Site) {
        let key = key(context, pc, locks);
        if self.entries[self.place_of(key)].key != key {
            self.insert(key, site);
        }
    }

    /// The number of the event's site in `slot`, if it is remembered.
    #[inline(always)]
    pub fn number(&self, context: u64, pc: usize, locks: LockSetId, slot: Slot) -> Option<u32> {
        let key = key(context, pc, locks);
        let known = &self.entries[self.place_of(key)];
        (known.key == key && known.slot == slot_in_block(slot)).then_some(known.number)
    }

    /// The site that [`SiteCache::site`] just found has this number in `slot`.
    pub fn set_number(
        &mut self,
        context: u64,
        pc: usize,
        locks: LockSetId,
        slot: Slot,
        number: u32,
    ) {
        let key = key(context, pc, locks);
        let place = self.place_of(key);
        if self.entries[place].key == key {
            self.entries[place].slot = slot_in_block(slot);
            self.entries[place].number = number;
        }
    }

    #[cold]
    fn shared(&mut self, key: u64, pc: usize, locks: LockSetId) -> Site {
        let hash = mix(key, 0);
        let shard = &KEYS[(hash >> 60) as usize % SHARDS];
        let known = shard.lock().find(hash, |_| true);
        if let Some(site) = known {
            return Site(site);
        }
        let site = self.unknown_context(pc, locks);
        let mut index = shard.lock();
        if index.find(hash, |_| true).is_none() {
            index.insert(hash, site.0);
        }
        site
    }

    #[cold]
    fn unknown_context(&mut self, pc: usize, mut locks: LockSetId) -> Site {
        let many = PLACES.list.len();
        if many > MANY {
            locks = LockSetId(0);
        }
        let count = if many > TOO_MANY {
            self.frames[0] = pc as u64 - 1;
            1
        } else {
            unwind::capture(pc, &mut self.frames)
        };
        let stack = self.last_stack.id(&self.frames[..count]);
        place_site(Place { stack, locks })
    }
}

/// How many bytes all this takes, by what they are used for.
pub fn bytes(f: &mut dyn FnMut(&'static str, u64)) {
    let keys: usize = KEYS.iter().map(|keys| keys.lock().bytes()).sum();
    f("stacks", FRAMES.bytes() as u64);
    f("sets of locks", SETS.bytes() as u64);
    f("sites", PLACES.bytes() as u64);
    f("keys of sites", keys as u64);
}

/// The stack of a site.
pub fn stack_of(site: Site) -> StackId {
    PLACES.get(site.0).map_or(StackId(0), |place| place.stack)
}

/// The addresses of a stack, innermost first.
pub fn frames(stack: StackId) -> Vec<u64> {
    let mut pcs = Vec::new();
    let mut at = stack;
    while let Some(frame) = FRAMES.get(at.0) {
        pcs.push(frame.pc);
        at = frame.outer;
    }
    pcs
}

/// The locks held at a site, outermost first.
pub fn locks(site: Site) -> Vec<HeldLock> {
    let mut held = Vec::new();
    let mut at = PLACES.get(site.0).map_or(LockSetId(0), |place| place.locks);
    while let Some(node) = SETS.get(at.0) {
        held.push(node.lock);
        at = node.rest;
    }
    held.reverse();
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever stack was met before, a stack has one number, by which its frames are found.
    #[test]
    fn a_stack_has_one_number_whatever_came_before() {
        let stacks: [&[u64]; 7] = [
            &[],
            &[1],
            &[2, 1],
            &[3, 2, 1],
            &[4, 2, 1],
            &[2, 9],
            &[1, 1, 1],
        ];
        let number = |stack: &[u64]| LastStack::default().id(stack);
        let numbers: Vec<StackId> = stacks.iter().map(|stack| number(stack)).collect();
        for (before, _) in stacks.iter().zip(&numbers) {
            for (stack, number) in stacks.iter().zip(&numbers) {
                let mut last = LastStack::default();
                last.id(before);
                assert_eq!(last.id(stack), *number, "{stack:?} after {before:?}");
                assert_eq!(frames(*number), *stack);
            }
        }
        for (at, number) in numbers.iter().enumerate() {
            assert!(!numbers[..at].contains(number), "{:?}", stacks[at]);
        }
    }
}
