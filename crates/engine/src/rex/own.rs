//! The sound rule: only a thread's own accesses stand for its accesses. See the module above for
//! the argument.

use super::recent::{Key, Known, Recent};
use super::{Footprint, Locks, Mode, Redundancy, Step, Touch, Verdict};
use crate::random::mix;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use event::{AccessKind, Addr, Elements, Site, SyncId, Tid};

/// The rule of `rex` and `rex-lockset`.
#[derive(Clone, Copy, Debug)]
pub struct OwnThread {
    locks: Locks,
}

impl OwnThread {
    /// `Order` is sound for happens-before, `Held` for lock sets only.
    pub const fn new(locks: Locks) -> Self {
        OwnThread { locks }
    }
}

/// A thread with its context and its history.
///
/// Contexts are numbered as they are entered. With [`Locks::Order`] each span has one. With [`Locks::Held`] a span has one for
/// each lock set seen in it, and comes back to it when the lock set does.
#[derive(Debug)]
pub struct Own {
    context: u64,
    /// The last number given.
    last: u64,
    /// Contexts below this one were left for good.
    live: u64,
    held: LockSet,
    /// The lock sets of this span.
    seen: BTreeMap<Vec<(SyncId, Mode)>, u64>,
    accesses: Recent<AccessKey>,
    ranges: Recent<RangeKey>,
}

/// More lock sets than this in one span: forget them, which begins a new span.
const MAX_LOCK_SETS: usize = 256;

impl Own {
    fn new_span(&mut self) {
        self.last += 1;
        self.context = self.last;
        self.live = self.last;
        if !self.seen.is_empty() {
            self.seen.clear();
        }
    }

    /// The lock set has changed.
    fn find_context(&mut self) {
        if self.seen.len() >= MAX_LOCK_SETS {
            self.new_span();
        }
        self.last += 1;
        let fresh = self.last;
        self.context = *self.seen.entry(self.held.keys()).or_insert(fresh);
    }
}

impl Redundancy for OwnThread {
    type Thread = Own;

    fn thread(&self, _tid: Tid) -> Own {
        let mut own = Own {
            context: 0,
            last: 0,
            live: 0,
            held: LockSet::default(),
            seen: BTreeMap::new(),
            accesses: Recent::new(),
            ranges: Recent::new(),
        };
        own.new_span();
        if self.locks == Locks::Held {
            own.find_context();
        }
        own
    }

    fn step(&self, thread: &mut Own, step: Step) {
        match (step, self.locks) {
            (Step::Acquire(lock, mode), Locks::Held) => {
                thread.held.acquire(lock, mode);
                thread.find_context();
            }
            (Step::Release(lock, mode), Locks::Held) => {
                thread.held.release(lock, mode);
                thread.find_context();
            }
            (Step::Release(..) | Step::Send(_) | Step::Atomic { releases: true }, _) => {
                thread.new_span();
                if self.locks == Locks::Held {
                    thread.find_context();
                }
            }
            (Step::Acquire(..) | Step::VolatileRead(_) | Step::Atomic { releases: false }, _) => {}
        }
    }

