//! The program's own atomic operations where the checks make them: a compare-exchange of 1, 2, 4 or 8 bytes at an address that is aligned, as the program's was.
//! Stronger than any order it asks for; on x86-64 that costs nothing.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};

macro_rules! of_size {
    ($size:expr, $address:expr, |$cell:ident: $type:ident| $operation:expr) => {
        match $size {
            1 => of_size!(@ u8, AtomicU8, $address, $cell, $type, $operation),
            2 => of_size!(@ u16, AtomicU16, $address, $cell, $type, $operation),
            4 => of_size!(@ u32, AtomicU32, $address, $cell, $type, $operation),
            _ => of_size!(@ u64, AtomicU64, $address, $cell, $type, $operation),
        }
    };
    (@ $integer:ty, $atomic:ty, $address:expr, $cell:ident, $type:ident, $operation:expr) => {{
        type $type = $integer;
        // SAFETY: the program operates on so many bytes there, atomically.
        let $cell = unsafe { <$atomic>::from_ptr($address.cast()) };
        u64::from($operation)
    }};
}

/// What is there.
#[inline(always)]
pub fn load(address: *mut u8, size: u32) -> u64 {
    of_size!(size, address, |cell: Integer| {
        let value: Integer = cell.load(SeqCst);
        value
    })
}

/// Puts `new` there if what is there is `expected`. Returns what was there.
#[inline(always)]
pub fn exchange(address: *mut u8, size: u32, expected: u64, new: u64) -> u64 {
    of_size!(size, address, |cell: Integer| {
        let (expected, new) = (expected as Integer, new as Integer);
        cell.compare_exchange(expected, new, SeqCst, SeqCst)
            .unwrap_or_else(|other| other)
    })
}
