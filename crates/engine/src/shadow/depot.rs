//! Where the states are kept that do not fit into a location.
//!
//! Most of them are the same: the rows of a matrix that four threads read have one history. So a state of plain accesses
//! is immutable, stored once, and *shared* by all locations that are in it (the idea of SlimFast, Peng et al., IPDPS 2018); a
//! large table read by everybody costs 16 bytes a word and one state. A state with atomic accesses changes with each of
//! them and is *owned* by its location; so is one that changes with nearly every access because its readers go from epoch to epoch, see `Memo`. Most
//! that are owned are [blocks](Block) or [fields](super::fields::Fields), in [pools](Pool) of their own.
//!
//! A shared state is counted: one for each location that holds its index and for each thread that remembers it. Its index is
//! not used again before the count is zero, so whoever holds a count may compare indices instead of states.
//!
//! An owned state is named by its index and its *life*, as what a pool has.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::block::Block;
use super::cell::{Cell, MAX_INDEX, MAX_LIFE, Owned};
use super::extended::Extended;
use super::fields::{Double, Half};
use super::pool::Pool;
use crate::grow::Grow;
use crate::lock::{AtomicU32, Lock, Ordering};

#[derive(Debug, Default)]
enum State {
    #[default]
    Free,
    Owned(Box<Extended>),
    Shared(Arc<[Cell]>),
}

#[derive(Debug, Default)]
struct Entry {
    /// Of a shared state: who holds the index.
    count: AtomicU32,
    /// How many owned states it has had. Only who has the index looks at it, so it is no part of the model.
    lives: core::sync::atomic::AtomicU32,
    state: Lock<State>,
}

const SHARDS: usize = 64;

type Interned = HashTable<(Arc<[Cell]>, u32)>;

/// All states that do not fit into their locations.
#[derive(Debug)]
pub struct Depot {
    entries: Grow<Entry>,
    free: Lock<Vec<u32>>,
    next: AtomicU32,
    /// How many indices are used up.
    worn: core::sync::atomic::AtomicU32,
    /// The shared states by what they say.
    interned: Box<[Lock<Interned>]>,
    /// For [`Block`]s, and for fields of two bytes.
    pub(super) blocks: Pool<Block>,
    /// For fields of four bytes.
    pub(super) halves: Pool<Half>,
    /// For fields of one byte.
    pub(super) doubles: Pool<Double>,
}

impl Default for Depot {
    fn default() -> Depot {
        Depot::new()
    }
}

fn hash(cells: &[Cell]) -> u64 {
    FxBuildHasher.hash_one(cells)
}

impl Depot {
    /// An empty one.
    pub fn new() -> Depot {
        Depot {
            entries: Grow::new(),
            free: Lock::default(),
            next: AtomicU32::new(0),
            worn: 0.into(),
            interned: (0..SHARDS).map(|_| Lock::default()).collect(),
            blocks: Pool::default(),
            halves: Pool::default(),
            doubles: Pool::default(),
        }
    }

    /// How many states there are.
    pub fn len(&self) -> usize {
        let unused = self.free.lock().len() + self.worn.load(Ordering::Relaxed) as usize;
        let owned = self.halves.len() + self.blocks.len() + self.doubles.len();
        self.next.load(Ordering::Relaxed) as usize - unused + owned
    }

    /// How many bytes the states took, at most; of those that are not blocks it is the least.
    pub(crate) fn bytes(&self) -> u64 {
        let entry = size_of::<Entry>() + 2 * size_of::<Cell>() + size_of::<Arc<[Cell]>>();
        let owned = self.halves.bytes() + self.blocks.bytes() + self.doubles.bytes();
        (self.next.load(Ordering::Relaxed) as usize * entry + owned) as u64
    }

    /// Does every location speak for itself?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn take(&self) -> u32 {
        if let Some(index) = self.free.lock().pop() {
            return index;
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        assert!(index <= MAX_INDEX, "footrace: 2^29 different histories");
        index
    }

    fn shard(&self, hash: u64) -> &Lock<Interned> {
        &self.interned[(hash >> 20) as usize % SHARDS]
    }

