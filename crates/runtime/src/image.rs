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

/// Up to so many bytes a loop is faster than the processor's own.
const MEDIUM: usize = 512;

/// Copies more than 16 bytes upwards, 16 at a time, to where `from` is not below `to` or not near it.
unsafe fn copy_up(to: *mut u8, from: *const u8, n: usize) {
    // SAFETY: by the caller's promise. The last 16 bytes are read before anything is written.
    unsafe {
        asm!("movdqu {last}, [{from} + {n} - 16]",
            "lea {end}, [{to} + {n} - 16]",
            "2:",
            "movdqu {x}, [{from}]",
            "movdqu [{to}], {x}",
            "add {from}, 16",
            "add {to}, 16",
            "cmp {to}, {end}",
            "jb 2b",
            "movdqu [{end}], {last}",
            from = inout(reg) from => _, to = inout(reg) to => _, n = in(reg) n, end = out(reg) _,
            x = out(xmm_reg) _, last = out(xmm_reg) _, options(nostack));
    }
}

/// The same downwards, to where `to` is not below `from` or not near it.
unsafe fn copy_down(to: *mut u8, from: *const u8, n: usize) {
    // SAFETY: by the caller's promise. The first 16 bytes are read before anything is written.
    unsafe {
        asm!("movdqu {first}, [{from}]",
            "2:",
            "movdqu {x}, [{from} + {n} - 16]",
            "movdqu [{to} + {n} - 16], {x}",
            "sub {n}, 16",
            "cmp {n}, 16",
            "ja 2b",
            "movdqu [{to}], {first}",
            from = in(reg) from, to = in(reg) to, n = inout(reg) n => _,
            x = out(xmm_reg) _, first = out(xmm_reg) _, options(nostack));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    if n <= 32 {
        return copy_small(to, from, n);
    }
    if n <= MEDIUM {
        // SAFETY: they do not overlap.
        unsafe { copy_up(to, from, n) };
        return to;
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
        unsafe { copy_up(to, from, n) };
    } else {
        // SAFETY: nor does copying downwards here.
        unsafe { copy_down(to, from, n) };
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
