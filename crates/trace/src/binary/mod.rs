//! The binary form.
//!
//! ```text
//! file    = magic (8 bytes)  version u16  zero u16  zero u32  block*  end
//! block   = bytes u32  events u32  sum u32  header sum u32  payload
//!           the sums are CRC-32s, of the payload and of the three numbers before
//! end     = a block with `events` = 2^32 - 1 whose payload is the number of all events, u64
//! payload = item*
//! item    = tag u8, and what the tag asks for
//! ```
//!
//! All numbers are little-endian. A plain access of 1, 2, 4 or 8 bytes, the common case, is one tag of bits and fields
//! of fixed width, so that it is read without a loop or an unpredictable branch:
//!
//! ```text
//! 1 w ss aa tt     w: write   ss: size 1 2 4 8
//!                  aa: the address, as the distance from the thread's last one,
//!                      0 1 2: i8 i16 i32 in units of the size; 3: i64 in bytes
//!                  tt: the site, 0: the thread's last one; 1: i8 from that; 2: u32
//! ```
//!
//! Everything else is a tag below 128 (see [`tag`](mod@tag)) with LEB128 numbers. `THREAD` says whose items follow. `DEFINE` gives the next
//! number of a name space its name; it comes before the first use, so numbers are dense. Distances
//! start from 0 and thread 0 at the beginning of each block.
//!
//! A damaged file yields the events of the blocks before the damage, and of a block that is cut off the
//! events before the cut; then an error.

mod decode;
mod encode;

pub use decode::{BinaryReader, NO_ACCESS, Plain};
pub use encode::BinaryWriter;

/// The first bytes of every binary trace. Mangled line ends break it visibly.
pub const MAGIC: [u8; 8] = *b"\x89FTR\r\n\x1a\n";
/// The version written here, and the only one read.
pub const VERSION: u16 = 1;

const HEADER: usize = 16;
const BLOCK_HEADER: usize = 16;
/// Blocks are closed when they reach this size.
const BLOCK: usize = 16 * 1024;
/// A block that claims to be larger is damaged.
const MAX_BLOCK: u32 = 1 << 20;
/// What `events` says in the last block.
const END: u32 = u32::MAX;

/// Marks a plain access of a common size.
const HOT: u8 = 0x80;

/// What follows each tag is written behind it; every event's items end with its site.
#[rustfmt::skip]
pub mod tag {
    #![allow(missing_docs)]
    pub const THREAD: u8 = 0x01;        // number
    pub const DEFINE: u8 = 0x02;        // name space, length, bytes
    pub const READ: u8 = 0x10;          // size, distance
    pub const WRITE: u8 = 0x11;         // size, distance
    pub const READ_RANGE: u8 = 0x12;    // distance, elem, lo, hi - lo, stride
    pub const WRITE_RANGE: u8 = 0x13;   // distance, elem, lo, hi - lo, stride
    pub const ALLOC: u8 = 0x14;         // distance, elem, len, 0 or array + 1
    pub const FREE: u8 = 0x15;          // distance
    pub const LOAD: u8 = 0x16;          // order, size, distance
    pub const STORE: u8 = 0x17;         // order, size, distance
    pub const RMW: u8 = 0x18;           // order, size, distance
    pub const FENCE: u8 = 0x19;         // order
    pub const ACQUIRE: u8 = 0x20;       // lock
    pub const RELEASE: u8 = 0x21;       // lock
    pub const READ_ACQUIRE: u8 = 0x22;  // lock
    pub const READ_RELEASE: u8 = 0x23;  // lock
    pub const VOLATILE_READ: u8 = 0x24; // volatile
    pub const VOLATILE_WRITE: u8 = 0x25; // volatile
    pub const SEND: u8 = 0x26;          // channel
    pub const RECEIVE: u8 = 0x27;       // channel
    pub const ARRIVE: u8 = 0x28;        // barrier
    pub const DEPART: u8 = 0x29;        // barrier
    pub const FORK: u8 = 0x2a;          // thread
    pub const JOIN: u8 = 0x2b;          // thread
    pub const ENTER: u8 = 0x2c;         // function
    pub const EXIT: u8 = 0x2d;          // function
    pub const BEGIN: u8 = 0x30;
    pub const END: u8 = 0x31;
    pub const SAMPLE_BEGIN: u8 = 0x32;
    pub const SAMPLE_END: u8 = 0x33;
}

/// What distances are measured from, for each thread.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    addr: u64,
    site: u32,
}
