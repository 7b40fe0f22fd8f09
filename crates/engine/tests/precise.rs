//! Small executions with known verdicts, for both precise detectors.

use engine::shadow::RuleName;
use engine::{Access, AtomicOp, Detector, Djit, FastTrack, Race, SyncOp};
use event::{AccessKind, Addr, FenceOrder, LoadOrder, RmwOrder, Site, StoreOrder, SyncId, Tid};

/// A detector, its threads, and the races found.
struct Run<D: Detector> {
    detector: D,
    threads: Vec<D::Thread>,
    races: Vec<Race>,
    step: u32,
}

impl<D: Detector + Default> Run<D> {
    /// Thread 0 has forked the others.
    fn new(threads: u32) -> Run<D> {
        let detector = D::default();
        let mut main = detector.root(Tid(0));
        let others: Vec<_> = (1..threads)
            .map(|t| detector.fork(&mut main, Tid(t), &mut |_| ()))
            .collect();
        let mut threads = vec![main];
        threads.extend(others);
        Run {
            detector,
            threads,
            races: Vec::new(),
            step: 0,
        }
    }
    fn access(&mut self, t: usize, kind: AccessKind, addr: u64, size: u32) -> &mut Self {
        self.step += 1;
        let access = Access {
            kind,
            addr: Addr(addr),
            size,
            site: Site(self.step),
        };
        let races = &mut self.races;
        self.detector
            .access(&mut self.threads[t], access, &mut |r| races.push(*r));
        self
    }
    fn r(&mut self, t: usize, addr: u64, size: u32) -> &mut Self {
        self.access(t, AccessKind::Read, addr, size)
    }
    fn w(&mut self, t: usize, addr: u64, size: u32) -> &mut Self {
        self.access(t, AccessKind::Write, addr, size)
    }
    fn sync(&mut self, t: usize, op: SyncOp) -> &mut Self {
        self.detector.sync(&mut self.threads[t], op, &mut |_| ());
        self
    }
    fn atomic(&mut self, t: usize, addr: u64, op: AtomicOp) -> &mut Self {
        self.step += 1;
        let races = &mut self.races;
        self.detector.atomic(
            &mut self.threads[t],
            Addr(addr),
            4,
            op,
            Site(self.step),
            &mut |r| races.push(*r),
        );
        self
    }
    fn pass(&mut self, from: usize, to: usize, id: u64) -> &mut Self {
        self.sync(from, SyncOp::Send(SyncId(id)))
            .sync(to, SyncOp::Receive(SyncId(id)))
    }
    /// Every byte with a race, in order.
    fn bytes(&self) -> Vec<u64> {
        let mut bytes: Vec<u64> = self
            .races
            .iter()
            .flat_map(|r| r.addr.0..r.addr.0 + u64::from(r.size))
            .collect();
        bytes.sort_unstable();
        bytes.dedup();
        bytes
    }
}

/// Runs `script` under both detectors: the same bytes race.
macro_rules! verdict {
    ($name:ident, $threads:expr, |$run:ident| $script:expr, $bytes:expr) => {
        #[test]
        fn $name() {
            let mut $run: Run<FastTrack> = Run::new($threads);
            $script;
            assert_eq!(
                $run.bytes(),
                $bytes.into_iter().collect::<Vec<u64>>(),
                "fasttrack"
            );
            let mut $run: Run<Djit> = Run::new($threads);
            $script;
            assert_eq!(
                $run.bytes(),
                $bytes.into_iter().collect::<Vec<u64>>(),
                "djit"
            );
        }
    };
}

