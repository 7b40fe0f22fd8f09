//! Logs: what a process writes while its events are recorded, one item after the other, in the order in which the
//! detector saw them. A log has numbers only; `footrace run` makes a trace with names of it.
//!
//! ```text
//! log    = item*  0*          zeros: the rest of the last piece of the file, or a process that was killed
//! item   = tag u8, LEB128 numbers
//! event  = tag, site, numbers of the operation
//!          site and address as the signed distance from the last ones of the same thread
//! ```
//!
//! A `THREAD` item says whose events follow. A `SITE` comes before the first event that names it. `FACTS` are a block of
//! text as in record files: the process at the beginning, modules whenever they changed.
//!
//! An item counts when its tag is there: writers store it last, so that a log has no torn end.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use abi::Told;
use event::{
    AccessKind, Addr, Elements, Event, FenceOrder, LoadOrder, Op, RmwOrder, Site, StoreOrder,
    SyncId, Tid,
};

use crate::model::{Block, Stack};

/// What is in a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A thread did something. `Free` comes as [`Item::Freed`].
    Event(Event),
    /// Memory went away: a write to all of it.
    Freed {
        /// Who.
        thread: Tid,
        /// First byte.
        addr: Addr,
        /// How many.
        bytes: u64,
        /// Where.
        site: Site,
    },
    /// What the thread's next event is; without it, an access and its check in one.
    Told(Told),
    /// The object's life is over; the next one of that name is another one.
    Forgotten(SyncId),
    /// Where a site is.
    Site(Site, Stack),
    /// What a thread is called.
    Named(Tid, String),
    /// The process, or its modules.
    Facts(Block),
}

#[rustfmt::skip]
mod tag {
    pub(super) const THREAD: u8 = 1;       // thread
    pub(super) const SITE: u8 = 2;         // site, count, addresses
    pub(super) const NAMED: u8 = 3;        // thread, length, bytes
    pub(super) const FACTS: u8 = 4;        // length, bytes
    pub(super) const FORGOTTEN: u8 = 5;    // object
    pub(super) const FREED: u8 = 6;        // site, distance, bytes
    pub(super) const ALLOC: u8 = 7;        // site, distance, elem, len
    pub(super) const READ: u8 = 8;         // site, distance, size
    pub(super) const WRITE: u8 = 9;
    pub(super) const READ_RANGE: u8 = 10;  // site, distance, elem, lo, hi, stride
    pub(super) const WRITE_RANGE: u8 = 11;
    pub(super) const LOAD: u8 = 12;        // site, distance, size, order
    pub(super) const STORE: u8 = 13;
    pub(super) const RMW: u8 = 14;
    pub(super) const FENCE: u8 = 15;       // site, order
    pub(super) const ACQUIRE: u8 = 16;     // site, object, as all that follow
    pub(super) const RELEASE: u8 = 17;
    pub(super) const READ_ACQUIRE: u8 = 18;
    pub(super) const READ_RELEASE: u8 = 19;
    pub(super) const VOLATILE_READ: u8 = 20;
    pub(super) const VOLATILE_WRITE: u8 = 21;
    pub(super) const SEND: u8 = 22;
    pub(super) const RECEIVE: u8 = 23;
    pub(super) const ARRIVE: u8 = 24;
    pub(super) const DEPART: u8 = 25;
    pub(super) const FORK: u8 = 26;        // thread
    pub(super) const JOIN: u8 = 27;        // thread
    pub(super) const BEGIN: u8 = 28;       // nothing
    pub(super) const END: u8 = 29;         // nothing
    pub(super) const TOLD: u8 = 30;        // what
}

/// What distances are measured from.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    addr: u64,
    site: u32,
}

#[derive(Debug, Default)]
struct Lasts(Vec<Last>);

impl Lasts {
    fn of(&mut self, thread: Tid) -> &mut Last {
        let index = thread.0 as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, Last::default());
        }
        &mut self.0[index]
    }
}

fn varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

/// Writes items as bytes.
#[derive(Debug, Default)]
pub struct Encoder {
    thread: Option<Tid>,
    lasts: Lasts,
}

impl Encoder {
    /// Nothing written yet.
    pub const fn new() -> Self {
        Encoder {
            thread: None,
            lasts: Lasts(Vec::new()),
        }
    }

