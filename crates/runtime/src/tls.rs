//! The thread's own block, in static thread-local storage: reachable in one instruction from the
//! program's inlined checks and from here, without any call that could allocate or take a lock.
//!
//! ```text
//! __footrace_tls      the block below, zero when a thread starts
//! __footrace_context  u64, the calling-context hash that instrumented code maintains
//! ```

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence};

use crate::thread::Thread;

/// What a thread keeps in static thread-local storage. Only the thread itself writes to it; `depth`
/// is also read by a thread that forks the process.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Block {
    /// The thread's state; null before its first event and after its last.
    pub thread: AtomicPtr<Thread>,
    /// How often the thread has entered the runtime and not left. Signals wait while it is not 0.
    pub depth: AtomicU32,
    /// 1 if signals wait.
    pub pending: AtomicU32,
    /// 1 after the thread's last event: what it still does goes unseen.
    pub ended: AtomicU32,
    /// The atomic object that the thread holds between the two calls of an atomic operation, plus 1.
    pub bracket: AtomicU32,
    /// The system's number of the thread, 0 if not asked yet.
    pub system_id: AtomicU32,
    reserved: [u32; 9],
}

const _: () = assert!(size_of::<Block>() == 128 || size_of::<Block>() == 64);

global_asm!(
    ".section .tbss.__footrace_tls,\"awT\",@nobits",
    ".globl __footrace_tls",
    ".p2align 6",
    ".type __footrace_tls,@object",
    ".size __footrace_tls,128",
    "__footrace_tls:",
    ".zero 128",
    ".globl __footrace_context",
    ".type __footrace_context,@object",
    ".size __footrace_context,8",
    "__footrace_context:",
    ".zero 8",
    ".text",
);

/// The calling thread's block.
#[inline(always)]
pub fn block() -> *const Block {
    let p: *const Block;
    // SAFETY: reads the thread pointer and a link-time constant.
    unsafe {
        asm!(
            "mov {p}, qword ptr [rip + __footrace_tls@GOTTPOFF]",
            "add {p}, qword ptr fs:[0]",
            p = out(reg) p,
            options(pure, nomem, nostack)
        );
    }
    p
}

/// The calling thread's block, as a reference. It must not outlive the thread: do not store it.
#[inline(always)]
pub fn own() -> &'static Block {
    // SAFETY: the block lives as long as the thread that asks.
    unsafe { &*block() }
}

#[inline(always)]
fn context_cell() -> &'static AtomicU64 {
    let p: *const AtomicU64;
    // SAFETY: reads the thread pointer and a link-time constant.
    unsafe {
        asm!(
            "mov {p}, qword ptr [rip + __footrace_context@GOTTPOFF]",
            "add {p}, qword ptr fs:[0]",
            p = out(reg) p,
            options(pure, nomem, nostack)
        );
    }
    // SAFETY: the cell lives as long as the thread that asks.
    unsafe { &*p }
}

/// The calling-context hash; 0 if no instrumented function has made a call on this thread.
#[inline(always)]
pub fn context() -> u64 {
    context_cell().load(Ordering::Relaxed)
}

/// Sets the calling-context hash, for calls from the runtime into the program.
pub fn set_context(value: u64) {
    context_cell().store(value, Ordering::Relaxed);
}

/// 1 while the process forks: nobody may enter.
pub static FORKING: AtomicU32 = AtomicU32::new(0);

impl Block {
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
        while FORKING.load(Ordering::Relaxed) != 0 {
            self.depth.store(0, Ordering::Release);
            crate::sys::futex_wait(&FORKING, 1);
            self.depth.store(1, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
        }
    }
}
