//! All array shadows: which block is an array, where it begins and ends its life.
//!
//! A block becomes an array when it is allocated, unless it is small. It stays one when it is freed (the write that
//! freeing is must be remembered, and one location remembers it for the whole block) until its
//! memory is given to other blocks. An array that has become FINE, and whose accesses are checked at once, leaves the directory as soon as
//! no thread has a footprint of it: from then on it is plain memory.

use super::array::{ATOMICS, Array, ArrayId, Body, SINGLES, STALE, locations_of_singles};
use super::directory::{Directory, Found, GRANULE};
use super::fates::Fates;
use super::ground::Ground;
use super::partition::Partition;
use super::stats::Retired;
use super::versions::Versions;
use crate::boxed::boxed_with;
use crate::detector::BlockShadow;
use crate::grow::Grow;
use crate::lock::{
    AtomicU32, AtomicU64, Lock, OnceBox, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
    Ordering::Release, Ordering::SeqCst,
};
use crate::shadow::{Depot, Location};
use alloc::format;
use core::ops::Range;
use event::{Addr, Site};
use smallvec::SmallVec;

const SHARDS: usize = 16;

/// Entries to be used again, and what became of the arrays that had them.
#[derive(Debug, Default)]
struct Shard {
    /// The first of them, or 0. Each has the next one's number where it has its granules while it is in use.
    free: u32,
    retired: Retired,
}

/// Entries that are made at once: 2 KB, since all of them take memory then.
const ENTRIES: usize = 16;

/// All arrays of a detector.
pub(super) struct Arrays<P> {
    entries: Grow<OnceBox<[Array<P>; ENTRIES]>>,
    directory: Directory,
    /// Entries ever used; entry 0 is none.
    used: AtomicU32,
    /// Change whenever plain memory becomes an array, and when an array's memory is given to another block: plain memory, or single elements
    /// of an array, may be so no more.
    pub(super) versions: Versions,
    /// Arrays with detached bytes, and how many these are.
    detached: (AtomicU32, Lock<SmallVec<[ArrayId; 4]>>),
    shards: [Lock<Shard>; SHARDS],
    /// Is what became of arrays remembered when they are no more?
    history: bool,
    pub(super) fates: Fates,
    /// Number and elements of the blocks that are too small. Their sites are not kept: that would cost
    /// more than the blocks.
    small: (AtomicU64, AtomicU64),
}

impl<P> core::fmt::Debug for Arrays<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Arrays { .. }")
    }
}

/// Who has the shadow of the memory at an address.
#[derive(Clone, Debug)]
pub(super) enum Owner {
    /// No array in these bytes around it.
    Plain(Range<u64>),
    /// An array, with its bytes, up to this address at least.
    Array(ArrayId, Range<u64>, u64),
}

impl<P: Partition> Arrays<P> {
    pub(super) fn new(history: bool) -> Self {
        Arrays {
            entries: Grow::new(),
            directory: Directory::new(),
            used: AtomicU32::new(0),
            versions: Versions::new(),
            detached: (AtomicU32::new(0), Lock::default()),
            shards: core::array::from_fn(|_| Lock::default()),
            history,
            fates: Fates::new(),
            small: (AtomicU64::new(0), AtomicU64::new(0)),
        }
    }

    #[inline]
    pub(super) fn get(&self, id: ArrayId) -> &Array<P> {
        self.entry(id.get())
    }

    #[inline]
    fn entry(&self, number: u32) -> &Array<P> {
        let entries = self.entries.get(number / ENTRIES as u32);
        let entries = entries.get_or_init(|| boxed_with(Array::default));
        &entries[number as usize % ENTRIES]
    }

    /// A number that changes whenever an array that threads have footprints of gets a flag.
    #[inline(always)]
    pub(super) fn disturbances(&self) -> u32 {
        self.versions.disturbances().load(Acquire)
    }

    /// Are `bytes` on one page, all of which is plain memory?
    #[inline]
    pub(super) fn are_plain(&self, bytes: &Range<u64>) -> bool {
        let near = bytes.start / 4096 == bytes.end.saturating_sub(1) / 4096;
        near && self.directory.is_plain(Addr(bytes.start))
    }

    /// Does a block of `bytes` that is no array concern none either?
    #[inline]
    pub(super) fn are_apart(&self, bytes: &Range<u64>) -> bool {
        self.are_plain(bytes) && self.detached.0.load(Acquire) == 0
    }

    /// Whose shadow is it? What lies behind `last` is not asked for.
    pub(super) fn owner(&self, addr: u64, last: u64) -> Owner {
        let next = (addr | (GRANULE - 1)).saturating_add(1);
        let (found, run) = self.directory.run(Addr(addr), last);
        match found {
            Found::PlainPage | Found::Plain => Owner::Plain(run),
            Found::Array(id, _) => {
                let array = self.get(id);
                let bytes = array.bytes();
                if bytes.contains(&addr) {
                    // The next granule of a stale one may belong to another block.
                    let stale = array.flags() & STALE != 0;
                    let end = if stale {
                        next.min(bytes.end)
                    } else {
                        bytes.end
                    };
                    Owner::Array(id, bytes, end)
                } else if addr < bytes.start {
                    Owner::Plain(addr..next.min(bytes.start))
                } else {
                    Owner::Plain(addr..next)
                }
            }
        }
    }

