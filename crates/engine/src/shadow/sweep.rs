//! The words of a page that an access touches in the same bytes.

use event::{Addr, Elements};

use super::pages::{ADDRESSES, PAGE_BYTES, PAGE_WORDS};
use super::span::{Span, mask};

/// Periods of runs are no longer than this; an access whose words are farther apart goes word by word.
pub const LONGEST_PERIOD: usize = 8;

/// Words of one page at even distances, and the bytes that are touched in each of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sweep {
    /// First word.
    pub first: u16,
    /// Last word; it is one of them.
    pub last: u16,
    /// Words from one to the next, at most [`LONGEST_PERIOD`].
    pub period: u16,
    /// The bytes of each.
    pub mask: u8,
}

/// The words of a [`Sweep`] as a number, which is never 0:
///
/// ```text
///   31  20    18 17     9 8      0
///  ┌───┬────────┬────────┬────────┐
///  │ 1 │period-1│ last   │ first  │
///  └───┴────────┴────────┴────────┘
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Row(pub(super) u32);

impl Row {
    /// All words of a page.
    pub(super) const WHOLE: Row = Row::new(0, PAGE_WORDS as u32 - 1, 1);
    /// Bits that tell the words.
    pub(super) const WORDS: u32 = (1 << 21) - 1;
    const LAST: u32 = 9;
    const PERIOD: u32 = 18;

    #[inline(always)]
    pub(super) const fn new(first: u32, last: u32, period: u32) -> Row {
        Row(1 << 31 | (period - 1) << Row::PERIOD | last << Row::LAST | first)
    }

    /// First word.
    #[inline(always)]
    pub(super) const fn first(self) -> u16 {
        (self.0 % PAGE_WORDS as u32) as u16
    }

    /// Last word.
    #[inline(always)]
    pub(super) const fn last(self) -> u16 {
        ((self.0 >> Row::LAST) % PAGE_WORDS as u32) as u16
    }

    /// Words from one to the next.
    #[inline(always)]
    pub(super) const fn period(self) -> u16 {
        ((self.0 & Row::WORDS) >> Row::PERIOD) as u16 + 1
    }

    /// How many words.
    pub(super) const fn count(self) -> u32 {
        ((self.last() - self.first()) / self.period()) as u32 + 1
    }

    /// The same with one word more before it; none if it begins with the page.
    #[inline(always)]
    pub(super) fn longer(self) -> Option<Row> {
        (self.first() > 0).then_some(Row(self.0 - 1))
    }
}

/// Words that have one history, in a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// First word.
    pub first: u16,
    /// Words from one to the next.
    pub step: u16,
    /// How many.
    pub count: u16,
}

impl Sweep {
    /// How many words.
    pub const fn count(self) -> u32 {
        ((self.last - self.first) / self.period) as u32 + 1
    }

    /// The words, whatever is touched of them.
    #[inline(always)]
    pub(super) fn row(self) -> Row {
        Row::new(
            u32::from(self.first),
            u32::from(self.last),
            u32::from(self.period),
        )
    }

    /// Is that all of the page?
    pub const fn is_whole(self) -> bool {
        self.first == 0
            && self.last as usize == PAGE_WORDS - 1
            && self.period == 1
            && self.mask == 0xFF
    }

    /// The first of them that is not before `word`, if there is one.
    #[inline]
    pub(super) const fn from(self, word: u16) -> u16 {
        match word.checked_sub(self.first) {
            Some(past) if self.period > 1 => self.first + past.next_multiple_of(self.period),
            Some(_) => word,
            None => self.first,
        }
    }

    /// Their numbers.
    #[inline]
    pub fn words(self) -> impl Iterator<Item = usize> {
        let (last, period) = (usize::from(self.last), usize::from(self.period));
        let mut next = usize::from(self.first);
        core::iter::from_fn(move || {
            let word = next;
            next += period;
            (word <= last).then_some(word)
        })
    }
}

