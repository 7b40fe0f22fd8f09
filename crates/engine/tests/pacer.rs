//! Pacer: sampled, shortest races, all of them and nothing else; and what the versions save.

mod common;

use common::*;
use engine::FastTrack;
use engine::literace::LiteRace;
use engine::pacer::Pacer;
use event::{Event, FenceOrder, Func, LoadOrder, Op, Site, StoreOrder, SyncId};
use oracle::Oracle;
use oracle::r#gen::{self, Rng};
use std::collections::{BTreeMap, BTreeSet};

/// The trace with each event at a site of its own, so that a report names events.
fn numbered(mut events: Vec<Event>) -> Vec<Event> {
    for (i, event) in events.iter_mut().enumerate() {
        event.site = Site(i as u32);
    }
    events
}

/// Puts sampling periods into a trace: one switch in about `every` events.
fn with_marks(events: &[Event], every: u64, seed: u64) -> Vec<Event> {
    let mut rng = Rng::new(seed);
    let mut sampling = false;
    let mut marked = Vec::new();
    for &event in events {
        if matches!(event.op, Op::SampleBegin | Op::SampleEnd) {
            continue;
        }
        marked.push(event);
        if rng.one_in(every) && event.op != Op::End {
            sampling = !sampling;
            let mark = if sampling {
                Op::SampleBegin
            } else {
                Op::SampleEnd
            };
            marked.push(op(event.thread.0, mark));
        }
    }
    r#gen::repair(marked)
}

fn sampled(events: &[Event]) -> Vec<bool> {
    let mut sampling = false;
    let mark = |event: &Event| {
        match event.op {
            Op::SampleBegin => sampling = true,
            Op::SampleEnd => sampling = false,
            _ => {}
        }
        sampling
    };
    events.iter().map(mark).collect()
}

/// What is wrong with Pacer's report, if anything.
fn complaint(events: &[Event], report: &Report) -> Option<String> {
    let oracle = Oracle::new(events).expect("well-formed");
    let sampled = sampled(events);
    let mut pairs: BTreeMap<(usize, usize), BTreeSet<u64>> = BTreeMap::new();
    let mut shortest: BTreeMap<(u64, usize), usize> = BTreeMap::new();
    oracle.each(|i, j, bytes| {
        for byte in bytes {
            pairs.entry((i, j)).or_default().insert(byte);
            let first = shortest.entry((byte, j)).or_default();
            *first = (*first).max(i);
        }
        true
    });
    for race in &report.races {
        let pair = (race.first.site.0 as usize, race.second.site.0 as usize);
        let bytes = race.addr.0..race.addr.0 + u64::from(race.size);
        let real = |byte| pairs.get(&pair).is_some_and(|all| all.contains(&byte));
        if !bytes.clone().all(real) {
            return Some(format!("no race: {race:?}"));
        }
        if !sampled[pair.0] {
            return Some(format!("not sampled: {race:?}"));
        }
    }
    let reported = report.bytes();
    shortest
        .iter()
        .find(|((byte, _), first)| sampled[**first] && !reported.contains(byte))
        .map(|((byte, second), first)| format!("missed {first} {second} at {byte:#x}"))
}

fn check_marked(events: &[Event]) -> usize {
    let report = |e: &[Event]| run(Pacer::new(None, 0), e);
    let found = report(events);
    if complaint(events, &found).is_some() {
        let small = numbered(r#gen::shrink(events, |e| {
            let e = numbered(e.to_vec());
            complaint(&e, &report(&e)).is_some()
        }));
        panic!("{:?}: {small:#?}", complaint(&small, &report(&small)));
    }
    found.races.len()
}

/// Statistical soundness and completeness (Theorems 1 and 2), on traces with every kind of event.
#[test]
fn sampled_shortest_races_and_nothing_else() {
    let mut found = 0;
    for seed in 0..cases(6_000, 100_000) {
        let trace = r#gen::random::arbitrary(seed, 150);
        let every = [3, 10, 40][(seed % 3) as usize];
        found += check_marked(&numbered(with_marks(&trace, every, seed)));
    }
    assert!(found > 1_000, "{found}");
}

