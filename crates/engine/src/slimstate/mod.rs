//! SlimState: footprints and compressed array shadows (Wilcox, Finch, Flanagan, Freund, ASE 2015).

mod array;
mod arrays;
mod bitset;
mod buffer;
mod detector;
mod directory;
mod footprint;
mod ground;
mod labels;
mod partition;
mod sitelists;
mod stats;
mod strided;
mod table;
mod trail;

pub use bitset::BitSet;
pub use detector::{Options, Slim, SlimState, SlimStateBb, SlimStateBf, SlimStateBp, SlimThread};
pub use footprint::{Footprint, Shape};
pub use labels::Labels;
pub use partition::{Mode, Part, Partition, Shadow};
pub use stats::{ArrayInfo, SiteInfo, Summary};
pub use strided::Strided;
pub use table::Rule;
