//! What a thread has read here and there in its epoch, a bit for each element: for lists of reads in no order, such as `x[index[i]]`.
//!
//! # Contract
//!
//! As [`Repeats`](super::Repeats): a bit is set if the thread has read all of its element in the epoch of its area, that was recorded, and the memory has not become
//! fresh since; whoever sets it has begun to [watch](Renewals::watch) before the read was recorded. Such a read has nothing to add: what is ordered behind
//! the recorded one is in another epoch of the thread, and what is not ordered races with both.
//!
//! A location has sixteen bytes for eight; this has a bit. That is what counts for reads in no order: they are as fast as the cache.

use alloc::vec::Vec;

use event::Addr;

use super::cell::Epoch;
use super::renewals::{Renewals, Watch};

/// Elements of an area, one bit each.
const ELEMENTS_SHIFT: u32 = 9;
const WORDS: usize = 1 << (ELEMENTS_SHIFT - 6);

/// Areas that a thread begins with, and has at most.
const FEWEST: usize = 64;
const MOST: usize = 4096;

/// Neighbouring elements of one size, with those that were read.
#[derive(Clone, Copy, Debug, Default)]
struct Area {
    /// Which, and in which epoch: see [`Element`]. Zero is that of none.
    key: u64,
    watch: Watch,
    read: [u64; WORDS],
}

/// An element by its address, which is a multiple of its size.
#[derive(Clone, Copy)]
struct Element {
    key: u64,
    area: usize,
    word: usize,
    bit: u64,
}

impl Element {
    /// Of 2 to the power of `SHIFT` bytes, at most 8. `generation` is that of the table.
    #[inline(always)]
    fn of<const SHIFT: u32>(at: u64, generation: u64) -> Option<Element> {
        let number = at >> SHIFT;
        let area = number >> ELEMENTS_SHIFT;
        (number << SHIFT == at).then_some(Element {
            // Areas of different sizes are different ones.
            key: (area << 2 | u64::from(SHIFT)) + generation,
            area: area as usize,
            word: (number >> 6) as usize % WORDS,
            bit: 1 << (number % 64),
        })
    }
}

/// Addresses have 48 bits, so areas of the smallest elements 39, and with their size 41. The rest of a key is the generation.
const GENERATION: u64 = 1 << 41;
const LAST_GENERATION: u64 = !(GENERATION - 1);

/// Reads of one thread, of one detector.
#[derive(Debug, Default)]
pub(crate) struct Scattered {
    /// As many as a power of two, or none. An area is in its place or not at all.
    areas: Vec<Area>,
    /// Whose areas these are: a generation is an epoch, as long as there is room for its number in a key.
    epoch: u64,
    generation: u64,
    /// How often one of this epoch made room for another.
    displaced: usize,
}

impl Scattered {
    /// How many of the first elements were read in this epoch.
    #[inline(always)]
    pub(super) fn count<const SHIFT: u32>(
        &self,
        renewals: &Renewals,
        list: &[usize],
        epoch: Epoch,
    ) -> usize {
        let areas = self.areas.as_slice();
        let generation = self.generation;
        if areas.is_empty() || self.epoch != epoch.bits() {
            return 0;
        }
        let counters = renewals.counters();
        let unread = |at: &usize| {
            let at = *at as u64;
            let Some(element) = Element::of::<SHIFT>(at, generation) else {
                return true;
            };
            let area = &areas[element.area & (areas.len() - 1)];
            area.key != element.key
                || area.read[element.word] & element.bit == 0
                || !counters.is_still(at, area.watch)
        };
        list.iter().position(unread).unwrap_or(list.len())
    }

