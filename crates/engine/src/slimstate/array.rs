//! An array's shadow: its partition `P`, its shadow locations `T`, and how footprints are committed to them.
//!
//! # Where the locations are
//!
//! `T` holds a [`Location`] for each part of several elements. Elements with a location of their own (`FINE`, the first
//! `i` of `PREFIX(i)`) have it where memory outside of arrays has it, in the byte-exact [`Shadow`] by address: a fine array costs what
//! FastTrack's costs, accesses to it need no lock once it is not [in order](Array::leave_order) any more, and several small elements share an 8-byte location.
//! An access that fits no element size is no problem there either.
//!
//! # Who may touch what
//!
//! | field | by whom |
//! |---|---|
//! | `start`, `end` | set before the directory names the entry, then fixed |
//! | `flags`, `singles` | read by all without a lock; flags are set under a lock, be it shared, and never taken away while the block lives: an access that sees an old value takes the longer way. `singles` is set under a lock, too, before the flag; once a part of the memory is given away it is 0, and all take the longer way |
//! | `body` | commits hold it shared: locations lock themselves, so commits of disjoint or equal parts run side by side; a refinement, which most arrays see a few times in their life, holds it alone |
//! | `granules`, `pending` | counts of the directory's granules and of the threads' footprints that name this array; at zero the entry is used again |
//!
//! A commit first tries under the shared lock: if `P` is sufficiently precise, it stays as it is and the commit is done.
//! Else it comes back alone, refines, and goes on shared (the lock is downgraded, so nobody refines in between). That is the paper's optimistic
//! control with the roles of retry and wait exchanged: a thread waits only while another one
//! refines the very same array.

use super::directory::granules_of;
use super::footprint::Footprint;
use super::given::{Given, Parts, Share, add, common, outside, share, single_bytes, without};
use super::ground::{Ground, Manner};
use super::partition::{Partition, Shadow as Refined};
use super::pieces::Pieces;
use super::trail::Trail;
use super::{Rule, Strided};
use crate::lock::Ordering::{Acquire, Relaxed, Release, SeqCst};
use crate::lock::{AtomicU32, AtomicU64, RwLock, fence};
use crate::shadow::{Depot, Location};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::Range;
use event::{AccessKind, Addr, Elements, Site};

/// Number of an array in the table of arrays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ArrayId(NonZeroU32);

impl ArrayId {
    /// 0 is no array.
    pub(super) const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(ArrayId(number)),
            None => None,
        }
    }
    pub(super) const fn get(self) -> u32 {
        self.0.get()
    }
}

/// Some of its memory belongs to another block by now.
pub(super) const STALE: u32 = 1;
/// Accesses to single elements, of which there are some, are checked at once: PREFIX or FINE, and not [in order](Array::leave_order) any more.
pub(super) const SINGLES: u32 = 2;
/// It was accessed atomically: plain writes put an end to atomic objects.
pub(super) const ATOMICS: u32 = 4;

/// The shadow of one array.
pub(super) struct Array<P> {
    /// First byte, and one past the last.
    start: AtomicU64,
    end: AtomicU64,
    flags: AtomicU32,
    /// Elements within so many bytes are single. There may be more, of an array that has more than it can say: they take the longer way.
    singles: AtomicU32,
    pub(super) granules: AtomicU32,
    pub(super) pending: AtomicU32,
    pub(super) body: RwLock<Body<P>>,
}

pub(super) struct Body<P> {
    pub(super) bytes: Range<u64>,
    /// log2 of the bytes in an element.
    pub(super) shift: u8,
    pub(super) partition: P,
    pub(super) table: Pieces<Location>,
    /// What few arrays have.
    rare: Option<Box<Rare>>,
    /// Who allocated it.
    pub(super) site: Site,
    pub(super) freed: bool,
    /// Is the entry in use?
    pub(super) used: bool,
}

/// What an array has of which some memory was given to another block.
#[derive(Default)]
struct Rare {
    /// What was given away while this block may still be accessed or has footprints to be committed: the byte-exact shadow is the other block's there.
    given: Parts,
    /// Bytes whose granule belongs to another block by now: accesses to them go to the byte-exact shadow, and so must what is
    /// still to be committed.
    detached: Vec<Range<u64>>,
}

