//! Race records: what a process knows when it finds a race, and nothing that can be found out later.
//!
//! A record file is text, one fact a line, facts grouped into blocks, each block written with one
//! `write(2)`. A process that dies leaves whole blocks and at most one torn tail, which the reader
//! leaves alone. Names, source lines, grouping and pictures are made outside, from the module map.
//!
//! ```text
//! footrace 1                                first block of every file; 1 is the format's version
//! process <pid> <parent pid> <detector> <path of the executable>
//! .
//! modules                                   again whenever a library came or went
//! module <start> <end> <bias> <build id> <path>
//! .
//! race <number>
//! memory <address> <bytes>                  what both accesses touched
//! elements <bytes> <bytes to the next> <count>      from that address on, if several were found to race at once
//! access <read|write> <plain|atomic> <thread>      the earlier one; the later one follows
//! at <pc> <pc> …                            its stack, innermost first, after each line that has one
//! lock <address> <alone|shared>             held during the access
//! at <pc> …                                 where it was taken
//! thread <number> <main|parent> <name>
//! at <pc> …                                 where it was created
//! heap <start> <bytes> <thread>             or: stack <thread> <start> <end> | mapped | none
//! at <pc> …                                 where it was allocated
//! .
//! repeat <number> <times>                   seen again: the last one counts
//! .
//! stats                                     if the user asked for them
//! count <name> <number>
//! arrays <partition> <blocks> <elements> <locations>
//! at <pc> …                                 where they were allocated
//! .
//! end <exit code>                           the process came to its end in an orderly way
//! .
//! ```
//!
//! Numbers are decimal, except addresses, which are hexadecimal without a prefix. A pc is inside the calling
//! instruction, so that it can be looked up as it is. Strings have `%`, spaces and control characters
//! written as `%XX`; an empty string is `-`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod model;
mod read;
pub mod recording;
mod write;

pub use model::{
    Access, Arrays, Block, Elements, Location, Lock, Module, Process, Race, Stack, Stats, Thread,
};
pub use read::{BadRecord, Reader};

/// The format's version, in the first line of every file.
pub const VERSION: u32 = 1;
