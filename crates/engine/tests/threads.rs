//! Real threads drive the detectors at the same time; the verdict is held to the oracle.
//!
//! Which bytes race depends on happens-before only, not on the order in which unordered accesses were made. So it is
//! enough to write down the order of the operations on each sync object, which a real lock around each of them fixes anyway:
//! any sequence of events that respects it has the same races, and the oracle can judge it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Barrier, Mutex, PoisonError};

use engine::pacer::Pacer;
use engine::rex::{Locks, OwnThread, Rex};
use engine::{Access, AtomicOp, Detector, Djit, FastTrack, Limits, SyncOp};
use event::{AccessKind, Addr, Event, LoadOrder, Op, RmwOrder, Site, StoreOrder, SyncId, Tid};
use oracle::{Oracle, r#gen::Rng};

const THREADS: usize = 4;
const LOCKS: usize = 3;
const ATOMICS: usize = 2;
const WORDS: u64 = 6;
const MEMORY: u64 = 0x1000;

fn atomic_addr(i: usize) -> Addr {
    Addr(0x1_0000 + 8 * i as u64)
}

/// What one thread does.
fn script(rng: &mut Rng, length: u64, wide: bool) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut held: Option<SyncId> = None;
    for _ in 0..length {
        match rng.below(10) {
            0 | 1 if held.is_none() => {
                let lock = SyncId(rng.below(LOCKS as u64));
                ops.push(Op::Acquire(lock));
                held = Some(lock);
            }
            0..3 if held.is_some() => ops.extend(held.take().map(Op::Release)),
            3 => {
                let addr = atomic_addr(rng.below(ATOMICS as u64) as usize);
                ops.push(match rng.below(3) {
                    0 => Op::Load {
                        addr,
                        size: 8,
                        order: LoadOrder::Acquire,
                    },
                    1 => Op::Store {
                        addr,
                        size: 8,
                        order: StoreOrder::Release,
                    },
                    _ => Op::Rmw {
                        addr,
                        size: 8,
                        order: RmwOrder::AcqRel,
                    },
                });
            }
            _ => {
                let kind = if rng.one_in(3) {
                    AccessKind::Write
                } else {
                    AccessKind::Read
                };
                let sizes: &[u32] = if wide {
                    &[8, 800, 2400, 4096, 4096]
                } else {
                    &[1, 2, 4, 8, 8, 12]
                };
                let size = *rng.pick(sizes).expect("not empty");
                let word = rng.below(WORDS);
                // A byte of every word belongs to each thread, so that not everything races.
                let offset = if wide {
                    4096 * rng.below(3) + 400 * rng.below(8).saturating_sub(4)
                } else {
                    8 * word + rng.below(8)
                };
                ops.push(Op::Access {
                    kind,
                    addr: Addr(MEMORY + offset),
                    size,
                });
            }
        }
    }
    ops.extend(held.map(Op::Release));
    ops
}

/// The sync object that an operation needs for itself, if any.
fn object(op: &Op) -> Option<usize> {
    match op {
        Op::Acquire(l) | Op::Release(l) => Some(l.0 as usize),
        Op::Load { addr, .. } | Op::Store { addr, .. } | Op::Rmw { addr, .. } => {
            Some(LOCKS + (addr.0 - atomic_addr(0).0) as usize / 8)
        }
        _ => None,
    }
}

