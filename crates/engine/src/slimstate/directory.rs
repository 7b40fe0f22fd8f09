//! From an address to the array that it belongs to, in O(1), without a lock.
//!
//! ```text
//! address  [ 17 beyond | 7 top | 7 upper | 7 high | 7 low | 7 leaf | 12 within the page ]
//! leaf entry (4 KiB page):   0              no array
//!                            id             all of the page belongs to one array
//!                            FEW | r        see page r of a few runs (`runs`)
//!                            MIXED | m      see mixed page m: 256 granules of 16 bytes, 0 or an id each
//! ```
//!
//! Blocks are kept apart by granules: of two blocks that share one, the second is not an array but
//! plain memory, tracked as in FastTrack. (`malloc` gives blocks that are 16 bytes apart.) An address in an
//! array's granule may lie just outside of the array; who asks must compare with its bounds.
//!
//! Who may touch: `find` any thread at any time, without a lock. `set` and `withdraw` change a page under its lock, one of
//! 64. A page that has few arrays again, or none, needs no table, which then serves another page: so `find` looks at the page's entry
//! again after it has looked into the table.

use super::array::ArrayId;
use super::runs::{self, List, Runs};
use crate::boxed::boxed_with;
use crate::grow::Grow;
use crate::lock::{
    AtomicU32, Lock, OnceBox, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::ops::Range;
use event::Addr;

/// Bytes that belong to at most one array.
pub(super) const GRANULE: u64 = 16;
const PAGE: u64 = 4096;
pub(super) const GRANULES: usize = (PAGE / GRANULE) as usize;
/// Bits of an address that each table has but the first. Small tables, which share pages: a program of a few arrays has two or three of each; in
/// the model they are smaller yet.
const FAN_BITS: u32 = if cfg!(loom) { 2 } else { 7 };
const FAN: usize = 1 << FAN_BITS;
/// Tables on the way from the first to a page's entry.
const TABLES: u32 = 4;
const TOP: usize = ((END / PAGE) >> (TABLES * FAN_BITS)) as usize;
const MIXED: u32 = 1 << 31;
const FEW: u32 = 1 << 30;
/// Bytes of the longest array: the number of its granules has 32 bits.
const LONGEST: u64 = 1 << 35;
/// Addresses from here on are not looked up.
const END: u64 = crate::shadow::ADDRESSES;

type Leaf = [AtomicU32; FAN];
type Low = [OnceBox<Leaf>; FAN];
type High = [OnceBox<Low>; FAN];
type Upper = [OnceBox<High>; FAN];

/// The granules of a page that has several arrays, or one and plain memory.
#[derive(Default)]
struct Mixed {
    granules: OnceBox<[AtomicU32; GRANULES]>,
    /// How many granules have an owner. Changed under the page's lock.
    owned: AtomicU32,
}

fn zeroes<const N: usize>() -> Box<[AtomicU32; N]> {
    boxed_with(|| AtomicU32::new(0))
}

fn boxes<T, const N: usize>() -> Box<[OnceBox<T>; N]> {
    boxed_with(OnceBox::new)
}

/// Where the tables have a page: in `top`, and in the others, of which a leaf is the last.
#[inline]
fn places(page: u64) -> (usize, [usize; TABLES as usize]) {
    let tables = [3, 2, 1, 0].map(|tables| (page >> (tables * FAN_BITS)) as usize % FAN);
    ((page >> (TABLES * FAN_BITS)) as usize, tables)
}

/// The map from addresses to arrays.
pub(super) struct Directory {
    top: Box<[OnceBox<Upper>; TOP]>,
    mixed: Grow<Mixed>,
    /// Of mixed pages.
    unused: Lock<Numbers>,
    few: Grow<Runs>,
    /// Of pages of a few runs.
    unused_few: Lock<Numbers>,
    /// Of pages, by number.
    locks: [Lock<()>; LOCKS],
}

const LOCKS: usize = 64;

impl core::fmt::Debug for Directory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Directory { .. }")
    }
}

