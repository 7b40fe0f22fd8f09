//! The text form: one event a line, `thread|op|site`.
//!
//! `docs/traces.md` describes it for who writes traces; [`parse`](mod@parse) is its grammar.

mod parse;
mod write;

use crate::error::{Error, Place};
use crate::names::Names;
use event::Event;
use std::io::{BufRead, Read};

pub use write::TextWriter;

/// No line is longer than this, so that no file is ever held whole.
pub const MAX_LINE: usize = 64 * 1024;

/// What ends a name. Sites are freer: they end with the line or at a comment.
pub(crate) fn ends_name(c: char) -> bool {
    matches!(c, '|' | '(' | ')' | ',' | '[' | ']' | '#') || c.is_whitespace() || c.is_control()
}

/// Can a site be called so?
pub(crate) fn is_site(name: &str) -> bool {
    name.trim() == name
        && !name.chars().any(char::is_control)
        && comment_starts(name).is_none()
        && name.len() < MAX_LINE / 4
}

/// Can anything else be called so?
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('@')
        && !name.contains(ends_name)
        && name.len() < MAX_LINE / 4
}

/// Where a comment starts: at a `#` that begins the text or follows a space.
pub(crate) fn comment_starts(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|&i| bytes[i] == b'#' && (i == 0 || bytes[i - 1].is_ascii_whitespace()))
}

/// Reads a text trace, a line at a time.
#[derive(Debug)]
pub struct TextReader<R> {
    input: R,
    line: Vec<u8>,
    line_number: u64,
    names: Names,
    /// The operation of the last event, as bytes of `line`.
    op: std::ops::Range<usize>,
}

impl<R: BufRead> TextReader<R> {
    /// Starts at the first line.
    pub fn new(input: R) -> Self {
        TextReader {
            input,
            line: Vec::new(),
            line_number: 0,
            names: Names::new(),
            op: 0..0,
        }
    }

    /// The names so far.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The line of the last event, from 1.
    pub fn line(&self) -> u64 {
        self.line_number
    }

    /// The next event; `None` at the end.
    pub fn next_event(&mut self) -> Result<Option<Event>, Error> {
        loop {
            self.line.clear();
            let limit = MAX_LINE as u64 + 1;
            let read = self
                .input
                .by_ref()
                .take(limit)
                .read_until(b'\n', &mut self.line)?;
            if read == 0 {
                return Ok(None);
            }
            self.line_number += 1;
            if self.line.len() > MAX_LINE {
                self.line.truncate(80);
                return Err(self.bad(0..1, "the line is too long", "lines of at most 64 KiB"));
            }
            let text = match std::str::from_utf8(&self.line) {
                Ok(text) => text,
                Err(e) => {
                    let at = e.valid_up_to();
                    return Err(self.bad(at..at + 1, "not UTF-8 text", "a text or binary trace"));
                }
            };
            match parse::line(text, &mut self.names) {
                Ok(Some((event, op))) => {
                    self.op = op;
                    return Ok(Some(event));
                }
                Ok(None) => {}
                Err(e) => return Err(self.bad(e.span, &e.what, &e.expected)),
            }
        }
    }

    /// Where the operation of the last event stands.
    pub fn place(&self) -> Place {
        self.place_of(self.op.clone())
    }

    fn place_of(&self, span: std::ops::Range<usize>) -> Place {
        let text = String::from_utf8_lossy(&self.line);
        let columns = |to: usize| {
            let to = to.min(self.line.len());
            String::from_utf8_lossy(&self.line[..to]).chars().count()
        };
        let start = columns(span.start);
        Place::Text {
            line: self.line_number,
            column: start + 1,
            width: columns(span.end).saturating_sub(start).max(1),
            text: text.trim_end().to_string(),
        }
    }

    fn bad(&self, span: std::ops::Range<usize>, what: &str, expected: &str) -> Error {
        Error::Bad {
            place: self.place_of(span),
            what: what.to_string(),
            expected: expected.to_string(),
        }
    }
}
