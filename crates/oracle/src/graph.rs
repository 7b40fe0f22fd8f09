//! Happens-before as a graph: its edges, read off the table in `event`, and reachability.

use event::{AccessKind, Addr, Event, Op, SyncId, Tid};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The bytes an operation touches as a plain or atomic access, or makes fresh (`Alloc`). `blocks`
/// knows the blocks alive before the operation: the size of a `Free` stands in its `Alloc`.
pub(crate) fn bytes(op: &Op, blocks: &BTreeMap<Addr, u64>) -> Vec<Range<u64>> {
    let one = |addr: Addr, len: u64| std::iter::once(addr.0..addr.0 + len).collect();
    match *op {
        Op::Access { addr, size, .. }
        | Op::Load { addr, size, .. }
        | Op::Store { addr, size, .. }
        | Op::Rmw { addr, size, .. } => one(addr, u64::from(size)),
        Op::Range { elements, .. } => {
            let mut out: Vec<Range<u64>> = Vec::new();
            for i in elements.indices() {
                let start = elements.addr(i).0;
                let end = start + u64::from(elements.elem);
                match out.last_mut() {
                    Some(last) if last.end == start => last.end = end,
                    _ => out.push(start..end),
                }
            }
            out
        }
        Op::Alloc { addr, elem, len } => one(addr, u64::from(elem) * len),
        Op::Free { addr } => one(addr, blocks.get(&addr).copied().unwrap_or(0)),
        _ => Vec::new(),
    }
}

/// What an operation does to memory as an access: its kind, and whether it is atomic.
pub(crate) fn access(op: &Op) -> Option<(AccessKind, bool)> {
    match *op {
        Op::Access { kind, .. } | Op::Range { kind, .. } => Some((kind, false)),
        Op::Free { .. } => Some((AccessKind::Write, false)),
        Op::Load { .. } => Some((AccessKind::Read, true)),
        Op::Store { .. } | Op::Rmw { .. } => Some((AccessKind::Write, true)),
        _ => None,
    }
}

/// Keeps the sizes of living blocks, event by event.
pub(crate) fn track_blocks(op: &Op, blocks: &mut BTreeMap<Addr, u64>) {
    match *op {
        Op::Alloc { addr, elem, len } => {
            blocks.insert(addr, u64::from(elem) * len);
        }
        Op::Free { addr } => {
            blocks.remove(&addr);
        }
        _ => {}
    }
}

pub(crate) fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The happens-before relation of one execution.
#[derive(Debug)]
pub struct HappensBefore {
    /// `past[j]` holds bit `i` if event `i` happens before event `j`.
    past: Vec<Vec<u64>>,
}

impl HappensBefore {
    /// Builds the relation. The events must be well-formed (see [`crate::check`]).
    pub fn new(events: &[Event]) -> Self {
        let predecessors = edges(events);
        let words = events.len().div_ceil(64);
        let mut past: Vec<Vec<u64>> = Vec::with_capacity(events.len());
        // Every edge goes forward in the execution, so one pass in order reaches everything.
        for sources in &predecessors {
            let mut row = vec![0_u64; words];
            for &i in sources {
                for (to, from) in row.iter_mut().zip(&past[i]) {
                    *to |= from;
                }
                row[i / 64] |= 1 << (i % 64);
            }
            past.push(row);
        }
        HappensBefore { past }
    }

    /// Does event `i` happen before event `j`?
    pub fn before(&self, i: usize, j: usize) -> bool {
        self.past[j][i / 64] >> (i % 64) & 1 == 1
    }
}

/// For each event the earlier events that happen before it by one edge of the table.
fn edges(events: &[Event]) -> Vec<Vec<usize>> {
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); events.len()];
    let mut last_of: BTreeMap<Tid, usize> = BTreeMap::new();
    let mut forked_at: BTreeMap<Tid, usize> = BTreeMap::new();
    for (j, event) in events.iter().enumerate() {
        // The order of the thread's own events; and `Fork(u)` before the first of `u`, hence before all.
        match last_of.insert(event.thread, j) {
            Some(i) => into[j].push(i),
            None => into[j].extend(forked_at.get(&event.thread)),
        }
        match event.op {
            Op::Fork(u) => {
                forked_at.insert(u, j);
            }
            // All of `u` is before its last event; a thread that did nothing has at least been forked.
            Op::Join(u) => into[j].extend(last_of.get(&u).or(forked_at.get(&u))),
            Op::Acquire(_) | Op::ReadAcquire(_) | Op::VolatileRead(_) | Op::Receive(_) => {
                into[j].extend((0..j).filter(|&i| publishes(&events[i].op, &event.op)));
            }
            _ => {}
        }
    }
    barrier_edges(events, &mut into);
    atomic_edges(events, &mut into);
    into
}

