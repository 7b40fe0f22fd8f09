//! The grammar.
//!
//! ```text
//! line    = [ thread "|" op [ "|" site ] ] [ "#" comment ]
//! op      = "begin" | "end" | "sbegin" | "send"
//!         | ("r" | "w") "(" where ")"
//!         | "ld" "(" place "," order ")"          and st, rmw
//!         | "fence" "(" order ")"
//!         | "new" "(" name "," length [ "," bytes of an element ] ")"
//!         | "free" "(" name ")"
//!         | ("acq" | "rel" | "racq" | "rrel" | "vr" | "vw" | "snd" | "rcv" | "arrive" | "depart"
//!            | "fork" | "join" | "enter" | "exit") "(" name ")"
//! where   = place | name "[" lo ".." hi [ ":" stride ] "]" | raw "[" lo ".." hi [ ":" stride ] "]"
//! place   = name | name "[" index "]" | raw
//! raw     = "@0x" address ":" size                memory without a name
//! ```
//!
//! `new` and `free` take `@0x` addresses too.

use crate::names::within_memory;
use crate::names::{MAX_LEN, Names, Namespace, Unallocated, WORD};
use crate::text::{comment_starts, ends_name};
use event::{
    AccessKind, Addr, Elements, Event, FenceOrder, Func, LoadOrder, Op, RmwOrder, Site, StoreOrder,
    SyncId, Tid,
};
use std::ops::Range;

/// A line that is no event.
#[derive(Debug)]
pub(super) struct Bad {
    pub(super) span: Range<usize>,
    pub(super) what: String,
    pub(super) expected: String,
}

type Parsed<T> = Result<T, Bad>;

fn bad<T>(span: Range<usize>, what: impl Into<String>, expected: impl Into<String>) -> Parsed<T> {
    Err(Bad {
        span,
        what: what.into(),
        expected: expected.into(),
    })
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// From here to the next character, or where it would stand.
    fn here(&self) -> Range<usize> {
        let width = self.rest().chars().next().map_or(1, char::len_utf8);
        self.at..self.at + width
    }

    fn found(&self) -> String {
        match self.rest().chars().next() {
            Some(c) => format!("found `{}`", c.escape_debug()),
            None => "the line ends here".to_string(),
        }
    }

    fn eat(&mut self, c: char) -> bool {
        self.skip_spaces();
        let eaten = self.rest().starts_with(c);
        if eaten {
            self.at += c.len_utf8();
        }
        eaten
    }

    fn expect(&mut self, c: char) -> Parsed<()> {
        if self.eat(c) {
            return Ok(());
        }
        bad(self.here(), self.found(), format!("`{c}`"))
    }

    fn name(&mut self, what: &str) -> Parsed<(&'a str, Range<usize>)> {
        self.skip_spaces();
        let rest = self.rest();
        let len = rest.find(ends_name).unwrap_or(rest.len());
        if len == 0 {
            return bad(self.here(), self.found(), what);
        }
        let start = self.at;
        self.at += len;
        Ok((&rest[..len], start..self.at))
    }

    fn number(&mut self, what: &str) -> Parsed<(u64, Range<usize>)> {
        self.skip_spaces();
        let rest = self.rest();
        let len = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let start = self.at;
        self.at += len;
        if len == 0 {
            return bad(self.here(), self.found(), what);
        }
        match rest[..len].parse() {
            Ok(n) => Ok((n, start..self.at)),
            Err(_) => bad(start..self.at, "the number is too large", what),
        }
    }
}

