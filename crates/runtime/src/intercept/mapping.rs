//! Mappings: new memory is fresh. What is unmapped or moved away is written to, as by `free`, and then forgotten: what comes to these
//! addresses next may come unseen, as the data of a library.

use alloc::collections::BTreeMap;
use core::ffi::{c_int, c_void};
use core::ops::Range;

use event::{Addr, Site, Tid};

use crate::heap::HeapBlock;
use crate::lock::Spin;
use crate::real::interceptors;
use crate::{stats, sys, thread};

type Pointer = *mut c_void;

const FAILED: Pointer = -1isize as Pointer;
const PAGE: usize = 4096;
/// Larger new mappings are taken to be fresh without a look: what was there before was forgotten when it
/// was unmapped.
const LOOK: usize = 256 << 20;
/// Larger mappings go away without being checked: most of them were reserved and never touched.
const CHECK: usize = 4 << 30;

/// A mapping made by the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) site: Site,
    pub(crate) thread: Tid,
}

impl Mapping {
    /// As if it were one of the heap.
    fn block(&self) -> HeapBlock {
        HeapBlock {
            start: self.start,
            bytes: self.bytes,
            site: self.site,
            thread: self.thread,
            freed: false,
        }
    }
}

static MAPPINGS: Spin<BTreeMap<u64, Mapping>> = Spin::new(BTreeMap::new());

/// The mapping that holds `address`.
pub(crate) fn find(address: u64) -> Option<Mapping> {
    let mappings = MAPPINGS.lock();
    let (_, mapping) = mappings.range(..=address).next_back()?;
    (address - mapping.start < mapping.bytes).then_some(*mapping)
}

/// Calls `f` with each mapping of which the detector was told.
pub(crate) fn each(mut f: impl FnMut(HeapBlock)) {
    let mappings = MAPPINGS.lock();
    let told = mappings.values().filter(|m| m.bytes <= LOOK as u64);
    told.for_each(|mapping| f(mapping.block()));
}

/// What is there is another mapping from now on, or none.
fn forget(start: usize, bytes: usize) {
    let bytes = bytes.next_multiple_of(PAGE);
    thread::with(|thread, runtime| {
        let start = Addr(start as u64);
        let analysis = &runtime.analysis;
        analysis.renew(&mut thread.state, start, bytes as u64);
        // Whoever maps files one after the other has other addresses each time.
        let mut together = 0..0;
        analysis.each_untouched(start, bytes as u64, |page| {
            if together.end == page.start {
                together.end = page.end;
            } else {
                discard(&together);
                together = page;
            }
        });
        discard(&together);
    });
}

/// Gives the memory of locations back that are zeroes, and that nobody accesses: their words are about to be unmapped, or nobody knows them yet.
fn discard(locations: &Range<usize>) {
    let start = locations.start.next_multiple_of(PAGE);
    let end = locations.end & !(PAGE - 1);
    if start < end {
        // SAFETY: they are zeroes already, and will be.
        unsafe { sys::discard(start, end - start) };
    }
}

fn mapped(start: Pointer, bytes: usize, pc: usize) -> Pointer {
    if start != FAILED {
        mapped_at(start as usize, bytes, pc, true);
    }
    start
}

/// There is a mapping, fresh or as it was.
fn mapped_at(start: usize, bytes: usize, pc: usize, fresh: bool) {
    thread::with(|thread, runtime| {
        let mapping = Mapping {
            start: start as u64,
            bytes: bytes as u64,
            site: thread.site(pc),
            thread: thread.tid,
        };
        if fresh && bytes <= LOOK {
            let words = (bytes.next_multiple_of(PAGE) / 8) as u64;
            let (state, start) = (&mut thread.state, Addr(mapping.start));
            runtime.analysis.alloc(state, start, 8, words, mapping.site);
        }
        let mut mappings = MAPPINGS.lock();
        cut(&mut mappings, mapping.start, mapping.bytes);
        mappings.insert(mapping.start, mapping);
    });
}

