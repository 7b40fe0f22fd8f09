//! ReX: a filter in front of a detector that drops accesses which cannot tell it anything new.
//!
//! Jeff Huang and Arun Rajagopalan, "What's the Optimal Performance of Precise Dynamic Race
//! Detection? A Redundancy Perspective". A user reads races as pairs of places in the program. An
//! access is *redundant* if the set of pairs (site, kind, site, kind), and the set of racy bytes, are
//! the same without it, whatever happens later. The filter forwards everything else unchanged, so the detector behind
//! it needs no change, and since dropped plain accesses order nothing, it reports no race that is not there.
//!
//! # The rule that is sound ([`OwnThread`], detector `rex`)
//!
//! An access *e'* is redundant if an access *e* was forwarded earlier such that
//! 1. both have the same site and kind,
//! 2. both touch exactly the same bytes, which were not handed out again by an `Alloc` in between,
//! 3. both are by the same thread, which executed nothing that an edge of happens-before can leave
//!    from between *e* and *e'* (they are in one *span*, as RedCard says), and
//! 4. if they write, no byte of them may belong to an atomic object (a plain write ends a release sequence,
//!    so it is not only an access; see `atomic_bytes`).
//!
//! Why: let *k* race with *e'*, so *k* is another thread's. (a) *k* does not happen before *e'*, and
//! everything before *e* is before *e'*; so *k* does not happen before *e*. (b) If *e* happened before *k*, a
//! path from *e* to *k* would leave the thread after *e*; by 3 it leaves after *e'*, so *e'* would happen before *k*. Hence *k* races with
//! *e*: same pair of places, same bytes. If *k* was dropped itself, the same argument gives the forwarded access it
//! stands for. What happened-before edges come *in* between *e* and *e'* is no matter: they order
//! more before *e'*, never less.
//!
//! The edges leave from: `Release`, `ReadRelease`, `VolatileWrite`, `Send`, `Arrive`, `Fork`, being
//! joined, releasing stores, read-modify-writes and fences. A relaxed store after a fence publishes what precedes the
//! *fence*, so the fence begins the span and the store does not.
//!
//! # The rule of the paper ([`Trie`], detector `rex-paper`), and why it is not sound
//!
//! Algorithms 1 and 2 give each thread a context: the sequence of what it released and sent. An
//! access is dropped if two other threads made the same access in an equal context. Theorem 2 asks
//! that every event ordered with the witness be ordered alike with the dropped access; equal contexts do
//! not give that:
//! - **Incoming edges** are not in the context. Fork T1, write x at A, fork T2 and T3; T3, T2, T1
//!   read x at B. The write is before the reads of T3 and T2 but not before T1's, which is dropped: the only race is lost.
//! - **Edges yet to come** are not in it either, and no online rule can know them. Fork T1, T2, T3, all read
//!   x at B; join T1 and T2, then write x at C. Only T3's read races, and it is dropped.
//!
//! The second one rules out every rule that lets another thread's access stand for this one: after
//! *e1*, …, *en* of other threads, each of those threads may release to a thread that then writes
//! without having seen *e'*. (The write may even be by the first of those threads, at a new place in the program.)
//! It also rules out a witness of the same thread from an earlier span, by the edge that ended the span.
//! So spans are the most that a filter without knowledge of the future can drop, up to what it forgets for want of memory.
//! With that, contexts are compared only within one thread, where each is entered once: the trie
//! becomes a counter, nothing is shared between threads, and the filter needs no lock.
//!
//! The paper also stores the history per program location, while its own Definition 4 asks for the same memory
//! location: read literally, one access of a loop over an array would stand for all. Here all rules
//! ask for the same bytes.
//!
//! # Locks by lock sets ([`Locks::Held`], detector `rex-lockset`)
//!
//! Section 4 drops accesses across lock boundaries: releases do not begin a span, and instead the
//! locks held (with their mode) have to be equal. With [`OwnThread`], that is sound for a hybrid
//! detector, which ignores the order that locks impose and calls a conflict a race if no lock was held in
//! common, by one of the two exclusively: the pairs of *that* relation are kept, by the argument above on happens-before without locks.
//! It is not sound for happens-before: of the paper's Figure 7 it loses the race between the second `x++`
//! and `z = x`. `rex-lockset` never reports what is no race, and may miss races.

mod generations;
mod own;
mod recent;
mod trie;

