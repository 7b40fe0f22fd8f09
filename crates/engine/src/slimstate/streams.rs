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
//! the same manner is redundant, as in FastTrack's same-epoch rules. A read is redundant beside a write, too: so what the stream has that was last begun by writes, the *window*,
//! answers for reads from whatever place. A loop mostly reads what it has just written.
//!
//! **Who may touch what.** All of it is the thread's. The program's checks take foreseen accesses before they enter the runtime
//! ([`StreamTable`] says how), so `next` and `cover` change between two calls of the runtime, by one instruction each. A signal
//! handler may run before that instruction: who runs handlers folds and clears before and after, and a cleared stream
//! has a `next` that no access finds.

use super::strided::Strided;
use alloc::boxed::Box;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use event::{AccessKind, Site};
use smallvec::SmallVec;

/// Sets of slots; a place may have either slot of its set.
const SETS: usize = 64;
const SLOTS: usize = 2 * SETS;
/// Places are numbered by addresses of code: so far apart, at least.
const PLACE_SHIFT: u32 = 3;
/// A place whose streams broke off early so often in a row is not followed for a while: until it has come the long way as often as a byte can count.
const PATIENCE: u8 = 8;
/// Shorter streams cost more than they save.
const SHORT: u64 = 8;

/// The place of an access: whatever tells places apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaceKey {
    /// Never 0. Neighbours in a program differ by 8 at least, and have slots of their own.
    place: u64,
    context: u64,
}

impl PlaceKey {
    /// The place `place`, which is not 0, reached by `context`.
    #[inline(always)]
    pub const fn new(place: u64, context: u64) -> PlaceKey {
        debug_assert!(place != 0);
        PlaceKey { place, context }
    }

    /// The first slot of its set.
    #[inline(always)]
    const fn set(self) -> usize {
        (self.place >> PLACE_SHIFT) as usize % SETS * 2
    }
}

/// An entry of the commit buffer, and which of its two trails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Target {
    pub(super) number: u16,
    pub(super) kind: AccessKind,
}

/// A stream. What a foreseen access looks at is the first line of 64 bytes.
#[repr(C, align(128))]
#[derive(Debug, bytemuck::Zeroable)]
struct Stream {
    /// 0: none.
    place: u64,
    context: u64,
    /// The next access that is foreseen, if it is not `end`.
    next: AtomicU64,
    step: u64,
    end: u64,
    /// Accesses that begin at `low` to `cover` are redundant; none if `low > cover` or there is no size.
    low: u64,
    cover: AtomicU64,
    /// What `cover` grows by with each access: `step` if the stream goes on where the covered bytes end, else 0.
    grow: u32,
    /// The count of disturbances for which all of this holds.
    disturbed: u32,
    size: u64,
    /// Redundant accesses so far.
    again: AtomicU64,
    /// The first access that the footprint does not know of.
    start: u64,
    /// The last access that came the long way.
    last: u64,
    /// Of its site.
    site: u32,
    /// Of its target.
    number: u16,
    writes: bool,
    /// How often in a row it broke off early.
    broken: u8,
}

impl Stream {
    /// No access has no bytes, so nothing is foreseen and nothing covered. Zeroes: a table of which little is used takes little memory.
    fn none() -> Stream {
        bytemuck::Zeroable::zeroed()
    }

    fn target(&self) -> Target {
        let kind = if self.writes {
            AccessKind::Write
        } else {
            AccessKind::Read
        };
        Target {
            number: self.number,
            kind,
        }
    }

    #[inline(always)]
    fn is(&self, key: PlaceKey) -> bool {
        self.place == key.place && self.context == key.context
    }

