//! Accesses, as instrumented code and interceptors announce them.

use core::sync::atomic::Ordering;

use engine::Detector;
use engine::detector::Access;
use event::{AccessKind, Addr, Elements, Site};

use engine::precise::{PreciseThread, Raced, Shadow};
use engine::shadow::{Comb, FastTrackRule, LONGEST_PERIOD, Location, ordered};
use engine::sync::HappensBefore;

use crate::analysis::{Analysis, State};
use crate::atomic::fetch;
pub use crate::few::few;
use crate::few::{FEW, are_known, rows_inside};
use crate::outlined::outlined;
use crate::outside::{Place, outside};
use crate::put_off;
use crate::streams::{Done, foreseen, not_foreseen};
use crate::stub::{range_stub, word_stub};
use crate::thread::{self, Runtime, Thread};
use crate::tls;
use crate::unwind::caller;

/// Checks an access within one 8-byte word, or to two of them.
#[inline(always)]
fn word(kind: AccessKind, address: *const u8, size: u32, pc: usize) {
    let own = tls::own();
    if !own.enter() {
        return;
    }
    // What is recorded now is not published yet.
    own.idle.store(0, Ordering::Relaxed);
    if let Some((thread, runtime)) = thread::current()
        && !quick_word(own, thread, runtime, kind, address as usize, size, pc)
    {
        slow_word(own, thread, runtime, kind, address as usize, size, pc);
        thread.show(own);
    }
    own.leave();
}

/// The common cases: memory whose locations are by word, at a site that the thread knows; or an
/// array where a loop goes on. Returns false if the access is not checked yet, or only half of it.
#[inline(always)]
fn quick_word(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    address: usize,
    size: u32,
    pc: usize,
) -> bool {
    if thread.ignore != [0, 0] {
        return false;
    }
    let addr = Addr(address as u64);
    let (state, names) = thread.state_and_names();
    let Some((order, shadow, precise)) = runtime.analysis.by_word(state, addr) else {
        return foreseen(thread, runtime, addr, size, pc);
    };
    let what = (kind, addr, u64::from(size));
    let seen = own.seen(address);
    if let Some(seen) = seen
        && put_off::mark(shadow, precise, seen, what, |slot| names.number(pc, slot))
    {
        return true;
    }
    let location = match own.location(address) {
        Some(location) => location,
        None if seen.is_some() => return false,
        None if kind == AccessKind::Read && shadow.is_reread(precise, addr, size) => return true,
        None if shadow.is_in_row(precise, kind, addr, size) => return true,
        None => match find(own, runtime, address) {
            Some(location) => location,
            None => return false,
        },
    };
    if address % 8 + size as usize > 8 {
        return false;
    }
    let mask = mask(address, size);
    let Some(slot) = precise.clock.numbering() else {
        return false;
    };
    let Some(number) = names.number(pc, slot) else {
        return false;
    };
    let what = (kind, addr, mask);
    let raced = record(own, order, shadow, precise, location, what, number);
    if raced == Raced(true) {
        tell(thread, runtime, (kind, addr, size), pc);
    }
    true
}

/// Checks an access to the bytes of a word, whose site has that number, and remembers it.
#[inline(always)]
fn record(
    own: &tls::Block,
    order: &HappensBefore,
    shadow: &Shadow<FastTrackRule>,
    precise: &mut PreciseThread,
    location: &Location,
    (kind, addr, mask): (AccessKind, Addr, u8),
    number: u32,
) -> Raced {
    if location.is_inline() {
        // The next such access is one that the stub makes itself.
        ordered::note(&own.ordered, &precise.clock, location);
        if shadow.access_inline(order, precise, location, kind, mask, number) {
            return Raced(false);
        }
    }
    shadow.access_hard(order, precise, location, (kind, addr, mask), number)
}

/// As [`quick_word`], for who does not know the kind and the size beforehand.
#[inline(never)]
pub fn quick_any(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    address: usize,
    size: u32,
    pc: usize,
) -> bool {
    quick_word(own, thread, runtime, kind, address, size, pc)
}

