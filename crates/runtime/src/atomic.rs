//! Atomic operations of the program: what the operation did and what the detector makes of it happen as
//! one step, within the bracket of the address.

#[path = "../../hot/src/operate.rs"]
mod operate;

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

/// Takes the bracket. If the operation has to wait for others that need none, `op` says which it is.
#[inline(always)]
fn begin(address: *const u8, op: impl FnOnce() -> AtomicOp) {
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
                let order = runtime.analysis.order();
                order.expect(clock, &mut bracket.of, op());
            }
            // One after the other they would be waited for at the end. Not sooner: whoever has the bracket is at work on them.
            fetch(bracket.of.near());
            if let Some(location) = own.location(address as usize) {
                fetch(core::ptr::from_ref(location).cast());
                fetch(runtime.analysis.near(location));
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
            repeats = runtime.analysis.bracketed(state, bracket, size, op, site);
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
            begin(address, || operation(kind, order));
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

/// A compare-exchange: made within the bracket, and told as what it turned out to be. Where others do without a bracket it is not made if it would fail. What it
/// saw then is what a load reads: whoever may still operate changes nothing that the detector knows.
fn exchange(
    (address, size): (*mut u8, u32),
    (expected, new): (u64, u64),
    (success, failure): (u32, u32),
    pc: usize,
) -> u64 {
    const LOAD: u32 = AtomicKind::Load as u32;
    const RMW: u32 = AtomicKind::Rmw as u32;
    let mut failed = None;
    begin(address, || {
        let seen = operate::load(address, size);
        if seen == expected {
            operation(RMW, success)
        } else {
            failed = Some(seen);
            operation(LOAD, failure)
        }
    });
    let old = failed.unwrap_or_else(|| operate::exchange(address, size, expected, new));
    if old == expected {
        end(address, size, RMW, success, pc);
    } else {
        end(address, size, LOAD, failure, pc);
    }
    old
}

macro_rules! exchanges {
    ($($name:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            address: *mut u8,
            size: u32,
            expected: u64,
            new: u64,
            success: u32,
            failure: u32,
        ) -> u64 {
            exchange((address, size), (expected, new), (success, failure), caller!())
        }
    )*};
}

exchanges! {
    __footrace_exchange;
    __footrace_exchange_slow;
}

/// What the ABI calls by these numbers; a compare-exchange is taken for one that succeeds.
#[inline(always)]
fn operation(kind: u32, order: u32) -> AtomicOp {
    static OPERATIONS: [[AtomicOp; ORDERS]; KINDS] = {
        let mut all = [[AtomicOp::Load(LoadOrder::Relaxed); ORDERS]; KINDS];
        let mut at = 0;
        while at < KINDS * ORDERS {
            all[at / ORDERS][at % ORDERS] = named(at / ORDERS, at % ORDERS);
            at += 1;
        }
        all
    };
    // Orders that do not exist are as good as none.
    let order = if order < ORDERS as u32 { order } else { 0 };
    OPERATIONS[kind as usize % KINDS][order as usize]
}

const KINDS: usize = 4;
const ORDERS: usize = 6;

const fn named(kind: usize, order: usize) -> AtomicOp {
    const LOAD: usize = AtomicKind::Load as usize;
    const STORE: usize = AtomicKind::Store as usize;
    const CONSUME: usize = Order::Consume as usize;
    const ACQUIRE: usize = Order::Acquire as usize;
    const RELEASE: usize = Order::Release as usize;
    const ACQ_REL: usize = Order::AcqRel as usize;
    const SEQ_CST: usize = Order::SeqCst as usize;
    match (kind, order) {
        (LOAD, CONSUME | ACQUIRE | ACQ_REL) => AtomicOp::Load(LoadOrder::Acquire),
        (LOAD, SEQ_CST) => AtomicOp::Load(LoadOrder::SeqCst),
        (LOAD, _) => AtomicOp::Load(LoadOrder::Relaxed),
        (STORE, RELEASE | ACQ_REL) => AtomicOp::Store(StoreOrder::Release),
        (STORE, SEQ_CST) => AtomicOp::Store(StoreOrder::SeqCst),
        (STORE, _) => AtomicOp::Store(StoreOrder::Relaxed),
        (_, CONSUME | ACQUIRE) => AtomicOp::Rmw(RmwOrder::Acquire),
        (_, RELEASE) => AtomicOp::Rmw(RmwOrder::Release),
        (_, ACQ_REL) => AtomicOp::Rmw(RmwOrder::AcqRel),
        (_, SEQ_CST) => AtomicOp::Rmw(RmwOrder::SeqCst),
        (_, _) => AtomicOp::Rmw(RmwOrder::Relaxed),
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