/// One line: an event with the bytes of its operation, or nothing.
pub(super) fn line(text: &str, names: &mut Names) -> Parsed<Option<(Event, Range<usize>)>> {
    let text = match comment_starts(text) {
        Some(at) => &text[..at],
        None => text,
    };
    let text = text.trim_end();
    let mut cursor = Cursor { text, at: 0 };
    cursor.skip_spaces();
    if cursor.rest().is_empty() {
        return Ok(None);
    }
    let (thread, _) = cursor.name("the name of a thread")?;
    cursor.expect('|')?;
    cursor.skip_spaces();
    let start = cursor.at;
    let (word, span) = cursor.name("an operation, such as `r(x)`")?;
    let op = operation(&mut cursor, names, word, span)?;
    let end = cursor.at;
    let site = if cursor.eat('|') {
        cursor.rest().trim()
    } else {
        cursor.skip_spaces();
        if !cursor.rest().is_empty() {
            return bad(
                cursor.here(),
                cursor.found(),
                "`|` and a site, or the end of the line",
            );
        }
        ""
    };
    let event = Event {
        thread: Tid(names.intern(Namespace::Thread, thread)),
        op,
        site: Site(names.intern(Namespace::Site, site)),
    };
    Ok(Some((event, start..end)))
}

const OPERATIONS: &str = "one of r w acq rel racq rrel fork join begin end new free vr vw ld st rmw \
                          fence snd rcv arrive depart sbegin send enter exit";

fn operation(c: &mut Cursor<'_>, names: &mut Names, word: &str, span: Range<usize>) -> Parsed<Op> {
    match word {
        "begin" => return Ok(Op::Begin),
        "end" => return Ok(Op::End),
        "sbegin" => return Ok(Op::SampleBegin),
        "send" => return Ok(Op::SampleEnd),
        "r" | "w" | "acq" | "rel" | "racq" | "rrel" | "fork" | "join" | "new" | "free" | "vr"
        | "vw" | "ld" | "st" | "rmw" | "fence" | "snd" | "rcv" | "arrive" | "depart" | "enter"
        | "exit" => {}
        _ => return bad(span, format!("there is no operation `{word}`"), OPERATIONS),
    }
    c.expect('(')?;
    let op = match word {
        "r" => access(c, names, AccessKind::Read)?,
        "w" => access(c, names, AccessKind::Write)?,
        "ld" | "st" | "rmw" => atomic(c, names, word)?,
        "fence" => {
            let orders = [
                ("acq", FenceOrder::Acquire),
                ("rel", FenceOrder::Release),
                ("ar", FenceOrder::AcqRel),
                ("sc", FenceOrder::SeqCst),
            ];
            Op::Fence(order(c, &orders)?)
        }
        "new" => new(c, names)?,
        "free" => free(c, names)?,
        _ => named(c, names, word)?,
    };
    c.expect(')')?;
    Ok(op)
}

fn named(c: &mut Cursor<'_>, names: &mut Names, word: &str) -> Parsed<Op> {
    let (space, what) = match word {
        "fork" | "join" => (Namespace::Thread, "the name of a thread"),
        "enter" | "exit" => (Namespace::Function, "the name of a function"),
        "vr" | "vw" => (Namespace::Volatile, "the name of a volatile"),
        "snd" | "rcv" => (Namespace::Channel, "the name of a channel"),
        "arrive" | "depart" => (Namespace::Barrier, "the name of a barrier"),
        _ => (Namespace::Lock, "the name of a lock"),
    };
    let (name, _) = c.name(what)?;
    let id = names.intern(space, name);
    let sync = SyncId(u64::from(id));
    Ok(match word {
        "acq" => Op::Acquire(sync),
        "rel" => Op::Release(sync),
        "racq" => Op::ReadAcquire(sync),
        "rrel" => Op::ReadRelease(sync),
        "vr" => Op::VolatileRead(sync),
        "vw" => Op::VolatileWrite(sync),
        "snd" => Op::Send(sync),
        "rcv" => Op::Receive(sync),
        "arrive" => Op::Arrive(sync),
        "depart" => Op::Depart(sync),
        "fork" => Op::Fork(Tid(id)),
        "join" => Op::Join(Tid(id)),
        "enter" => Op::Enter(Func(id)),
        _ => Op::Exit(Func(id)),
    })
}

fn order<T: Copy>(c: &mut Cursor<'_>, orders: &[(&str, T)]) -> Parsed<T> {
    let known = || {
        let words: Vec<_> = orders.iter().map(|&(word, _)| word).collect();
        format!("a memory order: {}", words.join(" "))
    };
    let (word, span) = c.name(&known())?;
    match orders.iter().find(|&&(name, _)| name == word) {
        Some(&(_, order)) => Ok(order),
        None => bad(span, format!("`{word}` is no order for this"), known()),
    }
}

