//! Pages that a few blocks share: at most [`RUNS`] runs of granules with one owner each, in 48 bytes.
//!
//! Most shared pages have the end of one array and the beginning of the next, or a few small arrays with something between them. Such a page is
//! replaced as a whole, under its lock; who looks something up without the lock reads a count before and after, which is odd while the page changes.

use super::directory::GRANULES;
use crate::lock::{
    AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence,
};
use alloc::vec::Vec;
use core::ops::Range;

/// Runs that a page has at most: all their beginnings but the first are one number of eight bytes.
const RUNS: usize = 9;
/// A page that had more gets runs when it has so few: not back and forth.
const AGAIN: usize = 6;
/// The runs of a [`List`] whose page has some at most, and which was cut at two places since.
const MOST: usize = RUNS + 2;

/// Neighbouring granules of a page that have one owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Run {
    /// The first granule after it.
    end: u16,
    owner: u32,
}

/// The runs of a page, in order; neighbours have different owners.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    len: usize,
    runs: [Run; MOST],
}

impl List {
    /// All granules have one owner.
    pub(super) fn uniform(owner: u32) -> List {
        let mut list = List::empty();
        list.push(GRANULES as u16, owner);
        list
    }

    /// The runs of a page with these owners, for who has its lock, if they are so few that they will fit for a while.
    pub(super) fn of(granules: &[AtomicU32]) -> Option<List> {
        let mut list = List::empty();
        let mut from = 0;
        while from < granules.len() {
            let owner = granules[from].load(Relaxed);
            let same = |granule: &&AtomicU32| granule.load(Relaxed) == owner;
            from += granules[from..].iter().take_while(same).count();
            if list.len == AGAIN {
                return None;
            }
            list.push(from as u16, owner);
        }
        Some(list)
    }

    fn empty() -> List {
        List {
            len: 0,
            runs: [Run::default(); MOST],
        }
    }

    fn push(&mut self, end: u16, owner: u32) {
        if let Some(last) = self.len.checked_sub(1)
            && self.runs[last].owner == owner
        {
            self.runs[last].end = end;
        } else {
            self.runs[self.len] = Run { end, owner };
            self.len += 1;
        }
    }

    /// The owner of all granules, if there is only one.
    pub(super) fn as_uniform(&self) -> Option<u32> {
        (self.len == 1).then_some(self.runs[0].owner)
    }

    /// Has a [`Runs`] room for it?
    pub(super) fn fits(&self) -> bool {
        self.len <= RUNS
    }

    /// Calls `f` with the granules of each run and their owner.
    pub(super) fn each(&self, mut f: impl FnMut(Range<usize>, u32)) {
        let mut from = 0;
        for run in &self.runs[..self.len] {
            let end = usize::from(run.end);
            f(from..end, run.owner);
            from = end;
        }
    }

    /// The same page after each granule of `within` got the owner that `new` says for its old one. It is a list that fits. `changed` hears of each
    /// old owner of how many granules that is news.
    pub(super) fn change(
        &self,
        within: Range<u64>,
        new: impl Fn(u32) -> u32,
        changed: &mut dyn FnMut(u32, u64),
    ) -> List {
        debug_assert!(self.fits());
        let within = within.start as usize..within.end as usize;
        let mut list = List::empty();
        self.each(|run, owner| {
            let inside = run.start.max(within.start)..run.end.min(within.end);
            if inside.is_empty() {
                return list.push(run.end as u16, owner);
            }
            if run.start < inside.start {
                list.push(inside.start as u16, owner);
            }
            let now = new(owner);
            if now != owner {
                changed(owner, inside.len() as u64);
            }
            list.push(inside.end as u16, now);
            if inside.end < run.end {
                list.push(run.end as u16, owner);
            }
        });
        list
    }
}

/// A page of a few runs.
#[derive(Default)]
#[cfg_attr(not(loom), derive(bytemuck::Zeroable))]
pub(super) struct Runs {
    /// Odd while the rest changes.
    count: AtomicU32,
    owners: [AtomicU32; RUNS],
    /// The first granule of each run but the first, a byte each, the lowest first; 0 after the last.
    starts: AtomicU64,
}

const _: () = assert!(GRANULES - 1 <= u8::MAX as usize && RUNS - 1 <= size_of::<u64>());

/// So many pages. What is not used takes no memory.
#[cfg(not(loom))]
pub(super) fn blank(count: usize) -> Vec<Runs> {
    bytemuck::zeroed_vec(count)
}

#[cfg(loom)]
pub(super) fn blank(count: usize) -> Vec<Runs> {
    crate::grow::defaults(count)
}

