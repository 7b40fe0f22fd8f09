//! ReX: what the filter drops changes neither the pairs of places that race nor the bytes that do.

mod common;

use common::*;
use engine::FastTrack;
use engine::rex::{Locks, OwnThread, Rex, Trie};
use event::{Event, FenceOrder, LoadOrder, Op, RmwOrder, Site, StoreOrder, SyncId, Tid};
use oracle::r#gen::{self, Alphabet};
use oracle::{Oracle, SitePair};
use std::collections::{BTreeMap, BTreeSet};

fn rex(events: &[Event]) -> Filtered {
    filter(events, |d| Rex::new(d, OwnThread::new(Locks::Order)))
}
fn rex_lockset(events: &[Event]) -> Filtered {
    filter(events, |d| Rex::new(d, OwnThread::new(Locks::Held)))
}
fn rex_paper(events: &[Event]) -> Filtered {
    filter(events, |d| Rex::new(d, Trie::new(Locks::Order)))
}
fn rex_paper_lockset(events: &[Event]) -> Filtered {
    filter(events, |d| Rex::new(d, Trie::new(Locks::Held)))
}

fn verdict(events: &[Event]) -> (BTreeSet<SitePair>, BTreeSet<u64>) {
    let oracle = Oracle::new(events).expect("well-formed");
    (oracle.site_pairs(), oracle.racy_bytes())
}

fn preserves(events: &[Event], dropped: &[usize]) -> bool {
    verdict(events) == verdict(&without(events, dropped))
}

fn check(events: &[Event]) -> usize {
    let dropped = rex(events).dropped;
    if !preserves(events, &dropped) {
        let small = r#gen::shrink(events, |e| !preserves(e, &rex(e).dropped));
        panic!("rex loses a race of {small:#?}");
    }
    dropped.len()
}

/// Random traces of every kind of event.
#[test]
fn same_races_on_random_traces() {
    let (mut accesses, mut dropped) = (0, 0);
    for seed in 0..cases(3_000, 100_000) {
        let trace = r#gen::random::arbitrary(seed, 200);
        accesses += trace.iter().filter(|e| is_plain_access(e)).count();
        dropped += check(&trace);
    }
    assert!(dropped * 50 > accesses, "{dropped} of {accesses} dropped");
}

/// The detector `rex` finds the bytes that race, and only races.
#[test]
fn rex_in_front_of_fasttrack_is_precise() {
    for seed in 0..cases(3_000, 100_000) {
        let mut trace = r#gen::random::arbitrary(seed, 200);
        if seed % 2 == 0 {
            trace.iter_mut().for_each(|e| e.site = Site(1));
        }
        let detector = Rex::new(FastTrack::default(), OwnThread::new(Locks::Order));
        assert_eq!(
            run(detector, &trace).bytes(),
            verdict(&trace).1,
            "{trace:#?}"
        );
    }
    for seed in 0..cases(5, 1_000) {
        let trace = r#gen::random::arbitrary(seed, 5_000);
        let detector = Rex::new(FastTrack::default(), OwnThread::new(Locks::Order));
        let racy = Oracle::new(&trace).expect("well-formed").racy_bytes();
        assert_eq!(run(detector, &trace).bytes(), racy);
    }
}

/// The same traces with all accesses of a kind at one place, so that much is redundant.
#[test]
fn same_races_with_one_site() {
    let (mut accesses, mut dropped) = (0, 0);
    for seed in 0..cases(3_000, 100_000) {
        let mut trace = r#gen::random::arbitrary(seed, 200);
        trace.iter_mut().for_each(|e| e.site = Site(1));
        accesses += trace.iter().filter(|e| is_plain_access(e)).count();
        dropped += check(&trace);
    }
    assert!(dropped * 20 > accesses, "{dropped} of {accesses} dropped");
}

