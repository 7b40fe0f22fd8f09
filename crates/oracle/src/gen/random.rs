//! Random well-formed traces.
//!
//! Threads have plans (a critical section, a sweep over an array, a call) and a random scheduler
//! interleaves them; a plan whose next step cannot happen now, such as taking a lock that is held,
//! waits. Equal configurations and seeds give equal traces.

use super::Rng;
use super::patterns::{Array, sweep};
use crate::wellformed::{Checker, Outcome};
use event::{
    AccessKind, Addr, Event, FenceOrder, Func, LoadOrder, Op, RmwOrder, Site, StoreOrder, SyncId,
    Tid,
};
use std::collections::VecDeque;

/// What a random trace is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// At most so many events.
    pub events: usize,
    /// Threads, at least 1.
    pub threads: u32,
    /// Locks, and as many volatiles, channels and barriers as half of that.
    pub locks: u64,
    /// Scalar variables of 8 bytes, side by side.
    pub scalars: u64,
    /// Arrays.
    pub arrays: u64,
    /// Longest array.
    pub max_len: u64,
    /// Sites in the program: events draw theirs at random.
    pub sites: u32,
    /// Elements of 1, 2, 4 and 8 bytes, accesses of any size at any byte.
    pub bytes: bool,
    /// In a hundred accesses to a scalar, how many hold its lock or are to the thread's own.
    pub discipline: u64,
    /// In a hundred things that a thread does with a scalar or an array, how many are orderly: it holds the lock of that one, or it is its
    /// own, or the operation is atomic and so are all others there. What is not orderly is as if this were 0.
    pub order: u64,
    /// Atomics and fences.
    pub atomics: bool,
    /// Volatiles, messages, barriers, read locks.
    pub syncs: bool,
    /// Allocation, freeing and reuse in the middle of the trace.
    pub frees: bool,
    /// Pacer's and LiteRace's marks.
    pub marks: bool,
}

impl Config {
    /// A configuration of the size: few or many threads, locks and sites, with or without each kind of operation.
    pub fn arbitrary(rng: &mut Rng, events: usize) -> Self {
        let most_threads = if rng.one_in(5) { 12 } else { 4 };
        Config {
            events: 1 + rng.below(events as u64) as usize,
            threads: 2 + rng.below(most_threads) as u32,
            locks: 1 + rng.below(4),
            scalars: 1 + rng.below(6),
            arrays: rng.below(4),
            max_len: *rng.pick(&[4, 16, 24, 64]).unwrap_or(&16),
            sites: *rng.pick(&[2, 8, 1000]).unwrap_or(&8),
            bytes: rng.one_in(3),
            discipline: *rng.pick(&[0, 50, 95, 100]).unwrap_or(&50),
            atomics: rng.one_in(2),
            syncs: rng.one_in(2),
            frees: rng.one_in(2),
            marks: rng.one_in(3),
            order: *rng.pick(&[0, 0, 95, 100]).unwrap_or(&0),
        }
    }
}

/// A random trace of a random configuration with at most `events` events.
pub fn arbitrary(seed: u64, events: usize) -> Vec<Event> {
    let mut rng = Rng::new(seed);
    let config = Config::arbitrary(&mut rng, events);
    random(&config, rng.next_u64())
}

/// Some of everything, mostly disciplined: so many events and threads.
pub fn mixed(events: usize, threads: u32) -> Config {
    Config {
        events,
        threads,
        locks: 4,
        scalars: 16,
        arrays: 4,
        max_len: 64,
        sites: 100,
        bytes: false,
        discipline: 95,
        order: 95,
        atomics: true,
        syncs: true,
        frees: true,
        marks: true,
    }
}

/// A random trace.
pub fn random(config: &Config, seed: u64) -> Vec<Event> {
    let mut trace = Vec::new();
    stream(config, seed, &mut |event| trace.push(event));
    trace
}

/// The same, event by event.
pub fn stream(config: &Config, seed: u64, f: &mut dyn FnMut(Event)) {
    World::new(config, seed, f).run();
}

const SCALARS: u64 = 0x1000;
const ATOMICS: u64 = 0x2000;
const ARRAYS: u64 = 0x10_0000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Unborn,
    Alive,
    Dead,
}

struct Thread {
    life: Life,
    plan: VecDeque<Op>,
    calls: Vec<Func>,
    held: Vec<SyncId>,
}