    /// All of the element was read, and that is recorded in `epoch`; `watch` is from before.
    pub(super) fn keep<const SHIFT: u32>(&mut self, addr: Addr, epoch: Epoch, watch: Watch) {
        if self.epoch != epoch.bits() {
            self.epoch = epoch.bits();
            if self.generation == LAST_GENERATION {
                self.areas.fill(Area::default());
                self.generation = 0;
            }
            self.generation += GENERATION;
            self.displaced = 0;
        }
        if self.areas.is_empty() {
            self.areas.resize(FEWEST, Area::default());
        }
        if self.displaced > self.areas.len() && self.areas.len() < MOST {
            let more = 2 * self.areas.len();
            // What was known is in other places now.
            self.areas.clear();
            self.areas.resize(more, Area::default());
            self.displaced = 0;
        }
        let far = addr.0 >> 48 != 0;
        let Some(element) = Element::of::<SHIFT>(addr.0, self.generation).filter(|_| !far) else {
            return;
        };
        let last = self.areas.len() - 1;
        let area = &mut self.areas[element.area & last];
        if area.key != element.key || area.watch != watch {
            let is_other = area.key != element.key && area.key >= self.generation;
            self.displaced += usize::from(is_other);
            *area = Area {
                key: element.key,
                watch,
                read: [0; WORDS],
            };
        }
        area.read[element.word] |= element.bit;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::clock::{Slot, Time};

    fn epoch(time: u32) -> Epoch {
        Epoch::new(Slot(3), Time(time))
    }

    /// Only what was kept is known: by its address, its size, its epoch, and until it is fresh.
    #[test]
    fn what_was_read_is_known_until_it_is_fresh() {
        let renewals = Renewals::new();
        let mut this = Scattered::default();
        let knows = |this: &Scattered, at: usize, shift, epoch| {
            let list = &[at];
            1 == match shift {
                0 => this.count::<0>(&renewals, list, epoch),
                1 => this.count::<1>(&renewals, list, epoch),
                2 => this.count::<2>(&renewals, list, epoch),
                _ => this.count::<3>(&renewals, list, epoch),
            }
        };
        let keep = |this: &mut Scattered, at: u64, shift, epoch, watch| match shift {
            0 => this.keep::<0>(Addr(at), epoch, watch),
            1 => this.keep::<1>(Addr(at), epoch, watch),
            2 => this.keep::<2>(Addr(at), epoch, watch),
            _ => this.keep::<3>(Addr(at), epoch, watch),
        };
        for shift in 0..4 {
            let at = 0x70_0000 + (40 << shift);
            let watch = renewals.watch(at, at);
            assert!(!knows(&this, at as usize, shift, epoch(9)));
            keep(&mut this, at, shift, epoch(9), watch);
            keep(&mut this, at + 1, 3, epoch(9), watch);
            let known = (0x70_0000..0x70_2000).filter(|at| knows(&this, *at, shift, epoch(9)));
            assert!(known.eq([at as usize]), "{shift}");
            assert!(!knows(&this, at as usize, shift, epoch(8)));
            assert!(!knows(&this, at as usize, 3 - shift, epoch(9)));
            assert!(!knows(&this, at as usize + (512 << shift), shift, epoch(9)));
            let far = at as usize + ((FEWEST * 512) << shift);
            assert!(!knows(&this, far, shift, epoch(9)));
            renewals.renewed(Addr(0x70_0000), 1);
            assert!(!knows(&this, at as usize, shift, epoch(9)));
            // What was read before is forgotten, and not known again with the next.
            let watch = renewals.watch(at, at);
            keep(&mut this, at + (1 << shift), shift, epoch(9), watch);
            assert!(!knows(&this, at as usize, shift, epoch(9)));
            keep(&mut this, at, shift, epoch(10), watch);
            assert!(!knows(&this, at as usize + (1 << shift), shift, epoch(9)));
            renewals.renewed(Addr(0x70_0000), 1);
        }
    }

    /// There is room for what one epoch reads.
    #[test]
    fn there_is_more_room_if_it_is_needed() {
        let renewals = Renewals::new();
        let mut this = Scattered::default();
        let pages = 1000;
        let list: Vec<usize> = (0..pages)
            .map(|page| 0x100_0000 + page * 4096 + 8)
            .collect();
        for _ in 0..8 {
            for at in &list {
                let at = *at as u64;
                let watch = renewals.watch(at, at);
                this.keep::<3>(Addr(at), epoch(9), watch);
            }
        }
        assert_eq!(this.count::<3>(&renewals, &list, epoch(9)), pages);
        assert!(this.areas.len() <= MOST);
    }

    /// A generation is one epoch, however many there were.
    #[test]
    fn generations_are_told_apart() {
        let renewals = Renewals::new();
        let mut this = Scattered::default();
        let watch = renewals.watch(4096, 4096);
        // There are more generations than times.
        let epoch = |time: u32| epoch(1 + time % ((1 << 19) - 1));
        for time in 1..(LAST_GENERATION / GENERATION) as u32 + 10 {
            let knows =
                |this: &Scattered, at, time| this.count::<3>(&renewals, &[at], epoch(time)) == 1;
            this.keep::<3>(Addr(4096), epoch(time), watch);
            assert!(knows(&this, 4096, time) && !knows(&this, 4096, time + 1));
            if time.is_multiple_of(2) {
                this.keep::<3>(Addr(8192), epoch(time), watch);
            }
            assert_eq!(knows(&this, 8192, time), time.is_multiple_of(2), "{time}");
        }
    }

    /// Addresses that no process has do not fit into keys.
    #[test]
    fn far_away_is_not_kept() {
        let renewals = Renewals::new();
        let mut this = Scattered::default();
        for at in [1 << 48, u64::MAX - 7] {
            this.keep::<3>(Addr(at), epoch(9), renewals.watch(at, at));
            assert_eq!(this.count::<3>(&renewals, &[at as usize], epoch(9)), 0);
        }
    }
}