/// The sweeps of one page: what neighbouring bytes are is a word in part, whole words, and a word in part.
#[derive(Clone, Copy, Debug)]
pub struct Sweeps {
    all: [Sweep; 3],
    len: usize,
    /// Does the access go on in other pages?
    part: bool,
    /// Was it put off?
    late: bool,
}

impl Sweeps {
    /// The words of a span.
    #[inline]
    pub fn of(span: Span) -> Sweeps {
        let first = span.addr.0 % PAGE_BYTES;
        let last = first + span.len - 1;
        let (mut lo, mut hi) = ((first / 8) as u16, (last / 8) as u16);
        let one = |word: u16, mask: u8| Sweep {
            first: word,
            last: word,
            period: 1,
            mask,
        };
        let mut sweeps = Sweeps {
            all: [one(0, 0); 3],
            len: 0,
            part: false,
            late: false,
        };
        if lo == hi {
            sweeps.push(one(lo, mask((first % 8) as u32, (last % 8) as u32)));
            return sweeps;
        }
        if !first.is_multiple_of(8) {
            sweeps.push(one(lo, mask((first % 8) as u32, 7)));
            lo += 1;
        }
        let tail = (last % 8 != 7).then(|| one(hi, mask(0, (last % 8) as u32)));
        if tail.is_some() {
            hi -= 1;
        }
        if lo <= hi {
            sweeps.push(Sweep {
                first: lo,
                last: hi,
                period: 1,
                mask: 0xFF,
            });
        }
        if let Some(tail) = tail {
            sweeps.push(tail);
        }
        sweeps
    }

    /// Just one.
    pub const fn one(sweep: Sweep) -> Sweeps {
        Sweeps {
            all: [sweep; 3],
            len: 1,
            part: false,
            late: false,
        }
    }

    /// The same, of an access that goes on in other pages, if it does.
    pub const fn part_of_more(self, part: bool) -> Sweeps {
        Sweeps { part, ..self }
    }

    /// Does the access go on in other pages?
    pub const fn is_part(&self) -> bool {
        self.part
    }

    /// The same, of an access that was put off, if it was.
    pub const fn put_off(self, late: bool) -> Sweeps {
        Sweeps { late, ..self }
    }

    /// Was the access put off until the thread synchronises?
    pub const fn is_late(&self) -> bool {
        self.late
    }

    fn push(&mut self, sweep: Sweep) {
        self.all[self.len] = sweep;
        self.len += 1;
    }

    /// In ascending order.
    pub fn as_slice(&self) -> &[Sweep] {
        &self.all[..self.len]
    }

    /// Is that all of the page?
    pub fn is_whole(&self) -> bool {
        self.len == 1 && self.all[0].is_whole()
    }

    /// Is that one word, all of it? Which.
    pub fn single(&self) -> Option<u16> {
        let Sweep { first, last, .. } = self.all[0];
        (self.len == 1 && first == last && self.all[0].mask == 0xFF).then_some(first)
    }

    /// Are there words of which a part only is accessed?
    pub fn is_ragged(&self) -> bool {
        self.as_slice().iter().any(|sweep| sweep.mask != 0xFF)
    }

    /// The first word.
    pub fn first(&self) -> u16 {
        self.all[0].first
    }

    /// How many words.
    pub fn words(&self) -> u32 {
        self.as_slice().iter().map(|sweep| sweep.count()).sum()
    }
}

/// One element in each of some words at even distances, from page to page.
#[derive(Clone, Copy, Debug)]
pub struct Comb {
    /// The first word.
    pub first: Addr,
    /// How many words are left.
    pub count: u64,
    /// Words from one to the next, at most [`LONGEST_PERIOD`].
    pub period: u16,
    /// The bytes of each.
    pub mask: u8,
}

