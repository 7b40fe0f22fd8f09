//! Reads binary traces.

use super::{BLOCK_HEADER, END, HEADER, HOT, Last, MAGIC, MAX_BLOCK, VERSION, tag};
use crate::error::{Error, Place};
use crate::names::{Names, Namespace, within_memory};
use crate::text::{is_name, is_site};
use event::{
    AccessKind, Addr, Elements, Event, FenceOrder, Func, LoadOrder, Op, RmwOrder, Site, StoreOrder,
    SyncId, Tid,
};
use std::hint::select_unpredictable;
use std::io::{self, Read};

/// What a plain access takes at most, rounded up so that a site can be looked for behind any of its first 16 bytes.
const WINDOW: usize = 20;
/// Zeros behind the payload, so that a whole window can be loaded anywhere in it.
const PADDING: usize = WINDOW;

/// How the tag of a plain access says it is to be read.
#[derive(Clone, Copy)]
struct Layout {
    /// The distance: so far to the left, that far to the right, and it has its sign and its unit.
    left: u8,
    right: u8,
    /// Where a site would be.
    site_at: u8,
    /// Bytes in all; 0 if there is no such tag.
    len: u8,
}

/// By the lower six bits of a tag.
static LAYOUTS: [Layout; 64] = {
    let mut all = [Layout {
        left: 0,
        right: 0,
        site_at: 1,
        len: 0,
    }; 64];
    let mut bits = 0;
    while bits < 64 {
        let width_code = bits as u8 >> 2 & 3;
        let left = 64 - (8 << width_code);
        let unit = if width_code == 3 { 0 } else { bits as u8 >> 4 };
        let site_at = 1 + (1 << width_code);
        let len = match bits & 3 {
            0 => site_at,
            1 => site_at + 1,
            2 => site_at + 4,
            _ => 0,
        };
        all[bits] = Layout {
            left,
            right: left - unit,
            site_at,
            len,
        };
        bits += 1;
    }
    all
};

/// Reads a plain access of `thread` from the bytes that begin with its tag, and says how many it takes. `last` goes on to it.
#[inline(always)]
fn plain_from(
    bytes: &[u8; WINDOW],
    thread: u32,
    last: &mut Last,
    sites: u32,
) -> Option<(Plain, usize)> {
    let bits = bytes[0];
    if bits & HOT == 0 {
        return None;
    }
    let layout = LAYOUTS[usize::from(bits & 63)];
    let mut field = [0; 8];
    field.copy_from_slice(&bytes[1..9]);
    let distance =
        ((u64::from_le_bytes(field) << (layout.left & 63)) as i64) >> (layout.right & 63);
    let addr = last.addr.wrapping_add(distance as u64);
    let site_at = usize::from(layout.site_at & 15);
    let mut given = [0; 4];
    given.copy_from_slice(&bytes[site_at..site_at + 4]);
    let given = u32::from_le_bytes(given);
    let site = match bits & 3 {
        0 => last.site,
        1 => last.site.wrapping_add_signed(i32::from(given as i8)),
        _ => given,
    };
    let size = 1_u32 << (bits >> 4 & 3);
    if layout.len == 0 || site >= sites || addr > Addr::END - u64::from(size) {
        return None;
    }
    *last = Last { addr, site };
    let plain = Plain {
        thread: Tid(thread),
        kind: if bits & 0x40 == 0 {
            AccessKind::Read
        } else {
            AccessKind::Write
        },
        addr: Addr(addr),
        size,
        site: Site(site),
    };
    Some((plain, usize::from(layout.len)))
}

/// The bytes from `at` on.
#[inline(always)]
fn window(block: &[u8], at: usize) -> Option<&[u8; WINDOW]> {
    block.get(at..)?.first_chunk()
}

/// A plain access of 1, 2, 4 or 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "as in `event`")]
pub struct Plain {
    pub thread: Tid,
    pub kind: AccessKind,
    pub addr: Addr,
    pub size: u32,
    pub site: Site,
}

