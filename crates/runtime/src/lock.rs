//! The runtime's only lock: it spins, then yields. Nobody holds one while the program's code runs,
//! and signal handlers of the program do not run inside the runtime, so it can't be met again by its
//! own holder.
//!
//! Lock order, outermost first; a thread never takes a lock of an earlier row while holding a later one:
//!
//! | lock | guards |
//! |---|---|
//! | the log of a recorded run (`recording`) | an event's place in the log and in the detector |
//! | the engine's own locks | atomic operations and their events, shadow, clocks |
//! | `races` | which races were written |
//! | `threads` | the registry |
//! | `site` tables | stacks, sites, lock sets |
//! | `heap` shards | blocks |
//! | the allocator's classes | free lists |

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::sys;

/// A value that one thread at a time may touch.
#[derive(Debug)]
pub struct Spin<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `value` is only reached through a guard, and there is one guard at a time.
unsafe impl<T: Send> Sync for Spin<T> {}

/// Proof that the lock is held.
#[derive(Debug)]
pub struct Guard<'a, T>(&'a Spin<T>);

impl<T> Spin<T> {
    /// An open lock around `value`.
    pub const fn new(value: T) -> Self {
        Spin {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock.
    pub fn lock(&self) -> Guard<'_, T> {
        let mut tries = 0u32;
        while self.taken.swap(true, Ordering::Acquire) {
            while self.taken.load(Ordering::Relaxed) {
                tries += 1;
                // The holder may have lost its CPU; with few cores spinning on only delays it.
                if tries < 64 {
                    core::hint::spin_loop();
                } else {
                    sys::yield_now();
                }
            }
        }
        Guard(self)
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard proves that nobody else has access.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard proves that nobody else has access.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::Release);
    }
}