/// Runs the scripts on real threads. Returns the racy bytes and, for each sync object, who used it, in order.
fn run<D: Detector>(detector: &D, scripts: &[Vec<Op>]) -> (BTreeSet<u64>, Vec<Vec<usize>>)
where
    D::Thread: Send,
{
    let logs: Vec<Mutex<Vec<usize>>> = (0..LOCKS + ATOMICS).map(|_| Mutex::default()).collect();
    let racy = Mutex::new(BTreeSet::new());
    let start = Barrier::new(scripts.len());
    let mut main = detector.root(Tid(0));
    let handles: Vec<D::Thread> = (0..scripts.len())
        .map(|t| detector.fork(&mut main, Tid(1 + t as u32), &mut |_| ()))
        .collect();
    std::thread::scope(|scope| {
        for (t, (mut me, script)) in handles.into_iter().zip(scripts).enumerate() {
            let (logs, racy, start) = (&logs, &racy, &start);
            scope.spawn(move || {
                let mut sink = |race: &engine::Race| {
                    racy.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .extend(race.addr.0..race.addr.0 + u64::from(race.size));
                };
                let mut held = None;
                start.wait();
                for (i, op) in script.iter().enumerate() {
                    let site = Site(i as u32);
                    match *op {
                        Op::Acquire(l) => {
                            let mut log = logs[l.0 as usize]
                                .lock()
                                .unwrap_or_else(PoisonError::into_inner);
                            log.push(t);
                            detector.sync(&mut me, SyncOp::Acquire(l), &mut sink);
                            held = Some(log);
                        }
                        Op::Release(l) => {
                            detector.sync(&mut me, SyncOp::Release(l), &mut sink);
                            if let Some(mut log) = held.take() {
                                log.push(t);
                            }
                        }
                        Op::Access { kind, addr, size } => {
                            detector.access(
                                &mut me,
                                Access {
                                    kind,
                                    addr,
                                    size,
                                    site,
                                },
                                &mut sink,
                            );
                        }
                        Op::Load { addr, size, .. }
                        | Op::Store { addr, size, .. }
                        | Op::Rmw { addr, size, .. } => {
                            let op = match *op {
                                Op::Load { order, .. } => AtomicOp::Load(order),
                                Op::Store { order, .. } => AtomicOp::Store(order),
                                Op::Rmw { order, .. } => AtomicOp::Rmw(order),
                                _ => unreachable!(),
                            };
                            let index = object(&script[i]).expect("an atomic object");
                            let mut log =
                                logs[index].lock().unwrap_or_else(PoisonError::into_inner);
                            log.push(t);
                            detector.atomic(&mut me, addr, size, op, site, &mut sink);
                        }
                        _ => unreachable!("scripts have no other operations"),
                    }
                }
                detector.end(&mut me, &mut sink);
            });
        }
    });
    let logs = logs
        .into_iter()
        .map(|log| log.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect();
    (
        racy.into_inner().unwrap_or_else(PoisonError::into_inner),
        logs,
    )
}

/// A sequence of the scripts' events in which each sync object is used in the order of its log.
fn linearise(scripts: &[Vec<Op>], logs: Vec<Vec<usize>>) -> Vec<Event> {
    let mut logs: Vec<VecDeque<usize>> = logs.into_iter().map(VecDeque::from).collect();
    let mut next = vec![0; scripts.len()];
    let mut events: Vec<Event> = (0..scripts.len())
        .map(|t| Event {
            thread: Tid(0),
            op: Op::Fork(Tid(1 + t as u32)),
            site: Site(0),
        })
        .collect();
    loop {
        let mut moved = false;
        for t in 0..scripts.len() {
            while let Some(op) = scripts[t].get(next[t]) {
                if let Some(object) = object(op) {
                    if logs[object].front() != Some(&t) {
                        break;
                    }
                    logs[object].pop_front();
                }
                events.push(Event {
                    thread: Tid(1 + t as u32),
                    op: *op,
                    site: Site(next[t] as u32),
                });
                next[t] += 1;
                moved = true;
            }
        }
        if !moved {
            assert!(
                (0..scripts.len()).all(|t| next[t] == scripts[t].len()),
                "the logs fit the scripts"
            );
            return events;
        }
    }
}

fn check<D: Detector>(detector: impl Fn() -> D, rounds: u64, length: u64, wide: bool)
where
    D::Thread: Send,
{
    engine::set_yield(std::thread::yield_now);
    let mut quiet = 0;
    for seed in 0..rounds {
        let mut rng = Rng::new(seed);
        let scripts: Vec<Vec<Op>> = (0..THREADS)
            .map(|_| script(&mut rng, length, wide))
            .collect();
        let (racy, logs) = run(&detector(), &scripts);
        let events = linearise(&scripts, logs);
        let expected = Oracle::new(&events).expect("well-formed").racy_bytes();
        assert_eq!(racy, expected, "seed {seed}: {scripts:#?}");
        quiet += (MEMORY..MEMORY + 8 * WORDS)
            .filter(|byte| !expected.contains(byte))
            .count();
    }
    assert!(quiet > 0, "there were bytes to raise a false alarm on");
}

const TINY: Limits = Limits {
    slots: 1 << 16,
    time: 3,
    sites: 5,
    ..Limits::CELL
};

#[test]
fn fasttrack_on_real_threads() {
    check(FastTrack::default, 3000, 12, false);
    check(FastTrack::default, 300, 100, false);
}

#[test]
fn pages_and_runs_on_real_threads() {
    check(FastTrack::default, 500, 10, true);
    check(|| FastTrack::default().with_runs(200), 500, 20, true);
}

#[test]
fn djit_on_real_threads() {
    check(Djit::default, 1000, 12, false);
}

#[test]
fn rex_on_real_threads() {
    let rex = || Rex::new(FastTrack::default(), OwnThread::new(Locks::Order));
    check(rex, 1000, 12, false);
    check(rex, 100, 100, false);
}

#[test]
fn pacer_on_real_threads() {
    check(|| Pacer::new(Some(1.0), 0), 1000, 12, false);
    check(|| Pacer::new(Some(1.0), 0), 100, 100, false);
}

#[test]
fn renewal_on_real_threads() {
    check(|| FastTrack::new(TINY), 1000, 30, false);
}

/// Two threads hammer the same words without any order: each run has to find the race on each word,
/// whoever comes first.
#[test]
fn no_race_is_lost() {
    engine::set_yield(std::thread::yield_now);
    for _ in 0..200 {
        let detector = FastTrack::default();
        let mut main = detector.root(Tid(0));
        let threads: Vec<_> = (1..3)
            .map(|t| detector.fork(&mut main, Tid(t), &mut |_| ()))
            .collect();
        let racy = Mutex::new(BTreeSet::new());
        let start = Barrier::new(2);
        std::thread::scope(|scope| {
            for (t, mut me) in threads.into_iter().enumerate() {
                let (detector, racy, start) = (&detector, &racy, &start);
                scope.spawn(move || {
                    start.wait();
                    for word in 0..256 {
                        let kind = if (word + t as u64).is_multiple_of(3) {
                            AccessKind::Read
                        } else {
                            AccessKind::Write
                        };
                        let access = Access {
                            kind,
                            addr: Addr(MEMORY + 8 * word),
                            size: 8,
                            site: Site(1),
                        };
                        detector.access(&mut me, access, &mut |race| {
                            racy.lock()
                                .unwrap_or_else(PoisonError::into_inner)
                                .insert(race.addr.0);
                        });
                    }
                });
            }
        });
        assert_eq!(
            racy.into_inner()
                .unwrap_or_else(PoisonError::into_inner)
                .len(),
            256
        );
    }
}

/// Many threads read a table that one wrote before, and share its states; then one of them writes it all.
#[test]
fn shared_states_on_real_threads() {
    engine::set_yield(std::thread::yield_now);
    const TABLE: u64 = 2048;
    let detector = FastTrack::default();
    let mut main = detector.root(Tid(0));
    let touch = |me: &mut _, kind, word: u64| {
        let access = Access {
            kind,
            addr: Addr(MEMORY + 8 * word),
            size: 8,
            site: Site(1),
        };
        detector.access(me, access, &mut |race| panic!("{race:?}"));
    };
    let mut tid = 0;
    for _ in 0..20 {
        (0..TABLE).for_each(|word| touch(&mut main, AccessKind::Write, word));
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                tid += 1;
                detector.fork(&mut main, Tid(tid), &mut |_| ())
            })
            .collect();
        let ended: Vec<_> = std::thread::scope(|scope| {
            let touch = &touch;
            let handles: Vec<_> = threads
                .into_iter()
                .map(|mut me| {
                    scope.spawn(move || {
                        for word in (0..TABLE).chain(0..TABLE) {
                            touch(&mut me, AccessKind::Read, word);
                        }
                        me
                    })
                })
                .collect();
            handles
                .into_iter()
                .map(|handle| handle.join().expect("no panic"))
                .collect()
        });
        assert!(
            detector.shadow().depot().len() < 100,
            "{} states",
            detector.shadow().depot().len()
        );
        for mut child in ended {
            detector.end(&mut child, &mut |_| ());
            detector.join(&mut main, &mut child, &mut |_| ());
        }
    }
    (0..TABLE).for_each(|word| touch(&mut main, AccessKind::Write, word));
    detector.end(&mut main, &mut |_| ());
    assert!(detector.shadow().depot().is_empty());
}
