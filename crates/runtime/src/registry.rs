//! All threads that ever were, by number, and those that can still be joined, by handle.
//!
//! A thread's handle (`pthread_t`) may be used again as soon as it was joined, or ended detached. The
//! creator and the thread itself both want to enter it, whoever comes first does; after that the entry
//! goes away exactly once: with the join, or when the thread is both detached and ended.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;

use engine::sync::quick::is_within;
use event::{Site, Tid};

use crate::lock::Spin;
use crate::thread::Thread;
use crate::tls;

/// What stays known of a thread.
#[derive(Clone, Debug)]
pub struct Info {
    /// Who created it.
    pub parent: Option<Tid>,
    /// Where.
    pub created: Site,
    /// Its name, or empty.
    pub name: String,
    /// Its stack, lowest address and end; empty if unknown.
    pub stack: (u64, u64),
    entered: bool,
}

/// A thread that has a handle.
#[derive(Debug)]
struct Entry {
    tid: Tid,
    detached: bool,
    /// Set when the thread has ended: its state waits for a join.
    ended: Option<Box<Thread>>,
}

#[derive(Debug)]
struct Registry {
    threads: Vec<Info>,
    handles: BTreeMap<usize, Entry>,
    /// Live threads' state, to be looked at only while all others stand still, and block.
    live: BTreeMap<u32, (*mut Thread, *const tls::Block)>,
}

// SAFETY: the pointers are only followed by a forking thread while their owners stand still.
unsafe impl Send for Registry {}

static REGISTRY: Spin<Registry> = Spin::new(Registry {
    threads: Vec::new(),
    handles: BTreeMap::new(),
    live: BTreeMap::new(),
});

/// A number for a new thread.
pub fn announce(parent: Option<Tid>, created: Site) -> Tid {
    let mut registry = REGISTRY.lock();
    registry.threads.push(Info {
        parent,
        created,
        name: String::new(),
        stack: (0, 0),
        entered: false,
    });
    Tid(registry.threads.len() as u32)
}

/// What is known of `tid`.
pub fn info(tid: Tid) -> Option<Info> {
    let registry = REGISTRY.lock();
    registry
        .threads
        .get((tid.0 as usize).checked_sub(1)?)
        .cloned()
}

/// Changes what is known of `tid`.
pub fn update(tid: Tid, change: impl FnOnce(&mut Info)) {
    let mut registry = REGISTRY.lock();
    if let Some(info) = registry.threads.get_mut((tid.0 as usize).wrapping_sub(1)) {
        change(info);
    }
}

/// The thread whose stack holds `address`. Of several (stacks are used again), the latest.
pub fn by_stack(address: u64) -> Option<(Tid, (u64, u64))> {
    let registry = REGISTRY.lock();
    let at = registry
        .threads
        .iter()
        .rposition(|info| info.stack.0 <= address && address < info.stack.1)?;
    Some((Tid(at as u32 + 1), registry.threads[at].stack))
}

/// The thread of a handle.
pub fn by_handle(handle: usize) -> Option<Tid> {
    REGISTRY.lock().handles.get(&handle).map(|entry| entry.tid)
}

/// Enters the handle of `tid`, unless that was done already.
pub fn enter(handle: usize, tid: Tid, detached: bool) {
    let mut registry = REGISTRY.lock();
    let Some(info) = registry.threads.get_mut((tid.0 as usize).wrapping_sub(1)) else {
        return;
    };
    if core::mem::replace(&mut info.entered, true) {
        return;
    }
    let entry = Entry {
        tid,
        detached,
        ended: None,
    };
    registry.handles.insert(handle, entry);
}

/// The calling thread begins to make events.
pub fn started(thread: *mut Thread) {
    // SAFETY: the caller's own thread.
    let tid = unsafe { (*thread).tid };
    REGISTRY.lock().live.insert(tid.0, (thread, tls::block()));
}

/// The calling thread made its last event.
pub fn ended(handle: usize, thread: Box<Thread>) {
    let mut registry = REGISTRY.lock();
    registry.live.remove(&thread.tid.0);
    let unwanted = match registry.handles.get_mut(&handle) {
        Some(entry) if entry.tid == thread.tid && !entry.detached => {
            entry.ended = Some(thread);
            None
        }
        Some(entry) if entry.tid == thread.tid => {
            registry.handles.remove(&handle);
            Some(thread)
        }
        _ => Some(thread),
    };
    drop(registry);
    drop(unwanted);
}

