//! The detectors of the papers: events in, verdicts out.
//!
//! The contract, the definition of a race and of happens-before, is the documentation of `event`.
//! Everything here is written to run inside a program, called by its threads at the same time, and
//! is tested by traces: the same code in both places.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod detector;
pub mod replay;
pub mod slimstate;

pub use detector::{Access, Counters, Detector, Race, Side, SyncOp};
