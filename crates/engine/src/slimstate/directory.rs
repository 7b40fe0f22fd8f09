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
//! Who may touch: `find` any thread at any time; `set` and `withdraw` only who allocates the block,
//! which nobody else may do for the same bytes at the same time. Pages that two blocks share are
//! changed granule by granule; the step from a whole page to a mixed one is under `making`.

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
struct Mixed {
    granules: OnceBox<Vec<AtomicU32>>,
}

impl Default for Mixed {
    fn default() -> Self {
        Mixed {
            granules: OnceBox::new(),
        }
    }
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
    /// Held to turn a page into a mixed one; the number of mixed pages so far, and those to be used again.
    making: Lock<(u32, Vec<u32>)>,
}

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
            making: Lock::new((0, Vec::new())),
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
        let value = owner.get();
        let granules = granules_of(bytes);
        let per_page = GRANULES as u64;
        let mut at = granules.start;
        while at < granules.end {
            let page = at / per_page;
            let to = granules.end.min((page + 1) * per_page);
            let leaf = self.leaf_or_new(page);
            if to - at == per_page {
                self.set_page(leaf, value, lost);
            } else {
                let mixed = self.mix(leaf);
                for granule in at % per_page..(to - 1) % per_page + 1 {
                    let old = self.granules(mixed)[granule as usize].swap(value, Release);
                    if let Some(old) = ArrayId::new(old) {
                        lost(old, 1);
                    }
                }
            }
            at = to;
        }
    }

    fn set_page(&self, leaf: &AtomicU32, value: u32, lost: &mut dyn FnMut(ArrayId, u64)) {
        let old = leaf.swap(value, Release);
        if old & MIXED == 0 {
            if let Some(old) = ArrayId::new(old) {
                lost(old, GRANULES as u64);
            }
            return;
        }
        for granule in self.granules(old) {
            if let Some(old) = ArrayId::new(granule.swap(0, Relaxed)) {
                lost(old, 1);
            }
        }
        self.making.lock().1.push(old & !MIXED);
    }

    /// Makes the page of `leaf` a mixed one, if it is not yet, and says which.
    fn mix(&self, leaf: &AtomicU32) -> u32 {
        let entry = leaf.load(Acquire);
        if entry & MIXED != 0 {
            return entry;
        }
        let mut making = self.making.lock();
        let entry = leaf.load(Acquire);
        if entry & MIXED != 0 {
            return entry;
        }
        let number = making.1.pop().unwrap_or_else(|| {
            making.0 += 1;
            making.0 - 1
        });
        for granule in self.granules(number) {
            granule.store(entry, Relaxed);
        }
        leaf.store(MIXED | number, Release);
        MIXED | number
    }

    /// Takes from `owner` whatever granules of `bytes` it still has, and says how many.
    pub(super) fn withdraw(&self, bytes: &Range<u64>, owner: ArrayId) -> u64 {
        let granules = granules_of(bytes);
        let per_page = GRANULES as u64;
        let mut taken = 0;
        let mut at = granules.start;
        while at < granules.end {
            at = at.max(self.skip(at / per_page).saturating_mul(per_page));
            if at >= granules.end {
                break;
            }
            let page = at / per_page;
            let to = granules.end.min((page + 1) * per_page);
            if let Some(leaf) = self.leaf(page) {
                let entry = leaf.load(Acquire);
                if entry & MIXED != 0 {
                    for granule in at % per_page..(to - 1) % per_page + 1 {
                        let granule = &self.granules(entry)[granule as usize];
                        let own = granule.compare_exchange(owner.get(), 0, Release, Relaxed);
                        taken += u64::from(own.is_ok());
                    }
                } else if leaf
                    .compare_exchange(owner.get(), 0, Release, Relaxed)
                    .is_ok()
                {
                    taken += per_page;
                }
            }
            at = to;
        }
        taken
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

/// The numbers of the granules that `bytes` touches.
pub(super) fn granules_of(bytes: &Range<u64>) -> Range<u64> {
    bytes.start / GRANULE..bytes.end.div_ceil(GRANULE)
}
