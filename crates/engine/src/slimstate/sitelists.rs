//! Sites of a whole footprint under one number.
//!
//! A shadow location has room for one site, but stands for many elements, which one commit may have touched
//! from several sites. Then the location gets the number of a list of segments, and whoever reports a race on
//! an element looks it up there. Loops repeat themselves, so lists do: equal ones have one number. Objects in an array are touched one after the other, in the same way: so a list says only
//! where in the footprint a site was, and how long that is, and serves all footprints that are whole lengths apart.

use super::trail::{Segment, site_in};
use crate::detector::{Race, Sink};
use crate::lock::RwLock;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};
use event::{Addr, Site};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// Sites with this bit are numbers of lists. The program's own sites are below.
const LIST: u32 = 1 << 31;
/// Lists we keep. A program with more gets, for each location, the site of one of its elements.
const MOST: usize = 1 << 13;

#[derive(Debug)]
struct List {
    within: Within,
    /// Those of lists for arrays that were touched alike are the same.
    segments: Arc<[Segment]>,
    /// Everything else.
    other: Site,
}

/// What the indices of a list's segments mean: that of an element is `period` less for as many periods as there are before the footprint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Within {
    /// First byte of the array, less whole periods: arrays that were touched alike have one list, if they are whole periods apart.
    base: u64,
    /// log2 of the bytes in an element, at the time.
    shift: u8,
    /// Elements from the first of the footprint to its last.
    period: u64,
    /// The first of the footprint, less whole periods.
    first: u64,
}

impl Within {
    /// The index of the element at `addr`, which is in the footprint.
    const fn index(self, addr: u64) -> u64 {
        let index = (addr.saturating_sub(self.base) >> self.shift) % self.period;
        if index < self.first {
            index + self.period
        } else {
            index
        }
    }
}

/// A list that is looked for.
#[derive(PartialEq, Eq, Hash)]
struct Asked<'a> {
    within: Within,
    segments: &'a [Segment],
    other: Site,
}

impl List {
    fn asked(&self) -> Asked<'_> {
        Asked {
            within: self.within,
            segments: &self.segments,
            other: self.other,
        }
    }
}

#[derive(Debug, Default)]
struct Lists {
    all: Vec<List>,
    /// By hash.
    numbers: HashTable<u32>,
    /// All segments, by hash.
    segments: HashTable<Arc<[Segment]>>,
}

fn hash(of: &impl Hash) -> u64 {
    FxBuildHasher.hash_one(of)
}

impl Lists {
    fn number(&self, asked: &Asked<'_>, hash: u64) -> Option<u32> {
        let is = |&number: &u32| self.all[number as usize].asked() == *asked;
        self.numbers.find(hash, is).copied()
    }

    /// The number of a list that has none yet. None if there are too many.
    fn add(&mut self, asked: &Asked<'_>) -> Option<u32> {
        let number = self.all.len();
        if number >= MOST {
            return None;
        }
        let same = |known: &Arc<[Segment]>| **known == *asked.segments;
        let place = hash(&asked.segments);
        let segments = self
            .segments
            .entry(place, same, |known| hash(&&**known))
            .or_insert_with(|| asked.segments.into());
        self.all.push(List {
            within: asked.within,
            segments: segments.get().clone(),
            other: asked.other,
        });
        let hash_of = |&number: &u32| hash(&self.all[number as usize].asked());
        let numbers = &mut self.numbers;
        numbers.insert_unique(hash(asked), number as u32, hash_of);
        Some(number as u32)
    }
}

/// All lists of a detector.
#[derive(Debug, Default)]
pub(super) struct SiteLists {
    lists: RwLock<Lists>,
}

impl SiteLists {
    /// A number for the sites of a footprint from element `first` to `last`, or `None` if there are too many lists.
    pub(super) fn number(
        &self,
        (base, shift): (u64, u8),
        (first, last): (u64, u64),
        segments: &[Segment],
        other: Site,
    ) -> Option<Site> {
        let period = last - first + 1;
        let within = Within {
            base: base % (period << shift),
            shift,
            period,
            first: first % period,
        };
        let before = first - within.first;
        let hull = (first, last);
        let here = segments.iter().filter_map(|s| s.within(hull, before));
        let here: SmallVec<[Segment; 8]> = here.collect();
        if here.is_empty() {
            return Some(other);
        }
        let asked = Asked {
            within,
            segments: &here,
            other,
        };
        let hash = hash(&asked);
        let lists = self.lists.read();
        let known = lists.number(&asked, hash);
        if known.is_none() && lists.all.len() >= MOST {
            return None;
        }
        drop(lists);
        let number = known.or_else(|| {
            let mut lists = self.lists.write();
            let known = lists.number(&asked, hash);
            known.or_else(|| lists.add(&asked))
        });
        number.map(|number| Site(LIST | number))
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        let lists = self.lists.read();
        let segments = lists.segments.iter().map(|known| size_of_val(&**known));
        (lists.all.capacity() * size_of::<List>() + segments.sum::<usize>()) as u64
    }

    /// The site that touched the byte at `addr`, where its shadow says `site`.
    pub(super) fn resolve(&self, site: Site, addr: u64) -> Site {
        if site.0 & LIST == 0 {
            return site;
        }
        match self.lists.read().all.get((site.0 & !LIST) as usize) {
            Some(list) => site_in(&list.segments, list.other, list.within.index(addr)),
            None => site,
        }
    }

    /// Tells `races` of a race whose first site may be a list: one race for each run of bytes with one site.
    pub(super) fn report(&self, race: &Race, races: Sink<'_>) {
        if race.first.site.0 & LIST == 0 {
            return races(race);
        }
        let mut from = race.addr.0;
        let end = from + u64::from(race.size);
        while from < end {
            let site = self.resolve(race.first.site, from);
            let mut to = from + 1;
            while to < end && self.resolve(race.first.site, to) == site {
                to += 1;
            }
            let mut part = *race;
            part.addr = Addr(from);
            part.size = u32::try_from(to - from).unwrap_or(u32::MAX);
            part.first.site = site;
            part.elements = None;
            races(&part);
            from = to;
        }
    }
}
