//! `printf`, `scanf` and their kin: what a format makes them read and write.
//!
//! Rust cannot define functions with any number of arguments. Each one is a few instructions that put the argument registers
//! where a `va_list` says they are, and call a Rust function with that list; from there on it is the `v…` function of
//! libc that works for it.

#[cfg(footrace_image)]
use core::arch::global_asm;
use core::ffi::{c_char, c_int, c_void};

use super::{reads, writes};
use crate::real::interceptors;
use crate::thread;

type Text = *const c_char;
type Buffer = *mut c_char;
type Stream = *mut c_void;

/// The arguments that are still to come, as the System V ABI for x86-64 lays them out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct VaList {
    /// Offset of the next general register in `saved`; 48: all are taken.
    general: u32,
    /// Offset of the next vector register in `saved`; 176: all are taken.
    vector: u32,
    /// The next argument in memory.
    overflow: *const u8,
    saved: *const u8,
}

impl VaList {
    fn in_memory(&mut self, bytes: usize) -> *const u8 {
        let at = self.overflow;
        self.overflow = at.wrapping_add(bytes);
        at
    }

    /// An integer or a pointer.
    fn word(&mut self) -> usize {
        let at = if self.general < 48 {
            let at = self.saved.wrapping_add(self.general as usize);
            self.general += 8;
            at
        } else {
            self.in_memory(8)
        };
        // SAFETY: the caller passed as many arguments as the format asks for.
        unsafe { at.cast::<usize>().read_unaligned() }
    }

    fn skip_double(&mut self) {
        if self.vector < 176 {
            self.vector += 16;
        } else {
            self.in_memory(8);
        }
    }

    fn skip_long_double(&mut self) {
        self.overflow = self.overflow.wrapping_add(self.overflow.align_offset(16));
        self.in_memory(16);
    }
}

/// One conversion of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Conversion {
    letter: u8,
    /// `*` of scanf: read and thrown away.
    suppressed: bool,
    /// The width if it is a number; [`FROM_ARGUMENT`] if it is one.
    width: Option<usize>,
    precision: Option<usize>,
    /// `hh` −2, `h` −1, `l` 1, `ll` `j` `z` `t` 2, `L` 3.
    length: i8,
    /// scanf: `m`, memory is allocated.
    allocates: bool,
}

const FROM_ARGUMENT: usize = usize::MAX;

impl Conversion {
    /// Bytes of the integer that it is about.
    fn integer(self) -> usize {
        match self.length {
            -2 => 1,
            -1 => 2,
            0 => 4,
            _ => 8,
        }
    }

    fn float(self) -> usize {
        match self.length {
            1 => 8,
            3 => 16,
            _ => 4,
        }
    }
}

/// Reads a format, one conversion at a time.
#[derive(Debug)]
struct Format {
    at: *const u8,
    scans: bool,
}

impl Format {
    fn peek(&self) -> u8 {
        // SAFETY: formats end with NUL, behind which nobody goes.
        unsafe { self.at.read() }
    }

    fn bump(&mut self) -> u8 {
        let byte = self.peek();
        if byte != 0 {
            self.at = self.at.wrapping_add(1);
        }
        byte
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == byte;
        if there {
            self.bump();
        }
        there
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = None;
        while self.peek().is_ascii_digit() {
            let digit = usize::from(self.bump() - b'0');
            let so_far: usize = number.unwrap_or(0);
            number = Some(so_far.saturating_mul(10).saturating_add(digit));
        }
        number
    }

    fn width(&mut self) -> Option<usize> {
        if !self.scans && self.take(b'*') {
            return Some(FROM_ARGUMENT);
        }
        self.number()
    }

    /// The next conversion that has an argument. None at the end, and where arguments are numbered (`%2$s`), which we do not follow.
    fn next(&mut self) -> Option<Conversion> {
        loop {
            match self.bump() {
                0 => return None,
                b'%' if self.take(b'%') => {}
                b'%' => break,
                _ => {}
            }
        }
        let mut conversion = Conversion::default();
        if self.scans {
            conversion.suppressed = self.take(b'*');
        } else {
            while b"-+ #0'I".contains(&self.peek()) && self.peek() != 0 {
                self.bump();
            }
        }
        conversion.width = self.width();
        if self.take(b'$') {
            return None;
        }
        if !self.scans && self.take(b'.') {
            conversion.precision = Some(self.width().unwrap_or(0));
        }
        conversion.allocates = self.scans && self.take(b'm');
        loop {
            conversion.length = match self.peek() {
                b'h' => conversion.length - 1,
                b'l' => conversion.length + 1,
                b'j' | b'z' | b't' | b'q' => 2,
                b'L' => 3,
                _ => break,
            };
            self.bump();
        }
        conversion.letter = self.bump();
        if self.scans && conversion.letter == b'[' {
            self.take(b'^');
            self.bump();
            while !matches!(self.bump(), b']' | 0) {}
        }
        (conversion.letter != 0).then_some(conversion)
    }
}

