//! The detectors of the papers: events in, verdicts out.
//!
//! The contract, the definition of a race and of happens-before, is the documentation of `event`.
//! Everything here is written to run inside a program, called by its threads at the same time, and
//! is tested by traces: the same code in both places.
//!
//! | module | what |
//! |---|---|
//! | [`detector`] | the interface of all detectors |
//! | [`clock`] | vector clocks, threads' clocks, slots and their reuse |
//! | [`sync`] | happens-before: locks, barriers, atomics, fork and join |
//! | [`shadow`] | the shadow of memory: cells, locations, pages, the rules |
//! | [`precise`] | `fasttrack` and `djit` out of these |
//! | [`pacer`] | `pacer`: `fasttrack` in sampling periods |
//! | [`rex`] | the filters `rex`, `rex-lockset` and `rex-paper`, in front of any detector |
//! | [`literace`] | the sampler `literace`, in front of any detector |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(test, loom))]
extern crate std;

mod atomic_bytes;
mod boxed;
pub mod clock;
pub mod detector;
mod grow;
pub mod literace;
mod lock;
pub mod pacer;
pub mod precise;
mod random;
pub mod replay;
pub mod rex;
pub mod shadow;
mod sites;
pub mod sleep;
pub mod slimstate;
pub mod sync;

pub use clock::Limits;
pub use detector::{
    Access, AtomicOp, BlockShadow, Counters, Detector, Hint, Race, Side, Sink, SyncOp,
};
pub use grow::Grow;
pub use lock::{Guard, Lock, set_quiesce, set_yield};
pub use precise::{Djit, FastTrack};
