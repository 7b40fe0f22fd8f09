//! Streams: what a loop does to an array, foreseen.
//!
//! One place in a program that touches one array mostly goes on as it began: the next element, the one after it, or the same
//! ones once more. A stream remembers, for a place, where its next access will be and which bytes it need not mention again.
//! An access that is foreseen extends the stream, with no look at the array, the footprint or the site. The footprint
//! learns of all of it at once, when somebody wants to know (`fold`).
//!
//! ```text
//!        already in the footprint       foreseen so far          to come
//!   ├──────────────────────────────┼──────────────────────┼───────────────────┤
//!   low … cover: same bytes again  start                  next (step apart)   end of the array
//! ```
//!
//! **Why that is right.** A footprint is a set: it does not matter when in a region an element gets into it, as long as it is
//! there before the region is committed. A stream stays within one array that the thread has an entry of, hence pinned, and ends with the region. It
//! is left as soon as anything happens to any such array that accesses have to know of: elements that are single, atomic
//! accesses, memory that has another use; `disturbed` counts these. An access to bytes that the thread has touched in the same region in
//! the same manner is redundant, as in FastTrack's same-epoch rules.

use super::strided::Strided;
use crate::boxed::boxed_with;
use alloc::boxed::Box;
use alloc::vec::Vec;
use event::{AccessKind, Site};

/// Sets of slots; a place may have either slot of its set.
const SETS: usize = 64;
const SLOTS: usize = 2 * SETS;
/// A place whose streams broke off early so often in a row is no longer followed.
const PATIENCE: u8 = 8;
/// Shorter streams cost more than they save.
const SHORT: u64 = 8;

/// The place of an access: whatever tells places apart. Never 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaceKey(u64);

impl PlaceKey {
    /// A key from bits that are as good as random; two places with the same bits are taken for one.
    #[inline(always)]
    pub const fn new(bits: u64) -> PlaceKey {
        PlaceKey(bits | 1)
    }

    /// The first slot of its set.
    #[inline(always)]
    const fn set(self) -> usize {
        (self.0 >> 40) as usize % SETS * 2
    }
}

/// An entry of the commit buffer, and which of its two trails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Target {
    pub(super) number: u16,
    pub(super) kind: AccessKind,
}

#[derive(Clone, Debug)]
struct Stream {
    /// 0: none.
    key: u64,
    /// The next access that is foreseen, if it is not `end`.
    next: u64,
    end: u64,
    step: u64,
    /// Accesses that begin at `low` to `cover` are redundant; none if `low > cover`.
    low: u64,
    cover: u64,
    /// What `cover` grows by with each access: `step` if the stream goes on where the covered bytes end, else 0.
    grow: u64,
    /// The first access that the footprint does not know of.
    start: u64,
    /// The last access that came the long way.
    last: u64,
    target: Target,
    size: u64,
    site: Site,
    /// How often in a row it broke off early.
    broken: u8,
}

const NONE: Stream = Stream {
    key: 0,
    next: 0,
    end: 0,
    step: 0,
    low: 1,
    cover: 0,
    grow: 0,
    start: 0,
    last: 0,
    target: Target {
        number: 0,
        kind: AccessKind::Read,
    },
    size: 1,
    site: Site(0),
    broken: 0,
};

/// An access that came the long way and is in the footprint of `target` now.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) target: Target,
    pub(super) addr: u64,
    pub(super) size: u64,
    pub(super) site: Site,
    /// The array's bytes.
    pub(super) array: core::ops::Range<u64>,
    /// Bytes in an element.
    pub(super) unit: u64,
    /// A run of bytes around it that the thread has touched in this region in this manner.
    pub(super) covered: Option<core::ops::Range<u64>>,
}

/// The streams of one thread.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    slots: Box<[Stream; SLOTS]>,
    /// Which slots have a stream; one bit each.
    used: u128,
    /// The count of disturbances for which all of this holds.
    pub(super) disturbed: u32,
    /// Accesses that were foreseen or redundant.
    pub(super) foreseen: u64,
}

impl Streams {
    pub(super) fn new() -> Self {
        Streams {
            slots: boxed_with(|| NONE),
            used: 0,
            disturbed: 0,
            foreseen: 0,
        }
    }

    /// Is that access foreseen, or redundant? Then there is nothing else to do.
    #[inline(always)]
    pub(super) fn take(&mut self, key: PlaceKey, addr: u64, disturbed: u32) -> bool {
        let set = key.set();
        let slot = set + usize::from(self.slots[set].key != key.0);
        let stream = &mut self.slots[slot];
        if stream.key != key.0 || self.disturbed != disturbed {
            return false;
        }
        if addr == stream.next && addr != stream.end {
            stream.next = addr.wrapping_add(stream.step);
            stream.cover = stream.cover.wrapping_add(stream.grow);
            self.foreseen += 1;
            return true;
        }
        let redundant = stream.low <= addr && addr <= stream.cover;
        self.foreseen += u64::from(redundant);
        redundant
    }

