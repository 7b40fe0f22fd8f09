//! The generators make what they promise.

use event::{AccessKind, Event, Op, Tid};
use oracle::r#gen::exhaustive::{class, classes, skeletons};
use oracle::r#gen::{Alphabet, Rng, enumerate, random, repair, shrink};
use oracle::{Oracle, check};
use std::collections::{BTreeMap, HashSet};
use std::mem::discriminant;

#[test]
fn random_traces_are_well_formed_and_have_every_op() {
    let mut seen = HashSet::new();
    let (mut racy, mut clean) = (0, 0);
    for seed in 0..2000 {
        let events = random::arbitrary(seed, 200);
        assert_eq!(check(&events), Ok(()), "seed {seed}");
        seen.extend(events.iter().map(|e| discriminant(&e.op)));
        if Oracle::new(&events).unwrap().racy_bytes().is_empty() {
            clean += 1;
        } else {
            racy += 1;
        }
    }
    assert_eq!(seen.len(), 26, "of every operation in `event`");
    assert!(racy > 500 && clean > 200, "{racy} racy, {clean} not");
}

#[test]
fn equal_seeds_give_equal_traces() {
    assert_eq!(random::arbitrary(7, 300), random::arbitrary(7, 300));
    assert_ne!(random::arbitrary(7, 300), random::arbitrary(8, 300));
}

#[test]
fn long_traces_do_not_stop_early() {
    let mut rng = Rng::new(1);
    for seed in 0..20 {
        let mut config = random::Config::arbitrary(&mut rng, 5000);
        config.events = 3000;
        assert_eq!(random::random(&config, seed).len(), 3000, "{config:?}");
    }
}

#[test]
fn exhaustive_traces_are_well_formed_and_distinct() {
    let mut seen = HashSet::new();
    let count = enumerate(&Alphabet::small().with_forks(), 3, |events| {
        assert_eq!(check(events), Ok(()));
        assert!(seen.insert(events.to_vec()));
    });
    assert_eq!(count, seen.len() as u64);
    // Two events: threads 00 or 01; 10 accesses and 1 acquire first; then the same, or its release, or the other lock.
    assert_eq!(enumerate(&Alphabet::small(), 1, |_| {}), 11);
    let two = enumerate(&Alphabet::small(), 2, |_| {});
    let after_access = 2 * 11;
    let after_acquire = (10 + 1 + 1) + (10 + 1);
    assert_eq!(two, 11 + 10 * after_access + after_acquire);
    assert_eq!(Alphabet::full().accesses.len(), 28);
}

#[test]
fn shares_of_the_work_add_up() {
    let alphabet = Alphabet::small();
    let all = enumerate(&alphabet, 3, |_| {});
    let parts: u64 = (0..5)
        .map(|p| oracle::r#gen::exhaustive::enumerate_part(&alphabet, 3, p, 5, &mut |_| {}))
        .sum();
    assert_eq!(all, parts);
}

#[test]
fn shrinking_keeps_what_matters() {
    let racy = |events: &[Event]| Oracle::new(events).is_ok_and(|o| !o.racy_bytes().is_empty());
    let mut shrunk_some = 0;
    for seed in 0..200 {
        let events = random::arbitrary(seed, 100);
        if racy(&events) {
            let small = shrink(&events, racy);
            assert_eq!(check(&small), Ok(()));
            // Two accesses make a race; one that is a `Free` needs its `Alloc`.
            let needed = 2 + small
                .iter()
                .filter(|e| matches!(e.op, Op::Free { .. }))
                .count();
            assert_eq!(small.len(), needed, "{small:?}");
            shrunk_some += 1;
        }
    }
    assert!(shrunk_some > 10);
}

#[test]
fn repair_drops_what_cannot_happen() {
    let mut events = random::arbitrary(3, 200);
    events.reverse();
    let repaired = repair(events.clone());
    assert_eq!(check(&repaired), Ok(()));
    let writes = |events: &[Event]| {
        let write = |e: &&Event| {
            matches!(
                e.op,
                Op::Access {
                    kind: AccessKind::Write,
                    ..
                }
            )
        };
        events.iter().filter(write).count()
    };
    assert!(writes(&repaired) <= writes(&events));
}

/// What `classes` leaves out races as what it keeps: by the oracle, not by its argument.
#[test]
fn a_class_races_alike() {
    for alphabet in [Alphabet::small(), Alphabet::small().with_forks()] {
        let all = skeletons(&alphabet, 4);
        let mut verdicts = BTreeMap::new();
        for skeleton in &all {
            let oracle = Oracle::new(&filled(skeleton)).unwrap();
            let verdict = (oracle.racy_bytes().len(), oracle.pairs().len());
            let of_class = verdicts.entry(class(skeleton)).or_insert(verdict);
            assert_eq!(*of_class, verdict, "{skeleton:?}");
        }
        assert_eq!(classes(&all).len(), verdicts.len());
        assert!(verdicts.len() < all.len());
    }
}

/// The `n`-th access of each thread is the same in all orders.
fn filled(skeleton: &[Event]) -> Vec<Event> {
    let mut made = BTreeMap::<Tid, u64>::new();
    let fill = |event: &Event| {
        let mut event = *event;
        if let Op::Access { kind, addr, .. } = &mut event.op {
            let number = made.entry(event.thread).or_default();
            if number.is_multiple_of(2) {
                *kind = AccessKind::Write;
            }
            addr.0 += 8 * (*number / 2);
            *number += 1;
        }
        event
    };
    skeleton.iter().map(fill).collect()
}
