//! Atomic operations of the program: what the operation did and what the detector makes of it happen as
//! one step, within the bracket of the address.

#[path = "../../hot/src/operate.rs"]
mod operate;

use core::sync::atomic::Ordering;

use abi::{AtomicKind, Order};
use engine::clock::Slot;
use engine::detector::{Access, AtomicOp};
use engine::precise::{Precise, PreciseThread, Raced};
use engine::shadow::{Location, Rule, RuleName, Timeless};
use engine::sync::Effect;
use engine::sync::quick::{LENT, Repeats, WITHIN, is_within};
use engine::{Detector, SyncOp};
use event::{AccessKind, Addr, FenceOrder, LoadOrder, RmwOrder, StoreOrder};

use crate::analysis::{Analysis, State};
use crate::loans::Loan;
use crate::thread::{Names, found};
use crate::unwind::caller;
use crate::{entry, signal, thread, tls};

/// The thread leaves an atomic operation by another way than its end: a fault. False if it was in none. What it does next is outside:
/// if that is the rest of the operation, nobody sees it.
pub fn abandon(own: &tls::Block) -> bool {
    if is_within(own.depth.load(Ordering::Relaxed)) {
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
pub fn fetch(line: *const ()) {
    // SAFETY: a hint, which accesses nothing and faults on no address.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags));
    }
}

/// Begins an operation, on an object that was lent to the thread or within the bracket. If it has to wait for others that need none, `op` says which it is; `likely` is what it does
/// unless it turns out otherwise.
#[inline(always)]
fn begin(address: *const u8, size: u32, likely: Effect, op: impl FnOnce() -> AtomicOp) {
    // A bad address faults here, before anything is held.
    // SAFETY: the program is about to access it.
    unsafe { address.read_volatile() };
    let own = tls::own();
    if own.repeats(address as usize) && own.try_enter_as(LENT) {
        // SAFETY: null or the calling thread's own, which is inside now.
        let thread = unsafe { own.thread().as_ref() };
        if let Some(thread) = thread
            && let Some(clock) = thread.state.clock()
            && !thread.state.puts_off()
            && thread.loans.admit(clock, address as usize, size, likely)
        {
            return;
        }
        own.depth.store(0, Ordering::Relaxed);
    }
    bracket(own, address, op);
}

/// Takes the bracket.
#[inline(never)]
fn bracket(own: &tls::Block, address: *const u8, op: impl FnOnce() -> AtomicOp) {
    if !own.enter() {
        return;
    }
    match thread::current() {
        Some((thread, runtime)) => {
            let addr = Addr(address as u64);
            // Not while others wait for the bracket.
            if thread.state.puts_off() {
                runtime.analysis.settle(&mut thread.state);
            }
            let bracket = runtime.analysis.bracket(&thread.state, addr, op);
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

#[inline(always)]
fn end(address: *const u8, size: u32, kind: u32, order: u32, pc: usize) {
    let own = tls::own();
    if own.depth.load(Ordering::Relaxed) == LENT {
        end_lent(own, address as usize, size, effect(kind, order), pc);
    } else {
        end_bracket(own, address as usize, size, operation(kind, order), pc);
    }
}

#[inline(never)]
fn end_bracket(own: &tls::Block, address: usize, size: u32, op: AtomicOp, pc: usize) {
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
        let mut repeats = None;
        let (state, mut names, bracket) = thread.state_names_and_bracket();
        // Where it is: a copy would wait for what the other call has just stored.
        if let Some(bracket) = bracket {
            repeats = match (&runtime.analysis, &mut *state) {
                (Analysis::FastTrack(detector), State::FastTrack(state)) => {
                    let what = (address, size, op);
                    operate(own, (detector, state), &mut bracket.of, names, what, pc)
                }
                (analysis, state) => {
                    let site = names.site(pc);
                    analysis.bracketed(state, bracket, size, op, site)
                }
            };
            if let Some(repeats) = repeats
                && let Some(lent) = repeats.lent
            {
                let time = bracket.of.time(lent);
                thread.loans.note(address, repeats, time);
            }
        }
        thread.bracket = None;
        if let State::Recorded(recorded) = &thread.state {
            recorded.give_way();
        }
        if let (Some(clock), Some(repeats)) = (thread.state.clock(), repeats) {
            let stretch = abi::hot::stretch(clock.stretch());
            own.repeat(address, size, stretch, repeats);
        }
        thread.show_operation(own);
    }
    own.leave();
}

/// Presents an operation within its bracket to the detector. Returns which ones the thread may make from now on without, if any.
#[inline(always)]
fn operate<R: Rule>(
    own: &tls::Block,
    (detector, state): (&'static Precise<R>, &mut PreciseThread),
    bracket: &mut engine::sync::Bracket<'static>,
    mut names: Names<'_>,
    (address, size, op): (usize, u32, AtomicOp),
    pc: usize,
) -> Option<Repeats<'static>> {
    let order = detector.order();
    let operation = order.begin_atomic(&mut state.clock, bracket, size, op);
    if operation.stands() {
        state.counts.add(RuleName::AtomicRepeated);
    } else {
        let kind = Effect::of(op).kind();
        let raced = number(own, state, &names, address, size, pc).and_then(|(location, number)| {
            let what = (kind, entry::mask(address, size));
            let shadow = detector.shadow();
            shadow.atomic_at(order, state, location, what, number)
        });
        if raced != Some(Raced(false)) {
            let what = (address, size, kind);
            let number = record((detector, state), &mut names, what, pc, raced);
            if let Some((slot, number)) = number {
                names.set_number(pc, slot, number);
                remember(own, detector, address);
            }
        }
    }
    order.end_atomic(&mut state.clock, operation);
    order.repeats(&state.clock, bracket, size, op)
}

/// Where an access within one word is recorded, and the number of its site, if both are known.
#[inline(always)]
fn number(
    own: &tls::Block,
    state: &PreciseThread,
    names: &Names<'_>,
    address: usize,
    size: u32,
    pc: usize,
) -> Option<(&'static Location, u32)> {
    let location = own.location(address)?;
    let number = names.number(pc, state.clock.numbering()?)?;
    (address % 8 + size as usize <= 8).then_some((location, number))
}

/// The inlined checks know the page from now on, if it has a location for each word.
fn remember<R: Rule>(own: &tls::Block, detector: &'static Precise<R>, address: usize) {
    if own.location(address).is_none()
        && let Some(location) = detector.shadow().split_location(Addr(address as u64))
    {
        own.remember(address, location);
    }
}

/// The end of an operation on an object that was lent to the thread.
#[inline(never)]
fn end_lent(own: &tls::Block, address: usize, size: u32, effect: Effect, pc: usize) {
    if let Some((thread, runtime)) = thread::current() {
        let (state, loan, names) = thread.parts(address);
        match (&runtime.analysis, state, loan) {
            (Analysis::FastTrack(detector), State::FastTrack(state), Some(loan)) => {
                operate_lent((detector, state), loan, names, (size, effect), pc);
                if effect.releases {
                    // And again, if nothing happens in between.
                    let stretch = abi::hot::stretch(state.clock.stretch());
                    own.repeat(address, size, stretch, loan.repeats());
                }
            }
            (Analysis::Djit(detector), State::Djit(state), Some(loan)) => {
                operate_lent((detector, state), loan, names, (size, effect), pc);
            }
            _ => {}
        }
        thread.show_operation(own);
    }
    own.leave();
}

/// Presents such an operation to the detector.
#[inline(always)]
fn operate_lent<R: Rule>(
    (detector, state): (&'static Precise<R>, &mut PreciseThread),
    loan: &mut Loan,
    mut names: Names<'_>,
    (size, effect): (u32, Effect),
    pc: usize,
) {
    let order = detector.order();
    let addr = Addr(loan.address as u64);
    let stands = order.stands_for_lent(&state.clock, addr, size, effect);
    if stands {
        state.counts.add(RuleName::AtomicRepeated);
    } else {
        let again = loan.again(names.key(pc), effect.kind());
        let raced = again.and_then(|(mixed, access)| {
            let shadow = detector.shadow();
            shadow.atomic_again(order, state, mixed, access)
        });
        if raced != Some(Raced(false)) {
            let (address, kind) = (loan.address, effect.kind());
            let what = (address, size, kind);
            let number = record((detector, state), &mut names, what, pc, raced);
            if let Some((_, number)) = number
                && address % 8 + size as usize <= 8
            {
                let access = Timeless::new(kind, entry::mask(address, size), number);
                loan.remember(detector.shadow().mixed(addr), names.key(pc), kind, access);
            }
        }
    }
    order.end_lent(&mut state.clock, loan.time, (addr, size), effect, stands);
}

/// Checks and records the access that an operation is, or tells that it raced. In the first case, its site's number in its slot.
#[inline(never)]
fn record<R: Rule>(
    (detector, state): (&'static Precise<R>, &mut PreciseThread),
    names: &mut Names<'_>,
    (address, size, kind): (usize, u32, AccessKind),
    pc: usize,
    raced: Option<Raced>,
) -> Option<(Slot, u32)> {
    let (order, shadow) = (detector.order(), detector.shadow());
    let addr = Addr(address as u64);
    let site = names.site(pc);
    if raced.is_some() {
        let access = Access {
            kind,
            addr,
            size,
            site,
        };
        shadow.tell_atomic(order, state, access, &mut found);
        return None;
    }
    let bytes = (addr, u64::from(size));
    shadow.atomic_bytes(order, state, kind, bytes, site, &mut found);
    let (_, number) = state.clock.stamp(order.slots(), site);
    Some((state.clock.numbering()?, number))
}

/// The functions of the ABI, and their twins behind the quick paths.
macro_rules! brackets {
    ($($begin:ident $end:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $begin(address: *const u8, size: u32, kind: u32, order: u32) {
            let effect = effect(kind, order);
            begin(address, size, effect, move || operation(kind, order));
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
    begin(address, size, effect(RMW, success), || {
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
    OPERATIONS[index(kind, order)].0
}

/// What that does.
#[inline(always)]
fn effect(kind: u32, order: u32) -> Effect {
    OPERATIONS[index(kind, order)].1
}

const KINDS: usize = 4;
const ORDERS: usize = 8;

#[inline(always)]
const fn index(kind: u32, order: u32) -> usize {
    kind as usize % KINDS * ORDERS + order as usize % ORDERS
}

static OPERATIONS: [(AtomicOp, Effect); KINDS * ORDERS] = {
    let relaxed = AtomicOp::Load(LoadOrder::Relaxed);
    let mut all = [(relaxed, Effect::of(relaxed)); KINDS * ORDERS];
    let mut at = 0;
    while at < KINDS * ORDERS {
        let op = named(at / ORDERS, at % ORDERS);
        all[at] = (op, Effect::of(op));
        at += 1;
    }
    all
};

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
