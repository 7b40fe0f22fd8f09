//! SlimState: footprints and compressed array shadows (Wilcox, Finch, Flanagan, Freund, ASE 2015).
//!
//! **Contract.** The same as [`precise`](crate::precise): a byte is reported if and only if the execution has a race on it. But a
//! race is reported later: when the later of its two threads synchronises, ends, or has too many footprints. A race that needs
//! an access that was never committed (the program was killed) is not reported.
//!
//! # The life of an access
//!
//! ```text
//! access ─ foreseen (a loop goes on)? ─► kept with its stream until the footprint is wanted
//!   │ no
//!   └───── buffer: which array? ─┬─ none ─────────────► Shadow, by address: checked at once, as FastTrack
//!          (directory if unknown) │                        ▲
//!                                 ├─ FINE, in the prefix ──┘ (once these are not in order)
//!                                 └─ else [SS ACCESS]: extends the thread's read or write footprint of the array
//!                                      │ no representation for the union: commit, begin anew
//! synchronisation, end, full buffer ──►▼
//!                              [SS COMMIT]: refine(P, f) by Table I, then one check for each part of f
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`Strided`], [`BitSet`] | footprints |
//! | [`Mode`], [`Labels`] | partitions; `table` is Table I, `chunk` has labels in few bytes |
//! | `trail` | a footprint with the sites that made it; `sitelists` gives such sites a number |
//! | `array` | one array's shadow: commit and refinement; `pieces` are lists that grow |
//! | `arrays`, `directory` | from addresses to arrays; life of blocks |
//! | `fates` | what the arrays of a site mostly become |
//! | `buffer` | commit buffers |
//! | `versions` | when memory last changed hands |
//! | `streams`, `loops` | what loops will do next, foreseen |
//! | `detector` | all of it together |
//!
//! # Why deferring is right
//!
//! A footprint is committed before its thread's clock changes: before the thread learns anything (acquire, join) and before
//! anybody learns of it (release, fork, end). So the check uses the clock that every access in the footprint
//! had. Commits of two threads may come in another order than their accesses did, but only if the two were
//! unordered anyway: had one happened before the other, its thread would have released, hence committed, before.
//! For unordered conflicting accesses the later commit finds the earlier one, whichever that is.
//!
//! # Where we go beyond the paper
//!
//! * An array is an allocated block of bytes, seen as elements of the size its allocation named. An access that does not fit
//!   (a smaller size, another alignment) makes the elements smaller: the same parts, in smaller units. Verdicts are exact to the byte.
//! * Single elements (FINE, PREFIX) have their shadow by address, as all other memory: where loops go through them in order it has few histories, and one for many of them.
//! * The paper checks accesses to single elements at once. We do, too, once a page of the array needs a location for each word. Until then, what is done to these is
//!   put off as before, so that it is ranges by which the shadow is checked: loops that leave some elements at an edge out, or begin an element later each time, make arrays PREFIX
//!   and FINE whose elements have few histories.
//! * A freed block is written as a whole, which one location can say: it becomes COARSE again, until its memory has another use.
//! * Relaxed atomics change no clock: they commit nothing.
//! * A read of what the thread wrote in the same region is no news: what races with it races with the write.
//! * Footprints that loops build from several places at once (`a[2i]`, `a[2i+1]`) are put together before they are committed, in whatever
//!   order their parts came.
//! * Table I keeps its third promise, see `table`.

mod array;
mod arrays;
mod bitset;
mod buffer;
mod chunk;
mod detector;
mod directory;
mod fates;
mod footprint;
mod given;
mod ground;
mod labels;
mod loops;
mod options;
mod partition;
mod pieces;
mod runs;
mod sitelists;
mod stats;
mod streams;
mod strided;
mod table;
mod trail;
mod versions;

pub use bitset::BitSet;
pub use buffer::PlainTable;
pub use detector::{Slim, SlimState, SlimStateBb, SlimStateBf, SlimStateBp, SlimThread};
pub use footprint::{Footprint, Shape};
pub use labels::Labels;
pub use options::Options;
pub use partition::{Mode, Part, Partition, Shadow};
pub use stats::{SiteSummary, Summary};
pub use streams::{PlaceKey, StreamTable};
pub use strided::Strided;
pub use table::Rule;
pub use versions::Versions;