/// The rows of the table that pair one earlier event with one later event by their name alone.
fn publishes(earlier: &Op, later: &Op) -> bool {
    match (*earlier, *later) {
        (Op::Release(a), Op::Acquire(b) | Op::ReadAcquire(b)) => a == b,
        (Op::ReadRelease(a), Op::Acquire(b)) => a == b,
        (Op::VolatileWrite(a), Op::VolatileRead(b)) => a == b,
        (Op::Send(a), Op::Receive(b)) => a == b,
        _ => false,
    }
}

#[derive(Default)]
struct Barrier {
    /// Arrivals of each round; the last round may be open.
    rounds: Vec<Vec<usize>>,
    open: bool,
    /// The round of each thread's last arrival.
    round_of: BTreeMap<Tid, usize>,
}

fn barrier_edges(events: &[Event], into: &mut [Vec<usize>]) {
    let mut barriers: BTreeMap<SyncId, Barrier> = BTreeMap::new();
    for (j, event) in events.iter().enumerate() {
        match event.op {
            Op::Arrive(b) => {
                let barrier = barriers.entry(b).or_default();
                if !barrier.open {
                    barrier.rounds.push(Vec::new());
                    barrier.open = true;
                }
                let round = barrier.rounds.len() - 1;
                barrier.rounds[round].push(j);
                barrier.round_of.insert(event.thread, round);
            }
            Op::Depart(b) => {
                let barrier = barriers.entry(b).or_default();
                if let Some(&round) = barrier.round_of.get(&event.thread) {
                    if round + 1 == barrier.rounds.len() {
                        barrier.open = false;
                    }
                    into[j].extend(&barrier.rounds[round]);
                }
            }
            _ => {}
        }
    }
}

/// An atomic object, known by its address.
///
/// Which bytes belong to it matters only for what resets it: those of all atomic writes to it since
/// the last reset.
struct Object {
    end: u64,
    /// The heads whose release sequences the last write belongs to, each with the event that it
    /// releases: itself, or a fence, or nothing.
    heads: Vec<Option<usize>>,
}

#[derive(Default)]
struct Fences {
    /// The thread's last releasing fence.
    release: Option<usize>,
    /// What its relaxed reads met and the next acquiring fence acquires.
    pending: BTreeSet<usize>,
}

fn atomic_edges(events: &[Event], into: &mut [Vec<usize>]) {
    let mut objects: BTreeMap<Addr, Object> = BTreeMap::new();
    let mut fences: BTreeMap<Tid, Fences> = BTreeMap::new();
    let mut blocks: BTreeMap<Addr, u64> = BTreeMap::new();
    for (j, event) in events.iter().enumerate() {
        let thread = fences.entry(event.thread).or_default();
        // The read part: meets every head of the last write's sequences.
        let read = match event.op {
            Op::Load { addr, order, .. } => Some((addr, order.acquires())),
            Op::Rmw { addr, order, .. } => Some((addr, order.acquires())),
            _ => None,
        };
        if let Some((addr, acquires)) = read {
            let released = objects
                .get(&addr)
                .into_iter()
                .flat_map(|o| o.heads.iter().copied().flatten());
            if acquires {
                into[j].extend(released);
            } else {
                thread.pending.extend(released);
            }
        }
        // The write part: a store begins anew, a read-modify-write adds a head of its own.
        let write = match event.op {
            Op::Store { addr, size, order } => Some((addr, size, order.releases(), true)),
            Op::Rmw { addr, size, order } => Some((addr, size, order.releases(), false)),
            _ => None,
        };
        if let Some((addr, size, releases, breaks)) = write {
            let object = objects.entry(addr).or_insert(Object {
                end: addr.0,
                heads: Vec::new(),
            });
            object.end = object.end.max(addr.0 + u64::from(size));
            if breaks {
                object.heads.clear();
            }
            object
                .heads
                .push(if releases { Some(j) } else { thread.release });
        }
        if let Op::Fence(order) = event.op {
            if order.acquires() {
                into[j].extend(std::mem::take(&mut thread.pending));
            }
            if order.releases() {
                thread.release = Some(j);
            }
        }
        // Plain writes, `Alloc` and `Free` reset the objects they touch.
        let resets = matches!(event.op, Op::Alloc { .. })
            || access(&event.op) == Some((AccessKind::Write, false));
        if resets {
            for touched in bytes(&event.op, &blocks) {
                objects.retain(|addr, object| !overlap(&(addr.0..object.end), &touched));
            }
        }
        track_blocks(&event.op, &mut blocks);
    }
}