struct World<'a> {
    config: &'a Config,
    rng: Rng,
    checker: Checker,
    threads: Vec<Thread>,
    arrays: Vec<Array>,
    emitted: usize,
    f: &'a mut dyn FnMut(Event),
}

impl<'a> World<'a> {
    fn new(config: &'a Config, seed: u64, f: &'a mut dyn FnMut(Event)) -> Self {
        let mut world = World {
            config,
            rng: Rng::new(seed),
            checker: Checker::new(),
            threads: Vec::new(),
            arrays: Vec::new(),
            emitted: 0,
            f,
        };
        for t in 0..config.threads.max(1) {
            let root = t == 0 || world.rng.one_in(3);
            world.threads.push(Thread {
                life: if root { Life::Alive } else { Life::Unborn },
                plan: VecDeque::from_iter((root && t > 0).then_some(Op::Begin)),
                calls: Vec::new(),
                held: Vec::new(),
            });
        }
        for a in 0..config.arrays {
            let array = world.new_array(a);
            world.arrays.push(array);
            world.alloc(0, a as usize);
        }
        world
    }

    fn new_array(&mut self, index: u64) -> Array {
        let elem = if self.config.bytes {
            *self.rng.pick(&[1, 2, 4, 8]).unwrap_or(&8)
        } else {
            8
        };
        // Arrays lie close together; in byte mode they also begin in the middle of a word.
        let space = (self.config.max_len + 4) * 8;
        let shift = if self.config.bytes {
            u64::from(elem) * self.rng.below(4)
        } else {
            0
        };
        Array {
            base: Addr(ARRAYS + index * space + shift),
            elem,
            len: 1 + self.rng.below(self.config.max_len.max(1)),
            alive: false,
        }
    }

    fn emit(&mut self, thread: usize, op: Op) -> bool {
        if self.emitted >= self.config.events {
            return false;
        }
        let event = Event {
            thread: Tid(thread as u32),
            op,
            site: Site(1 + self.rng.below(u64::from(self.config.sites.max(1))) as u32),
        };
        // Nested acquires are well-formed, but nothing for a detector.
        let held = &self.threads[thread].held;
        if let Op::Acquire(l) | Op::ReadAcquire(l) = op
            && held.contains(&l)
        {
            return false;
        }
        let done = self.checker.step(&event) == Ok(Outcome::Plain);
        if done {
            let held = &mut self.threads[thread].held;
            match op {
                Op::Acquire(l) | Op::ReadAcquire(l) => held.push(l),
                Op::Release(l) | Op::ReadRelease(l) => held.retain(|&h| h != l),
                _ => {}
            }
            self.emitted += 1;
            (self.f)(event);
        }
        done
    }

    fn run(mut self) {
        let mut current = 0;
        let mut refused = 0;
        // Plans may block each other for good: then the trace ends here.
        while self.emitted < self.config.events && refused < 1000 {
            if !self.rng.one_in(3) || self.threads[current].life != Life::Alive {
                current = self.rng.below(self.threads.len() as u64) as usize;
            }
            if self.threads[current].life != Life::Alive {
                refused += 1;
                continue;
            }
            let before = self.emitted;
            match self.threads[current].plan.pop_front() {
                Some(op) => {
                    if !self.emit(current, op) {
                        self.threads[current].plan.push_front(op);
                    }
                }
                None => self.act(current),
            }
            refused = if self.emitted > before {
                0
            } else {
                refused + 1
            };
        }
    }

    fn kind(&mut self) -> AccessKind {
        if self.rng.one_in(2) {
            AccessKind::Write
        } else {
            AccessKind::Read
        }
    }

    fn plan(&mut self, thread: usize, ops: impl IntoIterator<Item = Op>) {
        self.threads[thread].plan.extend(ops);
    }

    fn sync_id(&mut self) -> SyncId {
        SyncId(self.rng.below(self.config.locks.div_ceil(2)))
    }

    /// The thread has nothing to do: it thinks of something.
    fn act(&mut self, me: usize) {
        match self.rng.below(100) {
            0..30 => self.scalar(me),
            30..40 => self.element(me),
            40..58 => self.sweep(me, None),
            58..68 => self.critical_section(me),
            68..76 => self.lifecycle(me),
            76..84 if self.config.atomics => self.atomic(me),
            84..92 if self.config.syncs => self.sync(me),
            92..96 if self.config.frees => self.reallocate(me),
            96..100 if self.config.marks => self.mark(me),
            _ => self.scalar(me),
        }
    }

