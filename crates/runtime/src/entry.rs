//! Accesses, as instrumented code and interceptors announce them.

use engine::detector::Access;
use event::{AccessKind, Addr, Elements};

use crate::thread::{self, Runtime, Thread};
use crate::tls;
use crate::unwind::caller;

/// Checks an access within one 8-byte word.
#[inline(always)]
fn word(kind: AccessKind, address: *const u8, size: u32, pc: usize) {
    thread::with(|thread, runtime| {
        if thread.ignore[kind as usize] != 0 {
            return;
        }
        let access = Access {
            kind,
            addr: Addr(address as u64),
            size,
            site: thread.site(pc),
        };
        runtime.analysis.access(&mut thread.state, access);
        let own = tls::own();
        if !own.remembers(address as usize)
            && let Some(location) = runtime.analysis.location(access.addr)
        {
            own.remember(address as usize, location);
        }
    });
}

/// Checks an access of `bytes` bytes, for a thread that is inside already.
pub fn range_inside(
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    address: u64,
    bytes: u64,
    pc: usize,
) {
    if bytes == 0 || thread.ignore[kind as usize] != 0 {
        return;
    }
    let site = thread.site(pc);
    let (analysis, state) = (&runtime.analysis, &mut thread.state);
    // Elements as large as alignment allows, the ragged ends byte by byte.
    let (start, end) = (address, address.saturating_add(bytes));
    let (first, last) = (start.next_multiple_of(8).min(end), end & !7);
    let mut piece = |from: u64, to: u64, elem: u8| {
        if from < to {
            let elements = Elements {
                base: Addr(from),
                elem,
                lo: 0,
                hi: (to - from) / u64::from(elem),
                stride: 1,
            };
            analysis.range(state, kind, elements, site);
        }
    };
    if first >= last {
        piece(start, end, 1);
        return;
    }
    piece(start, first, 1);
    piece(first, last, 8);
    piece(last, end, 1);
}

/// Checks an access of `bytes` bytes at `address`.
#[inline]
pub fn range(kind: AccessKind, address: *const u8, bytes: usize, pc: usize) {
    if bytes != 0 {
        thread::with(|thread, runtime| {
            range_inside(thread, runtime, kind, address as u64, bytes as u64, pc);
        });
    }
}

macro_rules! words {
    ($($size:literal $read:ident $read_slow:ident $write:ident $write_slow:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $read_slow(address: *const u8) {
            word(AccessKind::Read, address, $size, caller!());
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $write_slow(address: *const u8) {
            word(AccessKind::Write, address, $size, caller!());
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $read(address: *const u8) {
            word(AccessKind::Read, address, $size, caller!());
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $write(address: *const u8) {
            word(AccessKind::Write, address, $size, caller!());
        }
    )*};
}

words! {
    1 __footrace_read1 __footrace_read1_slow __footrace_write1 __footrace_write1_slow;
    2 __footrace_read2 __footrace_read2_slow __footrace_write2 __footrace_write2_slow;
    4 __footrace_read4 __footrace_read4_slow __footrace_write4 __footrace_write4_slow;
    8 __footrace_read8 __footrace_read8_slow __footrace_write8 __footrace_write8_slow;
    16 __footrace_read16 __footrace_read16_slow __footrace_write16 __footrace_write16_slow;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_read_range(address: *const u8, bytes: u64) {
    range(AccessKind::Read, address, bytes as usize, caller!());
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_write_range(address: *const u8, bytes: u64) {
    range(AccessKind::Write, address, bytes as usize, caller!());
}

/// Lanes that are not masked out, neighbours together.
fn masked(kind: AccessKind, address: *const u8, lane: u32, mut mask: u64, pc: usize) {
    let mut at = address as u64;
    thread::with(|thread, runtime| {
        while mask != 0 {
            let skip = mask.trailing_zeros();
            mask >>= skip;
            at += u64::from(skip) * u64::from(lane);
            let run = mask.trailing_ones();
            let bytes = u64::from(run) * u64::from(lane);
            range_inside(thread, runtime, kind, at, bytes, pc);
            at += bytes;
            mask = mask.checked_shr(run).unwrap_or(0);
        }
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_read_masked(address: *const u8, lane: u32, mask: u64) {
    masked(AccessKind::Read, address, lane, mask, caller!());
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_write_masked(address: *const u8, lane: u32, mask: u64) {
    masked(AccessKind::Write, address, lane, mask, caller!());
}

#[cfg(test)]
mod tests {
    /// The ABI's table and what is defined here are one list; a quick path has a slow twin.
    #[test]
    fn every_function_of_the_abi_is_defined() {
        let sources = [
            include_str!("entry.rs"),
            include_str!("atomic.rs"),
            include_str!("start.rs"),
        ];
        let defined = |name: &str| {
            let ends = [" ", "(", ";"];
            let mut uses = ends.iter().map(|end| alloc::format!("{name}{end}"));
            uses.any(|name| sources.iter().any(|source| source.contains(&name)))
        };
        for function in abi::FUNCTIONS {
            assert!(defined(function.name), "{}", function.name);
            if function.hot {
                let slow = alloc::format!("{}_slow", function.name);
                assert!(defined(&slow), "{slow}");
            }
        }
    }
}
