//! Writes binary traces.

use super::{BLOCK, BLOCK_HEADER, END, HOT, Last, MAGIC, VERSION, tag};
use crate::error::Error;
use crate::names::{ARRAYS, Names, Namespace, SCALARS};
use event::{AccessKind, Addr, Event, FenceOrder, LoadOrder, Op, RmwOrder, Site, StoreOrder, Tid};
use std::collections::HashMap;
use std::io::Write;

/// The numbers of the writer's names: dense, in the order of first use.
#[derive(Debug, Default)]
struct Ids {
    /// `u32::MAX`: not yet.
    dense: Vec<u32>,
    sparse: HashMap<u64, u32>,
    count: u32,
}

const DENSE: u64 = 1 << 20;

impl Ids {
    fn get(&self, id: u64) -> Option<u32> {
        if id < DENSE {
            self.dense
                .get(id as usize)
                .copied()
                .filter(|&n| n != u32::MAX)
        } else {
            self.sparse.get(&id).copied()
        }
    }

    fn add(&mut self, id: u64) -> u32 {
        let n = self.count;
        self.count += 1;
        if id < DENSE {
            let i = id as usize;
            if i >= self.dense.len() {
                self.dense.resize(i + 1, u32::MAX);
            }
            self.dense[i] = n;
        } else {
            self.sparse.insert(id, n);
        }
        n
    }
}

/// Writes a binary trace, a block at a time.
#[derive(Debug)]
pub struct BinaryWriter<W: Write> {
    output: W,
    payload: Vec<u8>,
    events_in_block: u32,
    events: u64,
    ids: [Ids; Namespace::ALL.len()],
    thread: u32,
    last: Vec<Last>,
}

impl<W: Write> BinaryWriter<W> {
    /// Writes the header.
    pub fn new(mut output: W) -> Result<Self, Error> {
        output.write_all(&MAGIC)?;
        output.write_all(&VERSION.to_le_bytes())?;
        output.write_all(&[0; 6])?;
        let mut ids: [Ids; Namespace::ALL.len()] = Default::default();
        // Site 0 is "no site" for everybody.
        ids[Namespace::Site as usize].add(0);
        Ok(BinaryWriter {
            output,
            payload: Vec::with_capacity(BLOCK + 4096),
            events_in_block: 0,
            events: 0,
            ids,
            thread: 0,
            last: Vec::new(),
        })
    }

    /// Writes an event. `names` are those right after the event, as a reader has them; numbers without a name get one.
    pub fn write(&mut self, event: &Event, names: &Names) -> Result<(), Error> {
        let Tid(thread) = event.thread;
        let thread = self.id(Namespace::Thread, u64::from(thread), names);
        if thread != self.thread {
            self.payload.push(tag::THREAD);
            self.varint(u64::from(thread));
            self.thread = thread;
        }
        let index = thread as usize;
        if index >= self.last.len() {
            self.last.resize(index + 1, Last::default());
        }
        let Site(site) = event.site;
        let site = self.id(Namespace::Site, u64::from(site), names);
        match event.op {
            Op::Access { kind, addr, size } => self.access(kind, addr, size, site, names),
            _ => {
                self.rare(&event.op, names);
                self.varint(u64::from(site));
                self.last[index].site = site;
            }
        }
        self.events += 1;
        self.events_in_block += 1;
        if self.payload.len() >= BLOCK {
            self.flush_block(self.events_in_block)?;
        }
        Ok(())
    }

    /// Writes what is left, and the end.
    pub fn finish(mut self) -> Result<W, Error> {
        if !self.payload.is_empty() {
            self.flush_block(self.events_in_block)?;
        }
        self.payload.extend_from_slice(&self.events.to_le_bytes());
        self.flush_block(END)?;
        self.output.flush()?;
        Ok(self.output)
    }