/// Small worlds, where atomics, fences and fresh memory come between equal accesses often.
#[test]
fn same_races_in_small_worlds() {
    let mut dropped = 0;
    for seed in 0..cases(40_000, 400_000) {
        let config = r#gen::Config {
            events: 8 + (seed % 24) as usize,
            threads: 2 + (seed % 2) as u32,
            locks: 1,
            scalars: 1,
            arrays: seed % 2,
            max_len: 1,
            sites: 1,
            bytes: false,
            discipline: 0,
            atomics: true,
            syncs: seed % 3 == 0,
            frees: seed % 2 == 1,
            marks: false,
            order: 0,
        };
        dropped += check(&r#gen::random(&config, seed));
    }
    assert!(dropped > 10_000, "{dropped}");
}

/// After each operation that an edge leaves from, the next access is kept, and has to be.
#[test]
fn every_edge_that_leaves_begins_a_span() {
    let id = SyncId(5);
    let (addr, size) = (var(9), 8);
    let store = |order| Op::Store { addr, size, order };
    let load = Op::Load {
        addr,
        size,
        order: LoadOrder::Acquire,
    };
    let rmw = Op::Rmw {
        addr,
        size,
        order: RmwOrder::Release,
    };
    let fence = Op::Fence(FenceOrder::Release);
    let relaxed = store(StoreOrder::Relaxed);
    let cases: [(&[Op], &[Op], &[Op]); 9] = [
        (&[Op::Release(id)], &[], &[Op::Acquire(id)]),
        (&[Op::ReadRelease(id)], &[], &[Op::Acquire(id)]),
        (&[Op::VolatileWrite(id)], &[], &[Op::VolatileRead(id)]),
        (&[Op::Send(id)], &[], &[Op::Receive(id)]),
        (&[Op::Arrive(id)], &[], &[Op::Depart(id)]),
        (&[store(StoreOrder::Release)], &[], &[load]),
        (&[rmw], &[], &[load]),
        (&[fence], &[relaxed], &[load]),
        (&[Op::Fork(Tid(2))], &[], &[]),
    ];
    for (leaves, later, arrives) in cases {
        let mut trace = Vec::new();
        match leaves[0] {
            Op::Release(_) => trace.push(op(1, Op::Acquire(id))),
            Op::ReadRelease(_) => trace.push(op(1, Op::ReadAcquire(id))),
            Op::Arrive(_) => trace.push(op(2, Op::Arrive(id))),
            _ => {}
        }
        trace.push(write(1, 0, 1));
        trace.extend(leaves.iter().map(|&o| op(1, o)));
        let again = trace.len();
        trace.push(write(1, 0, 1));
        trace.extend(later.iter().map(|&o| op(1, o)));
        trace.extend(arrives.iter().map(|&o| op(2, o)));
        trace.push(read(2, 0, 2));
        assert!(!preserves(&trace, &[again]), "it matters: {leaves:?}");
        assert!(rex(&trace).dropped.is_empty(), "{leaves:?}");
        trace.insert(again, write(1, 0, 1));
        assert_eq!(rex(&trace).dropped, [again + 1], "{leaves:?}");
    }
}

/// A write that ends a release sequence is more than an access.
#[test]
fn writes_to_atomic_objects_are_kept() {
    let (addr, size) = (var(0), 8);
    let store = Op::Store {
        addr,
        size,
        order: StoreOrder::Release,
    };
    let load = Op::Load {
        addr,
        size,
        order: LoadOrder::Acquire,
    };
    let trace = vec![
        write(1, 0, 1),
        write(2, 1, 3),
        op(2, store),
        write(1, 0, 1),
        op(3, load),
        read(3, 1, 4),
    ];
    assert!(!preserves(&trace, &[3]));
    let filtered = rex(&trace);
    assert!(filtered.dropped.is_empty());
    assert_eq!(filtered.counters["RexAtomicBytes"], 1);
}

/// What is known of memory is forgotten when it is handed out again.
#[test]
fn fresh_memory_is_another_memory() {
    let alloc = Op::Alloc {
        addr: var(0),
        elem: 8,
        len: 1,
    };
    let trace = vec![write(1, 0, 1), op(2, alloc), write(1, 0, 1), read(2, 0, 2)];
    assert!(!preserves(&trace, &[2]));
    let filtered = rex(&trace);
    assert!(filtered.dropped.is_empty());
    assert_eq!(filtered.counters["RexReallocated"], 1);
}

