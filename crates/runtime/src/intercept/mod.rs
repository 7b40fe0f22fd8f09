//! The functions of libc that order threads or touch the program's memory.

use engine::SyncOp;
use event::{AccessKind, SyncId};

use crate::{entry, modules, thread};

pub(crate) mod allocation;
mod annotations;
pub(crate) mod exit;
mod files;
mod formats;
mod locks;
pub(crate) mod mapping;
mod once;
mod semaphores;
mod strings;
pub(crate) mod threads;

/// Looks up everything that stands behind our functions.
pub(crate) fn resolve() {
    allocation::resolve();
    threads::resolve();
    locks::resolve();
    once::resolve();
    semaphores::resolve();
    mapping::resolve();
    files::resolve();
    formats::resolve();
    strings::resolve();
    exit::resolve();
    crate::signal::resolve();
    crate::signal_stack::resolve();
    crate::frames::resolve();
}

/// The lock was taken.
#[inline]
pub(crate) fn acquired(lock: usize, shared: bool, pc: usize) {
    let id = SyncId(lock as u64);
    thread::with(|thread, runtime| {
        let op = if shared {
            SyncOp::ReadAcquire(id)
        } else {
            SyncOp::Acquire(id)
        };
        runtime.analysis.sync(&mut thread.state, op);
        thread.locked(id, shared, pc);
    });
}

/// The lock is about to be given back.
#[inline]
pub(crate) fn releasing(lock: usize, shared: bool) {
    let id = SyncId(lock as u64);
    thread::with(|thread, runtime| {
        let op = if shared {
            SyncOp::ReadRelease(id)
        } else {
            SyncOp::Release(id)
        };
        runtime.analysis.sync(&mut thread.state, op);
        thread.unlocked(id);
    });
}

/// The object begins or ends its life: what another one at its address did is past.
pub(crate) fn forgotten(object: usize) {
    thread::with(|_, runtime| runtime.analysis.forget(SyncId(object as u64)));
}

/// Any other synchronisation.
#[inline]
pub(crate) fn sync(op: SyncOp) {
    thread::with(|thread, runtime| runtime.analysis.sync(&mut thread.state, op));
}

/// The function reads the program's memory.
#[inline]
pub(crate) fn reads<T>(address: *const T, bytes: usize, pc: usize) {
    if !modules::is_silent(pc) {
        entry::range(AccessKind::Read, address.cast(), bytes, pc);
    }
}

/// The function writes the program's memory.
#[inline]
pub(crate) fn writes<T>(address: *const T, bytes: usize, pc: usize) {
    if !modules::is_silent(pc) {
        entry::range(AccessKind::Write, address.cast(), bytes, pc);
    }
}
