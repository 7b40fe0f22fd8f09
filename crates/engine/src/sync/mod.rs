//! Happens-before, kept up to date: what each sync object knows, and how threads learn it.
//!
//! The edges are those of the table in `event`. [`HappensBefore`] is shared by all threads; each thread brings its own
//! [`ThreadClock`]. It knows nothing of the shadow, so any detector can be built on it.

mod atomic;
mod barrier;
pub mod lent;
mod objects;
pub mod quick;
mod table;

use event::{SyncId, Tid};

use crate::clock::{Clock, Limits, Published, Release, Slots, ThreadClock};
use crate::detector::SyncOp;
pub use atomic::Effect;
pub use table::Bracket;
use table::Table;

/// The order of all events so far.
#[derive(Debug)]
pub struct HappensBefore {
    slots: Slots,
    table: Table,
    /// Do threads count versions?
    versioned: bool,
}

impl Default for HappensBefore {
    fn default() -> HappensBefore {
        HappensBefore::new(Limits::CELL)
    }
}

impl HappensBefore {
    /// Nothing happened yet.
    pub fn new(limits: Limits) -> HappensBefore {
        HappensBefore {
            slots: Slots::new(limits),
            table: Table::new(),
            versioned: false,
        }
    }

    /// The same for threads that count versions (Pacer).
    pub fn versioned(limits: Limits) -> HappensBefore {
        HappensBefore {
            versioned: true,
            ..HappensBefore::new(limits)
        }
    }

    /// Names of slots: who was there, which sites.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// A thread that nobody forked.
    pub fn root(&self, tid: Tid) -> ThreadClock {
        let received = self.versioned.then(Clock::new);
        ThreadClock::new(&self.slots, tid, Clock::new(), received)
    }

    /// `Fork`: what the parent did so far happens before all that the child does.
    pub fn fork(&self, parent: &mut ThreadClock, tid: Tid) -> ThreadClock {
        let (past, received) = parent.publish(&self.slots).into_clocks();
        ThreadClock::new(&self.slots, tid, past, received)
    }

    /// `End`: the thread's slot can be used again by those who know that it ended.
    pub fn end(&self, thread: &mut ThreadClock) {
        thread.end(&self.slots);
    }

    /// `Join`: all that the child did happened before what the thread does from now on.
    pub fn join(&self, thread: &mut ThreadClock, child: &mut ThreadClock) {
        let mut published = Published::new();
        published.replace(child.last(&self.slots));
        thread.learn(&published);
    }

    /// Synchronisation that is not an access to memory. Who knows which operation it is has nothing to decide.
    #[inline(always)]
    pub fn sync(&self, thread: &mut ThreadClock, op: SyncOp) {
        match op {
            SyncOp::Acquire(lock) => self.acquire(thread, lock),
            SyncOp::Release(lock) => self.release(thread, lock),
            _ => self.sync_rarely(thread, op),
        }
    }

    fn acquire(&self, thread: &mut ThreadClock, lock: SyncId) {
        self.table.lock(lock, |l| {
            thread.learn(&l.released);
            if !l.read_released.is_empty() {
                thread.learn(&l.read_released);
            }
        });
    }

    fn release(&self, thread: &mut ThreadClock, lock: SyncId) {
        self.table.lock(lock, |l| {
            thread.release(&self.slots, &mut l.released, Release::Add);
            // Whoever acquires learns the readers' part from here too, then.
            if !l.read_released.is_empty() && thread.knows(&l.read_released) {
                l.read_released = Published::new();
            }
        });
    }

    fn sync_rarely(&self, thread: &mut ThreadClock, op: SyncOp) {
        match op {
            SyncOp::Acquire(lock) => self.acquire(thread, lock),
            SyncOp::Release(lock) => self.release(thread, lock),
            SyncOp::ReadAcquire(lock) => self.table.lock(lock, |l| thread.learn(&l.released)),
            SyncOp::ReadRelease(lock) => self.table.lock(lock, |l| {
                thread.release(&self.slots, &mut l.read_released, Release::Add);
            }),
            SyncOp::VolatileWrite(id) => self.table.volatile(id, |v| {
                thread.release(&self.slots, v, Release::Add);
            }),
            SyncOp::VolatileRead(id) => self.table.volatile(id, |v| thread.learn(v)),
            SyncOp::Send(id) => self.table.channel(id, |c| {
                thread.release(&self.slots, c, Release::Add);
            }),
            SyncOp::Receive(id) => self.table.channel(id, |c| thread.learn(c)),
            SyncOp::Arrive(id) => {
                let snapshot = thread.publish(&self.slots);
                self.table.barrier(id, |b| {
                    thread.copied(b.arrive(thread.tid(), snapshot));
                });
            }
            SyncOp::Depart(id) => self.table.barrier(id, |b| {
                if let Some(round) = b.depart(thread.tid()) {
                    thread.learn(round);
                }
            }),
            SyncOp::Fence(order) => self.fence(thread, order),
        }
    }

    /// How many bytes it takes, by what they are used for.
    pub fn bytes(&self, f: &mut dyn FnMut(&'static str, u64)) {
        f("numbers of sites", self.slots.bytes());
        self.table.bytes(f);
    }

    /// Forgets a lock, volatile, channel and barrier of that name: nobody will use it again.
    pub fn forget(&self, id: SyncId) {
        self.table.forget(id);
    }
}