/// What is at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// There is no array on the whole page.
    PlainPage,
    /// There is none in the granule.
    Plain,
    /// The array whose granule it is, and whether its whole page is.
    Array(ArrayId, bool),
}

impl Directory {
    pub(super) fn new() -> Self {
        Directory {
            top: boxes(),
            mixed: Grow::new(),
            unused: Lock::default(),
            few: Grow::new(),
            unused_few: Lock::default(),
            locks: core::array::from_fn(|_| Lock::new(())),
        }
    }

    /// Can a block here be an array at all? Not if its pages alone would fill memory: whoever reserves 32 GiB does not
    /// use them as one array.
    pub(super) fn reaches(bytes: &Range<u64>) -> bool {
        bytes.end <= END && bytes.end - bytes.start <= LONGEST
    }

    /// The first page from `page` on that may have an array.
    fn skip(&self, mut page: u64) -> u64 {
        loop {
            let (top, [upper, high, low, _]) = places(page);
            let Some(top) = self.top.get(top) else {
                return u64::MAX / PAGE;
            };
            let table = top.get().map(|table| table[upper].get());
            let table = table.map(|table| table.map(|table| table[high].get()));
            let absent = match table {
                None => TABLES,
                Some(None) => 3,
                Some(Some(None)) => 2,
                Some(Some(Some(table))) if table[low].get().is_none() => 1,
                Some(Some(Some(_))) => return page,
            };
            page = ((page >> (absent * FAN_BITS)) + 1) << (absent * FAN_BITS);
        }
    }

    #[inline]
    fn leaf(&self, page: u64) -> Option<&AtomicU32> {
        let (top, [upper, high, low, leaf]) = places(page);
        let table = self.top.get(top)?.get()?[upper].get()?[high].get()?;
        Some(&table[low].get()?[leaf])
    }

    fn leaf_or_new(&self, page: u64) -> &AtomicU32 {
        let (top, [upper, high, low, leaf]) = places(page);
        let table = self.top[top % TOP].get_or_init(boxes);
        let table = table[upper].get_or_init(boxes);
        let table = table[high].get_or_init(boxes);
        &table[low].get_or_init(zeroes)[leaf]
    }

    #[inline]
    fn granules(&self, number: u32) -> &[AtomicU32] {
        let mixed = self.mixed.get(number & !MIXED);
        mixed.granules.get_or_init(zeroes)
    }

    /// The array whose granule `addr` is in, and whether its whole page is.
    #[inline]
    pub(super) fn find(&self, addr: Addr) -> Option<(ArrayId, bool)> {
        match self.look(addr) {
            Found::PlainPage | Found::Plain => None,
            Found::Array(id, whole) => Some((id, whole)),
        }
    }

    /// What is at `addr`.
    #[inline]
    pub(super) fn look(&self, addr: Addr) -> Found {
        self.run(addr, addr.0).0
    }

    /// What is at `addr`, and at these addresses around it on its page; what lies behind `last` need not be looked at.
    #[inline]
    pub(super) fn run(&self, addr: Addr, last: u64) -> (Found, Range<u64>) {
        let page = addr.0 & !(PAGE - 1);
        let Some(leaf) = self.leaf(addr.0 / PAGE) else {
            return (Found::PlainPage, page..page.saturating_add(PAGE));
        };
        let mut entry = leaf.load(Acquire);
        loop {
            if entry & (MIXED | FEW) == 0 {
                let found = ArrayId::new(entry);
                let found = found.map_or(Found::PlainPage, |id| Found::Array(id, true));
                return (found, page..page.saturating_add(PAGE));
            }
            let granule = (addr.0 % PAGE / GRANULE) as usize;
            let run = if entry & FEW != 0 {
                self.few_runs(entry & !FEW).find(granule as u8)
            } else {
                let last = (last.clamp(addr.0, addr.0 | (PAGE - 1)) % PAGE / GRANULE) as usize;
                let granules = &self.granules(entry)[granule..=last];
                let owner = granules[0].load(Acquire);
                let same = |granule: &&AtomicU32| granule.load(Acquire) == owner;
                let more = granules[1..].iter().take_while(same).count();
                Some((owner, granule..granule + 1 + more))
            };
            // The table may have been given up in between, and serve another page now.
            let again = leaf.load(Acquire);
            if let Some((owner, run)) = run
                && again == entry
            {
                let found = ArrayId::new(owner);
                let found = found.map_or(Found::Plain, |id| Found::Array(id, false));
                let [start, end] = [run.start, run.end].map(|at| page + at as u64 * GRANULE);
                return (found, start..end);
            }
            entry = again;
        }
    }

