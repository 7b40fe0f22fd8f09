//! The pages that have layers.
//!
//! **Who may touch what.** As with [pages with runs](super::run_pages): an entry is changed under its lock and names the page it is for. It is kept for as long as a thread has a footprint
//! of the page, even if that is split by then: who makes memory fresh has to say so there (*ghosts*). Then it counts up a number that the page shares with few others ([`Renewed`]): a thread looks at that before it puts off
//! another check, and has its footprint checked first if it changed. What it accesses next may be what another thread was given in the meantime: then that thread has said so here before, and
//! whoever was told of the memory, in whatever way, sees it.

use alloc::boxed::Box;
use alloc::vec::Vec;
// Not loom's: this is about time only.
use core::sync::atomic::AtomicI32;

use super::bits::Bits;
use super::cell::Cell;
use super::depot::Depot;
use super::layers::{Layers, MOST_LAYERS};
use super::location::Location;
use super::memo::Memo;
use super::sweep::Sweeps;
use crate::boxed::boxed_with;
use crate::grow::Grow;
use crate::lock::{AtomicU32, Guard, Lock, Ordering};

/// A page as layers, and whether that is worth it.
#[derive(Debug, Default)]
pub(crate) struct LayerPage {
    /// Number of the page, and one; zero if none.
    page: u64,
    /// Threads that have a footprint of it.
    open: u32,
    /// Steps that layers saved, less those that they cost, since not too long ago.
    credit: i32,
    /// Is the page split meanwhile?
    split: bool,
    /// How often bytes of the page were made fresh while there were footprints.
    renewals: u64,
    pub(crate) layers: Layers,
}

/// What a page with layers costs and saves, in steps of a page that is split.
mod price {
    /// To commit a footprint.
    pub(super) const COMMIT: i32 = 32;
    /// No page has more to spend than this, whatever it was used for in the past …
    pub(super) const MOST: i32 = 256;
    /// … and each starts with this.
    pub(super) const START: i32 = 2 * COMMIT;
    /// To give a page layers, and then to split it all the same.
    pub(super) const VAIN: i32 = 256;
    /// All pages together may cost so much more than they save, before most get no layers; …
    pub(super) const BUDGET: i32 = 64 * VAIN;
    /// … one in so many does, to see whether it pays by now.
    pub(super) const PROBE: u32 = 32;
}

impl LayerPage {
    fn is_of(&self, page: u64) -> bool {
        self.page == page + 1
    }

    /// Have several threads a footprint of it?
    pub(crate) fn is_shared(&self) -> bool {
        self.open > 1
    }

    /// Is the page split? Then its words are to be checked.
    pub(crate) fn is_split(&self) -> bool {
        self.split
    }
}

/// How often bytes of some pages were made fresh while there were footprints: few pages share a number, by their own.
#[derive(Debug)]
pub struct Renewed(Box<[AtomicU32; Renewed::LEN]>);

impl Renewed {
    /// How many numbers there are.
    #[cfg(not(loom))]
    pub const LEN: usize = 4096;
    #[cfg(loom)]
    pub const LEN: usize = 1;

    fn new() -> Renewed {
        Renewed(boxed_with(|| AtomicU32::new(0)))
    }

    #[inline(always)]
    fn of(&self, page: u64) -> &AtomicU32 {
        // As `Memory` counts pages: as if each were a word.
        &self.0[page as usize / 8 % Renewed::LEN]
    }

    /// Where the numbers are, for stubs. They stay there.
    pub fn table(&self) -> *const () {
        self.0.as_ptr().cast()
    }
}

/// When a footprint was begun: how often bytes of its page had been made fresh, and the number that tells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Begun {
    pub(crate) renewals: u64,
    pub(crate) renewed: u32,
}