/// Room for one: [`BinaryReader::plain_accesses`].
pub const NO_ACCESS: Plain = Plain {
    thread: Tid(0),
    kind: AccessKind::Read,
    addr: Addr(0),
    size: 1,
    site: Site(0),
};

impl From<Plain> for Event {
    fn from(plain: Plain) -> Event {
        let Plain {
            thread,
            kind,
            addr,
            size,
            site,
        } = plain;
        Event {
            thread,
            op: Op::Access { kind, addr, size },
            site,
        }
    }
}

/// Reads a binary trace, a block at a time.
#[derive(Debug)]
pub struct BinaryReader<R> {
    input: R,
    /// The payload of the current block, and padding.
    block: Vec<u8>,
    at: usize,
    /// Where the payload ends.
    end: usize,
    /// Whose items these are.
    thread: u32,
    /// What distances are measured from, for every thread up to the last one that had items.
    lasts: Vec<Last>,
    names: Names,
    /// How many sites are known.
    sites: u32,
    /// The name of the array that the last `ALLOC` gave.
    array: Option<u32>,
    events: u64,
    /// Where the current block begins in the file, and the next.
    block_start: u64,
    next_block: u64,
    /// What is wrong with the file after the payload, if that is known already.
    damage: Option<Error>,
    finished: bool,
}

impl<R: Read> BinaryReader<R> {
    /// Reads the header.
    pub fn new(mut input: R) -> Result<Self, Error> {
        let mut header = [0_u8; HEADER];
        let read = read_full(&mut input, &mut header)?;
        let bad = |what: String, expected: &str| {
            Err(Error::Bad {
                place: Place::Binary {
                    offset: 0,
                    events: 0,
                },
                what,
                expected: expected.to_string(),
            })
        };
        if read < HEADER || header[..8] != MAGIC {
            return bad(
                "this is no binary trace".to_string(),
                "the 16 bytes that every one begins with",
            );
        }
        let version = u16::from_le_bytes([header[8], header[9]]);
        if version != VERSION {
            return bad(
                format!("version {version} of the binary form"),
                "version 1: convert the trace with the footrace that wrote it",
            );
        }
        Ok(BinaryReader {
            input,
            block: vec![0; PADDING],
            at: 0,
            end: 0,
            thread: 0,
            lasts: vec![Last::default()],
            names: Names::new(),
            sites: 1,
            array: None,
            events: 0,
            block_start: HEADER as u64,
            next_block: HEADER as u64,
            damage: None,
            finished: false,
        })
    }

    /// The names so far.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// How many events have been read: the number, from 1, of the last one.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Where the last event stands.
    pub fn place(&self) -> Place {
        Place::Binary {
            offset: self.block_start + BLOCK_HEADER as u64 + self.at as u64,
            events: self.events,
        }
    }

    /// Reads the next event into `event`; false at the end. Fields are written where the caller reads them: a copy of a value of
    /// many shapes waits for its parts to be stored, which costs more than to decode them.
    pub fn read_event(&mut self, event: &mut Event) -> Result<bool, Error> {
        loop {
            if self.at >= self.end {
                if !self.next_block()? {
                    return Ok(false);
                }
                continue;
            }
            let first = self.block[self.at];
            if first & HOT != 0 {
                let mut one = [NO_ACCESS];
                if self.plain_accesses(&mut one) == 0 {
                    return Err(self.bad_access());
                }
                *event = one[0].into();
                return Ok(true);
            }
            if self.quick_lock(event) || self.item(first, event)? {
                return Ok(true);
            }
        }
    }

