//! LiteRace: sampling by the cold-region hypothesis, the rival in Pacer's evaluation.
//!
//! Daniel Marino, Madanlal Musuvathi and Satish Narayanasamy, "LiteRace: Effective Sampling for
//! Lightweight Data-Race Detection" (PLDI 2009), in the online form of the Pacer paper, section 5.3.
//! Each thread decides at each call of a function whether the accesses of that execution are
//! checked. A function that is new to the thread is always sampled; after each burst of [`BURST`] executions its
//! rate falls by ten, from 100 % to 0.1 %, and between two bursts come as many executions as the rate asks
//! for, more or less: the counter is reset with randomness, as Pacer's authors do, by the seed.
//!
//! All synchronisation is processed, and with it atomic accesses, `Alloc` and `Free`, and plain writes that may end a release
//! sequence; accesses outside of any function are always sampled. So happens-before is exact and
//! no race is reported that is not there. Which races are missed is a matter of how hot both sides
//! are: there is no guarantee. Memory is that of a full check: nothing is discarded.

use crate::atomic_bytes::AtomicBytes;
use crate::detector::{Access, AtomicOp, BlockShadow, Counters, Detector, Hint, Sink, SyncOp};
use crate::random::Random;
use crate::sync::{Bracket, HappensBefore};
use alloc::vec::Vec;
use event::{AccessKind, Addr, Elements, Func, Site, Tid};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Executions of a function in a burst.
pub const BURST: u64 = 10;
/// One execution in so many is sampled, after so many bursts.
const ONE_IN: [u64; 4] = [1, 10, 100, 1000];

/// How one thread samples one function.
#[derive(Clone, Copy, Debug, Default)]
struct Profile {
    /// Index into [`ONE_IN`].
    level: usize,
    /// Executions left in the burst.
    burst: u64,
    /// Executions to skip before the next burst.
    gap: u64,
}

impl Profile {
    const NEW: Profile = Profile {
        level: 0,
        burst: BURST,
        gap: 0,
    };

    /// Is the execution that begins now sampled?
    fn enter(&mut self, random: &mut Random) -> bool {
        if self.gap > 0 {
            self.gap -= 1;
            return false;
        }
        self.burst -= 1;
        if self.burst == 0 {
            self.level = (self.level + 1).min(ONE_IN.len() - 1);
            self.burst = BURST;
            // Uniform around the gap that gives exactly the rate.
            let mean = BURST * (ONE_IN[self.level] - 1);
            self.gap = mean / 2 + random.up_to(mean);
        }
        true
    }
}

/// The detector `D`, shown the accesses of sampled executions only.
#[derive(Debug)]
pub struct LiteRace<D> {
    inner: D,
    seed: u64,
    atomic: AtomicBytes,
}

impl<D> LiteRace<D> {
    /// The same seed and the same execution give the same sample.
    pub fn new(inner: D, seed: u64) -> Self {
        LiteRace {
            inner,
            seed,
            atomic: AtomicBytes::new(),
        }
    }
}

/// A thread of [`LiteRace`].
#[derive(Debug)]
pub struct LiteRaceThread<T> {
    inner: T,
    random: Random,
    profiles: HashMap<Func, Profile, FxBuildHasher>,
    /// The functions being executed, the innermost last, and whether each is sampled.
    calls: Vec<(Func, bool)>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    sampled_calls: u64,
    skipped_calls: u64,
    sampled: u64,
    skipped: u64,
    atomic_bytes: u64,
}

impl<T: Counters> Counters for LiteRaceThread<T> {
    fn each(&self, f: &mut dyn FnMut(&'static str, u64)) {
        f("LiteRaceSampledCalls", self.counts.sampled_calls);
        f("LiteRaceSkippedCalls", self.counts.skipped_calls);
        f("LiteRaceSampledAccesses", self.counts.sampled);
        f("LiteRaceSkippedAccesses", self.counts.skipped);
        f("LiteRaceAtomicBytes", self.counts.atomic_bytes);
        self.inner.each(f);
    }
}

impl<T> LiteRaceThread<T> {
    fn enter(&mut self, func: Func) {
        let profile = self.profiles.entry(func).or_insert(Profile::NEW);
        let sampled = profile.enter(&mut self.random);
        if sampled {
            self.counts.sampled_calls += 1;
        } else {
            self.counts.skipped_calls += 1;
        }
        self.calls.push((func, sampled));
    }

    /// Leaves `func` and whatever it called that did not return by itself. An exit from a function
    /// that was never entered is ignored.
    fn exit(&mut self, func: Func) {
        if let Some(depth) = self.calls.iter().rposition(|&(f, _)| f == func) {
            self.calls.truncate(depth);
        }
    }

