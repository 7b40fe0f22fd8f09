//! The thread's own block, `__footrace_tls`: what the inlined checks of `hot.bc` and the runtime share.
//!
//! ```text
//!   0  thread, depth, pending, …   the runtime's own
//!  64  epoch                       bits of the thread's current epoch
//! 128  cache[256]                  page number and shadow of 256 pages, 16 bytes each
//! ```
//!
//! The thread itself writes, in the runtime; its inlined checks read. Zero when the thread starts, which
//! no address matches but those of page 0.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

/// Pages in the cache.
pub const CACHE: usize = 256;
/// Bytes of a page, as a power of two.
pub const PAGE_SHIFT: u32 = 12;
/// Bytes in the block.
pub const BYTES: usize = 128 + CACHE * 16;

/// A page that the thread touched lately.
#[repr(C)]
#[derive(Debug)]
pub struct Entry {
    /// Its number.
    pub page: AtomicUsize,
    /// Its shadow: one location for each word.
    pub cells: AtomicUsize,
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
    reserved: [u64; 5],
    /// The current epoch's bits.
    pub epoch: AtomicU64,
    reserved_too: [u64; 7],
    /// Pages touched lately, by page number.
    pub cache: [Entry; CACHE],
}

const _: () = {
    assert!(size_of::<Block>() == BYTES);
    assert!(core::mem::offset_of!(Block, epoch) == 64);
    assert!(core::mem::offset_of!(Block, cache) == 128);
};