// Entries are made 16 at a time.
#[cfg(not(loom))]
const _: () = assert!(size_of::<Array<super::Mode>>() == 128);

impl<P: Partition> Default for Array<P> {
    fn default() -> Self {
        Array {
            start: AtomicU64::new(0),
            end: AtomicU64::new(0),
            flags: AtomicU32::new(0),
            singles: AtomicU32::new(0),
            granules: AtomicU32::new(0),
            pending: AtomicU32::new(0),
            body: RwLock::new(Body {
                bytes: 0..0,
                shift: 0,
                partition: P::coarse(1),
                table: Pieces::default(),
                rare: None,
                site: Site(0),
                freed: false,
                used: false,
            }),
        }
    }
}

impl<P: Partition> Body<P> {
    /// Number of elements.
    pub(super) fn n(&self) -> u64 {
        (self.bytes.end - self.bytes.start) >> self.shift
    }
    /// Elements with a location of their own.
    pub(super) fn singles(&self) -> u64 {
        self.partition.singles(self.n())
    }
    /// Its locations: one for each part, but single elements share that of their word.
    pub(super) fn locations(&self) -> u64 {
        let (n, singles) = (self.n(), self.singles());
        self.partition.parts(n) - singles + locations_of_singles(singles, self.shift)
    }
    /// How many locations it has for itself because its memory is another block's.
    pub(super) fn own_locations(&self) -> u64 {
        self.given()
            .map_or(0, |given| given.values().map(Given::locations).sum())
    }
    /// What was given away, if anything was.
    fn given(&self) -> Option<&Parts> {
        let given = &self.rare.as_ref()?.given;
        (!given.is_empty()).then_some(given)
    }
    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
    pub(super) fn is_fine(&self) -> bool {
        self.singles() == self.n()
    }
    /// The block is gone and nobody has a footprint of it.
    pub(super) fn end(&mut self, depot: &Depot) {
        self.used = false;
        discard(&self.table, depot);
        self.table.clear();
        let given = self.rare.take().map(|rare| rare.given);
        for part in given.into_iter().flat_map(Parts::into_values) {
            discard(&part.into_words().into(), depot);
        }
        self.partition = P::coarse(1);
    }
    /// The thread just wrote the whole block, from `site`: that supersedes all that its parts remember, so one
    /// location will do if none is single. (The paper refines only, but its `[SS REFINE]` allows any change that
    /// keeps each element's history.)
    pub(super) fn coarsen(&mut self, site: Site, ground: &mut Ground<'_>) {
        if self.singles() == 0 && self.table.len() > 1 {
            self.partition = P::coarse(self.n());
            discard(&self.table, ground.memory.depot());
            let location = Location::new();
            ground.touch(&location, Manner::plain(AccessKind::Write), site);
            self.table = Pieces::Single(location);
        }
    }
    /// The elements of a strided range, as bytes of memory.
    fn elements(&self, range: Strided, shift: u8) -> Elements {
        Elements {
            base: Addr(self.bytes.start),
            elem: 1 << shift,
            lo: range.first(),
            hi: range.last() + 1,
            stride: range.step(),
        }
    }
}

/// What changes when a partition is refined.
struct Change<'a, 'g> {
    table: &'a mut Pieces<Location>,
    given: Option<&'a mut Parts>,
    base: u64,
    shift: u8,
    ground: &'a Ground<'g>,
}

/// Locations of `n` single elements, of which small ones share that of their word.
pub(super) const fn locations_of_singles(n: u64, shift: u8) -> u64 {
    let words = (n << shift).div_ceil(8);
    if n < words { n } else { words }
}

/// Forgets what is in the locations, so that the depot has no more of it.
fn discard(table: &Pieces<Location>, depot: &Depot) {
    for location in table.iter() {
        location.clear(depot, 0xFF);
    }
}