verdict!(
    two_writes_race,
    2,
    |run| run.w(0, 64, 8).w(1, 64, 8),
    64..72
);
verdict!(two_reads_do_not, 2, |run| run.r(0, 64, 8).r(1, 64, 8), 0..0);
verdict!(
    only_shared_bytes_race,
    2,
    |run| run.w(0, 64, 4).w(1, 66, 4),
    66..68
);
verdict!(
    neighbours_do_not_race,
    3,
    |run| run.w(0, 64, 2).w(1, 66, 2).w(2, 68, 4),
    0..0
);
verdict!(
    across_words_and_pages,
    2,
    |run| run.w(0, 4090, 12).r(1, 4095, 2),
    4095..4097
);
verdict!(
    a_lock_orders,
    2,
    |run| run
        .sync(0, SyncOp::Acquire(SyncId(1)))
        .w(0, 64, 4)
        .sync(0, SyncOp::Release(SyncId(1)))
        .sync(1, SyncOp::Acquire(SyncId(1)))
        .w(1, 64, 4)
        .sync(1, SyncOp::Release(SyncId(1))),
    0..0
);
verdict!(
    after_the_release_is_unordered,
    2,
    |run| run.pass(0, 1, 1).w(0, 64, 4).r(1, 64, 4),
    64..68
);
verdict!(
    every_concurrent_reader_is_remembered,
    4,
    |run| run
        .r(1, 64, 4)
        .r(2, 64, 4)
        .r(3, 64, 4)
        .pass(2, 0, 1)
        .pass(3, 0, 2)
        .w(0, 64, 4),
    64..68
);
verdict!(
    readers_do_not_order_each_other,
    3,
    |run| run
        .w(0, 64, 4)
        .sync(0, SyncOp::Release(SyncId(1)))
        .sync(1, SyncOp::ReadAcquire(SyncId(1)))
        .w(1, 128, 4)
        .sync(1, SyncOp::ReadRelease(SyncId(1)))
        .sync(2, SyncOp::ReadAcquire(SyncId(1)))
        .r(2, 64, 4)
        .r(2, 128, 4),
    128..132
);
verdict!(
    a_writer_waits_for_readers,
    2,
    |run| run
        .sync(1, SyncOp::ReadAcquire(SyncId(1)))
        .r(1, 64, 4)
        .sync(1, SyncOp::ReadRelease(SyncId(1)))
        .sync(0, SyncOp::Acquire(SyncId(1)))
        .w(0, 64, 4),
    0..0
);
verdict!(
    release_and_acquire_order,
    2,
    |run| run
        .w(0, 64, 4)
        .atomic(0, 128, AtomicOp::Store(StoreOrder::Release))
        .atomic(1, 128, AtomicOp::Load(LoadOrder::Acquire))
        .r(1, 64, 4),
    0..0
);
verdict!(
    relaxed_does_not,
    2,
    |run| run
        .w(0, 64, 4)
        .atomic(0, 128, AtomicOp::Store(StoreOrder::Relaxed))
        .atomic(1, 128, AtomicOp::Load(LoadOrder::Acquire))
        .r(1, 64, 4),
    64..68
);
verdict!(
    fences_make_relaxed_ones_order,
    2,
    |run| run
        .w(0, 64, 4)
        .sync(0, SyncOp::Fence(FenceOrder::Release))
        .atomic(0, 128, AtomicOp::Store(StoreOrder::Relaxed))
        .atomic(1, 128, AtomicOp::Load(LoadOrder::Relaxed))
        .sync(1, SyncOp::Fence(FenceOrder::Acquire))
        .r(1, 64, 4),
    0..0
);
verdict!(
    a_store_breaks_the_release_sequence,
    3,
    |run| run
        .w(0, 64, 4)
        .atomic(0, 128, AtomicOp::Store(StoreOrder::Release))
        .atomic(1, 128, AtomicOp::Store(StoreOrder::Relaxed))
        .atomic(2, 128, AtomicOp::Load(LoadOrder::Acquire))
        .r(2, 64, 4),
    64..68
);
/// Also if the thread wrote there before, in the same epoch, and that raced with another atomic access.
#[test]
fn a_repeated_plain_write_breaks_the_release_sequence() {
    fn run<D: Detector + Default>() {
        let mut run = Run::<D>::new(3);
        run.r(0, 64, 4)
            .atomic(0, 128, AtomicOp::Rmw(RmwOrder::SeqCst))
            .w(1, 128, 1)
            .atomic(0, 128, AtomicOp::Store(StoreOrder::SeqCst))
            .w(1, 128, 1)
            .atomic(2, 128, AtomicOp::Load(LoadOrder::SeqCst))
            .w(2, 64, 4);
        assert_eq!(run.bytes(), [64, 65, 66, 67, 128]);
    }
    run::<Djit>();
    run::<FastTrack>();
}
verdict!(
    a_plain_write_breaks_the_sequence_of_a_store_after_another_one,
    2,
    |run| run
        .w(0, 64, 4)
        .atomic(0, 128, AtomicOp::Store(StoreOrder::Relaxed))
        .w(0, 128, 4)
        .atomic(0, 128, AtomicOp::Store(StoreOrder::Release))
        .w(0, 129, 1)
        .atomic(1, 128, AtomicOp::Load(LoadOrder::Relaxed))
        .sync(1, SyncOp::Fence(FenceOrder::Acquire))
        .r(1, 64, 4),
    (64..68).chain(128..132)
);
verdict!(
    an_rmw_continues_it,
    3,
    |run| run
        .w(0, 64, 4)
        .atomic(0, 128, AtomicOp::Store(StoreOrder::Release))
        .atomic(1, 128, AtomicOp::Rmw(RmwOrder::Relaxed))
        .atomic(2, 128, AtomicOp::Load(LoadOrder::Acquire))
        .r(2, 64, 4),
    0..0
);
verdict!(
    a_plain_write_resets_the_object,
    2,
    |run| run
        .w(0, 64, 4)
        .atomic(0, 128, AtomicOp::Store(StoreOrder::Release))
        .w(0, 131, 1)
        .atomic(1, 128, AtomicOp::Load(LoadOrder::Acquire))
        .r(1, 64, 4),
    (64..68).chain(131..132)
);
verdict!(
    atomic_and_plain_race,
    2,
    |run| run
        .atomic(0, 64, AtomicOp::Store(StoreOrder::SeqCst))
        .r(1, 64, 1),
    64..65
);
verdict!(
    atomics_do_not,
    2,
    |run| run
        .atomic(0, 64, AtomicOp::Store(StoreOrder::Relaxed))
        .atomic(1, 64, AtomicOp::Rmw(RmwOrder::Relaxed)),
    0..0
);
verdict!(
    an_atomic_does_not_hide_a_plain_write,
    2,
    |run| run
        .w(0, 64, 4)
        .atomic(0, 64, AtomicOp::Store(StoreOrder::Relaxed))
        .atomic(1, 64, AtomicOp::Load(LoadOrder::Relaxed)),
    64..68
);
verdict!(
    barrier_rounds,
    3,
    |run| run
        .w(0, 64, 4)
        .sync(0, SyncOp::Arrive(SyncId(1)))
        .sync(1, SyncOp::Arrive(SyncId(1)))
        .sync(0, SyncOp::Depart(SyncId(1)))
        .w(2, 128, 4)
        .sync(2, SyncOp::Arrive(SyncId(1)))
        .sync(1, SyncOp::Depart(SyncId(1)))
        .r(1, 64, 4)
        .r(1, 128, 4),
    128..132
);

