//! The thread's own block, in static thread-local storage: reachable in one instruction from the
//! program's inlined checks and from here, without any call that could allocate or take a lock.
//!
//! ```text
//! __footrace_tls      the block below, zero when a thread starts
//! __footrace_context  u64, the calling-context hash that instrumented code maintains
//! __footrace_counts   what instrumented code counts, if it was linked to do so
//! ```

use core::arch::{asm, global_asm};
use core::ops::Deref;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence};

use engine::shadow::{Asked, Entries, Epoch, Location, NOTHING, PAGE_WORDS, Page, Seen};
use engine::sync::quick::Repeats;
use event::AccessKind;

use crate::sys;
use crate::thread::Thread;

/// What a thread keeps in static thread-local storage, laid out for the program's inlined checks.
#[repr(transparent)]
#[derive(Debug)]
pub struct Block(abi::hot::Block);

impl Deref for Block {
    type Target = abi::hot::Block;
    fn deref(&self) -> &abi::hot::Block {
        &self.0
    }
}

global_asm!(
    ".section .tbss.__footrace_tls,\"awT\",@nobits",
    ".globl __footrace_tls",
    ".p2align 6",
    ".type __footrace_tls,@object",
    ".size __footrace_tls,{bytes}",
    "__footrace_tls:",
    ".zero {bytes}",
    ".globl __footrace_context",
    ".type __footrace_context,@object",
    ".size __footrace_context,8",
    "__footrace_context:",
    ".zero 8",
    ".globl __footrace_counts",
    ".type __footrace_counts,@object",
    ".size __footrace_counts,{counts}",
    "__footrace_counts:",
    ".zero {counts}",
    ".text",
    bytes = const abi::hot::BYTES,
    counts = const abi::counts::COUNTERS * 8,
);

/// The address of a thread-local variable of the calling thread's.
macro_rules! address_of {
    ($name:literal) => {{
        let p;
        // SAFETY: reads the thread pointer and a link-time constant.
        unsafe {
            asm!(
                concat!("mov {p}, qword ptr [rip + ", $name, "@GOTTPOFF]"),
                "add {p}, qword ptr fs:[0]",
                p = out(reg) p,
                options(pure, nomem, nostack)
            );
        }
        p
    }};
}

/// The calling thread's block.
#[inline(always)]
pub fn block() -> *const Block {
    address_of!("__footrace_tls")
}

/// The calling thread's block, as a reference. It must not outlive the thread: do not store it.
#[inline(always)]
pub fn own() -> &'static Block {
    // SAFETY: the block lives as long as the thread that asks.
    unsafe { &*block() }
}

#[inline(always)]
fn context_cell() -> &'static AtomicU64 {
    let p: *const AtomicU64 = address_of!("__footrace_context");
    // SAFETY: the cell lives as long as the thread that asks.
    unsafe { &*p }
}

/// Contexts of a thread grow from here; 0 would mean "unknown".
const FIRST_CONTEXT: u64 = 0x7468_7265_6164_0001;

/// To be called before a thread's first function of the program runs.
pub fn begin_context() {
    set_context(FIRST_CONTEXT);
}

/// The calling-context hash; 0 if the thread is none that the runtime knows of.
#[inline(always)]
pub fn context() -> u64 {
    context_cell().load(Ordering::Relaxed)
}

/// Sets the calling-context hash, for calls from the runtime into the program.
pub fn set_context(value: u64) {
    context_cell().store(value, Ordering::Relaxed);
}

/// 1 while the process forks: nobody may enter but the thread that forks.
pub static FORKING: AtomicU32 = AtomicU32::new(0);
/// The block of that thread, whose signal handlers may run meanwhile.
pub static FORKER: AtomicPtr<Block> = AtomicPtr::new(core::ptr::null_mut());

/// Where the page ends that `address` is in, which is not the last of all.
#[inline(always)]
pub const fn end_of_page(address: usize) -> usize {
    (address | ((1 << abi::hot::PAGE_SHIFT) - 1)).wrapping_add(1)
}

impl Block {
    /// The thread's state; null before its first event and after its last.
    #[inline(always)]
    pub fn thread(&self) -> *mut Thread {
        self.0.thread.load(Ordering::Relaxed).cast()
    }

    /// Sets the thread's state.
    pub fn set_thread(&self, thread: *mut Thread) {
        self.0.thread.store(thread.cast(), Ordering::Relaxed);
        crate::streams::open(self, thread);
        if thread.is_null() {
            self.forget_seen();
        } else {
            self.thin_cache();
        }
        // SAFETY: null or the thread's state, which is the caller's.
        let thread = unsafe { thread.as_ref() };
        Thread::show_tables(thread, self);
        let settled = thread.and_then(|thread| thread.state.settled());
        let entries: *const Entries = settled.unwrap_or(&NOTHING);
        self.settled
            .store(entries.cast_mut().cast(), Ordering::Relaxed);
        // Page 0 has no shadow: its entry must not match.
        self.cache[0].page.store(usize::MAX, Ordering::Relaxed);
        self.stretch.store(abi::hot::NO_STRETCH, Ordering::Relaxed);
    }

