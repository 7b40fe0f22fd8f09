//! Every well-formed trace up to a length, over a small world: some threads, some locks, one scalar, one array.
//!
//! Up to symmetry: threads and locks are numbered in the order of their first use, so that of all
//! renamings of a trace one is visited. Sites are numbers of events. [`enumerate`] leaves nothing else out. The elements of the array may not be renamed: to
//! SlimState a prefix is not what a suffix is, and a range that goes up is not one that goes down. Independent events may be
//! swapped, which changes no race; but what detectors remember of an array depends on the order in which they meet its elements: see [`classes`].

use crate::wellformed::check;
use event::{
    AccessKind, Addr, Elements, Event, FenceOrder, LoadOrder, Op, RmwOrder, Site, StoreOrder,
    SyncId, Tid,
};
use std::collections::BTreeSet;

/// The address of the scalar.
pub const SCALAR: Addr = Addr(0x10_0000);
/// The first byte of the array.
pub const ARRAY: Addr = Addr(0x20_0000);
/// Bytes in the scalar and in an element.
pub const WORD: u8 = 8;
/// Elements of the array.
pub const LEN: u64 = 4;

/// What threads may do.
#[derive(Clone, Debug)]
pub struct Alphabet {
    /// How many threads.
    pub threads: u32,
    /// How many locks.
    pub locks: u64,
    /// The accesses.
    pub accesses: Vec<Op>,
    /// Also `Fork` and `Join`; threads may be roots all the same.
    pub forks: bool,
}

fn single(kind: AccessKind, addr: Addr) -> Op {
    Op::Access {
        kind,
        addr,
        size: u32::from(WORD),
    }
}

fn range(kind: AccessKind, lo: u64, hi: u64, stride: u64) -> Op {
    Op::Range {
        kind,
        elements: Elements {
            base: ARRAY,
            elem: WORD,
            lo,
            hi,
            stride,
        },
    }
}

impl Alphabet {
    fn with(accesses: impl Fn(AccessKind) -> Vec<Op>) -> Self {
        Alphabet {
            threads: 3,
            locks: 2,
            accesses: [AccessKind::Read, AccessKind::Write]
                .into_iter()
                .flat_map(accesses)
                .collect(),
            forks: false,
        }
    }

    /// Reads and writes of the scalar, of each element, and of each strided range of two elements or more: 28 accesses.
    pub fn full() -> Self {
        Alphabet::with(|kind| {
            let mut ops = vec![single(kind, SCALAR)];
            ops.extend((0..LEN).map(|i| single(kind, Addr(ARRAY.0 + i * u64::from(WORD)))));
            for stride in 1..LEN {
                for lo in 0..LEN {
                    for last in (lo + stride..LEN).step_by(usize::try_from(stride).unwrap_or(1)) {
                        ops.push(range(kind, lo, last + 1, stride));
                    }
                }
            }
            ops
        })
    }

    /// One access for each kind of footprint: the scalar, an element, all, a half, every other one.
    pub fn small() -> Self {
        Alphabet::with(|kind| {
            vec![
                single(kind, SCALAR),
                single(kind, ARRAY),
                range(kind, 0, LEN, 1),
                range(kind, 0, LEN / 2, 1),
                range(kind, 0, LEN, 2),
            ]
        })
    }

    /// The least that tells footprints and rules apart: reads of the scalar and of all, writes of the scalar, an element,
    /// all, a half, every other one.
    pub fn tiny() -> Self {
        Alphabet {
            accesses: vec![
                single(AccessKind::Read, SCALAR),
                range(AccessKind::Read, 0, LEN, 1),
                single(AccessKind::Write, SCALAR),
                single(AccessKind::Write, ARRAY),
                range(AccessKind::Write, 0, LEN, 1),
                range(AccessKind::Write, 0, LEN / 2, 1),
                range(AccessKind::Write, 0, LEN, 2),
            ],
            ..Alphabet::small()
        }
    }

    /// Plain and atomic accesses to the scalar, in each order that does something else, and fences.
    pub fn atomics() -> Self {
        let (addr, size) = (SCALAR, u32::from(WORD));
        Alphabet {
            locks: 0,
            accesses: vec![
                single(AccessKind::Read, addr),
                single(AccessKind::Write, addr),
                Op::Load {
                    addr,
                    size,
                    order: LoadOrder::Relaxed,
                },
                Op::Load {
                    addr,
                    size,
                    order: LoadOrder::Acquire,
                },
                Op::Store {
                    addr,
                    size,
                    order: StoreOrder::Relaxed,
                },
                Op::Store {
                    addr,
                    size,
                    order: StoreOrder::Release,
                },
                Op::Rmw {
                    addr,
                    size,
                    order: RmwOrder::Relaxed,
                },
                Op::Rmw {
                    addr,
                    size,
                    order: RmwOrder::Acquire,
                },
                Op::Rmw {
                    addr,
                    size,
                    order: RmwOrder::Release,
                },
                Op::Rmw {
                    addr,
                    size,
                    order: RmwOrder::AcqRel,
                },
                Op::Fence(FenceOrder::Acquire),
                Op::Fence(FenceOrder::Release),
            ],
            ..Alphabet::small()
        }
    }

