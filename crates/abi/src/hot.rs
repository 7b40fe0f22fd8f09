//! The thread's own block, `__footrace_tls`: what the inlined checks of `hot.bc` and the runtime share.
//!
//! ```text
//!   0  thread, depth, pending, …   the runtime's own
//!  24  streams, disturbed          what the thread's next accesses will be, for a detector that foresees them, or null
//!  40  settled                    the thread's table of states that have its accesses
//!  48  sites                      the thread's table of numbers of sites
//!  64  epoch, stretch, idle        of the thread's clock
//!  84  slot, locks, counts, pages, used, plain  for accesses that the stubs record themselves
//! 128  cache[4096]                 page number and shadow of 4096 pages, 16 bytes each
//!      atomics[128]                atomic objects that the thread needs no bracket for, 32 bytes each
//!      ordered[64]                 what others did in the thread's past
//!      window                      what the thread has written of late, for a detector that foresees, or null
//!      depot                       where states outside are
//!      alone, unchecked            whether there is another thread at all
//!      plain_mask                  how many entries `plain` has
//!      seen_parts                  where in `cache` footprints are
//! ```
//!
//! The thread itself writes, in the runtime; its inlined checks read. Zero when the thread starts, which
//! no address matches but those of page 0.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

/// Pages in the cache.
pub const CACHE: usize = 4096;
/// Entries of the cache of which is known together whether there are footprints among them: those of a page of memory, for most threads use few.
pub const PART: usize = 256;
/// Bytes of a page, as a power of two.
pub const PAGE_SHIFT: u32 = 12;
/// Bytes in the block.
pub const BYTES: usize = 128 + CACHE * 16 + ATOMICS * 32 + ORDERED * 8 + 64;
/// Atomic objects in the other one.
pub const ATOMICS: usize = 128;

/// Slots of which is known what is in the thread's past.
pub const ORDERED: usize = 64;

/// What is added to the number of a page whose entry has a footprint instead of locations: the inlined test does not find it.
pub const SEEN: usize = 1 << 52;

/// A page that the thread touched lately.
#[repr(C)]
#[derive(Debug)]
pub struct Entry {
    /// Its number, or that and [`SEEN`].
    pub page: AtomicUsize,
    /// Its shadow: one location for each word; or what the thread has accessed of it (`engine::shadow::Seen`).
    pub cells: AtomicUsize,
}

/// An atomic object on which operations of the thread change nothing (`engine::sync::quick`).
#[repr(C)]
#[derive(Debug)]
pub struct Repeat {
    /// Its first byte.
    pub address: AtomicUsize,
    /// In what stretch of the thread's execution, on how many bytes, and which operations: [`repeated`].
    pub what: AtomicU64,
    /// Where its bias is.
    pub bias: AtomicUsize,
    /// And what it was.
    pub remembered: AtomicU64,
}

/// The place of an atomic object in [`Block::atomics`]: 64 that lie side by side, eight bytes each, have different ones wherever they begin, and so have
/// 128 with a line of the cache each.
#[inline(always)]
pub const fn place(address: usize) -> usize {
    (address >> 2 ^ address >> 9) % ATOMICS
}

/// A stretch of the thread's execution, as [`Block::stretch`] has it.
#[inline(always)]
pub const fn stretch(number: u64) -> u64 {
    (number + 1) << 16
}

/// No stretch: nothing is repeated in it.
pub const NO_STRETCH: u64 = u64::MAX << 16;

/// Operations of these kinds on `size` bytes, in a [`stretch`].
#[inline(always)]
pub const fn repeated(stretch: u64, size: u32, which: u8) -> u64 {
    stretch | (size as u64 & 0xFF) << 8 | which as u64
}

/// Is the operation of kind `one` among those that are `repeated`, if the thread is in `stretch`?
#[inline(always)]
pub const fn is_repeated(what: u64, stretch: u64, size: u32, one: u8) -> bool {
    // All other kinds are left out of the comparison.
    let asked = repeated(stretch, size, one);
    one != 0 && (what ^ asked) & (!0xFF | one as u64) == 0
}

