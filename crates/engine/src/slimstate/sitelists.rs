//! Sites of a whole footprint under one number.
//!
//! A shadow location has room for one site, but stands for many elements, which one commit may have touched
//! from several sites. Then the location gets the number of a list of segments, and whoever reports a race on
//! an element looks it up there. Loops repeat themselves, so lists do: equal ones have one number. Objects in an array are touched one after the other, in the same way: so a list says only
//! where in the footprint a site was, and how long that is, and serves all footprints that are whole lengths apart.

use super::pieces::Pieces;
use super::trail::{Segment, site_in};
use crate::detector::{Race, Sink};
use crate::lock::RwLock;
use alloc::boxed::Box;
use core::hash::{BuildHasher, Hash};
use event::{Addr, Site};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// Sites with this bit are numbers of lists. The program's own sites are below.
const LIST: u32 = 1 << 31;
/// Lists we keep. A program with more gets, for each location, the site of one of its elements.
const MOST: usize = 1 << 13;

/// What lists of arrays that were touched alike have in common.
#[derive(Debug)]
struct Kind {
    within: Within,
    segments: Box<[Segment]>,
    /// Everything else.
    other: Site,
}

/// What the indices of a list's segments mean: that of an element is `period` less for as many periods as there are before the footprint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Within {
    /// log2 of the bytes in an element, at the time.
    shift: u8,
    /// Elements from the first of the footprint to its last.
    period: u64,
    /// The first of the footprint, less whole periods.
    first: u64,
}

impl Within {
    /// The index of the element at `addr`, which is in the footprint of an array that begins at `base`.
    const fn index(self, base: u64, addr: u64) -> u64 {
        let index = (addr.saturating_sub(base) >> self.shift) % self.period;
        if index < self.first {
            index + self.period
        } else {
            index
        }
    }
}

/// A kind of lists that is looked for.
#[derive(PartialEq, Eq, Hash)]
struct Asked<'a> {
    within: Within,
    segments: &'a [Segment],
    other: Site,
}

impl Kind {
    fn asked(&self) -> Asked<'_> {
        Asked {
            within: self.within,
            segments: &self.segments,
            other: self.other,
        }
    }
}

/// A list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct List {
    /// First byte of the array, less whole periods: arrays that were touched alike have one list, if they are whole periods apart.
    base: u64,
    kind: u32,
}

#[derive(Debug, Default)]
struct Lists {
    kinds: Pieces<Kind>,
    all: Pieces<List>,
    /// Numbers of kinds, by hash.
    known_kinds: HashTable<u32>,
    /// Numbers of lists, by hash.
    known: HashTable<u32>,
}

fn hash(of: &impl Hash) -> u64 {
    FxBuildHasher.hash_one(of)
}

impl Lists {
    fn kind(&self, asked: &Asked<'_>) -> Option<u32> {
        let is = |&kind: &u32| self.kinds.get(kind as usize).asked() == *asked;
        self.known_kinds.find(hash(asked), is).copied()
    }

    fn number(&self, base: u64, asked: &Asked<'_>) -> Option<u32> {
        let kind = self.kind(asked)?;
        let list = List { base, kind };
        let is = |&number: &u32| *self.all.get(number as usize) == list;
        self.known.find(hash(&list), is).copied()
    }

    /// The number of a list that has none yet. None if there are too many.
    fn add(&mut self, base: u64, asked: &Asked<'_>) -> Option<u32> {
        let number = self.all.len();
        if number >= MOST {
            return None;
        }
        let kind = self.kind(asked).unwrap_or_else(|| self.add_kind(asked));
        let list = List { base, kind };
        self.all.push(list);
        let all = &self.all;
        let hash_of = |&number: &u32| hash(all.get(number as usize));
        self.known
            .insert_unique(hash(&list), number as u32, hash_of);
        Some(number as u32)
    }

    fn add_kind(&mut self, asked: &Asked<'_>) -> u32 {
        let number = self.kinds.len() as u32;
        self.kinds.push(Kind {
            within: asked.within,
            segments: asked.segments.into(),
            other: asked.other,
        });
        let kinds = &self.kinds;
        let hash_of = |&kind: &u32| hash(&kinds.get(kind as usize).asked());
        self.known_kinds.insert_unique(hash(asked), number, hash_of);
        number
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
            shift,
            period,
            first: first % period,
        };
        let base = base % (period << shift);
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
        let lists = self.lists.read();
        let known = lists.number(base, &asked);
        if known.is_none() && lists.all.len() >= MOST {
            return None;
        }
        drop(lists);
        let number = known.or_else(|| {
            let mut lists = self.lists.write();
            let known = lists.number(base, &asked);
            known.or_else(|| lists.add(base, &asked))
        });
        number.map(|number| Site(LIST | number))
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        let lists = self.lists.read();
        let segments = lists.kinds.iter().map(|kind| size_of_val(&*kind.segments));
        let kinds = lists.kinds.capacity() * size_of::<Kind>() + segments.sum::<usize>();
        let numbers = lists.known.capacity() + lists.known_kinds.capacity();
        let lists = lists.all.capacity() * size_of::<List>();
        (kinds + lists + numbers * size_of::<u32>()) as u64
    }

    /// The site that touched the byte at `addr`, where its shadow says `site`.
    pub(super) fn resolve(&self, site: Site, addr: u64) -> Site {
        if site.0 & LIST == 0 {
            return site;
        }
        let lists = self.lists.read();
        let number = (site.0 & !LIST) as usize;
        if number >= lists.all.len() {
            return site;
        }
        let List { base, kind } = *lists.all.get(number);
        let kind = lists.kinds.get(kind as usize);
        site_in(&kind.segments, kind.other, kind.within.index(base, addr))
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
