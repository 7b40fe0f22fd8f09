//! Pages that a few blocks share: at most [`RUNS`] runs of granules with one owner each, in 44 bytes.
//!
//! Most shared pages have the end of one array and the beginning of the next. Such a page is replaced as a whole, under its lock; who
//! looks something up without the lock reads a count before and after, which is odd while the page changes.

use super::directory::GRANULES;
use crate::lock::{
    AtomicU8, AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence,
};

/// Runs that a page has at most.
const RUNS: usize = 7;

/// The owners of a page's granules, one after the other.
pub(super) type Owners = [u32; GRANULES];

/// A page of a few runs.
#[derive(Default)]
pub(super) struct Runs {
    /// Odd while the rest changes.
    count: AtomicU32,
    owners: [AtomicU32; RUNS],
    /// The first granule of each run but the first; 0 after the last.
    starts: [AtomicU8; RUNS - 1],
}

const _: () = assert!(GRANULES - 1 <= u8::MAX as usize);

impl Runs {
    /// The owner of a granule, and the first granule after it that has another one; none if the page changes meanwhile.
    #[inline]
    pub(super) fn find(&self, granule: u8) -> Option<(u32, usize)> {
        let before = self.count.load(Acquire);
        let begun = |start: &&AtomicU8| (1..=granule).contains(&start.load(Relaxed));
        let run = self.starts.iter().take_while(begun).count();
        let owner = self.owners[run].load(Relaxed);
        let next = self.starts.get(run).map_or(0, |next| next.load(Relaxed));
        fence(Acquire);
        let end = if next == 0 {
            GRANULES
        } else {
            usize::from(next)
        };
        (before & 1 == 0 && self.count.load(Relaxed) == before).then_some((owner, end))
    }

    /// All owners, for who has the page's lock.
    pub(super) fn read(&self, to: &mut Owners) {
        let mut from = 0;
        for (run, owner) in self.owners.iter().enumerate() {
            let next = self.starts.get(run).map_or(0, |start| start.load(Relaxed));
            let end = if next == 0 {
                GRANULES
            } else {
                usize::from(next)
            };
            to[from..end].fill(owner.load(Relaxed));
            if next == 0 {
                return;
            }
            from = end;
        }
    }

    /// Are the runs few enough?
    pub(super) fn fit(owners: &Owners) -> bool {
        owners
            .windows(2)
            .filter(|pair| pair[0] != pair[1])
            .nth(RUNS - 1)
            .is_none()
    }

    /// Replaces all, for who has the page's lock. The runs fit.
    pub(super) fn write(&self, owners: &Owners) {
        debug_assert!(Runs::fit(owners));
        let count = self.count.load(Relaxed);
        self.count.store(count.wrapping_add(1), Relaxed);
        fence(Release);
        let mut granule = 0;
        for (run, part) in owners.chunk_by(|a, b| a == b).enumerate() {
            self.owners[run].store(part[0], Relaxed);
            granule += part.len();
            if let Some(start) = self.starts.get(run) {
                // The end of the page is 0.
                start.store((granule % GRANULES) as u8, Relaxed);
            }
        }
        self.count.store(count.wrapping_add(2), Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every page of up to seven runs is what was written, granule by granule.
    #[test]
    fn reads_what_was_written() {
        let runs = Runs::default();
        let mut state = 7u32;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for round in 0..2000u32 {
            let mut owners = [0; GRANULES];
            for _ in 0..round % 5 {
                let [a, b] = [random(256) as usize, random(256) as usize];
                owners[a.min(b)..=a.max(b)].fill(random(3));
            }
            if !Runs::fit(&owners) {
                assert!(owners.chunk_by(|a, b| a == b).count() > RUNS);
                continue;
            }
            runs.write(&owners);
            let mut all = [9; GRANULES];
            runs.read(&mut all);
            assert_eq!(all, owners);
            for granule in 0..=255u8 {
                let (at, owner) = (usize::from(granule), owners[usize::from(granule)]);
                let more = owners[at..].iter().take_while(|&&next| next == owner);
                assert_eq!(runs.find(granule), Some((owner, at + more.count())));
            }
        }
    }
}
