//! The pages that have runs.
//!
//! **Who may touch what.** An entry is changed under its lock. It names the page it is for, so whoever comes with a number that he read
//! a while ago finds out: an entry that was given back is for no page, and may be another's by then. From a page to its
//! entry and back to no entry go only those who hold the page's [`Location`](super::Location).

use alloc::vec::Vec;

use event::AccessKind;

use super::cell::{Cell, Epoch};
use super::depot::Depot;
use super::hints::Hints;
use super::location::absorb_cells;
#[cfg(not(loom))]
use super::run_list::KNOWN_AT;
use super::run_list::Lane;
use super::runs::{Runs, Swept};
use super::sweep::{Row, Sweep, Sweeps};
use crate::grow::Grow;
use crate::lock::{AtomicU32, Guard, Lock, Ordering};
// Not loom's: it is an address to be asked for, on which nothing depends.
use core::sync::atomic::AtomicUsize;

/// A page as runs, and whether that is worth it.
#[derive(Debug, Default)]
#[repr(C)]
struct RunPage {
    /// Number of the page, and one; zero if none.
    page: u64,
    /// Steps that runs saved, less those that they cost, since not too long ago.
    credit: i32,
    /// Where the last accesses to few words were.
    last: [Place; 2],
    runs: Runs,
}

/// A row that is gone through again needs the lines of its hints, of where its lane is, of its lock and of its lanes, and one that has them; and two more if it is shorter than before.
#[cfg(not(loom))]
const _: () =
    assert!(size_of::<Entry>() == 384 && core::mem::offset_of!(RunPage, runs) + KNOWN_AT == 64 - 8);

/// Where an access to few words was.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The first of them.
    word: u16,
    /// What it gets back if the next one goes on from there: then it was the first of a loop, and not alone.
    paid: i16,
}

/// What a page with runs costs and saves, in half steps of a page that is split: two for a word.
///
/// Both ways are right, so this is about time only: a page is split when it would have been better to have split it before, but not because of a few
/// single words among long ranges, nor because somebody goes through it once word by word.
mod price {
    /// An access to a page with runs, however large …
    pub(super) const VISIT: i32 = 10;
    /// … and more for each lane that it touches.
    pub(super) const LANE: i32 = 6;
    /// So many words are few: their checks are in a loop that might go through the page …
    pub(super) const FEW: u32 = 4;
    /// … namely near a word that was accessed of late. Such an access is redundant …
    pub(super) const NEAR: i32 = 1;
    /// … or is not, so that the border of a run is moved …
    pub(super) const MOVE: i32 = 4;
    /// … or that a run is made: of which there will be fewer again, if this goes on; or it is to several words, and no table of the thread's has these …
    pub(super) const MAKE: i32 = 16;
    /// … one to any other word, where a test that is inlined might have answered …
    pub(super) const WORD: i32 = 256;
    /// … unless it was put off, which the test never answers: then only the look at the page is dear …
    pub(super) const LATE: i32 = 40;
    /// … and one that makes a run of its own. Both are given back but for the price of a run when the next access is near.
    pub(super) const ALONE: i32 = 512;
    /// One to parts of words costs this at least: there will be others to the rest of each, up to seven of them, and no table has those either.
    pub(super) const PART: i32 = 32;
    /// No page has more to spend than this, whatever it was used for in the past: enough to go through it twice, word by word, with several
    /// looks at each.
    pub(super) const MOST: i32 = 8192;
    /// A page that was whole starts with this: some two and a half times what it costs to split one, so that it can be gone through once, word by word. Tables are cleared at once, and used
    /// at random.
    pub(super) const START: i32 = 2560;
    /// One that a range was the first to touch starts with this: if ranges touch all of it, it can be gone through once, too.
    pub(super) const FRESH: i32 = 1280;
    /// With more lanes there is little left that runs could save.
    pub(super) const LANES: usize = 496;
}

/// Words of an access that saves what it costs.
pub(super) const LONG: u64 = ((price::VISIT + price::LANE) / 2) as u64;

/// What is saved by an access to these words.
fn saved(sweeps: &Sweeps, swept: Swept, near: bool) -> i32 {
    let words = sweeps.words();
    if words > 1 && !near {
        let saved = 2 * words as i32 - price::VISIT - price::LANE * swept.lanes as i32;
        // A row that ends with few words in a page is followed by another one.
        return if sweeps.is_part() {
            saved.max(0)
        } else {
            saved
        };
    }
    let made = swept.grown > 0;
    -match (near, made) {
        (true, made) if made || words > 1 => price::MAKE,
        (true, _) if swept.changed => price::MOVE,
        (true, _) => price::NEAR,
        // One word of it.
        (false, _) if sweeps.is_part() => 0,
        (false, _) if sweeps.is_late() => price::LATE,
        (false, true) => price::ALONE,
        (false, false) => price::WORD,
    }
}

impl RunPage {
    /// Is it this page's?
    fn is_of(&self, page: u64) -> bool {
        self.page == page + 1
    }

