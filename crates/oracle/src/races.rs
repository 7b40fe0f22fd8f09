//! Every racy pair of an execution, by looking at every pair.

use crate::graph::{HappensBefore, access, bytes, track_blocks};
use crate::wellformed::{Malformed, check};
use event::{AccessKind, Event, Op, Site};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Two accesses that race, as indices into the execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The earlier one.
    pub first: usize,
    /// The later one.
    pub second: usize,
    /// The bytes they race on: ascending, disjoint, not touching.
    pub bytes: Vec<Range<u64>>,
}

/// Two places in the program that race, with what each does there; the lesser side first.
pub type SitePair = ((Site, AccessKind), (Site, AccessKind));

/// An execution with its happens-before relation.
#[derive(Debug)]
pub struct Oracle {
    events: Vec<Event>,
    order: HappensBefore,
}

impl Oracle {
    /// Takes an execution; says what is wrong with it if it is none.
    pub fn new(events: &[Event]) -> Result<Self, Malformed> {
        check(events)?;
        Ok(Oracle {
            order: HappensBefore::new(events),
            events: events.to_vec(),
        })
    }

    /// Does event `i` happen before event `j`?
    pub fn happens_before(&self, i: usize, j: usize) -> bool {
        self.order.before(i, j)
    }

    /// Do these two accesses, `i` earlier than `j`, race if they share a byte?
    fn conflict(&self, i: usize, j: usize) -> bool {
        let (Some((a, a_atomic)), Some((b, b_atomic))) =
            (access(&self.events[i].op), access(&self.events[j].op))
        else {
            return false;
        };
        self.events[i].thread != self.events[j].thread
            && (a == AccessKind::Write || b == AccessKind::Write)
            && !(a_atomic && b_atomic)
            && !self.order.before(i, j)
    }

    /// Calls `f` with each racy pair and each run of bytes, at no boundary of an access inside it, that
    /// they race on. `f` says whether to go on with these bytes.
    pub fn each(&self, mut f: impl FnMut(usize, usize, Range<u64>) -> bool) {
        let mut blocks = BTreeMap::new();
        let mut touched = Vec::with_capacity(self.events.len());
        let mut cuts = BTreeSet::new();
        for event in &self.events {
            let ranges = bytes(&event.op, &blocks);
            track_blocks(&event.op, &mut blocks);
            for range in &ranges {
                cuts.insert(range.start);
                cuts.insert(range.end);
            }
            touched.push(ranges);
        }
        // Memory falls into cells that every event touches wholly or not at all.
        let cuts: Vec<u64> = cuts.into_iter().collect();
        let mut accesses: Vec<Vec<usize>> = vec![Vec::new(); cuts.len()];
        let mut done = vec![false; cuts.len()];
        for (j, ranges) in touched.iter().enumerate() {
            for range in ranges {
                let from = cuts.partition_point(|&c| c < range.start);
                let to = cuts.partition_point(|&c| c < range.end);
                for cell in from..to {
                    if matches!(self.events[j].op, Op::Alloc { .. }) {
                        accesses[cell].clear();
                        continue;
                    }
                    for &i in &accesses[cell] {
                        if !done[cell] && self.conflict(i, j) {
                            done[cell] = !f(i, j, cuts[cell]..cuts[cell + 1]);
                        }
                    }
                    accesses[cell].push(j);
                }
            }
        }
    }

    /// Every racy pair, ordered by the later event, then by the earlier.
    pub fn pairs(&self) -> Vec<Pair> {
        let mut found: BTreeMap<(usize, usize), Vec<Range<u64>>> = BTreeMap::new();
        self.each(|i, j, cell| {
            let ranges = found.entry((j, i)).or_default();
            match ranges.last_mut() {
                Some(last) if last.end == cell.start => last.end = cell.end,
                _ => ranges.push(cell),
            }
            true
        });
        found
            .into_iter()
            .map(|((second, first), bytes)| Pair {
                first,
                second,
                bytes,
            })
            .collect()
    }

    /// Every byte that some pair races on.
    pub fn racy_bytes(&self) -> BTreeSet<u64> {
        let mut racy = BTreeSet::new();
        self.each(|_, _, cell| {
            racy.extend(cell);
            false
        });
        racy
    }

    /// The racy pairs as pairs of places in the program.
    pub fn site_pairs(&self) -> BTreeSet<SitePair> {
        let mut found = BTreeSet::new();
        self.each(|i, j, _| {
            found.insert(self.site_pair(i, j));
            true
        });
        found
    }

    fn site_pair(&self, i: usize, j: usize) -> SitePair {
        let side = |k: usize| {
            let kind = access(&self.events[k].op).map_or(AccessKind::Read, |(kind, _)| kind);
            (self.events[k].site, kind)
        };
        (side(i).min(side(j)), side(i).max(side(j)))
    }
}
