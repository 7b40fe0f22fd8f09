//! Reads in no order that a thread remembers, as lists of them are checked in a program: what is answered without a look at the shadow makes no
//! difference to the verdict.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{acq, cases, fork, op, rel, run};
use engine::precise::PreciseThread;
use engine::sync::{Bracket, HappensBefore};
use engine::{Access, AtomicOp, Detector, FastTrack, Limits, Sink, SyncOp};
use event::{AccessKind, Addr, Elements, Event, Op, Site, Tid};
use oracle::{Oracle, r#gen};

/// FastTrack, with reads of elements that are asked for in lists.
struct Lists {
    inner: FastTrack,
    answered: Arc<AtomicU64>,
}

impl Lists {
    fn read<const SHIFT: u32>(&self, thread: &mut PreciseThread, access: Access, races: Sink<'_>) {
        let shadow = self.inner.shadow();
        if shadow.scattered::<SHIFT>(thread, &[access.addr.0 as usize]) == 1 {
            self.answered.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let read = shadow.begin_scattered::<SHIFT>(thread, access.addr);
        self.inner.access(thread, access, races);
        shadow.keep_scattered(thread, read);
    }
}

impl Detector for Lists {
    type Thread = PreciseThread;
    fn root(&self, tid: Tid) -> PreciseThread {
        self.inner.root(tid)
    }
    fn fork(&self, parent: &mut PreciseThread, tid: Tid, races: Sink<'_>) -> PreciseThread {
        self.inner.fork(parent, tid, races)
    }
    fn end(&self, me: &mut PreciseThread, races: Sink<'_>) {
        self.inner.end(me, races);
    }
    fn join(&self, me: &mut PreciseThread, child: &mut PreciseThread, races: Sink<'_>) {
        self.inner.join(me, child, races);
    }
    fn access(&self, me: &mut PreciseThread, access: Access, races: Sink<'_>) {
        match (access.kind, access.size) {
            (AccessKind::Read, 1) => self.read::<0>(me, access, races),
            (AccessKind::Read, 2) => self.read::<1>(me, access, races),
            (AccessKind::Read, 4) => self.read::<2>(me, access, races),
            (AccessKind::Read, 8) => self.read::<3>(me, access, races),
            _ => self.inner.access(me, access, races),
        }
    }
    fn range(
        &self,
        me: &mut PreciseThread,
        kind: AccessKind,
        elements: Elements,
        site: Site,
        races: Sink<'_>,
    ) {
        self.inner.range(me, kind, elements, site, races);
    }
    fn alloc(
        &self,
        me: &mut PreciseThread,
        addr: Addr,
        elem: u8,
        len: u64,
        site: Site,
        races: Sink<'_>,
    ) {
        self.inner.alloc(me, addr, elem, len, site, races);
    }
    fn free(&self, me: &mut PreciseThread, addr: Addr, bytes: u64, site: Site, races: Sink<'_>) {
        self.inner.free(me, addr, bytes, site, races);
    }
    fn order(&self) -> &HappensBefore {
        self.inner.order()
    }
    fn bracketed(
        &self,
        me: &mut PreciseThread,
        bracket: &mut Bracket<'_>,
        size: u32,
        op: AtomicOp,
        site: Site,
        races: Sink<'_>,
    ) {
        self.inner.bracketed(me, bracket, size, op, site, races);
    }
    fn sync(&self, me: &mut PreciseThread, op: SyncOp, races: Sink<'_>) {
        self.inner.sync(me, op, races);
    }
}

/// Holds the verdict to the definition, and says how many reads were answered.
fn check(events: &[Event]) -> u64 {
    engine::set_quiesce(|| ());
    let answered = Arc::new(AtomicU64::new(0));
    common::check(events, |events| {
        let lists = Lists {
            inner: FastTrack::new(Limits::CELL),
            answered: Arc::clone(&answered),
        };
        let oracle = Oracle::new(events).expect("generators make well-formed traces");
        let (found, expected) = (run(lists, events).bytes(), oracle.racy_bytes());
        (found != expected).then(|| format!("racy bytes {found:x?}, expected {expected:x?}"))
    });
    answered.load(Ordering::Relaxed)
}

/// Threads that read the elements of a block again and again, now and then write one, take a lock, or free the block and get it back.
fn blocks(seed: u64) -> Vec<Event> {
    let mut rng = r#gen::Rng::new(seed);
    let threads = 2 + rng.below(2) as u32;
    let base = 0x10_0000;
    let alloc = Op::Alloc {
        addr: Addr(base),
        elem: 8,
        len: 4,
    };
    let mut events = vec![op(0, alloc)];
    events.extend((1..threads).map(|t| fork(0, t)));
    let mut thread = 0;
    for site in 1..10 + rng.below(40) as u32 {
        if rng.one_in(3) {
            thread = rng.below(u64::from(threads)) as u32;
        }
        let size = 1u32 << rng.below(4);
        let elements = 32 / u64::from(size);
        let addr = Addr(base + rng.below(elements.min(3)) * u64::from(size));
        let access = |kind| Op::Access { kind, addr, size };
        match rng.below(16) {
            0 => events.push(op(thread, access(AccessKind::Write))),
            1 | 2 => events.extend([acq(thread, 1), rel(thread, 1)]),
            3 => {
                let free = Op::Free { addr: Addr(base) };
                events.extend([op(thread, free), op(thread, alloc)]);
            }
            _ => events.push(Event {
                thread: Tid(thread),
                op: access(AccessKind::Read),
                site: Site(site),
            }),
        }
    }
    events
}

#[test]
fn random_traces() {
    let mut answered = 0;
    for seed in 0..cases(500, 100_000) {
        answered += check(&r#gen::random::arbitrary(seed, 200));
    }
    assert!(answered > 100, "{answered}");
}

#[test]
fn blocks_that_are_read_again_and_again() {
    let traces = cases(20_000, 500_000);
    let answered: u64 = (0..traces).map(|seed| check(&blocks(seed))).sum();
    assert!(answered > traces, "{answered}");
}
