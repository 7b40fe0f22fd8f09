//! What memory remembers: for each byte, the accesses that a later one could race with.

mod block;
mod cell;
mod census;
mod depot;
mod extended;
mod fields;
mod hints;
mod location;
mod memo;
mod memory;
mod mixed;
pub mod ordered;
mod outside;
mod pages;
mod pool;
mod renewals;
mod repeats;
mod rule;
mod run_list;
mod run_pages;
mod runs;
mod settled;
mod span;
mod stats;
mod sweep;
#[cfg(test)]
mod tests;

pub use cell::{Asked, Cell, Epoch, Timeless};
pub use census::Census;
pub use depot::Depot;
pub use fields::Rooms;
pub use location::{Conflict, Location, Touch, Touched};
pub(crate) use location::{Like, fit_anew, touch_cells};
pub use memo::Memo;
pub(crate) use memory::Form;
pub use memory::Memory;
pub use mixed::MixedAt;
pub use pages::{ADDRESSES, Blank, FAN_SHIFT, PAGE_BYTES, PAGE_WORDS, Page, Pages, ROOT, word_of};
pub(crate) use repeats::{Range, Repeats};
pub use rule::{DjitRule, FastTrackRule, Rule};
pub(crate) use run_pages::Locked;
pub(crate) use runs::Swept;
pub use settled::{Entries, NOTHING, Settled};
pub use span::{Span, words};
pub use stats::{Counts, RuleName};
pub use sweep::{Comb, Extent, LONGEST_PERIOD, Sweep, Sweeps};