/// Every trace of up to 4 events besides the allocation: threads, locks, forks and joins, one place.
#[test]
fn same_races_on_every_small_trace() {
    let mut alphabet = Alphabet::small().with_forks();
    alphabet.accesses.truncate(2);
    alphabet.accesses.push(match alphabet.accesses[0] {
        Op::Access { addr, size, .. } => Op::Access {
            kind: event::AccessKind::Write,
            addr,
            size,
        },
        other => other,
    });
    let mut dropped = 0;
    let traces = r#gen::enumerate(&alphabet, 5, |trace| {
        let trace: Vec<Event> = trace
            .iter()
            .map(|&e| Event { site: Site(1), ..e })
            .collect();
        dropped += check(&trace);
    });
    assert!(traces > 100_000 && dropped > 1_000, "{traces} {dropped}");
}

/// The counterexample of the incoming edge: the only race is lost by the paper's rule.
fn incoming_edge() -> Vec<Event> {
    vec![
        fork(0, 1),
        write(0, 0, 10),
        fork(0, 2),
        fork(0, 3),
        read(3, 0, 20),
        read(2, 0, 20),
        read(1, 0, 20),
    ]
}

/// And that of the edge to come.
fn edge_to_come() -> Vec<Event> {
    vec![
        fork(0, 1),
        fork(0, 2),
        fork(0, 3),
        read(1, 0, 20),
        read(2, 0, 20),
        read(3, 0, 20),
        join(0, 1),
        join(0, 2),
        write(0, 0, 30),
    ]
}

#[test]
fn the_papers_rule_is_not_sound() {
    for (trace, lost) in [(incoming_edge(), 6), (edge_to_come(), 5)] {
        let paper = rex_paper(&trace);
        assert_eq!(paper.dropped, [lost]);
        assert_eq!(paper.counters["RexInterThread"], 1);
        assert_eq!(verdict(&trace).0.len(), 1, "there is one race");
        let (pairs, bytes) = verdict(&without(&trace, &paper.dropped));
        assert!(pairs.is_empty() && bytes.is_empty(), "and it is gone");
        assert_eq!(rex(&trace).dropped, []);
    }
}

/// Figure 1: ten rounds under different locks. Every round ends in a release, so nothing is redundant
/// to a precise filter; lock sets keep one access of each thread.
#[test]
fn figure_1() {
    let mut trace = vec![fork(0, 1), fork(0, 2)];
    for _ in 0..10 {
        trace.extend([acq(1, 1), write(1, 0, 1), rel(1, 1)]);
        trace.extend([acq(2, 2), write(2, 0, 2), rel(2, 2)]);
    }
    assert_eq!(verdict(&trace).0.len(), 1);
    assert_eq!(rex(&trace).dropped.len(), 0);
    assert_eq!(rex_paper(&trace).dropped.len(), 0);
    assert_eq!(rex_lockset(&trace).dropped.len(), 18);
    assert!(preserves(&trace, &rex_lockset(&trace).dropped));
}

/// Figure 2: with notifications the first write of T1 is ordered; the later ones race.
#[test]
fn figure_2() {
    let notify = |i: u64| op(1, Op::Send(SyncId(100 + i)));
    let wait = |i: u64| op(2, Op::Receive(SyncId(100 + i)));
    let mut trace = vec![fork(0, 1), fork(0, 2)];
    for i in 0..10 {
        trace.extend([acq(1, 1), write(1, 0, 1), notify(i), rel(1, 1)]);
        if i > 0 {
            trace.extend([acq(2, 2), wait(i - 1), write(2, 0, 2), rel(2, 2)]);
        }
    }
    assert_eq!(verdict(&trace).0.len(), 1);
    assert!(preserves(&trace, &rex(&trace).dropped));
    assert!(preserves(&trace, &rex_paper(&trace).dropped));
    let once_each: Vec<usize> = (0..trace.len())
        .filter(|&i| is_plain_access(&trace[i]))
        .filter(|&i| trace[..i].iter().any(|e| e.site == trace[i].site))
        .collect();
    assert!(!preserves(&trace, &once_each), "one check a place is wrong");
}