    fn scalar_access(&mut self, x: u64) -> Op {
        let (offset, size) = if self.config.bytes && !self.rng.one_in(3) {
            let size = *self.rng.pick(&[1, 1, 2, 4, 8, 16, 3, 24]).unwrap_or(&1);
            (self.rng.below(8), size)
        } else {
            (0, 8)
        };
        Op::Access {
            kind: self.kind(),
            addr: Addr(SCALARS + 8 * x + offset),
            size,
        }
    }

    fn scalar(&mut self, me: usize) {
        let x = self.rng.below(self.config.scalars.max(1));
        if let Some(lock) = self.orderly(x) {
            if self.rng.one_in(4) {
                let own = self.scalar_access(self.config.scalars + self.config.locks + me as u64);
                self.emit(me, own);
            } else {
                let mut accesses = vec![self.scalar_access(x)];
                for _ in 0..1 + self.rng.below(4) {
                    accesses.push(self.access_with(lock, false));
                }
                self.plan_with(me, Some(lock), accesses);
            }
            return;
        }
        let access = self.scalar_access(x);
        if self.rng.below(100) >= self.config.discipline {
            self.emit(me, access);
        } else if x % u64::from(self.config.threads.max(1)) == me as u64 {
            // A variable of its own: the others, if disciplined, leave it alone.
            self.emit(me, access);
        } else {
            let lock = SyncId(x % self.config.locks.max(1));
            let again = self.scalar_access(x);
            self.plan(me, [Op::Acquire(lock), access, again, Op::Release(lock)]);
        }
    }

    fn some_array(&mut self) -> Option<(usize, Array)> {
        let index = self.rng.below(self.arrays.len() as u64) as usize;
        let array = *self.arrays.get(index)?;
        (array.alive || self.rng.one_in(4)).then_some((index, array))
    }

    /// The lock to hold for what comes next, if it is orderly: the one with this number.
    fn orderly(&mut self, number: u64) -> Option<SyncId> {
        let order = self.config.order;
        (order > 0 && self.rng.below(100) < order)
            .then_some(SyncId(number % self.config.locks.max(1)))
    }

    /// Plans these with the lock, if there is one.
    fn plan_with(&mut self, me: usize, lock: Option<SyncId>, ops: impl IntoIterator<Item = Op>) {
        self.plan(me, lock.map(Op::Acquire));
        self.plan(me, ops);
        self.plan(me, lock.map(Op::Release));
    }

    fn element(&mut self, me: usize) {
        let Some((index, array)) = self.some_array() else {
            return self.scalar(me);
        };
        match self.orderly(index as u64) {
            Some(lock) => {
                let count = 1 + self.rng.below(4);
                let accesses: Vec<Op> = (0..count).map(|_| self.element_of(array)).collect();
                self.plan_with(me, Some(lock), accesses);
            }
            None => {
                let access = self.element_of(array);
                self.emit(me, access);
            }
        }
    }

    fn element_of(&mut self, array: Array) -> Op {
        let kind = self.kind();
        let (addr, size) = if self.config.bytes && self.rng.one_in(3) {
            let bytes = array.len * u64::from(array.elem);
            let at = self.rng.below(bytes);
            let size = 1 + self.rng.below((bytes - at).min(16));
            (Addr(array.base.0 + at), size as u32)
        } else {
            let i = self.rng.below(array.len);
            (array.elements(0, 0, 1).addr(i), u32::from(array.elem))
        };
        Op::Access { kind, addr, size }
    }

    /// A walk over an array, by who holds that lock, perhaps for reading, or none.
    fn sweep(&mut self, me: usize, held: Option<(SyncId, bool)>) {
        let Some((index, array)) = self.some_array() else {
            return;
        };
        let mut kind = self.kind();
        let mut lock = self.orderly(index as u64);
        if let Some((held, read)) = held {
            // Who holds a lock takes no other: an orderly one leaves the array of another alone.
            if lock.take().is_some_and(|lock| lock != held) {
                return;
            }
            if read && self.config.order > 0 {
                kind = AccessKind::Read;
            }
        }
        let threads = u64::from(self.config.threads);
        let ops = sweep(&mut self.rng, array, me as u64, threads, kind);
        self.plan_with(me, lock, ops);
    }