    /// Gives back the memory of a new thread's cache of pages, to all of which libc has written zeroes: most threads use little of it.
    fn thin_cache(&self) {
        let page = 1 << abi::hot::PAGE_SHIFT;
        let cache = self.cache.as_ptr_range();
        let (start, end) = (cache.start as usize, cache.end as usize);
        let (start, end) = (start.next_multiple_of(page), end & !(page - 1));
        // SAFETY: the caller's own, which may forget pages at any time.
        unsafe { sys::discard(start, end - start) };
    }

    /// Remembers the atomic object at `address`, whose operations on `size` bytes are repeated as long as the thread is in
    /// `stretch`, for the inlined part of atomic operations.
    pub fn repeat(&self, address: usize, size: u32, stretch: u64, repeats: Repeats<'static>) {
        let entry = &self.atomics[abi::hot::place(address)];
        let what = abi::hot::repeated(stretch, size, repeats.which);
        // The thread is inside: no handler that comes in between operates without a bracket.
        entry.address.store(address, Ordering::Relaxed);
        entry.what.store(what, Ordering::Relaxed);
        let bias = &raw const *repeats.bias;
        entry.bias.store(bias as usize, Ordering::Relaxed);
        entry
            .remembered
            .store(repeats.remembered, Ordering::Relaxed);
    }

    /// Was the object at `address` the last one in its place that was remembered so? What a thread was lent was.
    #[inline(always)]
    pub fn repeats(&self, address: usize) -> bool {
        let entry = &self.atomics[abi::hot::place(address)];
        entry.address.load(Ordering::Relaxed) == address
    }

    /// What its thread has counted.
    pub fn counts(&self) -> [u64; abi::counts::COUNTERS] {
        let own: *const u8 = address_of!("__footrace_counts");
        // As far from the block as the caller's are from his.
        let distance = (own as usize).wrapping_sub(block() as usize);
        let counts = (&raw const *self).cast::<u8>().wrapping_add(distance);
        let counts: *const [AtomicU64; abi::counts::COUNTERS] = counts.cast();
        // SAFETY: both are the thread's own variables, and the thread has not ended.
        let counts = unsafe { &*counts };
        core::array::from_fn(|at| counts[at].load(Ordering::Relaxed))
    }

