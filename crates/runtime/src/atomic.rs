//! Atomic operations of the program: what the operation did and what the detector makes of it happen as
//! one step, within the bracket of the address.

use core::sync::atomic::Ordering;

use abi::{AtomicKind, Order};
use engine::SyncOp;
use engine::clock::ThreadClock;
use engine::detector::AtomicOp;
use engine::sync::quick::WITHIN;
use event::{Addr, FenceOrder, LoadOrder, RmwOrder, StoreOrder};

use crate::analysis::State;
use crate::unwind::caller;
use crate::{signal, thread, tls};

/// The thread leaves an atomic operation by another way than its end: a fault. False if it was in none. What it does next is outside:
/// if that is the rest of the operation, nobody sees it.
pub fn abandon(own: &tls::Block) -> bool {
    if own.depth.load(Ordering::Relaxed) == WITHIN {
        return true;
    }
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

/// Brings a line into the cache, to be written.
#[inline(always)]
fn fetch(line: *const ()) {
    // SAFETY: a hint, which accesses nothing and faults on no address.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags));
    }
}

fn begin(address: *const u8, kind: u32, order: u32) {
    // A bad address faults here, before anything is held.
    // SAFETY: the program is about to access it.
    unsafe { address.read_volatile() };
    let own = tls::own();
    if !own.enter() {
        return;
    }
    match thread::current() {
        Some((thread, runtime)) => {
            let mut bracket = runtime.analysis.bracket(Addr(address as u64));
            if bracket.of.is_biased()
                && let Some(clock) = thread.state.clock()
            {
                let op = operation(kind, order);
                let order = runtime.analysis.order();
                order.expect(clock, &mut bracket.of, op);
            }
            // One after the other they would be waited for at the end. Not sooner: whoever has the bracket is at work on them.
            fetch(bracket.of.near());
            for line in runtime.analysis.near(Addr(address as u64)) {
                fetch(line);
            }
            thread.bracket = Some(bracket);
            own.bracket.store(1, Ordering::Relaxed);
        }
        None => own.leave(),
    }
}

fn end(address: *const u8, size: u32, kind: u32, order: u32, pc: usize) {
    let own = tls::own();
    if own.bracket.load(Ordering::Relaxed) == 0 {
        // The operation happened unseen: within the runtime, or a fault handler came between; or without a bracket,
        // and then there was nothing to see.
        match own.depth.load(Ordering::Relaxed) {
            WITHIN => own.leave(),
            0 if own.pending.load(Ordering::Relaxed) != 0 => signal::deliver(own),
            _ => {}
        }
        return;
    }
    own.bracket.store(0, Ordering::Relaxed);
    if let Some((thread, runtime)) = thread::current() {
        let site = thread.site(pc);
        let op = operation(kind, order);
        let mut repeats = None;
        // Where it is: a copy would wait for what the other call has just stored.
        if let Some(bracket) = &mut thread.bracket {
            let state = &mut thread.state;
            runtime.analysis.bracketed(state, bracket, size, op, site);
            if let (Some(clock), 1..=16) = (state.clock(), size) {
                let order = runtime.analysis.order();
                repeats = order.repeats(clock, &mut bracket.of, size, op);
            }
        }
        thread.bracket = None;
        if let State::Recorded(recorded) = &thread.state {
            recorded.give_way();
        }
        thread.show(own);
        if let (Some(clock), Some(repeats)) = (thread.state.clock(), repeats) {
            let stretch = abi::hot::stretch(clock.stretch());
            own.repeat(address as usize, size, stretch, repeats);
        }
        let idle = thread.state.clock().is_some_and(ThreadClock::is_idle);
        own.idle.store(u32::from(idle), Ordering::Relaxed);
    }
    own.leave();
}

/// The functions of the ABI, and their twins behind the quick paths.
macro_rules! brackets {
    ($($begin:ident $end:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $begin(address: *const u8, _size: u32, kind: u32, order: u32) {
            begin(address, kind, order);
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $end(address: *const u8, size: u32, kind: u32, order: u32) {
            end(address, size, kind, order, caller!());
        }
    )*};
}

brackets! {
    __footrace_atomic_begin __footrace_atomic_end;
    __footrace_atomic_begin_slow __footrace_atomic_end_slow;
}

/// What the ABI calls by these numbers; a compare-exchange is taken for one that succeeds.
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
