//! The precise detectors against the definition: the same racy bytes, and only real races.

mod common;

use common::cases;
use std::collections::BTreeSet;

use engine::replay::Replay;
use engine::{Detector, Djit, FastTrack, Limits, Race};
use event::{AccessKind, Addr, Event, Op, Site, StoreOrder, SyncId, Tid};
use oracle::{Oracle, r#gen};

/// One side of a race as far as both can name it.
type Name = (Tid, Site, bool);

fn races<D: Detector>(detector: D, events: &[Event]) -> Vec<Race> {
    let mut replay = Replay::new(detector);
    let mut found = Vec::new();
    for event in events {
        replay.step(event, &mut |race| found.push(*race));
    }
    replay.finish(&mut |race| found.push(*race));
    found
}

fn name(event: &Event) -> Name {
    let atomic = matches!(
        event.op,
        Op::Load { .. } | Op::Store { .. } | Op::Rmw { .. }
    );
    (event.thread, event.site, atomic)
}

/// What is wrong with the detector's verdict, if anything.
fn wrong<D: Detector>(detector: D, events: &[Event]) -> Option<String> {
    let oracle = Oracle::new(events).expect("generators make well-formed traces");
    let found = races(detector, events);
    let expected = oracle.racy_bytes();
    let bytes: BTreeSet<u64> = found
        .iter()
        .flat_map(|race| race.addr.0..race.addr.0 + u64::from(race.size))
        .collect();
    if bytes != expected {
        return Some(format!("racy bytes {bytes:x?}, expected {expected:x?}"));
    }
    let real: BTreeSet<(Name, Name)> = oracle
        .pairs()
        .iter()
        .map(|pair| (name(&events[pair.first]), name(&events[pair.second])))
        .collect();
    for race in found {
        let side = |s: &engine::Side| (s.thread, s.site, s.atomic);
        if !real.contains(&(side(&race.first), side(&race.second))) {
            return Some(format!("{race:?} is no race"));
        }
        if race.first.kind == AccessKind::Read && race.second.kind == AccessKind::Read {
            return Some(format!("{race:?}: two reads"));
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
