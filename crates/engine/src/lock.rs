//! The engine's atomics, its locks and its boxes that are made once. The locks spin, then let others run; [`sleep`](crate::sleep) has one for which threads sleep. Under `--cfg loom` these are loom's,
//! which tries every order of their operations (`tests/loom.rs`).
//!
//! Lock order, outermost first; a lock is taken only while holding earlier ones:
//!
//! | lock | protects | held during |
//! |---|---|---|
//! | a shard of atomic objects ([`Bracket`](crate::sync::Bracket)) | the objects, and the order of operations on them | one atomic operation |
//! | an array's `body` (readers and a writer) | its partition and table of locations | one commit (shared), one refinement (alone) |
//! | site lists; a shard of retired arrays; a page of the directory, then its unused tables | themselves | a few instructions |
//! | a shard of the sync table | the clocks of some sync objects | one join or copy |
//! | a `Location` (tag in its first cell) | the accesses to 8 bytes | one check and update |
//! | the runs of a page | themselves | one access to the page; the page's `Location` is locked before, by who makes or takes them |
//! | a shard of the depot's states | which shared states there are | one look-up |
//! | a state in the depot | itself | one check and update, or one copy |
//! | slot allocation, a slot's occupants, the depot's free list and that of pages with runs | themselves | a few instructions |
//!
//! No lock is held while a race is reported, but for the bracket of an atomic operation, and for an array's `body`, shared, by
//! SlimState: who is told may not present atomic operations, and not allocate or refine arrays; other threads' commits go on. A thread that is interrupted while it holds one (a signal) must not come
//! back into the engine before it goes on: whoever drives the engine has to see to that.

#[cfg(loom)]
pub(crate) use modelled::{
    AtomicU32, AtomicU64, OnceBox, Ordering, RwLock, fence, light_barrier, relax,
};
#[cfg(loom)]
pub use modelled::{Guard, Lock};
#[cfg(not(loom))]
pub(crate) use real::{
    AtomicU32, AtomicU64, OnceBox, Ordering, RwLock, fence, light_barrier, relax,
};
#[cfg(not(loom))]
pub use real::{Guard, Lock};

use alloc::boxed::Box;

use once_cell::race;

static YIELD: race::OnceBox<fn()> = race::OnceBox::new();

/// Tells the engine how to let another thread run (`sched_yield`). Without it a waiting thread spins on, which is
/// right but slow when there are more threads than cores. The first call counts.
pub fn set_yield(f: fn()) {
    let _ = YIELD.set(Box::new(f));
}

static QUIESCE: race::OnceBox<fn()> = race::OnceBox::new();

/// Tells the engine how to wait until every atomic operation without a bracket that is under way is over, see
/// [`quick`](crate::sync::quick). Without it there are none. The first call counts.
pub fn set_quiesce(f: fn()) {
    let _ = QUIESCE.set(Box::new(f));
}

/// Waits for them, if there may be some.
#[cold]
pub(crate) fn quiesce() {
    if let Some(f) = QUIESCE.get() {
        f();
    }
}

/// May there be some?
pub(crate) fn can_quiesce() -> bool {
    QUIESCE.get().is_some()
}

/// How often a waiting thread looks before it lets others run: longer than anybody who runs holds a lock.
#[cfg_attr(loom, allow(dead_code, reason = "loom's locks wait in their own way"))]
const SPINS: u32 = 64;

#[cfg(not(loom))]
mod real {
    pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
    pub(crate) use once_cell::race::OnceBox;

    /// How `spin`'s locks wait.
    #[derive(Debug)]
    pub struct Relax;

    impl spin::RelaxStrategy for Relax {
        fn relax() {
            // `spin` keeps no count: it polls before each call, so yielding at once is the safe choice.
            relax(super::SPINS);
        }
    }

    /// Readers, or a writer.
    pub(crate) type RwLock<T> = spin::rwlock::RwLock<T, Relax>;

    /// Waits a little, the `round`th time.
    #[cold]
    pub(crate) fn relax(round: u32) {
        match super::YIELD.get() {
            Some(f) if round >= super::SPINS => f(),
            _ => core::hint::spin_loop(),
        }
    }

