//! Pacer: proportional sampling on top of FastTrack.
//!
//! Michael Bond, Katherine Coons and Kathryn McKinley, "PACER: Proportional Detection of Data Races" (PLDI 2010).
//!
//! **Contract.** Execution is divided into global sampling and non-sampling [`periods`]. A race whose first access is in a
//! sampling period is *sampled*; it is a *shortest* race if no access in between conflicts and races with its second access.
//! For every byte that has a sampled, shortest race, a race on this byte is reported, at the latest when the second
//! access of the first such race is made; every reported race is one, and its first access was sampled. So each race that FastTrack finds is
//! found with probability `rate`, and at rate 1 the two report races on the same bytes.
//!
//! # How it maps to the engine
//!
//! | the paper | here |
//! |---|---|
//! | Algorithms 12, 13, Table 4: reads and writes | FastTrack's own rules in [`shadow`](crate::shadow), with the access not recorded outside of sampling periods: it is checked, and what it would have replaced is discarded |
//! | Algorithm 9: copy, shallow or deep | clocks share their nodes: every copy is shallow, in sampling periods too |
//! | Algorithm 10: increment, only when sampling; Table 5: increment at `sbegin` | a thread's epoch ends when it publishes *and* something was recorded in it. Without sampling nothing is recorded, so time stands still; and since clocks hold completed epochs only, the current epoch is never known to others: what `sbegin` has to establish always holds |
//! | Algorithm 11, Table 7: join by version | [`versions`](crate::clock::Versions) |
//! | Algorithms 14 to 16, appendix C: volatiles | all that is released into is treated so: locks, channels, barriers, atomic objects; after an acquire the version test makes it a copy |
//!
//! That a thread sees the beginning or end of a period later than another does no harm (the paper stops all threads, and leaves this
//! open). No false alarm: clocks are joined along every edge, sampling or not, so an access that happens before another one is
//! known to it. No lost race: a thread records an access in an epoch that no one else has been told of, whoever is
//! sampling. What a period is only decides which accesses are recorded.
//!
//! One deviation: the paper keeps a sampled access if its thread repeats it, not sampled, in the same epoch, which outside of sampling
//! periods goes on across releases. Here the repeated access discards it: it is the last one to race.
//!
//! A plain write resets atomic objects, so this part of it happens outside of sampling periods, too; `atomic_bytes` says where.

pub mod periods;

use crate::atomic_bytes::{AtomicBytes, hull};
use crate::clock::Limits;
use crate::detector::{Access, AtomicOp, Counters, Detector, Hint, Sink, SyncOp};
use crate::precise::{FastTrack, PreciseThread};
use crate::sync::{Bracket, HappensBefore};
use event::{AccessKind, Addr, Elements, Site, Tid};
use periods::Periods;

/// FastTrack in sampling periods, and next to nothing in between.
#[derive(Debug)]
pub struct Pacer {
    inner: FastTrack,
    periods: Periods,
    atomic: AtomicBytes,
}

impl Pacer {
    /// Samples a fraction `rate` of the periods, chosen by `seed`. Without a rate, sampling waits for
    /// marks in the execution; once there is one, marks rule in any case.
    pub fn new(rate: Option<f64>, seed: u64) -> Self {
        Pacer {
            inner: FastTrack::versioned(Limits::CELL),
            periods: Periods::new(rate, seed),
            atomic: AtomicBytes::new(),
        }
    }

    fn thread(&self, inner: PreciseThread) -> PacerThread {
        PacerThread {
            inner,
            events: 0,
            counts: Counts::default(),
        }
    }

    /// Another event of this thread, which is not an access.
    fn step(&self, thread: &mut PacerThread) {
        self.periods.tick(&mut thread.events);
        thread.inner.clock.set_recording(self.periods.sampling());
    }

    /// Another access of this thread.
    #[inline]
    fn access_step(&self, thread: &mut PacerThread, kind: AccessKind) {
        // The decision is taken before the event is counted, so that the first event is in the first period.
        let sampling = self.periods.sampling();
        thread.inner.clock.set_recording(sampling);
        thread.counts.accesses[usize::from(sampling)][kind as usize] += 1;
        self.periods.tick(&mut thread.events);
    }

    /// A write that the shadow may know too little of to see what it resets.
    fn overwrite(&self, addr: Addr, bytes: u64) {
        self.atomic.each(addr, bytes, |word, mask| {
            self.inner.order().overwrite(word, mask);
        });
    }
}

/// A thread of [`Pacer`].
#[derive(Debug)]
pub struct PacerThread {
    inner: PreciseThread,
    /// Events not yet reported to the periods.
    events: u32,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    /// By whether they are sampled, and by kind.
    accesses: [[u64; 2]; 2],
}