/// Nobody will join the thread.
pub fn detach(handle: usize) {
    let mut registry = REGISTRY.lock();
    let Some(entry) = registry.handles.get_mut(&handle) else {
        return;
    };
    entry.detached = true;
    let gone = if entry.ended.is_some() {
        registry.handles.remove(&handle)
    } else {
        None
    };
    drop(registry);
    drop(gone);
}

/// The thread with number `tid` was joined: its state, if it is still there.
pub fn joined(handle: usize, tid: Tid) -> Option<Box<Thread>> {
    let mut registry = REGISTRY.lock();
    if registry.handles.get(&handle)?.tid != tid {
        return None;
    }
    registry.handles.remove(&handle)?.ended
}

/// Waits until no other thread is inside the runtime, if need be at most so many milliseconds. Are they all outside? Nobody can enter: the caller set
/// [`tls::FORKING`].
pub fn wait_until_outside(me: Tid, patience: Option<u64>) -> bool {
    let end = patience.map(|patience| crate::sys::milliseconds() + patience);
    while live(0, |tid, depth| tid != me.0 && depth != 0).is_some() {
        if end.is_some_and(|end| crate::sys::milliseconds() > end) {
            return false;
        }
        crate::sys::yield_now();
    }
    true
}

/// Waits until no thread is in an atomic operation without a bracket that it began before: `engine::sync::quick`. Others that it begins meanwhile are not waited for.
pub fn wait_until_bracketed() {
    crate::sys::barrier_everywhere();
    let mut next = 0;
    while let Some((tid, depth)) = live(next, |_, _| true) {
        if is_within(depth) {
            crate::sys::yield_now();
        } else {
            next = tid + 1;
        }
    }
}

/// The first thread from number `from` on for which `f` is true of the number and of its [depth](abi::hot::Block::depth): both.
fn live(from: u32, f: impl Fn(u32, u32) -> bool) -> Option<(u32, u32)> {
    // With the lock held, no thread of the list can come to its end and take its block along.
    let registry = REGISTRY.lock();
    let mut all = registry.live.range(from..).map(|(tid, (_, block))| {
        // SAFETY: the thread is live.
        let block = unsafe { &**block };
        (*tid, block.depth.load(Ordering::Acquire))
    });
    all.find(|&(tid, depth)| f(tid, depth))
}

/// The blocks of all threads that make events.
pub fn each_block(f: impl Fn(&tls::Block)) {
    // With the lock held, no thread of the list can come to its end and take its block along.
    let registry = REGISTRY.lock();
    for (_, block) in registry.live.values() {
        // SAFETY: the thread is live.
        f(unsafe { &**block });
    }
}

/// Hands out the states and blocks of all other threads, who stand still (see [`wait_until_outside`]): none can end meanwhile.
pub fn each_other(me: Tid, mut f: impl FnMut(&mut Thread, &tls::Block)) {
    // Not while the lock is held: a report asks for names.
    let others = others(&REGISTRY.lock(), me);
    for (thread, block) in others {
        // SAFETY: the thread cannot end.
        let block = unsafe { &*block };
        // SAFETY: its owner does not touch it outside of the runtime, and nobody comes in.
        f(unsafe { &mut *thread }, block);
    }
}

fn others(registry: &Registry, me: Tid) -> Vec<(*mut Thread, *const tls::Block)> {
    let others = registry.live.iter().filter(|(tid, _)| **tid != me.0);
    others.map(|(_, both)| *both).collect()
}

/// In the child of a fork: everybody else is gone. Hands out their states.
pub fn bury_others(me: Tid, mut f: impl FnMut(&mut Thread)) {
    let mut registry = REGISTRY.lock();
    let others = others(&registry, me);
    registry.live.retain(|tid, _| *tid == me.0);
    drop(registry);
    for (thread, _) in others {
        // SAFETY: the thread does not exist in this process; its state is ours.
        f(unsafe { &mut *thread });
    }
}
