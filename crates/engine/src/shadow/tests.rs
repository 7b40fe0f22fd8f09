//! Every short history of one location, against a model that remembers all of it.

use alloc::vec::Vec;
use event::{AccessKind, Site, Tid};

use super::memo::LONGEST;
use super::{
    Asked, Cell, Conflict, Depot, DjitRule, FastTrackRule, Like, Location, Memo, Rule, Touch,
};
use crate::clock::{Published, ThreadClock};
use crate::random::Random;
use crate::sync::HappensBefore;

const THREADS: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    Access {
        thread: usize,
        kind: AccessKind,
        mask: u8,
        atomic: bool,
    },
    /// What the first did so far happens before what the second does from now on.
    Pass(usize, usize),
    /// The bytes become fresh.
    Clear(u8),
}

/// A byte's accesses, all of them: thread, its count of accesses then, write?, atomic?
#[derive(Default)]
struct Model {
    bytes: [Vec<(usize, u32, bool, bool)>; 8],
    /// How many accesses of each thread each thread knows.
    known: [[u32; THREADS]; THREADS],
    racy: u8,
}

impl Model {
    fn step(&mut self, step: Step) {
        match step {
            Step::Access {
                thread,
                kind,
                mask,
                atomic,
            } => {
                self.known[thread][thread] += 1;
                let write = kind == AccessKind::Write;
                for byte in (0..8).filter(|b| mask >> b & 1 != 0) {
                    let races = self.bytes[byte].iter().any(|&(other, count, w, a)| {
                        other != thread
                            && (w || write)
                            && !(a && atomic)
                            && self.known[thread][other] < count
                    });
                    self.racy |= u8::from(races) << byte;
                    self.bytes[byte].push((thread, self.known[thread][thread], write, atomic));
                }
            }
            Step::Pass(from, to) => {
                for t in 0..THREADS {
                    self.known[to][t] = self.known[to][t].max(self.known[from][t]);
                }
            }
            Step::Clear(mask) => {
                for byte in (0..8).filter(|b| mask >> b & 1 != 0) {
                    self.bytes[byte].clear();
                }
            }
        }
    }
}

/// The location under test, with a world around it that outlives one history.
struct World {
    order: HappensBefore,
    depot: Depot,
    main: ThreadClock,
    site: u32,
    quick: bool,
}

impl World {
    fn new() -> World {
        let order = HappensBefore::default();
        let main = order.root(Tid(0));
        World {
            order,
            depot: Depot::new(),
            main,
            site: 0,
            quick: false,
        }
    }

    /// The bytes that race, after each step.
    fn run<R: Rule>(&mut self, steps: &[Step], memo: fn() -> Memo) -> Vec<u8> {
        let location = Location::new();
        let mut threads: Vec<(ThreadClock, Memo)> = (0..THREADS)
            .map(|t| {
                let clock = self.order.fork(&mut self.main, Tid(1 + t as u32));
                (clock, memo())
            })
            .collect();
        let mut racy = 0;
        let mut verdicts = Vec::new();
        let mut found: Vec<Conflict> = Vec::new();
        for &step in steps {
            match step {
                Step::Access {
                    thread,
                    kind,
                    mask,
                    atomic,
                } => {
                    let (clock, memo) = &mut threads[thread];
                    let now = clock.epoch();
                    let asked = Asked::new(kind, mask);
                    let redundant = location.is_known(memo.settled(), now, asked);
                    if atomic || !redundant {
                        // Few sites, so that there are accesses to merge.
                        self.site = (self.site + 1) % 3;
                        let (epoch, number) = clock.stamp(self.order.slots(), Site(self.site / 2));
                        let touch = Touch {
                            cell: Cell::new(epoch, kind, mask, number),
                            atomic,
                            record: true,
                        };
                        // Half of them by the quick ways, where these are open.
                        self.quick ^= true;
                        let slots = self.order.slots();
                        let (depot, like) = (&self.depot, &mut { Like::NONE });
                        let done = !atomic
                            && self.quick
                            && (location
                                .touch_inline::<R>(clock, slots, touch.cell, like)
                                .is_some()
                                || location
                                    .touch_in_block::<R>(
                                        depot, clock, slots, memo, touch, &mut found,
                                    )
                                    .is_some());
                        if !done {
                            location.touch::<R>(depot, clock, slots, memo, touch, &mut found);
                        }
                        for conflict in found.drain(..) {
                            assert_ne!(conflict.old.slot(), clock.slot(), "{steps:?}");
                            racy |= conflict.mask;
                        }
                    }
                }
                Step::Pass(from, to) => {
                    let mut published = Published::new();
                    published.replace(threads[from].0.publish(self.order.slots()));
                    threads[to].0.learn(&published);
                }
                Step::Clear(mask) => {
                    location.clear(&self.depot, mask);
                }
            }
            verdicts.push(racy);
        }
        location.clear(&self.depot, 0xFF);
        assert!(location.is_untouched());
        for (clock, memo) in &mut threads {
            memo.flush(&self.depot);
            self.order.end(clock);
            self.order.join(&mut self.main, clock);
        }
        assert!(self.depot.is_empty(), "{steps:?} leaves something behind");
        verdicts
    }
}

