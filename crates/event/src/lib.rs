//! The vocabulary of an execution, and what each word means.
//!
//! An execution is a sequence of [`Event`]s. Whether it came from a text file, a binary trace or a
//! running program, the detectors see the same events, so this file is also the *definition* that
//! both `engine` and `oracle` implement, each on its own.
//!
//! # Memory
//!
//! Memory is bytes at addresses below [`Addr::END`]. An access covers `size` bytes at `addr`; a range access covers
//! elements of a block, evenly spaced. Two accesses *conflict* if they come from different threads,
//! share a byte, at least one of them writes, and they are not both atomic.
//! A **race** is a conflict between accesses that happens-before does not order, in either
//! direction. Verdicts are per byte: neighbours in one word do not race.
//!
//! [`Op::Alloc`] makes the block's bytes fresh: what happened to them before is forgotten.
//! [`Op::Free`] is a plain write to every byte of the block.
//!
//! # Happens-before
//!
//! Happens-before is the smallest transitive relation that contains the order of each thread's own
//! events and these edges, where "earlier" and "later" speak of the order of the events in the
//! execution:
//!
//! | from | to |
//! |---|---|
//! | `Fork(u)` | every event of `u` |
//! | every event of `u` | a later `Join(u)` |
//! | each earlier `Release(l)` | `Acquire(l)`, `ReadAcquire(l)` |
//! | each earlier `ReadRelease(l)` | `Acquire(l)` |
//! | each earlier `VolatileWrite(x)` | `VolatileRead(x)` |
//! | each earlier `Send(g)` | `Receive(g)` |
//! | each `Arrive(b)` of a round | each `Depart(b)` of that round |
//! | a releasing store or fence | an acquiring load or fence, as below |
//!
//! **Barriers.** A round collects `Arrive`s until its first `Depart` closes it; later `Arrive`s open
//! the next round. A thread departs from the round of its own last `Arrive`.
//!
//! **Atomics** follow C++20. Atomic accesses to an address read from the last `Store` or `Rmw` of
//! that address in the execution (an `Rmw` reads, then writes). A store or read-modify-write *A* heads a
//! *release sequence*: itself and the unbroken run of `Rmw`s that follow it in the order of writes to
//! that address, by any thread; a `Store` by anyone ends it. *A* **releases** what precedes it in its thread
//! if its order is release or stronger, and else what precedes the last releasing fence that its
//! thread executed before *A*, if there is one. (A releasing *A* that also follows a fence releases
//! both, which is the same: the fence precedes *A*.) A read of a member of *A*'s release sequence **acquires** it: at once, if the
//! order of the read is acquire or stronger; and else at the next acquiring fence of its thread.
//! `SeqCst` adds nothing to happens-before beyond acquire and release, for accesses and for fences.
//! A failed compare-exchange is a `Load`. Atomic accesses are accesses: an atomic and a plain access to
//! the same byte, unordered, race if one of them writes. `Store` and `Rmw` write, `Load` and `Rmw` read.
//! An address is the same atomic object for every size used at it. Plain writes, `Alloc` and `Free`
//! of a byte of the object (of any atomic write to it since it was last reset) reset it: a load after that reads from no
//! atomic store.
//!
//! Volatiles, locks, messages and barriers are not memory: they cannot race.
//! `Begin`, `End`, `SampleBegin`, `SampleEnd`, `Enter` and `Exit` order nothing.
#![no_std]
#![forbid(unsafe_code)]

use core::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $repr);
    };
}

id! {
    /// A thread of the execution. Never reused within an execution; detectors map it to a slot of their own.
    Tid(u32)
}
id! {
    /// A byte address.
    Addr(u64)
}
id! {
    /// Where in the program an event comes from. Opaque to detectors; equal sites are "the same line".
    Site(u32)
}
id! {
    /// A lock, volatile, message channel or barrier. Each kind has a name space of its own.
    SyncId(u64)
}
id! {
    /// A function, for samplers that count calls.
    Func(u32)
}

impl Addr {
    /// One past the last address: what a program has on x86-64.
    pub const END: u64 = 1 << 47;
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// What an access does to memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccessKind {
    /// It only looks.
    Read,
    /// It changes memory (or may, as far as a race is concerned).
    Write,
}

/// Orders an atomic load can have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum LoadOrder {
    Relaxed,
    Acquire,
    SeqCst,
}

/// Orders an atomic store can have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum StoreOrder {
    Relaxed,
    Release,
    SeqCst,
}

/// Orders a read-modify-write can have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum RmwOrder {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

/// Orders a fence can have (a relaxed fence is no fence).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum FenceOrder {
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl LoadOrder {
    /// Does the load itself acquire?
    pub const fn acquires(self) -> bool {
        !matches!(self, LoadOrder::Relaxed)
    }
}