    /// Keeps the entry of the array at `addr` from being used again, until [`Arrays::unpin`]. False if the
    /// array is not there any more.
    pub(super) fn pin(&self, id: ArrayId, addr: u64) -> bool {
        self.get(id).pending.fetch_add(1, SeqCst);
        let there = matches!(self.directory.find(Addr(addr)), Some((now, _)) if now == id);
        if !there {
            self.get(id).pending.fetch_sub(1, AcqRel);
        }
        there
    }

    /// A footprint of the array was committed, and the thread has no other.
    pub(super) fn unpin(&self, id: ArrayId, depot: &Depot) {
        let array = self.get(id);
        if array.pending.fetch_sub(1, AcqRel) != 1 {
            return;
        }
        let flags = array.flags();
        if flags & SINGLES != 0 && flags & (ATOMICS | STALE) == 0 && array.body.read().is_fine() {
            self.became_fine(array);
            let taken = self.directory.withdraw(&array.bytes(), id);
            self.lose(id, taken, depot);
        } else if flags & STALE != 0 {
            self.lose(id, 0, depot);
        }
    }

    fn became_fine(&self, array: &Array<P>) {
        let body = array.body.read();
        self.fates.became_fine(body.site, body.shift);
    }

    /// An array that is FINE from the beginning, which makes it plain memory, is remembered.
    pub(super) fn born_fine(&self, bytes: &Range<u64>, shift: u8, site: Site) {
        if !self.history {
            return;
        }
        let len = bytes.end - bytes.start;
        let block = BlockShadow {
            addr: Addr(bytes.start),
            site,
            blocks: 1,
            elements: len >> shift,
            locations: locations_of_singles(len >> shift, shift),
            partition: "FINE".into(),
            freed: false,
        };
        let sizes = (block.elements, block.locations);
        let shard = &self.shards[(bytes.start / GRANULE) as usize % SHARDS];
        let mut shard = shard.lock();
        shard.retired.add((site, "FINE"), sizes, || block);
    }

    /// The directory names the array `granules` times less.
    fn lose(&self, id: ArrayId, granules: u64, depot: &Depot) {
        let array = self.get(id);
        // As many as the array has, at most.
        let granules = granules as u32;
        let left = array.granules.fetch_sub(granules, AcqRel) - granules;
        if left != 0 || array.pending.load(Acquire) != 0 {
            return;
        }
        let mut body = array.body.write();
        if !body.used || array.granules.load(Acquire) != 0 || array.pending.load(Acquire) != 0 {
            return;
        }
        if !body.freed {
            self.retire(id, &body);
        }
        body.end(depot);
        drop(body);
        if self.detached.0.load(Acquire) != 0 {
            let mut all = self.detached.1.lock();
            all.retain(|other| *other != id);
            self.detached.0.store(all.len() as u32, SeqCst);
        }
        let mut shard = self.shard(id).lock();
        array.granules.store(shard.free, Release);
        shard.free = id.get();
    }

    /// What became of the array is remembered, if somebody will ask.
    fn retire(&self, id: ArrayId, body: &Body<P>) {
        if !self.history {
            return;
        }
        self.shard(id).lock().retired.add(
            (body.site, body.partition.kind()),
            (body.n(), body.locations()),
            || describe(body),
        );
    }

    fn shard(&self, id: ArrayId) -> &Lock<Shard> {
        &self.shards[id.get() as usize % SHARDS]
    }

    /// The block was freed, and the write that this is was committed.
    pub(super) fn freed(&self, id: ArrayId, site: Site, ground: &mut Ground<'_>) {
        let array = self.get(id);
        let mut body = array.body.write();
        body.freed = true;
        if body.is_fine() && array.flags() & SINGLES != 0 {
            self.fates.became_fine(body.site, body.shift);
        } else {
            self.fates.stayed(body.site);
        }
        self.retire(id, &body);
        body.coarsen(site, ground);
    }

    /// So many blocks, with so many elements, were too small to be arrays.
    pub(super) fn count_small(&self, blocks: u64, elements: u64) {
        self.small.0.fetch_add(blocks, Relaxed);
        self.small.1.fetch_add(elements, Relaxed);
    }

    fn take(&self, addr: u64) -> ArrayId {
        let shard = (addr / GRANULE) as usize % SHARDS;
        let mut shard = self.shards[shard].lock();
        let again = ArrayId::new(shard.free);
        if let Some(id) = again {
            shard.free = self.get(id).granules.load(Acquire);
            return id;
        }
        drop(shard);
        match ArrayId::new(self.used.fetch_add(1, Relaxed) + 1) {
            Some(id) => id,
            None => unreachable!("2^32 arrays at once do not fit into the address space"),
        }
    }