    fn flush_block(&mut self, events: u32) -> Result<(), Error> {
        let mut header = [0_u8; BLOCK_HEADER];
        header[0..4].copy_from_slice(&(self.payload.len() as u32).to_le_bytes());
        header[4..8].copy_from_slice(&events.to_le_bytes());
        header[8..12].copy_from_slice(&crc32fast::hash(&self.payload).to_le_bytes());
        let header_sum = crc32fast::hash(&header[0..12]);
        header[12..16].copy_from_slice(&header_sum.to_le_bytes());
        self.output.write_all(&header)?;
        self.output.write_all(&self.payload)?;
        self.payload.clear();
        self.events_in_block = 0;
        self.thread = 0;
        self.last.clear();
        Ok(())
    }

    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.payload.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.payload.push(n as u8);
    }

    fn id(&mut self, space: Namespace, id: u64, names: &Names) -> u32 {
        match self.ids[space as usize].get(id) {
            Some(n) => n,
            None => self.define(space, id, names),
        }
    }

    #[cold]
    fn define(&mut self, space: Namespace, id: u64, names: &Names) -> u32 {
        let name = names.name_or_default(space, id);
        self.payload.push(tag::DEFINE);
        self.varint(space as u64);
        self.varint(name.len() as u64);
        self.payload.extend_from_slice(name.as_bytes());
        self.ids[space as usize].add(id)
    }

    /// Scalars are defined in the order of their addresses, which their numbers imply.
    fn define_scalars(&mut self, addr: Addr, size: u64, names: &Names) {
        let end = addr.0.saturating_add(size.min(1 << 20));
        if end <= SCALARS || addr.0 >= ARRAYS {
            return;
        }
        while let next = self.ids[Namespace::Scalar as usize].count
            && (next as usize) < names.count(Namespace::Scalar)
            && SCALARS + 8 * u64::from(next) < end
        {
            self.define(Namespace::Scalar, u64::from(next), names);
        }
    }

    /// The distance from the thread's last address, which is `addr` from now on.
    fn distance(&mut self, addr: Addr) -> i64 {
        let last = &mut self.last[self.thread as usize];
        let distance = addr.0.wrapping_sub(last.addr) as i64;
        last.addr = addr.0;
        distance
    }

    fn zigzag(&mut self, n: i64) {
        self.varint(((n << 1) ^ (n >> 63)) as u64);
    }

    fn access(&mut self, kind: AccessKind, addr: Addr, size: u32, site: u32, names: &Names) {
        self.define_scalars(addr, u64::from(size), names);
        let distance = self.distance(addr);
        let write = u8::from(kind == AccessKind::Write);
        if !matches!(size, 1 | 2 | 4 | 8) {
            self.payload.push(tag::READ + write);
            self.varint(u64::from(size));
            self.zigzag(distance);
            self.varint(u64::from(site));
            self.last[self.thread as usize].site = site;
            return;
        }
        let size_code = size.trailing_zeros();
        let units = distance >> size_code;
        let (address_code, address, width) = if units << size_code != distance {
            (3, distance, 8)
        } else if i8::try_from(units).is_ok() {
            (0, units, 1)
        } else if i16::try_from(units).is_ok() {
            (1, units, 2)
        } else if i32::try_from(units).is_ok() {
            (2, units, 4)
        } else {
            (3, distance, 8)
        };
        let last = &mut self.last[self.thread as usize];
        let step = i64::from(site) - i64::from(last.site);
        last.site = site;
        let site_code = match step {
            0 => 0,
            -128..=127 => 1,
            _ => 2,
        };
        self.payload
            .push(HOT | write << 6 | (size_code as u8) << 4 | address_code << 2 | site_code);
        self.payload
            .extend_from_slice(&address.to_le_bytes()[..width]);
        match site_code {
            0 => {}
            1 => self.payload.push(step as i8 as u8),
            _ => self.payload.extend_from_slice(&site.to_le_bytes()),
        }
    }

    fn rare(&mut self, op: &Op, names: &Names) {
        match *op {
            Op::Access { .. } => {}
            Op::Range { kind, elements } => {
                let end = elements.hi.saturating_mul(u64::from(elements.elem));
                self.define_scalars(elements.base, end, names);
                let write = u8::from(kind == AccessKind::Write);
                let distance = self.distance(elements.base);
                self.payload.push(tag::READ_RANGE + write);
                self.zigzag(distance);
                self.payload.push(elements.elem);
                self.varint(elements.lo);
                self.varint(elements.hi.saturating_sub(elements.lo));
                self.varint(elements.stride);
            }
            Op::Alloc { addr, elem, len } => {
                let name = match names.array_at(addr) {
                    Some(id) => u64::from(self.id(Namespace::Array, u64::from(id), names)) + 1,
                    None => 0,
                };
                let distance = self.distance(addr);
                self.payload.push(tag::ALLOC);
                self.zigzag(distance);
                self.payload.push(elem);
                self.varint(len);
                self.varint(name);
            }
            Op::Free { addr } => {
                let distance = self.distance(addr);
                self.payload.push(tag::FREE);
                self.zigzag(distance);
            }
            Op::Load { addr, size, order } => {
                let order = match order {
                    LoadOrder::Relaxed => 0,
                    LoadOrder::Acquire => 1,
                    LoadOrder::SeqCst => 4,
                };
                self.atomic(tag::LOAD, order, addr, size, names);
            }
            Op::Store { addr, size, order } => {
                let order = match order {
                    StoreOrder::Relaxed => 0,
                    StoreOrder::Release => 2,
                    StoreOrder::SeqCst => 4,
                };
                self.atomic(tag::STORE, order, addr, size, names);
            }
            Op::Rmw { addr, size, order } => {
                let order = match order {
                    RmwOrder::Relaxed => 0,
                    RmwOrder::Acquire => 1,
                    RmwOrder::Release => 2,
                    RmwOrder::AcqRel => 3,
                    RmwOrder::SeqCst => 4,
                };
                self.atomic(tag::RMW, order, addr, size, names);
            }
            Op::Fence(order) => {
                self.payload.push(tag::FENCE);
                self.payload.push(match order {
                    FenceOrder::Acquire => 1,
                    FenceOrder::Release => 2,
                    FenceOrder::AcqRel => 3,
                    FenceOrder::SeqCst => 4,
                });
            }
            Op::Acquire(l) => self.named(tag::ACQUIRE, Namespace::Lock, l.0, names),
            Op::Release(l) => self.named(tag::RELEASE, Namespace::Lock, l.0, names),
            Op::ReadAcquire(l) => self.named(tag::READ_ACQUIRE, Namespace::Lock, l.0, names),
            Op::ReadRelease(l) => self.named(tag::READ_RELEASE, Namespace::Lock, l.0, names),
            Op::VolatileRead(x) => self.named(tag::VOLATILE_READ, Namespace::Volatile, x.0, names),
            Op::VolatileWrite(x) => {
                self.named(tag::VOLATILE_WRITE, Namespace::Volatile, x.0, names);
            }
            Op::Send(g) => self.named(tag::SEND, Namespace::Channel, g.0, names),
            Op::Receive(g) => self.named(tag::RECEIVE, Namespace::Channel, g.0, names),
            Op::Arrive(b) => self.named(tag::ARRIVE, Namespace::Barrier, b.0, names),
            Op::Depart(b) => self.named(tag::DEPART, Namespace::Barrier, b.0, names),
            Op::Fork(t) => self.named(tag::FORK, Namespace::Thread, u64::from(t.0), names),
            Op::Join(t) => self.named(tag::JOIN, Namespace::Thread, u64::from(t.0), names),
            Op::Enter(f) => self.named(tag::ENTER, Namespace::Function, u64::from(f.0), names),
            Op::Exit(f) => self.named(tag::EXIT, Namespace::Function, u64::from(f.0), names),
            Op::Begin => self.payload.push(tag::BEGIN),
            Op::End => self.payload.push(tag::END),
            Op::SampleBegin => self.payload.push(tag::SAMPLE_BEGIN),
            Op::SampleEnd => self.payload.push(tag::SAMPLE_END),
        }
    }

    fn atomic(&mut self, tag: u8, order: u8, addr: Addr, size: u32, names: &Names) {
        self.define_scalars(addr, u64::from(size), names);
        let distance = self.distance(addr);
        self.payload.extend_from_slice(&[tag, order]);
        self.varint(u64::from(size));
        self.zigzag(distance);
    }

    fn named(&mut self, tag: u8, space: Namespace, id: u64, names: &Names) {
        let n = self.id(space, id, names);
        self.payload.push(tag);
        self.varint(u64::from(n));
    }
}
