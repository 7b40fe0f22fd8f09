//! The locations of all memory.
//!
//! A page of the program's memory has one of three forms:
//!
//! * *whole*: one location stands for each of its words. So it stays as long as all accesses cover all of it: a large block that is set, copied
//!   or freed without ever being touched in detail costs 16 bytes a page, and one check.
//! * *runs* ([`runs`](super::runs)): a location for each span of words with the same past. For pages that are accessed by ranges,
//!   as rows of a matrix are: some hundred bytes, and a few checks.
//! * *split*: a location for each word. For pages that are accessed in detail, and for all that have atomic accesses. For good.
//!
//! **Who may touch what.** What form a page has is said by the page's own location: its cells if it is whole, else the mark
//! RUNS, with a number, or SPLIT. It goes from one form to the next under the lock of that location. So whoever finds no split page goes
//! there, and either finds the form and with it what to lock, or is told to look again. Runs are changed under their own lock; who has it
//! knows that the page has runs as long as he keeps it. Atomic accesses are recorded in split pages only.

use alloc::vec::Vec;

use event::{AccessKind, Addr, Elements};

use super::cell::{Cell, Epoch};
use super::depot::Depot;
use super::location::{Kind, Location};
use super::outside::discard;
use super::pages::{ADDRESSES, PAGE_WORDS, Page, Pages, word_of};
use super::renewals::{Renewals, Watch};
use super::repeats::{Kept, Range, Read, Repeats, SHORTEST};
use super::run_pages::{LONG, Locked, RunPages};
use super::sweep::{Comb, Row, Sweeps};

/// A location for each aligned word of eight bytes, or for many words with the same past.
#[derive(Debug)]
pub struct Memory {
    split: Pages<Location>,
    runs: RunPages,
    /// By number of the page, as if that were a word.
    whole: Pages<Location>,
    depot: Depot,
    renewals: Renewals,
    /// Words of the shortest range that a thread remembers to have read.
    shortest: u64,
}

/// How a page that is not split is found.
pub(crate) enum Form<'a> {
    /// One location for all.
    Whole(&'a Location),
    /// Its runs, locked.
    Runs(Locked<'a>),
}

/// What an access to a row has to do with on a page.
pub(crate) enum Part<'a> {
    /// A lane of its runs, which may be of a `single` word.
    Lane {
        /// What it remembers.
        cells: &'a mut [Cell; 2],
        single: bool,
    },
    /// All of it, if it is whole.
    Whole(&'a Location),
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::new()
    }
}

/// Where the location of the whole page of `addr` is found.
const fn number(addr: Addr) -> Addr {
    Addr(addr.0 >> 12 << 3)
}

impl Memory {
    /// Untouched.
    pub fn new() -> Memory {
        Memory::with_runs(0)
    }

    /// Untouched, with `credit` for pages with runs to live on: the more, the more accesses to single words do not split them. For tests: with any,
    /// short ranges are treated as long ones are.
    pub fn with_runs(credit: i32) -> Memory {
        Memory {
            split: Pages::new(),
            runs: RunPages::new(credit),
            whole: Pages::new(),
            depot: Depot::new(),
            renewals: Renewals::new(),
            shortest: if credit > 0 { 1 } else { SHORTEST },
        }
    }

    /// Where the states of locations are that do not fit into them.
    pub fn depot(&self) -> &Depot {
        &self.depot
    }

    /// Where split pages are found, see [`Pages::root`].
    pub fn split_root(&self) -> *const () {
        self.split.root()
    }

    /// The page of `addr`, if it is split.
    #[inline]
    pub fn page(&self, addr: Addr) -> Option<&Page<Location>> {
        self.split.page(addr)
    }

    /// The page of `addr`, split from now on; none beyond the address space.
    #[cold]
    #[inline(never)]
    pub fn split(&self, addr: Addr) -> Option<&Page<Location>> {
        let whole = self.whole(addr)?;
        whole.divide(&self.depot, |cells| {
            if cells[0] == Cell::EMPTY {
                self.split.insert(addr, None);
            } else {
                let shared = cells[0].as_shared();
                self.split.insert(
                    addr,
                    Some(&mut || {
                        if let Some(index) = shared {
                            self.depot.hold(index, 1);
                        }
                        Location::with_cells(cells)
                    }),
                );
                discard(&self.depot, cells);
            }
            Cell::SPLIT
        });
        whole.split_runs(|index| {
            let mut words = Vec::with_capacity(PAGE_WORDS);
            self.runs
                .take(index)
                .take_words(&self.depot, |cells| words.push(cells));
            let mut words = words.into_iter();
            let mut next = || {
                words
                    .next()
                    .map_or_else(Location::new, Location::with_cells)
            };
            self.split.insert(addr, Some(&mut next));
        });
        self.split.page(addr)
    }

