//! All small traces that differ in their accesses only, in lock-step.
//!
//! A *skeleton* is a trace in which it is open what the accesses access. Plain accesses order nothing, so happens-before is the same for all
//! ways to fill it in. Many of them make one execution: each has memory of its own, threads and locks are shared; where the
//! skeleton has an access, each makes its own; where it has another event, that happens once. So a trace of five events costs a detector
//! five accesses at most, and neither threads nor synchronisation of its own.
//!
//! The truth is the oracle's, in two parts. A race is a pair of conflicting accesses that happens-before does not order. The order of the
//! skeleton's events is asked of the oracle once; on which bytes two accesses conflict, once for each pair of accesses.

use crate::conformance::check_these;
use crate::detectors::{self, Entry, Options, Visitor};
use engine::{Detector, Race, replay::Replay};
use event::{AccessKind, Addr, Event, Op, Site, Tid};
use oracle::Oracle;
use oracle::r#gen::Alphabet;
use oracle::r#gen::exhaustive::{ARRAY, LEN, SCALAR, WORD, allocation, moved};

/// Racy bytes of one trace, a bit for each: the scalar's, then the array's.
type Bytes = u64;

/// Bytes from the memory of one trace to that of the next.
const APART: u64 = 64;

const SCALAR_BYTES: u64 = WORD as u64;
const ARRAY_BYTES: u64 = LEN * WORD as u64;

/// Where in the program the accesses of a trace are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Places {
    /// All reads in one place, all writes in another, as in a loop: filters see repetitions, SlimState's streams go on.
    ByKind,
    /// Each event in a place of its own.
    Apart,
}

/// What to check: all ways to fill in skeletons, or some.
#[derive(Clone, Copy, Debug)]
pub struct Lockstep<'a> {
    /// The accesses to fill in.
    pub alphabet: &'a Alphabet,
    /// One in so many. Prime, if it is not 1: then all accesses occur in all places.
    pub sample: u64,
    /// Where the accesses are.
    pub places: Places,
    /// Whom to hold to the truth: detectors that promise to be exact.
    pub detectors: &'a [Entry],
    /// How they are set up.
    pub options: &'a Options,
}

/// For each pair of accesses of an alphabet the bytes on which they conflict.
#[derive(Clone, Debug)]
pub struct Conflicts {
    of: Vec<Vec<Bytes>>,
}

impl Conflicts {
    /// Asks the oracle: two accesses of two threads and nothing else.
    pub fn new(alphabet: &Alphabet) -> Self {
        let pair = |a: &Op, b: &Op| {
            let event = |thread, op| Event {
                thread: Tid(thread),
                op,
                site: Site(0),
            };
            let trace = [allocation(), event(0, *a), event(1, *b)];
            Oracle::new(&trace).map_or(0, |oracle| {
                oracle.racy_bytes().iter().fold(0, |set, &byte| {
                    set | place(byte).map_or(0, |(_, bit)| 1 << bit)
                })
            })
        };
        let accesses = &alphabet.accesses;
        Conflicts {
            of: accesses
                .iter()
                .map(|a| accesses.iter().map(|b| pair(a, b)).collect())
                .collect(),
        }
    }
}

/// Which trace's, and which of its bytes?
fn place(byte: u64) -> Option<(usize, u64)> {
    let (from, bytes, first) = if byte >= ARRAY.0 {
        (ARRAY, ARRAY_BYTES, SCALAR_BYTES)
    } else {
        (SCALAR, SCALAR_BYTES, 0)
    };
    let offset = byte.checked_sub(from.0)?;
    let within = offset % APART;
    (within < bytes).then_some(((offset / APART) as usize, first + within))
}

fn is_hole(event: &Event) -> bool {
    matches!(event.op, Op::Access { .. })
}

/// A skeleton, and the ways to fill it in that are under way.
struct Filling<'a> {
    job: &'a Lockstep<'a>,
    skeleton: &'a [Event],
    /// Where its accesses are.
    holes: Vec<usize>,
    /// The pairs of accesses, by their place among the holes, that can race: different threads, not ordered.
    unordered: Vec<(usize, usize)>,
}

/// No more traces at once: SlimState's commit buffers have room for the footprints of 2048 arrays, so none is committed for want of it.
const ABREAST: usize = 1024;

impl Lockstep<'_> {
    /// Checks the skeleton. Says how many traces that were. `first` is where a sample begins.
    pub fn check(
        &self,
        conflicts: &Conflicts,
        skeleton: &[Event],
        first: u64,
    ) -> Result<u64, String> {
        let oracle = Oracle::new(skeleton).map_err(|e| e.to_string())?;
        let filling = self.filling(skeleton, &oracle);
        let mut numbers = (first % self.sample..self.ways(skeleton))
            .step_by(self.sample as usize)
            .peekable();
        let mut checked = 0;
        while numbers.peek().is_some() {
            let some: Vec<u64> = numbers.by_ref().take(ABREAST).collect();
            filling.check(conflicts, &some)?;
            checked += some.len() as u64;
        }
        Ok(checked)
    }

    /// How many ways there are to fill in a skeleton.
    pub fn ways(&self, skeleton: &[Event]) -> u64 {
        let holes = skeleton.iter().filter(|event| is_hole(event)).count();
        (self.alphabet.accesses.len() as u64).saturating_pow(holes as u32)
    }

    fn filling<'s>(&'s self, skeleton: &'s [Event], oracle: &Oracle) -> Filling<'s> {
        let holes: Vec<usize> = (0..skeleton.len())
            .filter(|&i| is_hole(&skeleton[i]))
            .collect();
        let pairs = (0..holes.len()).flat_map(|a| (a + 1..holes.len()).map(move |b| (a, b)));
        let unordered = pairs.filter(|&(a, b)| {
            let (i, j) = (holes[a], holes[b]);
            skeleton[i].thread != skeleton[j].thread && !oracle.happens_before(i, j)
        });
        Filling {
            job: self,
            skeleton,
            unordered: unordered.collect(),
            holes,
        }
    }
}

