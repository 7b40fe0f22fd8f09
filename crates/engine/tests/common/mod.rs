//! What the engine's tests share.
#![allow(dead_code, reason = "each test uses some of it")]

use engine::detector::{Access, AtomicOp, Counters, Detector, Hint, Race, Sink, SyncOp};
use engine::replay::Replay;
use engine::sync::{Bracket, HappensBefore};
use event::{AccessKind, Addr, Elements, Event, Op, Site, SyncId, Tid};
use oracle::Oracle;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Behind a filter: notes which plain accesses come through, by the number of the event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    now: Arc<AtomicUsize>,
    kept: Arc<Mutex<Vec<usize>>>,
    order: Arc<HappensBefore>,
}

impl Recorder {
    fn note(&self) {
        self.kept
            .lock()
            .unwrap()
            .push(self.now.load(Ordering::Relaxed));
    }
}

#[derive(Debug)]
pub(crate) struct Nobody;

impl Counters for Nobody {
    fn each(&self, _: &mut dyn FnMut(&'static str, u64)) {}
}

impl Detector for Recorder {
    type Thread = Nobody;
    fn root(&self, _: Tid) -> Nobody {
        Nobody
    }
    fn fork(&self, _: &mut Nobody, _: Tid, _: Sink<'_>) -> Nobody {
        Nobody
    }
    fn end(&self, _: &mut Nobody, _: Sink<'_>) {}
    fn join(&self, _: &mut Nobody, _: &mut Nobody, _: Sink<'_>) {}
    fn access(&self, _: &mut Nobody, _: Access, _: Sink<'_>) {
        self.note();
    }
    fn range(&self, _: &mut Nobody, _: AccessKind, _: Elements, _: Site, _: Sink<'_>) {
        self.note();
    }
    fn alloc(&self, _: &mut Nobody, _: Addr, _: u8, _: u64, _: Site, _: Sink<'_>) {}
    fn free(&self, _: &mut Nobody, _: Addr, _: u64, _: Site, _: Sink<'_>) {}
    fn order(&self) -> &HappensBefore {
        &self.order
    }
    fn bracketed(
        &self,
        _: &mut Nobody,
        _: &mut Bracket<'_>,
        _: u32,
        _: AtomicOp,
        _: Site,
        _: Sink<'_>,
    ) {
    }
    fn sync(&self, _: &mut Nobody, _: SyncOp, _: Sink<'_>) {}
    fn hint(&self, _: &mut Nobody, _: Hint) {}
}

/// A run of a filter or sampler: which plain accesses it dropped, and its counters.
pub(crate) struct Filtered {
    pub(crate) dropped: Vec<usize>,
    pub(crate) counters: BTreeMap<&'static str, u64>,
}

pub(crate) fn is_plain_access(event: &Event) -> bool {
    matches!(event.op, Op::Access { .. } | Op::Range { .. })
}

/// Runs `events` through what `make` puts in front of a recorder.
pub(crate) fn filter<D: Detector>(events: &[Event], make: impl FnOnce(Recorder) -> D) -> Filtered {
    let recorder = Recorder::default();
    let mut replay = Replay::new(make(recorder.clone()));
    for (i, event) in events.iter().enumerate() {
        recorder.now.store(i, Ordering::Relaxed);
        replay.step(event, &mut |_: &Race| {});
    }
    replay.finish(&mut |_: &Race| {});
    let kept = recorder.kept.lock().unwrap();
    let mut counters = BTreeMap::new();
    replay.counters(&mut |name, n| *counters.entry(name).or_default() += n);
    Filtered {
        dropped: (0..events.len())
            .filter(|i| is_plain_access(&events[*i]) && !kept.contains(i))
            .collect(),
        counters,
    }
}

/// The events that are not dropped.
pub(crate) fn without(events: &[Event], dropped: &[usize]) -> Vec<Event> {
    let kept = |i: &usize| !dropped.contains(i);
    (0..events.len()).filter(kept).map(|i| events[i]).collect()
}

/// Shows what `wrong` finds in a trace, on the smallest part of the trace in which it still finds something.
pub(crate) fn check(events: &[Event], wrong: impl Fn(&[Event]) -> Option<String>) {
    if wrong(events).is_some() {
        let small = oracle::r#gen::shrink(events, |events| wrong(events).is_some());
        panic!("{}\n{small:#?}", wrong(&small).unwrap_or_default());
    }
}

/// One side of a race as far as both can name it.
type Name = (Tid, Site, bool);

fn name(event: &Event) -> Name {
    let atomic = matches!(
        event.op,
        Op::Load { .. } | Op::Store { .. } | Op::Rmw { .. }
    );
    (event.thread, event.site, atomic)
}

/// What is wrong with the detector's verdict, if anything.
pub(crate) fn wrong<D: Detector>(detector: D, events: &[Event]) -> Option<String> {
    wrong_if(false, detector, events)
}

/// The same for one that puts checks off, so that it may find the later of two accesses first.
pub(crate) fn wrong_late<D: Detector>(detector: D, events: &[Event]) -> Option<String> {
    wrong_if(true, detector, events)
}

fn wrong_if<D: Detector>(late: bool, detector: D, events: &[Event]) -> Option<String> {
    let oracle = Oracle::new(events).expect("generators make well-formed traces");
    let report = run(detector, events);
    let (bytes, expected) = (report.bytes(), oracle.racy_bytes());
    if bytes != expected {
        return Some(format!("racy bytes {bytes:x?}, expected {expected:x?}"));
    }
    let real: BTreeSet<(Name, Name)> = oracle
        .pairs()
        .iter()
        .map(|pair| (name(&events[pair.first]), name(&events[pair.second])))
        .collect();
    for race in report.races {
        let side = |s: &engine::Side| (s.thread, s.site, s.atomic);
        let (first, second) = (side(&race.first), side(&race.second));
        let real = real.contains(&(first, second)) || late && real.contains(&(second, first));
        if !real {
            return Some(format!("{race:?} is no race"));
        }
        if race.first.kind == AccessKind::Read && race.second.kind == AccessKind::Read {
            return Some(format!("{race:?}: two reads"));
        }
    }
    None
}

/// How many traces to try: `FOOTRACE_LONG=1` for all of them.
pub(crate) fn cases(short: u64, long: u64) -> u64 {
    if std::env::var_os("FOOTRACE_LONG").is_some() {
        long
    } else {
        short
    }
}

/// What a detector reports of an execution, and its counters.
pub(crate) struct Report {
    pub(crate) races: Vec<Race>,
    pub(crate) counters: BTreeMap<&'static str, u64>,
}

impl Report {
    pub(crate) fn bytes(&self) -> BTreeSet<u64> {
        let bytes = |race: &Race| race.addr.0..race.addr.0 + u64::from(race.size);
        self.races.iter().flat_map(bytes).collect()
    }
}

pub(crate) fn run<D: Detector>(detector: D, events: &[Event]) -> Report {
    let mut replay = Replay::new(detector);
    let mut races = Vec::new();
    for event in events {
        replay.step(event, &mut |race| races.push(*race));
    }
    replay.finish(&mut |race| races.push(*race));
    let mut counters = BTreeMap::new();
    replay.counters(&mut |name, n| *counters.entry(name).or_default() += n);
    Report { races, counters }
}

/// The address of a variable of 8 bytes.
pub(crate) fn var(x: u64) -> Addr {
    Addr(0x1000 + 8 * x)
}

/// An access to elements of 8 bytes.
pub(crate) fn range(kind: AccessKind, base: Addr, lo: u64, hi: u64, stride: u64) -> Op {
    let elements = Elements {
        base,
        elem: 8,
        lo,
        hi,
        stride,
    };
    Op::Range { kind, elements }
}

pub(crate) fn read(thread: u32, x: u64, site: u32) -> Event {
    access(thread, AccessKind::Read, x, site)
}

pub(crate) fn write(thread: u32, x: u64, site: u32) -> Event {
    access(thread, AccessKind::Write, x, site)
}

pub(crate) fn access(thread: u32, kind: AccessKind, x: u64, site: u32) -> Event {
    Event {
        thread: Tid(thread),
        op: Op::Access {
            kind,
            addr: var(x),
            size: 8,
        },
        site: Site(site),
    }
}

pub(crate) fn op(thread: u32, op: Op) -> Event {
    Event {
        thread: Tid(thread),
        op,
        site: Site(0),
    }
}

pub(crate) fn fork(thread: u32, child: u32) -> Event {
    op(thread, Op::Fork(Tid(child)))
}
pub(crate) fn join(thread: u32, child: u32) -> Event {
    op(thread, Op::Join(Tid(child)))
}
pub(crate) fn acq(thread: u32, lock: u64) -> Event {
    op(thread, Op::Acquire(SyncId(lock)))
}
pub(crate) fn rel(thread: u32, lock: u64) -> Event {
    op(thread, Op::Release(SyncId(lock)))
}
