//! Traces to test on: [`random`], [`loops`], [`exhaustive`], and [`shrink`] for those that fail.

pub mod exhaustive;
mod loops;
mod patterns;
pub mod random;
mod rng;
pub mod shrink;

pub use exhaustive::{Alphabet, enumerate};
pub use loops::loops;
pub use random::{Config, random};
pub use rng::Rng;
pub use shrink::{repair, shrink};