/// The same in small worlds, where atomics and reuse meet sampling often.
#[test]
fn sampled_shortest_races_in_small_worlds() {
    let mut found = 0;
    for seed in 0..cases(30_000, 300_000) {
        let config = r#gen::Config {
            events: 10 + (seed % 40) as usize,
            threads: 2 + (seed % 3) as u32,
            locks: 1 + seed % 2,
            scalars: 2,
            arrays: seed % 2,
            max_len: 2,
            sites: 1,
            bytes: seed % 5 == 0,
            discipline: [0, 90][(seed % 2) as usize],
            atomics: seed % 3 != 0,
            syncs: seed % 2 == 0,
            frees: seed % 4 == 1,
            marks: false,
            order: 0,
        };
        let trace = r#gen::random(&config, seed);
        found += check_marked(&numbered(with_marks(&trace, 4, seed)));
    }
    assert!(found > 1_000, "{found}");
}

#[test]
fn at_rate_1_the_same_as_fasttrack() {
    for seed in 0..cases(3_000, 100_000) {
        let mut trace = r#gen::random::arbitrary(seed, 200);
        trace.retain(|e| !matches!(e.op, Op::SampleBegin | Op::SampleEnd));
        let pacer = run(Pacer::new(Some(1.0), seed), &trace).bytes();
        assert_eq!(pacer, run(FastTrack::default(), &trace).bytes());
        assert_eq!(
            pacer,
            Oracle::new(&trace).expect("well-formed").racy_bytes()
        );
    }
}

#[test]
fn at_rate_0_nothing_is_found_and_nothing_is_remembered() {
    for seed in 0..500 {
        let mut trace = r#gen::random::arbitrary(seed, 200);
        trace.retain(|e| !matches!(e.op, Op::SampleBegin | Op::SampleEnd));
        let report = run(Pacer::new(Some(0.0), seed), &trace);
        assert!(report.races.is_empty());
        assert_eq!(report.counters["PacerSampledReads"], 0);
        let looked = ["ReadExclusive", "ReadShare", "ReadShared", "WriteExclusive"];
        assert!(looked.iter().all(|rule| report.counters[rule] == 0));
    }
}

/// A race between the first and the last event of a long execution with a lot of
/// ordered and unordered noise in between, and one at its end.
fn long_trace(length: u64) -> Vec<Event> {
    let mut rng = Rng::new(5);
    let mut trace = vec![fork(0, 1), fork(0, 2), fork(0, 3), write(1, 0, 1)];
    for _ in 0..length {
        let t = 1 + rng.below(2) as u32;
        let x = 10 + rng.below(20);
        trace.extend([
            acq(t, 1),
            write(t, x, 3),
            rel(t, 1),
            read(t, 50 + u64::from(t), 4),
        ]);
    }
    trace.extend([write(1, 1, 5), read(3, 0, 2), write(2, 1, 6)]);
    trace
}

/// Each race is found at the rate, within five standard deviations.
#[test]
fn each_race_is_found_at_the_rate() {
    let trace = long_trace(1_500);
    let all: BTreeSet<(u32, u32)> = [(1, 2), (5, 6)].into();
    for (rate, runs) in [
        (0.01, 3_000_u64),
        (0.03, 2_000),
        (0.1, 1_000),
        (0.25, 600),
        (0.5, 600),
    ] {
        let mut found: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for seed in 0..runs {
            let report = run(Pacer::new(Some(rate), seed), &trace);
            let pairs: BTreeSet<(u32, u32)> = report
                .races
                .iter()
                .map(|r| (r.first.site.0, r.second.site.0))
                .collect();
            assert!(pairs.is_subset(&all), "{pairs:?}");
            for pair in pairs {
                *found.entry(pair).or_default() += 1;
            }
        }
        let expected = rate * runs as f64;
        let slack = 5.0 * (expected * (1.0 - rate)).sqrt();
        for pair in &all {
            let n = found.get(pair).copied().unwrap_or(0) as f64;
            assert!(
                (n - expected).abs() <= slack,
                "{pair:?} at {rate}: {n} of {runs}"
            );
        }
    }
}

