//! Accesses to a few words side by side: an object with some fields, a name that is compared. Each word is checked as a single one is, but what they have in common is found once.

use event::{AccessKind, Addr};

use super::{PreciseThread, Raced, Shadow};
use crate::shadow::{Asked, Cell, Entries, Epoch, Like, Location, PAGE_BYTES, Page, Rule, word_of};
use crate::sync::HappensBefore;

/// Some bytes of up to eight words side by side, all of one page that is split.
#[derive(Clone, Copy, Debug)]
pub struct Few<'a> {
    page: &'a Page<Location>,
    /// The first word.
    word: u64,
    /// A bit for each byte from there on.
    bytes: u64,
}

impl<'a> Few<'a> {
    /// The `len` bytes at `addr`, if they are so few and all in its page, whose locations these are.
    #[inline(always)]
    pub fn new(page: &'a Page<Location>, addr: Addr, len: u64) -> Option<Few<'a>> {
        let within = addr.0 % 8;
        if len.wrapping_sub(1) >= 64 - within || addr.0 % PAGE_BYTES + len > PAGE_BYTES {
            return None;
        }
        Some(Few {
            page,
            word: addr.0 - within,
            bytes: (u64::MAX >> (64 - len)) << within,
        })
    }

    /// Leaves out words from the first on that are known to have the access: by themselves, or by what the thread knows of their states. Is anything left?
    #[inline(always)]
    pub fn skip_known(&mut self, settled: &Entries, epoch: Epoch, kind: AccessKind) -> bool {
        while self.bytes != 0 {
            let asked = Asked::new(kind, self.bytes as u8);
            if !self.location().is_known(settled, epoch, asked) {
                return true;
            }
            self.skip();
        }
        false
    }

    #[inline(always)]
    fn location(&self) -> &'a Location {
        &self.page[word_of(Addr(self.word))]
    }

    #[inline(always)]
    fn skip(&mut self) {
        self.word += 8;
        self.bytes >>= 8;
    }

    /// What of the first word is left: the first byte, and how many there are. None is nothing.
    #[inline]
    pub fn first(&self) -> (Addr, u32) {
        let mask = self.bytes as u8;
        let addr = self.word + u64::from(mask.trailing_zeros());
        (Addr(addr), mask.count_ones())
    }

    /// Leaves out the first word. Is anything left?
    #[inline]
    pub fn skip_first(&mut self) -> bool {
        self.skip();
        self.bytes != 0
    }
}

impl<R: Rule> Shadow<R> {
    /// A plain access to what is left of `few`, of which the first word is [not known](Few::skip_known), from the site that has this number in
    /// [`ThreadClock::numbering`](crate::clock::ThreadClock::numbering). Stops behind the first word that has races: its bytes. Who asks has to [`tell`](Shadow::tell) next, and then go on.
    #[inline(always)]
    #[must_use]
    pub fn access_few(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        few: &mut Few<'_>,
        kind: AccessKind,
        number: u32,
    ) -> Option<(Addr, u32)> {
        let epoch = thread.clock.stamp_again();
        while few.bytes != 0 {
            let word = *few;
            let cell = Cell::new(epoch, kind, word.bytes as u8, number);
            few.skip();
            let raced = self.access_cell(order, thread, word.location(), Addr(word.word), cell);
            if raced == Raced(true) {
                return Some(word.first());
            }
            if !few.skip_known(thread.memo.settled(), epoch, kind) {
                break;
            }
        }
        None
    }

    /// As [`Shadow::access_numbered`] for the access `cell` of the thread's epoch, which is [stamped](crate::clock::ThreadClock::stamp_again), by the quickest way.
    #[inline(never)]
    fn access_cell(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        location: &Location,
        word: Addr,
        cell: Cell,
    ) -> Raced {
        let (clock, slots) = (&mut thread.clock, order.slots());
        if let Some(rule) = location.touch_inline::<R>(clock, slots, cell, &mut { Like::NONE }) {
            thread.counts.add(rule);
            return Raced(false);
        }
        let what = (cell.kind(), word, cell.mask());
        self.access_hard(order, thread, location, what, cell.site())
    }

