//! The sound rule: only a thread's own accesses stand for its accesses. See the module above for
//! the argument.

use super::recent::{Key, Known, Recent};
use super::{Footprint, Locks, Mode, Redundancy, Step, Touch, Verdict};
use crate::random::mix;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::num::NonZeroU64;
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
    context: NonZeroU64,
    /// The last number given.
    last: NonZeroU64,
    /// Contexts below this one were left for good.
    live: NonZeroU64,
    held: LockSet,
    /// The lock sets of this span.
    seen: BTreeMap<Vec<(SyncId, Mode)>, NonZeroU64>,
    accesses: Recent<AccessKey>,
    ranges: Recent<RangeKey>,
}

/// More lock sets than this in one span: forget them, which begins a new span.
const MAX_LOCK_SETS: usize = 256;

impl Own {
    /// A context that was never entered. (There are as many as there are nanoseconds in 584 years.)
    fn next(&mut self) {
        self.last = self.last.saturating_add(1);
    }

    fn new_span(&mut self) {
        self.next();
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
        self.next();
        let fresh = self.last;
        self.context = *self.seen.entry(self.held.keys()).or_insert(fresh);
    }
}

impl Redundancy for OwnThread {
    type Thread = Own;

    fn thread(&self, _tid: Tid) -> Own {
        let mut own = Own {
            context: NonZeroU64::MIN,
            last: NonZeroU64::MIN,
            live: NonZeroU64::MIN,
            held: LockSet::default(),
            seen: BTreeMap::new(),
            accesses: Recent::new(),
            ranges: Recent::new(),
        };
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
                let Some(key) = AccessKey::new(addr, size, site, kind) else {
                    return Verdict::FirstInContext;
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

/// An access in two words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct AccessKey {
    addr: Addr,
    /// ```text
    ///  63  32 31   1  0
    /// ┌──────┬──────┬─────┐
    /// │ site │ size │write│
    /// └──────┴──────┴─────┘
    /// ```
    rest: u64,
}

impl AccessKey {
    /// None if the size has more than 31 bits.
    fn new(addr: Addr, size: u32, site: Site, kind: AccessKind) -> Option<AccessKey> {
        (size < 1 << 31).then_some(AccessKey {
            addr,
            rest: u64::from(site.0) << 32 | u64::from(size) << 1 | kind as u64,
        })
    }
}

impl Key for AccessKey {
    fn place(&self) -> u64 {
        let size = (self.rest as u32) >> 1;
        self.addr.0 >> (1 + size.trailing_zeros().min(6))
    }

    fn rest(&self) -> u64 {
        self.rest
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RangeKey {
    elements: Elements,
    site: Site,
    kind: AccessKind,
}

impl Key for RangeKey {
    fn place(&self) -> u64 {
        self.elements.base.0
    }

    fn rest(&self) -> u64 {
        let Elements {
            elem,
            lo,
            hi,
            stride,
            ..
        } = self.elements;
        let place = u64::from(self.site.0) << 32 | u64::from(elem) << 1 | self.kind as u64;
        [lo, hi, stride, place]
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