/// All pages with layers, by number.
#[derive(Debug)]
pub(super) struct LayerPages {
    /// Are there any? And what may each spend from the start?
    credit: Option<i32>,
    entries: Grow<Lock<LayerPage>>,
    /// If there are any.
    renewed: Option<Renewed>,
    free: Lock<Vec<u32>>,
    next: AtomicU32,
    /// What all of them saved, less what they cost, since not too long ago.
    balance: AtomicI32,
    /// Pages that might have had layers since that was too little.
    refused: AtomicU32,
    /// Pages that are split, of which there are footprints yet, …
    ghosts: Lock<Vec<(u64, u32)>>,
    /// … and how many.
    haunted: AtomicU32,
}

impl LayerPages {
    /// None, now or ever; or none yet, and what each may spend beyond what is usual.
    pub(super) fn new(credit: Option<i32>) -> LayerPages {
        LayerPages {
            credit: credit.map(|credit| credit + price::START),
            entries: Grow::new(),
            renewed: credit.map(|_| Renewed::new()),
            free: Lock::default(),
            next: AtomicU32::new(0),
            balance: AtomicI32::new(0),
            refused: AtomicU32::new(0),
            ghosts: Lock::default(),
            haunted: AtomicU32::new(0),
        }
    }

    /// May there be any?
    #[inline(always)]
    pub(super) const fn exist(&self) -> bool {
        self.credit.is_some()
    }

    /// Had one more page better have layers, as far as others tell?
    pub(super) fn pay(&self) -> bool {
        let Some(credit) = self.credit else {
            return false;
        };
        credit > price::START
            || self.balance.load(Ordering::Relaxed) >= -price::BUDGET
            || self
                .refused
                .fetch_add(1, Ordering::Relaxed)
                .is_multiple_of(price::PROBE)
    }

    /// So much was saved, or it was not.
    fn earn(&self, saved: i32) {
        // A number that is lost to another thread does not matter.
        let balance = self.balance.load(Ordering::Relaxed).saturating_add(saved);
        let balance = balance.clamp(-2 * price::BUDGET, 2 * price::BUDGET);
        self.balance.store(balance, Ordering::Relaxed);
    }

    /// A footprint with so many accesses was committed. Returns whether to go on with layers.
    pub(super) fn spend(&self, page: &mut LayerPage, marks: u32) -> bool {
        let saved = marks.min(price::MOST as u32) as i32 - price::COMMIT;
        page.credit = (page.credit + saved).min(price::MOST);
        // Who has checks to make yet had better make them here.
        let goes_on = page.is_shared() || page.credit >= 0 && page.layers.len() <= MOST_LAYERS;
        self.earn(if goes_on { saved } else { -price::VAIN });
        goes_on
    }

    /// An entry for `page`, with these layers.
    pub(super) fn make(&self, page: u64, layers: Layers) -> u32 {
        let index = self.free.lock().pop();
        let index = index.unwrap_or_else(|| {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            assert!(index != u32::MAX, "footrace: 2^32 pages");
            index
        });
        *self.entries.get(index).lock() = LayerPage {
            page: page + 1,
            open: 0,
            credit: self.credit.unwrap_or(0),
            split: false,
            renewals: 0,
            layers,
        };
        index
    }

