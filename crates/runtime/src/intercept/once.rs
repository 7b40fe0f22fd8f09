//! One-time initialisation: `pthread_once`, `call_once`, and the guards of function-local statics.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use engine::SyncOp;
use engine::detector::AtomicOp;
use event::{Addr, LoadOrder, StoreOrder, SyncId};

use super::sync;
use crate::real::interceptors;
use crate::{sys, thread};

/// Stands in for the program's initialiser: runs it, then releases what it did.
extern "C" fn initialise() {
    let Some(Some((routine, control))) = thread::with(|thread, _| thread.once.pop()) else {
        return;
    };
    type Routine = extern "C" fn();
    // SAFETY: the program gave a function of this type.
    let routine = unsafe { core::mem::transmute::<usize, Routine>(routine) };
    // If this leaves by an exception, nothing is released: the initialisation has not happened.
    routine();
    sync(SyncOp::Send(SyncId(control as u64)));
}

fn once(control: *mut c_void, routine: usize, real: impl FnOnce(usize)) {
    let depth = thread::with(|thread, _| {
        thread.once.push((routine, control as usize));
        thread.once.len()
    });
    let Some(depth) = depth else {
        real(routine);
        return;
    };
    real(initialise as *const () as usize);
    thread::with(|thread, runtime| {
        // Still there if it had been done before.
        thread.once.truncate(depth - 1);
        let op = SyncOp::Receive(SyncId(control as u64));
        runtime.analysis.sync(&mut thread.state, op);
    });
}

/// ```text
/// byte 0      1 once the variable is there; the compiler's code reads it, acquiring
/// bytes 4..8  0 nobody, 1 somebody initialises, 2 and others wait
/// ```
#[repr(C)]
struct GuardObject {
    done: AtomicU8,
    unused: [u8; 3],
    state: AtomicU32,
}

fn guard_event(guard: &GuardObject, op: AtomicOp, pc: usize, act: impl FnOnce() -> bool) -> bool {
    let address = (&raw const *guard) as usize;
    let seen = thread::with(|thread, runtime| {
        let site = thread.site(pc);
        let addr = Addr(address as u64);
        let mut bracket = runtime.analysis.bracket(&thread.state, addr, || op);
        let acted = act();
        if acted {
            let state = &mut thread.state;
            runtime.analysis.bracketed(state, &mut bracket, 1, op, site);
        }
        acted
    });
    seen.unwrap_or(false)
}

/// Gives the right to initialise back.
fn reopen(guard: &GuardObject) {
    if guard.state.swap(0, Ordering::Release) == 2 {
        sys::futex_wake(guard.state.as_ptr());
    }
}

interceptors! {
    fn pthread_once(control: *mut c_void, routine: usize) -> c_int = |real, pc| {
        let mut result = 0;
        once(control, routine, |routine| result = real(control, routine));
        result
    }
    fn call_once(control: *mut c_void, routine: usize) = |real, pc| {
        once(control, routine, |routine| real(control, routine));
    }
    fn __cxa_guard_acquire(guard: *mut c_void) -> c_int = |real, pc| {
        // SAFETY: the compiler's guard: 8 bytes, aligned, zero at first.
        let guard = unsafe { &*guard.cast::<GuardObject>() };
        loop {
            let is_done = || guard.done.load(Ordering::Acquire) != 0;
            if is_done() {
                guard_event(guard, AtomicOp::Load(LoadOrder::Acquire), pc, is_done);
                return 0;
            }
            match guard.state.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) if is_done() => {
                    reopen(guard);
                }
                Ok(_) => {
                    sync(SyncOp::Receive(SyncId((&raw const *guard) as u64)));
                    return 1;
                }
                Err(_) => {
                    let _ = guard.state.compare_exchange(1, 2, Ordering::Relaxed, Ordering::Relaxed);
                    sys::futex_wait(&guard.state, 2);
                }
            }
        }
    }
    fn __cxa_guard_release(guard: *mut c_void) = |real, pc| {
        // SAFETY: the compiler's guard.
        let guard = unsafe { &*guard.cast::<GuardObject>() };
        guard_event(guard, AtomicOp::Store(StoreOrder::Release), pc, || {
            guard.done.store(1, Ordering::Release);
            true
        });
        guard.done.store(1, Ordering::Release);
        reopen(guard);
    }
    fn __cxa_guard_abort(guard: *mut c_void) = |real, pc| {
        // SAFETY: the compiler's guard.
        let guard = unsafe { &*guard.cast::<GuardObject>() };
        sync(SyncOp::Send(SyncId((&raw const *guard) as u64)));
        reopen(guard);
    }
}
