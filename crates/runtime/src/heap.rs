//! The program's blocks: from any address to the block it lies in, alive or freed last.
//!
//! ```text
//! address  46…32      31…20      19…4          3…0
//!          top table  middle     leaf: u32     byte in granule
//! ```
//!
//! A leaf entry is the number of the block that starts in that granule. A block's entry stays when it is
//! freed, so that a report can say what the memory was, and is used again by the next block at that address.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use event::{Site, Tid};

use crate::lock::Spin;

const TOP: usize = 1 << 15;
const MIDDLE: usize = 1 << 12;
const LEAF: usize = 1 << 16;
const GRANULE: u64 = 16;
const LEAF_BYTES: u64 = GRANULE * LEAF as u64;
/// Blocks are kept in segments of this many.
const SEGMENT: usize = 1 << 16;
const FREED: u64 = 1 << 63;

struct Leaf([AtomicU32; LEAF]);
struct Middle([AtomicPtr<Leaf>; MIDDLE]);

/// One block. Written by the thread that allocates or frees it; a report may read while it changes and
/// then gets a block that was there a moment ago.
#[derive(Debug, Default)]
struct Slot {
    start: AtomicU64,
    /// Bytes, and [`FREED`].
    size: AtomicU64,
    /// Site and thread of the allocation.
    origin: AtomicU64,
}

static TOP_TABLE: [AtomicPtr<Middle>; TOP] = [const { AtomicPtr::new(core::ptr::null_mut()) }; TOP];
static SEGMENTS: [AtomicPtr<[Slot; SEGMENT]>; SEGMENT] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; SEGMENT];
static USED: AtomicU32 = AtomicU32::new(1);
static GROWING: Spin<()> = Spin::new(());

/// What a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapBlock {
    /// First byte.
    pub start: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Where it was allocated.
    pub site: Site,
    /// By whom.
    pub thread: Tid,
    /// Has it been freed?
    pub freed: bool,
}

/// Reads `cell`, first filling it with a zeroed `T` if it is empty.
#[inline]
fn get_or_make<T>(cell: &AtomicPtr<T>) -> &'static T {
    let mut there = cell.load(Ordering::Acquire);
    if there.is_null() {
        there = make(cell);
    }
    // SAFETY: filled once, never taken away.
    unsafe { &*there }
}

#[cold]
#[inline(never)]
fn make<T>(cell: &AtomicPtr<T>) -> *mut T {
    let _growing = GROWING.lock();
    let mut there = cell.load(Ordering::Acquire);
    if there.is_null() {
        let fresh = Box::<T>::new_zeroed();
        // SAFETY: all tables here are arrays of atomics, for which zero bytes are zeros and nulls.
        let fresh = unsafe { fresh.assume_init() };
        there = Box::into_raw(fresh);
        cell.store(there, Ordering::Release);
    }
    there
}

fn entry(address: u64) -> Option<&'static AtomicU32> {
    let top = TOP_TABLE.get((address >> 32) as usize)?;
    let middle = get_or_make(top);
    let leaf = get_or_make(&middle.0[(address >> 20) as usize % MIDDLE]);
    Some(&leaf.0[(address / GRANULE) as usize % LEAF])
}

fn leaf_at(address: u64) -> Option<&'static Leaf> {
    let middle = TOP_TABLE
        .get((address >> 32) as usize)?
        .load(Ordering::Acquire);
    // SAFETY: null or filled for good.
    let middle = unsafe { middle.as_ref() }?;
    let leaf = middle.0[(address >> 20) as usize % MIDDLE].load(Ordering::Acquire);
    // SAFETY: null or filled for good.
    unsafe { leaf.as_ref() }
}

#[inline]
fn slot(number: u32) -> &'static Slot {
    let segment = get_or_make(&SEGMENTS[number as usize / SEGMENT]);
    &segment[number as usize % SEGMENT]
}

/// A block of `bytes` at `start` comes into being.
pub fn insert(start: u64, bytes: u64, site: Site, thread: Tid) {
    let Some(entry) = entry(start) else { return };
    let mut number = entry.load(Ordering::Relaxed);
    if number == 0 {
        number = USED.fetch_add(1, Ordering::Relaxed);
    }
    let slot = slot(number);
    slot.origin.store(
        u64::from(site.0) << 32 | u64::from(thread.0),
        Ordering::Relaxed,
    );
    slot.start.store(start, Ordering::Relaxed);
    slot.size.store(bytes, Ordering::Relaxed);
    entry.store(number, Ordering::Release);
}

fn read(number: u32) -> HeapBlock {
    let slot = slot(number);
    let size = slot.size.load(Ordering::Relaxed);
    let origin = slot.origin.load(Ordering::Relaxed);
    HeapBlock {
        start: slot.start.load(Ordering::Relaxed),
        bytes: size & !FREED,
        site: Site((origin >> 32) as u32),
        thread: Tid(origin as u32),
        freed: size & FREED != 0,
    }
}

/// The number of the last block that started at `start`.
#[inline]
fn number_at(start: u64) -> Option<u32> {
    let leaf = leaf_at(start)?;
    let number = leaf.0[(start / GRANULE) as usize % LEAF].load(Ordering::Acquire);
    (number != 0).then_some(number)
}

/// The live block that starts at `start`.
pub fn live(start: u64) -> Option<HeapBlock> {
    let block = read(number_at(start)?);
    (block.start == start && !block.freed).then_some(block)
}

/// The block at `start` is freed; how long it was, if it was alive.
pub fn retire(start: u64) -> Option<u64> {
    let slot = slot(number_at(start)?);
    let bytes = slot.size.load(Ordering::Relaxed);
    if bytes & FREED != 0 || slot.start.load(Ordering::Relaxed) != start {
        return None;
    }
    slot.size.store(bytes | FREED, Ordering::Relaxed);
    Some(bytes)
}

/// The block that holds `address`: a live one, or else the freed one that starts nearest below.
pub fn find(address: u64) -> Option<HeapBlock> {
    let mut freed = None;
    let mut at = address;
    // A gap of 64 GiB without any block is the end of the heap.
    let lowest = address.saturating_sub(64 << 30);
    loop {
        match leaf_at(at) {
            None => at -= at % LEAF_BYTES,
            Some(leaf) => {
                for granule in (0..=(at / GRANULE) as usize % LEAF).rev() {
                    let number = leaf.0[granule].load(Ordering::Acquire);
                    if number == 0 {
                        continue;
                    }
                    let block = read(number);
                    if address < block.start || address - block.start >= block.bytes.max(1) {
                        continue;
                    }
                    if !block.freed {
                        return Some(block);
                    }
                    freed = freed.or(Some(block));
                }
                at -= at % LEAF_BYTES;
            }
        }
        if at <= lowest {
            return freed;
        }
        at -= 1;
    }
}