    /// An access to a scalar by who holds the lock, perhaps for reading: if orderly, one that it protects.
    fn access_with(&mut self, lock: SyncId, read: bool) -> Op {
        let x = self.rng.below(self.config.scalars.max(1));
        if self.orderly(0).is_none() {
            return self.scalar_access(x);
        }
        let locks = self.config.locks.max(1);
        let protected = x / locks * locks + lock.0;
        match self.scalar_access(protected) {
            Op::Access { addr, size, .. } if read => Op::Access {
                kind: AccessKind::Read,
                addr,
                size,
            },
            access => access,
        }
    }

    fn critical_section(&mut self, me: usize) {
        let lock = SyncId(self.rng.below(self.config.locks.max(1)));
        let read = self.config.syncs && self.rng.one_in(3);
        self.plan(
            me,
            [if read {
                Op::ReadAcquire(lock)
            } else {
                Op::Acquire(lock)
            }],
        );
        for _ in 0..self.rng.below(4) {
            let access = self.access_with(lock, read);
            self.plan(me, [access]);
        }
        if self.rng.one_in(2) {
            self.sweep(me, Some((lock, read)));
        }
        // Inner locks have greater numbers, so that nobody waits in a circle.
        let inner = SyncId(lock.0 + 1);
        if inner.0 < self.config.locks && self.rng.one_in(3) {
            let access = self.access_with(inner, false);
            self.plan_with(me, Some(inner), [access]);
        }
        self.plan(
            me,
            [if read {
                Op::ReadRelease(lock)
            } else {
                Op::Release(lock)
            }],
        );
    }

    fn lifecycle(&mut self, me: usize) {
        let other = self.rng.below(self.threads.len() as u64) as usize;
        let other_tid = Tid(other as u32);
        match self.threads[other].life {
            Life::Unborn => {
                if self.emit(me, Op::Fork(other_tid)) {
                    self.threads[other].life = Life::Alive;
                    if self.rng.one_in(2) {
                        self.plan(other, [Op::Begin]);
                    }
                }
            }
            // Sometimes of a thread that somebody else has joined before.
            Life::Dead => {
                self.emit(me, Op::Join(other_tid));
            }
            Life::Alive if other == me => {
                // The first thread stays, so that somebody always acts.
                if me != 0
                    && self.threads[me].plan.is_empty()
                    && self.lived()
                    && self.emit(me, Op::End)
                {
                    self.threads[me].life = Life::Dead;
                }
            }
            // A thread may end without saying so.
            Life::Alive if other != 0 && self.threads[other].plan.is_empty() => {
                if self.rng.one_in(2) && self.lived() && self.emit(me, Op::Join(other_tid)) {
                    self.threads[other].life = Life::Dead;
                }
            }
            Life::Alive => {}
        }
    }

    /// Has a thread lived long enough? The longer the trace, the longer it lives: else the first one would soon be alone.
    fn lived(&mut self) -> bool {
        let patience = self.config.events as u64 / 1000;
        patience <= 1 || self.rng.one_in(patience)
    }

    fn atomic(&mut self, me: usize) {
        if self.rng.one_in(4) {
            let orders = [
                FenceOrder::Acquire,
                FenceOrder::Release,
                FenceOrder::AcqRel,
                FenceOrder::SeqCst,
            ];
            let order = *self.rng.pick(&orders).unwrap_or(&FenceOrder::SeqCst);
            self.emit(me, Op::Fence(order));
            return;
        }
        // One size per address, so that objects do not overlap.
        let (addr, size) = match self.some_array() {
            _ if self.orderly(0).is_some() => {
                let x = self.rng.below(self.config.scalars.max(1));
                (Addr(ATOMICS + 8 * x), 8)
            }
            Some((_, array)) if self.rng.one_in(4) && array.base.0.is_multiple_of(8) => {
                let i = self.rng.below(array.len);
                (array.elements(0, 0, 1).addr(i), u32::from(array.elem))
            }
            _ => {
                let x = self.rng.below(self.config.scalars.max(1));
                let size = if self.config.bytes && x % 2 == 1 {
                    4
                } else {
                    8
                };
                (Addr(SCALARS + 8 * x), size)
            }
        };
        let loads = [LoadOrder::Relaxed, LoadOrder::Acquire, LoadOrder::SeqCst];
        let stores = [StoreOrder::Relaxed, StoreOrder::Release, StoreOrder::SeqCst];
        let rmws = [
            RmwOrder::Relaxed,
            RmwOrder::Acquire,
            RmwOrder::Release,
            RmwOrder::AcqRel,
            RmwOrder::SeqCst,
        ];
        let op = match self.rng.below(3) {
            0 => Op::Load {
                addr,
                size,
                order: *self.rng.pick(&loads).unwrap_or(&LoadOrder::SeqCst),
            },
            1 => Op::Store {
                addr,
                size,
                order: *self.rng.pick(&stores).unwrap_or(&StoreOrder::SeqCst),
            },
            _ => Op::Rmw {
                addr,
                size,
                order: *self.rng.pick(&rmws).unwrap_or(&RmwOrder::SeqCst),
            },
        };
        self.emit(me, op);
    }

