//! Commit buffers: the footprints of one thread that are still to be committed.
//!
//! At most [`Footprint::ARRAYS`] arrays, which is what the paper has for its own footprints. Beside them, a small cache from pages to what was last found
//! there, so that a loop finds its array with one or two comparisons; one from pages to the memory without arrays; and the last stretch of such
//! memory, however many pages it has.

use super::array::ArrayId;
use super::footprint::Footprint;
use super::trail::Trail;
use super::versions::{Version, Versions};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::offset_of;
use core::ops::Range;
use event::AccessKind;

/// What a thread did to one array since its last synchronisation.
#[derive(Debug)]
pub(super) struct Entry<F> {
    pub(super) id: ArrayId,
    pub(super) bytes: Range<u64>,
    /// log2 of the bytes in an element of the trails.
    pub(super) shift: u8,
    /// Reads and writes apart.
    trails: [Trail<F>; 2],
    /// Where `index` has it.
    place: u16,
}

impl<F: Footprint> Entry<F> {
    /// Was all that was read written, too? Then the reads need no check: what races with them races with the writes, which
    /// are of the same epoch.
    pub(super) fn reads_are_writes(&self) -> bool {
        let [reads, writes] = &self.trails;
        let mut all = !reads.footprint.is_empty() && !writes.footprint.is_empty();
        if all {
            reads
                .footprint
                .pieces(&mut |piece| all &= writes.footprint.includes(piece));
        }
        all
    }
}

impl<F> Entry<F> {
    #[inline]
    pub(super) fn trail(&mut self, kind: AccessKind) -> &mut Trail<F> {
        &mut self.trails[usize::from(kind == AccessKind::Write)]
    }
}

/// An array that was found on a page.
#[derive(Clone, Copy, Debug, bytemuck::Zeroable)]
struct Seen {
    /// Where it was found: so many bytes from here on.
    from: u64,
    len: u16,
    /// Number of its entry.
    entry: u16,
    /// Of the buffer.
    version: u32,
}

/// Memory without arrays: whole words.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Zeroable)]
struct Plain {
    from: u64,
    len: u32,
    /// When that was so.
    version: u32,
}

/// What a thread knows of memory without arrays, as the program's checks find it. The word at an address is in no array if it is within the `len` bytes
/// `from` the entry of its page on, and the entry's `version` is what [`Versions`] have for the page now. The table is another one, in another place, when it has grown.
#[repr(transparent)]
#[derive(Debug)]
pub struct PlainTable(Plain);

#[allow(missing_docs, reason = "offsets of the fields that have these names")]
impl PlainTable {
    /// An entry has `1 << SHIFT` bytes.
    pub const SHIFT: u32 = size_of::<Plain>().trailing_zeros();
    pub const FROM: usize = offset_of!(Plain, from);
    pub const LEN: usize = offset_of!(Plain, len);
    pub const VERSION: usize = offset_of!(Plain, version);
}

const _: () = assert!(size_of::<Plain>() == 1 << PlainTable::SHIFT);

impl Seen {
    #[inline(always)]
    const fn has(&self, addr: u64) -> bool {
        addr.wrapping_sub(self.from) < self.len as u64
    }
}

impl Plain {
    const NOTHING: Plain = Plain {
        from: 0,
        len: 0,
        version: 0,
    };

    #[inline(always)]
    const fn has(&self, addr: u64) -> bool {
        addr.wrapping_sub(self.from) < self.len as u64
    }

    #[inline(always)]
    const fn end(&self) -> u64 {
        self.from + self.len as u64
    }

    #[inline(always)]
    const fn has_all(&self, bytes: &Range<u64>) -> bool {
        self.from <= bytes.start && bytes.end <= self.end()
    }

    /// That memory, and what was known before if the two make one.
    fn see(&mut self, from: u64, to: u64, version: u32) {
        let (mut all, end) = (from..to, self.end());
        if self.version == version && from <= end && self.from <= to {
            all = from.min(self.from)..to.max(end);
            if all.end - all.start > u64::from(u32::MAX) {
                all = from..to;
            }
        }
        *self = Plain {
            from: all.start,
            len: (all.end - all.start) as u32,
            version,
        };
    }
}

const NOTHING: u16 = u16::MAX;
/// Pages of the cache of plain memory, at first and of a thread for which these are not enough. Powers of two.
const FEW_PLAIN: usize = 16;
const PLAIN: usize = 128;
/// Pages of that of arrays, and how much of one it knows: loops go through several arrays at once, and small ones share a page.
const FEW_SEEN: usize = 16;
const SEEN: usize = 64;
const WAYS: usize = 2;
/// A cache in which so many pages made room for others is too small.
const CROWDED: u8 = 32;
/// Places of the index at first. It has at least twice as many as there are entries.
const INDEX: usize = 64;
/// Entries that there is room for at first.
const FEW: usize = 8;
/// Entries that there is room for next: so many that they are memory of their own, of which only what is used takes any, and which goes back when it is given back.
const MANY: usize = 256;
/// If there were more than that, they are given back when they are committed: few regions have so many.
const KEPT: usize = 128;
/// So many regions with [`FEW`] entries each, one after the other, and the others are given back, too: arrays that were many are FINE by now.
const CALM: u8 = 16;