pub use own::OwnThread;
pub use trie::Trie;

use crate::atomic_bytes::{AtomicBytes, hull};
use crate::detector::{Access, AtomicOp, BlockShadow, Counters, Detector, Hint, Sink, SyncOp};
use crate::sync::{Bracket, HappensBefore};
use event::{AccessKind, Addr, Elements, Site, SyncId, Tid};
use generations::Generations;

/// How locks enter a thread's context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locks {
    /// They order: a release is part of the history (Algorithm 1).
    Order,
    /// They exclude: what counts is which are held (section 4).
    Held,
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mode {
    /// Alone.
    Exclusive,
    /// With other readers.
    Shared,
}

/// What can change the context of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "named as in the paper and in `event`")]
pub enum Step {
    Acquire(SyncId, Mode),
    Release(SyncId, Mode),
    Send(Symbol),
    VolatileRead(SyncId),
    /// An atomic access, or a fence.
    Atomic {
        releases: bool,
    },
}

/// What a thread sent: an element of the paper's contexts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "named and defined in `event`")]
pub enum Symbol {
    Lock(SyncId, Mode),
    Volatile(SyncId),
    Message(SyncId),
    Barrier(SyncId),
    Fork(Tid),
    Joined,
    /// Equal to no other.
    Unique(u64),
}

/// The bytes of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "as in `event`")]
pub enum Footprint {
    Bytes { addr: Addr, size: u32 },
    Elements(Elements),
}

/// A plain access, as the rules see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// Read or write.
    pub kind: AccessKind,
    /// Where in the program.
    pub site: Site,
    /// Where in memory.
    pub footprint: Footprint,
}