/// Tells of the races of the thread's last access, by word.
#[cold]
#[inline(never)]
pub fn tell(
    thread: &mut Thread,
    runtime: &Runtime,
    (kind, addr, size): (AccessKind, Addr, u32),
    pc: usize,
) {
    let access = Access {
        kind,
        addr,
        size,
        site: thread.site(pc),
    };
    if let Some((order, shadow, precise)) = runtime.analysis.by_word_still(&mut thread.state) {
        shadow.tell(order, precise, access, &mut thread::found);
    }
}

/// The bytes of its word that an access covers.
#[inline(always)]
pub const fn mask(address: usize, size: u32) -> u8 {
    if size == 8 {
        0xFF
    } else {
        (((1u32 << size) - 1) << (address % 8)) as u8
    }
}

/// The location of the word at `address`, if its page has one for each word; the inlined checks know the page from now on.
#[inline(never)]
pub fn find(own: &tls::Block, runtime: &Runtime, address: usize) -> Option<&'static Location> {
    let location = runtime.analysis.location(Addr(address as u64))?;
    own.remember(address, location);
    own.location(address)
}

/// The inlined checks, or the stubs, know the page of `address` from now on, if it has something for them.
fn learn(own: &tls::Block, thread: &Thread, runtime: &Runtime, address: usize) {
    if own.location(address).is_none() && find(own, runtime, address).is_none() {
        put_off::remember(own, &thread.state, address);
    }
}

/// All other cases.
#[inline(never)]
pub fn slow_word(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    address: usize,
    size: u32,
    pc: usize,
) {
    if thread.ignore[kind as usize] != 0 {
        return;
    }
    let access = Access {
        kind,
        addr: Addr(address as u64),
        size,
        site: thread.site(pc),
    };
    if let (Analysis::FastTrack(detector), State::FastTrack(precise), Some(location), 1..=8) = (
        &runtime.analysis,
        &mut thread.state,
        own.location(address),
        size,
    ) {
        let (order, mask) = (detector.order(), mask(address, size));
        let shadow = detector.shadow();
        shadow.access_at(order, precise, location, mask, access, &mut thread::found);
    } else {
        match not_foreseen(own, thread, runtime, access, pc) {
            Done::InArray => return,
            Done::ByWord => {}
            Done::No => runtime.analysis.access(&mut thread.state, access),
        }
    }
    if let Some((slot, number)) = runtime.analysis.number(&mut thread.state, access.site) {
        thread.set_number(pc, slot, number);
    }
    learn(own, thread, runtime, address);
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
    let elements = Elements {
        base: Addr(address),
        elem: 1,
        lo: 0,
        hi: bytes,
        stride: 1,
    };
    ranged(thread, runtime, kind, elements, site, pc);
    let (own, address) = (tls::own(), address as usize);
    learn(own, thread, runtime, address);
}

/// Checks an access to many elements, which is not as [before](quick_words); the next time it may be, if the number of its site is known.
fn ranged(
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    elements: Elements,
    site: Site,
    pc: usize,
) {
    let (Analysis::FastTrack(detector), State::FastTrack(precise)) =
        (&runtime.analysis, &mut thread.state)
    else {
        return runtime
            .analysis
            .range(&mut thread.state, kind, elements, site);
    };
    let (shadow, order, found) = (detector.shadow(), detector.order(), &mut thread::found);
    shadow.range_anew(order, precise, kind, elements, site, found);
    if precise.asks_for_numbers()
        && let Some((slot, number)) = runtime.analysis.number(&mut thread.state, site)
    {
        thread.set_number(pc, slot, number);
    }
}

/// Checks an access of `bytes` bytes at `address`.
#[inline]
pub fn range(kind: AccessKind, address: *const u8, bytes: usize, pc: usize) {
    if bytes <= FEW {
        few(kind, address, bytes, pc);
    } else {
        many(kind, address, bytes, pc);
    }
}

