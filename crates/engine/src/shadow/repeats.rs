//! The ranges that a thread read of late, for itself; and where it goes through pages word by word.
//!
//! Threads that work on the same data read the same ranges over and over: the column that all others are reduced by, the places of all
//! particles. The same-epoch rule says of each word that it was read before; a thread that remembers the range
//! needs to look at none, nor at any memory that others write to.
//!
//! Sound as [`Location::is_redundant`](super::Location::is_redundant) is: each of these words has a record of this thread's current epoch, or had
//! one that somebody else met since, unless it has become fresh, which [`Renewals`] tells. Only reads: a plain write also ends what
//! atomic objects there are, and these may have come since.

use alloc::boxed::Box;

use event::{Addr, Elements};

use super::cell::Epoch;
use super::pages::{PAGE_BYTES, word_of};
use super::renewals::{Renewals, Watch};
use super::scattered::Scattered;
use super::sweep::Comb;
use crate::boxed::boxed_with;

const KEPT: usize = 32;
/// Pages that are gone through side by side.
const WALKS: usize = 16;
/// So many reads are answered before the page is told.
const UNTOLD: u16 = 64;
/// Of so many words of rows one is not answered for.
const IN_ROWS: u16 = 32;
/// Words of the shortest range that is worth it: most of those that are shorter never come again, and the shadow answers in a few steps.
pub(super) const SHORTEST: u64 = 16;

/// A range that may be remembered: elements of `elem` bytes from `first` to `last`, `step` bytes apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Range {
    first: u64,
    /// The last element's first byte.
    last: u64,
    step: u64,
    elem: u64,
}

/// `at % step`, which is mostly less than a division.
#[inline(always)]
fn rest(at: u64, step: u64) -> u64 {
    if step.is_power_of_two() {
        at & (step - 1)
    } else {
        at % step
    }
}

impl Range {
    /// These elements, if they are at least `shortest` words.
    #[inline]
    pub(super) fn of(elements: Elements, shortest: u64) -> Option<Range> {
        let mut elem = u64::from(elements.elem);
        let (mut step, mut count) = (elem.checked_mul(elements.stride)?, elements.len());
        if elements.stride <= 1 {
            // Neighbours are bytes.
            (count, step, elem) = (count.checked_mul(elem)?, 1, 1);
            if count < 8 * shortest {
                return None;
            }
        }
        if count < shortest {
            return None;
        }
        let start = elements.lo.checked_mul(u64::from(elements.elem))?;
        let first = elements.base.0.checked_add(start)?;
        let last = first.checked_add((count - 1).checked_mul(step)?)?;
        let end = last.checked_add(elem)?;
        Renewals::is_near(first, end).then_some(Range {
            first,
            last,
            step,
            elem,
        })
    }

    /// The words of a comb, all of them whole, if they are at least `shortest`.
    #[inline(always)]
    pub(super) fn of_words(comb: Comb, shortest: u64) -> Option<Range> {
        if comb.count < shortest {
            return None;
        }
        let step = 8 * u64::from(comb.period);
        let first = comb.first.0;
        let last = first.checked_add((comb.count - 1).checked_mul(step)?)?;
        Renewals::is_near(first, last.checked_add(8)?).then_some(match step {
            // Neighbours are bytes.
            8 => Range {
                first,
                last: last + 7,
                step: 1,
                elem: 1,
            },
            _ => Range {
                first,
                last,
                step,
                elem: 8,
            },
        })
    }

    /// The words of what is left of a comb, if they are whole.
    #[inline(always)]
    pub(crate) fn words(self, of: Comb) -> Option<Comb> {
        let bytes = self.last + self.elem - self.first;
        let count = match bytes {
            // Mostly the end of a row.
            8 => 1,
            _ => (bytes - 1) / (8 * u64::from(of.period)) + 1,
        };
        (self.first | bytes).is_multiple_of(8).then_some(Comb {
            first: Addr(self.first),
            count,
            ..of
        })
    }

    /// Are all bytes of `other` among these?
    #[inline(always)]
    fn has(self, other: Range) -> bool {
        self.step == other.step
            && self.elem == other.elem
            && self.first <= other.first
            && other.last <= self.last
            && rest(other.first - self.first, self.step) == 0
    }

