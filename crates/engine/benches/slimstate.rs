//! SlimState beside FastTrack, on memory that is an array and on memory that is not.
//! `cargo bench -p footrace-engine --bench slimstate`.
//!
//! Target: no slower than FastTrack on array-shaped work, at most 1.3 times on the rest.

use divan::{Bencher, counter::ItemsCount};
use engine::slimstate::SlimState;
use engine::{Access, Detector, FastTrack, SyncOp};
use event::{AccessKind, Addr, Site, SyncId, Tid};

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

fn alloc<D: Detector>(detector: &D, thread: &mut D::Thread, addr: u64, elem: u8, len: u64) {
    detector.alloc(thread, Addr(addr), elem, len, Site(1), &mut |_| ());
}

const LEN: u64 = 1 << 17;

/// One pass over an array in each region.
#[divan::bench(types = [FastTrack, SlimState], args = [1, 8])]
fn array_sweep<D: Detector + Default>(bencher: Bencher, elem: u8) {
    let detector = D::default();
    let mut main = detector.root(Tid(0));
    alloc(&detector, &mut main, BASE, elem, LEN);
    bencher.counter(ItemsCount::new(LEN)).bench_local(|| {
        for i in 0..LEN {
            let addr = BASE + i * u64::from(elem);
            access(
                &detector,
                &mut main,
                AccessKind::Write,
                addr,
                u32::from(elem),
            );
        }
        detector.sync(&mut main, SyncOp::Release(SyncId(1)), &mut |_| ());
    });
}

/// a[i] = b[i] + c[i].
#[divan::bench(types = [FastTrack, SlimState])]
fn three_arrays<D: Detector + Default>(bencher: Bencher) {
    let detector = D::default();
    let mut main = detector.root(Tid(0));
    let at = |array: u64, i: u64| BASE + array * (LEN * 8 + 4096) + i * 8;
    for array in 0..3 {
        alloc(&detector, &mut main, at(array, 0), 8, LEN);
    }
    bencher.counter(ItemsCount::new(3 * LEN)).bench_local(|| {
        for i in 0..LEN {
            access(&detector, &mut main, AccessKind::Read, at(1, i), 8);
            access(&detector, &mut main, AccessKind::Read, at(2, i), 8);
            access(&detector, &mut main, AccessKind::Write, at(0, i), 8);
        }
        detector.sync(&mut main, SyncOp::Release(SyncId(1)), &mut |_| ());
    });
}

/// Red-black: every other element of rows of 1000, read left, right and here, written here.
#[divan::bench(types = [FastTrack, SlimState])]
fn red_black<D: Detector + Default>(bencher: Bencher) {
    const N: u64 = 1000;
    const ROWS: u64 = 64;
    let detector = D::default();
    let mut main = detector.root(Tid(0));
    let at = |row: u64, i: u64| BASE + row * (N * 8 + 16) + i * 8;
    for row in 0..ROWS {
        alloc(&detector, &mut main, at(row, 0), 8, N);
    }
    let mut colour = 0;
    bencher
        .counter(ItemsCount::new(ROWS * (N / 2 - 1) * 4))
        .bench_local(|| {
            colour ^= 1;
            for row in 0..ROWS {
                for i in (1 + colour..N - 1).step_by(2) {
                    access(&detector, &mut main, AccessKind::Read, at(row, i - 1), 8);
                    access(&detector, &mut main, AccessKind::Read, at(row, i + 1), 8);
                    access(&detector, &mut main, AccessKind::Read, at(row, i), 8);
                    access(&detector, &mut main, AccessKind::Write, at(row, i), 8);
                }
            }
            detector.sync(&mut main, SyncOp::Release(SyncId(1)), &mut |_| ());
        });
}

fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Four threads read and write at random, in turns of 64 accesses, ordered by a lock.
fn random<D: Detector + Default>(bencher: Bencher, bytes: u64, array: bool) {
    let detector = D::default();
    let mut main = detector.root(Tid(0));
    if array {
        alloc(&detector, &mut main, BASE, 8, bytes / 8);
    }
    let mut threads: Vec<_> = (1..5)
        .map(|t| detector.fork(&mut main, Tid(t), &mut |_| ()))
        .collect();
    let mut state = 88_172_645_463_325_252;
    bencher
        .counter(ItemsCount::new(4 * 64_u64))
        .bench_local(|| {
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
        });
}

#[divan::bench(types = [FastTrack, SlimState], args = [1 << 16, 1 << 24])]
fn random_in_array<D: Detector + Default>(bencher: Bencher, bytes: u64) {
    random::<D>(bencher, bytes, true);
}

#[divan::bench(types = [FastTrack, SlimState], args = [1 << 16, 1 << 24])]
fn random_elsewhere<D: Detector + Default>(bencher: Bencher, bytes: u64) {
    random::<D>(bencher, bytes, false);
}

/// Small blocks come and go.
#[divan::bench(types = [FastTrack, SlimState], args = [4, 64])]
fn blocks<D: Detector + Default>(bencher: Bencher, len: u64) {
    let detector = D::default();
    let mut main = detector.root(Tid(0));
    let mut state = 88_172_645_463_325_252;
    bencher.counter(ItemsCount::new(1000_u64)).bench_local(|| {
        for _ in 0..1000 {
            let addr = BASE + (xorshift(&mut state) >> 40) % 4096 * 1024;
            alloc(&detector, &mut main, addr, 8, len);
            for i in 0..len {
                access(&detector, &mut main, AccessKind::Write, addr + 8 * i, 8);
            }
            detector.free(&mut main, Addr(addr), 8 * len, Site(2), &mut |_| ());
        }
    });
}
