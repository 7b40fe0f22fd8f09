//! The program's blocks: from any address to the block it lies in, alive or freed last.
//!
//! ```text
//! address  46…32      31…20      19…12     11…4                                    3…0
//!          top table  middle     leaf      starts: a few, then one per granule      byte in granule
//! ```
//!
//! What a page has in its leaf is the numbers of the blocks that start in it. A block's number stays when it is
//! freed, so that a report can say what the memory was, and is used again by the next block at that address.
//!
//! **Who may touch what.** Anybody may look at any time. Starts are only ever added: one of the few that is free is taken by a
//! compare-exchange. What a page with few blocks costs is what makes the difference where blocks are large: their memory is most of it.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use event::{Site, Tid};

use crate::lock::Spin;

const TOP: usize = 1 << 15;
const MIDDLE: usize = 1 << 12;
const LEAF: usize = 1 << 8;
const PAGE: u64 = 4096;
const GRANULE: u64 = 16;
const GRANULES: usize = (PAGE / GRANULE) as usize;
const LEAF_BYTES: u64 = PAGE * LEAF as u64;
/// Blocks that may start in a page that has no table.
const FEW: usize = 3;
/// Blocks are kept in segments of this many.
const SEGMENT: usize = 1 << 16;
const FREED: u64 = 1 << 63;

struct Leaf([AtomicPtr<Starts>; LEAF]);
struct Middle([AtomicPtr<Leaf>; MIDDLE]);
/// Where blocks start in a page. A few are words, with the granule in the high half and the number in the low one; the others are in a table.
struct Starts([AtomicU64; FEW], AtomicPtr<Table>);
/// The number of the block that starts in each granule of a page.
struct Table([AtomicU32; GRANULES]);

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

/// The starts in the page of an address; none beyond the address space.
fn make_starts(address: u64) -> Option<&'static Starts> {
    let top = TOP_TABLE.get((address >> 32) as usize)?;
    let leaf = get_or_make(&get_or_make(top).0[(address >> 20) as usize % MIDDLE]);
    Some(get_or_make(&leaf.0[(address / PAGE) as usize % LEAF]))
}

impl Leaf {
    fn starts(&self, address: u64) -> Option<&'static Starts> {
        let few = self.0[(address / PAGE) as usize % LEAF].load(Ordering::Acquire);
        // SAFETY: null or filled for good.
        unsafe { few.as_ref() }
    }
}

const fn granule(address: u64) -> usize {
    (address / GRANULE) as usize % GRANULES
}

impl Starts {
    fn table(&self) -> Option<&'static Table> {
        let table = self.1.load(Ordering::Acquire);
        // SAFETY: null or filled for good.
        unsafe { table.as_ref() }
    }

    /// The number of the last block that started in that granule; 0 if there was none.
    #[inline]
    fn number(&self, granule: usize) -> u32 {
        for word in &self.0 {
            let word = word.load(Ordering::Acquire);
            if word == 0 {
                return 0;
            }
            if word >> 32 == granule as u64 {
                return word as u32;
            }
        }
        let number = |table: &Table| table.0[granule].load(Ordering::Acquire);
        self.table().map_or(0, number)
    }

    /// The block that starts in that granule, where none did yet, has that number.
    fn add(&self, granule: usize, number: u32) {
        let word = (granule as u64) << 32 | u64::from(number);
        for free in &self.0 {
            let taken = free.compare_exchange(0, word, Ordering::AcqRel, Ordering::Acquire);
            if taken.is_ok() {
                return;
            }
        }
        get_or_make(&self.1).0[granule].store(number, Ordering::Release);
    }
}

#[inline]
fn slot(number: u32) -> &'static Slot {
    let segment = get_or_make(&SEGMENTS[number as usize / SEGMENT]);
    &segment[number as usize % SEGMENT]
}

/// A block of `bytes` at `start` comes into being.
pub fn insert(start: u64, bytes: u64, site: Site, thread: Tid) {
    let Some(starts) = make_starts(start) else {
        return;
    };
    let known = starts.number(granule(start));
    let number = match known {
        0 => USED.fetch_add(1, Ordering::Relaxed),
        known => known,
    };
    let slot = slot(number);
    slot.origin.store(
        u64::from(site.0) << 32 | u64::from(thread.0),
        Ordering::Relaxed,
    );
    slot.start.store(start, Ordering::Relaxed);
    slot.size.store(bytes, Ordering::Relaxed);
    if known == 0 {
        starts.add(granule(start), number);
    }
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
    let number = leaf_at(start)?.starts(start)?.number(granule(start));
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

/// Calls `f` with each live block.
pub fn each_live(mut f: impl FnMut(HeapBlock)) {
    let used = USED.load(Ordering::Acquire);
    let blocks = (1..used).map(read);
    // A number that was taken and not yet filled has no bytes.
    blocks.filter(|b| !b.freed && b.bytes > 0).for_each(&mut f);
}

/// The block that holds `address`: a live one, or else the freed one that starts nearest below.
pub fn find(address: u64) -> Option<HeapBlock> {
    let mut freed = None;
    let mut at = address;
    // A gap of 64 GiB without any block is the end of the heap.
    let lowest = address.saturating_sub(64 << 30);
    loop {
        match leaf_at(at).map(|leaf| leaf.starts(at)) {
            None => at -= at % LEAF_BYTES,
            Some(None) => at -= at % PAGE,
            Some(Some(starts)) => {
                for granule in (0..=granule(at)).rev() {
                    let number = starts.number(granule);
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
                at -= at % PAGE;
            }
        }
        if at <= lowest {
            return freed;
        }
        at -= 1;
    }
}
