//! The appendix of the Pacer paper, rule by rule, as a slow twin of the detector.
//!
//! Tables 4 to 7 on maps, for the operations that the paper has. Where a rule's condition "race-free" fails, the model
//! reports and goes on as if it had held.
//!
//! The model may report more: it keeps a sampled access if its thread repeats it, not sampled, in the same epoch. What it reports beyond the detector is no shortest race (`pacer.rs` holds the detector to all of those).

mod common;

use common::*;
use engine::pacer::Pacer;
use event::{AccessKind, Addr, Event, Op, SyncId, Tid};
use oracle::r#gen::{self, Rng};
use std::collections::{BTreeMap, BTreeSet};

type Vector = BTreeMap<u32, u64>;

fn get(v: &Vector, t: u32) -> u64 {
    v.get(&t).copied().unwrap_or(0)
}
fn below(a: &Vector, b: &Vector) -> bool {
    a.iter().all(|(&t, &c)| c <= get(b, t))
}
fn join_into(a: &mut Vector, b: &Vector) {
    for (&t, &c) in b {
        let entry = a.entry(t).or_default();
        *entry = (*entry).max(c);
    }
}

/// A version epoch; `None` is the greatest one.
type Vepoch = Option<(u64, u32)>;

#[derive(Clone)]
struct Object {
    clock: Vector,
    vepoch: Vepoch,
}

#[derive(Default)]
struct Var {
    reads: Vector,
    write: (u64, u32),
}

#[derive(Default)]
struct Model {
    clocks: BTreeMap<u32, Vector>,
    versions: BTreeMap<u32, Vector>,
    objects: BTreeMap<(bool, SyncId), Object>,
    vars: BTreeMap<Addr, Var>,
    sampling: bool,
    reported: BTreeSet<u64>,
    fast: u64,
}

impl Model {
    fn ensure(&mut self, t: u32) {
        self.clocks
            .entry(t)
            .or_insert_with(|| Vector::from([(t, 1)]));
        self.versions
            .entry(t)
            .or_insert_with(|| Vector::from([(t, 1)]));
    }

    /// Rules 2 and 3.
    fn inc(&mut self, t: u32) {
        if self.sampling {
            *self.clocks.get_mut(&t).unwrap().entry(t).or_default() += 1;
            *self.versions.get_mut(&t).unwrap().entry(t).or_default() += 1;
        }
    }

    /// Rules 4 to 6.
    fn join_thread(&mut self, t: u32, clock: &Vector, vepoch: Vepoch) {
        let mine = self.clocks.get_mut(&t).unwrap();
        let versions = self.versions.get_mut(&t).unwrap();
        let known = below(clock, mine);
        if vepoch.is_some_and(|(v, u)| v <= get(versions, u)) {
            assert!(known, "rule 4: a version that was received is known");
            self.fast += 1;
            return;
        }
        if !known {
            join_into(mine, clock);
            *versions.entry(t).or_default() += 1;
        }
        if let Some((v, u)) = vepoch {
            versions.insert(u, v);
        }
    }

    fn vepoch(&self, t: u32) -> Vepoch {
        Some((get(&self.versions[&t], t), t))
    }

    fn object(&mut self, key: (bool, SyncId)) -> &mut Object {
        self.objects.entry(key).or_insert(Object {
            clock: Vector::new(),
            vepoch: Some((0, 0)),
        })
    }

    fn acquire(&mut self, t: u32, key: (bool, SyncId)) {
        let Object { clock, vepoch } = self.object(key).clone();
        self.join_thread(t, &clock, vepoch);
    }

    /// Rule 1.
    fn copy(&mut self, key: (bool, SyncId), t: u32) {
        let copy = Object {
            clock: self.clocks[&t].clone(),
            vepoch: self.vepoch(t),
        };
        *self.object(key) = copy;
    }

    /// Rules 7 to 9.
    fn volatile_write(&mut self, t: u32, key: (bool, SyncId)) {
        let mine = self.clocks[&t].clone();
        let object = self.object(key).clone();
        let same = object
            .vepoch
            .is_some_and(|(v, u)| v <= get(&self.versions[&t], u));
        if same || below(&object.clock, &mine) {
            assert!(below(&object.clock, &mine), "rule 7");
            self.copy(key, t);
        } else {
            let object = self.object(key);
            join_into(&mut object.clock, &mine);
            object.vepoch = None;
        }
    }

