//! The locations of all memory.
//!
//! A page of the program's memory has one of four forms:
//!
//! * *whole*: one location stands for each of its words. So it stays as long as all accesses cover all of it: a large block that is set, copied
//!   or freed without ever being touched in detail costs 16 bytes a page, and one check.
//! * *runs* ([`runs`](super::runs)): a location for each span of words with the same past. For pages that are accessed by ranges,
//!   as rows of a matrix are: some hundred bytes, and a few checks.
//! * *layers* ([`layers`](super::layers)): the accesses that its bytes remember, with a bit for each byte. For pages that are accessed in detail, many times before their thread
//!   synchronises: their checks are put off until then. For detectors that want them.
//! * *split*: a location for each word. For pages that are accessed in detail, and for all that have atomic accesses. For good.
//!
//! **Who may touch what.** What form a page has is said by the page's own location: its cells if it is whole, else the mark
//! RUNS or LAYERS, with a number, or SPLIT. It goes from one form to the next under the lock of that location. So whoever finds no split page goes
//! there, and either finds the form and with it what to lock, or is told to look again. Runs are changed under their own lock; who has it
//! knows that the page has runs as long as he keeps it. Atomic accesses are recorded in split pages only.

use alloc::vec::Vec;

use event::{AccessKind, Addr, Elements};

use super::cell::{Cell, Epoch};
use super::depot::Depot;
use super::layer_pages::{Begun, LayerPage, LayerPages, Renewed};
use super::layers::Layers;
use super::location::{Kind, Location};
use super::memo::Memo;
use super::outside::discard;
use super::pages::{ADDRESSES, PAGE_WORDS, Page, Pages, word_of};
use super::renewals::{Renewals, Watch};
use super::repeats::{Kept, Range, Read, Repeats, SHORTEST};
use super::run_pages::{LONG, Locked, RunPages};
use super::sweep::{Comb, Row, Sweeps};
use crate::lock::Guard;