    /// Is there no array on the page of `addr`?
    #[inline]
    pub(super) fn is_plain(&self, addr: Addr) -> bool {
        self.leaf(addr.0 / PAGE)
            .is_none_or(|leaf| leaf.load(Acquire) == 0)
    }

    /// Gives all granules of `bytes` to `owner`. `lost` hears how many granules each former owner loses.
    pub(super) fn set(
        &self,
        bytes: &Range<u64>,
        owner: ArrayId,
        lost: &mut dyn FnMut(ArrayId, u64),
    ) {
        for (page, within) in pages_of(bytes) {
            let leaf = self.leaf_or_new(page);
            let _lock = self.locks[page as usize % LOCKS].lock();
            self.change(leaf, within, |_| owner.get(), lost);
        }
    }

    /// Takes from `owner` whatever granules of `bytes` it still has, and says how many.
    pub(super) fn withdraw(&self, bytes: &Range<u64>, owner: ArrayId) -> u64 {
        let mut taken = 0;
        let mut pages = pages_of(bytes);
        while let Some((page, within)) = pages.next() {
            let Some(leaf) = self.leaf(page) else {
                pages =
                    pages_of(&(bytes.start.max(self.skip(page).saturating_mul(PAGE))..bytes.end));
                continue;
            };
            if leaf.load(Acquire) == 0 {
                continue;
            }
            let _lock = self.locks[page as usize % LOCKS].lock();
            let entry = leaf.load(Acquire);
            if entry & (MIXED | FEW) == 0 && entry != owner.get() {
                continue;
            }
            let keep = |old| if old == owner.get() { 0 } else { old };
            self.change(leaf, within, keep, &mut |_, granules| taken += granules);
        }
        taken
    }

    /// Gives each granule `within` a page the owner that `new` says for its old one. The caller has the page's lock.
    fn change(
        &self,
        leaf: &AtomicU32,
        within: Range<u64>,
        new: impl Fn(u32) -> u32,
        lost: &mut dyn FnMut(ArrayId, u64),
    ) {
        let entry = leaf.load(Acquire);
        if entry & MIXED != 0 {
            return self.change_mixed(leaf, entry & !MIXED, within, new, lost);
        }
        if entry & FEW == 0 && within.end - within.start == GRANULES as u64 {
            leaf.store(new(entry), Release);
            if let Some(old) = ArrayId::new(entry) {
                lost(old, GRANULES as u64);
            }
            return;
        }
        let before = if entry & FEW != 0 {
            self.few_runs(entry & !FEW).read()
        } else {
            List::uniform(entry)
        };
        let list = before.change(within, new, &mut |old, granules| {
            if let Some(old) = ArrayId::new(old) {
                lost(old, granules);
            }
        });
        let uniform = list.as_uniform();
        if uniform.is_none() && list.fits() {
            if entry & FEW != 0 {
                return self.few_runs(entry & !FEW).write(&list);
            }
            return leaf.store(self.few(&list), Release);
        }
        match uniform {
            Some(owner) => leaf.store(owner, Release),
            None => self.mix(leaf, &list),
        }
        if entry & FEW != 0 {
            self.unused_few.lock().free.push_back(entry & !FEW);
        }
    }