fn atomic(c: &mut Cursor<'_>, names: &mut Names, word: &str) -> Parsed<Op> {
    let start = c.at;
    let Operand::One { addr, size } = operand(c, names)? else {
        let what = "an atomic operation on many elements";
        return bad(start..c.at, what, "one variable or element");
    };
    c.expect(',')?;
    Ok(match word {
        "ld" => {
            let orders = [
                ("rlx", LoadOrder::Relaxed),
                ("acq", LoadOrder::Acquire),
                ("sc", LoadOrder::SeqCst),
            ];
            let order = order(c, &orders)?;
            Op::Load { addr, size, order }
        }
        "st" => {
            let orders = [
                ("rlx", StoreOrder::Relaxed),
                ("rel", StoreOrder::Release),
                ("sc", StoreOrder::SeqCst),
            ];
            let order = order(c, &orders)?;
            Op::Store { addr, size, order }
        }
        _ => {
            let orders = [
                ("rlx", RmwOrder::Relaxed),
                ("acq", RmwOrder::Acquire),
                ("rel", RmwOrder::Release),
                ("ar", RmwOrder::AcqRel),
                ("sc", RmwOrder::SeqCst),
            ];
            let order = order(c, &orders)?;
            Op::Rmw { addr, size, order }
        }
    })
}

enum Operand {
    One { addr: Addr, size: u32 },
    Many(Elements),
}

fn access(c: &mut Cursor<'_>, names: &mut Names, kind: AccessKind) -> Parsed<Op> {
    Ok(match operand(c, names)? {
        Operand::One { addr, size } => Op::Access { kind, addr, size },
        Operand::Many(elements) => Op::Range { kind, elements },
    })
}

fn operand(c: &mut Cursor<'_>, names: &mut Names) -> Parsed<Operand> {
    c.skip_spaces();
    if c.rest().starts_with('@') {
        return raw_operand(c);
    }
    let (name, span) = c.name("a variable, or an element such as `a[3]`")?;
    if !c.eat('[') {
        if names.array(name).is_some() {
            let what = format!("`{name}` is an array");
            return bad(
                span,
                what,
                format!("an element, `{name}[0]`, or a range, `{name}[0..4]`"),
            );
        }
        return Ok(Operand::One {
            addr: names.scalar(name),
            size: u32::from(WORD),
        });
    }
    let Some(array) = names.array(name) else {
        let what = format!("there is no array `{name}`");
        return bad(span, what, format!("a `new({name},…)` before this line"));
    };
    let whole = Elements {
        base: array.base,
        elem: array.elem,
        lo: 0,
        hi: array.len,
        stride: 1,
    };
    let bounds = format!("`{name}` has {} elements", array.len);
    index(c, whole, |past_end| past_end > array.len, &bounds)
}

/// `i]` or `lo..hi:stride]`.
fn index(
    c: &mut Cursor<'_>,
    of: Elements,
    too_far: impl Fn(u64) -> bool,
    bounds: &str,
) -> Parsed<Operand> {
    let (lo, lo_span) = c.number("the number of an element")?;
    let mut range = None;
    if c.rest().starts_with("..") {
        c.at += 2;
        let (hi, hi_span) = c.number("the number of the element after the last")?;
        if hi < lo {
            return bad(
                hi_span,
                "the range ends before it begins",
                format!("{lo} or more"),
            );
        }
        let mut stride = 1;
        if c.eat(':') {
            let (n, span) = c.number("a stride")?;
            if n == 0 {
                return bad(span, "a stride of 0", "at least 1");
            }
            stride = n;
        }
        range = Some((hi, hi_span, stride));
    }
    c.expect(']')?;
    match range {
        None if too_far(lo.saturating_add(1)) => bad(lo_span, "out of bounds", bounds),
        None => Ok(Operand::One {
            addr: of.addr(lo),
            size: u32::from(of.elem),
        }),
        Some((hi, hi_span, _)) if too_far(hi) => bad(hi_span, "out of bounds", bounds),
        Some((hi, _, stride)) => Ok(Operand::Many(Elements {
            lo,
            hi,
            stride,
            ..of
        })),
    }
}