    #[inline(always)]
    fn next(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// Does the footprint know all of it?
    fn is_folded(&self) -> bool {
        self.start == self.next()
    }

    /// How many accesses before `next` the footprint does not know of.
    fn until(&self, next: u64) -> u64 {
        let bytes = (next.wrapping_sub(self.start) as i64).unsigned_abs();
        bytes
            .checked_div((self.step as i64).unsigned_abs())
            .unwrap_or(0)
    }
}

/// The streams of one thread, as the program's checks find them. A foreseen access of `size` bytes at `address`, made at `place` in
/// `context`, is done if one of the two slots of `place` has this `place`, `context` and `size`, its `disturbed` is what the arrays say
/// now ([`Versions::disturbances`](super::Versions::disturbances)), and either
///
/// * `next == address != end`: `next += step`, by an instruction that finds `next` unchanged; then `cover += grow`; or
/// * `low <= address <= cover`: `again += 1`.
///
/// A read is done as well, wherever it is made, if the [window](super::SlimThread::window) has the second of these, `disturbed`, and a `size` that is no smaller.
#[repr(transparent)]
#[derive(Debug)]
pub struct StreamTable([Stream; SLOTS]);

#[allow(missing_docs, reason = "offsets of the fields that have these names")]
impl StreamTable {
    /// `place << SET_SHIFT & SET_MASK` is the offset of a place's first slot.
    pub const SET_SHIFT: u32 = size_of::<[Stream; 2]>().trailing_zeros() - PLACE_SHIFT;
    pub const SET_MASK: usize = (SETS - 1) * size_of::<[Stream; 2]>();
    /// From there to the second one.
    pub const SLOT: usize = size_of::<Stream>();
    pub const PLACE: usize = offset_of!(Stream, place);
    pub const CONTEXT: usize = offset_of!(Stream, context);
    pub const NEXT: usize = offset_of!(Stream, next);
    pub const STEP: usize = offset_of!(Stream, step);
    pub const END: usize = offset_of!(Stream, end);
    pub const LOW: usize = offset_of!(Stream, low);
    pub const COVER: usize = offset_of!(Stream, cover);
    pub const GROW: usize = offset_of!(Stream, grow);
    pub const DISTURBED: usize = offset_of!(Stream, disturbed);
    pub const SIZE: usize = offset_of!(Stream, size);
    pub const AGAIN: usize = offset_of!(Stream, again);
}

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
#[derive(Debug)]
pub(super) struct Streams {
    slots: Box<[Stream; SLOTS]>,
    /// Which slots have a stream; one bit each.
    used: u128,
    /// The slot of the stream of writes that was begun last, or of none.
    window: usize,
    /// The count of disturbances for which all of this holds.
    pub(super) disturbed: u32,
    /// Accesses that were foreseen or redundant, in streams that are no more or were folded.
    foreseen: u64,
}

impl Streams {
    pub(super) fn new() -> Self {
        Streams {
            slots: bytemuck::zeroed_box(),
            used: 0,
            window: 0,
            disturbed: 0,
            foreseen: 0,
        }
    }

    /// Where a [`StreamTable`] is; it stays there as long as the thread.
    pub(super) fn table(&self) -> *const StreamTable {
        (&raw const *self.slots).cast()
    }

    /// Where the window is now.
    pub(super) fn window(&self) -> *const () {
        (&raw const self.slots[self.window]).cast()
    }

    /// Is a read redundant beside what the window has? Then there is nothing else to do.
    #[inline(always)]
    pub(super) fn is_written(&mut self, addr: u64, size: u64, disturbed: u32) -> bool {
        let stream = &mut self.slots[self.window];
        let written = stream.low <= addr
            && addr <= *stream.cover.get_mut()
            && size <= stream.size
            && stream.disturbed == disturbed;
        *stream.again.get_mut() += u64::from(written);
        written
    }

    /// Accesses that were foreseen or redundant.
    pub(super) fn foreseen(&self) -> u64 {
        let pending = |s: &Stream| s.again.load(Relaxed) + s.until(s.next());
        self.foreseen + self.slots.iter().map(pending).sum::<u64>()
    }

    /// Is that access foreseen, or redundant? Then there is nothing else to do.
    #[inline(always)]
    pub(super) fn take(&mut self, key: PlaceKey, addr: u64, size: u64, disturbed: u32) -> bool {
        let set = key.set();
        let slot = set + usize::from(!self.slots[set].is(key));
        let stream = &mut self.slots[slot];
        if !stream.is(key) || stream.size != size || stream.disturbed != disturbed {
            return false;
        }
        let cover = stream.cover.get_mut();
        if addr == *stream.next.get_mut() && addr != stream.end {
            *stream.next.get_mut() = addr.wrapping_add(stream.step);
            *cover = cover.wrapping_add(u64::from(stream.grow));
            return true;
        }
        let redundant = stream.low <= addr && addr <= *cover;
        *stream.again.get_mut() += u64::from(redundant);
        redundant
    }