    /// Loops over what is left of something end at the same place, and those that look at neighbours near by. Fields of the same objects end near by
    /// too, but never meet.
    #[inline(always)]
    fn place(self) -> usize {
        let field = rest(self.last, self.step) >> self.elem.trailing_zeros();
        let which = (self.last >> 9).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        (which + field) as usize % KEPT
    }

    /// What of these is before `other`, and what behind it, if that has elements of these in the middle and is of the same kind.
    #[inline(always)]
    fn without(self, other: Range) -> Option<[Option<Range>; 2]> {
        let alike = self.step == other.step
            && self.elem == other.elem
            && rest(self.first.abs_diff(other.first), self.step) == 0;
        if !alike || other.first > self.last || other.last < self.first {
            return None;
        }
        let before = (self.first < other.first).then(|| Range {
            last: other.first - self.step,
            ..self
        });
        let behind = (self.last > other.last).then(|| Range {
            first: other.last + self.step,
            ..self
        });
        Some([before, behind])
    }

    /// The elements.
    pub(crate) fn elements(self) -> Elements {
        // A step is a number of elements, see `of`.
        let stride = self.step / self.elem;
        Elements {
            base: Addr(self.first),
            elem: self.elem as u8,
            lo: 0,
            hi: (self.last - self.first) / self.elem + 1,
            stride,
        }
    }

    fn watch(self, renewals: &Renewals) -> Watch {
        renewals.watch(self.first, self.last + self.elem - 1)
    }
}

/// A range that the thread read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kept {
    /// Zero if there is none.
    epoch: u64,
    range: Range,
    watch: Watch,
}

impl Kept {
    /// Has the thread read all of `range`, and is it still what it was then?
    #[inline(always)]
    pub(super) fn has(&self, renewals: &Renewals, range: Range) -> bool {
        self.range.has(range) && self.is_still(renewals)
    }

    /// What the thread has not read of it, if it has read some of the middle. The caller has [begun](Repeats::begin) to read
    /// it: so if it was told nothing since it read the middle, it will be told of whatever becomes fresh from now on.
    #[inline(always)]
    pub(super) fn rest(&self, renewals: &Renewals, range: Range) -> Option<[Option<Range>; 2]> {
        let rest = range.without(self.range)?;
        self.is_still(renewals).then_some(rest)
    }

    #[inline(always)]
    fn is_still(&self, renewals: &Renewals) -> bool {
        let last = self.range.last + self.range.elem - 1;
        renewals.is_still(self.range.first, last, self.watch)
    }
}

/// Neighbouring words of a page that the thread accessed one by one.
#[derive(Clone, Copy, Debug, Default)]
struct Walk {
    /// Zero if there is none.
    epoch: u64,
    page: u64,
    first: u16,
    last: u16,
    /// Reads that were answered, and that the page does not know of.
    answered: u16,
    watch: Watch,
}

/// What a thread remembers of its reads. Belongs to one thread of one detector.
#[derive(Debug)]
pub(crate) struct Repeats {
    kept: Box<[Kept; KEPT]>,
    walks: [Walk; WALKS],
    /// Words that were answered for because they are in a row, and that no page knows of.
    in_rows: u16,
    /// Reads in no order.
    pub(super) scattered: Scattered,
}

impl Default for Repeats {
    fn default() -> Repeats {
        Repeats {
            kept: boxed_with(Kept::default),
            walks: [Walk::default(); WALKS],
            in_rows: 0,
            scattered: Scattered::default(),
        }
    }
}

/// A range that is being read, to be remembered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    range: Range,
    epoch: Epoch,
    watch: Watch,
}

impl Repeats {
    /// What the thread read last in the place of `range`, if that was in this epoch.
    #[inline(always)]
    pub(crate) fn kept(&self, range: Range, epoch: Epoch) -> Option<&Kept> {
        let kept = &self.kept[range.place()];
        (kept.epoch == epoch.bits()).then_some(kept)
    }

    /// The thread is about to read it in `epoch`.
    #[inline(always)]
    pub(super) fn begin(renewals: &Renewals, range: Range, epoch: Epoch) -> Read {
        Read {
            range,
            epoch,
            watch: range.watch(renewals),
        }
    }

