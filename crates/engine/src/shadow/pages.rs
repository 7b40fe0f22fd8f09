//! From an address to its shadow.
//!
//! ```text
//!  46        36 35          24 23          12 11      3 2   0
//! ┌────────────┬──────────────┬──────────────┬─────────┬─────┐
//! │ root (11)  │ middle (12)  │ low (12)     │ word (9)│ byte│   address
//! └─────┬──────┴──────┬───────┴──────┬───────┴────┬────┴─────┘
//!       ▼             ▼              ▼            ▼
//!   in `Pages`   32 KiB for 64 GiB  32 KiB for 16 MiB  page: 512 locations for 4 KiB
//! ```
//!
//! Three dependent loads to the location. A level is allocated when something below it is first touched, by whoever
//! wins a compare-exchange; nothing is reserved up front, so an address-space limit is no problem, and
//! nothing is ever moved or freed, so references stay valid and readers need no lock.

use alloc::boxed::Box;
use core::fmt;

use crate::boxed::boxed_with;
use crate::lock::OnceBox;
use event::Addr;

/// Bits of an address that the first level has. In the model, which looks at each entry, the tables are small, and there is 1 MiB
/// of memory.
const ROOT_BITS: u32 = if cfg!(loom) { 4 } else { 11 };
/// Entries of the first level.
pub const ROOT: usize = 1 << ROOT_BITS;
/// Entries of the others, as a power of two.
pub const FAN_SHIFT: u32 = if cfg!(loom) { 2 } else { 12 };
const FAN: usize = 1 << FAN_SHIFT;
/// Words in a page.
pub const PAGE_WORDS: usize = 512;
/// Bytes in a page.
pub const PAGE_BYTES: u64 = 4096;
/// One past the last address that has a shadow.
pub const ADDRESSES: u64 = 1 << (ROOT_BITS + 2 * FAN_SHIFT + 12);

/// What shadows are made of.
pub trait Blank: Default {
    /// A page of defaults. If these are zeroes, the allocator may have them already: then a page of which little is touched
    /// takes little memory.
    fn blank_page() -> Box<Page<Self>> {
        boxed()
    }
}

/// The shadow of a page of memory.
pub type Page<T> = [T; PAGE_WORDS];
type Low<T> = [OnceBox<Page<T>>; FAN];
type Middle<T> = [OnceBox<Low<T>>; FAN];

// As the stubs have it.
#[cfg(not(loom))]
const _: () = assert!(size_of::<OnceBox<Page<u64>>>() == size_of::<*const u64>());

/// A `T` for each aligned word of 8 bytes, `T::default()` until somebody changes it through `&T`.
pub struct Pages<T> {
    root: Box<[OnceBox<Middle<T>>; ROOT]>,
}

impl<T: Blank> Pages<T> {
    /// No page is touched.
    pub fn new() -> Pages<T> {
        Pages { root: boxed() }
    }

    /// The page of `addr`, if it was ever touched.
    #[inline]
    pub fn page(&self, addr: Addr) -> Option<&Page<T>> {
        let (root, middle, low) = split(addr);
        self.root.get(root)?.get()?[middle].get()?[low].get()
    }

    /// The first level, for stubs: each entry of a level is the address of the next, or null. It stays where it is.
    pub fn root(&self) -> *const () {
        self.root.as_ptr().cast()
    }

    /// The page of `addr`, touched; none beyond the address space.
    #[inline]
    pub fn touch(&self, addr: Addr) -> Option<&Page<T>> {
        let (root, middle, low) = split(addr);
        if let Some(page) = self
            .root
            .get(root)?
            .get()
            .and_then(|m| m[middle].get()?[low].get())
        {
            return Some(page);
        }
        self.create(addr)
    }

    #[cold]
    #[inline(never)]
    fn create(&self, addr: Addr) -> Option<&Page<T>> {
        let (root, middle, low) = split(addr);
        let entry = self.root.get(root)?;
        let low = &entry.get_or_init(boxed)[middle].get_or_init(boxed)[low];
        Some(low.get_or_init(T::blank_page))
    }

    /// If `addr` lies in a stretch of memory that has no level of its own yet: the end of the stretch.
    pub(super) fn absent_until(&self, addr: Addr) -> Option<u64> {
        let (root, middle, _) = split(addr);
        let after = |bits: u32| ((addr.0 >> bits) + 1) << bits;
        match self.root.get(root)?.get() {
            None => Some(after(12 + 2 * FAN_SHIFT)),
            Some(middles) => match middles[middle].get() {
                None => Some(after(12 + FAN_SHIFT)),
                Some(_) => None,
            },
        }
    }

    /// Calls `f` with each touched page of the memory from `addr` to `end`.
    pub(super) fn each_within<'a>(&'a self, addr: Addr, end: u64, mut f: impl FnMut(&'a Page<T>)) {
        let mut at = addr.0;
        while at < end {
            at = match self.absent_until(Addr(at)) {
                Some(next) => next,
                None => {
                    if let Some(page) = self.page(Addr(at)) {
                        f(page);
                    }
                    (at | (PAGE_BYTES - 1)) + 1
                }
            };
            if at >= ADDRESSES {
                break;
            }
        }
    }

