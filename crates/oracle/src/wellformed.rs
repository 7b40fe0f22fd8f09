//! Which sequences of events are executions.
//!
//! | about | rule |
//! |---|---|
//! | threads | `Begin` comes first, nothing after `End` or after somebody's `Join`; forked at most once, before its first event, not by itself; only a thread that was forked or has acted is joined |
//! | locks | one writer or any number of readers; released by who holds it. Nesting is allowed and changes nothing: the inner pair is [`Outcome::Nested`] |
//! | memory | accesses have at least one byte and at most 2^31, and lie below [`Addr::END`]; elements have 1, 2, 4 or 8 bytes; only blocks that are alive are freed, each by its first byte; a block allocated over others ends them (a stack or a mapping is used again) |
//! | barriers | each thread arrives and departs in turn |
//! | marks | sampling periods do not nest; `Exit` leaves the function entered last |
//!
//! Memory outside of any block, or freed, may be accessed. A thread that nobody forks is a root. A
//! `Receive` without a `Send` is allowed: it orders nothing. An execution may stop anywhere.
//!
//! The [`Checker`] works event by event, in memory that does not grow with the number of accesses, so that a reader of a
//! long trace can use it too.

use event::{Addr, Elements, Event, Func, Op, SyncId, Tid};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// An event that cannot happen where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Index of the event.
    pub event: usize,
    /// What is wrong.
    pub what: What,
}

/// What is wrong with an event.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the text of each says it")]
pub enum What {
    BeginNotFirst,
    AfterEnd,
    AfterJoin,
    ForkedItself,
    ForkedTwice(Tid),
    ForkedTooLate(Tid),
    JoinedItself,
    JoinedUnknown(Tid),
    LockHeld { lock: SyncId, by: Tid },
    LockRead { lock: SyncId },
    LockNotHeld { lock: SyncId },
    BadSize,
    BadElement(u8),
    BadStride,
    Wraps,
    TooLarge,
    NotABlock(Addr),
    ArrivedTwice(SyncId),
    NotArrived(SyncId),
    SamplingAlready,
    NotSampling,
    ExitWithoutEnter(Func),
}

impl What {
    /// What would have been right here, if there is something to say.
    pub fn expected(&self) -> &'static str {
        match self {
            What::BeginNotFirst => "`begin` as the thread's first event, or not at all",
            What::AfterEnd => "no event of this thread after its `end`",
            What::AfterJoin => "no event of this thread once it has been joined",
            What::ForkedItself | What::ForkedTwice(_) => "a new thread",
            What::ForkedTooLate(_) => "the fork before the thread's first event",
            What::JoinedItself => "another thread",
            What::JoinedUnknown(_) => "a thread that was forked or has acted before",
            What::LockHeld { .. } => "its release before this",
            What::LockRead { .. } => "no reader left when a writer takes the lock",
            What::LockNotHeld { .. } => {
                "an acquire of the same lock, in the same mode, by this thread before"
            }
            What::BadSize => "at least one byte",
            What::BadElement(_) => "elements of 1, 2, 4 or 8 bytes",
            What::BadStride => "a stride of at least 1",
            What::TooLarge => "at most 2 GiB in one access",
            What::Wraps => "bytes below 2^47, where programs live",
            What::NotABlock(_) => "the first byte of a block that was allocated and not yet freed",
            What::ArrivedTwice(_) => "a depart between two arrivals of a thread",
            What::NotArrived(_) => "an arrive of this thread before",
            What::SamplingAlready => "the end of the sampling period first",
            What::NotSampling => "the beginning of a sampling period first",
            What::ExitWithoutEnter(_) => {
                "the function that this thread entered last and has not left"
            }
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::BeginNotFirst => write!(f, "the thread has begun already"),
            What::AfterEnd => write!(f, "the thread has ended already"),
            What::AfterJoin => write!(f, "the thread has been joined already"),
            What::ForkedItself => write!(f, "a thread cannot fork itself"),
            What::ForkedTwice(_) => write!(f, "this thread has been forked already"),
            What::ForkedTooLate(_) => write!(f, "this thread runs already"),
            What::JoinedItself => write!(f, "a thread cannot join itself"),
            What::JoinedUnknown(_) => write!(f, "there is no such thread to join"),
            What::LockHeld { .. } => {
                write!(f, "the lock is held by another thread, or in another mode")
            }
            What::LockRead { .. } => write!(f, "the lock is held by readers"),
            What::LockNotHeld { .. } => write!(f, "the thread does not hold this lock"),
            What::BadSize => write!(f, "the access has no bytes"),
            What::BadElement(n) => write!(f, "elements of {n} bytes"),
            What::BadStride => write!(f, "a stride of 0"),
            What::TooLarge => write!(f, "the access is too large"),
            What::Wraps => write!(
                f,
                "the memory named reaches beyond the end of the address space"
            ),
            What::NotABlock(_) => write!(f, "no living block begins here"),
            What::ArrivedTwice(_) => write!(f, "the thread waits at this barrier already"),
            What::NotArrived(_) => write!(f, "the thread has not arrived at this barrier"),
            What::SamplingAlready => write!(f, "a sampling period is going on already"),
            What::NotSampling => write!(f, "there is no sampling period to end"),
            What::ExitWithoutEnter(_) => write!(f, "this is not the function to leave"),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "event {}: {}; expected {}",
            self.event + 1,
            self.what,
            self.what.expected()
        )
    }
}

