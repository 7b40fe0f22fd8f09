//! Atomic operations of the program: what the operation did and what the detector makes of it happen as
//! one step, under the lock of the address.

use core::sync::atomic::{AtomicBool, Ordering};

use abi::{AtomicKind, Order};
use engine::SyncOp;
use engine::detector::AtomicOp;
use event::{Addr, FenceOrder, LoadOrder, RmwOrder, StoreOrder};

use crate::unwind::caller;
use crate::{sys, thread, tls};

const OBJECTS: usize = 4096;

/// One lock per class of addresses, on lines of their own in pairs.
#[repr(align(32))]
struct Object {
    taken: AtomicBool,
}

static TABLE: [Object; OBJECTS] = [const {
    Object {
        taken: AtomicBool::new(false),
    }
}; OBJECTS];

/// Overlapping operations must meet: 16 bytes is the widest one.
fn number(address: usize) -> u32 {
    ((address >> 4) as u32).wrapping_mul(0x9E37_79B1) >> (32 - OBJECTS.ilog2())
}

fn take(number: u32) {
    let taken = &TABLE[number as usize].taken;
    let mut tries = 0u32;
    while taken.swap(true, Ordering::Acquire) {
        while taken.load(Ordering::Relaxed) {
            tries += 1;
            if tries < 64 {
                core::hint::spin_loop();
            } else {
                sys::yield_now();
            }
        }
    }
}

fn give_back(number: u32) {
    TABLE[number as usize].taken.store(false, Ordering::Release);
}

/// The thread leaves an atomic operation by another way than its end: a fault.
pub fn abandon(own: &tls::Block) {
    let held = own.bracket.swap(0, Ordering::Relaxed);
    if held != 0 {
        give_back(held - 1);
    }
}

/// Runs `f` as one step with respect to all atomic operations on `address`.
pub fn bracketed<R>(address: usize, f: impl FnOnce() -> R) -> R {
    let number = number(address);
    take(number);
    let result = f();
    give_back(number);
    result
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
    let number = number(address as usize);
    take(number);
    own.bracket.store(number + 1, Ordering::Relaxed);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_atomic_end(address: *const u8, size: u32, kind: u32, order: u32) {
    let pc = caller!();
    let own = tls::own();
    let held = own.bracket.load(Ordering::Relaxed);
    if held == 0 {
        // The operation happened unseen: within the runtime, or a fault handler came between.
        return;
    }
    if let Some((thread, runtime)) = thread::current() {
        let site = thread.site(pc);
        let op = operation(kind, order);
        let address = Addr(address as u64);
        runtime
            .analysis
            .atomic(&mut thread.state, address, size, op, site);
        own.epoch.store(thread.state.epoch(), Ordering::Relaxed);
    }
    own.bracket.store(0, Ordering::Relaxed);
    give_back(held - 1);
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