    /// There was such an access, and so many to single words that were answered elsewhere. Returns whether to go on with runs.
    fn spend(&mut self, sweeps: &Sweeps, swept: Swept, answered: u16) -> bool {
        // Few words of a row that goes on elsewhere are no loop.
        let few = sweeps.words() <= price::FEW && !sweeps.is_part();
        let before = few.then(|| self.go_on(sweeps.first())).flatten();
        let mut saved = saved(sweeps, swept, before.is_some());
        if few && sweeps.is_ragged() {
            saved = saved.min(-price::PART);
        }
        match before {
            Some(place) => saved += i32::from(place.paid),
            None if few => self.last[0].paid = (-saved - price::MAKE).max(0) as i16,
            None => {}
        }
        saved -= price::NEAR * i32::from(answered);
        self.credit = (self.credit + saved).min(price::MOST);
        self.credit >= 0 && self.runs.lanes() <= price::LANES
    }

    /// An access to few words from `word` on. Is that near one of the last two places? Which: loops over two rows of one page are no rarity, nor are those that
    /// look at neighbours.
    fn go_on(&mut self, word: u16) -> Option<Place> {
        let near = |other: &Place| word.abs_diff(other.word) <= 2;
        let [last, before] = self.last;
        let now = Place { word, paid: 0 };
        self.last = [now, if near(&last) { before } else { last }];
        [last, before].into_iter().find(near)
    }
}

/// Whole lines of the cache: a page goes from thread to thread.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Entry {
    hints: Hints,
    lane: LastLane,
    page: Lock<RunPage>,
}

/// Where the lane is that was accessed last by somebody who [went through it again](RunPages::again): an address that anybody may read and ask the cache for, whatever is there by then.
#[derive(Debug, Default)]
#[repr(align(64))]
struct LastLane(AtomicUsize);

impl LastLane {
    /// It is this one. Lanes of a line are as good as each other.
    #[inline(always)]
    fn set(&self, lane: &Lane) {
        let at = core::ptr::from_ref(lane).addr();
        if self.0.load(Ordering::Relaxed) / LINE != at / LINE {
            self.0.store(at, Ordering::Relaxed);
        }
    }
}

/// Bytes in a line of the cache.
const LINE: usize = 64;

/// A page with runs, for whoever has it locked.
#[derive(Debug)]
pub(crate) struct Locked<'a> {
    page: Guard<'a, RunPage>,
    hints: &'a Hints,
}

impl Locked<'_> {
    /// Its runs.
    pub(crate) fn runs(&mut self) -> &mut Runs {
        &mut self.page.runs
    }

    /// There was such an access, see [`RunPage::spend`].
    pub(crate) fn spend(&mut self, sweeps: &Sweeps, swept: Swept, answered: u16) -> bool {
        self.page.spend(sweeps, swept, answered)
    }

    /// The thread that is in `epoch` has accessed these words in it, and that is recorded.
    pub(crate) fn hint(&self, epoch: Epoch, kind: AccessKind, sweeps: &Sweeps) {
        if let [sweep] = *sweeps.as_slice()
            && sweep.mask == 0xFF
        {
            self.hints.set(epoch, kind, sweep.row());
        }
    }

    /// Adds this history, of plain accesses, to the bytes of `sweeps`. Returns whether to go on with runs.
    pub(crate) fn absorb(
        &mut self,
        depot: &Depot,
        sweeps: &Sweeps,
        history: &[(Cell, bool)],
    ) -> bool {
        let mut swept = Swept::default();
        for &sweep in sweeps.as_slice() {
            let new = |(): &(), _| false;
            let runs = &mut self.page.runs;
            swept += runs.sweep(depot, sweep, &mut (), new, |(), lane, _| {
                *lane = absorb_cells(depot, *lane, history, sweep.mask);
            });
        }
        self.page.spend(sweeps, swept, 0)
    }

    /// Makes the bytes of `sweeps` fresh. Returns whether to go on with runs.
    pub(crate) fn clear(&mut self, depot: &Depot, sweeps: &Sweeps) -> bool {
        self.hints.clear();
        let mut swept = Swept::default();
        for &sweep in sweeps.as_slice() {
            swept += self.page.runs.clear(depot, sweep);
        }
        self.page.spend(sweeps, swept, 0)
    }
}

/// All pages with runs, by number.
#[derive(Debug)]
pub(super) struct RunPages {
    entries: Grow<Entry>,
    free: Lock<Vec<u32>>,
    next: AtomicU32,
    /// What a page may spend from the start.
    credit: i32,
}

impl RunPages {
    /// None; and what each may spend from the start. With nothing to spend, only pages that are accessed by ranges get runs.
    pub(super) fn new(credit: i32) -> RunPages {
        RunPages {
            entries: Grow::new(),
            free: Lock::default(),
            next: AtomicU32::new(0),
            credit,
        }
    }