    /// Reads the next event if it is one of a lock, with a number and a site of one byte each: most of what is no access. Otherwise nothing is
    /// done.
    #[inline(always)]
    fn quick_lock(&mut self, event: &mut Event) -> bool {
        let Some(&[first, lock, site, ..]) = window(&self.block, self.at) else {
            return false;
        };
        let known = (usize::from(lock) < self.names.count(Namespace::Lock))
            & (u32::from(site) < self.sites)
            & (self.names.count(Namespace::Thread) > 0);
        if !known || (lock | site) & 0x80 != 0 || self.at + 3 > self.end {
            return false;
        }
        let id = SyncId(u64::from(lock));
        let op = match first {
            tag::ACQUIRE => Op::Acquire(id),
            tag::RELEASE => Op::Release(id),
            tag::READ_ACQUIRE => Op::ReadAcquire(id),
            tag::READ_RELEASE => Op::ReadRelease(id),
            _ => return false,
        };
        self.at += 3;
        self.events += 1;
        self.lasts[self.thread as usize].site = u32::from(site);
        event.thread = Tid(self.thread);
        event.site = Site(u32::from(site));
        event.op = op;
        true
    }

    /// Whose items come next, if a plain access of a common size does; [`read_event`](Self::read_event) knows more.
    #[inline(always)]
    pub fn turn(&mut self) -> Option<Tid> {
        let bytes = window(&self.block, self.at)?;
        let [first, second, third, ..] = *bytes;
        // Who comes next is anybody's guess, also the processor's: no branch on it. One of the first 128 threads that had items before.
        let known = (second < 0x80) & (usize::from(second) < self.lasts.len());
        let switches = (first == tag::THREAD) & known & (self.at + 2 <= self.end);
        self.thread = select_unpredictable(switches, u32::from(second), self.thread);
        self.at += 2 * usize::from(switches);
        let first = select_unpredictable(switches, third, first);
        (first & HOT != 0).then_some(Tid(self.thread))
    }

    /// Reads the plain accesses of common sizes that the thread makes next, and says how many there are: as many as there is room for, or
    /// those before something else.
    #[inline(never)]
    pub fn plain_accesses(&mut self, room: &mut [Plain]) -> usize {
        let (mut at, mut last) = (self.at, self.lasts[self.thread as usize]);
        let mut read = 0;
        for place in room {
            let Some(bytes) = window(&self.block, at) else {
                break;
            };
            let mut next = last;
            let Some((plain, len)) = plain_from(bytes, self.thread, &mut next, self.sites) else {
                break;
            };
            if at + len > self.end {
                break;
            }
            (at, last) = (at + len, next);
            *place = plain;
            read += 1;
        }
        self.at = at;
        self.lasts[self.thread as usize] = last;
        self.events += read as u64;
        read
    }

    fn word(&self, at: usize) -> u64 {
        match self.block.get(at..at + 8) {
            Some(bytes) => {
                let mut word = [0; 8];
                word.copy_from_slice(bytes);
                u64::from_le_bytes(word)
            }
            None => 0,
        }
    }

    /// Why `plain_accesses` refused what looks like a plain access.
    #[cold]
    fn bad_access(&mut self) -> Error {
        let bits = self.block[self.at];
        let site_bytes = match bits & 3 {
            0 => 0,
            1 => 1,
            2 => 4,
            _ => return self.wrong("no such way to give a site"),
        };
        if self.at + 1 + (1 << (bits >> 2 & 3)) + site_bytes > self.end {
            self.cut_off()
        } else {
            self.wrong("an access to no known site, or beyond the address space")
        }
    }

    /// The payload ended in the middle of an item.
    #[cold]
    fn cut_off(&mut self) -> Error {
        self.at = self.end;
        self.finished = true;
        match self.damage.take() {
            Some(damage) => damage,
            None => self.wrong("an event reaches beyond its block"),
        }
    }

    #[cold]
    fn wrong(&mut self, what: &str) -> Error {
        let place = self.place();
        self.at = self.end;
        self.finished = true;
        self.damage = None;
        Error::Bad {
            place,
            what: what.to_string(),
            expected: "what `footrace convert` writes; the file is damaged".to_string(),
        }
    }

    #[cold]
    fn damaged(&self, what: String, expected: String) -> Error {
        Error::Bad {
            place: Place::Binary {
                offset: self.next_block,
                events: self.events,
            },
            what,
            expected,
        }
    }