/// The same for more than [`FEW`].
#[inline(never)]
fn many(kind: AccessKind, address: *const u8, bytes: usize, pc: usize) {
    if tls::own().is_alone() {
        return;
    }
    let quick = |thread: &mut Thread, runtime: &Runtime| {
        let words = Comb {
            first: Addr(address as u64),
            count: bytes as u64 / 8,
            period: 1,
            mask: 0xFF,
        };
        (address as usize | bytes).is_multiple_of(8)
            && quick_words(thread, runtime, kind, words, pc)
    };
    thread::with_quick(quick, |thread, runtime| {
        range_inside(thread, runtime, kind, address as u64, bytes as u64, pc);
    });
}

/// Elements that are few: a loop of some rounds.
const FEW_ELEMENTS: u64 = 8;

/// Rows that are few: a block of a picture.
const FEW_ROWS: u64 = 32;

/// The same for few elements, each within a word.
fn few_elements(
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    elements: Strided,
    pc: usize,
) -> bool {
    let own = tls::own();
    let at = |index: u64| elements.address.wrapping_add(index * elements.stride) as usize;
    let is_quick = |address: usize| {
        address % 8 + elements.elem as usize <= 8 && own.location(address).is_some()
    };
    if elements.stride > u64::from(u32::MAX)
        || !(0..elements.count).all(|index| is_quick(at(index)))
    {
        return false;
    }
    let size = elements.elem as u32;
    for address in (0..elements.count).map(at) {
        if own.is_known(kind, address, size) != Some(true)
            && !quick_any(own, thread, runtime, kind, address, size, pc)
        {
            slow_word(own, thread, runtime, kind, address, size, pc);
        }
    }
    true
}

/// Checks an access within one word, or to two to four whole ones, which their stubs have not looked at.
#[inline(always)]
fn sized(kind: AccessKind, address: *const u8, size: u32, pc: usize) {
    if size <= 8 {
        word(kind, address, size, pc);
    } else {
        few(kind, address, size as usize, pc);
    }
}

macro_rules! words {
    ($($name:ident $slow:ident $outlined:ident $inner:ident $outside:ident $kind:ident $size:tt;)*) => {$(
        extern "C" fn $inner(address: *const u8, pc: usize) {
            sized(AccessKind::$kind, address, $size, pc);
        }
        extern "C" fn $outside(place: Place, at: usize, number: u32, pc: usize) -> bool {
            $size <= 8 && outside(AccessKind::$kind, place, at, $size, number, pc)
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: *const u8) {
            $inner(address, caller!());
        }
        word_stub!($slow, $inner, $outside, $kind $size);
        outlined!($outlined, $slow, $kind $size);
    )*};
}

words! {
    __footrace_read1 __footrace_read1_slow __footrace_read1_outlined read1 outside_read1 Read 1;
    __footrace_read2 __footrace_read2_slow __footrace_read2_outlined read2 outside_read2 Read 2;
    __footrace_read4 __footrace_read4_slow __footrace_read4_outlined read4 outside_read4 Read 4;
    __footrace_read8 __footrace_read8_slow __footrace_read8_outlined read8 outside_read8 Read 8;
    __footrace_read16 __footrace_read16_slow __footrace_read16_outlined read16 outside_read16 Read 16;
    __footrace_read24 __footrace_read24_slow __footrace_read24_outlined read24 outside_read24 Read 24;
    __footrace_read32 __footrace_read32_slow __footrace_read32_outlined read32 outside_read32 Read 32;
    __footrace_write1 __footrace_write1_slow __footrace_write1_outlined write1 outside_write1 Write 1;
    __footrace_write2 __footrace_write2_slow __footrace_write2_outlined write2 outside_write2 Write 2;
    __footrace_write4 __footrace_write4_slow __footrace_write4_outlined write4 outside_write4 Write 4;
    __footrace_write8 __footrace_write8_slow __footrace_write8_outlined write8 outside_write8 Write 8;
    __footrace_write16 __footrace_write16_slow __footrace_write16_outlined write16 outside_write16 Write 16;
    __footrace_write24 __footrace_write24_slow __footrace_write24_outlined write24 outside_write24 Write 24;
    __footrace_write32 __footrace_write32_slow __footrace_write32_outlined write32 outside_write32 Write 32;
}