    /// The same with `Fork` and `Join`.
    pub fn with_forks(mut self) -> Self {
        self.forks = true;
        self
    }
}

/// The event that comes first: the array is allocated.
pub fn allocation() -> Event {
    Event {
        thread: Tid(0),
        op: Op::Alloc {
            addr: ARRAY,
            elem: WORD,
            len: LEN,
        },
        site: Site(1),
    }
}

/// The event with its memory `by` bytes further on.
pub fn moved(mut event: Event, by: u64) -> Event {
    match &mut event.op {
        Op::Access { addr, .. }
        | Op::Load { addr, .. }
        | Op::Store { addr, .. }
        | Op::Rmw { addr, .. }
        | Op::Alloc { addr, .. }
        | Op::Free { addr } => addr.0 += by,
        Op::Range { elements, .. } => elements.base.0 += by,
        _ => {}
    }
    event
}

/// What is left of all traces of 1 to `events` events if it is open what their accesses access: those that end in an access, each access
/// a read of the scalar.
///
/// A trace that ends in another event has the races of the trace without that event.
pub fn skeletons(alphabet: &Alphabet, events: usize) -> Vec<Vec<Event>> {
    let open = Alphabet {
        accesses: vec![single(AccessKind::Read, SCALAR)],
        ..alphabet.clone()
    };
    let mut found = Vec::new();
    enumerate(&open, events, |trace| {
        if trace.last().is_some_and(|last| last.op == open.accesses[0]) {
            found.push(trace.to_vec());
        }
    });
    found
}

/// Of the skeletons one for each class.
///
/// Plain accesses order nothing, and a race is a pair of accesses whatever their order. So if two neighbours of different threads change places
/// and are not both operations on one lock (nor one a `Fork` or `Join` of the other's thread), the same pairs race. Traces that come out
/// of each other in this way, or by other names for threads and locks, are a class. To a detector they are not the same: it meets accesses in
/// another order. So one of each class is the least to be tried, and a sample of all should be.
pub fn classes(skeletons: &[Vec<Event>]) -> Vec<Vec<Event>> {
    let mut seen = BTreeSet::new();
    let first_of_class = |skeleton: &&Vec<Event>| seen.insert(class(skeleton));
    skeletons.iter().filter(first_of_class).cloned().collect()
}

/// A thread and what it does: a number for the operation, and whom or what it concerns.
type Letter = (u32, u8, u64);

const FORK: u8 = 3;
const JOIN: u8 = 4;

/// A class of skeletons: the least of it, over all names and orders.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Class(Vec<Letter>);

/// The class of a skeleton, see [`classes`].
pub fn class(skeleton: &[Event]) -> Class {
    let letters: Vec<Letter> = skeleton
        .iter()
        .skip(1)
        .map(|event| {
            let (op, arg) = match event.op {
                Op::Acquire(lock) => (1, lock.0),
                Op::Release(lock) => (2, lock.0),
                Op::Fork(thread) => (FORK, u64::from(thread.0)),
                Op::Join(thread) => (JOIN, u64::from(thread.0)),
                _ => (0, 0),
            };
            (event.thread.0, op, arg)
        })
        .collect();
    let names = permutations(3).into_iter().flat_map(|threads| {
        let both = permutations(2).into_iter();
        both.map(move |locks| (threads.clone(), locks))
    });
    let renamed = names.map(|(threads, locks)| {
        let thread = |t: u64| threads.get(t as usize).copied().unwrap_or(t);
        let rename = |&(t, op, arg): &Letter| {
            let arg = match op {
                1 | 2 => locks.get(arg as usize).copied().unwrap_or(arg),
                FORK | JOIN => thread(arg),
                _ => arg,
            };
            (thread(u64::from(t)) as u32, op, arg)
        };
        least_order(letters.iter().map(rename).collect())
    });
    Class(renamed.min().unwrap_or_default())
}

fn permutations(n: u64) -> Vec<Vec<u64>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(n - 1);
    let longer = shorter.iter().flat_map(|p| {
        (0..=p.len()).map(move |at| {
            let mut p = p.clone();
            p.insert(at, n - 1);
            p
        })
    });
    longer.collect()
}

