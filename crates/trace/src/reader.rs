//! Either form, told apart by its first bytes.

use crate::binary::{BinaryReader, BinaryWriter, MAGIC, Plain};
use crate::error::{Error, Place};
use crate::names::Names;
use crate::text::{TextReader, TextWriter};
use event::{Event, Op, Site, Tid};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// The two forms of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// One event a line.
    Text,
    /// Blocks of bytes.
    Binary,
}

/// An event to be read into: [`Reader::read_event`].
pub const BLANK: Event = Event {
    thread: Tid(0),
    op: Op::Begin,
    site: Site(0),
};

/// Reads a trace of either form.
#[derive(Debug)]
pub enum Reader<R> {
    /// It is text.
    Text(TextReader<R>),
    /// It is binary.
    Binary(BinaryReader<R>),
}

impl Reader<BufReader<File>> {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Reader::new(BufReader::with_capacity(1 << 17, File::open(path)?))
    }
}

impl<R: BufRead> Reader<R> {
    /// Looks at the first bytes.
    pub fn new(mut input: R) -> Result<Self, Error> {
        // A text trace cannot begin with the first byte of the magic: it is not UTF-8.
        let binary = input.fill_buf()?.first() == Some(&MAGIC[0]);
        Ok(if binary {
            Reader::Binary(BinaryReader::new(input)?)
        } else {
            Reader::Text(TextReader::new(input))
        })
    }

    /// Which form it is.
    pub fn format(&self) -> Format {
        match self {
            Reader::Text(_) => Format::Text,
            Reader::Binary(_) => Format::Binary,
        }
    }

    /// The next event; `None` at the end.
    #[inline]
    pub fn next_event(&mut self) -> Result<Option<Event>, Error> {
        let mut event = BLANK;
        Ok(self.read_event(&mut event)?.then_some(event))
    }

    /// Reads the next event into `event`; false at the end, or at an error, and `event` is of no use then.
    #[inline]
    pub fn read_event(&mut self, event: &mut Event) -> Result<bool, Error> {
        match self {
            Reader::Text(reader) => {
                let next = reader.next_event()?;
                Ok(next.map(|next| *event = next).is_some())
            }
            Reader::Binary(reader) => reader.read_event(event),
        }
    }

    /// Whose plain accesses [`plain_accesses`](Self::plain_accesses) would read, if there are any that can be had quickly.
    #[inline(always)]
    pub fn turn(&mut self) -> Option<Tid> {
        match self {
            Reader::Binary(reader) => reader.turn(),
            Reader::Text(_) => None,
        }
    }

    /// Reads plain accesses that the thread whose turn it is makes next: as many as there is room for, or those before something else.
    /// Says how many there are.
    #[inline]
    pub fn plain_accesses(&mut self, room: &mut [Plain]) -> usize {
        match self {
            Reader::Binary(reader) => reader.plain_accesses(room),
            Reader::Text(_) => 0,
        }
    }

    /// The number of the last event: its line in a text, its index from 1 in a binary trace.
    #[inline]
    pub fn position(&self) -> u64 {
        match self {
            Reader::Text(reader) => reader.line(),
            Reader::Binary(reader) => reader.events(),
        }
    }

    /// Where the last event stands, for messages.
    pub fn place(&self) -> Place {
        match self {
            Reader::Text(reader) => reader.place(),
            Reader::Binary(reader) => reader.place(),
        }
    }

    /// The names so far.
    pub fn names(&self) -> &Names {
        match self {
            Reader::Text(reader) => reader.names(),
            Reader::Binary(reader) => reader.names(),
        }
    }
}

/// Writes a trace of either form.
#[derive(Debug)]
pub enum Writer<W: Write> {
    /// As text.
    Text(TextWriter<BufWriter<W>>),
    /// As binary.
    Binary(Box<BinaryWriter<BufWriter<W>>>),
}

impl<W: Write> Writer<W> {
    /// Begins a trace.
    pub fn new(output: W, format: Format) -> Result<Self, Error> {
        let output = BufWriter::with_capacity(1 << 16, output);
        Ok(match format {
            Format::Text => Writer::Text(TextWriter::new(output)),
            Format::Binary => Writer::Binary(Box::new(BinaryWriter::new(output)?)),
        })
    }

    /// Writes an event. `names` are those right after the event, as a reader has them.
    pub fn write(&mut self, event: &Event, names: &Names) -> Result<(), Error> {
        match self {
            Writer::Text(writer) => writer.write(event, names),
            Writer::Binary(writer) => writer.write(event, names),
        }
    }

    /// Ends the trace. One that is not finished is a damaged one.
    pub fn finish(self) -> Result<(), Error> {
        match self {
            Writer::Text(writer) => drop(writer.finish()?),
            Writer::Binary(writer) => drop(writer.finish()?),
        }
        Ok(())
    }
}

/// Copies a trace; returns the number of events copied before the end or an error. What was read before an error is kept: the
/// copy is whole, only shorter.
pub fn copy<R: BufRead, W: Write>(
    mut reader: Reader<R>,
    mut writer: Writer<W>,
) -> (u64, Result<(), Error>) {
    let mut copied = 0;
    let end = loop {
        let written = match reader.next_event() {
            Ok(Some(event)) => writer.write(&event, reader.names()),
            Ok(None) => break Ok(()),
            Err(e) => break Err(e),
        };
        if let Err(e) = written {
            return (copied, Err(e));
        }
        copied += 1;
    };
    match writer.finish() {
        Ok(()) => (copied, end),
        Err(e) => (copied, Err(e)),
    }
}

/// For [`Reader::new`]: anything that can be read, buffered.
pub fn buffered<R: Read>(input: R) -> BufReader<R> {
    BufReader::with_capacity(1 << 17, input)
}