/// A location for each aligned word of eight bytes, or for many words with the same past.
#[derive(Debug)]
pub struct Memory {
    split: Pages<Location>,
    runs: RunPages,
    layers: LayerPages,
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
    /// Its layers, locked.
    Layers(Guard<'a, LayerPage>),
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

/// So many pages of a row are asked for ahead at most: the others of a long one come while these are gone through, and the cache has no room for more.
const MOST_AHEAD: usize = 8;

/// What is asked for ahead of an access to a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ahead {
    /// What each of its pages is locked and known by.
    Page,
    /// What each of them remembers of the row.
    Lane,
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
            layers: LayerPages::new(None),
            whole: Pages::new(),
            depot: Depot::new(),
            renewals: Renewals::new(),
            shortest: if credit > 0 { 1 } else { SHORTEST },
        }
    }

    /// The same with pages that have layers, and `credit` for them beyond what is usual.
    pub fn with_layers(mut self, credit: i32) -> Memory {
        self.layers = LayerPages::new(Some(credit));
        self
    }

    /// May there be pages with layers?
    pub fn has_layers(&self) -> bool {
        self.layers.exist()
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

    /// Calls `f` with the locations of each split page of `len` bytes at `addr` of which nothing is remembered.
    pub(crate) fn each_untouched(&self, addr: Addr, len: u64, mut f: impl FnMut(&Page<Location>)) {
        let end = addr.0.saturating_add(len);
        self.split.each_within(addr, end, |page| {
            if page.iter().all(Location::is_untouched) {
                f(page);
            }
        });
    }

    /// The page of `addr`, split from now on; none beyond the address space.
    pub fn split(&self, addr: Addr) -> Option<&Page<Location>> {
        self.split_by(addr, None)
    }

    /// The same by a thread, which goes on with its words.
    #[cold]
    #[inline(never)]
    pub(crate) fn split_by(&self, addr: Addr, memo: Option<&mut Memo>) -> Option<&Page<Location>> {
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
        whole.change(|kind| {
            match kind {
                Kind::Layers(index) => self.layers.take(index, &self.depot, memo, |next| {
                    self.split.insert(addr, Some(next));
                }),
                Kind::Runs(index) => self.insert(addr, self.take_runs(index)),
                Kind::Whole | Kind::Split => {}
            }
            Cell::SPLIT
        });
        self.split.page(addr)
    }

    /// What each word of a page with runs remembers, which it has no longer.
    fn take_runs(&self, index: u32) -> Vec<[Cell; 2]> {
        let mut words = Vec::with_capacity(PAGE_WORDS);
        let mut runs = self.runs.take(index);
        runs.take_words(&self.depot, |cells| words.push(cells));
        words
    }

    /// Puts a split page with these words.
    fn insert(&self, addr: Addr, words: Vec<[Cell; 2]>) {
        let mut words = words.into_iter();
        let mut next = || {
            let word = words.next();
            word.map_or_else(Location::new, Location::with_cells)
        };
        self.split.insert(addr, Some(&mut next));
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

    /// Gives the page of `addr` layers, if there are any and it is not split. One with runs is split if it would have too many.
    #[cold]
    #[inline(never)]
    pub(crate) fn lay(&self, addr: Addr) -> bool {
        let Some(whole) = self.whole(addr).filter(|_| self.layers.pay()) else {
            return false;
        };
        let make = |layers| Cell::layers(self.layers.make(number(addr).0, layers));
        whole.divide(&self.depot, |cells| {
            let copy = Location::with_cells(cells);
            let layers = Layers::new(&copy.history(&self.depot));
            discard(&self.depot, cells);
            make(layers)
        });
        whole.change(|kind| match kind {
            Kind::Runs(index) => {
                let words = self.take_runs(index);
                match Layers::of(&words, &self.depot) {
                    Some(layers) => {
                        words
                            .into_iter()
                            .for_each(|cells| discard(&self.depot, cells));
                        make(layers)
                    }
                    None => {
                        self.insert(addr, words);
                        Cell::SPLIT
                    }
                }
            }
            Kind::Layers(index) => Cell::layers(index),
            Kind::Whole | Kind::Split => Cell::SPLIT,
        });
        true
    }

    /// Which of the pages with layers is that of `addr`, if it is one?
    #[inline]
    pub(crate) fn layered(&self, addr: Addr) -> Option<u32> {
        if !self.layers.exist() {
            return None;
        }
        match self.touched(addr)?.kind() {
            Kind::Layers(index) => Some(index),
            _ => None,
        }
    }

    /// A thread begins to put off checks of the page of `addr`, number `index` of those with layers. None if it has no layers any more.
    pub(crate) fn begin_footprint(&self, addr: Addr, index: u32) -> Option<Begun> {
        self.layers.open(index, number(addr).0)
    }

    /// A number that changes when bytes of the page of `addr` are made fresh while there is a footprint of it.
    #[inline(always)]
    pub(crate) fn renewed_layers(&self, addr: Addr) -> u32 {
        self.layers.renewed(number(addr).0)
    }

    /// All these numbers, if checks are ever put off.
    pub fn all_renewed(&self) -> Option<&Renewed> {
        self.layers.all_renewed()
    }

    /// The page that a thread has a footprint of, locked: its layers, or that it is split.
    pub(crate) fn layers(&self, index: u32) -> Guard<'_, LayerPage> {
        self.layers.opened(index)
    }

    /// The thread has made the checks of a footprint with so many accesses. Returns whether to go on with layers.
    pub(crate) fn spend_layers(&self, page: &mut LayerPage, marks: u32) -> bool {
        self.layers.spend(page, marks)
    }

    /// The thread has made these checks.
    pub(crate) fn end_footprint(&self, index: u32, page: Guard<'_, LayerPage>) {
        self.layers.close(index, page);
    }

    /// Makes the words of `sweeps` fresh in a page with layers.
    pub(crate) fn clear_layers(&self, page: &mut LayerPage, sweeps: &Sweeps) {
        self.layers.clear(page, sweeps);
    }

    /// The words of `sweeps`, of a page that is split, are about to be made fresh: if a thread has yet to check what it did to them, that has to be held against what they remember now.
    #[inline(always)]
    pub(crate) fn bury(&self, addr: Addr, page: &Page<Location>, sweeps: &Sweeps) {
        if self.layers.are_haunted() {
            self.bury_words(addr, page, sweeps);
        }
    }

    #[cold]
    fn bury_words(&self, addr: Addr, page: &Page<Location>, sweeps: &Sweeps) {
        self.layers.bury(number(addr).0, sweeps, |each| {
            for sweep in sweeps.as_slice() {
                for word in sweep.words() {
                    for (cell, atomic) in page[word].history(&self.depot) {
                        let left = cell.only(sweep.mask);
                        if !left.is_empty() {
                            each(left, atomic, word);
                        }
                    }
                }
            }
        });
    }

    /// Does it pay to give the page of `addr`, which is whole, runs for an access to these words?
    pub(crate) fn pays(&self, whole: &Location, sweeps: &Sweeps) -> bool {
        // Layers are for what is accessed in detail.
        let layers = self.layers.exist() && sweeps.words() < LONG as u32 && !sweeps.is_part();
        !layers && self.runs.pays(!whole.is_untouched(), sweeps)
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
            Kind::Whole | Kind::Layers(_) | Kind::Split => false,
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

    /// Asks for what [`Memory::again`] will need of these words: for each page's lock and what stands beside it, or, when that has come, for its lane.
    #[inline(always)]
    pub(crate) fn ask(&self, words: Comb, what: Ahead, ask: impl Fn(*const ())) {
        let mut rest = words;
        for _ in 0..MOST_AHEAD {
            let number = number(rest.first);
            if rest.take_row().is_none() {
                return;
            }
            let Some(table) = self.whole.page(number) else {
                return;
            };
            let location = &table[word_of(number)];
            match (location.as_runs(), what) {
                (None, Ahead::Page) => ask(core::ptr::from_ref(location).cast()),
                (None, Ahead::Lane) => {}
                (Some(index), Ahead::Page) => self.runs.ask(index, &ask),
                (Some(index), Ahead::Lane) => self.runs.ask_lane(index, &ask),
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
                Kind::Layers(index) => {
                    if let Some(page) = self.layers.lock(index, number(addr).0) {
                        return Some(Form::Layers(page));
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

    /// Bytes of locations of words, of runs, of layers, and of whole pages.
    pub fn bytes(&self) -> [u64; 4] {
        let (runs, layers) = (self.runs.bytes(), self.layers.bytes());
        [self.split.bytes(), runs, layers, self.whole.bytes()]
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
