//! A thread that is alone: nothing that it does can race, and so it is not checked.
//!
//! **Why that is exact.** Count the threads that began and that nobody has joined. If the count is one, each of the others has ended and was joined: by a
//! thread that was joined in its turn, and so on to the one that is left, since all chains of joins end there. So all that was ever done happens before what this
//! one does now, and that happens before all that a thread will do that it creates. Neither side of a race is missing, whatever
//! the shadow still says: what it says is in the past of all who will ask. Nor does it matter that plain writes end no atomic object meanwhile: who reads from it later learns what it
//! knew already. What is left to do is synchronisation, and memory that becomes fresh.
//!
//! **Who may touch what.** [`Block::alone`](abi::hot::Block::alone) is read by its thread, in stubs and here, and set by it. A thread that nobody announced takes it away from another:
//! it began after whatever the other did while it was alone, as far as anybody can tell. So that this is so, the functions of libc that create threads by themselves end it, for good.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::analysis::Analysis;
use crate::thread::Runtime;
use crate::{registry, sys, tls};

/// Threads that began and that nobody has joined.
static THREADS: AtomicU32 = AtomicU32::new(0);

/// Does the detector do without the accesses of a thread that is alone? Samplers and recordings count on all of them.
const fn may(runtime: &Runtime) -> bool {
    matches!(
        runtime.analysis,
        Analysis::FastTrack(_) | Analysis::SlimState(_) | Analysis::SlimStateBb(_)
    )
}

fn set(own: &tls::Block, runtime: &Runtime, threads: u32) {
    let alone = threads == 1 && may(runtime);
    own.alone.store(u32::from(alone), Ordering::Relaxed);
}

/// The calling thread begins, and nobody announced it.
pub fn attached(own: &tls::Block, runtime: &Runtime) {
    let before = THREADS.fetch_add(1, Ordering::Relaxed);
    set(own, runtime, before + 1);
    if before > 0 {
        registry::each_block(|block| block.alone.store(0, Ordering::Relaxed));
        // Checks that begin from now on find it.
        sys::barrier_everywhere();
    }
}

/// The calling thread is about to create another one, or calls a function that does.
pub fn creates(own: &tls::Block) {
    THREADS.fetch_add(1, Ordering::Relaxed);
    own.alone.store(0, Ordering::Relaxed);
}

/// One of those that were created has been joined by the calling thread, or never began.
pub fn joined(own: &tls::Block, runtime: &Runtime) {
    let before = THREADS.fetch_sub(1, Ordering::Relaxed);
    set(own, runtime, before - 1);
}

/// In the child of a fork: the others are gone, and what they did is in the past.
pub fn forked(own: &tls::Block, runtime: &Runtime) {
    THREADS.store(1, Ordering::Relaxed);
    set(own, runtime, 1);
}

impl tls::Block {
    /// Is an access of the calling thread one of a thread that is alone? Then it is counted.
    #[inline(always)]
    pub fn is_alone(&self) -> bool {
        let alone = self.alone.load(Ordering::Relaxed) != 0;
        if alone {
            let unchecked = self.unchecked.load(Ordering::Relaxed);
            self.unchecked.store(unchecked + 1, Ordering::Relaxed);
        }
        alone
    }
}