    /// The slot that the place has, or will have.
    pub(super) fn slot(&self, key: PlaceKey) -> usize {
        let set = key.set();
        let [first, second] = [&self.slots[set], &self.slots[set + 1]];
        if first.is(key) {
            set
        } else if second.is(key) {
            set + 1
        } else {
            // Rather one that leads nowhere.
            set + usize::from(first.next() != first.end && second.next() == second.end)
        }
    }

    /// What has to be folded before a place may begin another stream in its slot.
    pub(super) fn in_the_way(&self, slot: usize) -> Option<Target> {
        let stream = &self.slots[slot];
        (stream.place != 0 && !stream.is_folded()).then_some(stream.target())
    }

    /// The place made an access that was not foreseen. Nothing of its slot is unfolded.
    #[inline(always)]
    pub(super) fn follow(&mut self, key: PlaceKey, slot: usize, seen: &Seen) {
        let used = self.used >> slot & 1 != 0;
        self.used |= 1 << slot;
        let stream = &mut self.slots[slot];
        self.foreseen += *stream.again.get_mut();
        debug_assert!(stream.place == 0 || stream.is_folded());
        let again = stream.is(key) && used;
        let broken = match stream.broken {
            _ if !stream.is(key) => 0,
            broken @ PATIENCE.. => broken.checked_add(1).unwrap_or(PATIENCE - 1),
            broken => broken,
        };
        let step = seen.addr.wrapping_sub(stream.last);
        let same = again
            && stream.target() == seen.target
            && stream.size == seen.size
            && seen.addr != stream.last;
        *stream = Stream {
            place: key.place,
            context: key.context,
            last: seen.addr,
            number: seen.target.number,
            writes: seen.target.kind == AccessKind::Write,
            disturbed: self.disturbed,
            size: seen.size,
            site: seen.site.0,
            broken,
            ..Stream::none()
        };
        let mut cover = 0;
        if let Some(covered) = &seen.covered
            && seen.addr >= covered.start
            && seen.addr + seen.size <= covered.end
        {
            stream.low = covered.start;
            cover = covered.end - seen.size;
            *stream.cover.get_mut() = cover;
        }
        if seen.target.kind == AccessKind::Write {
            self.window = slot;
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
        let next = seen.addr.wrapping_add(step);
        stream.step = step;
        *stream.next.get_mut() = next;
        stream.start = next;
        stream.end = next.wrapping_add(step.wrapping_mul(rest));
        if step == seen.size && step >> 32 == 0 && stream.low <= cover && next == cover + step {
            stream.grow = step as u32;
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
            // Once: the thread may be at it, if it is the end of the process that folds.
            let next = stream.next();
            if stream.target() != target || stream.start == next {
                continue;
            }
            self.foreseen += stream.until(next);
            let last = next.wrapping_sub(stream.step);
            let (low, high) = (stream.start.min(last), stream.start.max(last));
            let width = (stream.step as i64).unsigned_abs();
            stream.broken = if (high - low) / width < SHORT {
                stream.broken.saturating_add(1)
            } else {
                0
            };
            stream.start = next;
            let (first, end) = ((low - base) >> shift, (high + stream.size - base) >> shift);
            if width == stream.size {
                f(Strided::run(first, end - 1), Site(stream.site));
                continue;
            }
            // Each access of several elements: one piece for each of them.
            let elements = stream.size >> shift;
            for part in 0..elements {
                let piece = Strided::new(first + part, end - elements + part, width >> shift);
                f(piece, Site(stream.site));
            }
        }
    }

    /// The targets of all streams that have something to fold.
    pub(super) fn targets(&self) -> SmallVec<[Target; 8]> {
        let mut all = SmallVec::new();
        let mut rest = self.used;
        while rest != 0 {
            let stream = &self.slots[rest.trailing_zeros() as usize];
            rest &= rest - 1;
            if !stream.is_folded() && !all.contains(&stream.target()) {
                all.push(stream.target());
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
            debug_assert!(stream.is_folded());
            *stream.next.get_mut() = 0;
            (stream.end, stream.start) = (0, 0);
            stream.low = 1;
            *stream.cover.get_mut() = 0;
        }
        self.used = 0;
    }
}
