//! Commit buffers: the footprints of one thread that are still to be committed.
//!
//! At most [`Buffer::CAPACITY`] arrays, as in the paper. Beside them, a small cache from pages to what was last found
//! there, so that a loop finds its array with one or two comparisons; and the memory without arrays that was found last, however many
//! pages it has.

use super::array::ArrayId;
use super::footprint::Footprint;
use super::trail::Trail;
use crate::boxed::boxed_with;
use alloc::boxed::Box;
use alloc::vec::Vec;
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

/// Something that was found on a page.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Where it was found: so many bytes from here on.
    from: u64,
    len: u64,
    /// Number of an entry, or `PLAIN`.
    entry: u32,
    /// Of the buffer for an entry; of the arrays for plain memory.
    version: u32,
}

impl Seen {
    const NOTHING: Seen = Seen {
        from: 0,
        len: 0,
        entry: PLAIN,
        version: 0,
    };

    #[inline(always)]
    const fn has(&self, addr: u64) -> bool {
        addr.wrapping_sub(self.from) < self.len
    }
}

const PLAIN: u32 = u32::MAX;
const NOTHING: u16 = u16::MAX;
/// Pages of the cache, and how much of one it knows: loops go through several arrays at once, and small ones share a page.
const SEEN: usize = 256;
const WAYS: usize = 2;
/// Places of the index at first. It has at least twice as many as there are entries.
const INDEX: usize = 64;
/// More entries than that are given back when they are committed: few regions have so many.
const KEPT: usize = 128;

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
    entries: Vec<Entry<F>>,
    /// From an array's number, hashed, to its entry. Allocated at the first use; its length is a power of two.
    index: Vec<u16>,
    /// By page.
    seen: Box<[[Seen; WAYS]; SEEN]>,
    /// The plain memory that was seen last.
    plain: Seen,
    version: u32,
}

impl<F: Footprint> Buffer<F> {
    /// How many arrays a thread may have footprints of (section V-B).
    pub(super) const CAPACITY: usize = 2048;

    pub(super) fn new() -> Self {
        Buffer {
            entries: Vec::new(),
            index: Vec::new(),
            seen: boxed_with(|| [Seen::NOTHING; WAYS]),
            plain: Seen::NOTHING,
            version: 1,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() == Self::CAPACITY
    }
    #[inline]
    pub(super) fn entry(&mut self, number: usize) -> &mut Entry<F> {
        &mut self.entries[number]
    }
    /// Entries have the numbers below that; the next new one gets it.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What was found last at `addr`, if that is still so. `arrays` is the version of the arrays.
    #[inline]
    pub(super) fn recall(&self, addr: u64, arrays: u32) -> Cached {
        if self.plain.has(addr) && self.plain.version == arrays {
            return Cached::Plain;
        }
        for seen in &self.seen[(addr / 4096) as usize % SEEN] {
            if !seen.has(addr) {
                continue;
            }
            if seen.entry == PLAIN && seen.version == arrays {
                return Cached::Plain;
            }
            if seen.entry != PLAIN && seen.version == self.version {
                return Cached::Entry(seen.entry as usize);
            }
        }
        Cached::Unknown
    }

    /// These bytes of a page are in no array. Only whole words of them are remembered.
    pub(super) fn saw_plain(&mut self, bytes: Range<u64>, arrays: u32) {
        let (from, to) = (bytes.start.next_multiple_of(8), bytes.end & !7);
        if from >= to {
            return;
        }
        let seen = Seen {
            from,
            len: to - from,
            entry: PLAIN,
            version: arrays,
        };
        if seen.len == 4096 {
            // Of a page with an array, the array is what loops ask for.
            self.remember(seen);
        }
        let last = self.plain.from..self.plain.from + self.plain.len;
        if self.plain.version == arrays && from <= last.end && last.start <= to {
            self.plain.from = from.min(last.start);
            self.plain.len = to.max(last.end) - self.plain.from;
        } else {
            self.plain = seen;
        }
    }

    /// `addr` belongs to the array of that entry.
    pub(super) fn saw(&mut self, addr: u64, number: usize) {
        let bytes = &self.entries[number].bytes;
        let page = addr & !4095;
        let from = bytes.start.max(page);
        let to = bytes.end.min(page.saturating_add(4096));
        self.remember(Seen {
            from,
            len: to.saturating_sub(from),
            entry: number as u32,
            version: self.version,
        });
    }

    /// As what was found last on its page, before what was found there before it.
    fn remember(&mut self, seen: Seen) {
        let ways = &mut self.seen[(seen.from / 4096) as usize % SEEN];
        if ways[0].from != seen.from {
            ways[1] = ways[0];
        }
        ways[0] = seen;
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
        for (number, entry) in self.entries.iter_mut().enumerate() {
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
        let number = self.entries.len();
        self.index[usize::from(place)] = number as u16;
        self.entries.push(Entry {
            id,
            bytes,
            shift,
            trails: [Trail::default(), Trail::default()],
            place,
        });
        if 2 * self.entries.len() > self.index.len() {
            self.lengthen();
        }
        number
    }

    /// Empties the buffer, whose footprints must have been committed.
    pub(super) fn clear(&mut self) {
        for entry in self.entries.drain(..) {
            self.index[usize::from(entry.place)] = NOTHING;
        }
        if self.entries.capacity() > KEPT {
            self.entries = Vec::new();
            self.index = Vec::new();
        }
        // A cached page of 2^32 flushes ago must not look new.
        self.version = self.version.wrapping_add(1);
        if self.version == 0 {
            self.seen.fill([Seen::NOTHING; WAYS]);
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