/// What the cache knows of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cached {
    Plain,
    Entry(usize),
    Unknown,
}

/// A thread's commit buffer.
#[derive(Debug)]
pub(super) struct Buffer<F> {
    /// Those from `used` on were of earlier regions, and are empty.
    entries: Vec<Entry<F>>,
    used: usize,
    /// Regions since the last one that had more than a few.
    calm: u8,
    /// From an array's number, hashed, to its entry. Allocated at the first use; its length is a power of two.
    index: Vec<u16>,
    /// By page; none until an array is seen.
    seen: Box<[[Seen; WAYS]]>,
    /// How many made room for others.
    seen_crowded: u8,
    /// By page, of which each is a part.
    plain: Box<[Plain]>,
    plain_crowded: u8,
    thrifty: bool,
    /// The plain memory that was seen last, on any number of pages.
    stretch: Plain,
    version: u32,
}

impl<F> Buffer<F> {
    /// Where a [`PlainTable`] is, until [`Buffer::make_plain_room`] is called, and what makes a page the number of its entry: `page & mask`.
    #[inline]
    pub(super) fn plain(&self) -> (*const PlainTable, u32) {
        (self.plain.as_ptr().cast(), self.plain.len() as u32 - 1)
    }
}

impl<F: Footprint> Buffer<F> {
    /// An empty one, whose caches begin small if it is to be `thrifty`.
    pub(super) fn new(thrifty: bool) -> Self {
        // Numbers of entries, and places in an index at most twice as long.
        const { assert!(2 * F::ARRAYS < NOTHING as usize) };
        Buffer {
            entries: Vec::new(),
            used: 0,
            calm: 0,
            index: Vec::new(),
            seen: Box::new([]),
            seen_crowded: 0,
            // Zeroes, as `NOTHING` is: what is not used takes no memory.
            plain: bytemuck::zeroed_slice_box(if thrifty { FEW_PLAIN } else { PLAIN }),
            plain_crowded: 0,
            thrifty,
            stretch: Plain::NOTHING,
            version: 1,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }
    pub(super) fn is_full(&self) -> bool {
        self.used == F::ARRAYS
    }
    #[inline]
    pub(super) fn entry(&mut self, number: usize) -> &mut Entry<F> {
        &mut self.entries[number]
    }
    /// Entries have the numbers below that; the next new one gets it.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// What was found last at `addr`, if that is still so.
    #[inline(always)]
    pub(super) fn recall(&self, addr: u64, versions: &Versions) -> Cached {
        let page = (addr / 4096) as usize;
        let plain = &self.plain[page & (self.plain.len() - 1)];
        if plain.has(addr) && plain.version == versions.page(addr) {
            return Cached::Plain;
        }
        if self.stretch.has(addr) && self.stretch.version == versions.all() {
            return Cached::Plain;
        }
        // Of a cache that is not there, no page is one.
        let place = page & self.seen.len().wrapping_sub(1);
        let Some(seen) = self.seen.get(place) else {
            return Cached::Unknown;
        };
        for seen in seen {
            if seen.has(addr) && seen.version == self.version {
                return Cached::Entry(seen.entry as usize);
            }
        }
        Cached::Unknown
    }

    /// Are these bytes known to be in no array?
    #[inline]
    pub(super) fn knows_plain(&self, bytes: &Range<u64>, versions: &Versions) -> bool {
        let plain = &self.plain[(bytes.start / 4096) as usize & (self.plain.len() - 1)];
        if plain.has_all(bytes) && plain.version == versions.page(bytes.start) {
            return true;
        }
        self.stretch.has_all(bytes) && self.stretch.version == versions.all()
    }

    /// These bytes of a page are in no array. Only whole words of them are remembered.
    pub(super) fn saw_plain(&mut self, bytes: Range<u64>, version: Version) {
        let (from, to) = (bytes.start.next_multiple_of(8), bytes.end & !7);
        if from >= to {
            return;
        }
        let place = (from / 4096) as usize & (self.plain.len() - 1);
        let on_page = &mut self.plain[place];
        if on_page.len != 0 && on_page.from / 4096 != from / 4096 {
            self.plain_crowded = self.plain_crowded.saturating_add(1);
        }
        on_page.see(from, to, version.page);
        self.stretch.see(from, to, version.all);
    }

    /// `addr` belongs to the array of that entry.
    pub(super) fn saw(&mut self, addr: u64, number: usize) {
        let bytes = &self.entries[number].bytes;
        let page = addr & !4095;
        let from = bytes.start.max(page);
        let to = bytes.end.min(page.saturating_add(4096));
        self.remember(Seen {
            from,
            // Of one page.
            len: to.saturating_sub(from) as u16,
            entry: number as u16,
            version: self.version,
        });
    }

    /// As what was found last on its page, before what was found there before it.
    fn remember(&mut self, seen: Seen) {
        if self.seen.is_empty() || self.seen_crowded >= CROWDED && self.seen.len() < SEEN {
            let pages = if self.thrifty && self.seen.is_empty() {
                FEW_SEEN
            } else {
                SEEN
            };
            self.seen = bytemuck::zeroed_slice_box(pages);
            self.seen_crowded = 0;
        }
        let place = (seen.from / 4096) as usize & (self.seen.len() - 1);
        let ways = &mut self.seen[place];
        if ways[0].from != seen.from {
            let lost = ways[1].version == self.version && ways[1].from / 4096 != seen.from / 4096;
            self.seen_crowded = self.seen_crowded.saturating_add(u8::from(lost));
            ways[1] = ways[0];
        }
        ways[0] = seen;
    }

    /// Gives the cache of plain memory all its pages, in another place, if it has few and they are crowded.
    #[inline(always)]
    pub(super) fn make_plain_room(&mut self) {
        if self.plain_crowded >= CROWDED && self.plain.len() < PLAIN {
            self.plain = bytemuck::zeroed_slice_box(PLAIN);
        }
    }

    /// The entry of an array, or where it belongs.
    pub(super) fn find(&mut self, id: ArrayId) -> Result<usize, Vacancy> {
        if self.index.is_empty() {
            self.index.resize(INDEX, NOTHING);
        }
        let mut place = first_place(id, self.index.len());
        loop {
            let number = self.index[place];
            if number == NOTHING {
                return Err(Vacancy(place as u16));
            }
            if self.entries[usize::from(number)].id == id {
                return Ok(usize::from(number));
            }
            place = (place + 1) % self.index.len();
        }
    }

    /// Makes the index twice as long.
    #[cold]
    fn lengthen(&mut self) {
        let len = 2 * self.index.len();
        self.index.clear();
        self.index.resize(len, NOTHING);
        for (number, entry) in self.entries[..self.used].iter_mut().enumerate() {
            let mut place = first_place(entry.id, len);
            while self.index[place] != NOTHING {
                place = (place + 1) % len;
            }
            self.index[place] = number as u16;
            entry.place = place as u16;
        }
    }

    /// A new entry, for which there must be room.
    pub(super) fn insert(
        &mut self,
        Vacancy(place): Vacancy,
        id: ArrayId,
        bytes: Range<u64>,
        shift: u8,
    ) -> usize {
        let number = self.used;
        self.index[usize::from(place)] = number as u16;
        match self.entries.get_mut(number) {
            Some(entry) => {
                (entry.id, entry.bytes) = (id, bytes);
                (entry.shift, entry.place) = (shift, place);
            }
            None => {
                if number == self.entries.capacity() {
                    self.make_room();
                }
                self.entries.push(Entry {
                    id,
                    bytes,
                    shift,
                    trails: [Trail::default(), Trail::default()],
                    place,
                });
            }
        }
        self.used += 1;
        if 2 * self.used > self.index.len() {
            self.lengthen();
        }
        number
    }

    /// A few entries first, then many: not as many blocks of memory as there are doublings, of which nobody else has a use.
    #[cold]
    fn make_room(&mut self) {
        let used = self.entries.len();
        let all = match used {
            0 => FEW,
            FEW => MANY,
            _ => 2 * used,
        };
        self.entries.reserve_exact(all - used);
    }

    /// Empties the buffer, whose footprints must have been committed.
    pub(super) fn clear(&mut self) {
        for entry in &mut self.entries[..self.used] {
            self.index[usize::from(entry.place)] = NOTHING;
            entry.trails.iter_mut().for_each(Trail::end);
        }
        let used = core::mem::take(&mut self.used);
        let few = used <= FEW && self.entries.capacity() > FEW;
        self.calm = if few { self.calm + 1 } else { 0 };
        if used > KEPT || self.calm == CALM {
            self.entries = Vec::new();
            self.index = Vec::new();
            self.calm = 0;
        }
        // A cached page of 2^32 flushes ago must not look new.
        self.version = self.version.wrapping_add(1);
        if self.version == 0 {
            self.seen = Box::new([]);
        }
    }
}

/// Where an index of `len` places has an array, or soon after.
#[inline]
const fn first_place(id: ArrayId, len: usize) -> usize {
    id.get().wrapping_mul(0x9E37_79B1) as usize >> (32 - len.trailing_zeros())
}

/// A free place in the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vacancy(u16);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slimstate::Strided;

    fn region(buffer: &mut Buffer<Strided>, arrays: u32) {
        for id in (1..=arrays).filter_map(ArrayId::new) {
            if let Err(place) = buffer.find(id) {
                buffer.insert(place, id, 0..64, 3);
            }
        }
        buffer.clear();
    }

    #[test]
    fn room_for_many_arrays_is_kept_until_there_have_been_few_for_a_while() {
        let mut buffer = Buffer::new(true);
        for _ in 0..2 {
            region(&mut buffer, KEPT as u32);
            for _ in 1..CALM {
                region(&mut buffer, 1);
                assert!(buffer.entries.capacity() >= KEPT);
            }
        }
        region(&mut buffer, 1);
        assert_eq!(buffer.entries.capacity(), 0);
        region(&mut buffer, KEPT as u32 + 1);
        assert_eq!(buffer.entries.capacity(), 0);
    }
}
