//! The precise detectors against the definition: the same racy bytes, and only real races.

mod common;

use common::{cases, wrong};

use engine::{Djit, FastTrack, Limits};
use event::{AccessKind, Addr, Elements, Event, Op, Site, StoreOrder, SyncId, Tid};
use oracle::r#gen;

const TINY: Limits = Limits {
    slots: 1 << 16,
    time: 3,
    sites: 4,
    ..Limits::CELL
};

/// Pages that may have runs whatever is done to them.
const RUNS: i32 = 1 << 20;

fn any_wrong(events: &[Event]) -> Option<String> {
    let named = |name: &str, wrong: Option<String>| wrong.map(|what| format!("{name}: {what}"));
    named("fasttrack", wrong(FastTrack::default(), events))
        .or_else(|| named("djit", wrong(Djit::default(), events)))
        .or_else(|| {
            named(
                "fasttrack, tiny limits",
                wrong(FastTrack::new(TINY), events),
            )
        })
        .or_else(|| named("djit, tiny limits", wrong(Djit::new(TINY), events)))
        .or_else(|| {
            let runs = FastTrack::default().with_runs(RUNS);
            named("fasttrack, runs", wrong(runs, events))
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

/// A trace of accesses as large as pages, to memory at and across their boundaries, some of it allocated and freed.
fn wide(seed: u64) -> Vec<Event> {
    let mut rng = r#gen::Rng::new(seed);
    let threads = 2 + rng.below(2) as u32;
    let mut alive = false;
    let mut events: Vec<(u32, Op)> = (1..threads).map(|t| (0, Op::Fork(Tid(t)))).collect();
    for _ in 0..4 + rng.below(16) {
        let thread = rng.below(u64::from(threads)) as u32;
        let page = rng.below(3);
        let (offset, size) = match rng.below(6) {
            0 => (rng.below(4096), 1 + rng.below(16) as u32),
            1 => (4096 - rng.below(9), 4096 + rng.below(9) as u32),
            2 => (0, 8192),
            _ => (0, 4096),
        };
        let kind = *rng
            .pick(&[AccessKind::Read, AccessKind::Write])
            .expect("not empty");
        let addr = Addr(0x1_0000 + 4096 * page + offset);
        let block = Addr(0x1_0000);
        match rng.below(12) {
            0..3 => events.push((thread, Op::Send(SyncId(rng.below(2))))),
            3..6 => events.push((thread, Op::Receive(SyncId(rng.below(2))))),
            6 if alive => {
                events.push((thread, Op::Free { addr: block }));
                alive = false;
            }
            6 => {
                let len = 1020 + rng.below(8) * 100;
                let elem = 8;
                events.push((
                    thread,
                    Op::Alloc {
                        addr: block,
                        elem,
                        len,
                    },
                ));
                alive = true;
            }
            7 if rng.one_in(3) => {
                let order = StoreOrder::Relaxed;
                let addr = Addr(addr.0 & !7);
                events.push((
                    thread,
                    Op::Store {
                        addr,
                        size: 8,
                        order,
                    },
                ));
            }
            _ => events.push((thread, Op::Access { kind, addr, size })),
        }
    }
    let events = events
        .into_iter()
        .enumerate()
        .map(|(i, (thread, op))| Event {
            thread: Tid(thread),
            op,
            site: Site(i as u32),
        });
    r#gen::repair(events)
}

#[test]
fn whole_pages() {
    for seed in 0..cases(2_000, 20_000) {
        check(&wide(seed));
    }
}

/// A trace of accesses to rows of a matrix that begin and end anywhere in pages: by ranges, strided ones, and by word.
fn rows(seed: u64) -> Vec<Event> {
    let mut rng = r#gen::Rng::new(seed);
    let threads = 2 + rng.below(2) as u32;
    let length = *rng.pick(&[64, 300, 700, 1500]).expect("not empty");
    let row = |number: u64| Addr(0x1_0000 + 8 * (length + 2) * number + offset(seed));
    let mut alive = [false; 3];
    // Few places to begin and end, so that runs are met again.
    let places: Vec<u64> = (0..4)
        .map(|_| rng.below(length))
        .chain([0, length])
        .collect();
    let mut events: Vec<(u32, Op)> = (1..threads).map(|t| (0, Op::Fork(Tid(t)))).collect();
    // Sites that come again, or not.
    let sites = if seed.is_multiple_of(3) { 1000 } else { 4 };
    for _ in 0..4 + rng.below(40) {
        let thread = rng.below(u64::from(threads)) as u32;
        let number = rng.below(3);
        let kind = *rng
            .pick(&[AccessKind::Read, AccessKind::Write])
            .expect("not empty");
        let (a, b) = (
            *rng.pick(&places).expect("not empty"),
            *rng.pick(&places).expect("not empty"),
        );
        let (lo, hi) = (a.min(b), a.max(b) + 1);
        let range = |elem: u8, lo, hi, stride| Op::Range {
            kind,
            elements: Elements {
                base: row(number),
                elem,
                lo,
                hi,
                stride,
            },
        };
        let op = match rng.below(16) {
            0..2 => Op::Send(SyncId(rng.below(2))),
            2..4 => Op::Receive(SyncId(rng.below(2))),
            4 => {
                let is_alive = &mut alive[number as usize];
                *is_alive = !*is_alive;
                if *is_alive {
                    Op::Alloc {
                        addr: row(number),
                        elem: 8,
                        len: length,
                    }
                } else {
                    Op::Free { addr: row(number) }
                }
            }
            5 => Op::Access {
                kind,
                addr: Addr(row(number).0 + 8 * lo + rng.below(8)),
                size: 1 + rng.below(16) as u32,
            },
            6 if rng.one_in(8) => Op::Store {
                addr: Addr((row(number).0 + 8 * lo) & !7),
                size: 8,
                order: StoreOrder::Relaxed,
            },
            6..9 => range(8, lo, hi, 2),
            9 => range(8, lo, hi, 1 + rng.below(9)),
            10 => range(4, 2 * lo, 2 * hi, 1 + rng.below(4)),
            11 => range(1, 8 * lo + rng.below(8), 8 * hi, 1),
            _ => range(8, lo, hi, 1),
        };
        events.push((thread, op));
    }
    let events = events.into_iter().zip(0..).map(|((thread, op), i)| Event {
        thread: Tid(thread),
        op,
        site: Site(i % sites),
    });
    r#gen::repair(events)
}

/// Where the first row begins: mostly at a word.
fn offset(seed: u64) -> u64 {
    [0, 8, 16, 2048, 4080, 4][seed as usize % 6]
}

#[test]
fn rows_of_a_matrix() {
    for seed in 0..cases(400, 40_000) {
        check(&rows(seed));
    }
}
