//! From a trace file to a verdict.
//!
//! [`detectors`] is the one table of detectors by name. [`analyze`](fn@analyze) streams a trace through one of them, event by
//! event, with one thread handle for each thread of the trace, and groups what it finds. A second pass
//! over the file finds the events that the detector, which remembers sites and not events, cannot name.
//! [`show`] prints the result for people; `serde` for machines. [`conformance`] holds detectors to the oracle,
//! [`batch`] and [`lockstep`] many small traces at once.
#![forbid(unsafe_code)]

pub mod batch;
mod bytes;
pub mod conformance;
pub mod detectors;
mod findings;
mod locate;
pub mod lockstep;
mod report;
mod run;
pub mod show;

pub use bytes::ByteSet;
pub use detectors::Options;
pub use report::{Moment, Report, Shadow, Side, Stats, UniqueRace};
pub use run::{BATCH, Failure, analyze, turn};