/// Bytes up to the NUL, at most `most`.
fn length(text: *const u8, most: usize) -> usize {
    let mut at = 0;
    // SAFETY: the program's string ends with NUL, or is `most` long.
    while at < most && unsafe { text.wrapping_add(at).read_volatile() } != 0 {
        at += 1;
    }
    at
}

fn reads_text(text: *const u8, most: usize, pc: usize) {
    if !text.is_null() {
        let bytes = length(text, most);
        reads(text, bytes.saturating_add(1).min(most), pc);
    }
}

/// What printing reads, and what `%n` writes.
fn prints(format: Text, mut list: VaList, pc: usize) {
    if thread::runtime().is_none() {
        return;
    }
    reads_text(format.cast(), usize::MAX, pc);
    let mut conversions = Format {
        at: format.cast(),
        scans: false,
    };
    while let Some(conversion) = conversions.next() {
        if conversion.width == Some(FROM_ARGUMENT) {
            list.word();
        }
        let mut most = conversion.precision.unwrap_or(usize::MAX);
        if conversion.precision == Some(FROM_ARGUMENT) {
            // A negative precision is none.
            most = usize::try_from(list.word() as i32).unwrap_or(usize::MAX);
        }
        match conversion.letter {
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' if conversion.length == 3 => {
                list.skip_long_double();
            }
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => list.skip_double(),
            b's' if conversion.length == 0 => reads_text(list.word() as *const u8, most, pc),
            b'n' => writes(list.word() as *const u8, conversion.integer(), pc),
            // errno, no argument.
            b'm' => {}
            _ => {
                list.word();
            }
        }
    }
}

/// What was printed is in `buffer` now, cut at `room` bytes.
fn printed(buffer: Buffer, room: usize, result: c_int, pc: usize) -> c_int {
    if let Ok(length) = usize::try_from(result)
        && room > 0
        && !buffer.is_null()
    {
        writes(buffer, (length + 1).min(room), pc);
    }
    result
}

/// What scanning wrote: the targets of the first `assigned` conversions.
fn scanned(format: Text, mut list: VaList, assigned: c_int, pc: usize) -> c_int {
    let mut left = assigned;
    if thread::runtime().is_none() || assigned < 0 {
        return assigned;
    }
    reads_text(format.cast(), usize::MAX, pc);
    let mut conversions = Format {
        at: format.cast(),
        scans: true,
    };
    while let Some(conversion) = conversions.next() {
        if conversion.suppressed {
            continue;
        }
        let counts = conversion.letter != b'n';
        if counts && left == 0 {
            break;
        }
        left -= c_int::from(counts);
        let target = list.word() as *const u8;
        let bytes = match conversion.letter {
            _ if conversion.allocates => size_of::<usize>(),
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'n' => conversion.integer(),
            b'p' => size_of::<usize>(),
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => conversion.float(),
            b'c' if conversion.length == 0 => conversion.width.unwrap_or(1),
            b's' | b'[' if conversion.length == 0 => length(target, usize::MAX) + 1,
            // Wide characters.
            _ => 0,
        };
        writes(target, bytes, pc);
    }
    assigned
}

/// The list as it is, before libc takes its arguments.
fn copy(list: *mut VaList) -> VaList {
    // SAFETY: the program's list.
    unsafe { *list }
}

/// What the instructions below leave on the stack for us.
#[repr(C)]
#[cfg_attr(
    not(footrace_image),
    allow(dead_code, reason = "made by instructions of the image")
)]
struct Call {
    list: VaList,
    /// Where the function returns to.
    pc: usize,
}