    /// Table 4.
    fn access(&mut self, t: u32, kind: AccessKind, addr: Addr) {
        let clock = &self.clocks[&t];
        let epoch = (get(clock, t), t);
        let var = self.vars.entry(addr).or_default();
        let write_known = var.write.0 <= get(clock, var.write.1);
        let reads_known = below(&var.reads, clock);
        let mut free = true;
        match kind {
            AccessKind::Read if var.reads == Vector::from([(t, epoch.0)]) => {}
            AccessKind::Read => {
                free = write_known;
                if var.reads.len() <= 1 && reads_known {
                    var.reads.clear();
                }
                if self.sampling {
                    var.reads.insert(t, epoch.0);
                } else {
                    var.reads.remove(&t);
                }
            }
            AccessKind::Write if var.write == epoch => {}
            AccessKind::Write => {
                free = write_known && reads_known;
                var.reads.clear();
                var.write = if self.sampling { epoch } else { (0, 0) };
            }
        }
        if !free {
            self.reported.insert(addr.0);
        }
    }

    /// Tables 5 and 6.
    fn step(&mut self, event: &Event) {
        let t = event.thread.0;
        self.ensure(t);
        match event.op {
            Op::Access { kind, addr, .. } => self.access(t, kind, addr),
            Op::Acquire(m) => self.acquire(t, (false, m)),
            Op::Release(m) => {
                self.copy((false, m), t);
                self.inc(t);
            }
            Op::VolatileRead(x) => self.acquire(t, (true, x)),
            Op::VolatileWrite(x) => {
                self.volatile_write(t, (true, x));
                self.inc(t);
            }
            Op::Fork(Tid(u)) => {
                self.ensure(u);
                let clock = self.clocks[&t].clone();
                self.join_thread(u, &clock, self.vepoch(t));
                self.inc(t);
            }
            Op::Join(Tid(u)) => {
                self.ensure(u);
                let clock = self.clocks[&u].clone();
                self.join_thread(t, &clock, self.vepoch(u));
                self.inc(u);
            }
            Op::SampleBegin => {
                self.sampling = true;
                let threads: Vec<u32> = self.clocks.keys().copied().collect();
                threads.into_iter().for_each(|t| self.inc(t));
            }
            Op::SampleEnd => self.sampling = false,
            _ => {}
        }
    }
}

/// A trace of the paper's operations on variables of 8 bytes.
fn trace(seed: u64) -> Vec<Event> {
    let mut rng = Rng::new(seed);
    let threads = 2 + rng.below(4);
    let mut events: Vec<Event> = (1..threads).map(|t| fork(0, t as u32)).collect();
    for _ in 0..rng.below(120) {
        let t = rng.below(threads) as u32;
        let (x, l) = (rng.below(3), rng.below(2));
        match rng.below(14) {
            0..=3 => events.push(read(t, x, 1)),
            4..=6 => events.push(write(t, x, 1)),
            7 => events.extend([acq(t, l), write(t, x, 1), rel(t, l)]),
            8 => events.extend([acq(t, l), read(t, x, 1), rel(t, l)]),
            9 => events.push(op(t, Op::VolatileWrite(SyncId(l)))),
            10 => events.push(op(t, Op::VolatileRead(SyncId(l)))),
            11 => events.push(op(t, Op::SampleBegin)),
            12 => events.push(op(t, Op::SampleEnd)),
            _ if rng.one_in(10) => events.push(join(0, t)),
            _ => {}
        }
    }
    r#gen::repair(events)
}

#[test]
fn whatever_the_detector_reports_the_paper_reports() {
    let (mut same, mut fewer, mut fast) = (0, 0, 0);
    for seed in 0..cases(10_000, 300_000) {
        let trace = trace(seed);
        let mut model = Model::default();
        trace.iter().for_each(|event| model.step(event));
        let found: BTreeSet<u64> = run(Pacer::new(None, 0), &trace)
            .races
            .iter()
            .map(|race| race.addr.0)
            .collect();
        assert!(found.is_subset(&model.reported), "{trace:#?}");
        let racy = oracle::Oracle::new(&trace)
            .expect("well-formed")
            .racy_bytes();
        assert!(model.reported.is_subset(&racy), "{trace:#?}");
        fast += model.fast;
        if found == model.reported {
            same += 1;
        } else {
            fewer += 1;
        }
    }
    assert!(same > 20 * fewer && fast > 0, "{same} {fewer}");
}