impl std::error::Error for Malformed {}

/// What an allowed event means to who consumes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// What it says.
    Plain,
    /// An inner acquire or release of a lock that the thread keeps: orders nothing.
    Nested,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Life {
    /// Neither forked nor seen.
    #[default]
    Unknown,
    Forked,
    Running,
    Ended,
    Joined,
}

#[derive(Debug, Default)]
struct Thread {
    life: Life,
    calls: Vec<Func>,
    waiting_at: Vec<SyncId>,
}

#[derive(Debug, Default)]
enum Lock {
    #[default]
    Free,
    Written {
        by: Tid,
        depth: u32,
    },
    /// By whom, and how often; few at a time, so in no order.
    Read(Vec<(Tid, u32)>),
}

/// Checks an execution event by event.
#[derive(Debug, Default)]
pub struct Checker {
    threads: Vec<Thread>,
    /// Threads with large ids: ids are meant to be dense, but need not be.
    sparse: HashMap<Tid, Thread>,
    locks: Vec<Lock>,
    /// Locks with large numbers.
    sparse_locks: HashMap<SyncId, Lock>,
    /// First byte of each living block, with its size.
    blocks: BTreeMap<Addr, u64>,
    sampling: bool,
    events: usize,
}

const DENSE: u32 = 1 << 16;

/// No access touches more bytes, so that its shadow fits into a machine.
const MAX_ACCESS: u64 = 1 << 31;