    /// Has the thread accessed the word of `addr` in this epoch, and its neighbours? Now and then the answer is no, so that the page learns how
    /// often it was asked for.
    #[inline]
    pub(super) fn has_word(&mut self, renewals: &Renewals, addr: Addr, epoch: Epoch) -> bool {
        let page = addr.0 / PAGE_BYTES;
        let walk = &mut self.walks[page as usize % WALKS];
        let word = word_of(addr) as u16;
        if walk.page != page
            || walk.epoch != epoch.bits()
            || word < walk.first
            || word > walk.last
            || walk.answered == UNTOLD
            || !renewals.is_still(addr.0, addr.0, walk.watch)
        {
            return false;
        }
        walk.answered += 1;
        true
    }

    /// Another word of a row is about to be answered for. Now and then it is not, so that the page learns that it is asked for.
    #[inline]
    pub(super) fn is_answered(&mut self) -> bool {
        self.in_rows = (self.in_rows + 1) % IN_ROWS;
        self.in_rows != 0
    }

    /// The thread has accessed all of the word of `addr`, and that is recorded in `epoch`; `watch` is from before. How many reads of the page
    /// were answered here since it was last told.
    pub(crate) fn went(&mut self, addr: Addr, epoch: Epoch, watch: Watch) -> u16 {
        let page = addr.0 / PAGE_BYTES;
        let walk = &mut self.walks[page as usize % WALKS];
        let word = word_of(addr) as u16;
        if walk.page != page || walk.epoch != epoch.bits() || walk.watch != watch {
            *walk = Walk {
                epoch: epoch.bits(),
                page,
                first: word,
                last: word,
                answered: 0,
                watch,
            };
            return 0;
        }
        if word + 1 == walk.first {
            walk.first = word;
        } else if word == walk.last + 1 {
            walk.last = word;
        } else if word < walk.first || word > walk.last {
            (walk.first, walk.last) = (word, word);
        }
        core::mem::take(&mut walk.answered)
    }