    /// The blocks that have a granule of `bytes`, other than living neighbours.
    pub(super) fn superseded(&self, bytes: &Range<u64>) -> SmallVec<[ArrayId; 4]> {
        let mut all = SmallVec::new();
        if bytes.is_empty() || self.are_plain(bytes) {
            return all;
        }
        self.directory.owners(bytes, &mut |id| {
            if !all.contains(&id) && !self.is_neighbour(id, bytes) {
                all.push(id);
            }
        });
        all
    }

    /// A living array beside `bytes`?
    fn is_neighbour(&self, id: ArrayId, bytes: &Range<u64>) -> bool {
        let array = self.get(id);
        let other = array.bytes();
        (other.end <= bytes.start || bytes.end <= other.start) && !array.body.read().freed
    }

    /// A block comes into being. `old` is what [`Arrays::superseded`] said; an array if `shift` is given.
    pub(super) fn alloc(
        &self,
        bytes: Range<u64>,
        shift: Option<u8>,
        old: &[ArrayId],
        site: Site,
        ground: &Ground<'_>,
    ) {
        let depot = ground.memory.depot();
        let around = bytes.start & !(GRANULE - 1)
            ..bytes
                .end
                .checked_next_multiple_of(GRANULE)
                .unwrap_or(u64::MAX);
        if self.detached.0.load(Acquire) != 0 {
            let all = self.detached.1.lock().clone();
            all.iter()
                .for_each(|&id| self.get(id).renewed(&bytes, ground));
        }
        for &id in old {
            let array = self.get(id);
            array.supersede(&bytes, ground);
            // What is left of a granule that goes to the new block.
            for rest in [around.start..bytes.start, bytes.end..around.end] {
                let owner = self.directory.find(Addr(rest.start));
                if !rest.is_empty() && owner.is_some_and(|(owner, _)| owner == id) {
                    array.detach(rest, ground);
                    let mut all = self.detached.1.lock();
                    if !all.contains(&id) {
                        all.push(id);
                    }
                    self.detached.0.store(all.len() as u32, SeqCst);
                }
            }
        }
        for &id in old {
            // Their single elements are no longer where threads may remember them.
            self.versions.changed(&self.get(id).bytes());
        }
        let len = bytes.end.saturating_sub(bytes.start);
        ground.memory.clear(ground.order, Addr(bytes.start), len);
        let mut neighbour = false;
        if shift.is_some() {
            for edge in [bytes.start, bytes.end - 1] {
                if let Some((id, _)) = self.directory.find(Addr(edge)) {
                    neighbour |= !old.contains(&id);
                }
            }
        }
        match shift {
            Some(shift) if !neighbour => {
                let id = self.take(bytes.start);
                self.get(id).begin(bytes.clone(), shift, site);
                let mut lost: SmallVec<[(ArrayId, u64); 4]> = SmallVec::new();
                self.directory
                    .set(&bytes, id, &mut |id, granules| match lost.last_mut() {
                        Some((last, sum)) if *last == id => *sum += granules,
                        _ => lost.push((id, granules)),
                    });
                self.versions.changed(&around);
                for (id, granules) in lost {
                    self.lose(id, granules, depot);
                }
            }
            _ => {
                for &id in old {
                    let taken = self.directory.withdraw(&bytes, id);
                    self.lose(id, taken, depot);
                }
            }
        }
    }

    /// Bytes in use now.
    pub(super) fn bytes(&self, f: &mut dyn FnMut(&'static str, u64)) {
        let used = self.used.load(Acquire);
        let (mut locations, mut own, mut partitions) = (0, 0, 0);
        for number in 1..=used {
            let body = self.entry(number).body.read();
            locations += body.table.capacity() as u64;
            own += body.own_locations();
            partitions += body.partition.bytes() as u64;
        }
        let each = size_of::<Location>() as u64;
        f("arrays", u64::from(used) * size_of::<Array<P>>() as u64);
        f("partitions of arrays", partitions);
        f("locations of arrays", locations * each);
        f("locations of blocks that are gone", own * each);
        f("the directory of arrays", self.directory.bytes());
    }

    /// Calls `f` with each array that lives, and with those of the past.
    pub(super) fn each(&self, f: &mut dyn FnMut(&BlockShadow)) {
        for number in 1..=self.used.load(Acquire) {
            let body = self.entry(number).body.read();
            if body.used && !body.freed {
                f(&describe(&body));
            }
        }
        for shard in &self.shards {
            shard.lock().retired.each(f);
        }
        let (blocks, elements) = (self.small.0.load(Relaxed), self.small.1.load(Relaxed));
        if blocks > 0 {
            f(&BlockShadow {
                addr: Addr(0),
                site: Site(0),
                blocks,
                elements,
                locations: elements,
                partition: "SMALL".into(),
                freed: false,
            });
        }
    }
}

fn describe<P: Partition>(body: &Body<P>) -> BlockShadow {
    BlockShadow {
        addr: Addr(body.bytes.start),
        site: body.site,
        blocks: 1,
        elements: body.n(),
        locations: body.locations(),
        partition: format!("{}", body.partition),
        freed: body.freed,
    }
}