    /// Entry `index`, if it is that page's and it is not split.
    pub(super) fn lock(&self, index: u32, page: u64) -> Option<Guard<'_, LayerPage>> {
        let entry = self.entries.get(index).lock();
        (entry.is_of(page) && !entry.split).then_some(entry)
    }

    /// A number that changes when bytes of the page are made fresh.
    #[inline(always)]
    pub(super) fn renewed(&self, page: u64) -> u32 {
        let renewed = self.renewed.as_ref();
        renewed.map_or(0, |renewed| renewed.of(page).load(Ordering::Acquire))
    }

    /// All of them, if there may be any.
    pub(super) fn all_renewed(&self) -> Option<&Renewed> {
        self.renewed.as_ref()
    }

    /// A thread begins a footprint of the page.
    pub(super) fn open(&self, index: u32, page: u64) -> Option<Begun> {
        let mut entry = self.lock(index, page)?;
        let begun = Begun {
            renewals: entry.renewals,
            renewed: self.renewed(page),
        };
        entry.open += 1;
        entry.layers.begin(begun.renewals);
        Some(begun)
    }

    /// The entry that a thread has a footprint for, split or not.
    pub(super) fn opened(&self, index: u32) -> Guard<'_, LayerPage> {
        self.entries.get(index).lock()
    }

    /// The thread's checks are made.
    pub(super) fn close(&self, index: u32, mut entry: Guard<'_, LayerPage>) {
        entry.open -= 1;
        if entry.open > 0 {
            return;
        }
        entry.layers.forget_graves();
        if entry.split {
            entry.page = 0;
            drop(entry);
            let mut ghosts = self.ghosts.lock();
            ghosts.retain(|&(_, other)| other != index);
            self.haunted.store(ghosts.len() as u32, Ordering::Release);
            drop(ghosts);
            self.free.lock().push(index);
        }
    }

    /// Makes the bytes of `sweeps` fresh in an entry that is [locked](LayerPages::lock).
    pub(super) fn clear(&self, entry: &mut LayerPage, sweeps: &Sweeps) {
        let open = entry.open > 0;
        if open {
            self.renew(entry);
        }
        entry.layers.clear(sweeps, entry.renewals, open);
    }

    fn renew(&self, entry: &mut LayerPage) {
        entry.renewals += 1;
        if let Some(renewed) = &self.renewed {
            renewed.of(entry.page - 1).fetch_add(1, Ordering::Release);
        }
    }

    /// The page is to be split: a location for each of its words, for `f`. See [`Layers::take_locations`].
    pub(super) fn take(
        &self,
        index: u32,
        depot: &Depot,
        memo: Option<&mut Memo>,
        f: impl FnOnce(&mut dyn FnMut() -> Location),
    ) {
        let mut entry = self.entries.get(index).lock();
        let mut locations = entry.layers.take_locations(depot, memo);
        let mut next = move || locations.next().unwrap_or_default();
        if entry.open > 0 {
            // Before anybody finds the page split.
            let mut ghosts = self.ghosts.lock();
            ghosts.push((entry.page - 1, index));
            self.haunted.store(ghosts.len() as u32, Ordering::Release);
            entry.split = true;
            drop(ghosts);
            return f(&mut next);
        }
        f(&mut next);
        entry.page = 0;
        drop(entry);
        self.free.lock().push(index);
    }

    /// Are there pages that are split, of which there are footprints yet?
    #[inline(always)]
    pub(super) fn are_haunted(&self) -> bool {
        self.haunted.load(Ordering::Acquire) != 0
    }

    /// Bytes of such a page are about to be made fresh; `each` calls with what they remember, and in which word.
    pub(super) fn bury(
        &self,
        page: u64,
        sweeps: &Sweeps,
        each: impl FnOnce(&mut dyn FnMut(Cell, bool, usize)),
    ) {
        let ghost = self
            .ghosts
            .lock()
            .iter()
            .find(|ghost| ghost.0 == page)
            .copied();
        let Some((_, index)) = ghost else { return };
        let mut entry = self.entries.get(index).lock();
        if !entry.is_of(page) || !entry.split {
            return;
        }
        let bits = Bits::of(sweeps);
        let mut others = Vec::new();
        each(&mut |cell, atomic, word| others.push((cell, atomic, word)));
        self.renew(&mut entry);
        let renewal = entry.renewals;
        entry.layers.bury(&bits, renewal, &others);
    }

    /// Bytes of all entries and their layers.
    pub(super) fn bytes(&self) -> u64 {
        let entries = 0..self.next.load(Ordering::Relaxed);
        entries
            .map(|index| size_of::<Lock<LayerPage>>() as u64 + self.opened(index).layers.bytes())
            .sum()
    }
}