    /// Keeps the compiler from reordering; the processor may. See [`quick`](crate::sync::quick).
    #[inline(always)]
    pub(crate) fn light_barrier() {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
    }

    /// A mutual exclusion lock.
    #[derive(Debug, Default)]
    pub struct Lock<T>(spin::mutex::Mutex<T, Relax>);
    /// Gives the lock back when dropped.
    pub type Guard<'a, T> = spin::mutex::MutexGuard<'a, T, Relax>;

    impl<T> Lock<T> {
        /// A lock around `value`.
        pub const fn new(value: T) -> Lock<T> {
            Lock(spin::mutex::Mutex::new(value))
        }

        /// Takes the lock.
        #[inline]
        pub fn lock(&self) -> Guard<'_, T> {
            self.try_lock().unwrap_or_else(|| self.contended())
        }

        /// Takes the lock if nobody has it.
        #[inline]
        pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
            self.0.try_lock()
        }

        /// The same after a look, which costs the one who has it less than an attempt.
        fn look(&self) -> Option<Guard<'_, T>> {
            (!self.0.is_locked()).then(|| self.try_lock()).flatten()
        }

        /// The same after some more looks.
        pub(crate) fn spin(&self) -> Option<Guard<'_, T>> {
            (0..super::SPINS).find_map(|_| {
                core::hint::spin_loop();
                self.look()
            })
        }

        #[cold]
        fn contended(&self) -> Guard<'_, T> {
            let mut round = 0;
            loop {
                if let Some(guard) = self.look() {
                    return guard;
                }
                relax(round);
                round += 1;
            }
        }
    }
}

#[cfg(loom)]
#[path = "lock/modelled_rw.rs"]
mod modelled_rw;

#[cfg(loom)]
mod modelled {
    pub(crate) use super::modelled_rw::RwLock;
    use alloc::boxed::Box;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
    use once_cell::race;

    /// What is made once, by whoever is first. The model sees the mark that it is there: who finds the mark comes after who made it, and who does not may
    /// make another, which comes to nothing.
    #[derive(Debug)]
    pub(crate) struct OnceBox<T> {
        made: AtomicU32,
        value: race::OnceBox<T>,
    }

    impl<T> OnceBox<T> {
        pub(crate) fn new() -> Self {
            OnceBox {
                made: AtomicU32::new(0),
                value: race::OnceBox::new(),
            }
        }

        pub(crate) fn get(&self) -> Option<&T> {
            (self.made.load(Ordering::Acquire) != 0)
                .then(|| self.value.get())
                .flatten()
        }

        pub(crate) fn get_or_init(&self, make: impl FnOnce() -> Box<T>) -> &T {
            if let Some(value) = self.get() {
                return value;
            }
            let mut new = Some(make());
            // As one step: whose mark it is, his is the value.
            if self
                .made
                .compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
            {
                return self.value.get_or_init(|| new.take().expect("just made"));
            }
            self.value.get().expect("the mark comes with the value")
        }
    }

    impl<T> Default for OnceBox<T> {
        fn default() -> Self {
            OnceBox::new()
        }
    }

    /// Lets the model try another thread.
    pub(crate) fn relax(_round: u32) {
        loom::thread::yield_now();
    }

    /// The model has no barrier that one thread runs for all others: each runs its own.
    pub(crate) fn light_barrier() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    /// A mutual exclusion lock.
    #[derive(Debug, Default)]
    pub struct Lock<T>(loom::sync::Mutex<T>);
    /// Gives the lock back when dropped.
    pub type Guard<'a, T> = loom::sync::MutexGuard<'a, T>;

    impl<T> Lock<T> {
        /// A lock around `value`.
        pub fn new(value: T) -> Lock<T> {
            Lock(loom::sync::Mutex::new(value))
        }

        /// Takes the lock.
        pub fn lock(&self) -> Guard<'_, T> {
            match self.0.lock() {
                Ok(guard) => guard,
                Err(poisoned) => poisoned.into_inner(),
            }
        }

        /// Takes the lock if nobody has it.
        pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
            self.0.try_lock().ok()
        }

        /// The model need not wait to let others run.
        pub(crate) fn spin(&self) -> Option<Guard<'_, T>> {
            self.try_lock()
        }
    }
}