/// The block.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Block {
    /// The thread's state; null before its first event and after its last.
    pub thread: AtomicPtr<()>,
    /// How often the thread has entered the runtime and not left. Signals wait while it is not 0. Also
    /// read by a thread that forks the process.
    pub depth: AtomicU32,
    /// 1 if signals wait.
    pub pending: AtomicU32,
    /// 1 after the thread's last event: what it still does goes unseen.
    pub ended: AtomicU32,
    /// 1 between the two calls of an atomic operation.
    pub bracket: AtomicU32,
    /// What the detector foresees, and the number that tells whether it still holds; null if it foresees nothing.
    pub streams: AtomicPtr<()>,
    /// Where that number is: the first of the table of `engine::slimstate::Versions`.
    pub disturbed: AtomicPtr<AtomicU32>,
    /// Entries of `engine::shadow::Settled`; null before the thread's first event.
    pub settled: AtomicPtr<()>,
    /// Numbers of sites by their keys (`runtime::site::SiteCache`), 16 bytes each; …
    pub sites: AtomicPtr<()>,
    /// … and where in the table one may be: in these bytes.
    pub sites_mask: AtomicUsize,
    /// The current epoch's bits.
    pub epoch: AtomicU64,
    /// The current [`stretch`]; 0 before the first.
    pub stretch: AtomicU64,
    /// 1 if the thread, since its last atomic operation, did nothing else in the runtime and has nothing to publish.
    pub idle: AtomicU32,
    /// The slot that the stubs record accesses for, plus 1; 0 if they must not.
    pub slot: AtomicU32,
    /// What the locks held make of a site's key.
    pub locks: AtomicU64,
    /// `engine::shadow::Counts`.
    pub counts: AtomicPtr<AtomicU64>,
    /// The table of the pages that have a location for each word, for detectors that have one (`engine::shadow::Pages`), or null.
    pub pages: AtomicPtr<()>,
    /// Where to say that something was recorded in the epoch (`engine::clock::ThreadClock::used`); if `slot` is not 0.
    pub used: AtomicPtr<AtomicBool>,
    /// What the thread knows of memory without arrays (`engine::slimstate::PlainTable`), if `streams` is not null.
    pub plain: AtomicPtr<()>,
    /// Pages touched lately, by page number.
    pub cache: [Entry; CACHE],
    /// Atomic objects by [`place`].
    pub atomics: [Repeat; ATOMICS],
    /// A table of `engine::shadow::ordered`.
    pub ordered: [AtomicU64; ORDERED],
    /// The entry of `streams` that answers for reads from all places (`engine::slimstate::SlimThread::window`), if `streams` is not null.
    pub window: AtomicPtr<()>,
    /// What does not fit into locations (`engine::shadow::Depot`), for detectors whose stubs record accesses to fields, or null.
    pub depot: AtomicPtr<()>,
    /// Numbers that change when memory is made fresh of which a check is put off (`engine::shadow::Renewed`), or null if none ever is.
    pub renewed: AtomicPtr<()>,
    /// Accesses that were not checked because the thread was alone.
    pub unchecked: AtomicU64,
    /// 1 if no other thread's accesses can race with this one's (`runtime::alone`).
    pub alone: AtomicU32,
    /// `page & plain_mask` is the number of a page's entry in `plain`.
    pub plain_mask: AtomicU32,
    /// A bit for each [`PART`] entries of `cache`: has any of them had a footprint?
    pub seen_parts: AtomicU32,
}

const _: () = {
    assert!(size_of::<Block>() == BYTES);
    assert!(CACHE / PART <= u32::BITS as usize);
    assert!(core::mem::offset_of!(Block, epoch) == 64);
    assert!(core::mem::offset_of!(Block, cache) == 128);
};
