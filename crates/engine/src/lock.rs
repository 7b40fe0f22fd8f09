//! The one lock of the engine: spins, then lets others run.
//!
//! Lock order, outermost first; nothing else is taken while holding a later one:
//!
//! | lock | protects | held during |
//! |---|---|---|
//! | an array's `body` (readers and a writer) | its partition and table of locations | one commit (shared), one refinement (alone) |
//! | site lists; a shard of retired arrays; the making of mixed pages | themselves | a few instructions |
//! | a shard of the sync table | the clocks of some sync objects | one join or copy |
//! | a `Location` (tag in its first cell) | the accesses to 8 bytes | one check and update |
//! | an `Extended` | what does not fit into its location | as its location, whose lock guards it |
//! | slot allocation, a slot's occupants, the depot's free list | themselves | a few instructions |

use alloc::boxed::Box;

use once_cell::race::OnceBox;
use spin::RelaxStrategy;

static YIELD: OnceBox<fn()> = OnceBox::new();

/// Tells the engine how to let another thread run (`sched_yield`). Without it a waiting thread spins on, which is
/// right but slow when there are more threads than cores. The first call counts.
pub fn set_yield(f: fn()) {
    let _ = YIELD.set(Box::new(f));
}

/// Waits a little, the `round`th time.
#[cold]
pub(crate) fn relax(round: u32) {
    if round < 64 {
        core::hint::spin_loop();
    } else if let Some(f) = YIELD.get() {
        f();
    } else {
        core::hint::spin_loop();
    }
}

/// How `spin` waits.
#[derive(Debug)]
pub struct Relax;

impl RelaxStrategy for Relax {
    fn relax() {
        // `spin` keeps no count: it polls before each call, so yielding at once is the safe choice.
        relax(64);
    }
}

/// A mutual exclusion lock.
pub type Lock<T> = spin::mutex::Mutex<T, Relax>;
