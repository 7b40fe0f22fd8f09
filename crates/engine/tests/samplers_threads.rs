//! Filters and samplers driven by real threads, with sampling periods that begin and end at any moment: what they
//! share between threads is sound.

mod common;

use common::var;
use engine::detector::{Access, AtomicOp, Detector, Hint, Race, SyncOp};
use engine::literace::LiteRace;
use engine::pacer::Pacer;
use engine::rex::{Locks, OwnThread, Rex, Trie};
use engine::{FastTrack, set_yield};
use event::{AccessKind, Func, LoadOrder, Site, StoreOrder, SyncId, Tid};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

const THREADS: u32 = 4;
const ROUNDS: u64 = 4_000;
const VARS: u64 = 8;
/// Written by everybody before anything orders them.
const RACY: u64 = 100;
/// Written before it is published through an atomic flag, read after.
const MESSAGE: u64 = 200;
const FLAG: u64 = 201;

/// Threads that keep to their locks, but for one write each. Returns the bytes reported.
fn run<D: Detector>(detector: &D) -> BTreeSet<u64> {
    set_yield(thread::yield_now);
    let found = Mutex::new(BTreeSet::new());
    let report = |race: &Race| {
        let bytes = race.addr.0..race.addr.0 + u64::from(race.size);
        found.lock().unwrap().extend(bytes);
    };
    let locks: Vec<Mutex<()>> = (0..VARS).map(|_| Mutex::new(())).collect();
    let flag = Mutex::new(false);
    let start = Barrier::new(THREADS as usize);
    let stop = AtomicBool::new(false);
    let mut main = detector.root(Tid(0));
    let mut children: Vec<D::Thread> = (1..=THREADS)
        .map(|t| detector.fork(&mut main, Tid(t), &mut |r| report(r)))
        .collect();
    let mut marker = detector.fork(&mut main, Tid(THREADS + 1), &mut |r| report(r));
    thread::scope(|scope| {
        let workers: Vec<_> = children
            .iter_mut()
            .zip(1..)
            .map(|(me, t)| {
                let (report, locks, start, flag) = (&report, &locks, &start, &flag);
                scope.spawn(move || {
                    let mut races = |r: &Race| report(r);
                    let access = |kind, x, site| Access {
                        kind,
                        addr: var(x),
                        size: 8,
                        site: Site(site),
                    };
                    start.wait();
                    detector.access(me, access(AccessKind::Write, RACY, 2), &mut races);
                    for round in 0..ROUNDS {
                        let x = (round * 7 + t) % VARS;
                        detector.hint(me, Hint::Enter(Func(x as u32 % 3)));
                        let guard = locks[x as usize].lock().unwrap();
                        detector.sync(me, SyncOp::Acquire(SyncId(x)), &mut races);
                        for kind in [AccessKind::Read, AccessKind::Write, AccessKind::Write] {
                            detector.access(me, access(kind, x, 1), &mut races);
                        }
                        detector.sync(me, SyncOp::Release(SyncId(x)), &mut races);
                        drop(guard);
                        detector.hint(me, Hint::Exit(Func(x as u32 % 3)));
                        if t == 1 && round == ROUNDS / 2 {
                            detector.access(me, access(AccessKind::Write, MESSAGE, 3), &mut races);
                            let mut flag = flag.lock().unwrap();
                            let store = AtomicOp::Store(StoreOrder::Release);
                            detector.atomic(me, var(FLAG), 8, store, Site(4), &mut races);
                            *flag = true;
                        }
                        if t == 2 {
                            let flag = flag.lock().unwrap();
                            let load = AtomicOp::Load(LoadOrder::Acquire);
                            detector.atomic(me, var(FLAG), 8, load, Site(5), &mut races);
                            if *flag {
                                drop(flag);
                                let read = access(AccessKind::Read, MESSAGE, 6);
                                detector.access(me, read, &mut races);
                            }
                        }
                    }
                    detector.end(me, &mut races);
                })
            })
            .collect();
        let (marker, stop) = (&mut marker, &stop);
        let switcher = scope.spawn(move || {
            let switches = AtomicU64::new(0);
            while !stop.load(Ordering::Relaxed) {
                let on = switches.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
                detector.hint(marker, Hint::Sampling(on));
                thread::yield_now();
            }
        });
        for worker in workers {
            worker.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        switcher.join().unwrap();
    });
    for child in &mut children {
        detector.join(&mut main, child, &mut |r| report(r));
    }
    found.into_inner().unwrap()
}

fn racy() -> BTreeSet<u64> {
    (var(RACY).0..var(RACY).0 + 8).collect()
}

#[test]
fn rex() {
    for _ in 0..5 {
        let rule = OwnThread::new(Locks::Order);
        assert_eq!(run(&Rex::new(FastTrack::default(), rule)), racy());
        let rule = OwnThread::new(Locks::Held);
        assert_eq!(run(&Rex::new(FastTrack::default(), rule)), racy());
        // Of the writes to RACY, two are always kept.
        let rule = Trie::new(Locks::Order);
        assert_eq!(run(&Rex::new(FastTrack::default(), rule)), racy());
    }
}

#[test]
fn pacer_with_periods_that_change_at_any_moment() {
    for seed in 0..10 {
        // The marks of the switcher rule.
        assert!(run(&Pacer::new(None, seed)).is_subset(&racy()));
    }
}

#[test]
fn literace() {
    for seed in 0..5 {
        assert_eq!(run(&LiteRace::new(FastTrack::default(), seed)), racy());
    }
}