impl Checker {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        Checker::default()
    }

    /// The size in bytes of the living block that begins at `addr`.
    pub fn block(&self, addr: Addr) -> Option<u64> {
        self.blocks.get(&addr).copied()
    }

    #[inline]
    fn thread(&mut self, tid: Tid) -> &mut Thread {
        if tid.0 >= DENSE {
            return self.sparse.entry(tid).or_default();
        }
        at(&mut self.threads, tid.0)
    }

    #[inline(always)]
    fn lock(&mut self, lock: SyncId) -> &mut Lock {
        match u32::try_from(lock.0) {
            Ok(i) if i < DENSE => at(&mut self.locks, i),
            _ => self.sparse_locks.entry(lock).or_default(),
        }
    }

    /// Is `thread` known to be running? Then it may make plain accesses.
    #[inline(always)]
    pub fn is_running(&self, thread: Tid) -> bool {
        let known = self.threads.get(thread.0 as usize);
        known.is_some_and(|known| known.life == Life::Running)
    }

    /// So many plain accesses were made by a thread that [is running](Checker::is_running).
    #[inline(always)]
    pub fn went_on(&mut self, accesses: usize) {
        self.events += accesses;
    }

    /// May `event` happen now? If so, it has happened; if not, nothing has changed.
    #[inline]
    pub fn step(&mut self, event: &Event) -> Result<Outcome, Malformed> {
        let index = self.events;
        let result = self.try_step(event);
        match result {
            Ok(outcome) => {
                let ends = matches!(event.op, Op::End);
                if ends || !self.is_running(event.thread) {
                    let life = if ends { Life::Ended } else { Life::Running };
                    self.thread(event.thread).life = life;
                }
                self.events = index + 1;
                Ok(outcome)
            }
            Err(what) => Err(Malformed { event: index, what }),
        }
    }

    #[inline(always)]
    fn try_step(&mut self, event: &Event) -> Result<Outcome, What> {
        match self.thread(event.thread).life {
            Life::Ended => return Err(What::AfterEnd),
            Life::Joined => return Err(What::AfterJoin),
            Life::Running if matches!(event.op, Op::Begin) => return Err(What::BeginNotFirst),
            _ => {}
        }
        match event.op {
            Op::Access { addr, size, .. }
            | Op::Load { addr, size, .. }
            | Op::Store { addr, size, .. }
            | Op::Rmw { addr, size, .. } => {
                if size == 0 {
                    return Err(What::BadSize);
                }
                if u64::from(size) > MAX_ACCESS {
                    return Err(What::TooLarge);
                }
                within(addr, u64::from(size)).map(|()| Outcome::Plain)
            }
            Op::Range { elements, .. } => elements_fit(elements).map(|()| Outcome::Plain),
            _ => self.try_rare(event.thread, &event.op),
        }
    }

    #[inline(always)]
    fn try_rare(&mut self, me: Tid, op: &Op) -> Result<Outcome, What> {
        match *op {
            Op::Alloc { addr, elem, len } => self.alloc(addr, elem, len)?,
            Op::Free { addr } => {
                self.blocks.remove(&addr).ok_or(What::NotABlock(addr))?;
            }
            Op::Acquire(lock) => return self.acquire(me, lock),
            Op::Release(lock) => return self.release(me, lock),
            Op::ReadAcquire(lock) => return self.read_acquire(me, lock),
            Op::ReadRelease(lock) => return self.read_release(me, lock),
            Op::Arrive(barrier) => {
                let waiting = &mut self.thread(me).waiting_at;
                if waiting.contains(&barrier) {
                    return Err(What::ArrivedTwice(barrier));
                }
                waiting.push(barrier);
            }
            Op::Depart(barrier) => {
                let waiting = &mut self.thread(me).waiting_at;
                let i = waiting
                    .iter()
                    .position(|&b| b == barrier)
                    .ok_or(What::NotArrived(barrier))?;
                waiting.swap_remove(i);
            }
            Op::Fork(child) => {
                if child == me {
                    return Err(What::ForkedItself);
                }
                match self.thread(child).life {
                    Life::Unknown => self.thread(child).life = Life::Forked,
                    Life::Forked => return Err(What::ForkedTwice(child)),
                    _ => return Err(What::ForkedTooLate(child)),
                }
            }
            Op::Join(child) => {
                if child == me {
                    return Err(What::JoinedItself);
                }
                if self.thread(child).life == Life::Unknown {
                    return Err(What::JoinedUnknown(child));
                }
                self.thread(child).life = Life::Joined;
            }
            Op::SampleBegin | Op::SampleEnd => {
                let begin = *op == Op::SampleBegin;
                if self.sampling == begin {
                    return Err(if begin {
                        What::SamplingAlready
                    } else {
                        What::NotSampling
                    });
                }
                self.sampling = begin;
            }
            Op::Enter(func) => self.thread(me).calls.push(func),
            Op::Exit(func) => {
                let calls = &mut self.thread(me).calls;
                if calls.last() != Some(&func) {
                    return Err(What::ExitWithoutEnter(func));
                }
                calls.pop();
            }
            Op::Access { .. }
            | Op::Range { .. }
            | Op::Load { .. }
            | Op::Store { .. }
            | Op::Rmw { .. }
            | Op::VolatileRead(_)
            | Op::VolatileWrite(_)
            | Op::Send(_)
            | Op::Receive(_)
            | Op::Fence(_)
            | Op::Begin
            | Op::End => {}
        }
        Ok(Outcome::Plain)
    }

    fn alloc(&mut self, addr: Addr, elem: u8, len: u64) -> Result<(), What> {
        let size = element_size(elem)?.checked_mul(len).ok_or(What::Wraps)?;
        within(addr, size)?;
        let end = addr.0 + size;
        // Blocks do not overlap, so the last ones that begin before our end are those that can reach us.
        self.blocks.remove(&addr);
        while let Some((&other, &bytes)) = self.blocks.range(..Addr(end)).next_back()
            && other.0 + bytes > addr.0
        {
            self.blocks.remove(&other);
        }
        self.blocks.insert(addr, size);
        Ok(())
    }

    #[inline(always)]
    fn acquire(&mut self, me: Tid, lock: SyncId) -> Result<Outcome, What> {
        match self.lock(lock) {
            free @ Lock::Free => {
                *free = Lock::Written { by: me, depth: 1 };
                Ok(Outcome::Plain)
            }
            Lock::Written { by, depth } if *by == me => {
                *depth += 1;
                Ok(Outcome::Nested)
            }
            Lock::Written { by, .. } => Err(What::LockHeld { lock, by: *by }),
            Lock::Read(_) => Err(What::LockRead { lock }),
        }
    }

    #[inline(always)]
    fn release(&mut self, me: Tid, lock: SyncId) -> Result<Outcome, What> {
        let held = self.lock(lock);
        match held {
            Lock::Written { by, depth } if *by == me => {
                *depth -= 1;
                if *depth > 0 {
                    return Ok(Outcome::Nested);
                }
                *held = Lock::Free;
                Ok(Outcome::Plain)
            }
            _ => Err(What::LockNotHeld { lock }),
        }
    }

    fn read_acquire(&mut self, me: Tid, lock: SyncId) -> Result<Outcome, What> {
        match self.lock(lock) {
            Lock::Written { by, .. } => Err(What::LockHeld { lock, by: *by }),
            free @ Lock::Free => {
                *free = Lock::Read(vec![(me, 1)]);
                Ok(Outcome::Plain)
            }
            Lock::Read(readers) => match readers.iter_mut().find(|(reader, _)| *reader == me) {
                Some((_, depth)) => {
                    *depth += 1;
                    Ok(Outcome::Nested)
                }
                None => {
                    readers.push((me, 1));
                    Ok(Outcome::Plain)
                }
            },
        }
    }

    fn read_release(&mut self, me: Tid, lock: SyncId) -> Result<Outcome, What> {
        let held = self.lock(lock);
        let Lock::Read(readers) = held else {
            return Err(What::LockNotHeld { lock });
        };
        let Some(i) = readers.iter().position(|(reader, _)| *reader == me) else {
            return Err(What::LockNotHeld { lock });
        };
        readers[i].1 -= 1;
        if readers[i].1 > 0 {
            return Ok(Outcome::Nested);
        }
        readers.swap_remove(i);
        if readers.is_empty() {
            *held = Lock::Free;
        }
        Ok(Outcome::Plain)
    }
}

