//! SlimState: footprints and compressed array shadows (Wilcox, Finch, Flanagan, Freund, ASE 2015).

mod bitset;
mod footprint;
mod labels;
mod partition;
mod strided;
mod table;

pub use bitset::BitSet;
pub use footprint::{Footprint, Shape};
pub use labels::Labels;
pub use partition::{Mode, Part, Partition, Shadow};
pub use strided::Strided;
pub use table::Rule;
