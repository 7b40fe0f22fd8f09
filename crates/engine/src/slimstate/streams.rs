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

/// Sets of slots at first, a kilobyte in all, and at most; a place may have either slot of its set.
const FEW_SETS: usize = 4;
const SETS: usize = 64;
/// A table that is not enough for the thread's loops is followed by one with so many times its sets.
const GROWTH: usize = 2;
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

    /// The first slot of its set, of so many slots, a power of two.
    #[inline(always)]
    const fn set(self, slots: usize) -> usize {
        (self.place >> PLACE_SHIFT << 1) as usize & (slots - 1)
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
    /// Of a table's first slot: the sets that the table has.
    mask: u32,
}

impl Stream {
    /// No access has no bytes, so nothing is foreseen and nothing covered. Zeroes: a table of which little is used takes little memory.
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "what it is copied to changes"
    )]
    const NONE: Stream = Stream {
        place: 0,
        context: 0,
        next: AtomicU64::new(0),
        step: 0,
        end: 0,
        low: 0,
        cover: AtomicU64::new(0),
        grow: 0,
        disturbed: 0,
        size: 0,
        again: AtomicU64::new(0),
        start: 0,
        last: 0,
        site: 0,
        number: 0,
        writes: false,
        broken: 0,
        mask: 0,
    };

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
///
/// The table is another one, in another place, when it has grown.
#[repr(transparent)]
#[derive(Debug)]
pub struct StreamTable([Stream]);

#[allow(missing_docs, reason = "offsets of the fields that have these names")]
impl StreamTable {
    /// `place << SET_SHIFT & mask` is the offset of a place's first slot; the table has the mask, four bytes, at `SET_MASK`.
    pub const SET_SHIFT: u32 = size_of::<[Stream; 2]>().trailing_zeros() - PLACE_SHIFT;
    pub const SET_MASK: usize = offset_of!(Stream, mask);
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

/// The table of a thread that has had no streams yet.
static NONE: [Stream; 2] = [Stream::NONE; 2];

/// A table of so many sets without streams.
fn slots(sets: usize) -> Box<[Stream]> {
    let mut slots = bytemuck::zeroed_slice_box::<Stream>(2 * sets);
    slots[0].mask = ((sets - 1) * size_of::<[Stream; 2]>()) as u32;
    slots
}

/// The streams of one thread.
#[derive(Debug)]
pub(super) struct Streams {
    /// None until there is a stream.
    slots: Box<[Stream]>,
    thrifty: bool,
    /// Which slots have a stream; one bit each.
    used: u128,
    /// The slot of the stream of writes that was begun last, or of none.
    window: usize,
    /// Did a stream of the region make room for another? What it had got into the footprint ahead of its neighbours, such as the bytes that a loop takes a word from, and a footprint in
    /// pieces is committed early.
    crowded: bool,
    /// The count of disturbances for which all of this holds.
    pub(super) disturbed: u32,
    /// Accesses that were foreseen or redundant, in streams that are no more or were folded.
    foreseen: u64,
}

impl Streams {
    /// No streams. A table is made for the first one; if it is to be `thrifty`, it grows when [`Streams::make_room`] is called.
    pub(super) fn new(thrifty: bool) -> Self {
        Streams {
            slots: Box::new([]),
            thrifty,
            used: 0,
            window: 0,
            crowded: false,
            disturbed: 0,
            foreseen: 0,
        }
    }

    /// Where a [`StreamTable`] is, until an access comes the long way.
    pub(super) fn table(&self) -> *const () {
        let shown = if self.slots.is_empty() {
            &NONE
        } else {
            &*self.slots
        };
        shown.as_ptr().cast()
    }

    /// Where the window is now.
    pub(super) fn window(&self) -> *const () {
        let window = self.slots.get(self.window).unwrap_or(&NONE[0]);
        (&raw const *window).cast()
    }

    /// Is a read redundant beside what the window has? Then there is nothing else to do.
    #[inline(always)]
    pub(super) fn is_written(&mut self, addr: u64, size: u64, disturbed: u32) -> bool {
        let Some(stream) = self.slots.get_mut(self.window) else {
            return false;
        };
        let written = stream.low <= addr
            && addr <= *stream.cover.get_mut()
            && size <= stream.size
            && stream.disturbed == disturbed;
        if written {
            *stream.again.get_mut() += 1;
        }
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
        if self.slots.is_empty() {
            return false;
        }
        let set = key.set(self.slots.len());
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
        if redundant {
            *stream.again.get_mut() += 1;
        }
        redundant
    }

    /// The slot that the place has, or will have, if there is a table.
    #[inline(always)]
    pub(super) fn slot(&mut self, key: PlaceKey) -> Option<usize> {
        (!self.slots.is_empty()).then(|| self.slot_of(key))
    }

