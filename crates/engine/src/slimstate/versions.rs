//! When memory last changed hands: what threads remember of plain memory is held against it.
//!
//! A thread remembers where there is no array, so that most accesses need no look into the directory. A new array puts an end to that, but only
//! on its own pages: programs that allocate all the time have most of their plain memory elsewhere. So pages have a number each (pages far apart may share one), and all
//! memory has one, for who remembers more than a page.
//!
//! Who may touch: `changed` by who changed the directory, after the change; who looks something up reads the numbers before. If the memory
//! changed hands in between, the number remembered is an old one.
//!
//! The program's checks read these numbers too, and the count of disturbances that [`streams`](super::streams) are held against: one table has all that they
//! need.

use crate::lock::{AtomicU32, Ordering::AcqRel, Ordering::Acquire};
use alloc::boxed::Box;
use core::ops::Range;

const PAGE: u64 = 4096;
/// Numbers of pages. In the model, a few will do.
const NUMBERS: usize = if cfg!(loom) { 2 } else { 512 };
/// The first of them in the table: in another line of the cache than the disturbances.
const FIRST: usize = 16;

/// The numbers of all memory.
#[derive(Debug)]
pub struct Versions {
    /// The disturbances, then the pages' numbers.
    table: Box<[AtomicU32; FIRST + NUMBERS]>,
    all: AtomicU32,
}

/// The numbers that hold for one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Version {
    /// Of all memory.
    pub(super) all: u32,
    /// Of the page.
    pub(super) page: u32,
}

/// What is not used takes no memory.
#[cfg(not(loom))]
fn zeroes<const N: usize>() -> Box<[AtomicU32; N]> {
    match bytemuck::zeroed_slice_box(N).try_into() {
        Ok(table) => table,
        Err(_) => unreachable!("so many were made"),
    }
}

#[cfg(loom)]
fn zeroes<const N: usize>() -> Box<[AtomicU32; N]> {
    crate::boxed::boxed_with(|| AtomicU32::new(0))
}

impl Versions {
    /// From the table's beginning, with the disturbances, to the first page's number, in bytes.
    pub const PAGES: usize = FIRST * size_of::<AtomicU32>();
    /// `page & MASK` is the place of a page's number.
    pub const MASK: usize = NUMBERS - 1;

    pub(super) fn new() -> Self {
        Versions {
            table: zeroes(),
            all: AtomicU32::new(0),
        }
    }

    /// Where the program's checks find it; it stays there.
    pub fn table(&self) -> *const AtomicU32 {
        self.table.as_ptr()
    }

    /// Changes whenever an array that threads have footprints of gets a flag.
    #[inline(always)]
    pub fn disturbances(&self) -> &AtomicU32 {
        &self.table[0]
    }

    /// Changes whenever any memory changes hands.
    #[inline(always)]
    pub(super) fn all(&self) -> u32 {
        self.all.load(Acquire)
    }

    /// Changes whenever memory on the page of `addr` changes hands.
    #[inline(always)]
    pub(super) fn page(&self, addr: u64) -> u32 {
        self.number((addr / PAGE) as usize).load(Acquire)
    }

    #[inline(always)]
    fn number(&self, page: usize) -> &AtomicU32 {
        &self.table[FIRST + (page & Self::MASK)]
    }

    /// Both.
    #[inline]
    pub(super) fn at(&self, addr: u64) -> Version {
        Version {
            all: self.all(),
            page: self.page(addr),
        }
    }

    /// `bytes` changed hands.
    pub(super) fn changed(&self, bytes: &Range<u64>) {
        let first = bytes.start / PAGE;
        let pages = bytes.end.div_ceil(PAGE).saturating_sub(first);
        for page in 0..pages.min(NUMBERS as u64) {
            let number = self.number(first.wrapping_add(page) as usize);
            number.fetch_add(1, AcqRel);
        }
        self.all.fetch_add(1, AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every page of what changed has another number, and few others have.
    #[test]
    fn pages_that_changed_have_other_numbers() {
        let versions = Versions::new();
        for (from, to) in [
            (0, 1),
            (4095, 4097),
            (8192, 8192 + 3 * 4096),
            (1 << 40, 1 << 41),
        ] {
            let pages = (from / PAGE..)
                .take_while(|page| page * PAGE < to)
                .take(5000);
            let pages: alloc::vec::Vec<u64> = pages.map(|page| page * PAGE).collect();
            let beside = pages[0] + NUMBERS as u64 / 2 * PAGE;
            let before: alloc::vec::Vec<Version> =
                pages.iter().map(|&page| versions.at(page)).collect();
            let other = versions.at(beside);
            versions.changed(&(from..to));
            for (&page, old) in pages.iter().zip(before) {
                assert_ne!(versions.page(page + 17), old.page);
                assert_ne!(versions.all(), old.all);
            }
            let few = pages.len() < NUMBERS / 2;
            assert_eq!(versions.page(beside) == other.page, few);
        }
    }
}
