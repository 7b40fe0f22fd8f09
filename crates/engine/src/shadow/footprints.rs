//! What a thread has accessed since it last synchronised, on [pages with layers](super::layers), and still has to check.
//!
//! ```text
//! struct Seen                      of one page; the stubs look at it, and change it
//!   read       a bit for each byte that the thread has read or written
//!   written    a bit for each byte that it has written
//!   page       its number, or none: whoever comes with a pointer finds out
//!   slot       where the numbers of sites are good
//!   renewed    a number that is another one by now if bytes of the page were made fresh
//!   number     where it is among the thread's
//!   marks      the last accesses that set bits, reads and writes: see `Mark`
//! struct Footprint
//!   marks      all before these
//! ```
//!
//! An access to bytes that are in `read`, or in `written` if it writes, is redundant: FastTrack's `ReadSameEpoch` and `WriteSameEpoch`. That is so although what the thread did is not recorded yet:
//! all is checked before the thread's clock changes, so whatever is not ordered with the first access is not ordered with this one. If the memory was made fresh in between, by another thread, that
//! was not ordered after the first access either, which is then checked against what the bytes remembered until then ([`Layers`](super::layers::Layers) has graves for it).
//!
//! **Who may touch what.** The thread alone; or who ends the process while it stands still.

use alloc::boxed::Box;
use alloc::vec::Vec;
// Not loom's: nobody but the thread itself looks at them.
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use event::{AccessKind, Addr};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::bits::Bits;
use super::cell::{Cell, Epoch};
use super::layer_pages::Begun;
use super::layers::{Layer, Spare};
use super::marks::Mark;
use super::pages::{PAGE_BYTES, PAGE_WORDS};
use super::sweep::{Sweep, Sweeps};
use crate::boxed::boxed_with;
use crate::clock::Slot;

/// More pages are not put off: then all are checked.
#[cfg(not(loom))]
const MOST: usize = 4096;
#[cfg(loom)]
const MOST: usize = 2;

/// A bit for each byte of a page.
type Bytes = [AtomicU64; PAGE_WORDS / 8];

/// The last accesses that set bits.
#[derive(Debug)]
#[repr(C)]
pub struct Last {
    /// How many.
    pub len: AtomicU32,
    /// In the order in which they were made: [`Mark`]s.
    pub marks: [AtomicU32; Last::MOST],
}

impl Last {
    /// So many.
    pub const MOST: usize = 31;
}

/// What a thread has accessed of a page.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Seen {
    /// Bytes that were read or written.
    pub read: Bytes,
    /// Bytes that were written.
    pub written: Bytes,
    /// Number of the page, or [`Seen::NONE`].
    pub page: AtomicU64,
    /// The thread's slot, and one.
    pub slot: AtomicU32,
    /// What [`Renewed`](super::Renewed) had for the page.
    pub renewed: AtomicU32,
    /// Where it is among the thread's footprints.
    pub number: AtomicU32,
    /// By kind of the access.
    pub last: [Last; 2],
}

impl Seen {
    /// The number of no page.
    pub const NONE: u64 = u64::MAX;

    #[inline(always)]
    fn marked(&self, kind: AccessKind) -> &Bytes {
        match kind {
            AccessKind::Read => &self.read,
            AccessKind::Write => &self.written,
        }
    }

    /// Puts down that an access from the site with that number was the first of its kind to some of these bytes of the page. False if there is no room.
    fn note(&self, kind: AccessKind, mark: Mark) -> bool {
        let last = &self.last[kind as usize];
        let len = last.len.load(Ordering::Relaxed);
        let Some(place) = last.marks.get(len as usize) else {
            return false;
        };
        place.store(mark.0, Ordering::Relaxed);
        last.len.store(len + 1, Ordering::Relaxed);
        true
    }