    #[inline(always)]
    fn slot_of(&mut self, key: PlaceKey) -> usize {
        let set = key.set(self.slots.len());
        let [first, second] = [&self.slots[set], &self.slots[set + 1]];
        if first.is(key) {
            return set;
        }
        if second.is(key) {
            return set + 1;
        }
        self.another(set)
    }

    /// Which slot of a set another place gets.
    #[inline(never)]
    fn another(&mut self, set: usize) -> usize {
        let [first, second] = [&self.slots[set], &self.slots[set + 1]];
        // Rather one that has no stream in this region, or one that leads nowhere.
        let late = |slot: usize| self.used >> slot & 1 != 0;
        if !late(set) || !late(set + 1) {
            return set + usize::from(late(set));
        }
        self.crowded = true;
        set + usize::from(first.next() != first.end && second.next() == second.end)
    }

    /// The slot of the place in a table that is made.
    #[cold]
    fn first_slot(&mut self, key: PlaceKey) -> usize {
        self.slots = slots(if self.thrifty { FEW_SETS } else { SETS });
        self.slot_of(key)
    }

    /// Gives the table more sets, in another place, if they are crowded.
    #[inline(always)]
    pub(super) fn make_room(&mut self) {
        if self.crowded && self.slots.len() < 2 * SETS {
            self.grow();
        }
    }

    /// The table gets more sets. What was in one set before is in no more than one now with others of that set.
    #[cold]
    fn grow(&mut self) {
        let sets = (self.slots.len() / 2 * GROWTH).min(SETS);
        let old = core::mem::replace(&mut self.slots, slots(sets));
        self.crowded = false;
        let used = core::mem::take(&mut self.used);
        let window = core::mem::take(&mut self.window);
        for (slot, stream) in old.into_iter().enumerate() {
            if stream.place == 0 {
                continue;
            }
            let key = PlaceKey::new(stream.place, stream.context);
            let mut now = key.set(self.slots.len());
            now += usize::from(self.slots[now].place != 0);
            self.used |= (used >> slot & 1) << now;
            if slot == window {
                self.window = now;
            }
            let mask = self.slots[now].mask;
            self.slots[now] = Stream { mask, ..stream };
        }
    }

    /// What has to be folded before a place may begin another stream in its slot.
    pub(super) fn in_the_way(&self, slot: usize) -> Option<Target> {
        let stream = &self.slots[slot];
        (stream.place != 0 && !stream.is_folded()).then_some(stream.target())
    }

    /// The place made an access that was not foreseen. Nothing of its slot is unfolded.
    #[inline(always)]
    pub(super) fn follow(&mut self, key: PlaceKey, slot: Option<usize>, seen: &Seen) {
        let slot = match slot {
            Some(slot) => slot,
            None => self.first_slot(key),
        };
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
            mask: stream.mask,
            ..Stream::NONE
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
        self.crowded = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Streams go on in a table that has grown, and the window is the same.
    #[test]
    fn streams_survive_growth() {
        let mut streams = Streams::new(true);
        let place = |number: u64| PlaceKey::new(8 * number, 1);
        let all = 2 * FEW_SETS as u64;
        let follow = |streams: &mut Streams, number: u64, element: u64| {
            let key = place(number);
            let slot = streams.slot(key);
            let base = number << 16;
            let seen = Seen {
                target: Target {
                    number: number as u16,
                    kind: AccessKind::Write,
                },
                addr: base + 8 * element,
                size: 8,
                site: Site(number as u32),
                array: base..base + 800,
                unit: 8,
                covered: Some(base..base + 8 * (element + 1)),
            };
            streams.follow(key, slot, &seen);
        };
        for element in 0..2 {
            (1..=all).for_each(|number| follow(&mut streams, number, element));
        }
        assert_eq!(streams.slots.len() as u64, all);
        let (table, addr) = (streams.table(), |number: u64, element: u64| {
            (number << 16) + 8 * element
        });
        streams.make_room();
        assert_eq!(streams.table(), table, "there is room");
        streams.slot(place(all + 1));
        streams.make_room();
        assert_eq!(streams.slots.len(), 2 * FEW_SETS * GROWTH);
        assert!(streams.is_written(addr(all, 1), 8, 0));
        for element in [2, 3, 1] {
            for number in 1..=all {
                assert!(streams.take(place(number), addr(number, element), 8, 0));
                assert!(!streams.take(place(number), addr(number, 7), 8, 0));
            }
        }
        assert_eq!(streams.foreseen(), 1 + 3 * all);
        assert_eq!(streams.targets().len() as u64, all);
        let sets = FEW_SETS * GROWTH;
        assert_eq!(streams.slots[0].mask as usize, (sets - 1) * 256);
    }
}
