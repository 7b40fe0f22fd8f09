//! Trace files, read and written event by event, never loaded whole.
//!
//! | form | for | where |
//! |---|---|---|
//! | text | people: one event a line, a superset of RAPID's STD | [`text`], `docs/traces.md` |
//! | binary | machines: blocks with checksums, a few bytes an event | [`binary`] |
//!
//! Both carry the same events and the same names: converting there and back changes nothing but
//! comments and spaces. [`Reader`] tells them apart by their first bytes. [`Names`] says what each number
//! in an event stands for, and where named variables and arrays lie in memory.
#![forbid(unsafe_code)]

pub mod binary;
mod error;
mod names;
mod reader;
pub mod shapes;
pub mod text;

pub use binary::{NO_ACCESS, Plain};
pub use error::{Error, Place};
pub use names::{Array, Location, Names, Namespace};
pub use reader::{BLANK, Format, Reader, Writer, buffered, copy};
