//! What memory remembers: for each byte, the accesses that a later one could race with.

mod cell;
mod depot;
mod extended;
mod location;
mod memo;
mod memory;
mod pages;
mod rule;
mod span;
mod stats;
#[cfg(test)]
mod tests;

pub use cell::{Asked, Cell, Epoch};
pub use depot::Depot;
pub use location::{Conflict, Location, Touch, Touched};
pub use memo::Memo;
pub use memory::Memory;
pub use pages::{ADDRESSES, PAGE_BYTES, PAGE_WORDS, Page, Pages, word_of};
pub use rule::{DjitRule, FastTrackRule, Rule};
pub use span::{Span, words};
pub use stats::{Counts, RuleName};
