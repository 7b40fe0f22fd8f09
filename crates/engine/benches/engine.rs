//! What the engine costs, an event at a time. `cargo bench -p footrace-engine --bench engine`.
//!
//! Targets, one core: sweeps 50 M events/s, random accesses 20 M events/s, a lock handed between two of
//! 1,000 threads at most 3 times as much as between two of 16.

use divan::{Bencher, black_box, counter::ItemsCount};
use engine::{Access, AtomicOp, Detector, Djit, FastTrack, SyncOp};
use event::{AccessKind, Addr, Elements, RmwOrder, Site, SyncId, Tid};

fn main() {
    divan::main();
}

const BASE: u64 = 0x7000_0000_0000;

fn access<D: Detector>(
    detector: &D,
    thread: &mut D::Thread,
    kind: AccessKind,
    addr: u64,
    size: u32,
) {
    let access = Access {
        kind,
        addr: Addr(addr),
        size,
        site: Site(7),
    };
    detector.access(thread, access, &mut |race| panic!("{race:?}"));
}

fn sweep<D: Detector + Default>(
    bencher: Bencher,
    kind: AccessKind,
    size: u32,
    bytes: u64,
    new_epoch: bool,
) {
    let detector = D::default();
    let mut main = detector.root(Tid(0));
    let events = bytes / u64::from(size);
    bencher.counter(ItemsCount::new(events)).bench_local(|| {
        if new_epoch {
            detector.sync(&mut main, SyncOp::Release(SyncId(1)), &mut |_| ());
        }
        for i in 0..events {
            access(&detector, &mut main, kind, BASE + i * u64::from(size), size);
        }
    });
}

const SWEEP: u64 = 1 << 20;

/// Every access is the first to its bytes in the epoch.
#[divan::bench(types = [FastTrack, Djit], args = [4, 8])]
fn write_sweep_new_epoch<D: Detector + Default>(bencher: Bencher, size: u32) {
    sweep::<D>(bencher, AccessKind::Write, size, SWEEP, true);
}

#[divan::bench(types = [FastTrack, Djit], args = [4, 8])]
fn read_sweep_new_epoch<D: Detector + Default>(bencher: Bencher, size: u32) {
    sweep::<D>(bencher, AccessKind::Read, size, SWEEP, true);
}

/// No access is.
#[divan::bench(types = [FastTrack, Djit], args = [4, 8])]
fn write_sweep_same_epoch<D: Detector + Default>(bencher: Bencher, size: u32) {
    sweep::<D>(bencher, AccessKind::Write, size, SWEEP, false);
}

fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Four threads read and write a table at random, in turns of 64 accesses, ordered by a lock.
#[divan::bench(types = [FastTrack, Djit], args = [1 << 16, 1 << 24])]
fn random<D: Detector + Default>(bencher: Bencher, bytes: u64) {
    let detector = D::default();
    let mut main = detector.root(Tid(0));
    let mut threads: Vec<_> = (1..5)
        .map(|t| detector.fork(&mut main, Tid(t), &mut |_| ()))
        .collect();
    for addr in (BASE..BASE + bytes).step_by(8) {
        access(&detector, &mut main, AccessKind::Write, addr, 8);
    }
    detector.sync(&mut main, SyncOp::Release(SyncId(1)), &mut |_| ());
    let mut state = 88_172_645_463_325_252;
    let turns = 64;
    bencher
        .counter(ItemsCount::new(4 * 64 * turns as u64))
        .bench_local(|| {
            for _ in 0..turns {
                for thread in &mut threads {
                    detector.sync(thread, SyncOp::Acquire(SyncId(1)), &mut |_| ());
                    for _ in 0..64 {
                        let r = xorshift(&mut state);
                        let kind = if r.is_multiple_of(4) {
                            AccessKind::Write
                        } else {
                            AccessKind::Read
                        };
                        access(&detector, thread, kind, BASE + (r >> 20) % bytes / 8 * 8, 8);
                    }
                    detector.sync(thread, SyncOp::Release(SyncId(1)), &mut |_| ());
                }
            }
        });
}

