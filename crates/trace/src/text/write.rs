//! Writes a text trace.

use crate::error::Error;
use crate::names::{Location, Names, Namespace};
use event::{
    AccessKind, Addr, Elements, Event, FenceOrder, LoadOrder, Op, RmwOrder, Site, StoreOrder,
};
use std::fmt::Write as _;
use std::io::Write;

/// Writes one event a line.
#[derive(Debug)]
pub struct TextWriter<W> {
    output: W,
    line: String,
}

impl<W: Write> TextWriter<W> {
    /// Starts with nothing written.
    pub fn new(output: W) -> Self {
        TextWriter {
            output,
            line: String::new(),
        }
    }

    /// Writes an event. `names` are those right after the event, as a reader has them.
    pub fn write(&mut self, event: &Event, names: &Names) -> Result<(), Error> {
        self.line.clear();
        put_name(
            &mut self.line,
            names,
            Namespace::Thread,
            u64::from(event.thread.0),
        );
        self.line.push('|');
        put_op(&mut self.line, names, &event.op);
        if event.site != Site(0) {
            self.line.push('|');
            put_name(
                &mut self.line,
                names,
                Namespace::Site,
                u64::from(event.site.0),
            );
        }
        self.line.push('\n');
        self.output.write_all(self.line.as_bytes())?;
        Ok(())
    }

    /// Nothing more comes.
    pub fn finish(mut self) -> Result<W, Error> {
        self.output.flush()?;
        Ok(self.output)
    }
}

fn put_name(line: &mut String, names: &Names, space: Namespace, id: u64) {
    match names.name(space, id) {
        Some(name) => line.push_str(name),
        None => line.push_str(&names.free_name(space, id)),
    }
}

fn put_one(line: &mut String, names: &Names, addr: Addr, size: u32) {
    let (location, bytes) = names.locate(addr);
    let whole = bytes == (addr.0..addr.0 + u64::from(size));
    match location {
        Location::Scalar(name) if whole => line.push_str(name),
        // Only what the name means now: not elements of a block that it had before.
        Location::Element(name, i)
            if whole
                && names.array(name).is_some_and(|a| {
                    i < a.len && a.base.0.wrapping_add(i.wrapping_mul(a.elem.into())) == addr.0
                }) =>
        {
            put(line, format_args!("{name}[{i}]"));
        }
        _ => put(line, format_args!("@{addr}:{size}")),
    }
}

fn put_many(line: &mut String, names: &Names, e: Elements) {
    let named = names
        .array_at(e.base)
        .and_then(|id| Some((id, names.array_by_id(id)?)))
        .filter(|(_, a)| a.base == e.base && a.elem == e.elem && e.hi <= a.len);
    match named {
        Some((id, _)) => put_name(line, names, Namespace::Array, u64::from(id)),
        None => put(line, format_args!("@{}:{}", e.base, e.elem)),
    }
    put(line, format_args!("[{}..{}", e.lo, e.hi));
    if e.stride != 1 {
        put(line, format_args!(":{}", e.stride));
    }
    line.push(']');
}

fn put(line: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = line.write_fmt(what);
}

fn put_op(line: &mut String, names: &Names, op: &Op) {
    let named = |line: &mut String, word: &str, space, id| {
        line.push_str(word);
        line.push('(');
        put_name(line, names, space, id);
        line.push(')');
    };
    match *op {
        Op::Access { kind, addr, size } => {
            line.push_str(access_word(kind));
            put_one(line, names, addr, size);
            line.push(')');
        }
        Op::Range { kind, elements } => {
            line.push_str(access_word(kind));
            put_many(line, names, elements);
            line.push(')');
        }
        Op::Alloc { addr, elem, len } => {
            line.push_str("new(");
            put_block(line, names, addr);
            put(line, format_args!(",{len}"));
            if elem != crate::names::WORD {
                put(line, format_args!(",{elem}"));
            }
            line.push(')');
        }
        Op::Free { addr } => {
            line.push_str("free(");
            put_block(line, names, addr);
            line.push(')');
        }
        Op::Load { addr, size, order } => {
            line.push_str("ld(");
            put_one(line, names, addr, size);
            line.push_str(match order {
                LoadOrder::Relaxed => ",rlx)",
                LoadOrder::Acquire => ",acq)",
                LoadOrder::SeqCst => ",sc)",
            });
        }
        Op::Store { addr, size, order } => {
            line.push_str("st(");
            put_one(line, names, addr, size);
            line.push_str(match order {
                StoreOrder::Relaxed => ",rlx)",
                StoreOrder::Release => ",rel)",
                StoreOrder::SeqCst => ",sc)",
            });
        }
        Op::Rmw { addr, size, order } => {
            line.push_str("rmw(");
            put_one(line, names, addr, size);
            line.push_str(match order {
                RmwOrder::Relaxed => ",rlx)",
                RmwOrder::Acquire => ",acq)",
                RmwOrder::Release => ",rel)",
                RmwOrder::AcqRel => ",ar)",
                RmwOrder::SeqCst => ",sc)",
            });
        }
        Op::Fence(order) => line.push_str(match order {
            FenceOrder::Acquire => "fence(acq)",
            FenceOrder::Release => "fence(rel)",
            FenceOrder::AcqRel => "fence(ar)",
            FenceOrder::SeqCst => "fence(sc)",
        }),
        Op::Acquire(l) => named(line, "acq", Namespace::Lock, l.0),
        Op::Release(l) => named(line, "rel", Namespace::Lock, l.0),
        Op::ReadAcquire(l) => named(line, "racq", Namespace::Lock, l.0),
        Op::ReadRelease(l) => named(line, "rrel", Namespace::Lock, l.0),
        Op::VolatileRead(x) => named(line, "vr", Namespace::Volatile, x.0),
        Op::VolatileWrite(x) => named(line, "vw", Namespace::Volatile, x.0),
        Op::Send(g) => named(line, "snd", Namespace::Channel, g.0),
        Op::Receive(g) => named(line, "rcv", Namespace::Channel, g.0),
        Op::Arrive(b) => named(line, "arrive", Namespace::Barrier, b.0),
        Op::Depart(b) => named(line, "depart", Namespace::Barrier, b.0),
        Op::Fork(t) => named(line, "fork", Namespace::Thread, u64::from(t.0)),
        Op::Join(t) => named(line, "join", Namespace::Thread, u64::from(t.0)),
        Op::Enter(f) => named(line, "enter", Namespace::Function, u64::from(f.0)),
        Op::Exit(f) => named(line, "exit", Namespace::Function, u64::from(f.0)),
        Op::Begin => line.push_str("begin"),
        Op::End => line.push_str("end"),
        Op::SampleBegin => line.push_str("sbegin"),
        Op::SampleEnd => line.push_str("send"),
    }
}

fn access_word(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "r(",
        AccessKind::Write => "w(",
    }
}

fn put_block(line: &mut String, names: &Names, addr: Addr) {
    match names.array_at(addr) {
        Some(id)
            if names
                .array_by_id(id)
                .is_some_and(|array| array.base == addr) =>
        {
            put_name(line, names, Namespace::Array, u64::from(id));
        }
        _ => put(line, format_args!("@{addr}")),
    }
}
