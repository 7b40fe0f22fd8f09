//! What a commit stands on: the thread that commits, happens-before, the shadow of memory outside of arrays, and
//! where races are told.

use super::Rule;
use super::footprint::Footprint;
use super::sitelists::SiteLists;
use super::trail::Trail;
use crate::detector::{Race, Side, Sink};
use crate::lock::AtomicU32;
use crate::precise::{PreciseThread, Shadow};
use crate::shadow::{Cell, Conflict, FastTrackRule, Location, Touch};
use crate::sync::HappensBefore;
use alloc::vec::Vec;
use core::ops::Range;
use event::{AccessKind, Addr, Elements, Site};

/// What kind of access is checked, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Manner {
    pub(super) kind: AccessKind,
    pub(super) atomic: bool,
}

impl Manner {
    pub(super) const fn plain(kind: AccessKind) -> Self {
        Manner {
            kind,
            atomic: false,
        }
    }
}

/// How often things happened, for one thread.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    rules: [u64; Rule::COUNT],
    /// Accesses to arrays, an element range counted as one.
    pub(super) accesses: u64,
    /// Reads of elements that the thread wrote in the same region.
    pub(super) own_writes: u64,
    /// Footprints committed because an access did not extend them.
    pub(super) not_extended: u64,
    /// Commit buffers flushed because they were full.
    pub(super) overflows: u64,
    pub(super) commits: u64,
    /// Commits in which an element may have the site of another one.
    pub(super) blurred: u64,
    /// Shadow locations of compressed arrays checked.
    pub(super) checks: u64,
    /// Accesses to elements that have a location of their own.
    pub(super) at_once: u64,
    /// Blocks too small to be arrays, and their elements, since this was last told to all.
    pub(super) small: (u64, u64),
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            rules: [0; Rule::COUNT],
            accesses: 0,
            own_writes: 0,
            not_extended: 0,
            overflows: 0,
            commits: 0,
            blurred: 0,
            checks: 0,
            at_once: 0,
            small: (0, 0),
        }
    }
}

impl Tally {
    pub(super) fn rule(&mut self, rule: Rule) {
        self.rules[rule as usize] += 1;
    }

    pub(super) fn each(&self, f: &mut dyn FnMut(&'static str, u64)) {
        for (name, &count) in Rule::NAMES.iter().zip(&self.rules) {
            f(name, count);
        }
        f("[SS ACCESS]", self.accesses);
        f("[SS ACCESS] of own writes", self.own_writes);
        f("[SS COMMIT]", self.commits);
        f("[SS COMMIT] locations checked", self.checks);
        f("[SS COMMIT] with blurred sites", self.blurred);
        f("footprint not extended", self.not_extended);
        f("commit buffer full", self.overflows);
        f("committed at once", self.at_once);
    }
}

/// One thread at a commit.
pub(super) struct Ground<'a> {
    pub(super) order: &'a HappensBefore,
    pub(super) memory: &'a Shadow<FastTrackRule>,
    pub(super) lists: &'a SiteLists,
    /// See [`Options`](super::Options).
    pub(super) frugal: bool,
    /// See `Arrays`.
    pub(super) disturbances: &'a AtomicU32,
    pub(super) thread: &'a mut PreciseThread,
    pub(super) tally: &'a mut Tally,
    pub(super) found: Vec<Conflict>,
    pub(super) races: Sink<'a>,
}

