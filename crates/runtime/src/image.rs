//! What only the image needs that is linked into programs.

use core::arch::asm;

use crate::memory::Memory;
use crate::sys;

#[global_allocator]
static MEMORY: Memory = Memory::new();

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    use core::fmt::Write;
    struct Standard;
    impl Write for Standard {
        fn write_str(&mut self, s: &str) -> core::fmt::Result {
            sys::write_all(2, s.as_bytes());
            Ok(())
        }
    }
    let _ = writeln!(Standard, "footrace: internal error: {info}");
    sys::exit_now(70)
}

/// Named by some of our functions' unwind tables. Nothing here unwinds, but a cancelled or exiting thread
/// and an exception of the program may pass through: they find nothing to do, and go on.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() -> i32 {
    const CONTINUE_UNWIND: i32 = 8;
    CONTINUE_UNWIND
}

// The memory functions that the compiler itself calls. The build renames every use of `memcpy` and so on
// in the runtime to these, so that they are never the program's. No loops: the compiler would turn
// them into calls of the very functions.

/// Copies with two overlapping loads and stores of `T`, if `n` is between one and two of them.
macro_rules! copy_two {
    ($type:ty, $to:ident, $from:ident, $n:ident) => {
        if $n >= size_of::<$type>() {
            let last = $n - size_of::<$type>();
            // SAFETY: `n` bytes are readable at `from`.
            let a = unsafe { $from.cast::<$type>().read_unaligned() };
            // SAFETY: `last` and one more value are within `n`.
            let z = unsafe { $from.wrapping_add(last).cast::<$type>().read_unaligned() };
            // SAFETY: `n` bytes are writable at `to`.
            unsafe { $to.cast::<$type>().write_unaligned(a) };
            // SAFETY: as above.
            unsafe { $to.wrapping_add(last).cast::<$type>().write_unaligned(z) };
            return $to;
        }
    };
}

fn copy_small(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    copy_two!(u128, to, from, n);
    copy_two!(u64, to, from, n);
    copy_two!(u32, to, from, n);
    copy_two!(u16, to, from, n);
    copy_two!(u8, to, from, n);
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    if n <= 32 {
        return copy_small(to, from, n);
    }
    // SAFETY: by the caller's promise; the direction flag is clear by the ABI.
    unsafe {
        asm!("rep movsb", inout("rcx") n => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags));
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_memmove(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    if n <= 32 {
        return copy_small(to, from, n);
    }
    if (to as usize).wrapping_sub(from as usize) >= n {
        // SAFETY: copying upwards does not overwrite what is still to be read.
        return unsafe { __footrace_memcpy(to, from, n) };
    }
    // SAFETY: backwards from the last byte, and the direction flag is put back.
    unsafe {
        asm!("std", "rep movsb", "cld", inout("rcx") n => _,
            inout("rdi") to.wrapping_add(n - 1) => _, inout("rsi") from.wrapping_add(n - 1) => _,
            options(nostack));
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_memset(to: *mut u8, byte: i32, n: usize) -> *mut u8 {
    // SAFETY: by the caller's promise; the direction flag is clear by the ABI.
    unsafe {
        asm!("rep stosb", inout("rcx") n => _, inout("rdi") to => _, in("al") byte as u8,
            options(nostack, preserves_flags));
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    let mut at = 0;
    while at + 8 <= n {
        // SAFETY: within `n`.
        let x = unsafe { a.wrapping_add(at).cast::<u64>().read_unaligned() };
        // SAFETY: within `n`.
        let y = unsafe { b.wrapping_add(at).cast::<u64>().read_unaligned() };
        if x != y {
            return if x.swap_bytes() < y.swap_bytes() {
                -1
            } else {
                1
            };
        }
        at += 8;
    }
    while at < n {
        // SAFETY: within `n`.
        let x = unsafe { a.wrapping_add(at).read_volatile() };
        // SAFETY: within `n`.
        let y = unsafe { b.wrapping_add(at).read_volatile() };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
        at += 1;
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_strlen(text: *const u8) -> usize {
    let mut n = 0;
    // SAFETY: up to the NUL.
    while unsafe { text.wrapping_add(n).read_volatile() } != 0 {
        n += 1;
    }
    n
}