/// A page is one location until somebody looks at a part of it, has runs until that is done too often, and that is counted.
#[test]
fn pages_are_split_once() {
    let detector = FastTrack::default();
    let mut me = detector.root(Tid(0));
    let elements = event::Elements {
        base: Addr(0x10_000),
        elem: 8,
        lo: 0,
        hi: 1024,
        stride: 1,
    };
    let none: engine::Sink<'_> = &mut |_: &Race| ();
    detector.range(&mut me, AccessKind::Write, elements, Site(1), none);
    let split = |detector: &FastTrack| detector.shadow().split_location(elements.base).is_some();
    for step in 0..512 {
        assert!(step != 10 || !split(&detector));
        let word = step * 71 % 512;
        let access = Access {
            kind: AccessKind::Read,
            addr: Addr(0x10_000 + 8 * word),
            size: 8,
            site: Site(2),
        };
        detector.access(&mut me, access, none);
    }
    assert!(split(&detector));
    let count = |rule| me.counts.get(rule);
    assert_eq!(
        [RuleName::WholePage, RuleName::RunPage, RuleName::PageSplit].map(count),
        [2, 1, 1]
    );
}

/// A grid that is swept in two colours keeps its runs: rows do not fall apart, however often they are swept.
#[test]
fn a_red_black_grid_keeps_its_runs() {
    const ROW: u64 = 1500;
    const ROWS: u64 = 8;
    let detector = FastTrack::default();
    let mut me = detector.root(Tid(0));
    let sweep = |me: &mut _, kind, row: u64, (lo, hi, stride): (u64, u64, u64), site| {
        let elements = event::Elements {
            base: Addr(0x10_010 + row * (8 * ROW + 16)),
            elem: 8,
            lo,
            hi,
            stride,
        };
        detector.range(me, kind, elements, Site(site), &mut |_: &Race| ());
    };
    for row in 0..ROWS {
        sweep(&mut me, AccessKind::Write, row, (0, ROW, 1), 1);
    }
    let split = |me: &<FastTrack as Detector>::Thread| me.counts.get(RuleName::RunSplit);
    let mut before = 0;
    for iteration in 0..100 {
        if iteration == 10 {
            before = split(&me);
        }
        for colour in 0..2 {
            for row in 1..ROWS - 1 {
                let from = 1 + (row + colour) % 2;
                let range = |shift: u64| (from + shift - 1, ROW - 2 + shift, 2);
                sweep(&mut me, AccessKind::Read, row - 1, range(1), 2);
                sweep(&mut me, AccessKind::Read, row + 1, range(1), 3);
                sweep(&mut me, AccessKind::Read, row, range(0), 4);
                sweep(&mut me, AccessKind::Read, row, range(2), 5);
                sweep(&mut me, AccessKind::Write, row, range(1), 6);
            }
            detector.sync(&mut me, SyncOp::Release(SyncId(1)), &mut |_| ());
        }
    }
    assert_eq!(me.counts.get(RuleName::PageSplit), 0);
    assert!(split(&me) - before < 100, "{} more", split(&me) - before);
    // Most of them are known: all but those of the first and the last rows, and ends.
    let counts = [RuleName::RunAgain, RuleName::Run].map(|rule| me.counts.get(rule));
    assert!(counts[0] > counts[1], "{counts:?}");
}

