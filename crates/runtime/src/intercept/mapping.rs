//! Mappings: new memory is fresh, and what goes away is forgotten.

use alloc::collections::BTreeMap;
use core::ffi::{c_int, c_void};

use event::{Addr, Site, Tid};

use crate::lock::Spin;
use crate::real::interceptors;
use crate::thread;

type Pointer = *mut c_void;

const FAILED: Pointer = -1isize as Pointer;
const PAGE: usize = 4096;
/// Larger new mappings are taken to be fresh without a look: what was there before was forgotten when it
/// was unmapped.
const LOOK: usize = 256 << 20;

/// A mapping made by the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) site: Site,
    pub(crate) thread: Tid,
}

static MAPPINGS: Spin<BTreeMap<u64, Mapping>> = Spin::new(BTreeMap::new());

/// The mapping that holds `address`.
pub(crate) fn find(address: u64) -> Option<Mapping> {
    let mappings = MAPPINGS.lock();
    let (_, mapping) = mappings.range(..=address).next_back()?;
    (address - mapping.start < mapping.bytes).then_some(*mapping)
}

fn forget(start: usize, bytes: usize) {
    let bytes = bytes.next_multiple_of(PAGE);
    thread::with(|thread, runtime| {
        runtime
            .analysis
            .renew(&mut thread.state, Addr(start as u64), bytes as u64);
    });
}

fn mapped(start: Pointer, bytes: usize, pc: usize) -> Pointer {
    if start != FAILED {
        thread::with(|thread, runtime| {
            let mapping = Mapping {
                start: start as u64,
                bytes: bytes as u64,
                site: thread.site(pc),
                thread: thread.tid,
            };
            if bytes <= LOOK {
                let words = (bytes.next_multiple_of(PAGE) / 8) as u64;
                let (state, start) = (&mut thread.state, Addr(mapping.start));
                runtime.analysis.alloc(state, start, 8, words, mapping.site);
            }
            MAPPINGS.lock().insert(mapping.start, mapping);
        });
    }
    start
}

/// Before libc does it: afterwards the addresses may be somebody else's.
fn unmapping(start: Pointer, bytes: usize) {
    forget(start as usize, bytes);
    thread::with(|_, _| MAPPINGS.lock().remove(&(start as u64)));
}

interceptors! {
    fn mmap(hint: Pointer, bytes: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> Pointer = |real, pc| {
        mapped(real(hint, bytes, protection, flags, fd, offset), bytes, pc)
    }
    fn mmap64(hint: Pointer, bytes: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> Pointer = |real, pc| {
        mapped(real(hint, bytes, protection, flags, fd, offset), bytes, pc)
    }
    fn munmap(start: Pointer, bytes: usize) -> c_int = |real, pc| {
        if (start as usize).is_multiple_of(PAGE) && bytes != 0 {
            unmapping(start, bytes);
        }
        real(start, bytes)
    }
    fn mremap(start: Pointer, old: usize, new: usize, flags: c_int, wanted: Pointer) -> Pointer = |real, pc| {
        let result = real(start, old, new, flags, wanted);
        if result == start {
            if new > old {
                forget(start as usize + old, new - old);
            }
        } else if result != FAILED {
            // Who else used the old addresses did so before the move, or is wrong.
            mapped(result, new, pc);
        }
        result
    }
}