impl Counters for PacerThread {
    fn each(&self, f: &mut dyn FnMut(&'static str, u64)) {
        let [[reads, writes], [sampled_reads, sampled_writes]] = self.counts.accesses;
        f("PacerSampledReads", sampled_reads);
        f("PacerSampledWrites", sampled_writes);
        f("PacerUnsampledReads", reads);
        f("PacerUnsampledWrites", writes);
        if let Some([not_sampling, sampling]) = self.inner.clock.version_counts() {
            f("PacerSampledFastJoins", sampling.fast_joins);
            f("PacerSampledSlowJoins", sampling.slow_joins);
            f("PacerSampledShallowCopies", sampling.shallow_copies);
            f("PacerSampledDeepCopies", sampling.deep_copies);
            f("PacerUnsampledFastJoins", not_sampling.fast_joins);
            f("PacerUnsampledSlowJoins", not_sampling.slow_joins);
            f("PacerUnsampledShallowCopies", not_sampling.shallow_copies);
            f("PacerUnsampledDeepCopies", not_sampling.deep_copies);
        }
        self.inner.each(f);
    }
}

impl Detector for Pacer {
    type Thread = PacerThread;

    fn root(&self, tid: Tid) -> PacerThread {
        self.thread(self.inner.root(tid))
    }

    fn fork(&self, parent: &mut PacerThread, tid: Tid, races: Sink<'_>) -> PacerThread {
        self.step(parent);
        self.thread(self.inner.fork(&mut parent.inner, tid, races))
    }

    fn end(&self, thread: &mut PacerThread, races: Sink<'_>) {
        self.inner.end(&mut thread.inner, races);
    }

    fn join(&self, thread: &mut PacerThread, child: &mut PacerThread, races: Sink<'_>) {
        self.step(thread);
        self.inner.join(&mut thread.inner, &mut child.inner, races);
    }

    #[inline]
    fn access(&self, thread: &mut PacerThread, access: Access, races: Sink<'_>) {
        self.access_step(thread, access.kind);
        self.inner.access(&mut thread.inner, access, races);
        if access.kind == AccessKind::Write {
            self.overwrite(access.addr, u64::from(access.size));
        }
    }

    fn range(
        &self,
        thread: &mut PacerThread,
        kind: AccessKind,
        elements: Elements,
        site: Site,
        races: Sink<'_>,
    ) {
        self.access_step(thread, kind);
        self.inner
            .range(&mut thread.inner, kind, elements, site, races);
        if kind == AccessKind::Write && self.atomic.touches_elements(elements) {
            let (addr, bytes) = hull(elements);
            if elements.stride <= 1 {
                self.overwrite(addr, bytes);
            } else {
                for i in elements.indices() {
                    self.overwrite(elements.addr(i), u64::from(elements.elem));
                }
            }
        }
    }

    fn alloc(
        &self,
        thread: &mut PacerThread,
        addr: Addr,
        elem: u8,
        len: u64,
        site: Site,
        races: Sink<'_>,
    ) {
        self.step(thread);
        self.inner
            .alloc(&mut thread.inner, addr, elem, len, site, races);
        self.overwrite(addr, len.saturating_mul(u64::from(elem)));
    }

    fn free(&self, thread: &mut PacerThread, addr: Addr, bytes: u64, site: Site, races: Sink<'_>) {
        self.access_step(thread, AccessKind::Write);
        self.inner.free(&mut thread.inner, addr, bytes, site, races);
        self.overwrite(addr, bytes);
    }

    #[inline]
    fn order(&self) -> &HappensBefore {
        self.inner.order()
    }

    fn bracketed(
        &self,
        thread: &mut PacerThread,
        bracket: &mut Bracket<'_>,
        size: u32,
        op: AtomicOp,
        site: Site,
        races: Sink<'_>,
    ) {
        let kind = match op {
            AtomicOp::Load(_) => AccessKind::Read,
            AtomicOp::Store(_) | AtomicOp::Rmw(_) => {
                self.atomic.mark(bracket.addr(), size);
                AccessKind::Write
            }
        };
        self.access_step(thread, kind);
        self.inner
            .bracketed(&mut thread.inner, bracket, size, op, site, races);
    }

    fn sync(&self, thread: &mut PacerThread, op: SyncOp, races: Sink<'_>) {
        self.step(thread);
        self.inner.sync(&mut thread.inner, op, races);
    }

    fn hint(&self, _thread: &mut PacerThread, hint: Hint) {
        if let Hint::Sampling(sampling) = hint {
            self.periods.mark(sampling);
        }
    }
}