impl Comb {
    /// Elements that are a comb: each lies in one word, and from one to the next is a small number of words.
    pub fn of(elements: Elements) -> Option<Comb> {
        let elem = u64::from(elements.elem.max(1));
        let step = elem.checked_mul(elements.stride)?;
        let start = elements
            .base
            .0
            .checked_add(elements.lo.checked_mul(elem)?)?;
        let fits = elem <= 8 && start % 8 + elem <= 8;
        let near = (8..=8 * LONGEST_PERIOD as u64).contains(&step) && step.is_multiple_of(8);
        (fits && near).then(|| Comb {
            first: Addr(start & !7),
            count: elements.len(),
            period: (step / 8) as u16,
            mask: mask((start % 8) as u32, (start % 8 + elem - 1) as u32),
        })
    }

    /// The same for elements that are whole words.
    #[inline]
    pub fn whole(elements: Elements) -> Option<Comb> {
        if elements.elem == 1 && elements.stride == 1 {
            let first = elements.base.0.checked_add(elements.lo)?;
            let bytes = elements.hi.checked_sub(elements.lo)?;
            return (first | bytes).is_multiple_of(8).then_some(Comb {
                first: Addr(first),
                count: bytes / 8,
                period: 1,
                mask: 0xFF,
            });
        }
        Comb::of(elements).filter(|comb| comb.mask == 0xFF)
    }
}

impl Comb {
    /// What is touched of the page where the first word is, which is taken away.
    #[inline(always)]
    pub(crate) fn take_row(&mut self) -> Option<Row> {
        if self.count == 0 || self.first.0 >= ADDRESSES {
            return None;
        }
        let period = u32::from(self.period);
        let first = (self.first.0 / 8 % PAGE_WORDS as u64) as u32;
        let behind = PAGE_WORDS as u32 - 1 - first;
        // Most need no division.
        let more = match period {
            1 => behind,
            2 => behind / 2,
            period => behind / period,
        };
        let more = u64::from(more).min(self.count - 1);
        self.count -= more + 1;
        self.first.0 += (more + 1) * u64::from(period) * 8;
        Some(Row::new(first, first + more as u32 * period, period))
    }
}

impl Iterator for Comb {
    /// A page's first byte, and what is touched of it.
    type Item = (Addr, Sweep);

    #[inline(always)]
    fn next(&mut self) -> Option<(Addr, Sweep)> {
        if self.count == 0 || self.first.0 >= ADDRESSES {
            return None;
        }
        let page = self.first.0 & !(PAGE_BYTES - 1);
        let first = ((self.first.0 - page) / 8) as u16;
        let behind = PAGE_WORDS as u16 - 1 - first;
        // Most need no division.
        let room = match self.period {
            1 => behind,
            2 => behind / 2,
            period => behind / period,
        } + 1;
        let here = u64::from(room).min(self.count);
        let sweep = Sweep {
            first,
            last: first + (here as u16 - 1) * self.period,
            period: self.period,
            mask: self.mask,
        };
        self.count -= here;
        self.first.0 += here * u64::from(self.period) * 8;
        Some((Addr(page), sweep))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows are the sweeps of the same comb.
    #[test]
    fn rows_are_sweeps() {
        for first in [0, 8, 4088, 4096 * 511 + 4000] {
            for count in [0, 1, 2, 255, 256, 257, 512, 1500] {
                for period in 1..=LONGEST_PERIOD as u16 {
                    let comb = Comb {
                        first: Addr((1 << 30) + first),
                        count,
                        period,
                        mask: 0xFF,
                    };
                    let (mut rest, mut sweeps) = (comb, comb);
                    while let Some((_, sweep)) = sweeps.next() {
                        let row = rest.take_row().expect("as many rows");
                        assert_eq!(row, sweep.row());
                        let words = (row.first(), row.last(), row.period());
                        assert_eq!(words, (sweep.first, sweep.last, sweep.period));
                        assert_eq!(row.count(), sweep.count());
                        let longer = row.longer().map(|row| (row.first() + 1, row.last()));
                        let expected = (sweep.first > 0).then_some((sweep.first, sweep.last));
                        assert_eq!(longer, expected);
                        assert_eq!((rest.first, rest.count), (sweeps.first, sweeps.count));
                    }
                    assert!(rest.take_row().is_none());
                }
            }
        }
    }
}
