//! The quick path of a check, inlined into the program: was this access already made by this thread in this
//! epoch (FastTrack's `ReadSameEpoch` and `WriteSameEpoch`)? Then there is nothing to do, and nothing is written.
//! Anything else is the runtime's `_slow` twin, which begins with the same question to the thread's own table of states
//! ([`engine::shadow::Settled`]); the tests of reads, of several words and of a range ask it here.
//!
//! ```text
//!   page = address >> 12                     the thread's own cache of shadow pages
//!   entry = cache[page % 4096]               entry.page == page ?
//!   cells = entry.cells[address >> 3 & 511]  two cells for the 8-byte word
//!   (cell ^ epoch) & asked == 0 ?            either of them: same thread, same epoch, these bytes
//! ```
//!
//! The rule itself is [`Cell::answers`], the engine's own. The cache is filled by the slow path; shadow
//! pages never move, so an entry once right is right for ever. A detector without such cells leaves it empty. About 15
//! instructions, four loads, no store: a signal may come at any point.
#![no_std]
#![cfg_attr(not(footrace_image), allow(dead_code, reason = "used as bitcode only"))]

mod operate;

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering, compiler_fence};

use abi::hot::{Block, CACHE, PAGE_SHIFT, SEEN, is_repeated, place};
use abi::{AtomicKind, Order};
use engine::shadow::{Asked, Cell, Entries, Epoch, Location, PAGE_WORDS, Seen};
use engine::sync::quick;
use event::{AccessKind, Addr};

unsafe extern "C" {
    /// The thread's own block. No such function exists: the pass puts the address in its place.
    safe fn __footrace_own() -> *const Block;
}

/// The thread's own block, as the runtime lays it out.
#[inline(always)]
fn block() -> &'static Block {
    // SAFETY: the block lives as long as the thread that asks.
    unsafe { &*__footrace_own() }
}

/// Is an access of `size` bytes at `address`, in one word, known to be redundant?
#[inline(always)]
fn is_redundant(block: &Block, address: usize, size: u32, kind: AccessKind) -> bool {
    let asked = Asked::within(kind, address, size);
    let page = address >> PAGE_SHIFT;
    let entry = &block.cache[page % CACHE];
    // Both loads before the branch: so the code generator folds the thread pointer into them.
    let (known, cells) = (load(&entry.page), load(&entry.cells));
    if known != page {
        let has = |seen: &Seen| seen.has_within(kind, addr(address), u64::from(size));
        return is_seen(known, page, cells, has);
    }
    let word = (address >> 3) % PAGE_WORDS;
    let cells = (cells as *const Location).wrapping_add(word);
    // SAFETY: the runtime put the page's shadow there, which has a location for each word and stays.
    let location = unsafe { &*cells };
    let epoch = Epoch::from_bits(block.epoch.load(Ordering::Relaxed));
    if location.gives(epoch, asked) {
        return true;
    }
    if kind == AccessKind::Write {
        return false;
    }
    // What many threads read is in a state outside, whoever reads it.
    let settled: *const Entries = block.settled.load(Ordering::Relaxed).cast();
    // SAFETY: where a page is known, the runtime has put a table.
    location.is_settled(unsafe { &*settled }, epoch, asked)
}

/// The same for `words` words, whole ones: one look for the page. If they are in two pages, no.
#[inline(always)]
fn are_redundant(block: &Block, address: usize, words: usize, kind: AccessKind) -> bool {
    let page = address >> PAGE_SHIFT;
    let entry = &block.cache[page % CACHE];
    let (known, cells) = (load(&entry.page), load(&entry.cells));
    let first = (address >> 3) % PAGE_WORDS;
    if first + words > PAGE_WORDS {
        return false;
    }
    if known != page {
        let has = |seen: &Seen| seen.has(kind, addr(address), 8 * words as u64);
        return is_seen(known, page, cells, has);
    }
    let asked = Asked::new(kind, 0xFF);
    let epoch = Epoch::from_bits(block.epoch.load(Ordering::Relaxed));
    // SAFETY: the runtime put the page's shadow there, which has a location for each word and stays.
    let location = |word: usize| unsafe { &*(cells as *const Location).wrapping_add(word) };
    let end = first + words;
    let mut word = first;
    if location(first).gives(epoch, asked) {
        loop {
            word += 1;
            if word == end {
                return true;
            }
            if !location(word).gives(epoch, asked) {
                return false;
            }
        }
    }
    let settled: *const Entries = block.settled.load(Ordering::Relaxed).cast();
    // SAFETY: where a page is known, the runtime has put a table.
    let settled = unsafe { &*settled };
    // Fields that others read too are read by them together, and so most are in one state.
    let mut known = None;
    loop {
        if !known.is_some_and(|state| location(word).is_in(state)) {
            known = location(word).settled(settled, epoch, asked);
            if known.is_none() {
                return false;
            }
        }
        word += 1;
        if word == end {
            return true;
        }
    }
}