    fn sync(&mut self, me: usize) {
        let id = self.sync_id();
        match self.rng.below(8) {
            0 => drop(self.emit(me, Op::VolatileRead(id))),
            1 => drop(self.emit(me, Op::VolatileWrite(id))),
            2 | 3 => drop(self.emit(me, Op::Send(id))),
            4 => drop(self.emit(me, Op::Receive(id))),
            5 => self.plan(me, [Op::Arrive(id), Op::Depart(id)]),
            _ => self.barrier(id),
        }
    }

    /// All living threads meet at a barrier, as far as they are not waiting at it.
    fn barrier(&mut self, id: SyncId) {
        let mut there = Vec::new();
        for t in 0..self.threads.len() {
            if self.threads[t].life == Life::Alive
                && self.threads[t].plan.front() != Some(&Op::Begin)
                && self.emit(t, Op::Arrive(id))
            {
                there.push(t);
            }
        }
        while !there.is_empty() {
            let i = self.rng.below(there.len() as u64) as usize;
            let t = there.swap_remove(i);
            if self.rng.one_in(6) {
                self.threads[t].plan.push_front(Op::Depart(id));
            } else {
                self.emit(t, Op::Depart(id));
            }
        }
    }

    fn alloc(&mut self, me: usize, index: usize) {
        let Array {
            base, elem, len, ..
        } = self.arrays[index];
        let op = Op::Alloc {
            addr: base,
            elem,
            len,
        };
        self.arrays[index].alive = self.emit(me, op);
    }

    fn reallocate(&mut self, me: usize) {
        let index = self.rng.below(self.arrays.len() as u64) as usize;
        let Some(&array) = self.arrays.get(index) else {
            return self.scalar(me);
        };
        let lock = self.orderly(index as u64);
        if lock.is_some_and(|lock| !self.emit(me, Op::Acquire(lock))) {
            return;
        }
        if array.alive && self.rng.one_in(5) {
            // Over a part of it, as a mapping is laid over another: the rest is accessed as before, and so is the new block.
            let from = self.rng.below(array.len);
            let op = Op::Alloc {
                addr: Addr(array.base.0 + from * u64::from(array.elem)),
                elem: array.elem,
                len: 1 + self.rng.below(array.len - from),
            };
            self.emit(me, op);
        } else if array.alive && self.rng.one_in(4) {
            // Over the old one, as a stack is laid over another.
            self.arrays[index] = self.new_array(index as u64);
            self.alloc(me, index);
        } else if array.alive {
            let freed = self.emit(me, Op::Free { addr: array.base });
            self.arrays[index].alive = !freed;
        } else {
            self.arrays[index] = self.new_array(index as u64);
            self.alloc(me, index);
        }
        if let Some(lock) = lock {
            self.emit(me, Op::Release(lock));
        }
    }

    fn mark(&mut self, me: usize) {
        match self.rng.below(4) {
            0 => drop(self.emit(me, Op::SampleBegin) || self.emit(me, Op::SampleEnd)),
            1 | 2 => {
                let func = Func(self.rng.below(4) as u32);
                if self.emit(me, Op::Enter(func)) {
                    self.threads[me].calls.push(func);
                }
            }
            _ => {
                if let Some(&func) = self.threads[me].calls.last()
                    && self.emit(me, Op::Exit(func))
                {
                    self.threads[me].calls.pop();
                }
            }
        }
    }
}
