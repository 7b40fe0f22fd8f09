//! SlimState and its variants against the definition: the same racy bytes, and each race they report is one, on
//! all of its bytes, with its own two sites, though it is found later than it happened.

mod common;

use common::cases;
use std::collections::{BTreeMap, BTreeSet};

use engine::replay::Replay;
use engine::slimstate::{
    BitSet, Footprint, Labels, Mode, Options, Partition, Slim, Strided, Summary,
};
use engine::{Detector, Limits, Race, Side};
use event::{AccessKind, Addr, Event, Op, Site, SyncId, Tid};
use oracle::{Oracle, r#gen};

/// One side of a race as far as both can name it.
type Name = (Tid, Site, bool, AccessKind);

/// The races, and whether each of their sites is exact.
fn run<F: Footprint, P: Partition>(options: Options, events: &[Event]) -> (Vec<Race>, bool) {
    let mut replay = Replay::new(Slim::<F, P>::new(options));
    let mut found = Vec::new();
    for event in events {
        replay.step(event, &mut |race| found.push(*race));
    }
    replay.finish(&mut |race| found.push(*race));
    let mut exact = true;
    replay.counters(&mut |name, count| {
        exact &= name != "[SS COMMIT] with blurred sites" || count == 0;
    });
    let summary = Summary::of(replay.detector()).total;
    assert!(summary.locations <= summary.elements);
    (found, exact)
}

fn name(event: &Event) -> Name {
    let atomic = matches!(
        event.op,
        Op::Load { .. } | Op::Store { .. } | Op::Rmw { .. }
    );
    let kind = match event.op {
        Op::Access { kind, .. } | Op::Range { kind, .. } => kind,
        Op::Load { .. } => AccessKind::Read,
        _ => AccessKind::Write,
    };
    (event.thread, event.site, atomic, kind)
}

/// For each racy byte, the pairs that race on it, both ways round.
fn truth(events: &[Event]) -> BTreeMap<u64, BTreeSet<(Name, Name)>> {
    let oracle = Oracle::new(events).expect("generators make well-formed traces");
    let mut truth: BTreeMap<u64, BTreeSet<(Name, Name)>> = BTreeMap::new();
    for pair in oracle.pairs() {
        let (a, b) = (name(&events[pair.first]), name(&events[pair.second]));
        for byte in pair.bytes.into_iter().flatten() {
            truth.entry(byte).or_default().extend([(a, b), (b, a)]);
        }
    }
    truth
}

fn wrong(
    (found, exact): &(Vec<Race>, bool),
    truth: &BTreeMap<u64, BTreeSet<(Name, Name)>>,
) -> Option<String> {
    let bytes: BTreeSet<u64> = found
        .iter()
        .flat_map(|race| race.addr.0..race.addr.0 + u64::from(race.size))
        .collect();
    let expected: BTreeSet<u64> = truth.keys().copied().collect();
    if bytes != expected {
        return Some(format!("racy bytes {bytes:x?}, expected {expected:x?}"));
    }
    let side = |s: &Side| (s.thread, s.site, s.atomic, s.kind);
    let blur = |n: &Name| (n.0, n.2, n.3);
    for race in found {
        for byte in race.addr.0..race.addr.0 + u64::from(race.size) {
            let (first, second) = (side(&race.first), side(&race.second));
            let real = truth[&byte].iter().any(|(a, b)| {
                if *exact {
                    (*a, *b) == (first, second)
                } else {
                    (blur(a), blur(b)) == (blur(&first), blur(&second))
                }
            });
            if !real {
                return Some(format!("{race:?} is no race on {byte:x}"));
            }
        }
    }
    None
}

const TINY: Limits = Limits {
    slots: 1 << 16,
    time: 3,
    sites: 4,
    ..Limits::CELL
};

fn any_wrong(events: &[Event]) -> Option<String> {
    let truth = truth(events);
    let all = Options {
        small: 0,
        ..Options::default()
    };
    let tiny = Options {
        small: 5,
        frugal: true,
        thrifty: true,
        history: false,
        limits: TINY,
    };
    type Run = fn(Options, &[Event]) -> (Vec<Race>, bool);
    let runs: [(&str, Options, Run); 7] = [
        ("slimstate", all, run::<Strided, Mode>),
        ("slimstate-bf", all, run::<BitSet, Mode>),
        ("slimstate-bp", all, run::<Strided, Labels>),
        ("slimstate-bb", all, run::<BitSet, Labels>),
        (
            "slimstate, default",
            Options::default(),
            run::<Strided, Mode>,
        ),
        ("slimstate, tiny limits", tiny, run::<Strided, Mode>),
        ("slimstate-bb, tiny limits", tiny, run::<BitSet, Labels>),
    ];
    runs.iter().find_map(|(name, options, run)| {
        wrong(&run(*options, events), &truth).map(|what| format!("{name}: {what}"))
    })
}

fn check(events: &[Event]) {
    common::check(events, any_wrong);
}

#[test]
fn random_traces() {
    for seed in 0..cases(4_000, 100_000) {
        check(&r#gen::random::arbitrary(seed, 200));
    }
}

#[test]
fn long_random_traces() {
    for seed in 0..cases(10, 1_000) {
        check(&r#gen::random::arbitrary(1_000_000 + seed, 5_000));
    }
}

/// Loops, whose accesses are foreseen.
#[test]
fn loops() {
    let mut foreseen = 0;
    for seed in 0..cases(400, 20_000) {
        let events = r#gen::loops(seed, 1 + seed % 12);
        check(&events);
        let mut replay = Replay::new(Slim::<Strided, Mode>::default());
        for event in &events {
            replay.step(event, &mut |_| {});
        }
        replay.finish(&mut |_| {});
        replay.counters(&mut |name, count| {
            foreseen += if name == "[SS ACCESS] foreseen" {
                count
            } else {
                0
            };
        });
    }
    assert!(foreseen > 10_000, "only {foreseen} accesses were foreseen");
}

/// Every trace over three threads, two locks, a scalar and an array of four.
#[test]
fn all_small_traces() {
    let alphabet = r#gen::exhaustive::Alphabet::small();
    let (events, shares) = if cases(0, 1) == 0 { (4, 16) } else { (5, 1) };
    let count = r#gen::exhaustive::enumerate_part(&alphabet, events, 0, shares, &mut check);
    assert!(count > 2_000, "{count} traces");
}

/// Of a trace whose arrays, so many, become FINE, with races or without: no page gets a location for each word, and what races is found.
fn check_that_pages_keep_runs(arrays: u64, trace: impl Fn(bool) -> Vec<Event>) {
    let mut replay = Replay::new(Slim::<Strided, Mode>::default());
    for event in &trace(false) {
        replay.step(event, &mut |race| panic!("{race:?}"));
    }
    let mut fine = 0;
    replay
        .detector()
        .shadow(&mut |block| fine += u64::from(block.partition == "FINE"));
    assert_eq!(fine, arrays);
    replay.detector().bytes(&mut |what, bytes| {
        assert!(what != "locations by word" || bytes == 0, "{bytes} bytes");
    });
    check(&trace(false));
    check(&trace(true));
}

/// These operations, each from a site of its own.
fn from_sites_of_their_own(all: impl IntoIterator<Item = (Tid, Op)>) -> Vec<Event> {
    let event = |(site, (thread, op))| Event {
        thread,
        op,
        site: Site(site),
    };
    (1..).zip(all).map(event).collect()
}

/// A block is given a part of another one's memory, with nothing freed: what is left of the old one is where it was, whoever accesses it and however.
#[test]
fn what_is_left_of_a_block_is_still_checked() {
    let (first, second) = (Tid(1), Tid(2));
    let base = Addr(1 << 16);
    let write = |element: u64| {
        let (kind, addr, size) = (AccessKind::Write, Addr(base.0 + 8 * element), 8);
        Op::Access { kind, addr, size }
    };
    let range = |lo, hi| common::range(AccessKind::Write, base, lo, hi, 1);
    let alloc = |element: u64, len| {
        let (addr, elem) = (Addr(base.0 + 8 * element), 8);
        Op::Alloc { addr, elem, len }
    };
    // FINE, PREFIX, COARSE; the new block at the beginning, in the middle, at the end.
    for whole in [(1, 99), (0, 10), (0, 100)] {
        for new in [0, 48, 96] {
            for element in [5, 20, 47, 52, 90] {
                let ways = [
                    [write(element), range(element, element + 1)],
                    [range(1, 99), write(element)],
                ];
                for [one, other] in ways {
                    let fork = (first, Op::Fork(second));
                    let before = [
                        (first, alloc(0, 100)),
                        (first, range(whole.0, whole.1)),
                        fork,
                    ];
                    let orders = [
                        [(second, one), (first, alloc(new, 4)), (first, other)],
                        [(first, alloc(new, 4)), (second, one), (first, other)],
                        [(first, alloc(new, 4)), (first, one), (second, other)],
                    ];
                    for order in orders {
                        let all = before.into_iter().chain(order);
                        check(&from_sites_of_their_own(all));
                    }
                }
            }
        }
    }
}

/// Columns of a matrix that is factorised: a pivot anywhere, then a row that is a word shorter each time. They are PREFIX, then FINE, and their pages keep runs meanwhile.
#[test]
fn columns_with_a_pivot_take_few_locations() {
    const COLUMNS: u64 = 4;
    const LEN: u64 = 400;
    const STEPS: u64 = 24;
    let (first, second) = (Tid(1), Tid(2));
    let matrix = |races: bool| {
        let mut events = Vec::new();
        let mut say = |thread, op, site| {
            let site = Site(site);
            events.push(Event { thread, op, site });
        };
        let column = |number: u64| Addr((1 << 16) + number * LEN * 8);
        let (elem, len) = (8, LEN);
        for addr in (0..COLUMNS).map(column) {
            say(first, Op::Alloc { addr, elem, len }, 1);
        }
        say(first, Op::Fork(second), 2);
        for step in 0..STEPS {
            for number in 0..COLUMNS {
                let thread = if number % 2 == 0 { first } else { second };
                let mut access = |kind, lo, hi, site| {
                    let op = common::range(kind, column(number), lo, hi, 1);
                    say(thread, op, site);
                };
                let pivot = step + (step * 97 + number * 31) % (LEN - step);
                for kind in [AccessKind::Read, AccessKind::Write] {
                    access(kind, pivot, pivot + 1, 10);
                    access(kind, step, step + 1, 11);
                    access(kind, step + 1, LEN, 12);
                }
                if races && step % 5 == 4 {
                    let addr = Addr(column((number + 1) % COLUMNS).0 + 8 * pivot);
                    let (kind, size) = (AccessKind::Write, 2);
                    say(thread, Op::Access { kind, addr, size }, 13);
                }
            }
            for (from, to, object) in [(first, second, 7), (second, first, 8)] {
                say(from, Op::VolatileWrite(SyncId(object)), 3);
                say(to, Op::VolatileRead(SyncId(object)), 3);
            }
        }
        events
    };
    check_that_pages_keep_runs(COLUMNS, matrix);
}

/// A red-black grid, of which loops leave the borders out: its rows become FINE, but their pages keep runs, and what races is found, whatever it is that touches single elements.
#[test]
fn rows_without_their_borders_take_few_locations() {
    const ROWS: u64 = 4;
    const LEN: u64 = 300;
    let (first, second) = (Tid(1), Tid(2));
    let grid = |races: bool| {
        let mut events = Vec::new();
        let mut say = |thread, op, site| {
            let site = Site(site);
            events.push(Event { thread, op, site });
        };
        let row = |number: u64| Addr((1 << 16) + number * LEN * 8);
        let (elem, len) = (8, LEN);
        for addr in (0..ROWS).map(row) {
            say(first, Op::Alloc { addr, elem, len }, 1);
        }
        say(first, Op::Fork(second), 2);
        for phase in 0..12u64 {
            for (thread, site) in [(first, 10), (second, 20)] {
                let rows = (0..ROWS).filter(|row| (*row < ROWS / 2) == (thread == first));
                for number in rows {
                    let mut part = |kind, lo, site| {
                        let op = common::range(kind, row(number), lo, LEN - 1, 2);
                        say(thread, op, site);
                    };
                    let colour = (number + phase) % 2;
                    part(AccessKind::Read, 1 - colour, site);
                    part(AccessKind::Write, 1 + colour, site + 1);
                }
                if races && phase % 3 == 2 {
                    let addr = Addr(row(ROWS / 2).0 + 8 * (phase * 17 % LEN));
                    let (kind, size) = (AccessKind::Write, 4);
                    say(thread, Op::Access { kind, addr, size }, site + 2);
                }
            }
            for (from, to, object) in [(first, second, 7), (second, first, 8)] {
                say(from, Op::VolatileWrite(SyncId(object)), 3);
                say(to, Op::VolatileRead(SyncId(object)), 3);
            }
        }
        events
    };
    check_that_pages_keep_runs(ROWS, grid);
}

/// Nodes of one allocation site that all become FINE, so later ones begin so: the verdicts are the same, at their memory that is used again, too.
#[test]
fn nodes_that_begin_fine() {
    let (first, second) = (Tid(1), Tid(2));
    let lock = SyncId(9);
    let mut events = Vec::new();
    let mut say = |thread, op, site| {
        let site = Site(site);
        events.push(Event { thread, op, site });
    };
    say(first, Op::Fork(second), 1);
    let mut seed = 1u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for round in 0..300u64 {
        // At one of eight places, some of which overlap.
        let base = 4096 + round % 8 * 96;
        let addr = Addr(base);
        say(first, Op::Acquire(lock), 2);
        let (elem, len) = (8, 16);
        say(first, Op::Alloc { addr, elem, len }, 3);
        // A race from time to time.
        let guarded = random(10) != 0;
        for thread in [first, second] {
            if thread == second {
                say(first, Op::Release(lock), 4);
                say(second, Op::Acquire(lock), 4);
                if !guarded {
                    say(second, Op::Release(lock), 4);
                    say(first, Op::Acquire(lock), 4);
                }
            }
            for _ in 0..6 {
                let addr = Addr(base + 8 * random(16));
                let kind = [AccessKind::Read, AccessKind::Write][random(2) as usize];
                let size = 8;
                say(thread, Op::Access { kind, addr, size }, 5);
            }
        }
        if guarded {
            say(second, Op::Release(lock), 4);
            say(first, Op::Acquire(lock), 4);
        } else {
            let write = |addr| Op::Access {
                kind: AccessKind::Write,
                addr,
                size: 4,
            };
            say(first, write(Addr(base + 8)), 6);
            say(second, write(Addr(base + 8)), 7);
            say(second, Op::VolatileWrite(SyncId(8)), 8);
            say(first, Op::VolatileRead(SyncId(8)), 8);
        }
        say(first, Op::Free { addr }, 9);
        say(first, Op::Release(lock), 9);
    }
    check(&events);
    let thrifty = Options {
        thrifty: true,
        ..Options::default()
    };
    let truth = truth(&events);
    assert!(!truth.is_empty());
    for run in [run::<Strided, Mode>, run::<BitSet, Labels>] {
        assert_eq!(wrong(&run(thrifty, &events), &truth), None);
    }
    let arrays = |options| {
        let mut replay = Replay::new(Slim::<Strided, Mode>::new(options));
        events
            .iter()
            .for_each(|event| replay.step(event, &mut |_| {}));
        replay.finish(&mut |_| {});
        let mut commits = 0;
        replay.counters(&mut |name, count| {
            commits += if name == "[SS COMMIT]" { count } else { 0 };
        });
        (Summary::of(replay.detector()).total, commits)
    };
    let ((all, before), (same, after)) = (arrays(Options::default()), arrays(thrifty));
    assert_eq!((all.blocks, all.elements), (same.blocks, same.elements));
    assert!(after < before / 2, "{after} commits of {before}");
}

/// A plain write that ends an atomic object, in an array of one element.
#[test]
fn a_plain_write_ends_an_atomic_object_of_a_single_element() {
    let array = Addr(1 << 20);
    let scalar = Addr(4112);
    let write = |addr| {
        let (kind, size) = (AccessKind::Write, 1);
        Op::Access { kind, addr, size }
    };
    let events = [
        (
            0,
            Op::Alloc {
                addr: array,
                elem: 8,
                len: 1,
            },
        ),
        (3, write(scalar)),
        (0, write(array)),
        (
            3,
            Op::Store {
                addr: array,
                size: 8,
                order: event::StoreOrder::SeqCst,
            },
        ),
        (0, Op::Acquire(SyncId(3))),
        (0, write(array)),
        (
            0,
            Op::Rmw {
                addr: array,
                size: 8,
                order: event::RmwOrder::Acquire,
            },
        ),
        (0, write(scalar)),
    ];
    let all = events.map(|(thread, op)| (Tid(thread), op));
    check(&from_sites_of_their_own(all));
}