/// The entry of number `i`, made if there is none.
#[inline]
fn at<T: Default>(all: &mut Vec<T>, i: u32) -> &mut T {
    let i = i as usize;
    if i >= all.len() {
        grow(all, i + 1);
    }
    &mut all[i]
}

#[cold]
fn grow<T: Default>(all: &mut Vec<T>, len: usize) {
    all.resize_with(len, T::default);
}

fn element_size(elem: u8) -> Result<u64, What> {
    match elem {
        1 | 2 | 4 | 8 => Ok(u64::from(elem)),
        _ => Err(What::BadElement(elem)),
    }
}

fn elements_fit(elements: Elements) -> Result<(), What> {
    let elem = element_size(elements.elem)?;
    if elements.stride == 0 {
        return Err(What::BadStride);
    }
    if elements.len().saturating_mul(elem) > MAX_ACCESS {
        return Err(What::TooLarge);
    }
    let bytes = elements.hi.max(elements.lo).checked_mul(elem);
    within(elements.base, bytes.ok_or(What::Wraps)?)
}

#[inline]
fn within(addr: Addr, bytes: u64) -> Result<(), What> {
    match addr.0.checked_add(bytes) {
        Some(end) if end <= Addr::END => Ok(()),
        _ => Err(What::Wraps),
    }
}

/// Checks a whole execution.
pub fn check(events: &[Event]) -> Result<(), Malformed> {
    let mut checker = Checker::new();
    events
        .iter()
        .try_for_each(|event| checker.step(event).map(|_| ()))
}