    /// The slot that the place has, or will have.
    fn slot(&self, key: PlaceKey) -> usize {
        let set = key.set();
        let [first, second] = [&self.slots[set], &self.slots[set + 1]];
        if first.key == key.0 {
            set
        } else if second.key == key.0 {
            set + 1
        } else {
            // Rather one that leads nowhere.
            set + usize::from(first.next != first.end && second.next == second.end)
        }
    }

    /// What has to be folded before the place may begin another stream.
    pub(super) fn in_the_way(&self, key: PlaceKey) -> Option<Target> {
        let stream = &self.slots[self.slot(key)];
        (stream.key != 0 && stream.start != stream.next).then_some(stream.target)
    }

    /// The place made an access that was not foreseen. Nothing of its slot is unfolded.
    pub(super) fn follow(&mut self, key: PlaceKey, seen: &Seen) {
        let slot = self.slot(key);
        let stream = &mut self.slots[slot];
        debug_assert!(stream.key == 0 || stream.start == stream.next);
        let again = stream.key == key.0 && self.used >> slot & 1 != 0;
        let broken = if stream.key == key.0 {
            stream.broken
        } else {
            0
        };
        let step = seen.addr.wrapping_sub(stream.last);
        let same = again && stream.target == seen.target && seen.addr != stream.last;
        *stream = Stream {
            key: key.0,
            last: seen.addr,
            target: seen.target,
            size: seen.size,
            site: seen.site,
            broken,
            ..NONE
        };
        self.used |= 1 << slot;
        if let Some(covered) = &seen.covered
            && seen.addr >= covered.start
            && seen.addr + seen.size <= covered.end
        {
            stream.low = covered.start;
            stream.cover = covered.end - seen.size;
        }
        let width = (step as i64).unsigned_abs();
        if !same || broken >= PATIENCE || width < seen.size || !width.is_multiple_of(seen.unit) {
            return;
        }
        // As far as the array goes.
        let rest = if (step as i64) > 0 {
            (seen.array.end - seen.addr - seen.size) / width
        } else {
            (seen.addr - seen.array.start) / width
        };
        stream.step = step;
        stream.next = seen.addr.wrapping_add(step);
        stream.start = stream.next;
        stream.end = stream.next.wrapping_add(step.wrapping_mul(rest));
        if step == seen.size && stream.low <= stream.cover && stream.next == stream.cover + step {
            stream.grow = step;
        }
    }

    /// Calls `f` with what the streams of `target` have that its footprint does not know of: indices of its elements, of
    /// `1 << shift` bytes from `base` on, and the site. From then on it knows.
    pub(super) fn fold(
        &mut self,
        target: Target,
        base: u64,
        shift: u8,
        mut f: impl FnMut(Strided, Site),
    ) {
        let mut rest = self.used;
        while rest != 0 {
            let stream = &mut self.slots[rest.trailing_zeros() as usize];
            rest &= rest - 1;
            if stream.target != target || stream.start == stream.next {
                continue;
            }
            let last = stream.next.wrapping_sub(stream.step);
            let (low, high) = (stream.start.min(last), stream.start.max(last));
            let width = (stream.step as i64).unsigned_abs();
            stream.broken = if (high - low) / width < SHORT {
                stream.broken.saturating_add(1)
            } else {
                0
            };
            stream.start = stream.next;
            let (first, end) = ((low - base) >> shift, (high + stream.size - base) >> shift);
            if width == stream.size {
                f(Strided::run(first, end - 1), stream.site);
                continue;
            }
            // Each access of several elements: one piece for each of them.
            let elements = stream.size >> shift;
            for part in 0..elements {
                let piece = Strided::new(first + part, end - elements + part, width >> shift);
                f(piece, stream.site);
            }
        }
    }

    /// The targets of all streams, each at least once.
    pub(super) fn targets(&self) -> Vec<Target> {
        let mut all = Vec::new();
        let mut rest = self.used;
        while rest != 0 {
            let stream = &self.slots[rest.trailing_zeros() as usize];
            rest &= rest - 1;
            if stream.start != stream.next && !all.contains(&stream.target) {
                all.push(stream.target);
            }
        }
        all
    }

    /// No stream any more; all must have been folded. What is known of places stays.
    pub(super) fn clear(&mut self) {
        let mut rest = self.used;
        while rest != 0 {
            let stream = &mut self.slots[rest.trailing_zeros() as usize];
            rest &= rest - 1;
            debug_assert!(stream.start == stream.next);
            (stream.next, stream.end, stream.start) = (0, 0, 0);
            (stream.low, stream.cover) = (1, 0);
        }
        self.used = 0;
    }
}
