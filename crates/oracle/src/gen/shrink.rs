//! From a trace that fails to a small one that still fails.

use crate::wellformed::{Checker, Outcome};
use event::{AccessKind, Event, Op};

/// The well-formed trace that is left when every event that cannot happen is dropped.
///
/// So any part of a trace, and any list of random events, becomes a trace.
pub fn repair(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    let mut checker = Checker::new();
    events
        .into_iter()
        .filter(|event| checker.step(event) == Ok(Outcome::Plain))
        .collect()
}

/// Makes `events` smaller while `fails` holds: fewer threads, fewer events (delta debugging), simpler
/// events. Every candidate is well-formed. `fails(events)` is expected to hold.
pub fn shrink(events: &[Event], mut fails: impl FnMut(&[Event]) -> bool) -> Vec<Event> {
    let mut best = events.to_vec();
    loop {
        let before = best.clone();
        without_threads(&mut best, &mut fails);
        without_chunks(&mut best, &mut fails);
        simpler(&mut best, &mut fails);
        if best == before {
            return best;
        }
    }
}

fn attempt(
    best: &mut Vec<Event>,
    candidate: Vec<Event>,
    fails: &mut impl FnMut(&[Event]) -> bool,
) -> bool {
    let candidate = repair(candidate);
    let smaller = candidate != *best && candidate.len() <= best.len() && fails(&candidate);
    if smaller {
        *best = candidate;
    }
    smaller
}

fn without_threads(best: &mut Vec<Event>, fails: &mut impl FnMut(&[Event]) -> bool) {
    let mut threads: Vec<_> = best.iter().map(|e| e.thread).collect();
    threads.sort();
    threads.dedup();
    for thread in threads {
        let candidate = best
            .iter()
            .filter(|e| e.thread != thread && e.op != Op::Fork(thread) && e.op != Op::Join(thread))
            .copied()
            .collect();
        attempt(best, candidate, fails);
    }
}

fn without_chunks(best: &mut Vec<Event>, fails: &mut impl FnMut(&[Event]) -> bool) {
    let mut size = best.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < best.len() {
            let end = (start + size).min(best.len());
            let mut candidate = best.clone();
            candidate.drain(start..end);
            if !attempt(best, candidate, fails) {
                start = end;
            }
        }
        size /= 2;
    }
}

fn simpler(best: &mut Vec<Event>, fails: &mut impl FnMut(&[Event]) -> bool) {
    for i in 0..best.len() {
        for op in simpler_ops(best.get(i).map(|e| e.op)) {
            let mut candidate = best.clone();
            let Some(event) = candidate.get_mut(i) else {
                break;
            };
            event.op = op;
            if attempt(best, candidate, fails) {
                break;
            }
        }
    }
}

/// Operations that are simpler than this one, simplest first. Each step goes down, so shrinking ends.
fn simpler_ops(op: Option<Op>) -> Vec<Op> {
    match op {
        Some(Op::Range { kind, elements }) => {
            let one = |i| Op::Access {
                kind,
                addr: elements.addr(i),
                size: u32::from(elements.elem),
            };
            let mut ops: Vec<Op> = elements.indices().map(one).collect();
            if elements.len() > 2 {
                let middle = elements.lo + elements.len() / 2 * elements.stride;
                for (lo, hi) in [(elements.lo, middle), (middle, elements.hi)] {
                    ops.push(Op::Range {
                        kind,
                        elements: event::Elements { lo, hi, ..elements },
                    });
                }
            }
            ops
        }
        Some(Op::Access { kind, addr, size }) if size > 1 => vec![Op::Access {
            kind,
            addr,
            size: size.div_ceil(2),
        }],
        Some(Op::Rmw { addr, size, .. }) => vec![Op::Access {
            kind: AccessKind::Write,
            addr,
            size,
        }],
        _ => Vec::new(),
    }
}
