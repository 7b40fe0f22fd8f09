//! SlimState driven by real threads at the same time.
//!
//! The programs are made so that their races do not depend on the schedule: rounds of work, with a barrier that the detector is told of
//! between them. Two accesses of different threads race if and only if they conflict and are of the same round. So the oracle can judge
//! any one order, and every schedule must give its verdict.

mod common;

use std::collections::BTreeSet;
use std::sync::{Barrier, Mutex};

use engine::slimstate::{BitSet, Footprint, Labels, Mode, Options, Partition, Slim, Strided};
use engine::{Access, Detector, SyncOp};
use event::{AccessKind, Addr, Elements, Event, Op, Site, SyncId, Tid};
use oracle::Oracle;
use oracle::r#gen::Rng;

const THREADS: u32 = 4;
const BASE: u64 = 0x10_0000;
const BARRIER: SyncId = SyncId(1);

/// For each round and thread, what it does.
type Program = Vec<Vec<Vec<Op>>>;

struct Array {
    base: u64,
    elem: u8,
    len: u64,
}

fn arrays(rng: &mut Rng) -> Vec<Array> {
    let mut base = BASE;
    (0..1 + rng.below(4))
        .map(|_| {
            let elem = *rng.pick(&[1, 4, 8]).unwrap_or(&8);
            // Some of a few bytes, some of several pages.
            let most = *rng.pick(&[40, 1200]).unwrap_or(&40);
            let len = 16 + rng.below(most);
            let array = Array { base, elem, len };
            base += (u64::from(elem) * len).next_multiple_of(16) + 16 * rng.below(3);
            array
        })
        .collect()
}

fn range(array: &Array, kind: AccessKind, lo: u64, hi: u64, stride: u64) -> Op {
    Op::Range {
        kind,
        elements: Elements {
            base: Addr(array.base),
            elem: array.elem,
            lo,
            hi,
            stride,
        },
    }
}

/// What one thread does in one round: mostly its own share by one of the patterns of Table I, now and then anything.
fn work(rng: &mut Rng, array: &Array, me: u64, pattern: u64, ops: &mut Vec<Op>) {
    let n = array.len;
    let of = u64::from(THREADS);
    let kind = if rng.one_in(2) {
        AccessKind::Write
    } else {
        AccessKind::Read
    };
    let block = n / of;
    match pattern {
        0 => ops.push(range(array, AccessKind::Read, 0, n, 1)),
        1 => ops.push(range(array, kind, me * block, (me + 1) * block, 1)),
        2 => ops.push(range(array, kind, me, n, of)),
        3 if n < 100 => {
            for i in me * block..(me + 1) * block {
                let addr = Addr(array.base + i * u64::from(array.elem));
                let size = u32::from(array.elem);
                ops.push(Op::Access { kind, addr, size });
            }
        }
        4 if me == 0 => ops.push(range(array, AccessKind::Write, 0, n, 1)),
        5 => {
            // Half of an element: elements get smaller.
            let addr = Addr(array.base + (me * block) * u64::from(array.elem));
            let size = u32::from(array.elem).div_ceil(2);
            ops.push(Op::Access { kind, addr, size });
        }
        _ => {}
    }
    if rng.one_in(12) {
        let lo = rng.below(n);
        ops.push(range(
            array,
            kind,
            lo,
            lo + 1 + rng.below(n - lo),
            1 + rng.below(3),
        ));
    }
}

fn program(rng: &mut Rng, arrays: &[Array]) -> Program {
    (0..1 + rng.below(6))
        .map(|_| {
            let patterns: Vec<u64> = arrays.iter().map(|_| rng.below(7)).collect();
            (0..THREADS)
                .map(|me| {
                    let mut ops = Vec::new();
                    for (array, &pattern) in arrays.iter().zip(&patterns) {
                        work(rng, array, u64::from(me), pattern, &mut ops);
                    }
                    ops
                })
                .collect()
        })
        .collect()
}

/// One order of the events.
fn sequential(arrays: &[Array], program: &Program) -> Vec<Event> {
    let event = |thread, op| Event {
        thread: Tid(thread),
        op,
        site: Site(thread),
    };
    let mut events: Vec<Event> = arrays
        .iter()
        .map(|a| {
            let (addr, elem, len) = (Addr(a.base), a.elem, a.len);
            event(0, Op::Alloc { addr, elem, len })
        })
        .collect();
    events.extend((1..=THREADS).map(|t| event(0, Op::Fork(Tid(t)))));
    for round in program {
        for (t, ops) in (1..).zip(round) {
            events.extend(ops.iter().map(|&op| event(t, op)));
        }
        events.extend((1..=THREADS).map(|t| event(t, Op::Arrive(BARRIER))));
        events.extend((1..=THREADS).map(|t| event(t, Op::Depart(BARRIER))));
    }
    events.extend((1..=THREADS).map(|t| event(0, Op::Join(Tid(t)))));
    events.extend(
        arrays
            .iter()
            .map(|a| event(0, Op::Free { addr: Addr(a.base) })),
    );
    events
}

