//! The readers' and writer's lock of the model. The model has one too, but without `downgrade`.
//!
//! `state` is what the model sees; `value` is a lock that nobody ever has to wait for, as `state` lets in only who may.

use super::modelled::{AtomicU32, Ordering, relax};
use core::ops::{Deref, DerefMut};
use std::sync::{RwLockReadGuard, RwLockWriteGuard};

/// What `state` says while a writer is in; else it is the number of readers.
const WRITER: u32 = u32::MAX;

/// Readers, or a writer.
#[derive(Debug, Default)]
pub(crate) struct RwLock<T> {
    state: AtomicU32,
    value: std::sync::RwLock<T>,
}

/// A reader is in.
pub(crate) struct ReadGuard<'a, T> {
    lock: &'a RwLock<T>,
    value: Option<RwLockReadGuard<'a, T>>,
}

/// A writer is in.
pub(crate) struct WriteGuard<'a, T> {
    lock: &'a RwLock<T>,
    value: Option<RwLockWriteGuard<'a, T>>,
}

impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> Self {
        RwLock {
            state: AtomicU32::new(0),
            value: std::sync::RwLock::new(value),
        }
    }

    fn enter(&self, next: impl Fn(u32) -> Option<u32>) {
        loop {
            let now = self.state.load(Ordering::Relaxed);
            if let Some(next) = next(now)
                && self
                    .state
                    .compare_exchange(now, next, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return;
            }
            relax(0);
        }
    }

    pub(crate) fn read(&self) -> ReadGuard<'_, T> {
        self.enter(|now| (now != WRITER).then(|| now + 1));
        ReadGuard {
            lock: self,
            value: Some(self.value.try_read().expect("no writer is in")),
        }
    }

    pub(crate) fn write(&self) -> WriteGuard<'_, T> {
        self.enter(|now| (now == 0).then_some(WRITER));
        WriteGuard {
            lock: self,
            value: Some(self.value.try_write().expect("nobody else is in")),
        }
    }
}

impl<'a, T> WriteGuard<'a, T> {
    /// The writer becomes a reader, and no other writer gets in between.
    pub(crate) fn downgrade(mut self) -> ReadGuard<'a, T> {
        let lock = self.lock;
        self.value = None;
        let value = Some(lock.value.try_read().expect("no writer is in"));
        core::mem::forget(self);
        lock.state.store(1, Ordering::Release);
        ReadGuard { lock, value }
    }
}

impl<T> Drop for ReadGuard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        self.lock.state.fetch_sub(1, Ordering::Release);
    }
}

impl<T> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        self.lock.state.store(0, Ordering::Release);
    }
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value.as_ref().expect("until it is dropped")
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value.as_ref().expect("until it is dropped")
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("until it is dropped")
    }
}
