//! From record files to what a user reads.
//!
//! ```text
//! program ──records──► collect ──► symbols ──► finding (one for each unique pair) ──► suppress ──► text, JSON
//! ```
//!
//! A recorded run's log takes another way: `recording` makes a trace of it.
//!
//! [`run`] starts the program and shows races while it runs; [`show`] reads files that are there; [`explain`] reads what the
//! pass wrote into a program.
#![forbid(unsafe_code)]

mod collect;
mod explain;
mod finding;
pub mod json;
mod recording;
mod run;
mod signals;
mod stats;
mod suppress;
mod symbols;
mod text;

pub use collect::{Collector, show};
pub use explain::{Line, explain};
pub use finding::{Finding, Frame, Place};
pub use run::{Options, run};
pub use stats::Statistics;
pub use suppress::Suppressions;
pub use text::render;