/// A thread that panics would leave the others waiting at a barrier for ever.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// The bytes that race when all threads really run.
fn parallel<F: Footprint + 'static, P: Partition + 'static>(
    arrays: &[Array],
    program: &Program,
) -> BTreeSet<u64> {
    let detector = Slim::<F, P>::new(Options {
        small: 0,
        ..Options::default()
    });
    let racy = Mutex::new(BTreeSet::new());
    let sink = |race: &engine::Race| {
        let bytes = race.addr.0..race.addr.0 + u64::from(race.size);
        racy.lock().unwrap().extend(bytes);
    };
    // Neither is known to the detector: they only keep the rounds together.
    let (all_arrived, all_departed) = (
        Barrier::new(THREADS as usize),
        Barrier::new(THREADS as usize),
    );
    let mut main = detector.root(Tid(0));
    for a in arrays {
        detector.alloc(&mut main, Addr(a.base), a.elem, a.len, Site(0), &mut {
            sink
        });
    }
    let children: Vec<_> = (1..=THREADS)
        .map(|t| detector.fork(&mut main, Tid(t), &mut { sink }))
        .collect();
    let children: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = children
            .into_iter()
            .enumerate()
            .map(|(t, mut me)| {
                let (detector, sink) = (&detector, &sink);
                let (all_arrived, all_departed) = (&all_arrived, &all_departed);
                scope.spawn(move || {
                    let _loud = AbortOnPanic;
                    for round in program {
                        for &op in &round[t] {
                            let site = Site(t as u32 + 1);
                            let races = &mut |race: &engine::Race| sink(race);
                            match op {
                                Op::Access { kind, addr, size } => {
                                    let access = Access {
                                        kind,
                                        addr,
                                        size,
                                        site,
                                    };
                                    detector.access(&mut me, access, races);
                                }
                                Op::Range { kind, elements } => {
                                    detector.range(&mut me, kind, elements, site, races);
                                }
                                _ => unreachable!("programs have accesses only"),
                            }
                        }
                        let races = &mut |race: &engine::Race| sink(race);
                        detector.sync(&mut me, SyncOp::Arrive(BARRIER), races);
                        all_arrived.wait();
                        detector.sync(&mut me, SyncOp::Depart(BARRIER), races);
                        all_departed.wait();
                    }
                    detector.end(&mut me, &mut |race| sink(race));
                    me
                })
            })
            .collect();
        handles.into_iter().map(|h| h.join().unwrap()).collect()
    });
    for mut child in children {
        detector.join(&mut main, &mut child, &mut { sink });
    }
    for a in arrays {
        let bytes = u64::from(a.elem) * a.len;
        detector.free(&mut main, Addr(a.base), bytes, Site(0), &mut { sink });
    }
    detector.end(&mut main, &mut { sink });
    racy.into_inner().unwrap()
}

fn check<F: Footprint + 'static, P: Partition + 'static>(name: &str, programs: u64) {
    let factor = common::cases(1, 20);
    engine::set_yield(std::thread::yield_now);
    let mut with_races = 0;
    for seed in 0..programs * factor {
        let mut rng = Rng::new(seed);
        let arrays = arrays(&mut rng);
        let program = program(&mut rng, &arrays);
        let truth = Oracle::new(&sequential(&arrays, &program))
            .unwrap()
            .racy_bytes();
        with_races += u64::from(!truth.is_empty());
        for run in 0..4 {
            let found = parallel::<F, P>(&arrays, &program);
            let missed = truth.difference(&found).next();
            let wrong = found.difference(&truth).next();
            assert_eq!(
                (missed, wrong),
                (None, None),
                "{name}, seed {seed}, run {run}"
            );
        }
    }
    assert!(with_races > programs / 10 && with_races < programs * factor);
}

#[test]
fn slimstate() {
    check::<Strided, Mode>("slimstate", 100);
}

#[test]
fn bit_set_footprints() {
    check::<BitSet, Mode>("slimstate-bf", 30);
}

#[test]
fn bit_set_partitions() {
    check::<Strided, Labels>("slimstate-bp", 30);
}

#[test]
fn both() {
    check::<BitSet, Labels>("slimstate-bb", 30);
}
