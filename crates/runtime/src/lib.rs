//! What lives in the program: entry points for instrumented code, interceptors for libc, the map of
//! threads, blocks and stacks, and the detector that is fed from all of them.
//!
//! # Ground rules
//!
//! 1. It is a guest. It allocates from the kernel ([`memory`]), never from the program's malloc; it calls
//!    libc only where it stands in front of it; none of its symbols but the ABI and the
//!    interceptors are seen outside.
//! 2. A thread is inside or outside ([`tls::Block::enter`]). Inside, no code of the program runs: signals wait
//!    ([`signal`]), nested interceptors go straight to libc. Outside, no lock of the runtime is held; the one exception
//!    is the single instruction between the two calls of an atomic operation ([`atomic`]).
//! 3. A release is announced before libc does it, an acquire after: an edge in the detector
//!    is never missing, and none is there that the program did not have.
//! 4. A block's end is announced before libc frees it, its beginning after libc gave it out.
//! 5. A race is in the file before the next instruction of the program runs ([`records`]).
//! 6. After `fork` the child goes on alone with a consistent copy: the parent lets nobody be inside at that moment.
#![no_std]
#![cfg_attr(
    not(footrace_image),
    allow(dead_code, reason = "entered from outside, in the image only")
)]

extern crate alloc;

mod alone;
mod analysis;
mod atomic;
mod cancel;
mod detectors;
mod entry;
mod few;
mod field;
mod frames;
mod gathered;
mod heap;
mod intercept;
mod loans;
mod locate;
mod lock;
mod memory;
mod modules;
mod options;
mod outlined;
mod outside;
mod put_off;
mod real;
mod recording;
mod records;
mod registry;
mod show;
mod signal;
mod signal_stack;
mod site;
mod start;
mod stats;
mod step;
mod streams;
mod stub;
mod sys;
mod table;
mod thread;
mod tls;
mod unaligned;
mod unwind;

#[cfg(footrace_image)]
mod image;
