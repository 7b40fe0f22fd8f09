//! Two containers that only grow: what was put in stays where it is until the process ends, so that a
//! number handed out once can be looked up by anybody, at any time, without a lock.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::lock::Spin;

const FIRST: u32 = 1 << 10;
const SEGMENTS: usize = 22;

/// A list whose elements never move. Segment `k` holds `FIRST << k` elements.
#[derive(Debug)]
pub struct Append<T> {
    segments: [AtomicPtr<T>; SEGMENTS],
    len: AtomicU32,
    growing: Spin<()>,
}

fn place(index: u32) -> (usize, usize) {
    let biased = u64::from(index) + u64::from(FIRST);
    let segment = (biased.ilog2() - FIRST.ilog2()) as usize;
    (segment, (biased - (u64::from(FIRST) << segment)) as usize)
}

impl<T: Copy> Append<T> {
    /// An empty list.
    pub const fn new() -> Self {
        Append {
            segments: [const { AtomicPtr::new(core::ptr::null_mut()) }; SEGMENTS],
            len: AtomicU32::new(0),
            growing: Spin::new(()),
        }
    }

    /// How many.
    pub fn len(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }

    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        self.len() as usize * size_of::<T>()
    }

    /// Puts `value` at the end; its index.
    pub fn push(&self, value: T) -> u32 {
        let _growing = self.growing.lock();
        let index = self.len.load(Ordering::Relaxed);
        let (segment, offset) = place(index);
        let mut start = self.segments[segment].load(Ordering::Relaxed);
        if start.is_null() {
            let fresh: Box<[MaybeUninit<T>]> = Box::new_uninit_slice((FIRST as usize) << segment);
            start = Box::leak(fresh).as_mut_ptr().cast();
            self.segments[segment].store(start, Ordering::Release);
        }
        // SAFETY: `offset` is inside the segment.
        let slot = unsafe { start.add(offset) };
        // SAFETY: nobody reads the slot before `len` says so.
        unsafe { slot.write(value) };
        self.len.store(index + 1, Ordering::Release);
        index
    }

    /// The element at `index`, if there is one.
    pub fn get(&self, index: u32) -> Option<T> {
        if index >= self.len() {
            return None;
        }
        let (segment, offset) = place(index);
        let start = self.segments[segment].load(Ordering::Acquire);
        // SAFETY: `index < len`, so the segment exists and holds it.
        let slot = unsafe { start.add(offset) };
        // SAFETY: written before `len` was raised over it.
        Some(unsafe { slot.read() })
    }
}

/// What [`mix`] makes of two words before it multiplies them.
pub const MIX: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03];

/// Well-mixed bits of two words (a 128-bit product, folded).
#[inline(always)]
pub fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ MIX[0]) * u128::from(b ^ MIX[1]);
    (product as u64) ^ ((product >> 64) as u64)
}

/// How many places an index has at first. There are many of them, one a shard, and in a small program few have more than one entry.
const SMALLEST: usize = 16;

/// From 64-bit keys to numbers; keys are hashes. The caller says whether a number that it finds under
/// its hash is the one it means.
#[derive(Debug)]
pub struct Index {
    /// Pairs of hash (0 is empty) and number; the length is a power of two.
    slots: Vec<(u64, u32)>,
    used: usize,
}

impl Index {
    /// An empty index.
    pub const fn new() -> Self {
        Index {
            slots: Vec::new(),
            used: 0,
        }
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<(u64, u32)>()
    }

    /// The number under `hash` for which `is_it`, if any.
    pub fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let hash = hash.max(1);
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].0 != 0 {
            if self.slots[at].0 == hash && is_it(self.slots[at].1) {
                return Some(self.slots[at].1);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Puts `number` under `hash`.
    pub fn insert(&mut self, hash: u64, number: u32) {
        if self.used * 4 >= self.slots.len() * 3 {
            let bigger = (self.slots.len() * 2).max(SMALLEST);
            let old = core::mem::replace(&mut self.slots, vec![(0, 0); bigger]);
            for (hash, number) in old {
                if hash != 0 {
                    self.put(hash, number);
                }
            }
        }
        self.used += 1;
        self.put(hash.max(1), number);
    }

    fn put(&mut self, hash: u64, number: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].0 != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = (hash, number);
    }
}
