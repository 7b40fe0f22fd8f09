//! Atomic operations without a bracket, as the inlined checks make them: what is never told to the detector makes no difference
//! to its verdict.

mod common;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use common::{acq, cases, fork, op, read, rel, run, var, write};
use engine::precise::{PreciseThread, Raced};
use engine::shadow::Timeless;
use engine::sync::lent::Lent;
use engine::sync::quick::{self, LENT, LOAD, RELEASE, STORE, UPDATE};
use engine::sync::{Bracket, Effect, HappensBefore};
use engine::{Access, AtomicOp, Counters, Detector, FastTrack, Limits, Sink, SyncOp};
use event::{
    AccessKind, Addr, Elements, Event, FenceOrder, LoadOrder, Op, RmwOrder, Site, StoreOrder, Tid,
};
use oracle::r#gen::exhaustive::{Alphabet, enumerate_part};
use oracle::{Oracle, r#gen};

/// FastTrack behind the inlined part of atomic operations.
struct Quick {
    inner: FastTrack,
    skipped: Arc<AtomicU64>,
    /// Operations on objects that were lent.
    lent: Arc<AtomicU64>,
}

struct Me {
    inner: PreciseThread,
    /// By address: size, kinds, stretch and bias.
    repeats: HashMap<u64, (u32, u8, u64, u64)>,
    /// By address: what it was lent, and the bias.
    lent: HashMap<u64, (Lent, u64)>,
    idle: bool,
    state: AtomicU32,
}

impl Me {
    fn new(inner: PreciseThread) -> Me {
        Me {
            inner,
            repeats: HashMap::new(),
            lent: HashMap::new(),
            idle: false,
            state: AtomicU32::new(0),
        }
    }

    fn visit(&mut self) -> &mut PreciseThread {
        self.idle = false;
        &mut self.inner
    }
}

impl Counters for Me {
    fn each(&self, f: &mut dyn FnMut(&'static str, u64)) {
        self.inner.each(f);
    }
}

impl Quick {
    /// The access of an operation on an object that was lent, as the runtime makes it: most are easy.
    fn record(
        &self,
        thread: &mut PreciseThread,
        (addr, len): (Addr, u64),
        kind: AccessKind,
        site: Site,
        races: Sink<'_>,
    ) {
        let (order, shadow) = (self.inner.order(), self.inner.shadow());
        if let Some(mixed) = shadow.mixed(addr)
            && addr.0 % 8 + len <= 8
        {
            let (_, number) = thread.clock.stamp(order.slots(), site);
            let mask = (((1u32 << len) - 1) << (addr.0 % 8)) as u8;
            let access = Timeless::new(kind, mask, number);
            if let Some(Raced(raced)) = shadow.atomic_again(order, thread, mixed, access) {
                if raced {
                    let size = len as u32;
                    let access = Access {
                        kind,
                        addr,
                        size,
                        site,
                    };
                    shadow.tell_atomic(order, thread, access, races);
                }
                return;
            }
        }
        shadow.atomic_bytes(order, thread, kind, (addr, len), site, races);
    }
}

fn kind(op: AtomicOp) -> u8 {
    match op {
        AtomicOp::Load(_) => LOAD,
        AtomicOp::Store(order) if !order.releases() => STORE,
        AtomicOp::Rmw(order) if !order.releases() => UPDATE,
        AtomicOp::Store(_) | AtomicOp::Rmw(_) => RELEASE,
    }
}

impl Detector for Quick {
    type Thread = Me;
    fn root(&self, tid: Tid) -> Me {
        Me::new(self.inner.root(tid))
    }
    fn fork(&self, parent: &mut Me, tid: Tid, races: Sink<'_>) -> Me {
        Me::new(self.inner.fork(parent.visit(), tid, races))
    }
    fn end(&self, me: &mut Me, races: Sink<'_>) {
        self.inner.end(me.visit(), races);
    }
    fn join(&self, me: &mut Me, child: &mut Me, races: Sink<'_>) {
        self.inner.join(me.visit(), child.visit(), races);
    }
    fn access(&self, me: &mut Me, access: Access, races: Sink<'_>) {
        self.inner.access(me.visit(), access, races);
    }
    fn range(
        &self,
        me: &mut Me,
        kind: AccessKind,
        elements: Elements,
        site: Site,
        races: Sink<'_>,
    ) {
        self.inner.range(me.visit(), kind, elements, site, races);
    }
    fn alloc(&self, me: &mut Me, addr: Addr, elem: u8, len: u64, site: Site, races: Sink<'_>) {
        self.inner.alloc(me.visit(), addr, elem, len, site, races);
    }
    fn free(&self, me: &mut Me, addr: Addr, bytes: u64, site: Site, races: Sink<'_>) {
        self.inner.free(me.visit(), addr, bytes, site, races);
    }
    fn order(&self) -> &HappensBefore {
        self.inner.order()
    }
    fn bracketed(
        &self,
        me: &mut Me,
        bracket: &mut Bracket<'_>,
        size: u32,
        op: AtomicOp,
        site: Site,
        races: Sink<'_>,
    ) {
        let (addr, order) = (bracket.addr().0, self.inner.order());
        let clock = &me.inner.clock;
        if let Some(&(known, which, stretch, remembered)) = me.repeats.get(&addr)
            && (known, stretch) == (size, clock.stretch())
            && which & kind(op) != 0
            && (kind(op) != RELEASE || me.idle)
            && quick::begin(&me.state, bracket.bias(), remembered)
        {
            quick::end(&me.state);
            self.skipped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if let Some(&(lent, remembered)) = me.lent.get(&addr)
            && lent.admits(clock, size, Effect::of(op))
            && quick::begin_as(LENT, &me.state, bracket.bias(), remembered)
        {
            let bytes = (bracket.addr(), u64::from(size));
            let effect = Effect::of(op);
            let stands = order.stands_for_lent(clock, bytes.0, size, effect);
            if !stands {
                self.record(&mut me.inner, bytes, effect.kind(), site, races);
            }
            let (clock, time) = (&mut me.inner.clock, bracket.time(lent));
            order.end_lent(clock, time, (bytes.0, size), effect, stands);
            quick::end(&me.state);
            me.idle = me.inner.clock.is_idle();
            self.lent.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if bracket.is_biased() {
            order.expect(clock, bracket, op);
        }
        self.inner
            .bracketed(&mut me.inner, bracket, size, op, site, races);
        let clock = &me.inner.clock;
        if let Some(repeats) = order.repeats(clock, bracket, size, op) {
            let entry = (size, repeats.which, clock.stretch(), repeats.remembered);
            me.repeats.insert(addr, entry);
            if let Some(lent) = repeats.lent {
                me.lent.insert(addr, (lent, repeats.remembered));
            }
        }
        me.idle = me.inner.clock.is_idle();
    }
    fn sync(&self, me: &mut Me, op: SyncOp, races: Sink<'_>) {
        self.inner.sync(me.visit(), op, races);
    }
}

/// Holds the verdict to the definition, and says how many operations nobody was told of, and how many were on objects that were lent.
fn check(events: &[Event]) -> [u64; 2] {
    engine::set_quiesce(|| ());
    let counts: [Arc<AtomicU64>; 2] = Default::default();
    let [skipped, lent] = &counts;
    common::check(events, |events| {
        let quick = Quick {
            inner: FastTrack::new(Limits {
                row: 0,
                ..Limits::CELL
            }),
            skipped: Arc::clone(skipped),
            lent: Arc::clone(lent),
        };
        let oracle = Oracle::new(events).expect("generators make well-formed traces");
        let (found, expected) = (run(quick, events).bytes(), oracle.racy_bytes());
        (found != expected).then(|| format!("racy bytes {found:x?}, expected {expected:x?}"))
    });
    counts.map(|count| count.load(Ordering::Relaxed))
}

fn load(order: LoadOrder) -> Op {
    let (addr, size) = (var(0), 8);
    Op::Load { addr, size, order }
}

fn store(order: StoreOrder) -> Op {
    let (addr, size) = (var(0), 8);
    Op::Store { addr, size, order }
}

fn rmw(order: RmwOrder) -> Op {
    let (addr, size) = (var(0), 8);
    Op::Rmw { addr, size, order }
}

/// The same operation on another object.
fn on(mut atomic: Op, x: u64) -> Op {
    if let Op::Load { addr, .. } | Op::Store { addr, .. } | Op::Rmw { addr, .. } = &mut atomic {
        *addr = var(x);
    }
    atomic
}

/// A relaxed write after a fence is a release: who polls the object has to hear of it.
#[test]
fn a_fence_makes_a_relaxed_store_a_change() {
    let poll = || op(1, load(LoadOrder::Acquire));
    let [skipped, _] = check(&[
        fork(0, 1),
        poll(),
        poll(),
        poll(),
        write(0, 5, 1),
        op(0, Op::Fence(FenceOrder::Release)),
        op(0, store(StoreOrder::Relaxed)),
        poll(),
        read(1, 5, 2),
    ]);
    assert!(skipped > 0);
}

/// What the thread's fence left behind is in the object only as long as nobody stores there.
#[test]
fn a_fence_is_released_again_after_a_store_of_others() {
    check(&[
        fork(0, 1),
        write(0, 5, 1),
        op(0, Op::Fence(FenceOrder::Release)),
        op(0, rmw(RmwOrder::Relaxed)),
        op(1, store(StoreOrder::Release)),
        op(0, load(LoadOrder::Acquire)),
        op(0, rmw(RmwOrder::Relaxed)),
        op(1, load(LoadOrder::Acquire)),
        read(1, 5, 2),
    ]);
}

/// Threads that operate on one or two atomic objects, often several times in a row, between accesses to plain memory and
/// other synchronisation.
fn rows(seed: u64) -> Vec<Event> {
    let mut rng = r#gen::Rng::new(seed);
    let threads = 2 + rng.below(2) as u32;
    let objects = 1 + rng.below(2);
    let mut events: Vec<Event> = (1..threads).map(|t| fork(0, t)).collect();
    let mut thread = 0;
    for site in 1..10 + rng.below(40) as u32 {
        if rng.one_in(3) {
            thread = rng.below(u64::from(threads)) as u32;
        }
        let atomic = match rng.below(7) {
            0 => load(LoadOrder::Relaxed),
            1 => load(LoadOrder::Acquire),
            2 => store(StoreOrder::Relaxed),
            3 => store(StoreOrder::Release),
            4 => rmw(RmwOrder::Release),
            5 => rmw(RmwOrder::AcqRel),
            _ => rmw(RmwOrder::Relaxed),
        };
        let atomic = on(atomic, rng.below(objects));
        match rng.below(24) {
            0 => events.push(write(thread, rng.below(objects), site)),
            1 => events.push(op(thread, Op::Fence(FenceOrder::AcqRel))),
            2 => events.extend([acq(thread, 1), rel(thread, 1)]),
            3 | 4 => events.push(write(thread, 5, site)),
            5 | 6 => events.push(read(thread, 5, site)),
            row => {
                let times = if row < 16 { 1 } else { 1 + rng.below(4) };
                for _ in 0..times {
                    events.push(Event {
                        thread: Tid(thread),
                        op: atomic,
                        site: Site(site),
                    });
                }
            }
        }
    }
    events
}

#[test]
fn random_traces() {
    for seed in 0..cases(500, 100_000) {
        check(&r#gen::random::arbitrary(seed, 200));
    }
}

#[test]
fn rows_of_atomic_operations() {
    let traces = cases(40_000, 1_000_000);
    let (mut skipped, mut lent) = (0, 0);
    for seed in 0..traces {
        let counts = check(&rows(seed));
        skipped += counts[0];
        lent += counts[1];
    }
    assert!(skipped > traces && lent > traces, "{skipped} {lent}");
}

/// Every trace of atomic operations and fences up to a length, or a part of them.
#[test]
fn all_traces() {
    let mut skipped = 0;
    let part = cases(40, 1);
    let visited = enumerate_part(
        &Alphabet::atomics(),
        5,
        0,
        part,
        &mut |trace: &[Event]| {
            skipped += check(trace)[0];
        },
    );
    assert!(visited > 1_000 && skipped > 100, "{visited}, {skipped}");
}
