//! The locations of all memory.
//!
//! A page of the program's memory has either one location that stands for each of its words (*whole*), or a location for
//! each (*split*). It is whole as long as all accesses to it cover all of it: a large block that is set, copied or freed without
//! ever being touched in detail costs 16 bytes a page, and one check. The first other access splits the page, for good.
//!
//! **Who may touch what.** A page is split under the lock of its whole location, which from then on holds nothing but the
//! mark SPLIT. So whoever finds no split page goes to the whole location, and either finds it whole or is told to look
//! again. Atomic accesses are never recorded in a whole location.

use event::Addr;

use super::depot::Depot;
use super::location::Location;
use super::pages::{ADDRESSES, Page, Pages, word_of};

/// A location for each aligned word of eight bytes, and one for each page that is whole.
#[derive(Debug, Default)]
pub struct Memory {
    split: Pages<Location>,
    /// By number of the page, as if that were a word.
    whole: Pages<Location>,
    depot: Depot,
}

/// Where the location of the whole page of `addr` is found.
const fn number(addr: Addr) -> Addr {
    Addr(addr.0 >> 12 << 3)
}

impl Memory {
    /// Untouched.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Where the states of locations are that do not fit into them.
    pub fn depot(&self) -> &Depot {
        &self.depot
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
        self.whole(addr)?.split(&self.depot, |copy| {
            self.split.insert(addr, copy);
        });
        self.split.page(addr)
    }

    /// The location of the whole page of `addr`; none beyond the address space.
    pub fn whole(&self, addr: Addr) -> Option<&Location> {
        if addr.0 >= ADDRESSES {
            return None;
        }
        let number = number(addr);
        Some(&self.whole.touch(number)?[word_of(number)])
    }

    /// The location of the whole page of `addr`, if something happened to the page.
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

    /// Bytes of locations of words, and of whole pages. Neither is ever given back.
    pub fn bytes(&self) -> (u64, u64) {
        (self.split.bytes(), self.whole.bytes())
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