impl Ground<'_> {
    /// Checks an access to all elements that `location` stands for, and records it. Is there a race? Then it is in
    /// `found`.
    #[inline]
    pub(super) fn touch(&mut self, location: &Location, manner: Manner, site: Site) -> bool {
        self.tally.checks += 1;
        self.touch_mask(location, 0xFF, manner, site)
    }

    fn touch_mask(&mut self, location: &Location, mask: u8, manner: Manner, site: Site) -> bool {
        let (epoch, number) = self.thread.clock.stamp(self.order.slots(), site);
        let touch = Touch {
            cell: Cell::new(epoch, manner.kind, mask, number),
            atomic: manner.atomic,
            record: true,
        };
        let touched = location.touch::<FastTrackRule>(
            self.memory.depot(),
            &mut self.thread.clock,
            self.order.slots(),
            &mut self.thread.memo,
            touch,
            &mut self.found,
        );
        self.thread.counts.add(touched.rule);
        !self.found.is_empty()
    }

    /// The same for bytes that have their own shadow. Are they `part` of an access that goes on in the array's locations?
    pub(super) fn touch_bytes(
        &mut self,
        (elements, part): (Elements, bool),
        manner: Manner,
        site: Site,
    ) {
        let (lists, races) = (self.lists, &mut *self.races);
        let mut found: Vec<Race> = Vec::new();
        let told: Sink<'_> = &mut |race: &Race| lists.report(race, &mut |race| found.push(*race));
        if manner.atomic {
            let addr = elements.addr(elements.lo);
            let len = (elements.hi - elements.lo) * u64::from(elements.elem);
            self.memory.atomic_bytes(
                self.order,
                self.thread,
                manner.kind,
                (addr, len),
                site,
                told,
            );
        } else {
            self.memory.late_range(
                self.order,
                self.thread,
                manner.kind,
                (elements, part),
                site,
                told,
            );
        }
        if !found.is_empty() {
            tell(&found, races);
        }
    }

    /// The same for one word of an array whose memory has another use already.
    pub(super) fn touch_word(
        &mut self,
        location: &Location,
        word: Addr,
        mask: u8,
        manner: Manner,
        site: Site,
    ) {
        if self.touch_mask(location, mask, manner, site) {
            for conflict in core::mem::take(&mut self.found) {
                for byte in (0..8).filter(|byte| conflict.mask >> byte & 1 != 0) {
                    let addr = word.0 + byte;
                    let here = Conflict {
                        mask: 1 << byte,
                        ..conflict
                    };
                    self.report(here, addr..addr + 1, None, manner, site);
                }
            }
        }
    }

    /// One site that stands for the whole trail: its only one, or a list. None if there are too many lists.
    pub(super) fn site_of<F: Footprint>(&self, trail: &Trail<F>, array: (u64, u8)) -> Option<Site> {
        match trail.sites() {
            (site, []) => Some(site),
            (other, segments) => self.lists.number(array, trail.hull(), segments, other),
        }
    }

    /// Tells of a race on `bytes`.
    #[cold]
    pub(super) fn report(
        &mut self,
        conflict: Conflict,
        bytes: Range<u64>,
        elements: Option<Elements>,
        manner: Manner,
        site: Site,
    ) {
        let old = conflict.old;
        let slots = self.order.slots();
        let race = Race {
            addr: Addr(bytes.start),
            size: u32::try_from(bytes.end - bytes.start).unwrap_or(u32::MAX),
            elements,
            first: Side {
                thread: slots.tid(old.slot(), old.time()),
                kind: old.kind(),
                atomic: conflict.atomic,
                // The bytes given are one, or all of an element that is never recorded in parts.
                site: slots.site(old.slot(), old.site(), conflict.mask.trailing_zeros() % 8),
            },
            second: Side {
                thread: self.thread.clock.tid(),
                kind: manner.kind,
                atomic: manner.atomic,
                site,
            },
        };
        self.lists.report(&race, self.races);
    }
}

/// Tells of races that one check found, in ascending order: neighbours that differ in nothing but their element know of each
/// other.
#[cold]
fn tell(found: &[Race], races: Sink<'_>) {
    let alike = |a: &Race, b: &Race| (a.size, a.first, a.second) == (b.size, b.first, b.second);
    for group in found.chunk_by(alike) {
        let size = u64::from(group[0].size);
        let step = group
            .get(1)
            .map_or(0, |next| next.addr.0.saturating_sub(group[0].addr.0));
        let even = matches!(size, 1 | 2 | 4 | 8)
            && step > 0
            && step.is_multiple_of(size)
            && group
                .windows(2)
                .all(|pair| pair[0].addr.0 + step == pair[1].addr.0);
        let elements = even.then(|| Elements {
            base: group[0].addr,
            elem: size as u8,
            lo: 0,
            hi: (group.len() as u64 - 1) * (step / size) + 1,
            stride: step / size,
        });
        for race in group {
            races(&Race { elements, ..*race });
        }
    }
}