    fn samples(&mut self) -> bool {
        let sampled = self.calls.last().is_none_or(|&(_, sampled)| sampled);
        if sampled {
            self.counts.sampled += 1;
        } else {
            self.counts.skipped += 1;
        }
        sampled
    }
}

impl<D: Detector> LiteRace<D> {
    fn thread(&self, tid: Tid, inner: D::Thread) -> LiteRaceThread<D::Thread> {
        LiteRaceThread {
            inner,
            random: Random::new(self.seed, u64::from(tid.0)),
            profiles: HashMap::default(),
            calls: Vec::new(),
            counts: Counts::default(),
        }
    }
}

impl<D: Detector> Detector for LiteRace<D> {
    type Thread = LiteRaceThread<D::Thread>;

    fn root(&self, tid: Tid) -> Self::Thread {
        self.thread(tid, self.inner.root(tid))
    }

    fn fork(&self, parent: &mut Self::Thread, tid: Tid, races: Sink<'_>) -> Self::Thread {
        let inner = self.inner.fork(&mut parent.inner, tid, races);
        self.thread(tid, inner)
    }

    fn end(&self, thread: &mut Self::Thread, races: Sink<'_>) {
        self.inner.end(&mut thread.inner, races);
    }

    fn join(&self, thread: &mut Self::Thread, child: &mut Self::Thread, races: Sink<'_>) {
        self.inner.join(&mut thread.inner, &mut child.inner, races);
    }

    fn access(&self, thread: &mut Self::Thread, access: Access, races: Sink<'_>) {
        let resets = access.kind == AccessKind::Write
            && self.atomic.touches(access.addr, u64::from(access.size));
        thread.counts.atomic_bytes += u64::from(resets);
        if resets || thread.samples() {
            self.inner.access(&mut thread.inner, access, races);
        }
    }

    fn range(
        &self,
        thread: &mut Self::Thread,
        kind: AccessKind,
        elements: Elements,
        site: Site,
        races: Sink<'_>,
    ) {
        let resets = kind == AccessKind::Write && self.atomic.touches_elements(elements);
        thread.counts.atomic_bytes += u64::from(resets);
        if resets || thread.samples() {
            self.inner
                .range(&mut thread.inner, kind, elements, site, races);
        }
    }

    fn alloc(
        &self,
        thread: &mut Self::Thread,
        addr: Addr,
        elem: u8,
        len: u64,
        site: Site,
        races: Sink<'_>,
    ) {
        self.inner
            .alloc(&mut thread.inner, addr, elem, len, site, races);
    }

    fn free(&self, thread: &mut Self::Thread, addr: Addr, bytes: u64, site: Site, races: Sink<'_>) {
        self.inner.free(&mut thread.inner, addr, bytes, site, races);
    }

    #[inline]
    fn order(&self) -> &HappensBefore {
        self.inner.order()
    }

    fn bracketed(
        &self,
        thread: &mut Self::Thread,
        bracket: &mut Bracket<'_>,
        size: u32,
        op: AtomicOp,
        site: Site,
        races: Sink<'_>,
    ) {
        if !matches!(op, AtomicOp::Load(_)) {
            self.atomic.mark(bracket.addr(), size);
        }
        self.inner
            .bracketed(&mut thread.inner, bracket, size, op, site, races);
    }

    fn sync(&self, thread: &mut Self::Thread, op: SyncOp, races: Sink<'_>) {
        self.inner.sync(&mut thread.inner, op, races);
    }

    fn shadow(&self, f: &mut dyn FnMut(&BlockShadow)) {
        self.inner.shadow(f);
    }

    fn hint(&self, thread: &mut Self::Thread, hint: Hint) {
        match hint {
            Hint::Enter(func) => thread.enter(func),
            Hint::Exit(func) => thread.exit(func),
            Hint::Sampling(_) => {}
        }
        self.inner.hint(&mut thread.inner, hint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(profile: &mut Profile, random: &mut Random, calls: usize) -> usize {
        (0..calls).filter(|_| profile.enter(random)).count()
    }

    #[test]
    fn the_first_burst_is_whole_and_the_rate_falls_to_one_in_a_thousand() {
        for seed in 0..20 {
            let mut random = Random::new(seed, 0);
            let mut profile = Profile::NEW;
            assert_eq!(sampled(&mut profile, &mut random, 10), 10);
            assert!(profile.gap >= 45 && profile.gap <= 135);
            let gap = usize::try_from(profile.gap).unwrap();
            assert_eq!(sampled(&mut profile, &mut random, gap), 0);
            assert_eq!(sampled(&mut profile, &mut random, 10), 10);
            assert!(profile.gap >= 495 && profile.gap <= 1485);
            let n = sampled(&mut profile, &mut random, 10_000_000);
            assert!((9_800..10_200).contains(&n), "one in a thousand: {n}");
        }
    }
}