    /// The shared state that says `cells`, held `count` times more.
    pub(super) fn intern(&self, cells: &[Cell], count: u32) -> u32 {
        self.share(cells, count).0
    }

    /// The same, and whether it was made.
    pub(super) fn share(&self, cells: &[Cell], count: u32) -> (u32, bool) {
        let hash = hash(cells);
        let mut interned = self.shard(hash).lock();
        if let Some((_, index)) = interned.find(hash, |(known, _)| **known == *cells) {
            // Possibly from zero: whoever let go of it last looks again under this lock.
            self.entries
                .get(*index)
                .count
                .fetch_add(count, Ordering::Relaxed);
            return (*index, false);
        }
        let cells: Arc<[Cell]> = cells.into();
        let index = self.take();
        let entry = self.entries.get(index);
        entry.count.store(count, Ordering::Relaxed);
        *entry.state.lock() = State::Shared(Arc::clone(&cells));
        interned.insert_unique(hash, (cells, index), |(cells, _)| self::hash(cells));
        (index, true)
    }

    /// What the shared state says. The caller holds it.
    pub(super) fn cells(&self, index: u32) -> Arc<[Cell]> {
        match &*self.entries.get(index).state.lock() {
            State::Shared(cells) => Arc::clone(cells),
            State::Free | State::Owned(_) => unreachable!("a count keeps a shared state"),
        }
    }

    /// Holds a shared state `count` times more. The caller holds it already.
    pub(super) fn hold(&self, index: u32, count: u32) {
        self.entries
            .get(index)
            .count
            .fetch_add(count, Ordering::Relaxed);
    }

    /// Lets go of a shared state `count` times.
    pub(super) fn let_go(&self, index: u32, count: u32) {
        let entry = self.entries.get(index);
        if count == 0 || entry.count.load(Ordering::Relaxed) > count && self.drop_some(index, count)
        {
            return;
        }
        // Perhaps the last: keep the content until it is out of the table.
        let cells = self.cells(index);
        if entry.count.fetch_sub(count, Ordering::AcqRel) != count {
            return;
        }
        let hash = hash(&cells);
        let mut interned = self.shard(hash).lock();
        let mut state = entry.state.lock();
        let same = matches!(&*state, State::Shared(known) if Arc::ptr_eq(known, &cells));
        if same && entry.count.load(Ordering::Acquire) == 0 {
            *state = State::Free;
            if let Ok(found) = interned.find_entry(hash, |(_, i)| *i == index) {
                found.remove();
            }
            drop(state);
            self.free.lock().push(index);
        }
    }

    /// Subtracts unless that would be the end of it.
    fn drop_some(&self, index: u32, count: u32) -> bool {
        let entry = self.entries.get(index);
        entry
            .count
            .fetch_update(Ordering::Release, Ordering::Relaxed, |now| {
                (now > count).then(|| now - count)
            })
            .is_ok()
    }

    /// A place for a state that one location owns.
    pub(super) fn own(&self, state: Extended) -> Owned {
        let index = self.take();
        let entry = self.entries.get(index);
        let life = entry.lives.fetch_add(1, Ordering::Relaxed);
        *entry.state.lock() = State::Owned(Box::new(state));
        Owned { index, life }
    }

    /// Changes an owned state. The caller has its location locked.
    pub(super) fn with_owned<T>(&self, index: u32, f: impl FnOnce(&mut Extended) -> T) -> T {
        match &mut *self.entries.get(index).state.lock() {
            State::Owned(extended) => f(extended),
            State::Free | State::Shared(_) => unreachable!("a location keeps what it owns"),
        }
    }

    /// Gives an owned state up.
    pub(super) fn disown(&self, index: u32) -> Extended {
        let entry = self.entries.get(index);
        let state = core::mem::take(&mut *entry.state.lock());
        if entry.lives.load(Ordering::Relaxed) <= MAX_LIFE {
            self.free.lock().push(index);
        } else {
            self.worn.fetch_add(1, Ordering::Relaxed);
        }
        match state {
            State::Owned(extended) => *extended,
            State::Free | State::Shared(_) => unreachable!("a location keeps what it owns"),
        }
    }
}
