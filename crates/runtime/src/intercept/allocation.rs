//! The heap: libc's, with each block's beginning and end announced.
//!
//! Before the runtime has started, and while the loader looks functions up, blocks come from a small
//! arena and are never given back.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use event::Addr;

use crate::real::interceptors;
use crate::{heap, modules, stats, thread};

type Pointer = *mut c_void;

const ARENA: usize = 256 * 1024;

#[repr(align(16))]
struct Arena(core::cell::UnsafeCell<[u8; ARENA]>);
// SAFETY: pieces are handed out once each.
unsafe impl Sync for Arena {}

static EARLY: Arena = Arena(core::cell::UnsafeCell::new([0; ARENA]));
static EARLY_USED: AtomicUsize = AtomicUsize::new(0);

/// A zeroed piece of the arena, with its size in the 16 bytes before it.
fn early(align: usize, bytes: usize) -> Pointer {
    let align = align.max(16);
    let need = bytes.next_multiple_of(16) + align + 16;
    let at = EARLY_USED.fetch_add(need, Ordering::Relaxed);
    if at + need > ARENA {
        return core::ptr::null_mut();
    }
    let base = EARLY.0.get() as usize;
    let start = (base + at + 16).next_multiple_of(align);
    let header = (start - 16) as *mut usize;
    // SAFETY: within the piece, which is ours.
    unsafe { header.write(bytes) };
    start as Pointer
}

fn is_early(block: Pointer) -> bool {
    (block as usize).wrapping_sub(EARLY.0.get() as usize) < ARENA
}

fn early_size(block: Pointer) -> usize {
    // SAFETY: `early` wrote it there.
    unsafe { ((block as usize - 16) as *const usize).read() }
}

/// libc gave out a block.
fn born(block: Pointer, bytes: usize, pc: usize) -> Pointer {
    if !block.is_null() {
        thread::with(|thread, runtime| {
            let site = thread.site(pc);
            heap::insert(block as u64, bytes as u64, site, thread.tid);
            let words = (bytes as u64).div_ceil(8);
            let start = Addr(block as u64);
            runtime
                .analysis
                .alloc(&mut thread.state, start, 8, words, site);
        });
    }
    block
}

/// libc is about to take a block back.
fn dies(block: Pointer, pc: usize) {
    if !block.is_null() {
        thread::with(|thread, runtime| {
            if runtime.options.stats {
                stats::ends(&runtime.analysis, heap::live(block as u64));
            }
            if let Some(bytes) = heap::retire(block as u64) {
                let site = thread.site(pc);
                let start = Addr(block as u64);
                // Whole words, as it was announced.
                let bytes = bytes.next_multiple_of(8);
                if modules::is_silent(pc) {
                    runtime.analysis.renew(&mut thread.state, start, bytes);
                } else {
                    runtime.analysis.free(&mut thread.state, start, bytes, site);
                }
            }
        });
    }
}

/// Is libc's allocator not to be called yet?
fn too_early() -> bool {
    !real::free.is_resolved()
}

fn resizes(
    block: Pointer,
    bytes: usize,
    pc: usize,
    real: impl FnOnce(Pointer, usize) -> Pointer,
) -> Pointer {
    if block.is_null() {
        return born(real(block, bytes), bytes, pc);
    }
    let before = heap::live(block as u64);
    dies(block, pc);
    let new = real(block, bytes);
    if !new.is_null() {
        return born(new, bytes, pc);
    }
    if bytes != 0
        && let Some(before) = before
    {
        // It stays where it was.
        born(block, before.bytes as usize, pc);
    }
    new
}

interceptors! {
    // The last one looked up is `free`: then the others are known, too.
    fn malloc(bytes: usize) -> Pointer = |real, pc| {
        if too_early() {
            return early(16, bytes);
        }
        born(real(bytes), bytes, pc)
    }
    fn calloc(count: usize, size: usize) -> Pointer = |real, pc| {
        if too_early() {
            return early(16, count.saturating_mul(size));
        }
        born(real(count, size), count.wrapping_mul(size), pc)
    }
    fn realloc(block: Pointer, bytes: usize) -> Pointer = |real, pc| {
        if is_early(block) || too_early() {
            // SAFETY: an ordinary allocation.
            let new = unsafe { malloc(bytes) };
            if !new.is_null() && !block.is_null() {
                let length = early_size(block).min(bytes);
                // SAFETY: both blocks are that long, and distinct.
                unsafe { core::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), length) };
            }
            return new;
        }
        resizes(block, bytes, pc, real)
    }
    fn reallocarray(block: Pointer, count: usize, size: usize) -> Pointer = |real, pc| {
        match count.checked_mul(size) {
            Some(bytes) if !is_early(block) => resizes(block, bytes, pc, |block, _| real(block, count, size)),
            _ => real(block, count, size),
        }
    }
    fn memalign(align: usize, bytes: usize) -> Pointer = |real, pc| {
        if too_early() {
            return early(align, bytes);
        }
        born(real(align, bytes), bytes, pc)
    }
    fn aligned_alloc(align: usize, bytes: usize) -> Pointer = |real, pc| {
        if too_early() {
            return early(align, bytes);
        }
        born(real(align, bytes), bytes, pc)
    }
    fn posix_memalign(block: *mut Pointer, align: usize, bytes: usize) -> c_int = |real, pc| {
        let result = real(block, align, bytes);
        if result == 0 {
            super::writes(block, size_of::<Pointer>(), pc);
            // SAFETY: libc has written it.
            born(unsafe { *block }, bytes, pc);
        }
        result
    }
    fn valloc(bytes: usize) -> Pointer = |real, pc| {
        born(real(bytes), bytes, pc)
    }
    fn pvalloc(bytes: usize) -> Pointer = |real, pc| {
        born(real(bytes), bytes.next_multiple_of(4096), pc)
    }
    fn malloc_usable_size(block: Pointer) -> usize = |real, pc| {
        if block.is_null() {
            return 0;
        }
        if is_early(block) {
            return early_size(block);
        }
        // Beyond what was asked for the detector knows nothing.
        match heap::live(block as u64) {
            Some(known) => known.bytes as usize,
            None => real(block),
        }
    }
    fn free(block: Pointer) = |real, pc| {
        if is_early(block) {
            return;
        }
        dies(block, pc);
        real(block);
    }
}