impl Runs {
    /// The owner of a granule, and all those around it that have the same one; none if the page changes meanwhile.
    #[inline]
    pub(super) fn find(&self, granule: u8) -> Option<(u32, Range<usize>)> {
        let before = self.count.load(Acquire);
        let starts = self.starts.load(Relaxed);
        let run = begun(starts, granule);
        let owner = self.owners[run].load(Relaxed);
        fence(Acquire);
        // The first run's is 0.
        let start = (u128::from(starts) << u8::BITS >> (run as u32 * u8::BITS)) as u8;
        let granules = usize::from(start)..end_of(starts, run);
        (before & 1 == 0 && self.count.load(Relaxed) == before).then_some((owner, granules))
    }

    /// All of it, for who has the page's lock.
    pub(super) fn read(&self) -> List {
        let starts = self.starts.load(Relaxed);
        let mut list = List::empty();
        for (run, owner) in self.owners.iter().enumerate() {
            let end = end_of(starts, run);
            list.push(end as u16, owner.load(Relaxed));
            if end == GRANULES {
                break;
            }
        }
        list
    }

    /// Replaces all, for who has the page's lock. The list fits.
    pub(super) fn write(&self, list: &List) {
        debug_assert!(list.fits());
        let count = self.count.load(Relaxed);
        self.count.store(count.wrapping_add(1), Relaxed);
        fence(Release);
        let mut starts = 0;
        for (run, owner) in list.runs[..list.len].iter().zip(&self.owners).rev() {
            owner.store(run.owner, Relaxed);
            // The end of the page is 0.
            starts = starts << u8::BITS | u64::from(run.end as u8);
        }
        self.starts.store(starts, Relaxed);
        self.count.store(count.wrapping_add(2), Release);
    }
}

/// How many of the `starts` are granules from 1 to `granule`.
#[inline]
fn begun(starts: u64, granule: u8) -> usize {
    const LOW: u64 = u64::MAX / 0xFF;
    const HIGH: u64 = LOW << 7;
    // For each byte, in its highest bit: is it at most `granule`? Then those that are 0, which are the highest bytes, do not count.
    let most = LOW * u64::from(granule);
    let low_bits = (most | HIGH) - (starts & !HIGH);
    let reached = (most & !starts | !(most ^ starts) & low_bits) & HIGH;
    let count = (reached >> 7).wrapping_mul(LOW) >> 56;
    let begun = count as usize - starts.leading_zeros() as usize / 8;
    debug_assert_eq!(begun, {
        let all = starts.to_le_bytes();
        all.iter()
            .filter(|start| (1..=granule).contains(start))
            .count()
    });
    begun
}

/// The first granule after a run.
#[inline]
fn end_of(starts: u64, run: usize) -> usize {
    let next = starts.checked_shr(run as u32 * u8::BITS).unwrap_or(0) as u8;
    if next == 0 {
        GRANULES
    } else {
        usize::from(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Every page of up to nine runs is what was written, granule by granule, and lists are what changes make of them.
    #[test]
    fn reads_what_was_written() {
        let runs = Runs::default();
        let mut state = 7u32;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let mut longest = 0;
        for round in 0..4000u32 {
            let mut owners = [0; GRANULES];
            let mut list = List::uniform(0);
            for _ in 0..round % 9 {
                let [a, b] = [random(256), random(256)].map(|at| at as usize);
                let within = a.min(b)..a.max(b) + 1;
                let owner = random(3);
                let mut expected = [0u64; 3];
                let mut changed = [0; 3];
                for old in &mut owners[within.clone()] {
                    expected[*old as usize] += u64::from(*old != owner);
                    *old = owner;
                }
                let new = |_| owner;
                let within = within.start as u64..within.end as u64;
                list = list.change(within, new, &mut |old, n| changed[old as usize] += n);
                assert_eq!(changed, expected);
                if !list.fits() {
                    break;
                }
            }
            let mut pieces = Vec::new();
            list.each(|granules, owner| pieces.extend(granules.map(|_| owner)));
            assert_eq!(pieces, owners);
            let count = owners.chunk_by(|a, b| a == b).count();
            let again = List::of(&owners.map(AtomicU32::new));
            assert_eq!(again.is_some(), count <= AGAIN);
            if let Some(again) = again {
                assert_eq!(again.runs, list.runs);
            }
            assert_eq!(list.fits(), count <= RUNS);
            assert_eq!(list.as_uniform().is_some(), count == 1);
            if !list.fits() {
                continue;
            }
            longest = longest.max(count);
            runs.write(&list);
            let mut pieces = Vec::new();
            runs.read()
                .each(|granules, owner| pieces.extend(granules.map(|_| owner)));
            assert_eq!(pieces, owners);
            for granule in 0..=255u8 {
                let (at, owner) = (usize::from(granule), owners[usize::from(granule)]);
                let more = owners[at..].iter().take_while(|&&next| next == owner);
                let less = owners[..at].iter().rev().take_while(|&&next| next == owner);
                let granules = at - less.count()..at + more.count();
                assert_eq!(runs.find(granule), Some((owner, granules)));
            }
        }
        assert_eq!(longest, RUNS);
    }
}