macro_rules! ranges {
    ($($name:ident $slow:ident $inner:ident $kind:ident;)*) => {$(
        extern "C" fn $inner(address: *const u8, bytes: u64, pc: usize) {
            range(AccessKind::$kind, address, bytes as usize, pc);
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: *const u8, bytes: u64) {
            range(AccessKind::$kind, address, bytes as usize, caller!());
        }
        range_stub!($slow, $inner);
    )*};
}

ranges! {
    __footrace_read_range __footrace_read_range_slow read_range Read;
    __footrace_write_range __footrace_write_range_slow write_range Write;
}

/// Elements of `elem` bytes that are `stride` bytes apart, upwards.
#[derive(Clone, Copy, Debug)]
struct Strided {
    address: u64,
    elem: u64,
    count: u64,
    stride: u64,
}

impl Strided {
    /// Where they begin, if they are a few rows with a few bytes each, with something in between.
    #[inline(always)]
    fn rows(self) -> Option<impl Iterator<Item = usize> + Clone> {
        let few = self.elem <= FEW as u64 && self.count <= FEW_ROWS && self.stride > self.elem;
        // No address space has an end so far away.
        let near = self.stride <= u64::from(u32::MAX);
        (few && near).then(move || {
            (0..self.count).map(move |row| self.address.wrapping_add(row * self.stride) as usize)
        })
    }

    /// The words, if they are whole ones and not far apart.
    #[inline(always)]
    fn words(self) -> Option<Comb> {
        let whole = self.elem == 8
            && (self.address | self.stride).is_multiple_of(8)
            && (8..=8 * LONGEST_PERIOD as u64).contains(&self.stride);
        whole.then_some(Comb {
            first: Addr(self.address),
            count: self.count,
            period: (self.stride / 8) as u16,
            mask: 0xFF,
        })
    }

    /// As few [`Elements`] as say the same: one for each part of an element that has a size the detectors know, or none if
    /// there would be more of them than there are elements.
    fn lanes(self) -> Option<impl Iterator<Item = Elements>> {
        let unit = 1 << (self.address | self.elem | self.stride | 8).trailing_zeros();
        let lanes = self.elem / unit;
        // An end beyond the address space is cut off there, which is no memory.
        let hi = (self.count - 1)
            .saturating_mul(self.stride / unit)
            .saturating_add(1);
        (lanes <= self.count).then(move || {
            (0..lanes).map(move |lane| Elements {
                base: Addr(self.address.saturating_add(lane * unit)),
                elem: unit as u8,
                lo: 0,
                hi,
                stride: self.stride / unit,
            })
        })
    }
}

/// Checks an access to whole words, if it is one that was made before: in this epoch, or to rows that are accessed again and again. Otherwise nothing is
/// done, or a part of it.
#[inline(always)]
pub fn quick_words(
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    words: Comb,
    pc: usize,
) -> bool {
    if thread.ignore[kind as usize] != 0 {
        return false;
    }
    let (state, names) = thread.state_and_names();
    let (Analysis::FastTrack(detector), State::FastTrack(precise)) = (&runtime.analysis, state)
    else {
        return false;
    };
    let (shadow, order) = (detector.shadow(), detector.order());
    let number = |slot| names.number(pc, slot);
    shadow.access_again(order, precise, kind, words, number, fetch)
}

fn strided(kind: AccessKind, strided: Strided, pc: usize) {
    if strided.elem == 0 || strided.count == 0 || tls::own().is_alone() {
        return;
    }
    if strided.count == 1 {
        let address = strided.address as *const u8;
        range(kind, address, strided.elem as usize, pc);
        return;
    }
    if let Some(rows) = strided.rows()
        && are_known(tls::own(), kind, rows, strided.elem as usize)
    {
        return;
    }
    let quick = |thread: &mut Thread, runtime: &Runtime| {
        let words = strided.words();
        words.is_some_and(|words| quick_words(thread, runtime, kind, words, pc))
    };
    thread::with_quick(quick, |thread, runtime| {
        strided_inside(thread, runtime, kind, strided, pc);
    });
}