/// The same for `size` bytes anywhere, up to 16: in one word, or the end of one, the beginning of another and what is between. If these are in two pages, or might be, no.
#[inline(always)]
fn is_unaligned_redundant(block: &Block, address: usize, size: u32, kind: AccessKind) -> bool {
    let page = address >> PAGE_SHIFT;
    let entry = &block.cache[page % CACHE];
    let (known, cells) = (load(&entry.page), load(&entry.cells));
    let word = (address >> 3) % PAGE_WORDS;
    let more = size.div_ceil(8) as usize;
    if word + more >= PAGE_WORDS {
        return false;
    }
    if known != page {
        let has = |seen: &Seen| seen.has(kind, addr(address), u64::from(size));
        return is_seen(known, page, cells, has);
    }
    let epoch = Epoch::from_bits(block.epoch.load(Ordering::Relaxed));
    // SAFETY: the runtime put the page's shadow there, which has a location for each word and stays.
    let location = |word: usize| unsafe { &*(cells as *const Location).wrapping_add(word) };
    let mut word = word;
    let mut bytes = ((1u32 << size) - 1) << (address % 8);
    while bytes != 0 {
        if !location(word).gives(epoch, Asked::new(kind, bytes as u8)) {
            return false;
        }
        bytes >>= 8;
        word += 1;
    }
    true
}

/// Has the thread accessed these bytes of the page, if checks are put off there and the entry of the cache, which has `known` and `seen`, is about it?
#[inline(always)]
fn is_seen(known: usize, page: usize, seen: usize, has: impl FnOnce(&Seen) -> bool) -> bool {
    if known != page | SEEN {
        return false;
    }
    // SAFETY: the runtime put it there, and it stays as long as the thread.
    let seen = unsafe { &*(seen as *const Seen) };
    if !has(seen) {
        return false;
    }
    // It may be another page's by now, even since a moment ago: a signal's handler has pages of its own.
    compiler_fence(Ordering::SeqCst);
    seen.page.load(Ordering::Relaxed) == page as u64
}

#[inline(always)]
const fn addr(address: usize) -> Addr {
    Addr(address as u64)
}

#[inline(always)]
fn load(cell: &AtomicUsize) -> usize {
    cell.load(Ordering::Relaxed)
}

#[inline(always)]
fn check(address: *const u8, kind: AccessKind, size: u32) -> bool {
    let block = block();
    let address = address as usize;
    if size > 8 {
        return are_redundant(block, address, size as usize / 8, kind);
    }
    is_redundant(block, address, size, kind)
}

/// The same for `bytes` bytes at `address`, if they are in one page; else false.
#[inline(always)]
fn is_range_redundant(address: *const u8, bytes: u64, kind: AccessKind) -> bool {
    let Some(rest) = (bytes as usize).checked_sub(1) else {
        return true;
    };
    let first = address as usize;
    if rest > (1 << PAGE_SHIFT) - 1 - first % (1 << PAGE_SHIFT) {
        return false;
    }
    let last = first + rest;
    let block = block();
    let page = first >> PAGE_SHIFT;
    let entry = &block.cache[page % CACHE];
    let (known, cells) = (load(&entry.page), load(&entry.cells));
    if known != page {
        let has = |seen: &Seen| seen.has_range(kind, addr(first), bytes);
        return is_seen(known, page, cells, has);
    }
    let epoch = Epoch::from_bits(block.epoch.load(Ordering::Relaxed));
    let cells = cells as *const Location;
    // SAFETY: the runtime put the page's shadow there, which has a location for each word and stays.
    let location = |word: usize| unsafe { &*cells.wrapping_add(word) };
    let (word, end) = ((first >> 3) % PAGE_WORDS, (last >> 3) % PAGE_WORDS);
    // Most are a few bytes that are not aligned, in words of which all is known.
    let all = Asked::new(kind, 0xFF);
    if end - word <= 1 && location(word).gives(epoch, all) && location(end).gives(epoch, all) {
        return true;
    }
    let settled: *const Entries = block.settled.load(Ordering::Relaxed).cast();
    // SAFETY: where a page is known, the runtime has put a table.
    let settled = unsafe { &*settled };
    are_known(cells, settled, epoch, kind, first, last)
}