/// Figure 4b. The figure's trace takes L1 three times and calls T2 "t1" once; the program, and
/// Figure 5, say what is meant.
fn figure_4() -> Vec<Event> {
    let mut trace: Vec<Event> = (1..=3).map(|i| fork(0, i)).collect();
    for i in 1..=3 {
        trace.extend([read(0, 0, 1), acq(0, i), write(0, 0, 2), rel(0, i)]);
    }
    for t in 1..=3 {
        let lock = u64::from(t);
        trace.extend([write(t, 0, 3), acq(t, lock), write(t, 0, 4), rel(t, lock)]);
    }
    trace
}

/// Figure 5 draws the writes at 4 below L1, L2 and L3, as if acquiring a lock added to the context. By
/// Algorithm 1 only releasing it does, so they meet at the root like those at 3, and the third is dropped, too.
#[test]
fn figure_5_the_trie_drops_the_third_write_at_3() {
    let trace = figure_4();
    let paper = rex_paper(&trace);
    let dropped: Vec<_> = paper
        .dropped
        .iter()
        .map(|&i| (trace[i].thread, trace[i].site))
        .collect();
    assert_eq!(dropped, [(Tid(3), Site(3)), (Tid(3), Site(4))]);
    assert_eq!(paper.counters["RexInterThread"], 2);
    assert_eq!(paper.counters["RexSecondThread"], 2);
    assert_eq!(paper.counters["RexFirstInContext"], 8);
    assert!(rex(&trace).dropped.is_empty());
}

#[test]
fn figure_6_lock_sets_also_drop_the_repeated_reads_at_1() {
    let trace = figure_4();
    let sites = |filtered: Filtered| -> Vec<u32> {
        filtered.dropped.iter().map(|&i| trace[i].site.0).collect()
    };
    assert_eq!(sites(rex_paper_lockset(&trace)), [1, 1, 3]);
    assert_eq!(sites(rex_lockset(&trace)), [1, 1]);
}

/// Figure 7: lock sets lose the race between the second `x++` and `z = x`.
#[test]
fn figure_7_lock_sets_are_not_sound_for_happens_before() {
    let (x, y) = (0, 1);
    let increments = |trace: &mut Vec<Event>| {
        trace.push(acq(1, 1));
        trace.extend([read(1, x, 2), write(1, x, 2)]);
        trace.extend([read(1, y, 3), write(1, y, 3)]);
        trace.push(rel(1, 1));
    };
    let mut trace = vec![fork(0, 1), fork(0, 2)];
    increments(&mut trace);
    trace.extend([acq(2, 1), read(2, y, 6), rel(2, 1), read(2, x, 8)]);
    increments(&mut trace);
    assert_eq!(verdict(&trace).0.len(), 1);
    assert!(preserves(&trace, &rex(&trace).dropped));
    let lost = without(&trace, &rex_lockset(&trace).dropped);
    assert!(verdict(&lost).0.is_empty());
}

/// The pairs of a hybrid detector: not ordered by happens-before without locks, and no lock in common
/// that one of the two held exclusively.
fn hybrid_pairs(events: &[Event]) -> BTreeSet<SitePair> {
    let mut held: BTreeMap<Tid, BTreeSet<(SyncId, bool)>> = BTreeMap::new();
    let mut kept = Vec::new();
    let mut locks = Vec::new();
    for &event in events {
        let held = held.entry(event.thread).or_default();
        match event.op {
            Op::Acquire(l) => drop(held.insert((l, true))),
            Op::ReadAcquire(l) => drop(held.insert((l, false))),
            Op::Release(l) => drop(held.remove(&(l, true))),
            Op::ReadRelease(l) => drop(held.remove(&(l, false))),
            _ => {
                kept.push(event);
                locks.push(held.clone());
            }
        }
    }
    let excluded = |i: usize, j: usize| {
        let common = |&(l, exclusive): &(SyncId, bool)| {
            locks[j].contains(&(l, true)) || exclusive && locks[j].contains(&(l, false))
        };
        locks[i].iter().any(common)
    };
    let kind = |i: usize| match kept[i].op {
        Op::Access { kind, .. } | Op::Range { kind, .. } => kind,
        Op::Load { .. } => event::AccessKind::Read,
        _ => event::AccessKind::Write,
    };
    let side = |i: usize| (kept[i].site, kind(i));
    let oracle = Oracle::new(&kept).expect("locks are no part of well-formedness of the rest");
    let mut pairs = BTreeSet::new();
    oracle.each(|i, j, _| {
        if !excluded(i, j) {
            pairs.insert((side(i).min(side(j)), side(i).max(side(j))));
        }
        true
    });
    pairs
}