    /// Is an access to `len` bytes redundant, up to 64 of them, at `addr` of this page? No if some of them are on the next one.
    #[inline(always)]
    pub fn has(&self, kind: AccessKind, addr: Addr, len: u64) -> bool {
        debug_assert!(0 < len && len <= 64);
        let marks = self.marked(kind);
        let (at, shift) = ((addr.0 % PAGE_BYTES) as usize / 64, addr.0 % 64);
        let asked = u64::MAX >> (64 - len);
        if !marks[at].load(Ordering::Relaxed) >> shift & asked != 0 {
            return false;
        }
        if shift + len <= 64 {
            return true;
        }
        let asked = u64::MAX >> (128 - shift - len);
        at + 1 < marks.len() && !marks[at + 1].load(Ordering::Relaxed) & asked == 0
    }

    /// The same for bytes of one word, up to eight of them.
    #[inline(always)]
    pub fn has_within(&self, kind: AccessKind, addr: Addr, len: u64) -> bool {
        let at = (addr.0 % PAGE_BYTES) as usize / 64;
        let marks = self.marked(kind)[at].load(Ordering::Relaxed);
        let has = !marks >> (addr.0 % 64) & (u64::MAX >> (64 - len)) == 0;
        debug_assert!(addr.0 % 8 + len > 8 || has == self.has(kind, addr, len));
        has
    }

    /// The same for any number of bytes of the page.
    #[inline(always)]
    pub fn has_range(&self, kind: AccessKind, addr: Addr, len: u64) -> bool {
        let (mut addr, mut len) = (addr.0 % PAGE_BYTES, len);
        while len > 64 {
            if !self.has(kind, Addr(addr), 64) {
                return false;
            }
            addr += 64;
            len -= 64;
        }
        self.has(kind, Addr(addr), len)
    }
}

impl Sweep {
    /// The bytes of these words, 64 at a time: which, and some of them.
    #[inline(always)]
    fn chunks(self, mut f: impl FnMut(usize, u64)) {
        if self.period > 1 || self.mask != 0xFF {
            let word = |word: usize| f(word / 8, u64::from(self.mask) << (8 * (word % 8)));
            return self.words().for_each(word);
        }
        chunks(8 * usize::from(self.first), 8 * self.count() as usize, f);
    }
}

/// The `len` bytes of a page from `at` on, 64 at a time.
#[inline(always)]
fn chunks(at: usize, len: usize, mut f: impl FnMut(usize, u64)) {
    let end = at + len;
    let mut at = at;
    while at < end {
        let next = end.min((at | 63) + 1);
        f(at / 64, (u64::MAX >> (64 - (next - at))) << (at % 64));
        at = next;
    }
}

/// What a thread still has to check of a page.
#[derive(Debug)]
pub(crate) struct Footprint {
    /// It stays where it is.
    seen: Box<[Seen; 1]>,
    /// Which of the pages with layers.
    pub(crate) index: u32,
    /// How often bytes of the page had been made fresh when it was begun.
    pub(crate) begun: u64,
    /// The epoch that it was begun in.
    epoch: Epoch,
    /// By kind of the access.
    marks: [Vec<Mark>; 2],
}

const KINDS: [AccessKind; 2] = [AccessKind::Read, AccessKind::Write];
const _: () = assert!(AccessKind::Read as usize == 0 && AccessKind::Write as usize == 1);

impl Footprint {
    fn new() -> Footprint {
        let last = || Last {
            len: AtomicU32::new(0),
            marks: [const { AtomicU32::new(0) }; Last::MOST],
        };
        Footprint {
            seen: boxed_with(|| Seen {
                read: [const { AtomicU64::new(0) }; PAGE_WORDS / 8],
                written: [const { AtomicU64::new(0) }; PAGE_WORDS / 8],
                page: AtomicU64::new(Seen::NONE),
                slot: AtomicU32::new(0),
                renewed: AtomicU32::new(0),
                number: AtomicU32::new(0),
                last: [last(), last()],
            }),
            index: 0,
            begun: 0,
            epoch: Epoch::NEVER,
            marks: [const { Vec::new() }; 2],
        }
    }