impl Refined for Change<'_, '_> {
    fn rebuild(&mut self, locations: u64, origin: &dyn Fn(u64) -> u64) {
        let depot = self.ground.memory.depot();
        if locations == 0 {
            discard(self.table, depot);
            return self.table.clear();
        }
        let new: Vec<Location> = (0..locations)
            .map(|x| self.table.get(origin(x) as usize).copy(depot))
            .collect();
        let old = core::mem::replace(self.table, new.into());
        discard(&old, depot);
    }
    fn grow(&mut self, origin: u64) {
        let new = self
            .table
            .get(origin as usize)
            .copy(self.ground.memory.depot());
        self.table.push(new);
    }
    fn single(&mut self, elements: Strided, origin: u64, goes_on: bool) {
        if elements.is_empty() {
            return;
        }
        let elements = Elements {
            base: Addr(self.base),
            elem: 1 << self.shift,
            lo: elements.first(),
            hi: elements.last() + 1,
            stride: elements.step(),
        };
        let location = self.table.get(origin as usize);
        let memory = self.ground.memory;
        let Some(given) = &mut self.given else {
            return memory.settle(elements, goes_on, location);
        };
        let history = location.history(memory.depot());
        let mut all = Vec::new();
        share(elements, given, |share| all.push(share));
        for share in all {
            match share {
                Share::Given(part, word, mask) => {
                    if let Some(part) = given.get_mut(&part) {
                        part.make(word).absorb(memory.depot(), &history, mask);
                    }
                }
                Share::Here(bytes) => memory.settle(bytes, goes_on, location),
            }
        }
    }
    fn singles(&self, n: u64) -> u64 {
        locations_of_singles(n, self.shift)
    }
}

impl<P: Partition> Array<P> {
    #[inline]
    pub(super) fn flags(&self) -> u32 {
        self.flags.load(Acquire)
    }
    /// Sets a flag. If that is news and threads may have footprints, they are told by a disturbance: either we see here
    /// that they have, or they see the flag.
    pub(super) fn add_flag(&self, flag: u32, disturbances: &AtomicU32) {
        let before = self.flags.fetch_or(flag, SeqCst);
        if before & flag == 0 && self.pending.load(SeqCst) != 0 {
            disturbances.fetch_add(1, SeqCst);
        }
    }
    /// Its memory. Fixed while the entry is in use.
    #[inline]
    pub(super) fn bytes(&self) -> Range<u64> {
        self.start.load(Relaxed)..self.end.load(Relaxed)
    }
    /// Does the byte-exact shadow have all of these bytes, which begin in the array?
    #[inline]
    pub(super) fn is_single(&self, end: u64) -> bool {
        let singles = u64::from(self.singles.load(Acquire));
        end.wrapping_sub(self.start.load(Relaxed)) <= singles
    }

    /// The bytes on the page of `addr` that the byte-exact shadow has, now and as long as the block lives. None if `addr` is not
    /// among them.
    pub(super) fn plain_around(&self, addr: u64) -> Option<Range<u64>> {
        if self.flags() != SINGLES {
            return None;
        }
        let page = addr & !4095;
        let start = self.start.load(Relaxed);
        let end = start.saturating_add(u64::from(self.singles.load(Acquire)));
        let (from, to) = (start.max(page), end.min(page.saturating_add(4096)));
        (from..to).contains(&addr).then_some(from..to)
    }

    /// A block takes the entry. Nobody else knows it yet.
    pub(super) fn begin(&self, bytes: Range<u64>, shift: u8, site: Site) {
        let mut body = self.body.write();
        let granules = granules_of(&bytes);
        self.start.store(bytes.start, Relaxed);
        self.end.store(bytes.end, Relaxed);
        self.flags.store(0, Relaxed);
        self.singles.store(0, Relaxed);
        // The directory takes no array that has more than that.
        let granules = u32::try_from(granules.end - granules.start);
        self.granules.store(granules.unwrap_or(u32::MAX), Relaxed);
        let n = (bytes.end - bytes.start) >> shift;
        let partition = P::coarse(n);
        body.table.clear();
        if partition.singles(n) == 0 {
            body.table.push(Location::new());
        }
        body.bytes = bytes;
        body.shift = shift;
        body.partition = partition;
        body.rare = None;
        body.site = site;
        body.freed = false;
        body.used = true;
    }