/// Before libc does it: afterwards the addresses may be somebody else's.
fn unmapping(start: usize, bytes: usize, pc: usize) {
    let bytes = bytes.next_multiple_of(PAGE);
    if bytes <= CHECK {
        thread::with(|thread, runtime| {
            if runtime.options.stats && bytes <= LOOK {
                let gone = find(start as u64).map(|mapping| HeapBlock {
                    bytes: bytes as u64,
                    start: start as u64,
                    ..mapping.block()
                });
                stats::ends(&runtime.analysis, gone);
            }
            let site = thread.site(pc);
            let start = Addr(start as u64);
            runtime
                .analysis
                .free(&mut thread.state, start, bytes as u64, site);
        });
    }
    forget(start, bytes);
    thread::with(|_, _| cut(&mut MAPPINGS.lock(), start as u64, bytes as u64));
}

/// Takes a range out of the known mappings; what is left of them stays.
fn cut(mappings: &mut BTreeMap<u64, Mapping>, start: u64, bytes: u64) {
    let end = start.saturating_add(bytes);
    while let Some((&at, &mapping)) = mappings.range(..end).next_back()
        && at + mapping.bytes > start
    {
        mappings.remove(&at);
        if at < start {
            let bytes = start - at;
            mappings.insert(at, Mapping { bytes, ..mapping });
        }
        if at + mapping.bytes > end {
            let bytes = at + mapping.bytes - end;
            let rest = Mapping {
                start: end,
                bytes,
                ..mapping
            };
            mappings.insert(end, rest);
        }
        if at < start {
            break;
        }
    }
}

/// Can the kernel do what is asked?
fn is_range(start: usize, bytes: usize) -> bool {
    start.is_multiple_of(PAGE) && bytes != 0
}

type Remap<'a> = &'a dyn Fn(c_int) -> Pointer;

/// Moves or resizes a mapping. Only what has to move is announced as gone, and before it goes: so first without moving.
fn remaps(
    (start, old, new): (Pointer, usize, usize),
    flags: c_int,
    wanted: usize,
    pc: usize,
    real: Remap<'_>,
) -> Pointer {
    let (at, old) = (start as usize, old.next_multiple_of(PAGE));
    let moves = libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
    if !is_range(at, old) || !is_range(0, new) {
        return real(flags);
    }
    if flags & moves == 0 {
        if new < old {
            let kept = new.next_multiple_of(PAGE);
            if kept < old {
                unmapping(at + kept, old - kept, pc);
            }
            return real(flags);
        }
        let stays = real(flags & !libc::MREMAP_MAYMOVE);
        if stays == start {
            if new > old {
                forget(at + old, new - old);
            }
            mapped_at(at, new, pc, false);
            return stays;
        }
        if flags & libc::MREMAP_MAYMOVE == 0 {
            return stays;
        }
    }
    if flags & libc::MREMAP_FIXED != 0 && is_range(wanted, new) {
        unmapping(wanted, new, pc);
    }
    unmapping(at, old, pc);
    mapped(real(flags), new, pc)
}

interceptors! {
    fn mmap(hint: Pointer, bytes: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> Pointer = |real, pc| {
        mapped(real(hint, bytes, protection, flags, fd, offset), bytes, pc)
    }
    fn mmap64(hint: Pointer, bytes: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> Pointer = |real, pc| {
        mapped(real(hint, bytes, protection, flags, fd, offset), bytes, pc)
    }
    fn munmap(start: Pointer, bytes: usize) -> c_int = |real, pc| {
        if is_range(start as usize, bytes) {
            unmapping(start as usize, bytes, pc);
        }
        real(start, bytes)
    }
    fn dlclose(library: Pointer) -> c_int = |real, pc| {
        let result = real(library);
        crate::frames::forget();
        result
    }
    fn mremap(start: Pointer, old: usize, new: usize, flags: c_int, wanted: Pointer) -> Pointer = |real, pc| {
        remaps((start, old, new), flags, wanted as usize, pc, &|flags| {
            real(start, old, new, flags, wanted)
        })
    }
}