    /// Loads the next block; false at the end of the trace.
    fn next_block(&mut self) -> Result<bool, Error> {
        if let Some(damage) = self.damage.take() {
            self.finished = true;
            return Err(damage);
        }
        if self.finished {
            return Ok(false);
        }
        // Whatever goes wrong below, nothing is read behind it.
        self.finished = true;
        let mut header = [0_u8; BLOCK_HEADER];
        let read = read_full(&mut self.input, &mut header)?;
        if read < BLOCK_HEADER {
            let what = "the file ends before the trace does".to_string();
            return Err(self.damaged(what, "another block: the file was cut off".to_string()));
        }
        let field =
            |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
        let (bytes, events, sum) = (field(0), field(4), field(8));
        if field(12) != crc32fast::hash(&header[0..12]) {
            let what = "the checksum of a block's header is wrong".to_string();
            return Err(self.damaged(what, "an undamaged file".to_string()));
        }
        if bytes == 0 || bytes > MAX_BLOCK {
            let what = format!("a block of {bytes} bytes");
            return Err(self.damaged(what, "1 byte to 1 MiB: the file is damaged".to_string()));
        }
        let len = bytes as usize;
        self.block.clear();
        self.block.resize(len + PADDING, 0);
        let read = read_full(&mut self.input, &mut self.block[..len])?;
        self.block_start = self.next_block;
        if read < len {
            let what = "the file ends in the middle of a block".to_string();
            let expected = format!("{} more bytes: the file was cut off", len - read);
            self.damage = Some(self.damaged(what, expected));
            if events == END {
                return self.next_block();
            }
        } else {
            if crc32fast::hash(&self.block[..len]) != sum {
                let what = "the checksum of a block is wrong".to_string();
                return Err(self.damaged(what, "an undamaged file".to_string()));
            }
            if events == END {
                return self.check_end(len);
            }
        }
        self.next_block += (BLOCK_HEADER + len) as u64;
        self.at = 0;
        self.end = read;
        self.thread = 0;
        self.lasts.fill(Last::default());
        self.finished = false;
        Ok(true)
    }

    fn check_end(&mut self, len: usize) -> Result<bool, Error> {
        if len != 8 || self.word(0) != self.events {
            let what = format!("{} events", self.events);
            let expected = format!("{}: a part of the file is missing", self.word(0));
            return Err(self.damaged(what, expected));
        }
        if read_full(&mut self.input, &mut [0])? != 0 {
            let what = "something follows the end of the trace".to_string();
            return Err(self.damaged(what, "nothing".to_string()));
        }
        Ok(false)
    }

    #[inline(always)]
    fn byte(&mut self) -> Result<u8, Error> {
        if self.at >= self.end {
            return Err(self.cut_off());
        }
        self.at += 1;
        Ok(self.block[self.at - 1])
    }