impl Filling<'_> {
    /// The accesses of the filling of that number, by their numbers in the alphabet.
    fn choice(&self, number: u64) -> impl Iterator<Item = usize> {
        let base = self.job.alphabet.accesses.len() as u64;
        let mut rest = number;
        (0..self.holes.len()).map(move |_| {
            let digit = rest % base;
            rest /= base;
            digit as usize
        })
    }

    fn event(&self, at: usize, access: usize) -> Event {
        let op = self.job.alphabet.accesses[access];
        let site = match (self.job.places, op) {
            (Places::Apart, _) => at as u32 + 2,
            (
                Places::ByKind,
                Op::Access {
                    kind: AccessKind::Write,
                    ..
                }
                | Op::Range {
                    kind: AccessKind::Write,
                    ..
                },
            ) => 3,
            (Places::ByKind, _) => 2,
        };
        Event {
            op,
            site: Site(site),
            ..self.skeleton[at]
        }
    }

    /// One of the traces, alone.
    fn trace(&self, number: u64) -> Vec<Event> {
        let mut trace = self.skeleton.to_vec();
        for (access, &at) in self.choice(number).zip(&self.holes) {
            trace[at] = self.event(at, access);
        }
        trace
    }

    fn truth(&self, conflicts: &Conflicts, choice: &[usize]) -> Bytes {
        self.unordered
            .iter()
            .fold(0, |set, &(a, b)| set | conflicts.of[choice[a]][choice[b]])
    }

    fn check(&self, conflicts: &Conflicts, numbers: &[u64]) -> Result<(), String> {
        let choices: Vec<Vec<usize>> = numbers.iter().map(|&n| self.choice(n).collect()).collect();
        let truth: Vec<Bytes> = choices.iter().map(|c| self.truth(conflicts, c)).collect();
        let events = self.side_by_side(&choices);
        for detector in self.job.detectors {
            let run = Run {
                events: &events,
                traces: numbers.len(),
            };
            let found = detectors::with(detector.name, self.job.options, run)
                .map_err(|unknown| unknown.to_string())?;
            if found == truth {
                continue;
            }
            for &number in numbers {
                check_these([detector], self.job.options, &self.trace(number))?;
            }
            return Err(format!(
                "{} is right on each of {} traces alone, and differs from the oracle on all of them in lock-step: {events:?}",
                detector.name,
                numbers.len(),
            ));
        }
        Ok(())
    }

    fn side_by_side(&self, choices: &[Vec<usize>]) -> Vec<Event> {
        let mut events = Vec::with_capacity(choices.len() * self.skeleton.len());
        let mut hole = 0;
        for (at, event) in self.skeleton.iter().enumerate() {
            let each = match event.op {
                Op::Access { .. } => {
                    hole += 1;
                    Some(hole - 1)
                }
                Op::Alloc { .. } => None,
                _ => {
                    events.push(*event);
                    continue;
                }
            };
            events.extend(choices.iter().zip(0..).map(|(choice, number)| {
                let own = each.map_or(*event, |hole| self.event(at, choice[hole]));
                moved(own, number * APART)
            }));
        }
        events
    }
}

struct Run<'a> {
    events: &'a [Event],
    traces: usize,
}

impl Visitor for Run<'_> {
    type Output = Vec<Bytes>;

    fn visit<D: Detector + 'static>(self, detector: D) -> Vec<Bytes> {
        let mut replay = Replay::new(detector);
        let mut racy = vec![0; self.traces];
        let mut sink = |race: &Race| {
            let Race {
                addr: Addr(from),
                size,
                ..
            } = *race;
            for byte in from..from + u64::from(size) {
                // A byte of no trace is a false alarm: the first trace is charged with all of them.
                match place(byte) {
                    Some((trace, bit)) if trace < self.traces => racy[trace] |= 1 << bit,
                    _ => racy[0] = Bytes::MAX,
                }
            }
        };
        for event in self.events {
            replay.step(event, &mut sink);
        }
        replay.finish(&mut sink);
        racy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::truth;
    use oracle::r#gen::exhaustive::skeletons;

    /// The truth in two parts is the oracle's about the whole trace.
    #[test]
    fn truth_in_parts() {
        let alphabet = Alphabet::full();
        let conflicts = Conflicts::new(&alphabet);
        let job = Lockstep {
            alphabet: &alphabet,
            sample: 1,
            places: Places::Apart,
            detectors: &[],
            options: &Options::default(),
        };
        let mut rng = oracle::r#gen::Rng::new(7);
        let mut racy = 0;
        for skeleton in skeletons(&alphabet, 5) {
            let oracle = Oracle::new(&skeleton).unwrap();
            let filling = job.filling(&skeleton, &oracle);
            let number = rng.below(job.ways(&skeleton));
            let choice: Vec<usize> = filling.choice(number).collect();
            let parts = filling.truth(&conflicts, &choice);
            let whole = truth(&filling.trace(number));
            let whole = whole
                .runs()
                .flatten()
                .fold(0, |set, byte| set | 1 << place(byte).unwrap().1);
            assert_eq!(parts, whole, "{:?}", filling.trace(number));
            racy += u64::from(whole != 0);
        }
        assert!(racy > 100);
    }
}
