//! What every detector offers, and what it says when it finds a race.

use event::{
    AccessKind, Addr, Elements, FenceOrder, LoadOrder, RmwOrder, Site, StoreOrder, SyncId, Tid,
};

use crate::sync::{Bracket, HappensBefore};

/// One side of a race.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Side {
    /// Who made the access.
    pub thread: Tid,
    /// What it did.
    pub kind: AccessKind,
    /// Was it an atomic operation?
    pub atomic: bool,
    /// Where in the program.
    pub site: Site,
}

/// Two conflicting accesses that happens-before does not order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Race {
    /// First byte that both touched.
    pub addr: Addr,
    /// How many bytes from there on, all of them shared by both.
    pub size: u32,
    /// If one check found the same two accesses to race on several elements: all of them, those of this race included. Each is
    /// reported, too.
    pub elements: Option<Elements>,
    /// The earlier access, as the shadow remembers it.
    pub first: Side,
    /// The access that was just checked.
    pub second: Side,
}

/// A plain access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Read or write.
    pub kind: AccessKind,
    /// First byte.
    pub addr: Addr,
    /// Number of bytes.
    pub size: u32,
    /// Where in the program.
    pub site: Site,
}

/// Synchronisation that is not an access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "named and defined in `event`")]
pub enum SyncOp {
    Acquire(SyncId),
    Release(SyncId),
    ReadAcquire(SyncId),
    ReadRelease(SyncId),
    VolatileRead(SyncId),
    VolatileWrite(SyncId),
    Send(SyncId),
    Receive(SyncId),
    Arrive(SyncId),
    Depart(SyncId),
    Fence(FenceOrder),
}

/// An atomic access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "named and defined in `event`")]
pub enum AtomicOp {
    Load(LoadOrder),
    Store(StoreOrder),
    Rmw(RmwOrder),
}

/// Receives each race as it is found. Called rarely; may be called again for the same pair.
pub type Sink<'a> = &'a mut dyn FnMut(&Race);

/// How often each rule of a detector fired, by the paper's name for it.
pub trait Counters {
    /// Calls `f` with each rule's name and count.
    fn each(&self, f: &mut dyn FnMut(&'static str, u64));
}

/// A detector: state shared by all threads (`&self`), and state that belongs to one thread
/// (`&mut Thread`), which only that thread's events touch. All methods may be called by different
/// threads at the same time; calls are linearised at the shadow, so that of two unordered
/// conflicting accesses at least the later one finds the other.
pub trait Detector: Send + Sync {
    /// What a thread carries.
    type Thread: Send + Counters;

    /// A thread that nobody forked: the first one, or one that appears from nowhere.
    fn root(&self, tid: Tid) -> Self::Thread;
    /// `parent` creates thread `tid`.
    fn fork(&self, parent: &mut Self::Thread, tid: Tid, races: Sink<'_>) -> Self::Thread;
    /// The thread's last event. Afterwards it is only joined, or dropped if nobody joins it.
    fn end(&self, thread: &mut Self::Thread, races: Sink<'_>);
    /// `thread` waited for `child`, whose events are all in its past from now on.
    fn join(&self, thread: &mut Self::Thread, child: &mut Self::Thread, races: Sink<'_>);

    /// A plain access.
    fn access(&self, thread: &mut Self::Thread, access: Access, races: Sink<'_>);
    /// A plain access to many elements at once.
    fn range(
        &self,
        thread: &mut Self::Thread,
        kind: AccessKind,
        elements: Elements,
        site: Site,
        races: Sink<'_>,
    );
    /// A block comes into being: its bytes start fresh.
    fn alloc(
        &self,
        thread: &mut Self::Thread,
        addr: Addr,
        elem: u8,
        len: u64,
        site: Site,
        races: Sink<'_>,
    );
    /// `bytes` bytes become fresh without being a block that is used as a whole: a thread's stack, a range given back to
    /// the system.
    fn renew(&self, thread: &mut Self::Thread, addr: Addr, bytes: u64, races: Sink<'_>) {
        self.alloc(thread, addr, 1, bytes, Site(0), races);
    }
    /// A block of `bytes` bytes goes away: a write to all of it.
    fn free(&self, thread: &mut Self::Thread, addr: Addr, bytes: u64, site: Site, races: Sink<'_>);
    /// What it knows of happens-before. Atomic operations are presented within a bracket of it.
    fn order(&self) -> &HappensBefore;
    /// An atomic access to memory, within its bracket: operations on one address are presented in the order in which they
    /// took effect.
    fn bracketed(
        &self,
        thread: &mut Self::Thread,
        bracket: &mut Bracket<'_>,
        size: u32,
        op: AtomicOp,
        site: Site,
        races: Sink<'_>,
    );
    /// An atomic access that nobody made but the event says so.
    fn atomic(
        &self,
        thread: &mut Self::Thread,
        addr: Addr,
        size: u32,
        op: AtomicOp,
        site: Site,
        races: Sink<'_>,
    ) {
        let mut bracket = self.order().bracket(addr);
        self.bracketed(thread, &mut bracket, size, op, site, races);
    }
    /// Synchronisation that is not an access.
    fn sync(&self, thread: &mut Self::Thread, op: SyncOp, races: Sink<'_>);
    /// Events that only some detectors look at; the others ignore them.
    fn hint(&self, _thread: &mut Self::Thread, _hint: Hint) {}
    /// Were there more threads at a time than can be told apart? Then what the detector says since is worth nothing.
    fn exhausted(&self) -> bool {
        self.order().slots().exhausted()
    }
    /// How blocks are or were shadowed, for statistics. Detectors with one location for each element
    /// have nothing to tell.
    fn shadow(&self, _f: &mut dyn FnMut(&BlockShadow)) {}
    /// How many bytes the shadow takes, by what they are used for.
    fn bytes(&self, _f: &mut dyn FnMut(&'static str, u64)) {}
}

/// How a block of memory is shadowed, or was at its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockShadow {
    /// First byte of the block. Of several blocks, of one of them.
    pub addr: Addr,
    /// Where it was allocated.
    pub site: Site,
    /// Of how many blocks this tells, all from one site and with the same kind of partition. 1 for most; those of the past are too many to be
    /// remembered one by one.
    pub blocks: u64,
    /// Its elements, of the size that accesses asked for.
    pub elements: u64,
    /// Its shadow locations.
    pub locations: u64,
    /// Its partition, by the paper's name, such as `BLOCK(4)`; of several blocks only the kind, `BLOCK`.
    pub partition: alloc::string::String,
    /// Is it gone?
    pub freed: bool,
}

/// Marks in the execution that order nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Hint {
    /// Pacer: a global sampling period begins or ends.
    Sampling(bool),
    /// LiteRace: a function is entered.
    Enter(event::Func),
    /// LiteRace: and left.
    Exit(event::Func),
}