    /// Gives the page of `addr` runs, if it is whole.
    #[cold]
    #[inline(never)]
    pub(crate) fn divide(&self, addr: Addr) {
        if let Some(whole) = self.whole(addr) {
            whole.divide(&self.depot, |cells| {
                Cell::runs(self.runs.make(number(addr).0, cells))
            });
        }
    }

    /// Does it pay to give the page of `addr`, which is whole, runs for an access to these words?
    pub(crate) fn pays(&self, whole: &Location, sweeps: &Sweeps) -> bool {
        self.runs.pays(!whole.is_untouched(), sweeps)
    }

    /// Is an access to these words of a page with runs known to repeat one that the thread made in `epoch`? `whole` is the page's own
    /// location.
    #[inline]
    pub(crate) fn is_repeated(
        &self,
        whole: &Location,
        epoch: Epoch,
        kind: AccessKind,
        sweeps: &Sweeps,
    ) -> bool {
        match whole.kind() {
            Kind::Runs(index) => self.runs.is_repeated(index, epoch, kind, sweeps),
            Kind::Whole | Kind::Split => false,
        }
    }

    /// An access to words, all of them whole, of pages with runs, where each page knows that its part of them is a lane, see [`RunPages::again`], and of whole pages, all of each. What
    /// becomes of them is up to `f`. The number of pages; none if it is not as simple as that, and it is done in part.
    #[inline(always)]
    pub(crate) fn again(
        &self,
        words: Comb,
        hint: Option<Epoch>,
        mut f: impl FnMut(Part<'_>) -> bool,
    ) -> Option<u64> {
        let (mut rest, mut pages) = (words, 0);
        let mut table = self.whole.page(number(words.first))?;
        loop {
            let number = number(rest.first);
            let row = rest.take_row()?;
            let location = &table[word_of(number)];
            let done = match location.as_runs() {
                None => row == Row::WHOLE && f(Part::Whole(location)),
                Some(index) => {
                    let single = row.first() == row.last();
                    let f = |cells: &mut [Cell; 2]| f(Part::Lane { cells, single });
                    self.runs.again(index, number.0, row, hint, f)
                }
            };
            if !done {
                return None;
            }
            pages += 1;
            if rest.count == 0 {
                return Some(pages);
            }
            if word_of(number) == PAGE_WORDS - 1 {
                table = self.whole.page(self::number(rest.first))?;
            }
        }
    }

    /// So many words pay on a page with runs: fewer are not for [`Memory::again`].
    #[inline(always)]
    pub(crate) const fn long(&self) -> u64 {
        if self.shortest == 1 { 1 } else { LONG }
    }

    /// The range of these elements, if it is worth remembering.
    #[inline]
    pub(crate) fn range(&self, elements: Elements) -> Option<Range> {
        Range::of(elements, self.shortest)
    }

    /// The same for words.
    #[inline(always)]
    pub(crate) fn range_of(&self, comb: Comb) -> Option<Range> {
        Range::of_words(comb, self.shortest)
    }

    /// Has the thread whose `repeats` these are read all of `range` in this epoch?
    #[inline(always)]
    pub(crate) fn is_reread(&self, repeats: &Repeats, range: Range, epoch: Epoch) -> bool {
        let kept = repeats.kept(range, epoch);
        kept.is_some_and(|kept| kept.has(&self.renewals, range))
    }

    /// The same for who has found what the thread [remembers](Repeats::kept).
    #[inline(always)]
    pub(crate) fn is_in(&self, kept: &Kept, range: Range) -> bool {
        kept.has(&self.renewals, range)
    }

    /// A thread is about to read `range`, and wants to [remember](Repeats::keep) it.
    #[inline(always)]
    pub(crate) fn begin_read(&self, range: Range, epoch: Epoch) -> Read {
        Repeats::begin(&self.renewals, range, epoch)
    }

    /// What of `range`, which the thread is about to read, it has not read in this epoch, see [`Kept::rest`].
    #[inline(always)]
    pub(crate) fn rest(&self, kept: &Kept, range: Range) -> Option<[Option<Range>; 2]> {
        kept.rest(&self.renewals, range)
    }

    /// A thread is about to read the word of `addr`, and wants to [remember](Repeats::went) it.
    pub(crate) fn watch(&self, addr: Addr) -> Watch {
        self.renewals.watch(addr.0, addr.0)
    }

    /// See [`Repeats::has_word`].
    #[inline]
    pub(crate) fn has_word(&self, repeats: &mut Repeats, addr: Addr, epoch: Epoch) -> bool {
        repeats.has_word(&self.renewals, addr, epoch)
    }

    /// How many of the first of these elements, of 2 to the power of `SHIFT` bytes, the thread is known to have read in this epoch.
    #[inline(always)]
    pub(crate) fn scattered<const SHIFT: u32>(
        &self,
        repeats: &Repeats,
        list: &[usize],
        epoch: Epoch,
    ) -> usize {
        let scattered = &repeats.scattered;
        scattered.count::<SHIFT>(&self.renewals, list, epoch)
    }

    /// The thread has read an element, which is recorded in `epoch`; `watch` is from before.
    pub(crate) fn keep_scattered<const SHIFT: u32>(
        &self,
        repeats: &mut Repeats,
        addr: Addr,
        epoch: Epoch,
        watch: Watch,
    ) {
        repeats.scattered.keep::<SHIFT>(addr, epoch, watch);
    }

    /// Is the word of `addr` in a page with runs, and among those that the thread accessed last of it, in this epoch? Now and then the answer is no.
    #[inline]
    pub(crate) fn is_in_row(
        &self,
        repeats: &mut Repeats,
        addr: Addr,
        epoch: Epoch,
        kind: AccessKind,
    ) -> bool {
        let number = number(addr);
        let index = self.whole.page(number);
        let index = index.and_then(|table| table[word_of(number)].as_runs());
        let word = word_of(addr) as u16;
        index.is_some_and(|index| {
            self.runs.has_word(index, epoch, kind, word) && repeats.is_answered()
        })
    }

    /// All of these bytes have been made fresh: whoever remembers a read of them must not.
    pub(crate) fn renewed(&self, addr: Addr, bytes: u64) {
        self.renewals.renewed(addr, bytes);
    }

    /// What the page of `addr` is, if it is not split; `whole` is its own location.
    #[inline]
    pub(crate) fn form<'a>(&'a self, addr: Addr, whole: &'a Location) -> Option<Form<'a>> {
        loop {
            match whole.kind() {
                Kind::Whole => return Some(Form::Whole(whole)),
                Kind::Split => return None,
                Kind::Runs(index) => {
                    if let Some(page) = self.runs.lock(index, number(addr).0) {
                        return Some(Form::Runs(page));
                    }
                }
            }
        }
    }

    /// The location that the page of `addr` has for itself; none beyond the address space.
    pub fn whole(&self, addr: Addr) -> Option<&Location> {
        if addr.0 >= ADDRESSES {
            return None;
        }
        let number = number(addr);
        Some(&self.whole.touch(number)?[word_of(number)])
    }

    /// The location that the page of `addr` has for itself, if something happened to the page.
    pub fn touched(&self, addr: Addr) -> Option<&Location> {
        if addr.0 >= ADDRESSES {
            return None;
        }
        let number = number(addr);
        let whole = &self.whole.page(number)?[word_of(number)];
        (!whole.is_untouched()).then_some(whole)
    }

    /// If nothing ever happened to a long stretch of memory from `addr` on: the end of the stretch.
    pub fn untouched_until(&self, addr: Addr) -> Option<Addr> {
        let split = self.split.absent_until(addr)?;
        let whole = self.whole.absent_until(number(addr))?;
        Some(Addr(split.min(whole >> 3 << 12)))
    }

    /// Bytes of locations of words, of runs, and of whole pages.
    pub fn bytes(&self) -> (u64, u64, u64) {
        (self.split.bytes(), self.runs.bytes(), self.whole.bytes())
    }

    /// The location of the word of `addr`, if something happened to its page.
    pub fn location(&self, addr: Addr) -> Option<&Location> {
        let page = match self.page(addr) {
            Some(page) => page,
            None => {
                self.touched(addr)?;
                self.split(addr)?
            }
        };
        Some(&page[word_of(addr)])
    }
}
