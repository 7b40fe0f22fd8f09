//! From an address to the array that it belongs to, in O(1), without a lock.
//!
//! ```text
//! address  [ 17 beyond | 11 top | 12 middle | 12 leaf | 12 within the page ]
//! leaf entry (4 KiB page):   0              no array
//!                            id             all of the page belongs to one array
//!                            MIXED | m      see mixed page m: 256 granules of 16 bytes, 0 or an id each
//! ```
//!
//! Blocks are kept apart by granules: of two blocks that share one, the second is not an array but
//! plain memory, tracked as in FastTrack. (`malloc` gives blocks that are 16 bytes apart.) An address in an
//! array's granule may lie just outside of the array; who asks must compare with its bounds.
//!
//! Who may touch: `find` any thread at any time, without a lock. `set` and `withdraw` change a page under its lock, one of
//! 64. A mixed page that has no array any more is a plain page again, and its table serves another page: so `find` looks at the page's entry
//! again after it has looked into the table.

use super::array::ArrayId;
use crate::grow::Grow;
use crate::lock::Lock;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use event::Addr;
use once_cell::race::OnceBox;

/// Bytes that belong to at most one array.
pub(super) const GRANULE: u64 = 16;
const PAGE: u64 = 4096;
const GRANULES: usize = (PAGE / GRANULE) as usize;
const TOP: usize = 1 << 11;
const FAN: usize = 1 << 12;
const MIXED: u32 = 1 << 31;
/// Bytes of the longest array.
const LONGEST: u64 = 1 << 36;
/// Addresses from here on are not looked up.
const END: u64 = crate::shadow::ADDRESSES;

type Leaf = Vec<AtomicU32>;
type Middle = Vec<OnceBox<Leaf>>;

/// The granules of a page that has several arrays, or one and plain memory.
#[derive(Default)]
struct Mixed {
    granules: OnceBox<Vec<AtomicU32>>,
    /// How many granules have an owner. Changed under the page's lock.
    owned: AtomicU32,
}

fn zeroes(len: usize) -> Vec<AtomicU32> {
    let mut all = Vec::new();
    all.resize_with(len, || AtomicU32::new(0));
    all
}

/// The map from addresses to arrays.
pub(super) struct Directory {
    top: Vec<OnceBox<Middle>>,
    mixed: Grow<Mixed>,
    /// The number of mixed pages so far, and those to be used again.
    unused: Lock<(u32, Vec<u32>)>,
    /// Of pages, by number.
    locks: [Lock<()>; LOCKS],
}

const LOCKS: usize = 64;

impl core::fmt::Debug for Directory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Directory { .. }")
    }
}

impl Directory {
    pub(super) fn new() -> Self {
        let mut top = Vec::new();
        top.resize_with(TOP, OnceBox::new);
        Directory {
            top,
            mixed: Grow::new(),
            unused: Lock::new((0, Vec::new())),
            locks: core::array::from_fn(|_| Lock::new(())),
        }
    }

    /// Can a block here be an array at all? Not if its pages alone would fill memory: whoever reserves 64 GiB does not
    /// use them as one array.
    pub(super) fn reaches(bytes: &Range<u64>) -> bool {
        bytes.end <= END && bytes.end - bytes.start <= LONGEST
    }

    /// The first page from `page` on that may have an array.
    fn skip(&self, mut page: u64) -> u64 {
        loop {
            let Some(top) = self.top.get((page >> 24) as usize) else {
                return u64::MAX / PAGE;
            };
            match top
                .get()
                .map(|middle| middle[(page >> 12) as usize % FAN].get())
            {
                None => page = ((page >> 24) + 1) << 24,
                Some(None) => page = ((page >> 12) + 1) << 12,
                Some(Some(_)) => return page,
            }
        }
    }

    fn leaf(&self, page: u64) -> Option<&AtomicU32> {
        let top = self.top.get((page >> 24) as usize)?;
        let leaf = top.get()?[(page >> 12) as usize % FAN].get()?;
        Some(&leaf[page as usize % FAN])
    }

