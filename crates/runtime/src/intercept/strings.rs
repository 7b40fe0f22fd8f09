//! Functions of libc that read and write the program's memory: a table of what each one touches.
//!
//! `memcpy`, `memmove` and `memset` that the compiler made of an intrinsic are accesses of the instrumented code, and were checked
//! there; here they are checked for libraries that were not instrumented, and for programs that call them by name.

use core::ffi::{c_char, c_int, c_void};

use super::{reads, writes};
use crate::real::interceptors;
use crate::unwind::caller;
use crate::{modules, thread};

type Pointer = *mut c_void;
type Text = *const c_char;

/// Bytes up to the NUL, not counting it.
fn length(text: Text) -> usize {
    bounded(text, usize::MAX)
}

fn bounded(text: Text, most: usize) -> usize {
    let mut at = 0;
    // SAFETY: the program's string ends with NUL, or is `most` long.
    while at < most && unsafe { text.wrapping_add(at).read_volatile() } != 0 {
        at += 1;
    }
    at
}

/// A whole string is read, with its NUL.
fn reads_text(text: Text, pc: usize) -> usize {
    let length = length(text);
    reads(text, length + 1, pc);
    length
}

/// A string is read up to `most` bytes.
fn reads_bounded(text: Text, most: usize, pc: usize) -> usize {
    let length = bounded(text, most);
    reads(text, (length + 1).min(most), pc);
    length
}

/// How many bytes a comparison looks at.
fn compared(a: Text, b: Text, most: usize, fold: bool) -> usize {
    let mut at = 0;
    while at < most {
        // SAFETY: up to the first difference or NUL of either.
        let x = unsafe { a.wrapping_add(at).read_volatile() } as u8;
        // SAFETY: as above.
        let y = unsafe { b.wrapping_add(at).read_volatile() } as u8;
        at += 1;
        let same = if fold {
            x.eq_ignore_ascii_case(&y)
        } else {
            x == y
        };
        if !same || x == 0 {
            break;
        }
    }
    at
}

fn reads_compared(a: Text, b: Text, most: usize, fold: bool, pc: usize) {
    if is_unseen(pc) {
        return;
    }
    let bytes = compared(a, b, most, fold);
    reads(a, bytes, pc);
    reads(b, bytes, pc);
}

/// Is nobody looking? Then the strings need not be measured.
fn is_unseen(_pc: usize) -> bool {
    thread::runtime().is_none()
}

/// Does an uninstrumented library call?
fn from_library(pc: usize) -> bool {
    thread::runtime().is_some() && !modules::is_instrumented(pc)
}