macro_rules! verdicts {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What became of an access, and why.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Verdict {
            $($(#[$doc])* $name,)*
        }
        const VERDICTS: &[(Verdict, &str)] = &[$((Verdict::$name, $text),)*];
    };
}

verdicts! {
    /// Discarded: its own thread made it before in this context.
    IntraThread = "RexIntraThread",
    /// Discarded: two other threads made it before in this context.
    InterThread = "RexInterThread",
    /// Advanced: nobody made it in this context, as far as the filter remembers.
    FirstInContext = "RexFirstInContext",
    /// Advanced: one other thread made it in this context.
    SecondThread = "RexSecondThread",
    /// Advanced: made before, but the memory was handed out again since.
    Reallocated = "RexReallocated",
    /// Advanced: a write that may end a release sequence.
    AtomicBytes = "RexAtomicBytes",
}

impl Verdict {
    const fn discards(self) -> bool {
        matches!(self, Verdict::IntraThread | Verdict::InterThread)
    }
}

/// A rule that says which accesses are redundant.
pub trait Redundancy: Send + Sync {
    /// A thread's context, and what it remembers.
    type Thread: Send;

    /// A thread that has done nothing yet.
    fn thread(&self, tid: Tid) -> Self::Thread;
    /// The thread does something that may change its context.
    fn step(&self, thread: &mut Self::Thread, step: Step);
    /// The thread makes an access to memory of this generation: `CheckRedundancy`.
    fn check(&self, thread: &mut Self::Thread, touch: Touch, generation: u64) -> Verdict;
}

/// The detector `D` behind the filter `R`.
#[derive(Debug)]
pub struct Rex<D, R> {
    inner: D,
    rule: R,
    generations: Generations,
    atomic: AtomicBytes,
}

/// A thread of [`Rex`].
#[derive(Debug)]
pub struct RexThread<D, R> {
    inner: D,
    own: R,
    counts: [u64; VERDICTS.len()],
}

impl<D, R> Rex<D, R> {
    /// Puts a filter in front of a detector.
    pub fn new(inner: D, rule: R) -> Self {
        Rex {
            inner,
            rule,
            generations: Generations::new(),
            atomic: AtomicBytes::new(),
        }
    }
}

impl<D: Counters, R> Counters for RexThread<D, R> {
    fn each(&self, f: &mut dyn FnMut(&'static str, u64)) {
        for &(verdict, name) in VERDICTS {
            f(name, self.counts[verdict as usize]);
        }
        self.inner.each(f);
    }
}

impl<D: Detector, R: Redundancy> Rex<D, R> {
    fn thread(&self, tid: Tid, inner: D::Thread) -> RexThread<D::Thread, R::Thread> {
        RexThread {
            inner,
            own: self.rule.thread(tid),
            counts: [0; VERDICTS.len()],
        }
    }

    /// Algorithm 1, case MEM. The generation is read before the detector sees the access: if the
    /// memory is handed out in between, the note is stale at once and only costs a check.
    fn redundant(&self, thread: &mut RexThread<D::Thread, R::Thread>, touch: Touch) -> bool {
        let (addr, bytes) = match touch.footprint {
            Footprint::Bytes { addr, size } => (addr, u64::from(size)),
            Footprint::Elements(elements) => hull(elements),
        };
        let verdict = if touch.kind == AccessKind::Write && self.atomic.touches(addr, bytes) {
            Verdict::AtomicBytes
        } else {
            let generation = self.generations.current(addr, bytes);
            self.rule.check(&mut thread.own, touch, generation)
        };
        thread.counts[verdict as usize] += 1;
        verdict.discards()
    }
}

impl<D: Detector, R: Redundancy> Detector for Rex<D, R> {
    type Thread = RexThread<D::Thread, R::Thread>;

    fn root(&self, tid: Tid) -> Self::Thread {
        self.thread(tid, self.inner.root(tid))
    }

    fn fork(&self, parent: &mut Self::Thread, tid: Tid, races: Sink<'_>) -> Self::Thread {
        let inner = self.inner.fork(&mut parent.inner, tid, races);
        self.rule
            .step(&mut parent.own, Step::Send(Symbol::Fork(tid)));
        self.thread(tid, inner)
    }

    fn end(&self, thread: &mut Self::Thread, races: Sink<'_>) {
        self.inner.end(&mut thread.inner, races);
    }

    fn join(&self, thread: &mut Self::Thread, child: &mut Self::Thread, races: Sink<'_>) {
        self.inner.join(&mut thread.inner, &mut child.inner, races);
        self.rule.step(&mut child.own, Step::Send(Symbol::Joined));
    }

    fn access(&self, thread: &mut Self::Thread, access: Access, races: Sink<'_>) {
        let touch = Touch {
            kind: access.kind,
            site: access.site,
            footprint: Footprint::Bytes {
                addr: access.addr,
                size: access.size,
            },
        };
        if !self.redundant(thread, touch) {
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
        let touch = Touch {
            kind,
            site,
            footprint: Footprint::Elements(elements),
        };
        if !self.redundant(thread, touch) {
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
        self.generations
            .renew(addr, len.saturating_mul(u64::from(elem)));
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
        let releases = match op {
            AtomicOp::Load(_) => false,
            AtomicOp::Store(order) => order.releases(),
            AtomicOp::Rmw(order) => order.releases(),
        };
        if !matches!(op, AtomicOp::Load(_)) {
            self.atomic.mark(bracket.addr(), size);
        }
        self.inner
            .bracketed(&mut thread.inner, bracket, size, op, site, races);
        self.rule.step(&mut thread.own, Step::Atomic { releases });
    }

    fn sync(&self, thread: &mut Self::Thread, op: SyncOp, races: Sink<'_>) {
        self.inner.sync(&mut thread.inner, op, races);
        let step = match op {
            SyncOp::Acquire(lock) => Step::Acquire(lock, Mode::Exclusive),
            SyncOp::ReadAcquire(lock) => Step::Acquire(lock, Mode::Shared),
            SyncOp::Release(lock) => Step::Release(lock, Mode::Exclusive),
            SyncOp::ReadRelease(lock) => Step::Release(lock, Mode::Shared),
            SyncOp::VolatileRead(x) => Step::VolatileRead(x),
            SyncOp::VolatileWrite(x) => Step::Send(Symbol::Volatile(x)),
            SyncOp::Send(g) => Step::Send(Symbol::Message(g)),
            SyncOp::Arrive(b) => Step::Send(Symbol::Barrier(b)),
            SyncOp::Fence(order) => Step::Atomic {
                releases: order.releases(),
            },
            SyncOp::Receive(_) | SyncOp::Depart(_) => return,
        };
        self.rule.step(&mut thread.own, step);
    }

    fn shadow(&self, f: &mut dyn FnMut(&BlockShadow)) {
        self.inner.shadow(f);
    }

    fn hint(&self, thread: &mut Self::Thread, hint: Hint) {
        self.inner.hint(&mut thread.inner, hint);
    }
}