    fn leaf_or_new(&self, page: u64) -> &AtomicU32 {
        let middle = self.top[(page >> 24) as usize % TOP].get_or_init(|| {
            let mut middle = Vec::new();
            middle.resize_with(FAN, OnceBox::new);
            Box::new(middle)
        });
        let leaf = middle[(page >> 12) as usize % FAN].get_or_init(|| Box::new(zeroes(FAN)));
        &leaf[page as usize % FAN]
    }

    fn granules(&self, number: u32) -> &[AtomicU32] {
        let mixed = self.mixed.get(number & !MIXED);
        mixed.granules.get_or_init(|| Box::new(zeroes(GRANULES)))
    }

    /// The array whose granule `addr` is in, and whether its whole page is.
    #[inline]
    pub(super) fn find(&self, addr: Addr) -> Option<(ArrayId, bool)> {
        let leaf = self.leaf(addr.0 / PAGE)?;
        let mut entry = leaf.load(Acquire);
        loop {
            if entry & MIXED == 0 {
                return ArrayId::new(entry).map(|id| (id, true));
            }
            let granule = (addr.0 % PAGE / GRANULE) as usize;
            let owner = self.granules(entry)[granule].load(Acquire);
            // The mixed page may have been given up in between, and serve another one now.
            let again = leaf.load(Acquire);
            if again == entry {
                return ArrayId::new(owner).map(|id| (id, false));
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
            if entry & MIXED == 0 && entry != owner.get() {
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
        let all = within.end - within.start == GRANULES as u64;
        if all && entry & MIXED == 0 {
            leaf.store(new(entry), Release);
            if let Some(old) = ArrayId::new(entry) {
                lost(old, GRANULES as u64);
            }
            return;
        }
        let number = if entry & MIXED != 0 {
            entry & !MIXED
        } else {
            self.mix(leaf, entry)
        };
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
        // All of one owner, or nobody's: no need for a table.
        let first = table[0].load(Relaxed);
        if now == 0 || all && table.iter().all(|granule| granule.load(Relaxed) == first) {
            leaf.store(if now == 0 { 0 } else { first }, Release);
            self.unused.lock().1.push(number);
        }
    }

    /// Makes the page of `leaf` a mixed one, and says which.
    fn mix(&self, leaf: &AtomicU32, entry: u32) -> u32 {
        let mut unused = self.unused.lock();
        let number = unused.1.pop().unwrap_or_else(|| {
            unused.0 += 1;
            unused.0 - 1
        });
        drop(unused);
        for granule in self.granules(number) {
            granule.store(entry, Relaxed);
        }
        let owned = if entry == 0 { 0 } else { GRANULES as u32 };
        self.mixed.get(number).owned.store(owned, Relaxed);
        leaf.store(MIXED | number, Release);
        number
    }

    /// Bytes of its tables.
    pub(super) fn bytes(&self) -> u64 {
        let leaves: usize = self
            .top
            .iter()
            .filter_map(|top| Some(top.get()?.iter().filter_map(OnceBox::get).count()))
            .sum();
        let mixed = self.unused.lock().0 as usize;
        (size_of::<AtomicU32>() * (leaves * FAN + mixed * GRANULES)) as u64
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
            let found = self.find(Addr(at * GRANULE));
            if let Some((id, _)) = found
                && last != Some(id)
            {
                f(id);
                last = Some(id);
            }
            let whole = match found {
                Some((_, whole)) => whole,
                None => self.is_plain(Addr(at * GRANULE)),
            };
            at = if whole {
                (at / per_page + 1) * per_page
            } else {
                at + 1
            };
        }
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
    use alloc::collections::BTreeMap;

    /// Against a map from granules to owners.
    #[test]
    fn agrees_with_a_map() {
        let mut state = 1u64;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
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
        let mixed = directory.unused.lock();
        assert!(mixed.0 <= 13, "{} tables for 12 pages", mixed.0);
    }
}