    /// Adds an event to `out`: one item, or two if it is another thread's.
    pub fn event(&mut self, out: &mut Vec<u8>, event: &Event) {
        let Event { thread, op, site } = *event;
        self.switch(out, thread);
        let kind = |kind: AccessKind, read: u8| read + u8::from(kind == AccessKind::Write);
        match op {
            Op::Access {
                kind: k,
                addr,
                size,
            } => self.at(out, kind(k, tag::READ), site, addr, &[size.into()]),
            Op::Range { kind: k, elements } => {
                let Elements {
                    base,
                    elem,
                    lo,
                    hi,
                    stride,
                } = elements;
                let numbers = [elem.into(), lo, hi, stride];
                self.at(out, kind(k, tag::READ_RANGE), site, base, &numbers);
            }
            Op::Alloc { addr, elem, len } => {
                self.at(out, tag::ALLOC, site, addr, &[elem.into(), len]);
            }
            // Its size is not known here: see `freed`.
            Op::Free { addr } => self.at(out, tag::FREED, site, addr, &[0]),
            Op::Load { addr, size, order } => {
                self.at(out, tag::LOAD, site, addr, &[size.into(), order as u64]);
            }
            Op::Store { addr, size, order } => {
                self.at(out, tag::STORE, site, addr, &[size.into(), order as u64]);
            }
            Op::Rmw { addr, size, order } => {
                self.at(out, tag::RMW, site, addr, &[size.into(), order as u64]);
            }
            Op::Fence(order) => self.sited(out, tag::FENCE, site, order as u64),
            Op::Acquire(id) => self.sited(out, tag::ACQUIRE, site, id.0),
            Op::Release(id) => self.sited(out, tag::RELEASE, site, id.0),
            Op::ReadAcquire(id) => self.sited(out, tag::READ_ACQUIRE, site, id.0),
            Op::ReadRelease(id) => self.sited(out, tag::READ_RELEASE, site, id.0),
            Op::VolatileRead(id) => self.sited(out, tag::VOLATILE_READ, site, id.0),
            Op::VolatileWrite(id) => self.sited(out, tag::VOLATILE_WRITE, site, id.0),
            Op::Send(id) => self.sited(out, tag::SEND, site, id.0),
            Op::Receive(id) => self.sited(out, tag::RECEIVE, site, id.0),
            Op::Arrive(id) => self.sited(out, tag::ARRIVE, site, id.0),
            Op::Depart(id) => self.sited(out, tag::DEPART, site, id.0),
            Op::Fork(child) => self.sited(out, tag::FORK, site, child.0.into()),
            Op::Join(child) => self.sited(out, tag::JOIN, site, child.0.into()),
            Op::Begin => self.sited(out, tag::BEGIN, site, 0),
            Op::End => self.sited(out, tag::END, site, 0),
            // Marks of traces; no process makes them.
            Op::SampleBegin | Op::SampleEnd | Op::Enter(_) | Op::Exit(_) => {}
        }
    }

    /// Adds an [`Item::Freed`].
    pub fn freed(&mut self, out: &mut Vec<u8>, thread: Tid, addr: Addr, bytes: u64, site: Site) {
        self.switch(out, thread);
        self.at(out, tag::FREED, site, addr, &[bytes]);
    }

    fn switch(&mut self, out: &mut Vec<u8>, thread: Tid) {
        if self.thread != Some(thread) {
            self.thread = Some(thread);
            out.push(tag::THREAD);
            varint(out, thread.0.into());
        }
    }

    fn head(&mut self, out: &mut Vec<u8>, tag: u8, site: Site) -> &mut Last {
        let last = self.lasts.of(self.thread.unwrap_or_default());
        out.push(tag);
        varint(out, zigzag(i64::from(site.0) - i64::from(last.site)));
        last.site = site.0;
        last
    }

    fn at(&mut self, out: &mut Vec<u8>, tag: u8, site: Site, addr: Addr, numbers: &[u64]) {
        let last = self.head(out, tag, site);
        varint(out, zigzag(addr.0.wrapping_sub(last.addr) as i64));
        last.addr = addr.0;
        numbers.iter().for_each(|&n| varint(out, n));
    }

    fn sited(&mut self, out: &mut Vec<u8>, tag: u8, site: Site, number: u64) {
        self.head(out, tag, site);
        varint(out, number);
    }
}

/// Adds an [`Item::Told`], just before the event.
pub fn told(out: &mut Vec<u8>, told: Told) {
    out.push(tag::TOLD);
    varint(out, told as u64);
}

/// Adds an [`Item::Forgotten`].
pub fn forgotten(out: &mut Vec<u8>, object: SyncId) {
    out.push(tag::FORGOTTEN);
    varint(out, object.0);
}