/// Holds the verdicts on a history to the model.
fn hold(world: &mut World, steps: &[Step]) {
    let mut model = Model::default();
    let expected: Vec<u8> = steps
        .iter()
        .map(|&step| {
            model.step(step);
            model.racy
        })
        .collect();
    for memo in [Memo::default, Memo::alone, Memo::fickle] {
        let found = world.run::<FastTrackRule>(steps, memo);
        assert_eq!(found, expected, "fasttrack {steps:?}");
    }
    let found = world.run::<DjitRule>(steps, Memo::default);
    assert_eq!(found, expected, "djit {steps:?}");
}

/// All histories of `length` steps, the first of which is thread 0's (the others are the same but for names).
fn exhaust(alphabet: &[Step], length: usize) -> u64 {
    let mut world = World::new();
    let mut digits = alloc::vec![0usize; length];
    let mut histories = 0;
    loop {
        let steps: Vec<Step> = digits.iter().map(|&d| alphabet[d]).collect();
        if matches!(steps[0], Step::Access { thread: 0, .. }) {
            hold(&mut world, &steps);
            histories += 1;
        }
        let mut at = 0;
        loop {
            digits[at] += 1;
            if digits[at] < alphabet.len() {
                break;
            }
            digits[at] = 0;
            at += 1;
            if at == length {
                return histories;
            }
        }
    }
}

fn alphabet(masks: &[u8], atomics: &[bool], passes: &[(usize, usize)], clears: &[u8]) -> Vec<Step> {
    let mut steps = Vec::new();
    for thread in 0..THREADS {
        for kind in [AccessKind::Read, AccessKind::Write] {
            for &mask in masks {
                for &atomic in atomics {
                    steps.push(Step::Access {
                        thread,
                        kind,
                        mask,
                        atomic,
                    });
                }
            }
        }
    }
    steps.extend(passes.iter().map(|&(from, to)| Step::Pass(from, to)));
    steps.extend(clears.iter().map(|&mask| Step::Clear(mask)));
    steps
}