/// The rest of that test, word by word: the bytes from `first` to `last`, on the page of `cells`.
#[inline(never)]
fn are_known(
    cells: *const Location,
    settled: &Entries,
    epoch: Epoch,
    kind: AccessKind,
    first: usize,
    last: usize,
) -> bool {
    let mut mask = 0xFF << (first % 8);
    let mut word = (first >> 3) % PAGE_WORDS;
    let end = (last >> 3) % PAGE_WORDS;
    loop {
        if word == end {
            mask &= 0xFF >> (7 - last % 8);
        }
        let location = cells.wrapping_add(word);
        // SAFETY: the runtime put the page's shadow there, which has a location for each word and stays.
        let location = unsafe { &*location };
        if !location.is_known(settled, epoch, Asked::new(kind, mask)) {
            return false;
        }
        if word == end {
            return true;
        }
        mask = 0xFF;
        word += 1;
    }
}

const _: () =
    assert!(size_of::<Cell>() == 8 && size_of::<Location>() == 2 * size_of::<AtomicU64>());

macro_rules! checks {
    ($($size:literal $read:ident $read_slow:ident $write:ident $write_slow:ident;)*) => {
        unsafe extern "C" {$(
            fn $read_slow(address: *const u8);
            fn $write_slow(address: *const u8);
        )*}
        $(
            #[cfg_attr(footrace_image, unsafe(no_mangle))]
            unsafe extern "C" fn $read(address: *const u8) {
                if !check(address, AccessKind::Read, $size) {
                    // SAFETY: the runtime's, for any address.
                    unsafe { $read_slow(address) };
                }
            }
            #[cfg_attr(footrace_image, unsafe(no_mangle))]
            unsafe extern "C" fn $write(address: *const u8) {
                if !check(address, AccessKind::Write, $size) {
                    // SAFETY: the runtime's, for any address.
                    unsafe { $write_slow(address) };
                }
            }
        )*
    };
}

checks! {
    1 __footrace_read1 __footrace_read1_slow __footrace_write1 __footrace_write1_slow;
    2 __footrace_read2 __footrace_read2_slow __footrace_write2 __footrace_write2_slow;
    4 __footrace_read4 __footrace_read4_slow __footrace_write4 __footrace_write4_slow;
    8 __footrace_read8 __footrace_read8_slow __footrace_write8 __footrace_write8_slow;
    16 __footrace_read16 __footrace_read16_slow __footrace_write16 __footrace_write16_slow;
    24 __footrace_read24 __footrace_read24_slow __footrace_write24 __footrace_write24_slow;
    32 __footrace_read32 __footrace_read32_slow __footrace_write32 __footrace_write32_slow;
}

macro_rules! unaligned {
    ($($size:literal $kind:ident $name:ident $slow:ident;)*) => {
        unsafe extern "C" {$(
            fn $slow(address: *const u8);
        )*}
        $(
            #[cfg_attr(footrace_image, unsafe(no_mangle))]
            unsafe extern "C" fn $name(address: *const u8) {
                if !is_unaligned_redundant(block(), address as usize, $size, AccessKind::$kind) {
                    // SAFETY: the runtime's, for any address.
                    unsafe { $slow(address) };
                }
            }
        )*
    };
}

unaligned! {
    2 Read __footrace_read_unaligned2 __footrace_read_unaligned2_slow;
    4 Read __footrace_read_unaligned4 __footrace_read_unaligned4_slow;
    8 Read __footrace_read_unaligned8 __footrace_read_unaligned8_slow;
    16 Read __footrace_read_unaligned16 __footrace_read_unaligned16_slow;
    2 Write __footrace_write_unaligned2 __footrace_write_unaligned2_slow;
    4 Write __footrace_write_unaligned4 __footrace_write_unaligned4_slow;
    8 Write __footrace_write_unaligned8 __footrace_write_unaligned8_slow;
    16 Write __footrace_write_unaligned16 __footrace_write_unaligned16_slow;
}

/// The quick test of a range is a function of the module, not inlined ([`abi::QUICK`]): a range is checked where a loop was, and a call costs less than
/// this much code at each of them.
macro_rules! ranges {
    ($($name:ident $quick:ident $slow:ident $kind:ident;)*) => {
        unsafe extern "C" {$(
            fn $slow(address: *const u8, bytes: u64);
        )*}
        $(
            #[cfg_attr(footrace_image, unsafe(no_mangle))]
            #[inline(never)]
            extern "C" fn $quick(address: *const u8, bytes: u64) -> bool {
                is_range_redundant(address, bytes, AccessKind::$kind)
            }
            #[cfg_attr(footrace_image, unsafe(no_mangle))]
            unsafe extern "C" fn $name(address: *const u8, bytes: u64) {
                if !$quick(address, bytes) {
                    // SAFETY: the runtime's, for any address.
                    unsafe { $slow(address, bytes) };
                }
            }
        )*
    };
}

ranges! {
    __footrace_read_range __footrace_quick_read_range __footrace_read_range_slow Read;
    __footrace_write_range __footrace_quick_write_range __footrace_write_range_slow Write;
}