    /// The same for mixed page `number`.
    fn change_mixed(
        &self,
        leaf: &AtomicU32,
        number: u32,
        within: Range<u64>,
        new: impl Fn(u32) -> u32,
        lost: &mut dyn FnMut(ArrayId, u64),
    ) {
        let table = self.granules(number);
        let mut gained = 0u32;
        for granule in &table[within.start as usize..within.end as usize] {
            let old = granule.load(Relaxed);
            let now = new(old);
            if now == old {
                continue;
            }
            granule.store(now, Release);
            gained = gained.wrapping_add(u32::from(old == 0));
            gained = gained.wrapping_sub(u32::from(now == 0));
            if let Some(old) = ArrayId::new(old) {
                lost(old, 1);
            }
        }
        let owned = &self.mixed.get(number).owned;
        let now = owned.load(Relaxed).wrapping_add(gained);
        owned.store(now, Relaxed);
        // Few enough: no need for a table.
        let list = match now {
            0 => Some(List::uniform(0)),
            _ => List::of(table),
        };
        if let Some(list) = list {
            let entry = list.as_uniform().unwrap_or_else(|| self.few(&list));
            leaf.store(entry, Release);
            self.unused.lock().free.push_back(number);
        }
    }

    #[inline]
    fn few_runs(&self, number: u32) -> &Runs {
        self.few.get_in(number, runs::blank)
    }

    /// The entry of a page with these few runs.
    fn few(&self, list: &List) -> u32 {
        let number = self.unused_few.lock().take();
        self.few_runs(number).write(list);
        FEW | number
    }

    /// Makes the page of `leaf` a mixed one.
    fn mix(&self, leaf: &AtomicU32, list: &List) {
        let number = self.unused.lock().take();
        let granules = self.granules(number);
        let mut owned = 0;
        list.each(|run, owner| {
            owned += if owner == 0 { 0 } else { run.len() as u32 };
            for granule in &granules[run] {
                granule.store(owner, Relaxed);
            }
        });
        self.mixed.get(number).owned.store(owned, Relaxed);
        leaf.store(MIXED | number, Release);
    }

    /// Bytes of its tables.
    pub(super) fn bytes(&self) -> u64 {
        let tables = self.top.iter().filter_map(OnceBox::get);
        let tables = tables.flat_map(|upper| upper.iter().filter_map(OnceBox::get));
        let tables = tables.flat_map(|high| high.iter().filter_map(OnceBox::get));
        let leaves = tables.flat_map(|low| low.iter().filter_map(OnceBox::get));
        let leaves = leaves.count();
        let mixed = self.unused.lock().used as usize;
        let few = self.unused_few.lock().used as usize;
        let tables = size_of::<AtomicU32>() * (leaves * FAN + mixed * GRANULES);
        (tables + few * size_of::<Runs>()) as u64
    }

    /// The arrays that own a granule of `bytes`, each at least once.
    pub(super) fn owners(&self, bytes: &Range<u64>, f: &mut dyn FnMut(ArrayId)) {
        let granules = granules_of(bytes);
        let per_page = GRANULES as u64;
        let mut at = granules.start;
        let mut last = None;
        while at < granules.end {
            at = at.max(self.skip(at / per_page).saturating_mul(per_page));
            if at >= granules.end {
                break;
            }
            let (found, run) = self.run(Addr(at * GRANULE), bytes.end - 1);
            if let Found::Array(id, _) = found
                && last != Some(id)
            {
                f(id);
                last = Some(id);
            }
            at = run.end / GRANULE;
        }
    }
}

/// Numbers of tables.
#[derive(Debug, Default)]
struct Numbers {
    /// How many there are.
    used: u32,
    /// Those to be used again, the oldest first.
    free: VecDeque<u32>,
}