    /// Nearly all numbers are below 128.
    #[inline(always)]
    fn varint(&mut self) -> Result<u64, Error> {
        match self.block.get(self.at) {
            Some(&byte) if byte < 0x80 && self.at < self.end => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, Error> {
        let mut n = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err(self.wrong("a number of more than 64 bits"))
    }

    fn id(&mut self, space: Namespace) -> Result<u32, Error> {
        let id = self.varint()?;
        match u32::try_from(id) {
            Ok(n) if (n as usize) < self.names.count(space) => Ok(n),
            _ => Err(self.wrong("a number that has no name")),
        }
    }

    fn addr(&mut self) -> Result<Addr, Error> {
        let n = self.varint()?;
        let distance = (n >> 1) ^ (n & 1).wrapping_neg();
        let last = &mut self.lasts[self.thread as usize];
        last.addr = last.addr.wrapping_add(distance);
        Ok(Addr(last.addr))
    }

    fn size(&mut self) -> Result<u32, Error> {
        let n = self.varint()?;
        match u32::try_from(n) {
            Ok(size) if size > 0 => Ok(size),
            _ => Err(self.wrong("an access of no size")),
        }
    }

    fn elem(&mut self) -> Result<u8, Error> {
        match self.byte()? {
            elem @ (1 | 2 | 4 | 8) => Ok(elem),
            _ => Err(self.wrong("elements that have not 1, 2, 4 or 8 bytes")),
        }
    }

    /// An item that is not a common access: an event, or what says how to read the next.
    fn item(&mut self, first: u8, event: &mut Event) -> Result<bool, Error> {
        self.at += 1;
        match first {
            tag::THREAD => {
                let thread = self.id(Namespace::Thread)?;
                self.switch(thread);
                return Ok(false);
            }
            tag::DEFINE => {
                self.define()?;
                return Ok(false);
            }
            _ => self.op(first, &mut event.op)?,
        }
        let site = self.id(Namespace::Site)?;
        if self.names.count(Namespace::Thread) == 0 {
            return Err(self.wrong("an event of no thread"));
        }
        self.lasts[self.thread as usize].site = site;
        // Names change with the event they belong to, not before it is known to be whole.
        match event.op {
            Op::Free { addr } => self.names.unbind(addr),
            Op::Alloc { addr, elem, len } => {
                if let Some(id) = self.array {
                    self.names.bind(id, addr, elem, len);
                }
            }
            _ => {}
        }
        self.events += 1;
        event.thread = Tid(self.thread);
        event.site = Site(site);
        Ok(true)
    }

    fn switch(&mut self, thread: u32) {
        let index = thread as usize;
        if index >= self.lasts.len() {
            self.lasts.resize(index + 1, Last::default());
        }
        self.thread = thread;
    }

    fn define(&mut self) -> Result<(), Error> {
        let space = self.varint()?;
        let len = self.varint()?;
        let Some(&space) = usize::try_from(space)
            .ok()
            .and_then(|i| Namespace::ALL.get(i))
        else {
            return Err(self.wrong("a name of an unknown kind"));
        };
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > self.end - self.at {
            return Err(self.cut_off());
        }
        let bytes = self.block[self.at..self.at + len].to_vec();
        self.at += len;
        let Ok(name) = String::from_utf8(bytes) else {
            return Err(self.wrong("a name that is not UTF-8"));
        };
        let allowed = if space == Namespace::Site {
            is_site(&name)
        } else {
            is_name(&name)
        };
        if !allowed {
            return Err(self.wrong("a name that the text form cannot hold"));
        }
        if self.names.knows(space, &name) {
            return Err(self.wrong("a name that is defined twice"));
        }
        self.names.intern(space, &name);
        self.sites = self.names.count(Namespace::Site) as u32;
        Ok(())
    }

    #[inline(always)]
    fn op(&mut self, first: u8, op: &mut Op) -> Result<(), Error> {
        let kind = if first & 1 == 0 {
            AccessKind::Read
        } else {
            AccessKind::Write
        };
        match first {
            tag::READ | tag::WRITE => {
                let size = self.size()?;
                let addr = self.addr()?;
                self.fits(addr, 1, u64::from(size))?;
                *op = Op::Access { kind, addr, size };
            }
            tag::READ_RANGE | tag::WRITE_RANGE => {
                let base = self.addr()?;
                let elem = self.elem()?;
                let lo = self.varint()?;
                let hi = lo.saturating_add(self.varint()?);
                let stride = self.varint()?;
                if stride == 0 {
                    return Err(self.wrong("a stride of 0"));
                }
                let elements = Elements {
                    base,
                    elem,
                    lo,
                    hi,
                    stride,
                };
                self.fits(base, elem, hi)?;
                *op = Op::Range { kind, elements };
            }
            tag::ALLOC => {
                let addr = self.addr()?;
                let elem = self.elem()?;
                let len = self.varint()?;
                let name = self.varint()?;
                if name > self.names.count(Namespace::Array) as u64 {
                    return Err(self.wrong("an array that has no name"));
                }
                self.array = name.checked_sub(1).map(|id| id as u32);
                self.fits(addr, elem, len)?;
                *op = Op::Alloc { addr, elem, len };
            }
            tag::FREE => *op = Op::Free { addr: self.addr()? },
            tag::LOAD | tag::STORE | tag::RMW => {
                let order = self.byte()?;
                let size = self.size()?;
                let addr = self.addr()?;
                *op = match atomic(first, order, addr, size) {
                    Some(op) => op,
                    None => {
                        return Err(self.wrong("a memory order that this operation cannot have"));
                    }
                };
                self.fits(addr, 1, u64::from(size))?;
            }
            tag::FENCE => {
                *op = Op::Fence(match self.byte()? {
                    1 => FenceOrder::Acquire,
                    2 => FenceOrder::Release,
                    3 => FenceOrder::AcqRel,
                    4 => FenceOrder::SeqCst,
                    _ => return Err(self.wrong("a memory order that a fence cannot have")),
                });
            }
            tag::ACQUIRE => *op = Op::Acquire(self.sync(Namespace::Lock)?),
            tag::RELEASE => *op = Op::Release(self.sync(Namespace::Lock)?),
            tag::READ_ACQUIRE => *op = Op::ReadAcquire(self.sync(Namespace::Lock)?),
            tag::READ_RELEASE => *op = Op::ReadRelease(self.sync(Namespace::Lock)?),
            tag::VOLATILE_READ => *op = Op::VolatileRead(self.sync(Namespace::Volatile)?),
            tag::VOLATILE_WRITE => *op = Op::VolatileWrite(self.sync(Namespace::Volatile)?),
            tag::SEND => *op = Op::Send(self.sync(Namespace::Channel)?),
            tag::RECEIVE => *op = Op::Receive(self.sync(Namespace::Channel)?),
            tag::ARRIVE => *op = Op::Arrive(self.sync(Namespace::Barrier)?),
            tag::DEPART => *op = Op::Depart(self.sync(Namespace::Barrier)?),
            tag::FORK => *op = Op::Fork(Tid(self.id(Namespace::Thread)?)),
            tag::JOIN => *op = Op::Join(Tid(self.id(Namespace::Thread)?)),
            tag::ENTER => *op = Op::Enter(Func(self.id(Namespace::Function)?)),
            tag::EXIT => *op = Op::Exit(Func(self.id(Namespace::Function)?)),
            tag::BEGIN => *op = Op::Begin,
            tag::END => *op = Op::End,
            tag::SAMPLE_BEGIN => *op = Op::SampleBegin,
            tag::SAMPLE_END => *op = Op::SampleEnd,
            _ => return Err(self.wrong("no such event")),
        }
        Ok(())
    }

    #[inline]
    fn fits(&mut self, addr: Addr, elem: u8, len: u64) -> Result<(), Error> {
        if within_memory(addr, elem, len) {
            return Ok(());
        }
        Err(self.wrong("memory beyond the end of the address space"))
    }

    fn sync(&mut self, space: Namespace) -> Result<SyncId, Error> {
        Ok(SyncId(u64::from(self.id(space)?)))
    }
}

fn atomic(first: u8, order: u8, addr: Addr, size: u32) -> Option<Op> {
    Some(match (first, order) {
        (tag::LOAD, _) => {
            let order = match order {
                0 => LoadOrder::Relaxed,
                1 => LoadOrder::Acquire,
                4 => LoadOrder::SeqCst,
                _ => return None,
            };
            Op::Load { addr, size, order }
        }
        (tag::STORE, _) => {
            let order = match order {
                0 => StoreOrder::Relaxed,
                2 => StoreOrder::Release,
                4 => StoreOrder::SeqCst,
                _ => return None,
            };
            Op::Store { addr, size, order }
        }
        _ => {
            let order = match order {
                0 => RmwOrder::Relaxed,
                1 => RmwOrder::Acquire,
                2 => RmwOrder::Release,
                3 => RmwOrder::AcqRel,
                4 => RmwOrder::SeqCst,
                _ => return None,
            };
            Op::Rmw { addr, size, order }
        }
    })
}

/// Reads until the buffer is full or the input ends.
fn read_full(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match input.read(&mut buffer[read..]) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(read)
}