unsafe extern "C" {
    fn __footrace_atomic_begin_slow(address: *const u8, size: u32, kind: u32, order: u32);
    fn __footrace_atomic_end_slow(address: *const u8, size: u32, kind: u32, order: u32);
    fn __footrace_exchange_slow(
        address: *mut u8,
        size: u32,
        expected: u64,
        new: u64,
        success: u32,
        failure: u32,
    ) -> u64;
}

/// Which kind of repeated operation it would be, for [`quick`]; 0 if it is never one. All that is asked for is constant.
#[inline(always)]
const fn repeat(kind: u32, order: u32) -> u8 {
    const RELEASE: u32 = Order::Release as u32;
    const SEQ_CST: u32 = Order::SeqCst as u32;
    let releases = matches!(order, RELEASE..=SEQ_CST);
    if kind == AtomicKind::Load as u32 {
        quick::LOAD
    } else if kind == AtomicKind::CompareExchange as u32 && releases {
        // It may be a load. `__footrace_exchange` is for those that are not too wide.
        0
    } else if releases {
        quick::RELEASE
    } else if kind == AtomicKind::Store as u32 {
        quick::STORE
    } else {
        quick::UPDATE
    }
}

/// Begins an atomic operation that changes nothing that the detector knows, if it is one.
#[inline(always)]
fn begin(block: &Block, address: usize, size: u32, one: u8) -> bool {
    let entry = &block.atomics[place(address)];
    let what = entry.what.load(Ordering::Relaxed);
    let stretch = block.stretch.load(Ordering::Relaxed);
    if size > 16
        || load(&entry.address) != address
        || !is_repeated(what, stretch, size, one)
        || one == quick::RELEASE && block.idle.load(Ordering::Relaxed) == 0
        || block.depth.load(Ordering::Relaxed) != 0
    {
        return false;
    }
    let bias = load(&entry.bias) as *const AtomicU64;
    // SAFETY: the runtime put it there, and it stays.
    let bias = unsafe { &*bias };
    let remembered = entry.remembered.load(Ordering::Relaxed);
    quick::begin(&block.depth, bias, remembered)
}

#[cfg_attr(footrace_image, unsafe(no_mangle))]
unsafe extern "C" fn __footrace_atomic_begin(address: *const u8, size: u32, kind: u32, order: u32) {
    if !begin(block(), address as usize, size, repeat(kind, order)) {
        // SAFETY: the runtime's, for any address.
        unsafe { __footrace_atomic_begin_slow(address, size, kind, order) };
    }
    compiler_fence(Ordering::SeqCst);
}

#[cfg_attr(footrace_image, unsafe(no_mangle))]
unsafe extern "C" fn __footrace_atomic_end(address: *const u8, size: u32, kind: u32, order: u32) {
    compiler_fence(Ordering::SeqCst);
    let block = block();
    if block.depth.load(Ordering::Relaxed) == quick::WITHIN {
        quick::end(&block.depth);
        compiler_fence(Ordering::SeqCst);
        if block.pending.load(Ordering::Relaxed) == 0 {
            return;
        }
    }
    // SAFETY: the runtime's, for any address.
    unsafe { __footrace_atomic_end_slow(address, size, kind, order) };
}

/// A compare-exchange that would fail is a load and made as such; one that would succeed is a read-modify-write. What it turned out to be is
/// looked at again within.
#[cfg_attr(footrace_image, unsafe(no_mangle))]
unsafe extern "C" fn __footrace_exchange(
    address: *mut u8,
    size: u32,
    expected: u64,
    new: u64,
    success: u32,
    failure: u32,
) -> u64 {
    let one = if operate::load(address, size) == expected {
        repeat(AtomicKind::Rmw as u32, success)
    } else {
        quick::LOAD
    };
    let block = block();
    if begin(block, address as usize, size, one) {
        compiler_fence(Ordering::SeqCst);
        let old = match one {
            quick::LOAD => operate::load(address, size),
            _ => operate::exchange(address, size, expected, new),
        };
        let foreseen = match one {
            quick::LOAD => old != expected,
            quick::RELEASE => old == expected,
            // It repeats a load, too.
            _ => true,
        };
        compiler_fence(Ordering::SeqCst);
        quick::end(&block.depth);
        compiler_fence(Ordering::SeqCst);
        if foreseen {
            if block.pending.load(Ordering::Relaxed) != 0 {
                // SAFETY: the runtime's, for any address.
                unsafe { __footrace_atomic_end_slow(address, size, 0, failure) };
            }
            return old;
        }
        // It did nothing yet.
    }
    // SAFETY: the runtime's, for any address.
    unsafe { __footrace_exchange_slow(address, size, expected, new, success, failure) }
}