    /// Puts a page of what `make` makes, word by word, where there is none yet; of defaults if there is nothing to make.
    pub(super) fn insert(&self, addr: Addr, make: Option<&mut dyn FnMut() -> T>) {
        let (root, middle, low) = split(addr);
        if let Some(entry) = self.root.get(root) {
            let low = &entry.get_or_init(boxed)[middle].get_or_init(boxed)[low];
            low.get_or_init(|| match make {
                Some(make) => boxed_with(make),
                None => T::blank_page(),
            });
        }
    }

    /// Bytes of all touched pages.
    pub(super) fn bytes(&self) -> u64 {
        let mut pages = 0;
        self.each(|_, _| pages += 1);
        pages * size_of::<Page<T>>() as u64
    }

    /// Calls `f` with each touched page and the address it stands for.
    pub fn each(&self, mut f: impl FnMut(Addr, &Page<T>)) {
        for (i, middles) in self.root.iter().enumerate() {
            for (j, lows) in middles.get().into_iter().flatten().enumerate() {
                for (k, page) in lows.get().into_iter().flatten().enumerate() {
                    if let Some(page) = page.get() {
                        f(Addr((((i * FAN + j) * FAN + k) as u64) * PAGE_BYTES), page);
                    }
                }
            }
        }
    }
}

impl<T: Blank> Default for Pages<T> {
    fn default() -> Pages<T> {
        Pages::new()
    }
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pages { .. }")
    }
}

fn boxed<T: Default, const N: usize>() -> Box<[T; N]> {
    boxed_with(T::default)
}

#[inline(always)]
const fn split(addr: Addr) -> (usize, usize, usize) {
    let page = addr.0 >> 12;
    (
        (page >> (2 * FAN_SHIFT)) as usize,
        (page >> FAN_SHIFT) as usize % FAN,
        page as usize % FAN,
    )
}

/// Which word of its page an address is in.
#[inline(always)]
pub const fn word_of(addr: Addr) -> usize {
    (addr.0 >> 3) as usize % PAGE_WORDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::sync::atomic::{AtomicU64, Ordering};

    impl Blank for AtomicU64 {}

    #[test]
    fn every_address_has_its_own_word() {
        let pages: Pages<AtomicU64> = Pages::new();
        let addresses: Vec<u64> = (0..47)
            .map(|bit| 1u64 << bit)
            .filter(|a| a % 8 == 0)
            .collect();
        for &addr in &addresses {
            assert!(
                pages
                    .page(Addr(addr))
                    .is_none_or(|p| p[word_of(Addr(addr))].load(Ordering::Relaxed) == 0)
            );
            pages.touch(Addr(addr)).unwrap()[word_of(Addr(addr))].store(addr, Ordering::Relaxed);
        }
        for &addr in &addresses {
            assert_eq!(
                pages.page(Addr(addr)).unwrap()[word_of(Addr(addr))].load(Ordering::Relaxed),
                addr
            );
        }
        let mut seen = Vec::new();
        pages.each(|base, page| {
            for (i, word) in page.iter().enumerate() {
                if word.load(Ordering::Relaxed) != 0 {
                    assert_eq!(base.0 + 8 * i as u64, word.load(Ordering::Relaxed));
                    seen.push(base.0 + 8 * i as u64);
                }
            }
        });
        assert_eq!(seen, addresses);
    }

    #[test]
    fn absent_stretches_end_where_levels_do() {
        let pages: Pages<AtomicU64> = Pages::new();
        assert_eq!(pages.absent_until(Addr(5)), Some(1 << 36));
        pages.touch(Addr(1 << 36));
        assert_eq!(pages.absent_until(Addr(5)), Some(1 << 36));
        assert_eq!(pages.absent_until(Addr((1 << 36) + 9)), None);
        assert_eq!(
            pages.absent_until(Addr((1 << 36) + (1 << 24) + 9)),
            Some((1 << 36) + (2 << 24))
        );
    }

    #[test]
    fn pages_are_found_in_a_stretch_of_memory() {
        let pages: Pages<AtomicU64> = Pages::new();
        let touched = [5, 6, 1 << 24, (1 << 35) - 1].map(|page| page * PAGE_BYTES);
        for addr in touched {
            pages.touch(Addr(addr)).unwrap()[0].store(addr, Ordering::Relaxed);
        }
        let within = |from, end| {
            let mut found = Vec::new();
            pages.each_within(Addr(from), end, |page| {
                found.push(page[0].load(Ordering::Relaxed));
            });
            found
        };
        let [a, b, c, d] = touched;
        assert_eq!(within(0, u64::MAX), [a, b, c, d]);
        assert_eq!(within(a, b), [a]);
        assert_eq!(within(b, c + PAGE_BYTES), [b, c]);
        assert_eq!(within(c + PAGE_BYTES, d), []);
    }

    #[test]
    fn there_is_nothing_beyond_the_end() {
        let pages: Pages<AtomicU64> = Pages::new();
        assert!(pages.touch(Addr(ADDRESSES)).is_none());
        assert!(pages.page(Addr(u64::MAX)).is_none());
        assert!(pages.touch(Addr(ADDRESSES - 1)).is_some());
    }
}