    /// Should a page that is whole, touched or not, get runs for that access?
    pub(super) fn pays(&self, touched: bool, sweeps: &Sweeps) -> bool {
        let alone = Swept {
            lanes: 1,
            grown: 1,
            changed: true,
        };
        let begins = if touched {
            price::START
        } else if sweeps.is_late() {
            price::FRESH
        } else {
            0
        };
        let most = self.credit + begins;
        most + saved(sweeps, alone, false) >= 0
    }

    /// An entry for `page`, whose words all have the history of `cells`: which may be copied.
    pub(super) fn make(&self, page: u64, cells: [Cell; 2]) -> u32 {
        let index = self.free.lock().pop();
        let index = index.unwrap_or_else(|| {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            assert!(index != u32::MAX, "footrace: 2^32 pages");
            index
        });
        let entry = self.entries.get(index);
        let mut locked = entry.page.lock();
        entry.hints.clear();
        let fresh = cells[0] == Cell::EMPTY;
        let credit = if fresh { price::FRESH } else { price::START };
        *locked = RunPage {
            page: page + 1,
            credit: self.credit + credit,
            last: [Place::default(); 2],
            runs: Runs::new(cells),
        };
        index
    }

    /// Entry `index`, if it is that page's.
    pub(super) fn lock(&self, index: u32, page: u64) -> Option<Locked<'_>> {
        let entry = self.entries.get(index);
        let hints = &entry.hints;
        let entry = entry.page.lock();
        entry.is_of(page).then_some(Locked { page: entry, hints })
    }

    /// Is an access to that word of the page of entry `index` known to be redundant?
    #[inline]
    pub(super) fn has_word(&self, index: u32, epoch: Epoch, kind: AccessKind, word: u16) -> bool {
        let sweep = Sweep {
            first: word,
            last: word,
            period: 1,
            mask: 0xFF,
        };
        self.entries.get(index).hints.answer(epoch, kind, sweep)
    }

    /// Is an access to these words of the page of entry `index` known to be redundant? Always no for single words: who asks for
    /// these had better split the page, and is to be counted.
    #[inline]
    pub(super) fn is_repeated(
        &self,
        index: u32,
        epoch: Epoch,
        kind: AccessKind,
        sweeps: &Sweeps,
    ) -> bool {
        match *sweeps.as_slice() {
            [sweep] if sweep.mask == 0xFF && sweep.first != sweep.last => {
                self.entries.get(index).hints.answer(epoch, kind, sweep)
            }
            _ => false,
        }
    }

    /// An access to the words of `row`, which are many or part of a row, if the page knows that they are a lane and nobody else is at it: what that becomes is up to
    /// `f`. Returns false if it is not as simple as that, or if `f` does, which has done nothing then. A write in the epoch of `hint` is hinted at: others to words of it
    /// may follow.
    #[inline(always)]
    pub(super) fn again(
        &self,
        index: u32,
        page: u64,
        row: Row,
        hint: Option<Epoch>,
        f: impl FnOnce(&mut Lane) -> bool,
    ) -> bool {
        let Entry {
            hints,
            lane,
            page: entry,
        } = self.entries.get(index);
        let Some(mut entry) = entry.try_lock() else {
            return false;
        };
        if !entry.is_of(page) {
            return false;
        }
        let list = entry.runs.list();
        let known = match list.known_place(row) {
            None if list.lanes() < price::LANES => list.shorten_known(row),
            known => known,
        };
        let Some(known) = known.map(|place| list.at_mut(place)) else {
            return false;
        };
        if !f(known) {
            return false;
        }
        lane.set(known);
        if let Some(epoch) = hint {
            hints.set(epoch, AccessKind::Write, row);
        }
        if entry.credit < price::MOST {
            let saved = 2 * row.count() as i32 - price::VISIT - price::LANE;
            entry.credit = (entry.credit + saved.max(0)).min(price::MOST);
        }
        true
    }

    /// Asks for the lines that [`RunPages::again`] will need first.
    #[inline(always)]
    pub(super) fn ask(&self, index: u32, ask: impl Fn(*const ())) {
        let entry = core::ptr::from_ref(self.entries.get(index)).cast::<u8>();
        for line in 0..size_of::<Entry>() / LINE {
            ask(entry.wrapping_add(line * LINE).cast());
        }
    }

    /// The same for the lane, when these have come.
    #[inline(always)]
    pub(super) fn ask_lane(&self, index: u32, ask: impl Fn(*const ())) {
        let lane = self.entries.get(index).lane.0.load(Ordering::Relaxed);
        ask(core::ptr::without_provenance(lane));
    }

    /// Takes the runs of an entry, which is free from now on.
    pub(super) fn take(&self, index: u32) -> Runs {
        let page = core::mem::take(&mut *self.entries.get(index).page.lock());
        self.free.lock().push(index);
        page.runs
    }

    /// Bytes of all entries and their runs.
    pub(super) fn bytes(&self) -> u64 {
        let entries = 0..self.next.load(Ordering::Relaxed);
        entries
            .map(|index| {
                let entry = self.entries.get(index).page.lock();
                size_of::<Entry>() as u64 + entry.runs.bytes()
            })
            .sum()
    }
}