/// A range that a thread repeats needs no check, unless the memory is another's by then: whether the thread remembers it or the page does.
#[test]
fn a_repeated_range_of_new_memory_is_no_repetition() {
    for (kind, rule) in [
        (AccessKind::Read, RuleName::RangeSameEpoch),
        (AccessKind::Write, RuleName::RunSameEpoch),
    ] {
        let detector = FastTrack::default();
        let mut races = Vec::new();
        let mut main = detector.root(Tid(0));
        let mut reader = detector.fork(&mut main, Tid(1), &mut |_| ());
        let mut writer = detector.fork(&mut main, Tid(2), &mut |_| ());
        let elements = event::Elements {
            base: Addr(0x10_000),
            elem: 8,
            lo: 10,
            hi: 200,
            stride: 1,
        };
        for _ in 0..2 {
            detector.range(&mut reader, kind, elements, Site(1), &mut |_| ());
        }
        assert_eq!(reader.counts.get(rule), 1);
        detector.alloc(&mut main, elements.base, 8, 200, Site(2), &mut |_| ());
        detector.range(&mut reader, kind, elements, Site(3), &mut |_| ());
        let write = AccessKind::Write;
        detector.range(&mut writer, write, elements, Site(4), &mut |race| {
            races.push((race.addr, race.size, race.first.site));
        });
        assert_eq!(races, [(Addr(0x10_000 + 80), 190 * 8, Site(3))]);
        assert_eq!(reader.counts.get(rule), 1);
    }
}