    #[inline(always)]
    fn seen(&self) -> &Seen {
        let [seen] = &*self.seen;
        seen
    }

    /// The first byte of its page.
    pub(crate) fn base(&self) -> Addr {
        Addr(self.seen().page.load(Ordering::Relaxed) * PAGE_BYTES)
    }

    /// Was it begun in this epoch, and has nobody made bytes of the page fresh since?
    #[inline(always)]
    pub(crate) fn is_of(&self, epoch: Epoch, renewed: u32) -> bool {
        self.epoch == epoch && self.seen().renewed.load(Ordering::Relaxed) == renewed
    }

    /// Adds to the bits some of 64 bytes, which begin at a multiple of that. Which of them were not there?
    #[inline(always)]
    fn add(&self, kind: AccessKind, chunk: usize, bytes: u64) -> u64 {
        let seen = self.seen();
        let add = |marks: &Bytes| {
            let marks = &marks[chunk % marks.len()];
            let before = marks.load(Ordering::Relaxed);
            marks.store(before | bytes, Ordering::Relaxed);
            bytes & !before
        };
        let read = add(&seen.read);
        match kind {
            AccessKind::Read => read,
            AccessKind::Write => add(&seen.written),
        }
    }

    /// Puts off the check of an access to some words, from the site with that number. Was it new?
    pub(crate) fn mark(&mut self, kind: AccessKind, sweeps: &Sweeps, number: u32) -> bool {
        let mut new = false;
        for &sweep in sweeps.as_slice() {
            let mut added = 0;
            sweep.chunks(|chunk, bytes| added |= self.add(kind, chunk, bytes));
            if added != 0 {
                new = true;
                Mark::each(sweep, number, |mark| self.note(kind, mark));
            }
        }
        new
    }

    /// The same for `len` bytes at `addr`, all of them on the page. Few of them are new where a program goes through text by the word, and only these are marked.
    #[inline(always)]
    pub(crate) fn mark_bytes(&mut self, kind: AccessKind, addr: Addr, len: u64, number: u32) {
        chunks(
            (addr.0 % PAGE_BYTES) as usize,
            len as usize,
            |chunk, bytes| {
                let mut new = self.add(kind, chunk, bytes);
                while new != 0 {
                    let first = new.trailing_zeros() as usize;
                    let run = (new >> first).trailing_ones() as usize;
                    // Adding the first of a run carries behind its last.
                    new &= new.wrapping_add(1 << first);
                    let at = 64 * chunk + first;
                    Mark::pieces(at, run, number, |mark| self.note(kind, mark));
                }
            },
        );
    }

    #[inline(always)]
    fn note(&mut self, kind: AccessKind, mark: Mark) {
        if !self.seen().note(kind, mark) {
            self.drain(kind);
            self.seen().note(kind, mark);
        }
    }

    /// Takes the last marks over.
    #[inline(never)]
    fn drain(&mut self, kind: AccessKind) {
        let [seen] = &*self.seen;
        let last = &seen.last[kind as usize];
        let len = last.len.load(Ordering::Relaxed) as usize;
        let marks = last.marks.iter().take(len);
        self.marks[kind as usize].extend(marks.map(|mark| Mark(mark.load(Ordering::Relaxed))));
        last.len.store(0, Ordering::Relaxed);
    }

    /// How many marks there are.
    pub(crate) fn marks(&self) -> u32 {
        let last = self.seen().last.iter();
        let last: u32 = last.map(|last| last.len.load(Ordering::Relaxed)).sum();
        last + self
            .marks
            .iter()
            .map(|marks| marks.len() as u32)
            .sum::<u32>()
    }