    /// As [`Shadow::access_numbered`], where [`Shadow::access_inline`] did nothing.
    #[inline(never)]
    pub fn access_hard(
        &self,
        order: &HappensBefore,
        thread: &mut PreciseThread,
        location: &Location,
        what: (AccessKind, Addr, u8),
        number: u32,
    ) -> Raced {
        let (kind, _, mask) = what;
        let done = self.access_in_block(order, thread, location, kind, mask, number);
        done.unwrap_or_else(|| self.access_numbered(order, thread, location, what, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::{Access, Detector, SyncOp};
    use crate::precise::FastTrack;
    use crate::random::Random;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use event::{Elements, Site, SyncId, Tid};

    const THREADS: u64 = 3;
    /// Words around the end of a page.
    const BASE: u64 = (6 << 40) + 4096 - 8 * 40;
    const BYTES: u64 = 8 * 80;

    /// A detector, its threads, and the bytes on which it found races.
    struct World {
        detector: FastTrack,
        threads: Vec<PreciseThread>,
        racy: BTreeSet<u64>,
    }

    impl World {
        fn new() -> World {
            let detector = FastTrack::default();
            let mut main = detector.root(Tid(0));
            for page in [BASE, BASE + BYTES] {
                detector.shadow().memory.split(Addr(page));
            }
            let threads = (1..=THREADS)
                .map(|tid| detector.fork(&mut main, Tid(tid as u32), &mut |_| {}))
                .collect();
            World {
                detector,
                threads,
                racy: BTreeSet::new(),
            }
        }

        /// `f` gets the detector, the thread, and a place for the races.
        fn act(
            &mut self,
            who: u64,
            mut f: impl FnMut(&FastTrack, &mut PreciseThread, crate::detector::Sink<'_>),
        ) {
            let racy = &mut self.racy;
            let mut sink = |race: &crate::Race| {
                racy.extend(race.addr.0..race.addr.0 + u64::from(race.size));
            };
            f(&self.detector, &mut self.threads[who as usize], &mut sink);
        }

        /// The access as one to a few words, or as a range if it is none, as the runtime makes it.
        fn access_few(
            &mut self,
            who: u64,
            (kind, addr, len): (AccessKind, u64, u64),
            site: Site,
        ) -> bool {
            let mut quick = false;
            self.act(who, |detector, thread, races| {
                let (shadow, order) = (detector.shadow(), detector.order());
                let page = shadow.memory.page(Addr(addr)).expect("it is split");
                let Some(mut few) = Few::new(page, Addr(addr), len) else {
                    let elements = Elements {
                        base: Addr(addr),
                        elem: 1,
                        lo: 0,
                        hi: len,
                        stride: 1,
                    };
                    return detector.range(thread, kind, elements, site, races);
                };
                quick = true;
                let (_, number) = thread.clock.stamp(order.slots(), site);
                let epoch = thread.clock.epoch();
                while few.skip_known(thread.memo.settled(), epoch, kind) {
                    let raced = shadow.access_few(order, thread, &mut few, kind, number);
                    let Some((addr, size)) = raced else { break };
                    let access = Access {
                        kind,
                        addr,
                        size,
                        site,
                    };
                    shadow.tell(order, thread, access, races);
                }
            });
            quick
        }

        /// The same byte by byte.
        fn access_bytes(
            &mut self,
            who: u64,
            (kind, addr, len): (AccessKind, u64, u64),
            site: Site,
        ) {
            self.act(who, |detector, thread, races| {
                for addr in addr..addr + len {
                    let access = Access {
                        kind,
                        addr: Addr(addr),
                        size: 1,
                        site,
                    };
                    detector.access(thread, access, races);
                }
            });
        }
    }

    /// Threads that access some bytes at a time, in places that overlap, with locks or without, in memory that is freed and given out again: races are found on the same bytes, at the same time, as if
    /// they accessed each byte for itself.
    #[test]
    fn few_words_and_ranges_are_their_bytes() {
        let mut quick = [0; 2];
        for seed in 0..60 {
            let mut random = Random::new(seed, 7);
            let mut below = |bound: u64| random.next() % bound;
            let mut worlds = [World::new(), World::new()];
            for round in 0..400 {
                let who = below(THREADS);
                match below(12) {
                    0..3 => {
                        let lock = SyncId(1 + below(2));
                        for op in [SyncOp::Acquire(lock), SyncOp::Release(lock)] {
                            for world in &mut worlds {
                                world.act(who, |d, t, races| d.sync(t, op, races));
                            }
                        }
                        continue;
                    }
                    3 if round % 3 == 0 => {
                        let (lo, len) = (below(BYTES / 2), 1 + below(BYTES / 2));
                        for world in &mut worlds {
                            let at = Addr(BASE + lo);
                            world.act(who, |d, t, races| d.alloc(t, at, 1, len, Site(1), races));
                            // Bytes that were racy are so again if they race again.
                            world.racy.retain(|byte| !(at.0..at.0 + len).contains(byte));
                        }
                        continue;
                    }
                    _ => {}
                }
                let kind = match below(3) {
                    0 => AccessKind::Write,
                    _ => AccessKind::Read,
                };
                // Some programs have small fields, others large ones.
                let unit = 1 << (seed % 4);
                let len = match below(4) {
                    0 => 1 + below(BYTES / 2),
                    1 => 1 + below(64),
                    _ => 1 + below(17),
                };
                let len = len.next_multiple_of(unit);
                let addr = BASE + below(BYTES - len) / unit * unit;
                let site = Site(2 + below(3) as u32);
                let what = (kind, addr, len);
                let few = worlds[0].access_few(who, what, site);
                quick[usize::from(few)] += 1;
                worlds[1].access_bytes(who, what, site);
                let [ours, theirs] = worlds.each_ref().map(|world| &world.racy);
                assert_eq!(
                    ours, theirs,
                    "seed {seed}, round {round}: {what:?} of {who}"
                );
            }
        }
        assert!(quick.iter().all(|&times| times > 1000), "{quick:?}");
    }
}
