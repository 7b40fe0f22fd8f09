//! A lock that threads sleep for: its holder may have lost its processor, and threads that yield to each other
//! keep it from getting one.
//!
//! ```text
//! wait:    spin; asleep = 1; barrier everywhere; try; sleep while asleep = 1; asleep = 1; again
//! unlock:  free the lock; if asleep = 1: asleep = 0, wake one
//! ```
//!
//! Who unlocks stores one word and then loads another, which may not be reordered. So that this costs it nothing, the one
//! who is about to sleep runs a barrier on all processors, as in [`quick`](crate::sync::quick): if `asleep` was not seen, the lock was
//! free by then. A thread that was woken says `asleep` again before it tries, as others may sleep on.

use core::fmt;
use core::ops::{Deref, DerefMut};

use alloc::boxed::Box;
use once_cell::race::OnceBox;

use crate::lock::{AtomicU32, Guard, Lock, Ordering, light_barrier};

/// How threads sleep.
#[derive(Clone, Copy, Debug)]
pub struct Beds {
    /// Sleeps while the word has that value, until woken or for no reason.
    pub sleep: fn(&AtomicU32, u32),
    /// Wakes one of those who sleep on the word.
    pub wake: fn(&AtomicU32),
    /// Runs a barrier on all processors.
    pub barrier: fn(),
}

static BEDS: OnceBox<Beds> = OnceBox::new();

/// Tells the engine how threads sleep. Without it they yield. The first call counts.
pub fn set_beds(beds: Beds) {
    let _ = BEDS.set(Box::new(beds));
}

/// The lock.
#[derive(Debug, Default)]
pub struct SleepLock<T> {
    lock: Lock<T>,
    /// 1 if somebody may sleep.
    asleep: AtomicU32,
}

/// Gives the lock back when dropped.
#[derive(Debug)]
pub struct SleepGuard<'a, T> {
    // Dropped first.
    guard: Guard<'a, T>,
    _bell: Bell<'a>,
}

impl<T> Deref for SleepGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for SleepGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T> SleepLock<T> {
    /// A lock around `value`.
    pub fn new(value: T) -> SleepLock<T> {
        SleepLock {
            lock: Lock::new(value),
            asleep: AtomicU32::new(0),
        }
    }

    /// Takes the lock.
    #[inline(always)]
    pub fn lock(&self) -> SleepGuard<'_, T> {
        let guard = match self.lock.try_lock() {
            Some(guard) => guard,
            None => self.wait(BEDS.get()),
        };
        SleepGuard {
            guard,
            _bell: Bell(&self.asleep),
        }
    }

    #[cold]
    #[inline(never)]
    fn wait(&self, beds: Option<&Beds>) -> Guard<'_, T> {
        let Some(beds) = beds else {
            return self.lock.lock();
        };
        loop {
            if let Some(guard) = self.lock.spin() {
                return guard;
            }
            self.asleep.store(1, Ordering::Relaxed);
            (beds.barrier)();
            if let Some(guard) = self.lock.try_lock() {
                return guard;
            }
            (beds.sleep)(&self.asleep, 1);
            // One was woken, others may sleep on: who has the lock next wakes them.
            self.asleep.store(1, Ordering::Relaxed);
        }
    }
}

/// Wakes somebody when dropped.
struct Bell<'a>(&'a AtomicU32);

impl fmt::Debug for Bell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bell")
    }
}

impl Drop for Bell<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        light_barrier();
        if self.0.load(Ordering::Relaxed) != 0 {
            ring(self.0);
        }
    }
}

#[cold]
#[inline(never)]
fn ring(asleep: &AtomicU32) {
    asleep.store(0, Ordering::Relaxed);
    if let Some(beds) = BEDS.get() {
        (beds.wake)(asleep);
    }
}