/// Defines what is done around a `v…` function, for who calls it and for its twin with any number of arguments.
macro_rules! formatted {
    ($($name:ident($($arg:ident: $type:ty),*) = |$list:ident, $pc:ident, $real:ident| $body:block)*) => {
        interceptors! {$(
            fn $name($($arg: $type,)* list: *mut VaList) -> c_int = |real, pc| {
                direct::$name($($arg,)* list, pc)
            }
        )*}
        mod direct {
            use super::*;
            $(
                #[allow(non_snake_case, reason = "libc's names")]
                pub(super) fn $name($($arg: $type,)* $list: *mut VaList, $pc: usize) -> c_int {
                    // SAFETY: called as the program called us.
                    let $real = || unsafe { (real::$name.get())($($arg,)* $list) };
                    $body
                }
            )*
        }
        #[cfg(footrace_image)]
        mod any {
            use super::*;
            $(
                #[allow(non_snake_case, reason = "libc's names")]
                pub(super) extern "C" fn $name($($arg: $type,)* call: *mut Call) -> c_int {
                    // SAFETY: on the stack of who called us.
                    let call = unsafe { &mut *call };
                    direct::$name($($arg,)* &raw mut call.list, call.pc)
                }
            )*
        }
    };
}

formatted! {
    vprintf(format: Text) = |list, pc, real| {
        prints(format, copy(list), pc);
        real()
    }
    vfprintf(stream: Stream, format: Text) = |list, pc, real| {
        prints(format, copy(list), pc);
        real()
    }
    vdprintf(fd: c_int, format: Text) = |list, pc, real| {
        prints(format, copy(list), pc);
        real()
    }
    vsprintf(buffer: Buffer, format: Text) = |list, pc, real| {
        prints(format, copy(list), pc);
        printed(buffer, usize::MAX, real(), pc)
    }
    vsnprintf(buffer: Buffer, room: usize, format: Text) = |list, pc, real| {
        prints(format, copy(list), pc);
        printed(buffer, room, real(), pc)
    }
    vasprintf(buffer: *mut Buffer, format: Text) = |list, pc, real| {
        prints(format, copy(list), pc);
        let result = real();
        writes(buffer, size_of::<Buffer>(), pc);
        result
    }
    __vprintf_chk(flag: c_int, format: Text) = |list, pc, real| {
        prints(format, copy(list), pc);
        real()
    }
    __vfprintf_chk(stream: Stream, flag: c_int, format: Text) = |list, pc, real| {
        prints(format, copy(list), pc);
        real()
    }
    __vsprintf_chk(buffer: Buffer, flag: c_int, size: usize, format: Text) = |list, pc, real| {
        prints(format, copy(list), pc);
        printed(buffer, usize::MAX, real(), pc)
    }
    __vsnprintf_chk(buffer: Buffer, room: usize, flag: c_int, size: usize, format: Text) = |list, pc, real| {
        prints(format, copy(list), pc);
        printed(buffer, room, real(), pc)
    }
    vscanf(format: Text) = |list, pc, real| {
        let arguments = copy(list);
        scanned(format, arguments, real(), pc)
    }
    vfscanf(stream: Stream, format: Text) = |list, pc, real| {
        let arguments = copy(list);
        scanned(format, arguments, real(), pc)
    }
    vsscanf(text: Text, format: Text) = |list, pc, real| {
        let arguments = copy(list);
        reads_text(text.cast(), usize::MAX, pc);
        scanned(format, arguments, real(), pc)
    }
    __isoc99_vscanf(format: Text) = |list, pc, real| {
        let arguments = copy(list);
        scanned(format, arguments, real(), pc)
    }
    __isoc99_vfscanf(stream: Stream, format: Text) = |list, pc, real| {
        let arguments = copy(list);
        scanned(format, arguments, real(), pc)
    }
    __isoc99_vsscanf(text: Text, format: Text) = |list, pc, real| {
        let arguments = copy(list);
        reads_text(text.cast(), usize::MAX, pc);
        scanned(format, arguments, real(), pc)
    }
}

