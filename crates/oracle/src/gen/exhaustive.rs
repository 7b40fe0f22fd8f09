//! Every well-formed trace up to a length, over a small world: some threads, some locks, one scalar, one array.
//!
//! Up to symmetry: threads and locks are numbered in the order of their first use, so that of all
//! renamings of a trace one is visited. Sites are numbers of events. Nothing else is left out. The elements of the array may not be renamed: to
//! SlimState a prefix is not what a suffix is, and a range that goes up is not one that goes down. Nor may independent events be
//! swapped, though that changes no race: what detectors remember of an array depends on the order in which they meet its elements.

use crate::wellformed::check;
use event::{
    AccessKind, Addr, Elements, Event, FenceOrder, LoadOrder, Op, RmwOrder, Site, StoreOrder,
    SyncId, Tid,
};

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
        trace: vec![Event {
            thread: Tid(0),
            op: Op::Alloc {
                addr: ARRAY,
                elem: WORD,
                len: LEN,
            },
            site: Site(1),
        }],
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