    fn singles_changed(&self, body: &Body<P>, disturbances: &AtomicU32) {
        if self.flags() & SINGLES != 0 {
            self.check_at_once(body, disturbances);
        }
    }

    /// An array that becomes PREFIX or FINE is *in order* at first: accesses to its single elements are put off, too, and checked by ranges, as long as its pages remember few
    /// histories. Those are few where loops leave some elements at an edge out, or begin an element later each time, so that the parts of no partition are what they touch. Where a
    /// page has a location for each word already, nothing is saved by that: from then on accesses are checked at once. So they are if they come from more places than a trail tells apart.
    fn leave_order<F: Footprint>(
        &self,
        body: &Body<P>,
        trail: &Trail<F>,
        shift: u8,
        ground: &Ground<'_>,
    ) {
        if self.flags() & SINGLES == 0 && body.singles() > 0 {
            let (first, last) = trail.hull();
            let is_split = |i: u64| {
                let addr = Addr(body.bytes.start + (i << shift));
                ground.memory.split_location(addr).is_some()
            };
            if trail.is_blurred() || is_split(first) || is_split(last) {
                self.check_at_once(body, ground.disturbances);
            }
        }
    }

    /// Accesses to single elements are checked at once, if there are any.
    fn check_at_once(&self, body: &Body<P>, disturbances: &AtomicU32) {
        let singles = body.singles();
        if singles > 0 {
            if body.given().is_none() {
                let bytes = u32::try_from(singles << body.shift);
                self.singles.store(bytes.unwrap_or(u32::MAX), Release);
            }
            self.add_flag(SINGLES, disturbances);
        }
    }

    /// `[SS COMMIT]`, after `[SS REFINE]` if it must be: checks and records all of the trail, whose elements have
    /// `1 << shift` bytes.
    pub(super) fn commit<F: Footprint>(
        &self,
        trail: &Trail<F>,
        shift: u8,
        manner: Manner,
        ground: &mut Ground<'_>,
    ) {
        ground.tally.commits += 1;
        let body = self.body.read();
        if body.check(trail, shift, manner, ground) {
            self.leave_order(&body, trail, shift, ground);
            return body.check_detached(trail, shift, manner, ground);
        }
        drop(body);
        let mut body = self.body.write();
        body.refine(trail, shift, ground);
        self.singles_changed(&body, ground.disturbances);
        let body = body.downgrade();
        let done = body.check(trail, shift, manner, ground);
        debug_assert!(done, "a refined partition is sufficiently precise");
        self.leave_order(&body, trail, shift, ground);
        body.check_detached(trail, shift, manner, ground);
    }

    /// Makes elements as small as `1 << shift` bytes: an access does not fit.
    pub(super) fn refine_elements(&self, shift: u8, ground: &mut Ground<'_>) {
        let mut body = self.body.write();
        if body.shift <= shift {
            return;
        }
        ground.tally.rule(Rule::ElementsCut);
        let ratio = 1 << (body.shift - shift);
        match body.partition.finer(ratio) {
            Some(finer) => body.partition = finer,
            None => body.become_fine(ground),
        }
        body.shift = shift;
        self.singles_changed(&body, ground.disturbances);
    }

    /// `bytes` are about to be given to another block.
    pub(super) fn supersede(&self, bytes: &Range<u64>, ground: &Ground<'_>) {
        let mut body = self.body.write();
        self.add_flag(STALE, ground.disturbances);
        fence(SeqCst);
        let all = bytes.start <= body.bytes.start && body.bytes.end <= bytes.end;
        if all && self.pending.load(Relaxed) == 0 {
            return;
        }
        let end = body.bytes.start + (body.singles() << body.shift);
        let both = common(bytes, &body.bytes);
        if both.is_empty() {
            return;
        }
        let given = &mut body.rare().given;
        for bytes in without(both, given) {
            add(given, Given::of(bytes, end, false, ground));
        }
        // From now on, all accesses come by here.
        self.singles.store(0, Release);
    }

