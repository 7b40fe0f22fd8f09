//! Sites of a whole footprint under one number.
//!
//! A shadow location has room for one site, but stands for many elements, which one commit may have touched
//! from several sites. Then the location gets the number of a list of segments, and whoever reports a race on
//! an element looks it up there. Loops repeat themselves, so lists do: equal ones have one number.

use super::trail::{Segment, site_in};
use crate::detector::{Race, Sink};
use crate::lock::RwLock;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use event::{Addr, Site};
use hashbrown::{Equivalent, HashMap};
use rustc_hash::FxBuildHasher;

/// Sites with this bit are numbers of lists. The program's own sites are below.
const LIST: u32 = 1 << 31;
/// Lists we keep. A program with more gets, for each location, the site of one of its elements.
const MOST: usize = 1 << 13;

#[derive(PartialEq, Eq, Debug)]
struct List {
    /// First byte of the array.
    base: u64,
    /// log2 of the bytes in an element, at the time.
    shift: u8,
    segments: Box<[Segment]>,
    /// Everything else.
    other: Site,
}

/// A list that is looked for.
#[derive(PartialEq, Eq, Hash)]
struct Asked<'a> {
    base: u64,
    shift: u8,
    segments: &'a [Segment],
    other: Site,
}

impl List {
    fn asked(&self) -> Asked<'_> {
        Asked {
            base: self.base,
            shift: self.shift,
            segments: &self.segments,
            other: self.other,
        }
    }
}

impl Hash for List {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.asked().hash(state);
    }
}

impl Equivalent<Arc<List>> for Asked<'_> {
    fn equivalent(&self, list: &Arc<List>) -> bool {
        *self == list.asked()
    }
}

#[derive(Debug, Default)]
struct Lists {
    all: Vec<Arc<List>>,
    numbers: HashMap<Arc<List>, u32, FxBuildHasher>,
}

/// All lists of a detector.
#[derive(Debug, Default)]
pub(super) struct SiteLists {
    lists: RwLock<Lists>,
}

impl SiteLists {
    /// A number for these sites, or `None` if there are too many lists.
    pub(super) fn number(
        &self,
        (base, shift): (u64, u8),
        segments: &[Segment],
        other: Site,
    ) -> Option<Site> {
        let asked = Asked {
            base,
            shift,
            segments,
            other,
        };
        let lists = self.lists.read();
        if let Some(&number) = lists.numbers.get(&asked) {
            return Some(Site(LIST | number));
        }
        if lists.all.len() >= MOST {
            return None;
        }
        drop(lists);
        let mut lists = self.lists.write();
        if let Some(&number) = lists.numbers.get(&asked) {
            return Some(Site(LIST | number));
        }
        let number = u32::try_from(lists.all.len()).ok()?;
        if lists.all.len() >= MOST {
            return None;
        }
        let list = Arc::new(List {
            base,
            shift,
            segments: segments.into(),
            other,
        });
        lists.all.push(Arc::clone(&list));
        lists.numbers.insert(list, number);
        Some(Site(LIST | number))
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> u64 {
        let each = |list: &Arc<List>| size_of::<List>() + size_of_val(&*list.segments);
        self.lists.read().all.iter().map(each).sum::<usize>() as u64
    }

    /// The site that touched the byte at `addr`, where its shadow says `site`.
    pub(super) fn resolve(&self, site: Site, addr: u64) -> Site {
        if site.0 & LIST == 0 {
            return site;
        }
        match self.lists.read().all.get((site.0 & !LIST) as usize) {
            Some(list) => {
                let index = addr.saturating_sub(list.base) >> list.shift;
                site_in(&list.segments, list.other, index)
            }
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
