//! Data races by their definition.
//!
//! The documentation of `event` says what happens-before and a race are. This crate transcribes it:
//! edges between events, the relation as reachability in that graph, and a look at every pair of
//! accesses. Nothing here is clever, nothing here is shared with `engine`, and everything that is
//! faster has to agree with it.
//!
//! ```
//! use event::{AccessKind, Addr, Event, Op, Site, Tid};
//! let write = |t| Event {
//!     thread: Tid(t),
//!     op: Op::Access { kind: AccessKind::Write, addr: Addr(64), size: 8 },
//!     site: Site(t),
//! };
//! let oracle = oracle::Oracle::new(&[write(0), write(1)]).unwrap();
//! assert_eq!(oracle.pairs().len(), 1);
//! assert_eq!(oracle.racy_bytes().len(), 8);
//! ```
//!
//! [`gen`](mod@crate::gen) makes traces to compare on: random, exhaustive, shrunk.
//! [`checks`] says which race checks of a program are precise.
//! [`wellformed`] says which sequences of events are executions at all.
#![forbid(unsafe_code)]

pub mod checks;
pub mod r#gen;
mod graph;
mod races;
pub mod wellformed;

pub use graph::HappensBefore;
pub use races::{Oracle, Pair, SitePair};
pub use wellformed::{Checker, Malformed, Outcome, check};