/// Adds an [`Item::Site`].
pub fn site(out: &mut Vec<u8>, site: Site, stack: &[u64]) {
    out.push(tag::SITE);
    varint(out, site.0.into());
    varint(out, stack.len() as u64);
    stack.iter().for_each(|&pc| varint(out, pc));
}

/// Adds an [`Item::Named`].
pub fn named(out: &mut Vec<u8>, thread: Tid, name: &str) {
    out.push(tag::NAMED);
    varint(out, thread.0.into());
    bytes(out, name.as_bytes());
}

/// Adds an [`Item::Facts`].
pub fn facts(out: &mut Vec<u8>, block: &Block) {
    out.push(tag::FACTS);
    bytes(out, &block.to_bytes());
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A log that is not one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadLog {
    /// Where the item begins that cannot be understood, in bytes.
    pub at: u64,
}

impl fmt::Display for BadLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "byte {}: no item begins here; the log was not written by this version of footrace, or is damaged",
            self.at
        )
    }
}

impl core::error::Error for BadLog {}

/// Reads items: feed it bytes, take items, feed it more.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    taken: usize,
    /// Bytes of the log before `bytes`.
    before: u64,
    thread: Tid,
    lasts: Lasts,
}

/// The end of what is there, or of what can be understood.
enum Stop {
    More,
    Bad,
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl Cursor<'_> {
    fn byte(&mut self) -> Result<u8, Stop> {
        let (&first, rest) = self.rest.split_first().ok_or(Stop::More)?;
        self.rest = rest;
        Ok(first)
    }

    fn number(&mut self) -> Result<u64, Stop> {
        let mut n = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7F).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err(Stop::Bad)
    }

    fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Stop> {
        T::try_from(self.number()?).map_err(|_| Stop::Bad)
    }

    fn bytes(&mut self) -> Result<&[u8], Stop> {
        let length = usize::try_from(self.number()?).map_err(|_| Stop::Bad)?;
        if length > self.rest.len() {
            return Err(Stop::More);
        }
        let (bytes, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(bytes)
    }
}

impl Decoder {
    /// Nothing read yet.
    pub fn new() -> Self {
        Decoder::default()
    }

    /// Adds bytes at the end.
    pub fn feed(&mut self, more: &[u8]) {
        self.bytes.drain(..self.taken);
        self.before += self.taken as u64;
        self.taken = 0;
        self.bytes.extend_from_slice(more);
    }

    /// The next item; none if it is not there yet, or the log has ended.
    pub fn next_item(&mut self) -> Result<Option<Item>, BadLog> {
        loop {
            let rest = self.bytes.get(self.taken..).unwrap_or_default();
            let mut cursor = Cursor { rest };
            let length = rest.len();
            match item(&mut cursor, &mut self.thread, &mut self.lasts) {
                Ok(item) => {
                    self.taken += length - cursor.rest.len();
                    if item.is_some() {
                        return Ok(item);
                    }
                }
                Err(Stop::More) => return Ok(None),
                Err(Stop::Bad) => {
                    return Err(BadLog {
                        at: self.before + self.taken as u64,
                    });
                }
            }
        }
    }
}

fn order<T: Copy>(orders: &[T], number: u64) -> Result<T, Stop> {
    let number = usize::try_from(number).map_err(|_| Stop::Bad)?;
    orders.get(number).copied().ok_or(Stop::Bad)
}

/// The item at the cursor; none if it only says whose items follow. `thread` and `lasts` change only with a whole item.
fn item(
    cursor: &mut Cursor<'_>,
    thread: &mut Tid,
    lasts: &mut Lasts,
) -> Result<Option<Item>, Stop> {
    let tag = cursor.byte()?;
    let item = match tag {
        0 => return Err(Stop::More),
        tag::THREAD => {
            let number = cursor.small()?;
            // More threads than a process can have would be as many places in a table.
            if number >= 1 << 26 {
                return Err(Stop::Bad);
            }
            *thread = Tid(number);
            return Ok(None);
        }
        tag::SITE => {
            let site = Site(cursor.small()?);
            let count: usize = cursor.small()?;
            let pcs = (0..count).map(|_| cursor.number());
            Item::Site(site, Stack(pcs.collect::<Result<_, _>>()?))
        }
        tag::NAMED => {
            let thread = Tid(cursor.small()?);
            Item::Named(thread, String::from_utf8_lossy(cursor.bytes()?).into())
        }
        tag::FACTS => {
            let mut reader = crate::Reader::new();
            reader.feed(cursor.bytes()?);
            match reader.next_block() {
                Some(Ok(block)) => Item::Facts(block),
                _ => return Err(Stop::Bad),
            }
        }
        tag::TOLD => Item::Told(Told::of(cursor.number()?).ok_or(Stop::Bad)?),
        tag::FORGOTTEN => Item::Forgotten(SyncId(cursor.number()?)),
        _ => return event(tag, cursor, *thread, lasts.of(*thread)).map(Some),
    };
    Ok(Some(item))
}

