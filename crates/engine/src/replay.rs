//! Drives a detector with the events of a recorded execution, one thread handle for each of its threads.
//!
//! The events must be well-formed (`oracle::wellformed` says what that means; nested acquires are to
//! be left out). Thread ids should be dense.

use crate::detector::{Access, AtomicOp, Counters, Detector, Hint, Race, SyncOp};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use event::{Addr, Event, Op, Tid};

/// A detector in the middle of an execution.
#[derive(Debug)]
pub struct Replay<D: Detector> {
    detector: D,
    /// By thread id. A thread that was joined stays: it may be joined again.
    threads: Vec<Option<Handle<D::Thread>>>,
    /// Sizes of the blocks that are alive.
    blocks: BTreeMap<Addr, u64>,
}

#[derive(Debug)]
struct Handle<T> {
    state: T,
    ended: bool,
}

impl<D: Detector> Replay<D> {
    /// Before the first event.
    pub fn new(detector: D) -> Self {
        Replay {
            detector,
            threads: Vec::new(),
            blocks: BTreeMap::new(),
        }
    }

    /// The detector.
    pub fn detector(&self) -> &D {
        &self.detector
    }

    /// The counters of all threads, one thread at a time; the caller adds them up.
    pub fn counters(&self, f: &mut dyn FnMut(&'static str, u64)) {
        for handle in self.threads.iter().flatten() {
            handle.state.each(f);
        }
    }

    /// From now on the thread is there, if it was not. False if that is one thread too many, and the detector
    /// [exhausted](Detector::exhausted).
    #[inline(always)]
    pub fn meet(&mut self, thread: Tid) -> bool {
        if matches!(self.threads.get(thread.0 as usize), Some(Some(_))) {
            return true;
        }
        self.begin(thread);
        !self.detector.exhausted()
    }

    /// The next event, a plain access. The same as [`step`](Self::step), quickly.
    #[inline(always)]
    pub fn access(&mut self, thread: Tid, access: Access, races: &mut dyn FnMut(&Race)) {
        let index = self.ensure(thread);
        if let Some(Some(handle)) = self.threads.get_mut(index) {
            self.detector.access(&mut handle.state, access, races);
        }
    }

    /// Some plain accesses that a thread makes one after the other. `races` hears which one of them found what.
    #[inline(always)]
    pub fn accesses(
        &mut self,
        thread: Tid,
        accesses: impl Iterator<Item = Access>,
        mut races: impl FnMut(u64, &Race),
    ) {
        let index = self.ensure(thread);
        if let Some(Some(handle)) = self.threads.get_mut(index) {
            for (i, access) in (0..).zip(accesses) {
                self.detector
                    .access(&mut handle.state, access, &mut |race| races(i, race));
            }
        }
    }

    /// The next event. `races` hears of what is found now; some detectors find later.
    #[inline]
    pub fn step(&mut self, event: &Event, races: &mut dyn FnMut(&Race)) {
        let Event { thread, op, site } = *event;
        match op {
            Op::Access { kind, addr, size } => {
                let access = Access {
                    kind,
                    addr,
                    size,
                    site,
                };
                return self.access(thread, access, races);
            }
            // These two need the handles of two threads.
            Op::Fork(child) => return self.fork(thread, child, races),
            Op::Join(child) => return self.join(thread, child, races),
            _ => {}
        }
        let index = self.ensure(thread);
        let Some(handle) = self.threads[index].as_mut() else {
            return;
        };
        let me = &mut handle.state;
        let detector = &self.detector;
        match op {
            Op::Range { kind, elements } => detector.range(me, kind, elements, site, races),
            Op::Alloc { addr, elem, len } => {
                let bytes = u64::from(elem) * len;
                // Blocks that lay there are gone; since they do not overlap, they are the last ones that begin before our end.
                self.blocks.remove(&addr);
                while let Some((&other, &size)) =
                    self.blocks.range(..Addr(addr.0 + bytes)).next_back()
                    && other.0 + size > addr.0
                {
                    self.blocks.remove(&other);
                }
                self.blocks.insert(addr, bytes);
                detector.alloc(me, addr, elem, len, site, races);
            }
            Op::Free { addr } => {
                if let Some(bytes) = self.blocks.remove(&addr) {
                    detector.free(me, addr, bytes, site, races);
                }
            }
            Op::Load { addr, size, order } => {
                detector.atomic(me, addr, size, AtomicOp::Load(order), site, races);
            }
            Op::Store { addr, size, order } => {
                detector.atomic(me, addr, size, AtomicOp::Store(order), site, races);
            }
            Op::Rmw { addr, size, order } => {
                detector.atomic(me, addr, size, AtomicOp::Rmw(order), site, races);
            }
            Op::Acquire(l) => detector.sync(me, SyncOp::Acquire(l), races),
            Op::Release(l) => detector.sync(me, SyncOp::Release(l), races),
            Op::ReadAcquire(l) => detector.sync(me, SyncOp::ReadAcquire(l), races),
            Op::ReadRelease(l) => detector.sync(me, SyncOp::ReadRelease(l), races),
            Op::VolatileRead(x) => detector.sync(me, SyncOp::VolatileRead(x), races),
            Op::VolatileWrite(x) => detector.sync(me, SyncOp::VolatileWrite(x), races),
            Op::Fence(order) => detector.sync(me, SyncOp::Fence(order), races),
            Op::Send(g) => detector.sync(me, SyncOp::Send(g), races),
            Op::Receive(g) => detector.sync(me, SyncOp::Receive(g), races),
            Op::Arrive(b) => detector.sync(me, SyncOp::Arrive(b), races),
            Op::Depart(b) => detector.sync(me, SyncOp::Depart(b), races),
            Op::End => {
                handle.ended = true;
                detector.end(me, races);
            }
            Op::SampleBegin => detector.hint(me, Hint::Sampling(true)),
            Op::SampleEnd => detector.hint(me, Hint::Sampling(false)),
            Op::Enter(func) => detector.hint(me, Hint::Enter(func)),
            Op::Exit(func) => detector.hint(me, Hint::Exit(func)),
            Op::Begin | Op::Fork(_) | Op::Join(_) | Op::Access { .. } => {}
        }
    }

    /// The execution stops here: threads that are still running end.
    pub fn finish(&mut self, races: &mut dyn FnMut(&Race)) {
        for handle in self.threads.iter_mut().flatten() {
            if !handle.ended {
                handle.ended = true;
                self.detector.end(&mut handle.state, races);
            }
        }
    }

    #[inline(always)]
    fn ensure(&mut self, tid: Tid) -> usize {
        let index = tid.0 as usize;
        if !matches!(self.threads.get(index), Some(Some(_))) {
            self.begin(tid);
        }
        index
    }

    #[cold]
    fn begin(&mut self, tid: Tid) {
        let index = tid.0 as usize;
        if index >= self.threads.len() {
            self.threads.resize_with(index + 1, || None);
        }
        self.threads[index] = Some(Handle {
            state: self.detector.root(tid),
            ended: false,
        });
    }

    fn fork(&mut self, parent: Tid, child: Tid, races: &mut dyn FnMut(&Race)) {
        let index = self.ensure(parent);
        let Some(handle) = self.threads[index].as_mut() else {
            return;
        };
        let state = self.detector.fork(&mut handle.state, child, races);
        let place = child.0 as usize;
        if place >= self.threads.len() {
            self.threads.resize_with(place + 1, || None);
        }
        self.threads[place] = Some(Handle {
            state,
            ended: false,
        });
    }

    fn join(&mut self, parent: Tid, child: Tid, races: &mut dyn FnMut(&Race)) {
        let (p, c) = (self.ensure(parent), self.ensure(child));
        let Ok([Some(parent), Some(child)]) = self.threads.get_disjoint_mut([p, c]) else {
            return;
        };
        if !child.ended {
            child.ended = true;
            self.detector.end(&mut child.state, races);
        }
        self.detector
            .join(&mut parent.state, &mut child.state, races);
    }
}
