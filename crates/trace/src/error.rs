//! What is wrong with a trace, and where.

use std::fmt;
use std::io;

/// Where in a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// In a text trace.
    Text {
        /// 1-based line.
        line: u64,
        /// 1-based column, in characters.
        column: usize,
        /// How many characters are meant, at least 1.
        width: usize,
        /// The line itself.
        text: String,
    },
    /// In a binary trace.
    Binary {
        /// Of the block or event.
        offset: u64,
        /// Events that were read before.
        events: u64,
    },
}

/// A trace that cannot be read further.
#[derive(Debug)]
pub enum Error {
    /// The file itself cannot be read or written.
    Io(io::Error),
    /// Its content is wrong.
    Bad {
        /// Where.
        place: Place,
        /// What is wrong.
        what: String,
        /// What would have been right.
        expected: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Text { line, column, .. } => write!(f, "{line}:{column}"),
            Place::Binary { offset, events } => {
                write!(f, "byte {offset}, after {events} events")
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(e) => write!(f, "{e}"),
            Error::Bad {
                place,
                what,
                expected,
            } => write!(f, "{place}: {what}; expected {expected}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(e) => Some(e),
            Error::Bad { .. } => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Error::Io(e)
    }
}