const ALL: &[(usize, usize)] = &[(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];

/// Two locations in one shared state part when it changes and states are shared no longer: each gets a block of its own.
#[test]
fn a_block_is_one_locations() {
    let World {
        order,
        depot,
        mut main,
        ..
    } = World::new();
    let locations = [Location::new(), Location::new()];
    let mut found = Vec::new();
    let mut threads: Vec<(ThreadClock, Memo)> = (0..4)
        .map(|t| (order.fork(&mut main, Tid(1 + t)), Memo::default()))
        .collect();
    let mut touch = |thread: &mut (ThreadClock, Memo), location: &Location, mask| {
        let (epoch, site) = thread.0.stamp(order.slots(), Site(0));
        let touch = Touch {
            cell: Cell::new(epoch, AccessKind::Read, mask, site),
            atomic: false,
            record: true,
        };
        let (clock, memo) = thread;
        location.touch::<FastTrackRule>(&depot, clock, order.slots(), memo, touch, &mut found);
    };
    for thread in &mut threads[..3] {
        locations.iter().for_each(|at| touch(thread, at, 0xFF));
    }
    let last = &mut threads[3];
    last.1 = Memo::alone();
    locations.iter().for_each(|at| touch(last, at, 0xFF));
    let histories = || locations.each_ref().map(|at| at.history(&depot).len());
    assert_eq!(histories(), [4, 4]);
    locations[0].clear(&depot, 0xFF);
    assert_eq!(histories(), [0, 4]);
    touch(&mut threads[0], &locations[0], 0x01);
    assert_eq!(histories(), [1, 4]);
}

#[test]
fn short_histories_of_everything() {
    exhaust(
        &alphabet(&[0x0F, 0x3C, 0xFF], &[false, true], ALL, &[0x0F, 0xFF]),
        3,
    );
}

#[test]
fn longer_histories_of_groups_of_bytes() {
    exhaust(
        &alphabet(
            &[0x0F, 0x3C, 0xFF],
            &[false],
            &[(0, 1), (1, 2), (2, 0)],
            &[0x0F],
        ),
        4,
    );
}

#[test]
fn longest_histories_of_one_group() {
    exhaust(&alphabet(&[0xFF], &[false], ALL, &[]), 6);
}

#[test]
fn histories_with_atomics() {
    exhaust(
        &alphabet(&[0xFF], &[false, true], &[(0, 1), (1, 2), (2, 0)], &[0xFF]),
        5,
    );
}

/// Long histories of a word with fields of any size, mostly of one thread, that are made fresh now and then: what is remembered takes every form and goes from each to each other.
#[test]
fn random_histories_of_fields() {
    let mut random = Random::new(7, 0);
    let mut below = |bound: u64| random.up_to(bound - 1);
    let mut world = World::new();
    for _ in 0..3000 {
        // How often somebody else comes, and how often things are ordered, is another matter in each history.
        let (others, passes, atomics) = (1 + below(12), 1 + below(12), below(3));
        let steps: Vec<Step> = (0..40)
            .map(|_| {
                let thread = if below(others) == 0 {
                    below(THREADS as u64) as usize
                } else {
                    0
                };
                let size = 1 << below(4);
                let mask = (((1u32 << size) - 1) << (below(8 / size) * size)) as u8;
                match below(6 + passes) {
                    0 => Step::Clear(mask),
                    1 => Step::Pass(thread, (thread + 1) % THREADS),
                    2.. if passes > 6 && below(2) == 0 => {
                        Step::Pass((thread + 2) % THREADS, thread)
                    }
                    _ => Step::Access {
                        thread,
                        kind: if below(2) == 0 {
                            AccessKind::Read
                        } else {
                            AccessKind::Write
                        },
                        mask,
                        atomic: atomics == 1 && below(10) == 0,
                    },
                }
            })
            .collect();
        hold(&mut world, &steps);
    }
}

/// Each reader keeps the state that it made: the last of many must not all be as long as there were readers before them.
#[test]
fn many_readers_keep_no_long_states() {
    let order = HappensBefore::default();
    let mut main = order.root(Tid(0));
    let depot = Depot::new();
    let location = Location::new();
    let mut readers: Vec<(ThreadClock, Memo)> = (1..=3000)
        .map(|t| (order.fork(&mut main, Tid(t)), Memo::default()))
        .collect();
    let mut found: Vec<Conflict> = Vec::new();
    let mut access = |kind, clock: &mut ThreadClock, memo: &mut Memo| {
        let (epoch, number) = clock.stamp(order.slots(), Site(1));
        let touch = Touch {
            cell: Cell::new(epoch, kind, 0xFF, number),
            atomic: false,
            record: true,
        };
        location.touch::<FastTrackRule>(&depot, clock, order.slots(), memo, touch, &mut found);
        found.len()
    };
    for (clock, memo) in &mut readers {
        assert_eq!(access(AccessKind::Read, clock, memo), 0);
    }
    assert!(depot.len() <= LONGEST, "{} states", depot.len());
    let races = access(AccessKind::Write, &mut main, &mut Memo::default());
    assert_eq!(races, readers.len());
}