    /// `bytes` are about to be fresh: what is still to be committed here is checked against what they remember now, and must not reach them.
    pub(super) fn renewed(&self, bytes: &Range<u64>, ground: &Ground<'_>) {
        let meets = |part: &Range<u64>| !common(part, bytes).is_empty();
        let concerned = |rare: &Rare| rare.detached.iter().any(meets);
        if !self.body.read().rare.as_deref().is_some_and(concerned) {
            return;
        }
        let mut body = self.body.write();
        let Some(rare) = &mut body.rare else {
            return;
        };
        if self.pending.load(Relaxed) != 0 {
            for part in &rare.detached {
                for bytes in without(common(part, bytes), &rare.given) {
                    let end = bytes.end;
                    add(&mut rare.given, Given::of(bytes, end, true, ground));
                }
            }
        }
        let parts = rare.detached.iter().flat_map(|part| outside(part, bytes));
        rare.detached = parts.filter(|part| !part.is_empty()).collect();
    }

    /// Copies the history of `bytes`, which stay with this block's memory while the rest of their granule goes to
    /// another one, to the byte-exact shadow.
    pub(super) fn detach(&self, bytes: Range<u64>, ground: &Ground<'_>) {
        let mut body = self.body.write();
        let bytes = common(&bytes, &body.bytes);
        if !bytes.is_empty() {
            body.rare().detached.push(bytes.clone());
        }
        let singles = body.singles();
        for addr in bytes {
            let i = (addr - body.bytes.start) >> body.shift;
            if i < singles {
                continue;
            }
            let byte = single_bytes(addr..addr + 1);
            let part = body.partition.part_of(i);
            let location = body.table.get((part - singles) as usize);
            ground.memory.settle(byte, false, location);
        }
    }
}

impl<P: Partition> Body<P> {
    fn change<T>(
        &mut self,
        ground: &Ground<'_>,
        f: impl FnOnce(&mut P, u64, &mut Change) -> T,
    ) -> T {
        let n = self.n();
        let mut change = Change {
            table: &mut self.table,
            given: (self.rare.as_mut().map(|rare| &mut rare.given))
                .filter(|given| !given.is_empty()),
            base: self.bytes.start,
            shift: self.shift,
            ground,
        };
        f(&mut self.partition, n, &mut change)
    }

    fn become_fine(&mut self, ground: &Ground<'_>) {
        self.change(ground, |p, n, change| p.refine_to_fine(n, change));
    }

    fn refine<F: Footprint>(&mut self, trail: &Trail<F>, shift: u8, ground: &mut Ground<'_>) {
        if self.is_fine() {
            return;
        }
        let rule = match trail.footprint.finer(1 << (shift - self.shift)) {
            Some(f) => self.change(ground, |p, n, change| p.refine(&f, n, change)),
            // Evenly spaced runs of smaller elements: no footprint that Table I knows.
            None => {
                self.become_fine(ground);
                Rule::AnyFine
            }
        };
        ground.tally.rule(rule);
        let singles = locations_of_singles(self.n(), self.shift);
        if ground.frugal && self.partition.is_in_vain(singles) {
            ground.tally.rule(Rule::AnyFine);
            self.become_fine(ground);
        }
    }

    /// Checks and records the trail, if the partition is sufficiently precise for it.
    fn check<F: Footprint>(
        &self,
        trail: &Trail<F>,
        shift: u8,
        manner: Manner,
        ground: &mut Ground<'_>,
    ) -> bool {
        let n = self.n();
        let singles = self.singles();
        if singles == n {
            self.check_singles(trail, shift, self.bytes.end, manner, ground);
            return true;
        }
        if shift != self.shift {
            return match trail.finer(1 << (shift - self.shift)) {
                Some(trail) => self.check(&trail, self.shift, manner, ground),
                None => false,
            };
        }
        let Some((rule, met)) = self.partition.keeps(&trail.footprint, n) else {
            return false;
        };
        ground.tally.rule(rule);
        if singles > 0 {
            let end = self.bytes.start + (singles << shift);
            self.check_singles(trail, shift, end, manner, ground);
        }
        let site = ground.site_of(trail, (self.bytes.start, shift));
        ground.tally.blurred += u64::from(site.is_none() || trail.is_blurred());
        self.partition
            .each_part(&trail.footprint, &met, &mut |p, member| {
                let location = self.table.get((p - singles) as usize);
                let site = site.unwrap_or_else(|| trail.site_of(member));
                if ground.touch(location, manner, site) {
                    self.report(trail, p, manner, ground);
                }
            });
        true
    }