    /// The accesses of one kind. What was written needs no check as read: who races with that races with the write.
    fn layer(&mut self, kind: AccessKind, bits: &mut Spare) -> Option<Layer> {
        self.drain(kind);
        let marks = core::mem::take(&mut self.marks[kind as usize]);
        if marks.is_empty() {
            return None;
        }
        let seen = self.seen();
        let at = |marks: &Bytes, at: usize| marks[at].load(Ordering::Relaxed);
        let mut all = bits.pop().unwrap_or_else(Bits::none);
        all.fill(|chunk| match kind {
            AccessKind::Read => at(&seen.read, chunk) & !at(&seen.written, chunk),
            AccessKind::Write => at(&seen.written, chunk),
        });
        Some(Layer {
            cell: Cell::new(self.epoch, kind, 0xFF, 0),
            atomic: false,
            bits: all,
            marks,
        })
    }
}

/// All pages of which a thread still has something to check.
#[derive(Debug, Default)]
pub(crate) struct Footprints {
    open: Vec<Footprint>,
    spare: Vec<Footprint>,
    pub(crate) bits: Spare,
    by_page: HashMap<u64, u32, FxBuildHasher>,
}

impl Footprints {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Had all better be checked before there is one more?
    pub(crate) fn are_many(&self) -> bool {
        self.open.len() >= MOST
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// That of the page of `addr`: its number.
    #[inline]
    pub(crate) fn find(&self, addr: Addr) -> Option<usize> {
        if self.open.is_empty() {
            return None;
        }
        let number = self.by_page.get(&(addr.0 / PAGE_BYTES))?;
        Some(*number as usize)
    }

    /// What the stubs look at, of the page of `addr`.
    pub(crate) fn seen(&self, addr: Addr) -> Option<&Seen> {
        self.find(addr).map(|number| self.open[number].seen())
    }

    /// The one with that number, if it is of the page of `addr`.
    #[inline(always)]
    pub(crate) fn at(&mut self, number: usize, addr: Addr) -> Option<&mut Footprint> {
        let footprint = self.open.get_mut(number)?;
        let page = footprint.seen().page.load(Ordering::Relaxed);
        (page == addr.0 / PAGE_BYTES).then_some(footprint)
    }

    /// The one with that number.
    pub(crate) fn get(&mut self, number: usize) -> &mut Footprint {
        &mut self.open[number]
    }

    /// Begins that of the page of `addr`, which is number `index` of those with layers, in the epoch of a slot.
    pub(crate) fn begin(
        &mut self,
        addr: Addr,
        index: u32,
        begun: Begun,
        (slot, epoch): (Slot, Epoch),
    ) -> usize {
        let mut footprint = self.spare.pop().unwrap_or_else(Footprint::new);
        (footprint.index, footprint.begun, footprint.epoch) = (index, begun.renewals, epoch);
        let seen = footprint.seen();
        seen.slot.store(u32::from(slot.0) + 1, Ordering::Relaxed);
        seen.renewed.store(begun.renewed, Ordering::Relaxed);
        seen.page.store(addr.0 / PAGE_BYTES, Ordering::Relaxed);
        let number = self.open.len();
        self.open.push(footprint);
        self.renumber(number);
        number
    }

    fn renumber(&mut self, number: usize) {
        if let Some(footprint) = self.open.get(number) {
            let seen = footprint.seen();
            seen.number.store(number as u32, Ordering::Relaxed);
            let page = seen.page.load(Ordering::Relaxed);
            self.by_page.insert(page, number as u32);
        }
    }

    /// Takes the layers of one: they are about to be checked.
    pub(crate) fn take_layers(&mut self, number: usize) -> [Option<Layer>; 2] {
        let footprint = &mut self.open[number];
        KINDS.map(|kind| footprint.layer(kind, &mut self.bits))
    }

    /// It is checked.
    pub(crate) fn end(&mut self, number: usize) {
        let footprint = self.open.swap_remove(number);
        let seen = footprint.seen();
        self.by_page.remove(&seen.page.load(Ordering::Relaxed));
        seen.page.store(Seen::NONE, Ordering::Relaxed);
        for marks in seen.read.iter().chain(&seen.written) {
            marks.store(0, Ordering::Relaxed);
        }
        self.spare.push(footprint);
        self.renumber(number);
    }
}