const LOADS: [LoadOrder; 3] = [LoadOrder::Relaxed, LoadOrder::Acquire, LoadOrder::SeqCst];
const STORES: [StoreOrder; 3] = [StoreOrder::Relaxed, StoreOrder::Release, StoreOrder::SeqCst];
const RMWS: [RmwOrder; 5] = [
    RmwOrder::Relaxed,
    RmwOrder::Acquire,
    RmwOrder::Release,
    RmwOrder::AcqRel,
    RmwOrder::SeqCst,
];
const FENCES: [FenceOrder; 4] = [
    FenceOrder::Acquire,
    FenceOrder::Release,
    FenceOrder::AcqRel,
    FenceOrder::SeqCst,
];

fn event(tag: u8, cursor: &mut Cursor<'_>, thread: Tid, last: &mut Last) -> Result<Item, Stop> {
    let step = unzigzag(cursor.number()?);
    let number = i64::from(last.site).wrapping_add(step);
    let site = Site(u32::try_from(number).map_err(|_| Stop::Bad)?);
    let has_address = (tag::FREED..=tag::RMW).contains(&tag);
    let mut addr = Addr(last.addr);
    if has_address {
        addr.0 = addr.0.wrapping_add_signed(unzigzag(cursor.number()?));
    }
    let kind = |read: u8| {
        if tag == read {
            AccessKind::Read
        } else {
            AccessKind::Write
        }
    };
    let op = match tag {
        tag::FREED => {
            let bytes = cursor.number()?;
            *last = Last {
                addr: addr.0,
                site: site.0,
            };
            return Ok(Item::Freed {
                thread,
                addr,
                bytes,
                site,
            });
        }
        tag::ALLOC => Op::Alloc {
            addr,
            elem: cursor.small()?,
            len: cursor.number()?,
        },
        tag::READ | tag::WRITE => Op::Access {
            kind: kind(tag::READ),
            addr,
            size: cursor.small()?,
        },
        tag::READ_RANGE | tag::WRITE_RANGE => Op::Range {
            kind: kind(tag::READ_RANGE),
            elements: Elements {
                base: addr,
                elem: cursor.small()?,
                lo: cursor.number()?,
                hi: cursor.number()?,
                stride: cursor.number()?,
            },
        },
        tag::LOAD => Op::Load {
            addr,
            size: cursor.small()?,
            order: order(&LOADS, cursor.number()?)?,
        },
        tag::STORE => Op::Store {
            addr,
            size: cursor.small()?,
            order: order(&STORES, cursor.number()?)?,
        },
        tag::RMW => Op::Rmw {
            addr,
            size: cursor.small()?,
            order: order(&RMWS, cursor.number()?)?,
        },
        _ => named_op(tag, cursor.number()?)?,
    };
    *last = Last {
        addr: addr.0,
        site: site.0,
    };
    Ok(Item::Event(Event { thread, op, site }))
}

fn named_op(tag: u8, number: u64) -> Result<Op, Stop> {
    let id = SyncId(number);
    let thread = || u32::try_from(number).map(Tid).map_err(|_| Stop::Bad);
    Ok(match tag {
        tag::FENCE => Op::Fence(order(&FENCES, number)?),
        tag::ACQUIRE => Op::Acquire(id),
        tag::RELEASE => Op::Release(id),
        tag::READ_ACQUIRE => Op::ReadAcquire(id),
        tag::READ_RELEASE => Op::ReadRelease(id),
        tag::VOLATILE_READ => Op::VolatileRead(id),
        tag::VOLATILE_WRITE => Op::VolatileWrite(id),
        tag::SEND => Op::Send(id),
        tag::RECEIVE => Op::Receive(id),
        tag::ARRIVE => Op::Arrive(id),
        tag::DEPART => Op::Depart(id),
        tag::FORK => Op::Fork(thread()?),
        tag::JOIN => Op::Join(thread()?),
        tag::BEGIN => Op::Begin,
        tag::END => Op::End,
        _ => return Err(Stop::Bad),
    })
}