interceptors! {
    fn memcpy(to: Pointer, from: Pointer, bytes: usize) -> Pointer = |real, pc| {
        if from_library(pc) {
            reads(from, bytes, pc);
            writes(to, bytes, pc);
        }
        real(to, from, bytes)
    }
    fn memmove(to: Pointer, from: Pointer, bytes: usize) -> Pointer = |real, pc| {
        if from_library(pc) {
            reads(from, bytes, pc);
            writes(to, bytes, pc);
        }
        real(to, from, bytes)
    }
    fn memset(to: Pointer, byte: c_int, bytes: usize) -> Pointer = |real, pc| {
        if from_library(pc) {
            writes(to, bytes, pc);
        }
        real(to, byte, bytes)
    }
    fn memcmp(a: Pointer, b: Pointer, bytes: usize) -> c_int = |real, pc| {
        reads(a, bytes, pc);
        reads(b, bytes, pc);
        real(a, b, bytes)
    }
    fn bcmp(a: Pointer, b: Pointer, bytes: usize) -> c_int = |real, pc| {
        reads(a, bytes, pc);
        reads(b, bytes, pc);
        real(a, b, bytes)
    }
    fn memchr(block: Pointer, byte: c_int, bytes: usize) -> Pointer = |real, pc| {
        let found = real(block, byte, bytes);
        let seen = if found.is_null() { bytes } else { found as usize - block as usize + 1 };
        reads(block, seen, pc);
        found
    }
    fn memrchr(block: Pointer, byte: c_int, bytes: usize) -> Pointer = |real, pc| {
        let found = real(block, byte, bytes);
        let from = if found.is_null() { block } else { found };
        reads(from, block as usize + bytes - from as usize, pc);
        found
    }
    fn mempcpy(to: Pointer, from: Pointer, bytes: usize) -> Pointer = |real, pc| {
        reads(from, bytes, pc);
        writes(to, bytes, pc);
        real(to, from, bytes)
    }
    fn strlen(text: Text) -> usize = |real, pc| {
        let length = real(text);
        reads(text, length + 1, pc);
        length
    }
    fn strnlen(text: Text, most: usize) -> usize = |real, pc| {
        let length = real(text, most);
        reads(text, (length + 1).min(most), pc);
        length
    }
    fn strcpy(to: Pointer, from: Text) -> Pointer = |real, pc| {
        let length = reads_text(from, pc);
        writes(to, length + 1, pc);
        real(to, from)
    }
    fn stpcpy(to: Pointer, from: Text) -> Pointer = |real, pc| {
        let length = reads_text(from, pc);
        writes(to, length + 1, pc);
        real(to, from)
    }
    fn strncpy(to: Pointer, from: Text, bytes: usize) -> Pointer = |real, pc| {
        reads_bounded(from, bytes, pc);
        writes(to, bytes, pc);
        real(to, from, bytes)
    }
    fn strcat(to: Pointer, from: Text) -> Pointer = |real, pc| {
        let before = length(to as Text);
        let length = reads_text(from, pc);
        reads(to, before + 1, pc);
        writes((to as usize + before) as Pointer, length + 1, pc);
        real(to, from)
    }
    fn strncat(to: Pointer, from: Text, bytes: usize) -> Pointer = |real, pc| {
        let before = length(to as Text);
        let length = reads_bounded(from, bytes, pc);
        reads(to, before + 1, pc);
        writes((to as usize + before) as Pointer, length + 1, pc);
        real(to, from, bytes)
    }
    fn strcmp(a: Text, b: Text) -> c_int = |real, pc| {
        reads_compared(a, b, usize::MAX, false, pc);
        real(a, b)
    }
    fn strncmp(a: Text, b: Text, bytes: usize) -> c_int = |real, pc| {
        reads_compared(a, b, bytes, false, pc);
        real(a, b, bytes)
    }
    fn strcasecmp(a: Text, b: Text) -> c_int = |real, pc| {
        reads_compared(a, b, usize::MAX, true, pc);
        real(a, b)
    }
    fn strncasecmp(a: Text, b: Text, bytes: usize) -> c_int = |real, pc| {
        reads_compared(a, b, bytes, true, pc);
        real(a, b, bytes)
    }
    fn strchr(text: Text, byte: c_int) -> Text = |real, pc| {
        let found = real(text, byte);
        let seen = if found.is_null() { length(text) } else { found as usize - text as usize };
        reads(text, seen + 1, pc);
        found
    }
    fn strchrnul(text: Text, byte: c_int) -> Text = |real, pc| {
        let found = real(text, byte);
        reads(text, found as usize - text as usize + 1, pc);
        found
    }
    fn strrchr(text: Text, byte: c_int) -> Text = |real, pc| {
        reads_text(text, pc);
        real(text, byte)
    }
    fn strstr(text: Text, part: Text) -> Text = |real, pc| {
        reads_text(part, pc);
        reads_text(text, pc);
        real(text, part)
    }
    fn strspn(text: Text, set: Text) -> usize = |real, pc| {
        reads_text(set, pc);
        let length = real(text, set);
        reads(text, length + 1, pc);
        length
    }
    fn strcspn(text: Text, set: Text) -> usize = |real, pc| {
        reads_text(set, pc);
        let length = real(text, set);
        reads(text, length + 1, pc);
        length
    }
    fn strpbrk(text: Text, set: Text) -> Text = |real, pc| {
        reads_text(set, pc);
        let found = real(text, set);
        let seen = if found.is_null() { length(text) } else { found as usize - text as usize };
        reads(text, seen + 1, pc);
        found
    }
    fn strdup(text: Text) -> Pointer = |real, pc| {
        reads_text(text, pc);
        real(text)
    }
    fn strndup(text: Text, most: usize) -> Pointer = |real, pc| {
        reads_bounded(text, most, pc);
        real(text, most)
    }
    fn qsort(base: Pointer, count: usize, size: usize, compare: usize) = |real, pc| {
        if count > 1 {
            writes(base, count.saturating_mul(size), pc);
        }
        real(base, count, size, compare);
    }
    fn fread(to: Pointer, size: usize, count: usize, file: Pointer) -> usize = |real, pc| {
        let got = real(to, size, count, file);
        writes(to, got * size, pc);
        got
    }
    fn fwrite(from: Pointer, size: usize, count: usize, file: Pointer) -> usize = |real, pc| {
        reads(from, size.saturating_mul(count), pc);
        real(from, size, count, file)
    }
    fn fgets(to: Pointer, most: c_int, file: Pointer) -> Pointer = |real, pc| {
        let got = real(to, most, file);
        if !got.is_null() {
            writes(to, length(to as Text) + 1, pc);
        }
        got
    }
    fn fputs(text: Text, file: Pointer) -> c_int = |real, pc| {
        reads_text(text, pc);
        real(text, file)
    }
    fn puts(text: Text) -> c_int = |real, pc| {
        reads_text(text, pc);
        real(text)
    }
    fn clock_gettime(clock: c_int, to: Pointer) -> c_int = |real, pc| {
        let result = real(clock, to);
        if result == 0 {
            writes(to, size_of::<libc::timespec>(), pc);
        }
        result
    }
    fn gettimeofday(to: Pointer, zone: Pointer) -> c_int = |real, pc| {
        let result = real(to, zone);
        if result == 0 && !to.is_null() {
            writes(to, size_of::<libc::timeval>(), pc);
        }
        result
    }
}

/// What [`abi::CALLED`] names: the function with its checks, whoever calls it.
macro_rules! called {
    ($($ours:ident = $libc:ident($($arg:ident: $type:ty),*) $check:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $ours($($arg: $type),*) -> Pointer {
            let check: fn(usize, $($type),*) = $check;
            check(caller!(), $($arg),*);
            // SAFETY: called as the program called us.
            unsafe { (real::$libc.get())($($arg),*) }
        }
    )*};
}

called! {
    __footrace_called_memcpy = memcpy(to: Pointer, from: Pointer, bytes: usize) |pc, to, from, bytes| {
        reads(from, bytes, pc);
        writes(to, bytes, pc);
    };
    __footrace_called_memmove = memmove(to: Pointer, from: Pointer, bytes: usize) |pc, to, from, bytes| {
        reads(from, bytes, pc);
        writes(to, bytes, pc);
    };
    __footrace_called_memset = memset(to: Pointer, byte: c_int, bytes: usize) |pc, to, _byte, bytes| {
        writes(to, bytes, pc);
    };
}