    fn check(&self, thread: &mut Own, touch: Touch, generation: u64) -> Verdict {
        let Touch {
            kind,
            site,
            footprint,
        } = touch;
        let known = match footprint {
            Footprint::Bytes { addr, size } => {
                let key = AccessKey {
                    addr,
                    size,
                    site,
                    kind,
                };
                thread
                    .accesses
                    .note(key, thread.context, generation, thread.live)
            }
            Footprint::Elements(elements) => {
                let key = RangeKey {
                    elements,
                    site,
                    kind,
                };
                thread
                    .ranges
                    .note(key, thread.context, generation, thread.live)
            }
        };
        match known {
            Known::Yes => Verdict::IntraThread,
            Known::Reallocated => Verdict::Reallocated,
            Known::No => Verdict::FirstInContext,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct AccessKey {
    addr: Addr,
    size: u32,
    site: Site,
    kind: AccessKind,
}

impl Key for AccessKey {
    fn hash(&self) -> u64 {
        let place = u64::from(self.site.0) << 32 | u64::from(self.size) << 1 | self.kind as u64;
        self.addr.0 ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RangeKey {
    elements: Elements,
    site: Site,
    kind: AccessKind,
}

impl Key for RangeKey {
    fn hash(&self) -> u64 {
        let Elements {
            base,
            elem,
            lo,
            hi,
            stride,
        } = self.elements;
        let place = u64::from(self.site.0) << 32 | u64::from(elem) << 1 | self.kind as u64;
        [base.0, lo, hi, stride, place]
            .into_iter()
            .fold(0, |h, x| mix(h ^ x))
    }
}

/// The locks a thread holds, each with how often it was taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockSet {
    held: BTreeMap<(SyncId, Mode), u32>,
}

impl LockSet {
    pub(crate) fn acquire(&mut self, lock: SyncId, mode: Mode) {
        *self.held.entry((lock, mode)).or_insert(0) += 1;
    }

    /// A release of what is not held changes nothing.
    pub(crate) fn release(&mut self, lock: SyncId, mode: Mode) {
        if let Some(count) = self.held.get_mut(&(lock, mode)) {
            *count -= 1;
            if *count == 0 {
                self.held.remove(&(lock, mode));
            }
        }
    }

    /// The locks in order, each once.
    pub(crate) fn keys(&self) -> Vec<(SyncId, Mode)> {
        self.held.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(addr: u64) -> Touch {
        Touch {
            kind: AccessKind::Write,
            site: Site(1),
            footprint: Footprint::Bytes {
                addr: Addr(addr),
                size: 8,
            },
        }
    }

    #[test]
    fn a_span_ends_with_an_edge_that_leaves() {
        let rule = OwnThread::new(Locks::Order);
        let lock = SyncId(1);
        let mut own = rule.thread(Tid(0));
        let mut check = |step| {
            if let Some(step) = step {
                rule.step(&mut own, step);
            }
            rule.check(&mut own, touch(8), 0)
        };
        assert_eq!(check(None), Verdict::FirstInContext);
        assert_eq!(check(None), Verdict::IntraThread);
        for stays in [
            Step::Acquire(lock, Mode::Exclusive),
            Step::Acquire(lock, Mode::Shared),
            Step::VolatileRead(lock),
            Step::Atomic { releases: false },
        ] {
            assert_eq!(check(Some(stays)), Verdict::IntraThread, "{stays:?}");
        }
        for leaves in [
            Step::Release(lock, Mode::Exclusive),
            Step::Release(lock, Mode::Shared),
            Step::Send(super::super::Symbol::Message(lock)),
            Step::Atomic { releases: true },
        ] {
            assert_eq!(check(Some(leaves)), Verdict::FirstInContext, "{leaves:?}");
        }
    }

    #[test]
    fn held_locks_are_compared_as_sets() {
        let rule = OwnThread::new(Locks::Held);
        let mut own = rule.thread(Tid(0));
        let (a, b) = (SyncId(1), SyncId(2));
        let mut check = |steps: &[Step]| {
            for &step in steps {
                rule.step(&mut own, step);
            }
            rule.check(&mut own, touch(8), 0)
        };
        let lock = |l| Step::Acquire(l, Mode::Exclusive);
        let unlock = |l| Step::Release(l, Mode::Exclusive);
        assert_eq!(check(&[]), Verdict::FirstInContext);
        assert_eq!(check(&[lock(a), lock(b)]), Verdict::FirstInContext);
        assert_eq!(check(&[unlock(a), unlock(b)]), Verdict::IntraThread);
        assert_eq!(check(&[lock(b), lock(a)]), Verdict::IntraThread);
        assert_eq!(check(&[lock(a), unlock(a)]), Verdict::IntraThread);
        assert_eq!(check(&[unlock(a)]), Verdict::FirstInContext);
        let shared = Step::Acquire(a, Mode::Shared);
        assert_eq!(check(&[shared]), Verdict::FirstInContext);
        assert_eq!(
            check(&[Step::Atomic { releases: true }]),
            Verdict::FirstInContext
        );
    }

    #[test]
    fn many_lock_sets_are_forgotten() {
        let rule = OwnThread::new(Locks::Held);
        let mut own = rule.thread(Tid(0));
        for i in 0..100_000 {
            rule.step(&mut own, Step::Acquire(SyncId(i), Mode::Exclusive));
            rule.step(&mut own, Step::Release(SyncId(i), Mode::Exclusive));
            assert!(own.seen.len() <= MAX_LOCK_SETS);
        }
    }
}