/// What `rex-lockset` does promise: the pairs of a hybrid detector are all kept, and nothing new appears.
#[test]
fn lock_sets_keep_the_pairs_of_a_hybrid_detector() {
    let (mut dropped, mut more) = (0, 0);
    for seed in 0..cases(4_000, 40_000) {
        let mut trace = r#gen::random::arbitrary(seed, 150);
        if seed % 2 == 0 {
            trace.iter_mut().for_each(|e| e.site = Site(1));
        }
        let lockset = rex_lockset(&trace).dropped;
        let kept = without(&trace, &lockset);
        assert_eq!(hybrid_pairs(&trace), hybrid_pairs(&kept), "{trace:#?}");
        assert!(verdict(&kept).0.is_subset(&verdict(&trace).0));
        dropped += lockset.len();
        more += lockset.len().saturating_sub(rex(&trace).dropped.len());
    }
    assert!(
        more * 5 > dropped,
        "{more} of {dropped} are across releases"
    );
}

/// No online filter can drop more than `rex`: whenever it keeps an access, there is a way to go on in which that
/// access alone shows a race. Here: all other threads tell a new one what they know, it takes every
/// lock that is free, and writes.
#[test]
fn whatever_rex_keeps_can_matter() {
    let alphabet = {
        let mut alphabet = Alphabet::small().with_forks();
        alphabet.accesses.truncate(1);
        alphabet
    };
    let mut repeated = 0;
    r#gen::enumerate(&alphabet, 5, |trace| {
        let trace: Vec<Event> = trace
            .iter()
            .map(|&e| Event { site: Site(1), ..e })
            .collect();
        let (last, earlier) = trace.split_last().expect("not empty");
        let holds = |t: Tid, l: u64| {
            let lock = |e: &&Event| {
                e.thread == t && (e.op == Op::Acquire(SyncId(l)) || e.op == Op::Release(SyncId(l)))
            };
            trace.iter().filter(lock).count() % 2 == 1
        };
        if !is_plain_access(last)
            || !earlier.iter().any(|e| e.op == last.op)
            || !rex(&trace).dropped.is_empty()
            || (0..2).any(|l| holds(last.thread, l))
        {
            return;
        }
        repeated += 1;
        let mut future = trace.clone();
        for t in (0..3).filter(|&t| Tid(t) != last.thread) {
            future.push(op(t, Op::Send(SyncId(7))));
            for l in (0..2).filter(|&l| holds(Tid(t), l)) {
                future.push(rel(t, l));
            }
        }
        let z = 9;
        future.push(op(z, Op::Receive(SyncId(7))));
        let scalar = Op::Access {
            kind: event::AccessKind::Write,
            addr: r#gen::exhaustive::SCALAR,
            size: u32::from(r#gen::exhaustive::WORD),
        };
        future.extend([acq(z, 0), acq(z, 1), op(z, scalar)]);
        for t in (0..3).filter(|&t| Tid(t) != last.thread) {
            // Those that have ended, or been joined, cannot send any more.
            let at = future.len() - 1;
            future.insert(at, join(z, t));
        }
        let future = r#gen::repair(future);
        let lost = without(&future, &[trace.len() - 1]);
        assert_ne!(verdict(&future), verdict(&lost), "{future:#?}");
    });
    assert!(repeated > 100, "{repeated}");
}