/// A range of pages at once, in a new epoch.
#[divan::bench]
fn range_sweep(bencher: Bencher) {
    let detector = FastTrack::default();
    let mut main = detector.root(Tid(0));
    let elements = Elements {
        base: Addr(BASE),
        elem: 8,
        lo: 0,
        hi: SWEEP / 8,
        stride: 1,
    };
    bencher.counter(ItemsCount::new(SWEEP / 8)).bench_local(|| {
        detector.sync(&mut main, SyncOp::Release(SyncId(1)), &mut |_| ());
        detector.range(&mut main, AccessKind::Write, elements, Site(1), &mut |_| ());
    });
}

/// All threads read one table without order, again and again in one epoch.
#[divan::bench(args = [2, 4, 16])]
fn read_shared(bencher: Bencher, readers: u32) {
    let detector = FastTrack::default();
    let mut main = detector.root(Tid(0));
    for i in 0..512 {
        access(&detector, &mut main, AccessKind::Write, BASE + 8 * i, 8);
    }
    let mut threads: Vec<_> = (0..readers)
        .map(|t| detector.fork(&mut main, Tid(1 + t), &mut |_| ()))
        .collect();
    bencher
        .counter(ItemsCount::new(512 * u64::from(readers)))
        .bench_local(|| {
            for thread in &mut threads {
                for i in 0..512 {
                    access(&detector, thread, AccessKind::Read, BASE + 8 * i, 8);
                }
            }
        });
}

/// A lock handed to and fro between two threads out of many, all of which know of each other.
#[divan::bench(args = [2, 16, 64, 1000, 10_000])]
fn lock_hand_off(bencher: Bencher, threads: u32) {
    let detector = FastTrack::default();
    let mut main = detector.root(Tid(0));
    let mut others: Vec<_> = (1..=threads)
        .map(|t| detector.fork(&mut main, Tid(t), &mut |_| ()))
        .collect();
    for _ in 0..2 {
        for thread in &mut others {
            access(
                &detector,
                thread,
                AccessKind::Write,
                BASE + 8 * u64::from(thread.clock.tid().0),
                8,
            );
            detector.sync(thread, SyncOp::Acquire(SyncId(1)), &mut |_| ());
            detector.sync(thread, SyncOp::Release(SyncId(1)), &mut |_| ());
        }
    }
    let (first, rest) = others.split_at_mut(1);
    let pair = [&mut first[0], rest.last_mut().expect("two threads")];
    bencher.counter(ItemsCount::new(4_u64)).bench_local(|| {
        for thread in [0, 1] {
            let thread = &mut *pair[thread];
            detector.sync(thread, SyncOp::Acquire(SyncId(2)), &mut |_| ());
            access(&detector, thread, AccessKind::Write, BASE, 8);
            detector.sync(thread, SyncOp::Release(SyncId(2)), &mut |_| ());
        }
    });
}

/// One thread takes and gives back a lock that nobody else wants.
#[divan::bench]
fn lock_uncontended(bencher: Bencher) {
    let detector = FastTrack::default();
    let mut main = detector.root(Tid(0));
    bencher.counter(ItemsCount::new(2_u64)).bench_local(|| {
        detector.sync(&mut main, SyncOp::Acquire(SyncId(2)), &mut |_| ());
        access(&detector, &mut main, AccessKind::Write, BASE, 8);
        detector.sync(&mut main, SyncOp::Release(SyncId(2)), &mut |_| ());
    });
}

/// Two threads add to one counter.
#[divan::bench]
fn atomic_add(bencher: Bencher) {
    let detector = FastTrack::default();
    let mut main = detector.root(Tid(0));
    let mut other = detector.fork(&mut main, Tid(1), &mut |_| ());
    bencher.counter(ItemsCount::new(2_u64)).bench_local(|| {
        for thread in [&mut main, &mut other] {
            let op = AtomicOp::Rmw(RmwOrder::AcqRel);
            detector.atomic(thread, Addr(BASE), 8, op, Site(1), &mut |_| ());
        }
    });
}

/// A thread is made, works and is waited for.
#[divan::bench]
fn fork_join(bencher: Bencher) {
    let detector = FastTrack::default();
    let mut main = detector.root(Tid(0));
    let mut tid = 0;
    bencher.bench_local(|| {
        tid += 1;
        let mut child = detector.fork(&mut main, Tid(tid), &mut |_| ());
        access(&detector, &mut child, AccessKind::Write, BASE, 8);
        detector.end(&mut child, &mut |_| ());
        detector.join(&mut main, &mut child, &mut |_| ());
        black_box(&child);
    });
}