/// The function `$name` with named arguments in the registers `$named…`, and any number of further ones, calls `$list` with the named
/// ones and a [`Call`]. Its frame is that of any function, so that stacks can be walked through it.
#[cfg(footrace_image)]
macro_rules! variadic {
    ($($name:literal, $named:literal, $register:literal => $list:ident;)*) => {$(
        global_asm!(
            concat!(".globl __interceptor_", $name),
            concat!(".type __interceptor_", $name, ",@function"),
            concat!("__interceptor_", $name, ":"),
            ".cfi_startproc",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            // 176 bytes of registers, 24 of the list, 8 for the return address: a `Call` at 176.
            "sub rsp, 208",
            "mov [rsp], rdi",
            "mov [rsp + 8], rsi",
            "mov [rsp + 16], rdx",
            "mov [rsp + 24], rcx",
            "mov [rsp + 32], r8",
            "mov [rsp + 40], r9",
            "test al, al",
            "je 2f",
            "movaps [rsp + 48], xmm0",
            "movaps [rsp + 64], xmm1",
            "movaps [rsp + 80], xmm2",
            "movaps [rsp + 96], xmm3",
            "movaps [rsp + 112], xmm4",
            "movaps [rsp + 128], xmm5",
            "movaps [rsp + 144], xmm6",
            "movaps [rsp + 160], xmm7",
            "2:",
            concat!("mov dword ptr [rsp + 176], 8 * ", $named),
            "mov dword ptr [rsp + 180], 48",
            "lea rax, [rbp + 16]",
            "mov [rsp + 184], rax",
            "mov [rsp + 192], rsp",
            "mov rax, [rbp + 8]",
            "mov [rsp + 200], rax",
            concat!("lea ", $register, ", [rsp + 176]"),
            "call {list}",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
            concat!(".size __interceptor_", $name, ", . - __interceptor_", $name),
            list = sym any::$list,
        );
    )*};
}

#[cfg(footrace_image)]
variadic! {
    "printf", "1", "rsi" => vprintf;
    "fprintf", "2", "rdx" => vfprintf;
    "dprintf", "2", "rdx" => vdprintf;
    "sprintf", "2", "rdx" => vsprintf;
    "snprintf", "3", "rcx" => vsnprintf;
    "asprintf", "2", "rdx" => vasprintf;
    "scanf", "1", "rsi" => vscanf;
    "fscanf", "2", "rdx" => vfscanf;
    "sscanf", "2", "rdx" => vsscanf;
    "__isoc99_scanf", "1", "rsi" => __isoc99_vscanf;
    "__isoc99_fscanf", "2", "rdx" => __isoc99_vfscanf;
    "__isoc99_sscanf", "2", "rdx" => __isoc99_vsscanf;
    "__printf_chk", "2", "rdx" => __vprintf_chk;
    "__fprintf_chk", "3", "rcx" => __vfprintf_chk;
    "__sprintf_chk", "4", "r8" => __vsprintf_chk;
    "__snprintf_chk", "5", "r9" => __vsnprintf_chk;
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn conversions(format: &str, scans: bool) -> Vec<Conversion> {
        let text = alloc::format!("{format}\0");
        let mut format = Format {
            at: text.as_ptr(),
            scans,
        };
        core::iter::from_fn(|| format.next()).collect()
    }

    #[test]
    fn formats_of_printf() {
        let found = conversions("100%% %-5d|%*.*s|%.3s %lld %Lf %hhn %", false);
        let letters: Vec<u8> = found.iter().map(|c| c.letter).collect();
        assert_eq!(letters, b"dssdfn");
        assert_eq!(found[0].width, Some(5));
        assert_eq!(found[1].width, Some(FROM_ARGUMENT));
        assert_eq!(found[1].precision, Some(FROM_ARGUMENT));
        assert_eq!(found[2].precision, Some(3));
        assert_eq!((found[3].length, found[3].integer()), (2, 8));
        assert_eq!(found[4].length, 3);
        assert_eq!(found[5].integer(), 1);
    }

    #[test]
    fn formats_of_scanf() {
        let found = conversions("%*d %5[]a-z] %lf %ms %c%[^:]:%hu", true);
        let letters: Vec<u8> = found.iter().map(|c| c.letter).collect();
        assert_eq!(letters, b"d[fsc[u");
        assert!(found[0].suppressed && found[3].allocates);
        assert_eq!((found[2].float(), found[6].integer()), (8, 2));
    }

    #[test]
    fn numbered_arguments_are_not_followed() {
        assert!(conversions("%2$s %1$d", false).is_empty());
    }

    #[test]
    fn arguments_in_registers_then_in_memory() {
        let saved: Vec<usize> = (0..22).collect();
        let memory: Vec<usize> = (100..110).collect();
        let mut list = VaList {
            general: 32,
            vector: 160,
            overflow: memory.as_ptr().cast(),
            saved: saved.as_ptr().cast(),
        };
        let words: Vec<usize> = (0..4).map(|_| list.word()).collect();
        assert_eq!(words, [4, 5, 100, 101]);
        list.skip_double();
        assert_eq!(list.vector, 176);
        list.skip_double();
        assert_eq!(list.word(), 103);
    }
}
