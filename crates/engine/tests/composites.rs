//! Accesses of one thread to different bytes of a word, from different places: each byte is reported with the place where it
//! was accessed.

use engine::detector::Access;
use engine::{Detector, FastTrack, Limits, SyncOp};
use event::{AccessKind, Addr, Site, SyncId, Tid};

const WORD: u64 = 0x1000;

fn access(kind: AccessKind, byte: u64, size: u32, site: u32) -> Access {
    Access {
        kind,
        addr: Addr(WORD + byte),
        size,
        site: Site(site),
    }
}

/// `first` by one thread, then a write of the whole word by another that nothing orders with it: the place that each byte
/// was reported with.
fn reported(detector: &FastTrack, first: &[Access]) -> [Option<u32>; 8] {
    let none = &mut |race: &engine::Race| panic!("{race:?}");
    let mut main = detector.root(Tid(0));
    let mut a = detector.fork(&mut main, Tid(1), none);
    let mut b = detector.fork(&mut main, Tid(2), none);
    for &access in first {
        detector.access(&mut a, access, none);
    }
    let mut found = [None; 8];
    detector.access(&mut b, access(AccessKind::Write, 0, 8, 1000), &mut |race| {
        assert_eq!((race.second.site, race.second.thread), (Site(1000), Tid(2)));
        assert_eq!(race.first.thread, Tid(1));
        for byte in 0..u64::from(race.size) {
            let known = &mut found[(race.addr.0 + byte - WORD) as usize];
            assert_eq!(known.replace(race.first.site.0), None);
        }
    });
    detector.free(&mut b, Addr(WORD), 8, Site(1001), &mut |_| ());
    detector.alloc(&mut b, Addr(WORD), 8, 1, Site(1001), none);
    found
}

#[test]
fn each_byte_has_its_own_site() {
    let detector = FastTrack::default();
    for kind in [AccessKind::Read, AccessKind::Write] {
        let bytes: Vec<Access> = (0..8).map(|i| access(kind, i, 1, 10 + i as u32)).collect();
        let expected = core::array::from_fn(|i| Some(10 + i as u32));
        assert_eq!(reported(&detector, &bytes), expected);
        let backwards: Vec<Access> = bytes.iter().rev().copied().collect();
        assert_eq!(reported(&detector, &backwards), expected);
    }
}

#[test]
fn the_first_access_of_a_byte_counts() {
    let detector = FastTrack::default();
    let writes = [
        access(AccessKind::Write, 2, 2, 1),
        access(AccessKind::Write, 0, 4, 2),
        access(AccessKind::Write, 0, 8, 3),
        access(AccessKind::Read, 0, 8, 4),
    ];
    let expected = [2, 2, 1, 1, 3, 3, 3, 3].map(Some);
    assert_eq!(reported(&detector, &writes), expected);
}

/// Where numbers are scarce, sites are kept apart instead of being put together.
#[test]
fn few_numbers_are_enough() {
    for sites in 1..40 {
        let detector = FastTrack::new(Limits {
            sites,
            ..Limits::CELL
        });
        for round in 0..5 {
            let site = |i: u64| 10 + round * 8 + (i * 3 + u64::from(round)) as u32 % 8;
            let bytes: Vec<Access> = (0..8)
                .map(|i| access(AccessKind::Write, i, 1, site(i)))
                .collect();
            let expected = core::array::from_fn(|i| Some(site(i as u64)));
            assert_eq!(reported(&detector, &bytes), expected, "{sites} sites");
        }
    }
}

/// What is put together stays in one state however many places there are, whatever the epoch.
#[test]
fn other_epochs_are_kept_apart() {
    let detector = FastTrack::default();
    let none = &mut |race: &engine::Race| panic!("{race:?}");
    let mut main = detector.root(Tid(0));
    let mut b = detector.fork(&mut main, Tid(2), none);
    for byte in 0..4 {
        detector.access(
            &mut main,
            access(AccessKind::Write, byte, 1, byte as u32),
            none,
        );
    }
    detector.sync(&mut main, SyncOp::Release(SyncId(1)), none);
    for byte in 4..8 {
        detector.access(
            &mut main,
            access(AccessKind::Write, byte, 1, byte as u32),
            none,
        );
    }
    detector.sync(&mut b, SyncOp::Acquire(SyncId(1)), none);
    detector.access(&mut b, access(AccessKind::Write, 0, 4, 20), none);
    let mut racy = Vec::new();
    detector.access(&mut b, access(AccessKind::Write, 4, 4, 21), &mut |race| {
        racy.push((race.addr.0 - WORD, race.size, race.first.site.0));
    });
    assert_eq!(racy, [(4, 1, 4), (5, 1, 5), (6, 1, 6), (7, 1, 7)]);
    detector.end(&mut main, none);
}

/// Whatever the order of accesses, and whatever else was put together before.
#[test]
fn orders_do_not_matter() {
    let detector = FastTrack::default();
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (state >> 33) % below
    };
    for round in 0..2000 {
        let sites = 1 + round % 5;
        let mut expected = [None; 8];
        let mut bytes = Vec::new();
        while expected.contains(&None) {
            let (byte, site) = (random(8), 10 + random(sites) as u32);
            bytes.push(access(AccessKind::Write, byte, 1, site));
            // What a byte has it keeps.
            expected[byte as usize].get_or_insert(site);
        }
        assert_eq!(reported(&detector, &bytes), expected, "{bytes:?}");
    }
}

/// Words whose bytes are accessed from few places need few numbers, in however many orders.
#[test]
fn orders_need_no_numbers() {
    let detector = FastTrack::default();
    let none = &mut |race: &engine::Race| panic!("{race:?}");
    let mut main = detector.root(Tid(0));
    for word in 0..5000u64 {
        for i in 0..8 {
            let byte = (i * (word % 4 * 2 + 1) + word / 8) % 8;
            let site = 10 + ((word * 0x9E37_79B9) >> (3 + byte) & 1) as u32;
            let mut at = access(AccessKind::Write, byte, 1, site);
            at.addr.0 += 8 * word;
            detector.access(&mut main, at, none);
        }
    }
    let numbers = detector.order().slots().bytes() / 8;
    // Two sites; each with the other in any set of bytes.
    assert!((3..=2 + 2 * 256).contains(&numbers), "{numbers} numbers");
    detector.end(&mut main, none);
}