    /// It did, and all of it is recorded in `epoch`.
    #[inline(always)]
    pub(crate) fn keep(&mut self, read: Read, epoch: Epoch) {
        if read.epoch == epoch {
            self.kept[read.range.place()] = Kept {
                epoch: epoch.bits(),
                range: read.range,
                watch: read.watch,
            };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::clock::{Slot, Time};
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    fn bytes(elements: Elements) -> BTreeSet<u64> {
        let elem = u64::from(elements.elem);
        let bytes = |i| (0..elem).map(move |byte| elements.addr(i).0 + byte);
        elements.indices().flat_map(bytes).collect()
    }

    /// A range answers for its bytes in its epoch, and for no others.
    #[test]
    fn ranges_answer_for_their_bytes() {
        let renewals = Renewals::new();
        let has = |repeats: &Repeats, range, epoch| {
            let kept = repeats.kept(range, epoch);
            kept.is_some_and(|kept| kept.has(&renewals, range))
        };
        let rest_of = |repeats: &Repeats, range, epoch| {
            let kept = repeats.kept(range, epoch);
            kept.and_then(|kept| kept.rest(&renewals, range))
        };
        let epoch = Epoch::new(Slot(3), Time(9));
        let all: Vec<Elements> = [1u8, 4, 8]
            .into_iter()
            .flat_map(|elem| [1u64, 2, 3, 9].map(|stride| (elem, stride)))
            .flat_map(|(elem, stride)| [0u64, 1, 2, 9, 18].map(|lo| (elem, stride, lo)))
            .flat_map(|(elem, stride, lo)| [400, 417].map(|hi| (elem, stride, lo, hi)))
            .map(|(elem, stride, lo, hi)| Elements {
                base: Addr(4096),
                elem,
                lo,
                hi,
                stride,
            })
            .collect();
        let (mut answered, mut shortened) = (0, 0);
        for &made in &all {
            let range = Range::of(made, SHORTEST).expect("long enough");
            let mut repeats = Repeats::default();
            let read = Repeats::begin(&renewals, range, epoch);
            repeats.keep(read, Epoch::new(Slot(3), Time(10)));
            assert!(!has(&repeats, range, epoch));
            repeats.keep(read, epoch);
            assert!(has(&repeats, range, epoch));
            let made = bytes(made);
            for &asked in &all {
                let range = Range::of(asked, SHORTEST).expect("long enough");
                if has(&repeats, range, epoch) {
                    assert!(bytes(asked).is_subset(&made), "{made:?} {asked:?}");
                    answered += 1;
                }
                assert_eq!(bytes(range.elements()), bytes(asked));
                if let Some(rest) = rest_of(&repeats, range, epoch) {
                    let parts = rest.into_iter().flatten();
                    let rest: BTreeSet<u64> = parts.flat_map(|r| bytes(r.elements())).collect();
                    let asked = bytes(asked);
                    assert_eq!(rest, &asked - &made, "{made:?} {asked:?}");
                    shortened += u32::from(!rest.is_empty());
                }
                let later = Epoch::new(Slot(3), Time(10));
                assert!(rest_of(&repeats, range, later).is_none());
                assert!(!has(&repeats, range, Epoch::new(Slot(3), Time(10))));
                assert!(!has(&repeats, range, Epoch::new(Slot(2), Time(9))));
            }
            renewals.renewed(Addr(*made.last().unwrap()), 1);
            assert!(!has(&repeats, range, epoch));
            assert!(rest_of(&repeats, range, epoch).is_none());
        }
        assert!(shortened > 100, "{shortened}");
        // Most of them are followed by one with the same end.
        assert!(answered > all.len());
    }

    /// Words are answered for from the first to the last that were accessed in order, and the page learns how often.
    #[test]
    fn words_are_answered_for_one_by_one() {
        let renewals = Renewals::new();
        let epoch = Epoch::new(Slot(3), Time(9));
        let mut repeats = Repeats::default();
        let at = |word: u64| Addr(0x7000 + 8 * word);
        let watch = renewals.watch(0x7000, 0x7000);
        for word in [5, 6, 4, 7] {
            assert_eq!(repeats.went(at(word), epoch, watch), 0);
        }
        let known = |repeats: &mut Repeats, epoch| {
            let words = (0..512).filter(|&word| repeats.has_word(&renewals, at(word), epoch));
            words.collect::<Vec<u64>>()
        };
        assert_eq!(known(&mut repeats, epoch), [4, 5, 6, 7]);
        assert_eq!(known(&mut repeats, Epoch::new(Slot(3), Time(8))), []);
        assert_eq!(repeats.went(at(6), epoch, watch), 4);
        assert_eq!(repeats.went(at(6), epoch, watch), 0);
        for _ in 0..UNTOLD {
            assert!(repeats.has_word(&renewals, at(7), epoch));
        }
        assert!(!repeats.has_word(&renewals, at(7), epoch));
        assert_eq!(repeats.went(at(7), epoch, watch), UNTOLD);
        assert_eq!(repeats.went(at(9), epoch, watch), 0);
        assert_eq!(known(&mut repeats, epoch), [9]);
        renewals.renewed(at(100), 8);
        assert_eq!(known(&mut repeats, epoch), []);
        let watch = renewals.watch(0x7000, 0x7000);
        assert_eq!(repeats.went(at(10), epoch, watch), 0);
        assert_eq!(known(&mut repeats, epoch), [10]);
        let other = Addr(0x7000 + WALKS as u64 * PAGE_BYTES);
        assert!(!repeats.has_word(&renewals, Addr(other.0 + 80), epoch));
        assert_eq!(repeats.went(other, epoch, watch), 0);
        assert_eq!(known(&mut repeats, epoch), []);
    }

    #[test]
    fn ranges_that_are_short_or_far_are_left_out() {
        let elements = |base, hi, stride| Elements {
            base: Addr(base),
            elem: 8,
            lo: 0,
            hi,
            stride,
        };
        assert!(Range::of(elements(4096, 15, 1), SHORTEST).is_none());
        assert!(Range::of(elements(4096, 16, 1), SHORTEST).is_some());
        assert!(Range::of(elements(4096, 31, 2), SHORTEST).is_some());
        assert!(Range::of(elements(4096, 30, 2), SHORTEST).is_none());
        assert!(Range::of(elements(4096, 1 << 20, 1), SHORTEST).is_none());
        assert!(Range::of(elements(u64::MAX - 100, 1 << 10, 1), SHORTEST).is_none());
        assert!(Range::of(elements(4096, u64::MAX, 2), SHORTEST).is_none());
        assert!(Range::of(elements(4096, 0, 1), SHORTEST).is_none());
    }
}