    /// The part of the trail before address `end`, where elements are single.
    fn check_singles<F: Footprint>(
        &self,
        trail: &Trail<F>,
        shift: u8,
        end: u64,
        manner: Manner,
        ground: &mut Ground<'_>,
    ) {
        ground.tally.blurred += u64::from(trail.is_blurred());
        let below = (end - self.bytes.start) >> shift;
        let (site, segments) = trail.sites();
        trail.footprint.pieces(&mut |piece| {
            if piece.first() >= below {
                return;
            }
            let part = piece.last() >= below;
            let piece = Strided::new(piece.first(), piece.last().min(below - 1), piece.step());
            let mut check = |part_of, site| {
                self.check_elements((self.elements(part_of, shift), part), manner, site, ground)
            };
            if segments.is_empty() {
                return check(piece, site);
            }
            // As many elements as have one site.
            let mut from = piece.first();
            while from <= piece.last() {
                let (site, to) = trail.sites_from(from, piece);
                debug_assert!(
                    Strided::new(from, to, piece.step())
                        .indices()
                        .all(|i| trail.was_touched(i, site)),
                    "an element has a site that touched it"
                );
                let alike = Strided::new(from, to, piece.step());
                check(alike, site);
                from = to + piece.step();
            }
        });
    }

    /// The part of the trail whose bytes the byte-exact shadow has though they are not single: a few bytes at an edge.
    fn check_detached<F: Footprint>(
        &self,
        trail: &Trail<F>,
        shift: u8,
        manner: Manner,
        ground: &mut Ground<'_>,
    ) {
        let Some(rare) = &self.rare else {
            return;
        };
        let given = rare.given.values().filter_map(Given::detached);
        for addr in rare.detached.iter().cloned().chain(given).flatten() {
            let i = (addr - self.bytes.start) >> shift;
            if trail.footprint.contains(i) {
                let byte = single_bytes(addr..addr + 1);
                self.check_elements((byte, false), manner, trail.site_of(i), ground);
            }
        }
    }

    fn check_elements(
        &self,
        (elements, part): (Elements, bool),
        manner: Manner,
        site: Site,
        ground: &mut Ground<'_>,
    ) {
        let Some(given) = self.given() else {
            return ground.touch_bytes((elements, part), manner, site);
        };
        share(elements, given, |share| match share {
            Share::Given(part, word, mask) => {
                let location = given.get(&part).and_then(|part| part.location(word));
                if let Some(location) = location {
                    ground.touch_word(location, word, mask, manner, site);
                }
            }
            Share::Here(bytes) => ground.touch_bytes((bytes, part), manner, site),
        });
    }

    /// The part `p` of the trail races: each of its elements does.
    #[cold]
    fn report<F: Footprint>(
        &self,
        trail: &Trail<F>,
        p: u64,
        manner: Manner,
        ground: &mut Ground<'_>,
    ) {
        let conflicts = core::mem::take(&mut ground.found);
        let elem = 1u64 << self.shift;
        self.partition.members(p, self.n(), &mut |range| {
            let one_site = trail.sites().1.is_empty();
            let mut from = range.first();
            while from <= range.last() {
                // As many elements as lie together and have one site.
                let site = trail.site_of(from);
                let mut to = from;
                if range.step() == 1 {
                    to = if one_site { range.last() } else { from };
                    while to < range.last() && trail.site_of(to + 1) == site {
                        to += 1;
                    }
                    // What a race record can say.
                    to = to.min(from + (1 << 24));
                }
                let bytes = self.bytes.start + from * elem..self.bytes.start + (to + 1) * elem;
                let together = if one_site {
                    range
                } else {
                    Strided::run(from, to)
                };
                let elements = (together.len() > 1).then(|| self.elements(together, self.shift));
                for &conflict in &conflicts {
                    ground.report(conflict, bytes.clone(), elements, manner, site);
                }
                from = to + range.step();
            }
        });
    }
}
