//! Static check placement: which race checks a program needs, and where.
//!
//! After Rhodes, Flanagan, Freund, *BigFoot: Static Check Placement for Dynamic Race Detection*, PLDI
//! 2017.
#![forbid(unsafe_code)]

mod cfg;
pub mod interp;
pub mod ir;
mod lin;
pub mod schedule;
pub mod text;

pub use lin::Lin;