    /// The location of the word that `address` is in, if the inlined checks know its page.
    #[inline(always)]
    pub fn location(&self, address: usize) -> Option<&'static Location> {
        let page = address >> abi::hot::PAGE_SHIFT;
        let entry = &self.cache[page % abi::hot::CACHE];
        if entry.page.load(Ordering::Relaxed) != page {
            return None;
        }
        let first = entry.cells.load(Ordering::Relaxed) as *const Location;
        let location = first.wrapping_add((address >> 3) % PAGE_WORDS);
        // SAFETY: `remember` put the page's shadow there, which has a location for each word and stays.
        Some(unsafe { &*location })
    }

    /// The locations of the page that `address` is in, if the inlined checks know it.
    #[inline(always)]
    pub fn page(&self, address: usize) -> Option<&'static Page<Location>> {
        let page = address >> abi::hot::PAGE_SHIFT;
        let entry = &self.cache[page % abi::hot::CACHE];
        if entry.page.load(Ordering::Relaxed) != page {
            return None;
        }
        let page = entry.cells.load(Ordering::Relaxed) as *const Page<Location>;
        // SAFETY: `remember` put the page's shadow there, which has a location for each word and stays.
        Some(unsafe { &*page })
    }

    /// Is an access of `kind` to `size` bytes at `address`, within a word, redundant? If so, the thread need not enter. None if the inlined checks do not know
    /// the page.
    #[inline(always)]
    pub fn is_known(&self, kind: AccessKind, address: usize, size: u32) -> Option<bool> {
        let location = self.location(address)?;
        let (entries, epoch) = self.settled_and_epoch();
        let asked = Asked::within(kind, address, size);
        Some(location.is_known(entries, epoch, asked))
    }

    /// What the thread knows of states outside, and its epoch, as the inlined checks see them. A page must be known to them.
    #[inline(always)]
    pub fn settled_and_epoch(&self) -> (&'static Entries, Epoch) {
        let epoch = Epoch::from_bits(self.epoch.load(Ordering::Relaxed));
        let entries: *const Entries = self.settled.load(Ordering::Relaxed).cast();
        // SAFETY: a page is known, so the thread has begun, and `set_thread` put a table there.
        (unsafe { &*entries }, epoch)
    }

    /// Remembers the shadow of the page that `address` is in, for the inlined checks.
    #[inline]
    pub fn remember(&self, address: usize, location: *const Location) {
        let word = (address >> 3) % PAGE_WORDS;
        self.put(address, 0, location.wrapping_sub(word) as usize);
    }

    #[inline(always)]
    fn put(&self, address: usize, tag: usize, first: usize) {
        let page = address >> abi::hot::PAGE_SHIFT;
        let entry = &self.cache[page % abi::hot::CACHE];
        // A signal handler between the two stores must not find the new page with the old shadow.
        entry.page.store(usize::MAX, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        entry.cells.store(first, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        entry.page.store(page | tag, Ordering::Relaxed);
    }

    /// What the thread has accessed of the page that `address` is in, if its checks are put off there, as far as the stubs know.
    #[inline(always)]
    pub fn seen(&self, address: usize) -> Option<&'static Seen> {
        let page = address >> abi::hot::PAGE_SHIFT;
        let entry = &self.cache[page % abi::hot::CACHE];
        if entry.page.load(Ordering::Relaxed) != page | abi::hot::SEEN {
            return None;
        }
        let seen = entry.cells.load(Ordering::Relaxed) as *const Seen;
        // SAFETY: `remember_seen` put it there, and it stays as long as the thread.
        let seen = unsafe { &*seen };
        // It may be another page's by now.
        (seen.page.load(Ordering::Relaxed) == page as u64).then_some(seen)
    }

    /// The thread's state goes, and with it all that it has accessed: the stubs must not look there any more.
    fn forget_seen(&self) {
        let parts = self.seen_parts.swap(0, Ordering::Relaxed);
        for (part, entries) in self.cache.chunks(abi::hot::PART).enumerate() {
            if parts >> part & 1 == 0 {
                continue;
            }
            for entry in entries {
                if entry.page.load(Ordering::Relaxed) & abi::hot::SEEN != 0 {
                    entry.page.store(usize::MAX, Ordering::Relaxed);
                }
            }
        }
    }

    /// Remembers what the thread has accessed of the page that `address` is in, for the stubs.
    #[inline]
    pub fn remember_seen(&self, address: usize, seen: &Seen) {
        let part = (address >> abi::hot::PAGE_SHIFT) % abi::hot::CACHE / abi::hot::PART;
        let parts = self.seen_parts.load(Ordering::Relaxed);
        self.seen_parts.store(parts | 1 << part, Ordering::Relaxed);
        self.put(address, abi::hot::SEEN, &raw const *seen as usize);
    }

    /// The inlined checks no longer know the page of `address`.
    #[inline]
    pub fn forget(&self, address: usize) {
        let page = address >> abi::hot::PAGE_SHIFT;
        let entry = &self.cache[page % abi::hot::CACHE];
        if entry.page.load(Ordering::Relaxed) == page {
            entry.page.store(usize::MAX, Ordering::Relaxed);
        }
    }

    /// Enters the runtime; false if the thread is inside already.
    #[inline(always)]
    pub fn enter(&self) -> bool {
        if self.depth.load(Ordering::Relaxed) != 0 {
            return false;
        }
        self.depth.store(1, Ordering::Relaxed);
        // The forking thread runs a barrier on every CPU between setting FORKING and reading `depth`,
        // so program order is all that is needed here.
        compiler_fence(Ordering::SeqCst);
        if FORKING.load(Ordering::Relaxed) != 0 {
            self.wait_for_fork();
        }
        true
    }

    /// The same, with another depth than most, unless there is something to wait for.
    #[inline(always)]
    pub fn try_enter_as(&self, depth: u32) -> bool {
        if self.depth.load(Ordering::Relaxed) != 0 {
            return false;
        }
        self.depth.store(depth, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let waits = FORKING.load(Ordering::Relaxed) != 0;
        if waits {
            self.depth.store(0, Ordering::Relaxed);
        }
        !waits
    }

    /// Leaves the runtime, and lets waiting signals in.
    #[inline(always)]
    pub fn leave(&self) {
        compiler_fence(Ordering::SeqCst);
        self.depth.store(0, Ordering::Release);
        compiler_fence(Ordering::SeqCst);
        if self.pending.load(Ordering::Relaxed) != 0 {
            crate::signal::deliver(self);
        }
    }

    #[cold]
    fn wait_for_fork(&self) {
        if FORKER.load(Ordering::Relaxed).cast_const() == &raw const *self {
            return;
        }
        while FORKING.load(Ordering::Relaxed) != 0 {
            self.depth.store(0, Ordering::Release);
            sys::futex_wait(&FORKING, 1);
            self.depth.store(1, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
        }
    }
}
