//! Pages with layers, on which checks are put off: threads with locks of their own, pages that are split meanwhile, memory that is made fresh.

mod common;

use std::collections::BTreeSet;

use common::{cases, fork, op, range, rel, run, wrong_late};
use engine::FastTrack;
use event::{AccessKind, Addr, Event, LoadOrder, Op, Site, StoreOrder, SyncId};
use oracle::r#gen::Rng;

/// Pages have layers whatever is done to them.
fn layers() -> FastTrack {
    FastTrack::default().with_layers(1 << 20)
}

/// An access of 8 bytes.
fn at(thread: u32, kind: AccessKind, addr: u64, site: u32) -> Event {
    let (addr, size) = (Addr(addr), 8);
    Event {
        site: Site(site),
        ..op(thread, Op::Access { kind, addr, size })
    }
}

/// A word becomes fresh.
fn fresh(addr: u64) -> Op {
    let (addr, elem, len) = (Addr(addr), 8, 1);
    Op::Alloc { addr, elem, len }
}

const X: u64 = 0x1000;

/// Neither of the two has made its check when a third one makes the memory fresh.
#[test]
fn what_two_threads_put_off_is_held_against_each_other_though_the_memory_is_fresh() {
    let events = [
        fork(0, 1),
        fork(0, 2),
        at(0, AccessKind::Write, X, 1),
        at(1, AccessKind::Write, X, 2),
        op(2, fresh(X)),
        at(2, AccessKind::Write, X, 3),
    ];
    assert_eq!(wrong_late(layers(), &events), None);
    assert_eq!(run(layers(), &events).bytes(), (X..X + 8).collect());
}

/// What a place in the program did to the memory before is not told of what it did to the one after, though it is all one epoch.
#[test]
fn memory_that_is_made_fresh_forgets_where_it_was_accessed_from() {
    let events = [
        fork(0, 1),
        at(0, AccessKind::Write, X, 1),
        at(0, AccessKind::Write, X + 8, 1),
        op(0, fresh(X)),
        at(0, AccessKind::Write, X, 2),
        at(1, AccessKind::Write, X, 3),
    ];
    assert_eq!(wrong_late(layers(), &events), None);
    let races = run(layers(), &events).races;
    let sites: BTreeSet<Site> = races
        .iter()
        .flat_map(|r| [r.first.site, r.second.site])
        .collect();
    assert_eq!(sites, [Site(2), Site(3)].into());
}

/// Three threads, each of which has a lock that it mostly takes, two pages of words, some atomic operations, and memory that is made fresh.
fn arbitrary(seed: u64, len: usize) -> Vec<Event> {
    const THREADS: u64 = 3;
    let mut rng = Rng::new(seed);
    let mut owner = [None; 2 * THREADS as usize];
    let words = 1 + rng.below(12);
    let all = [X, X + 4096]
        .into_iter()
        .flat_map(|page| (0..words).map(move |word| page + 8 * word));
    let mut events: Vec<Event> = all.map(|addr| op(0, fresh(addr))).collect();
    events.extend((1..THREADS).map(|child| fork(0, child as u32)));
    for step in 0..len {
        let thread = rng.below(THREADS);
        let mine = owner.iter().position(|&owner| owner == Some(thread));
        let addr = Addr(X + 4096 * rng.below(2) + 8 * rng.below(words));
        let (size, order) = (8, rng.below(3));
        let happens = match (rng.below(100), mine) {
            (0..10, None) => {
                let own = rng.below(10) != 0;
                let of = if own { thread } else { rng.below(THREADS) };
                let lock = 2 * of + rng.below(2);
                if owner[lock as usize].is_some() {
                    continue;
                }
                owner[lock as usize] = Some(thread);
                Op::Acquire(SyncId(lock))
            }
            (0..20, Some(lock)) => {
                owner[lock] = None;
                Op::Release(SyncId(lock as u64))
            }
            (20, _) => {
                let order = [LoadOrder::Relaxed, LoadOrder::Acquire, LoadOrder::SeqCst];
                let (addr, order) = (Addr(addr.0 + 2048), order[rng.below(3) as usize]);
                Op::Load { addr, size, order }
            }
            (21, _) if order == 0 => {
                let order = [StoreOrder::Relaxed, StoreOrder::Release][rng.below(2) as usize];
                let addr = Addr(addr.0 + 2048);
                Op::Store { addr, size, order }
            }
            (22, _) => {
                // Or it is a mapping over others.
                if order != 0 {
                    events.push(Event {
                        site: Site(24),
                        ..op(thread as u32, Op::Free { addr })
                    });
                }
                fresh(addr.0)
            }
            (23..26, _) => {
                let kind = [AccessKind::Read, AccessKind::Write][rng.below(2) as usize];
                let hi = 1 + rng.below(words);
                let (base, stride) = (Addr(addr.0 & !0xFFF), 1 + rng.below(2));
                range(kind, base, 0, hi, stride)
            }
            _ => {
                let size = 1 << rng.below(4);
                let addr = Addr(addr.0 + u64::from(size) * rng.below(8 / u64::from(size)));
                let kind = [AccessKind::Read, AccessKind::Write][rng.below(2) as usize];
                Op::Access { kind, addr, size }
            }
        };
        events.push(Event {
            site: Site(1 + step as u32 % 23),
            ..op(thread as u32, happens)
        });
    }
    for (lock, owner) in owner.into_iter().enumerate() {
        if let Some(thread) = owner {
            events.push(rel(thread as u32, lock as u64));
        }
    }
    events
}

#[test]
fn threads_with_locks_of_their_own() {
    for seed in 0..cases(6_000, 200_000) {
        let events = arbitrary(seed, 30 + seed as usize % 170);
        common::check(&events, |events| wrong_late(layers(), events));
    }
}

/// Pages are split as in programs.
#[test]
fn threads_with_locks_of_their_own_and_pages_that_are_split() {
    for seed in 0..cases(3_000, 100_000) {
        let events = arbitrary(1 << 32 | seed, 200);
        common::check(&events, |events| {
            wrong_late(FastTrack::default().with_layers(0), events)
        });
    }
}