impl Numbers {
    /// A number is used again when so many others have been given up since: who looks something up must not find that a table is its page's, look into it
    /// while it is another's, and then find that it is its page's again.
    const REST: usize = 32;

    fn take(&mut self) -> u32 {
        if self.free.len() > Self::REST
            && let Some(number) = self.free.pop_front()
        {
            return number;
        }
        self.used += 1;
        self.used - 1
    }
}

/// The pages that `bytes` touch, each with the granules of it that they do.
fn pages_of(bytes: &Range<u64>) -> impl Iterator<Item = (u64, Range<u64>)> + use<> {
    let granules = granules_of(bytes);
    let per_page = GRANULES as u64;
    let pages = granules.start / per_page..granules.end.div_ceil(per_page);
    pages.map(move |page| {
        let first = page * per_page;
        let from = granules.start.max(first) - first;
        let to = granules.end.min(first + per_page) - first;
        (page, from..to)
    })
}

/// The numbers of the granules that `bytes` touches.
pub(super) fn granules_of(bytes: &Range<u64>) -> Range<u64> {
    bytes.start / GRANULE..bytes.end.div_ceil(GRANULE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    /// Against a map from granules to owners.
    #[test]
    fn agrees_with_a_map() {
        let mut numbers = Random::new(1, 0);
        let mut random = |below: u64| numbers.up_to(below - 1);
        let directory = Directory::new();
        let mut owners: BTreeMap<u64, u32> = BTreeMap::new();
        // Around a boundary of leaves.
        let base = (1 << 24) - 4 * PAGE;
        for _ in 0..20_000 {
            let from = base + random(8 * 512) * 8;
            let len = match random(3) {
                0 => random(200),
                1 => random(3) * PAGE,
                _ => random(3 * PAGE),
            };
            let bytes = from..from + 1 + len;
            let id = 1 + random(6) as u32;
            let Some(owner) = ArrayId::new(id) else {
                unreachable!("from 1 on");
            };
            let mut lost = BTreeMap::new();
            let mut expected = BTreeMap::new();
            if random(2) == 0 {
                directory.set(&bytes, owner, &mut |id, n| {
                    *lost.entry(id.get()).or_default() += n;
                });
                for granule in granules_of(&bytes) {
                    if let Some(old) = owners.insert(granule, id) {
                        *expected.entry(old).or_default() += 1u64;
                    }
                }
                // Whether an owner loses to itself does not matter, as long as the count is right.
                lost.remove(&id);
                expected.remove(&id);
            } else {
                let taken = directory.withdraw(&bytes, owner);
                lost.extend((taken > 0).then_some((id, taken)));
                for granule in granules_of(&bytes) {
                    if owners.get(&granule) == Some(&id) {
                        owners.remove(&granule);
                        *expected.entry(id).or_default() += 1;
                    }
                }
            }
            assert_eq!(lost, expected);
            for _ in 0..20 {
                let addr = base + random(12 * PAGE);
                let found = directory.find(Addr(addr)).map(|(id, _)| id.get());
                assert_eq!(found, owners.get(&(addr / GRANULE)).copied());
                let page = addr / PAGE * GRANULES as u64;
                let plain = owners.range(page..page + GRANULES as u64).next().is_none();
                assert_eq!(directory.is_plain(Addr(addr)), plain);
            }
            let mut all = Vec::new();
            directory.owners(&bytes, &mut |id| all.push(id.get()));
            let mut expected: Vec<u32> = granules_of(&bytes)
                .filter_map(|granule| owners.get(&granule).copied())
                .collect();
            for list in [&mut all, &mut expected] {
                list.sort_unstable();
                list.dedup();
            }
            assert_eq!(all, expected);
        }
        for unused in [&directory.unused, &directory.unused_few] {
            let used = unused.lock().used as usize;
            let most = 13 + Numbers::REST;
            assert!(used <= most, "{used} tables for 12 pages");
        }
    }
}