const RAW: &str = "an address and a size in bytes, such as `@0x1000:4`";

fn address(c: &mut Cursor<'_>) -> Parsed<Addr> {
    let start = c.at;
    let Some(digits) = c.rest().strip_prefix("@0x") else {
        return bad(c.here(), "this is no address", RAW);
    };
    let len = digits
        .find(|d: char| !d.is_ascii_hexdigit())
        .unwrap_or(digits.len());
    c.at += 3 + len;
    match u64::from_str_radix(&digits[..len], 16) {
        Ok(addr) => Ok(Addr(addr)),
        Err(_) => bad(start..c.at, "this is no address", RAW),
    }
}

fn raw_operand(c: &mut Cursor<'_>) -> Parsed<Operand> {
    let addr = address(c)?;
    c.expect(':')?;
    let (size, span) = c.number("a size in bytes")?;
    let size = match u32::try_from(size) {
        Ok(size) if size > 0 && within_memory(addr, 1, u64::from(size)) => size,
        _ => {
            return bad(
                span,
                "this cannot be a size here",
                "1 or more bytes below 2^47",
            );
        }
    };
    if !c.eat('[') {
        return Ok(Operand::One { addr, size });
    }
    let elem = match size {
        1 | 2 | 4 | 8 => size as u8,
        _ => return bad(span, "elements of this size", "1, 2, 4 or 8 bytes"),
    };
    let of = Elements {
        base: addr,
        elem,
        lo: 0,
        hi: 0,
        stride: 1,
    };
    index(
        c,
        of,
        |past_end| !within_memory(addr, elem, past_end),
        "bytes below 2^47",
    )
}

fn new(c: &mut Cursor<'_>, names: &mut Names) -> Parsed<Op> {
    c.skip_spaces();
    let raw = c.rest().starts_with('@');
    let (addr, name) = if raw {
        (Some(address(c)?), None)
    } else {
        (None, Some(c.name("the name of an array")?))
    };
    c.expect(',')?;
    let (len, len_span) = c.number("the number of elements")?;
    let mut elem = WORD;
    if c.eat(',') {
        let (n, span) = c.number("the bytes of an element")?;
        elem = match n {
            1 | 2 | 4 | 8 => n as u8,
            _ => return bad(span, format!("elements of {n} bytes"), "1, 2, 4 or 8"),
        };
    }
    if let Some(addr) = addr {
        if !within_memory(addr, elem, len) {
            return bad(len_span, "the block is too long", "bytes below 2^47");
        }
        return Ok(Op::Alloc { addr, elem, len });
    }
    let Some((name, span)) = name else {
        return bad(c.here(), "no name", "the name of an array");
    };
    if names.knows(Namespace::Scalar, name) {
        let what = format!("`{name}` is a variable already");
        return bad(span, what, "a name of its own for the array");
    }
    match names.allocate(name, elem, len) {
        Ok(array) => Ok(Op::Alloc {
            addr: array.base,
            elem,
            len,
        }),
        Err(Unallocated::Alive) => bad(
            span,
            format!("`{name}` is there already"),
            format!("`free({name})` before"),
        ),
        Err(Unallocated::NoRoom) => bad(
            len_span,
            "the array is too long",
            format!("at most {MAX_LEN} elements, and less than 2^45 bytes in all"),
        ),
    }
}

fn free(c: &mut Cursor<'_>, names: &mut Names) -> Parsed<Op> {
    c.skip_spaces();
    if c.rest().starts_with('@') {
        return Ok(Op::Free { addr: address(c)? });
    }
    let (name, span) = c.name("the name of an array")?;
    match names.array(name) {
        Some(array) if array.alive => {
            names.unbind(array.base);
            Ok(Op::Free { addr: array.base })
        }
        Some(_) => bad(
            span,
            format!("`{name}` has been freed already"),
            format!("`new({name},…)` before"),
        ),
        None => bad(
            span,
            format!("there is no array `{name}`"),
            format!("`new({name},…)` before"),
        ),
    }
}
