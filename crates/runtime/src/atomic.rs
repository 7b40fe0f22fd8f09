//! Atomic operations of the program: what the operation did and what the detector makes of it happen as
//! one step, within the bracket of the address.

use core::sync::atomic::Ordering;

use abi::{AtomicKind, Order};
use engine::SyncOp;
use engine::detector::AtomicOp;
use event::{Addr, FenceOrder, LoadOrder, RmwOrder, StoreOrder};

use crate::unwind::caller;
use crate::{thread, tls};

/// The thread leaves an atomic operation by another way than its end: a fault. False if it was in none. What it does next is outside:
/// if that is the rest of the operation, nobody sees it.
pub fn abandon(own: &tls::Block) -> bool {
    let within = own.bracket.swap(0, Ordering::Relaxed) != 0;
    if within {
        // SAFETY: the calling thread's own, which was in the program's code when it faulted, between two calls of ours.
        let thread = unsafe { own.thread().as_mut() };
        if let Some(thread) = thread {
            thread.bracket = None;
        }
    }
    within
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_atomic_begin(address: *const u8, _size: u32) {
    // A bad address faults here, before anything is held.
    // SAFETY: the program is about to access it.
    unsafe { address.read_volatile() };
    let own = tls::own();
    if !own.enter() {
        return;
    }
    match thread::current() {
        Some((thread, runtime)) => {
            thread.bracket = Some(runtime.analysis.bracket(Addr(address as u64)));
            own.bracket.store(1, Ordering::Relaxed);
        }
        None => own.leave(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_atomic_end(_address: *const u8, size: u32, kind: u32, order: u32) {
    let pc = caller!();
    let own = tls::own();
    if own.bracket.load(Ordering::Relaxed) == 0 {
        // The operation happened unseen: within the runtime, or a fault handler came between.
        return;
    }
    own.bracket.store(0, Ordering::Relaxed);
    if let Some((thread, runtime)) = thread::current() {
        let site = thread.site(pc);
        let op = operation(kind, order);
        // Where it is: a copy would wait for what the other call has just stored.
        if let Some(bracket) = &mut thread.bracket {
            let state = &mut thread.state;
            runtime.analysis.bracketed(state, bracket, size, op, site);
        }
        thread.bracket = None;
        own.epoch.store(thread.state.epoch(), Ordering::Relaxed);
    }
    own.leave();
}

fn operation(kind: u32, order: u32) -> AtomicOp {
    const CONSUME: u32 = Order::Consume as u32;
    const ACQUIRE: u32 = Order::Acquire as u32;
    const RELEASE: u32 = Order::Release as u32;
    const ACQ_REL: u32 = Order::AcqRel as u32;
    const SEQ_CST: u32 = Order::SeqCst as u32;
    if kind == AtomicKind::Load as u32 {
        AtomicOp::Load(match order {
            CONSUME | ACQUIRE | ACQ_REL => LoadOrder::Acquire,
            SEQ_CST => LoadOrder::SeqCst,
            _ => LoadOrder::Relaxed,
        })
    } else if kind == AtomicKind::Store as u32 {
        AtomicOp::Store(match order {
            RELEASE | ACQ_REL => StoreOrder::Release,
            SEQ_CST => StoreOrder::SeqCst,
            _ => StoreOrder::Relaxed,
        })
    } else {
        AtomicOp::Rmw(match order {
            CONSUME | ACQUIRE => RmwOrder::Acquire,
            RELEASE => RmwOrder::Release,
            ACQ_REL => RmwOrder::AcqRel,
            SEQ_CST => RmwOrder::SeqCst,
            _ => RmwOrder::Relaxed,
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_fence(order: u32) {
    let order = match order {
        x if x == Order::Relaxed as u32 => return,
        x if x == Order::Release as u32 => FenceOrder::Release,
        x if x == Order::AcqRel as u32 => FenceOrder::AcqRel,
        x if x == Order::SeqCst as u32 => FenceOrder::SeqCst,
        _ => FenceOrder::Acquire,
    };
    thread::with(|thread, runtime| {
        runtime
            .analysis
            .sync(&mut thread.state, SyncOp::Fence(order));
    });
}