/// The least of all orders that keep dependent letters as they are.
fn least_order(mut letters: Vec<Letter>) -> Vec<Letter> {
    let depend = |a: &Letter, b: &Letter| {
        let concerns = |a: &Letter, b: &Letter| a.1 >= FORK && a.2 == u64::from(b.0);
        let same_lock = (1..FORK).contains(&a.1) && (1..FORK).contains(&b.1) && a.2 == b.2;
        a.0 == b.0 || same_lock || concerns(a, b) || concerns(b, a)
    };
    let mut order = Vec::with_capacity(letters.len());
    while !letters.is_empty() {
        let free = |&i: &usize| letters[..i].iter().all(|e| !depend(e, &letters[i]));
        let next = (0..letters.len()).filter(free).min_by_key(|&i| letters[i]);
        // The first one is always free.
        order.push(letters.remove(next.unwrap_or(0)));
    }
    order
}

/// Calls `f` with every trace of 1 to `events` events (besides the `Alloc` of the array, which comes first). Returns how many
/// there were.
pub fn enumerate(alphabet: &Alphabet, events: usize, mut f: impl FnMut(&[Event])) -> u64 {
    enumerate_part(alphabet, events, 0, 1, &mut f)
}

/// The `part`-th of `parts` shares of the same work, to be done side by side.
pub fn enumerate_part(
    alphabet: &Alphabet,
    events: usize,
    part: u64,
    parts: u64,
    f: &mut dyn FnMut(&[Event]),
) -> u64 {
    let mut walk = Walk {
        alphabet,
        trace: vec![allocation()],
        events,
        part,
        parts,
        branch: 0,
        visited: 0,
        f,
    };
    walk.extend(0, 0);
    walk.visited
}

struct Walk<'a> {
    alphabet: &'a Alphabet,
    trace: Vec<Event>,
    events: usize,
    part: u64,
    parts: u64,
    branch: u64,
    visited: u64,
    f: &'a mut dyn FnMut(&[Event]),
}

/// The work is shared out by what the first three events are.
const SHARED_DEPTH: usize = 3;

impl Walk<'_> {
    /// `threads` and `locks` say how many have been used.
    fn extend(&mut self, threads: u32, locks: u64) {
        let depth = self.trace.len() - 1;
        if depth == self.events {
            return;
        }
        for t in 0..(threads + 1).min(self.alphabet.threads) {
            let used = threads.max(t + 1);
            for i in 0..self.alphabet.accesses.len() {
                self.visit(t, self.alphabet.accesses[i], used, locks);
            }
            for l in 0..(locks + 1).min(self.alphabet.locks) {
                let now_used = locks.max(l + 1);
                self.visit(t, Op::Acquire(SyncId(l)), used, now_used);
                self.visit(t, Op::Release(SyncId(l)), used, now_used);
            }
            if self.alphabet.forks {
                for u in 0..(used + 1).min(self.alphabet.threads) {
                    self.visit(t, Op::Fork(Tid(u)), used.max(u + 1), locks);
                    self.visit(t, Op::Join(Tid(u)), used.max(u + 1), locks);
                }
            }
        }
    }

    fn visit(&mut self, thread: u32, op: Op, threads: u32, locks: u64) {
        self.trace.push(Event {
            thread: Tid(thread),
            op,
            site: Site(u32::try_from(self.trace.len() + 1).unwrap_or(u32::MAX)),
        });
        // Nested acquires add nothing but size.
        let plain = matches!(op, Op::Access { .. } | Op::Range { .. }) && !self.alphabet.forks;
        if plain || (check(&self.trace).is_ok() && !self.nested()) {
            let depth = self.trace.len() - 1;
            let mine = if depth == SHARED_DEPTH {
                self.branch += 1;
                self.branch % self.parts == self.part
            } else {
                depth > SHARED_DEPTH || self.part == 0
            };
            if mine {
                self.visited += 1;
                (self.f)(&self.trace);
            }
            if mine || depth < SHARED_DEPTH {
                self.extend(threads, locks);
            }
        }
        self.trace.pop();
    }

    /// Does the last event acquire a lock that its thread holds?
    fn nested(&self) -> bool {
        let Some((last, earlier)) = self.trace.split_last() else {
            return false;
        };
        let Op::Acquire(lock) = last.op else {
            return false;
        };
        let mine = earlier.iter().filter(|e| e.thread == last.thread);
        let (taken, given) = mine.fold((0, 0), |(taken, given), e| match e.op {
            Op::Acquire(l) if l == lock => (taken + 1, given),
            Op::Release(l) if l == lock => (taken, given + 1),
            _ => (taken, given),
        });
        taken > given
    }
}