/// Figure 1: the race on y is reported, since its first access is sampled. That on x is not: the sampled read is
/// ordered before a write that is not sampled, and that write is the last access to race.
#[test]
fn figure_1() {
    let (x, y) = (0, 1);
    let trace = vec![
        fork(0, 1),
        fork(0, 2),
        fork(0, 3),
        op(2, Op::SampleBegin),
        acq(2, 1),
        read(2, x, 10),
        write(2, y, 11),
        rel(2, 1),
        op(2, Op::SampleEnd),
        acq(1, 1),
        write(1, x, 12),
        write(3, x, 13),
        op(2, Op::SampleBegin),
        op(2, Op::SampleEnd),
        read(3, y, 14),
    ];
    let report = run(Pacer::new(None, 0), &trace);
    let pairs: Vec<_> = report
        .races
        .iter()
        .map(|r| (r.first.site.0, r.second.site.0))
        .collect();
    assert_eq!(pairs, [(11, 14)]);
    assert_eq!(run(FastTrack::default(), &trace).bytes().len(), 16);
}

/// Figure 2: outside of sampling periods, t3 releases two locks that share its clock; t2 has to join the first and
/// not the second, and shares in turn.
#[test]
fn figure_2() {
    let (l, m) = (1, 2);
    let mut trace = vec![fork(0, 1), fork(0, 2), fork(0, 3)];
    // What the threads did while sampling, so that their clocks differ.
    trace.push(op(0, Op::SampleBegin));
    for t in 1..=3 {
        trace.extend([
            write(t, u64::from(t), 1),
            acq(t, 10 + u64::from(t)),
            rel(t, 10 + u64::from(t)),
        ]);
    }
    trace.push(op(0, Op::SampleEnd));
    let before = run(Pacer::new(None, 0), &trace).counters;
    trace.extend([acq(3, m), rel(3, m), acq(3, l), rel(3, l)]);
    trace.extend([acq(2, m), rel(2, m), acq(2, l), rel(2, l)]);
    let after = run(Pacer::new(None, 0), &trace).counters;
    let more = |name| after[name] - before[name];
    assert_eq!(more("PacerUnsampledSlowJoins"), 1);
    assert_eq!(more("PacerUnsampledFastJoins"), 3);
    assert_eq!(more("PacerUnsampledShallowCopies"), 4);
    assert_eq!(more("PacerUnsampledDeepCopies"), 0);
}

/// Threads that hand locks around for long know the same soon, and the versions notice it: the number of slow joins
/// does not grow with the execution.
#[test]
fn joins_are_fast_while_time_stands_still() {
    let threads = 8;
    let rounds = |n: u64| {
        let mut rng = Rng::new(n);
        let mut trace: Vec<Event> = (1..=threads).map(|t| fork(0, t)).collect();
        for _ in 0..n {
            let t = 1 + rng.below(u64::from(threads)) as u32;
            let lock = rng.below(4);
            let x = op(t, Op::VolatileWrite(SyncId(9)));
            trace.extend([acq(t, lock), write(t, lock, 1), rel(t, lock), x]);
            trace.push(op(t, Op::VolatileRead(SyncId(9))));
        }
        run(Pacer::new(None, 0), &trace).counters
    };
    let (short, long) = (rounds(2_000), rounds(20_000));
    assert!(long["PacerUnsampledSlowJoins"] <= short["PacerUnsampledSlowJoins"] + 64);
    assert!(long["PacerUnsampledSlowJoins"] < 500);
    // Each acquire and each read of the volatile is a join.
    let joins = long["PacerUnsampledFastJoins"] + long["PacerUnsampledSlowJoins"];
    assert_eq!(joins, 40_000);
    assert!(long["PacerUnsampledDeepCopies"] < 200);
    assert_eq!(long["Unsampled"], 20_000);
}

