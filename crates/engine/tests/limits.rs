//! Beyond the numbers that fit into a shadow cell: nothing wraps around, nothing is forgotten.

use engine::precise::PreciseThread;
use engine::{Access, Detector, FastTrack, Race, SyncOp};
use event::{AccessKind, Addr, Site, SyncId, Tid};

fn touch(
    detector: &FastTrack,
    me: &mut PreciseThread,
    kind: AccessKind,
    addr: u64,
    site: u32,
) -> Vec<Race> {
    let mut races = Vec::new();
    let access = Access {
        kind,
        addr: Addr(addr),
        size: 8,
        site: Site(site),
    };
    detector.access(me, access, &mut |race| races.push(*race));
    races
}

fn sync(detector: &FastTrack, me: &mut PreciseThread, op: SyncOp) {
    detector.sync(me, op, &mut |_| ());
}

use AccessKind::{Read, Write};

/// More epochs than 20 bits can count: the thread moves to another slot, and what it did before is still its own.
#[test]
fn a_thread_outlives_its_clock() {
    let detector = FastTrack::default();
    let mut main = detector.root(Tid(0));
    let mut other = detector.fork(&mut main, Tid(1), &mut |_| ());
    assert!(touch(&detector, &mut main, Write, 64, 1).is_empty());
    let slot = main.clock.slot();
    for i in 0..1_200_000 {
        assert!(touch(&detector, &mut main, Write, 128, 2).is_empty());
        sync(&detector, &mut main, SyncOp::Release(SyncId(1)));
        if i == 600_000 {
            assert!(touch(&detector, &mut main, Write, 192, 3).is_empty());
        }
    }
    assert_ne!(main.clock.slot(), slot);
    assert!(touch(&detector, &mut main, Write, 64, 4).is_empty());
    // Nothing of all this is ordered for the other thread, until it acquires the lock.
    let races = touch(&detector, &mut other, Read, 192, 5);
    assert_eq!(races.len(), 1);
    assert_eq!(
        (races[0].first.thread, races[0].first.site),
        (Tid(0), Site(3))
    );
    sync(&detector, &mut other, SyncOp::Acquire(SyncId(1)));
    assert!(touch(&detector, &mut other, Write, 128, 6).is_empty());
    assert_eq!(touch(&detector, &mut other, Write, 64, 7).len(), 1);
}

/// More sites than 19 bits can name.
#[test]
fn a_thread_outlives_its_site_table() {
    let detector = FastTrack::default();
    let mut main = detector.root(Tid(0));
    let mut other = detector.fork(&mut main, Tid(1), &mut |_| ());
    let sites = 600_000;
    for site in 0..sites {
        assert!(
            touch(
                &detector,
                &mut main,
                Write,
                4096 + 8 * u64::from(site),
                site
            )
            .is_empty()
        );
    }
    for site in [0, 1, 300_000, 524_287, 524_288, sites - 1] {
        let races = touch(&detector, &mut other, Read, 4096 + 8 * u64::from(site), 1);
        assert_eq!(races.len(), 1);
        assert_eq!(
            (races[0].first.thread, races[0].first.site),
            (Tid(0), Site(site))
        );
    }
}

/// More threads, one after the other, than 16 bits can tell apart.
#[test]
fn slots_of_joined_threads_are_used_again() {
    let detector = FastTrack::default();
    let mut main = detector.root(Tid(0));
    // Never learns of the others' ends: it does not have to.
    let mut idle = detector.fork(&mut main, Tid(1), &mut |_| ());
    for tid in 2..150_000 {
        let mut child = detector.fork(&mut main, Tid(tid), &mut |_| ());
        assert!(touch(&detector, &mut child, Write, 64, tid).is_empty());
        detector.end(&mut child, &mut |_| ());
        detector.join(&mut main, &mut child, &mut |_| ());
    }
    assert!(
        detector.order().slots().taken() < 10,
        "{}",
        detector.order().slots().taken()
    );
    let races = touch(&detector, &mut idle, Read, 64, 1);
    assert_eq!(races.len(), 1);
    assert_eq!(races[0].first.thread, Tid(149_999));
}

/// A thread whose end nobody waited for keeps its slot; a thread from nowhere never gets a used one.
#[test]
fn slots_are_used_again_only_in_order() {
    let detector = FastTrack::default();
    let mut main = detector.root(Tid(0));
    let mut first = detector.fork(&mut main, Tid(1), &mut |_| ());
    assert!(touch(&detector, &mut first, Write, 64, 1).is_empty());
    detector.end(&mut first, &mut |_| ());
    let mut second = detector.fork(&mut main, Tid(2), &mut |_| ());
    assert_eq!(touch(&detector, &mut second, Write, 64, 2).len(), 1);
    detector.end(&mut second, &mut |_| ());
    detector.join(&mut main, &mut second, &mut |_| ());
    let mut nowhere = detector.root(Tid(3));
    assert_eq!(touch(&detector, &mut nowhere, Write, 64, 3).len(), 1);
    let mut third = detector.fork(&mut main, Tid(4), &mut |_| ());
    assert_eq!(third.clock.slot(), second.clock.slot());
    assert_eq!(touch(&detector, &mut third, Write, 64, 4).len(), 1);
}

/// A large block that is never looked at in detail costs next to nothing.
#[test]
fn large_blocks_are_cheap() {
    let detector = FastTrack::default();
    let mut main = detector.root(Tid(0));
    let mut other = detector.fork(&mut main, Tid(1), &mut |_| ());
    let (block, bytes) = (Addr(1 << 40), 1 << 32);
    detector.alloc(&mut main, block, 1, 1 << 46, Site(1), &mut |_| ());
    detector.free(&mut main, block, bytes, Site(2), &mut |_| ());
    let races = touch(&detector, &mut other, Read, block.0 + 12_344, 3);
    assert_eq!(races.len(), 1);
    assert_eq!((races[0].addr, races[0].size), (Addr(block.0 + 12_344), 8));
    // And handed out again, it is fresh.
    detector.alloc(&mut main, block, 1, bytes, Site(4), &mut |_| ());
    assert!(touch(&detector, &mut other, Write, block.0 + 12_344, 5).is_empty());
    assert!(touch(&detector, &mut other, Write, block.0 + (1 << 31), 6).is_empty());
}