impl StoreOrder {
    /// Does the store itself release?
    pub const fn releases(self) -> bool {
        !matches!(self, StoreOrder::Relaxed)
    }
}

impl RmwOrder {
    /// Does the read part acquire?
    pub const fn acquires(self) -> bool {
        matches!(
            self,
            RmwOrder::Acquire | RmwOrder::AcqRel | RmwOrder::SeqCst
        )
    }
    /// Does the write part release?
    pub const fn releases(self) -> bool {
        matches!(
            self,
            RmwOrder::Release | RmwOrder::AcqRel | RmwOrder::SeqCst
        )
    }
}

impl FenceOrder {
    /// Do later events see what earlier relaxed loads read?
    pub const fn acquires(self) -> bool {
        !matches!(self, FenceOrder::Release)
    }
    /// Do later relaxed stores publish what precedes the fence?
    pub const fn releases(self) -> bool {
        !matches!(self, FenceOrder::Acquire)
    }
}

/// Evenly spaced elements of a block: `base + elem * i` for `i` in `lo, lo + stride, … < hi`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Elements {
    /// First byte of element 0.
    pub base: Addr,
    /// Bytes in an element: 1, 2, 4 or 8.
    pub elem: u8,
    /// First element.
    pub lo: u64,
    /// One past the last element that may be included.
    pub hi: u64,
    /// Distance between elements, at least 1.
    pub stride: u64,
}

impl Elements {
    /// The indices, in ascending order.
    pub fn indices(self) -> impl Iterator<Item = u64> {
        (self.lo..self.hi).step_by(usize::try_from(self.stride.max(1)).unwrap_or(usize::MAX))
    }
    /// How many elements.
    pub const fn len(self) -> u64 {
        if self.hi <= self.lo {
            0
        } else if self.stride == 1 {
            // Most ranges, and no division.
            self.hi - self.lo
        } else {
            (self.hi - self.lo).div_ceil(self.stride)
        }
    }
    /// No element at all?
    pub const fn is_empty(self) -> bool {
        self.hi <= self.lo
    }
    /// First byte of element `i`.
    pub const fn addr(self, i: u64) -> Addr {
        Addr(self.base.0 + i * self.elem as u64)
    }
}

/// What one thread does in one step. See the crate documentation for what each one orders.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A plain access to `size` bytes.
    Access {
        /// Read or write.
        kind: AccessKind,
        /// First byte.
        addr: Addr,
        /// Number of bytes, at least 1.
        size: u32,
    },
    /// A plain access to every element named, as one event.
    Range {
        /// Read or write.
        kind: AccessKind,
        /// Which elements.
        elements: Elements,
    },
    /// A block of `len` elements of `elem` bytes comes into being.
    Alloc {
        /// First byte.
        addr: Addr,
        /// Bytes in an element (a hint: accesses may be finer).
        elem: u8,
        /// Number of elements.
        len: u64,
    },
    /// The block at `addr` goes away.
    Free {
        /// First byte, as given by its `Alloc`.
        addr: Addr,
    },
    /// The thread now holds the lock, alone.
    Acquire(SyncId),
    /// The thread gives the lock back.
    Release(SyncId),
    /// The thread now holds the lock, with other readers.
    ReadAcquire(SyncId),
    /// The thread gives its share of the lock back.
    ReadRelease(SyncId),
    /// Read of a Java volatile.
    VolatileRead(SyncId),
    /// Write of a Java volatile.
    VolatileWrite(SyncId),
    /// Atomic load.
    Load {
        /// First byte.
        addr: Addr,
        /// Number of bytes.
        size: u32,
        /// Memory order.
        order: LoadOrder,
    },
    /// Atomic store.
    Store {
        /// First byte.
        addr: Addr,
        /// Number of bytes.
        size: u32,
        /// Memory order.
        order: StoreOrder,
    },
    /// Atomic read-modify-write that wrote.
    Rmw {
        /// First byte.
        addr: Addr,
        /// Number of bytes.
        size: u32,
        /// Memory order.
        order: RmwOrder,
    },
    /// A standalone fence.
    Fence(FenceOrder),
    /// Puts a message into a channel.
    Send(SyncId),
    /// Takes a message out of a channel.
    Receive(SyncId),
    /// Reaches a barrier.
    Arrive(SyncId),
    /// Leaves a barrier.
    Depart(SyncId),
    /// Creates a thread.
    Fork(Tid),
    /// Waits for a thread's end.
    Join(Tid),
    /// First event of a thread.
    Begin,
    /// Last event of a thread.
    End,
    /// Pacer: a global sampling period begins.
    SampleBegin,
    /// Pacer: the sampling period ends.
    SampleEnd,
    /// LiteRace: a call.
    Enter(Func),
    /// LiteRace: its return.
    Exit(Func),
}

/// One step of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    /// Who.
    pub thread: Tid,
    /// What.
    pub op: Op,
    /// Where in the program.
    pub site: Site,
}