/// A thread learns of a sampled write and passes it on while time stands still, so its epoch says nothing of it.
fn hearsay(pass_on: &[Event], take: &[Event]) -> Vec<Event> {
    let g = SyncId(1);
    let mut trace = vec![op(1, Op::SampleBegin), write(1, 0, 10), op(1, Op::Send(g))];
    trace.extend([op(1, Op::SampleEnd), op(2, Op::Receive(g))]);
    trace.extend(pass_on);
    trace.extend(take);
    trace.push(read(3, 0, 11));
    trace
}

#[test]
fn what_was_learned_while_time_stood_still_is_not_lost() {
    let (addr, size) = (var(7), 8);
    let store = Op::Store {
        addr,
        size,
        order: StoreOrder::Release,
    };
    let load = Op::Load {
        addr,
        size,
        order: LoadOrder::Relaxed,
    };
    let locked = [acq(2, 5), rel(2, 5)];
    let cases = [
        hearsay(&locked, &[acq(3, 5)]),
        // Thread 3 may get the slot of thread 2, whose end it does not know of.
        hearsay(&[locked[0], locked[1], op(2, Op::End)], &[acq(3, 5)]),
        hearsay(
            &[op(2, store)],
            &[op(3, load), op(3, Op::Fence(FenceOrder::Acquire))],
        ),
        hearsay(&[], &[join(3, 2)]),
        hearsay(&[fork(2, 3)], &[]),
    ];
    for trace in cases {
        assert!(Oracle::new(&trace).expect("well-formed").pairs().is_empty());
        assert_eq!(run(Pacer::new(None, 0), &trace).races, [], "{trace:#?}");
    }
    let unheard = hearsay(&locked, &[acq(3, 6)]);
    assert_eq!(run(Pacer::new(None, 0), &unheard).races.len(), 1);
}

/// LiteRace checks the first ten executions of a function in each thread, and then fewer and fewer; what it
/// reports is a race.
#[test]
fn literace_samples_cold_code() {
    let call = |t, x, site| {
        let f = Func(site);
        [op(t, Op::Enter(f)), write(t, x, site), op(t, Op::Exit(f))]
    };
    let mut trace = vec![fork(0, 1), fork(0, 2)];
    for x in 0..2_000 {
        trace.extend(call(1, x, 1));
        trace.extend(call(2, x, 2));
    }
    trace.extend([write(1, 5_000, 3), write(2, 5_000, 4)]);
    for seed in 0..20 {
        let report = run(LiteRace::new(FastTrack::default(), seed), &trace);
        let bytes = report.bytes();
        assert!(
            (0..10).all(|x| bytes.contains(&var(x).0)),
            "cold on both sides"
        );
        assert!(bytes.contains(&var(5_000).0), "outside of any function");
        let found = (0..2_000).filter(|&x| bytes.contains(&var(x).0)).count();
        assert!(found < 60, "hot on both sides: {found}");
        let calls = report.counters["LiteRaceSampledCalls"];
        assert!((40..=80).contains(&calls), "{calls}");
        assert_eq!(calls + report.counters["LiteRaceSkippedCalls"], 4_000);
    }
}

/// Samplers never report what is no race, whatever they skip.
#[test]
fn literace_reports_races_only() {
    for seed in 0..2_000 {
        let trace = numbered(r#gen::random::arbitrary(seed, 150));
        let oracle = Oracle::new(&trace).expect("well-formed");
        let pairs: BTreeSet<(usize, usize)> =
            oracle.pairs().iter().map(|p| (p.first, p.second)).collect();
        for race in run(LiteRace::new(FastTrack::default(), seed), &trace).races {
            let pair = (race.first.site.0 as usize, race.second.site.0 as usize);
            assert!(pairs.contains(&pair), "{race:?}");
        }
    }
}