/// Checks some elements, for a thread that is inside already.
#[inline(never)]
fn strided_inside(
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    strided: Strided,
    pc: usize,
) {
    let Strided {
        address,
        elem,
        count,
        stride,
    } = strided;
    if let Some(rows) = strided.rows()
        && rows_inside(tls::own(), thread, runtime, kind, rows, elem as usize, pc)
    {
        return;
    }
    if count <= FEW_ELEMENTS && few_elements(thread, runtime, kind, strided, pc) {
        return;
    }
    if stride <= elem {
        let bytes = (count - 1).saturating_mul(stride).saturating_add(elem);
        range_inside(thread, runtime, kind, address, bytes, pc);
    } else if let Some(lanes) = strided.lanes() {
        if thread.ignore[kind as usize] == 0 {
            let site = thread.site(pc);
            lanes.for_each(|lane| ranged(thread, runtime, kind, lane, site, pc));
        }
    } else {
        let mut at = Some(address);
        for _ in 0..count {
            let Some(start) = at else { break };
            range_inside(thread, runtime, kind, start, elem, pc);
            at = start.checked_add(stride);
        }
    }
}

macro_rules! strides {
    ($($name:ident $kind:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: *const u8, elem: u32, count: u64, stride: u64) {
            let elements = Strided {
                address: address as u64,
                elem: u64::from(elem),
                count,
                stride,
            };
            strided(AccessKind::$kind, elements, caller!());
        }
    )*};
}

strides! {
    __footrace_read_strided Read;
    __footrace_write_strided Write;
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
    use super::Strided;
    use alloc::collections::BTreeSet;

    #[test]
    fn lanes_cover_the_bytes_of_all_elements() {
        for address in 4096..4112u64 {
            for elem in 1..20u64 {
                for stride in elem + 1..40 {
                    for count in [1, 2, 7, 30] {
                        let strided = Strided {
                            address,
                            elem,
                            count,
                            stride,
                        };
                        let expected: BTreeSet<u64> = (0..count)
                            .flat_map(|i| (0..elem).map(move |b| address + i * stride + b))
                            .collect();
                        let Some(lanes) = strided.lanes() else {
                            assert!(elem > count);
                            continue;
                        };
                        let covered: BTreeSet<u64> = lanes
                            .flat_map(|lane| {
                                assert!(matches!(lane.elem, 1 | 2 | 4 | 8));
                                assert!(lane.base.0 % u64::from(lane.elem) == 0);
                                lane.indices().flat_map(move |i| {
                                    (0..u64::from(lane.elem)).map(move |b| lane.addr(i).0 + b)
                                })
                            })
                            .collect();
                        assert_eq!(covered, expected, "{strided:?}");
                    }
                }
            }
        }
    }

    /// The ABI's table and what is defined here are one list; a quick path has a slow twin.
    #[test]
    fn every_function_of_the_abi_is_defined() {
        let sources = [
            include_str!("entry.rs"),
            include_str!("atomic.rs"),
            include_str!("start.rs"),
            include_str!("recording.rs"),
            include_str!("unaligned.rs"),
            include_str!("gathered.rs"),
        ];
        let defined = |name: &str| {
            let ends = [" ", "(", ";"];
            let mut uses = ends.iter().map(|end| alloc::format!("{name}{end}"));
            uses.any(|name| sources.iter().any(|source| source.contains(&name)))
        };
        for function in abi::FUNCTIONS {
            assert!(defined(function.name), "{}", function.name);
            for twin in [abi::SLOW, abi::OUTLINED] {
                let name = alloc::format!("{}{twin}", function.name);
                let has_it = function.hot && (twin == abi::SLOW || abi::keeps_registers(&name));
                assert!(!has_it || defined(&name), "{name}");
            }
        }
    }
}
