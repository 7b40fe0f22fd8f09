//! Calls that a cancelled thread leaves by unwinding: whatever has to be announced then still is.
//!
//! A cancelled thread does not return from `pthread_cond_wait`: libc takes the mutex again and unwinds
//! the stack through us. The small function below has a landing pad for that, and the personality of C's own
//! `__attribute__((cleanup))`.

use core::arch::global_asm;
use core::ffi::c_void;

global_asm!(
    ".section .text.footrace_call_with_cleanup,\"ax\",@progbits",
    ".type footrace_call_with_cleanup,@function",
    "footrace_call_with_cleanup:",
    ".cfi_startproc",
    ".cfi_personality 0x9b, .Lfootrace_personality",
    ".cfi_lsda 0x1b, .Lfootrace_lsda",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "push rbx",
    "push r12",
    ".cfi_offset rbx, -24",
    ".cfi_offset r12, -32",
    "mov rbx, rsi",
    "mov r12, rdx",
    "mov rax, rdi",
    "mov rdi, rsi",
    ".Lfootrace_call:",
    "call rax",
    ".Lfootrace_called:",
    "pop r12",
    "pop rbx",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_def_cfa rbp, 16",
    ".Lfootrace_landing:",
    "mov rdi, rbx",
    "mov rbx, rax",
    "call r12",
    "mov rdi, rbx",
    ".Lfootrace_resume:",
    "call _Unwind_Resume@PLT",
    "ud2",
    ".Lfootrace_end:",
    ".cfi_endproc",
    ".size footrace_call_with_cleanup, . - footrace_call_with_cleanup",
    ".section .gcc_except_table.footrace,\"a\",@progbits",
    ".p2align 2",
    ".Lfootrace_lsda:",
    ".byte 0xff", // landing pads are relative to the function
    ".byte 0xff", // no types
    ".byte 0x01", // call sites in ULEB128
    ".uleb128 .Lfootrace_sites_end - .Lfootrace_sites",
    ".Lfootrace_sites:",
    ".uleb128 .Lfootrace_call - footrace_call_with_cleanup",
    ".uleb128 .Lfootrace_called - .Lfootrace_call",
    ".uleb128 .Lfootrace_landing - footrace_call_with_cleanup",
    ".byte 0",
    ".uleb128 .Lfootrace_landing - footrace_call_with_cleanup",
    ".uleb128 .Lfootrace_end - .Lfootrace_landing",
    ".byte 0",
    ".byte 0",
    ".Lfootrace_sites_end:",
    ".section .data.rel.footrace,\"aw\",@progbits",
    ".p2align 3",
    ".Lfootrace_personality:",
    ".quad __gcc_personality_v0",
    ".text",
);

unsafe extern "C" {
    fn footrace_call_with_cleanup(
        call: extern "C" fn(*mut c_void),
        data: *mut c_void,
        cleanup: extern "C" fn(*mut c_void),
    );
}

struct Call<F, R, C> {
    call: Option<F>,
    result: Option<R>,
    cleanup: Option<C>,
}

extern "C" fn invoke<F: FnOnce() -> R, R, C>(data: *mut c_void) {
    // SAFETY: the `Call` of the function below, which waits for us.
    let this = unsafe { &mut *data.cast::<Call<F, R, C>>() };
    if let Some(call) = this.call.take() {
        this.result = Some(call());
    }
}

extern "C" fn unwound<F, R, C: FnOnce()>(data: *mut c_void) {
    // SAFETY: as above; the frame is still there while its callees are unwound.
    let this = unsafe { &mut *data.cast::<Call<F, R, C>>() };
    if let Some(cleanup) = this.cleanup.take() {
        cleanup();
    }
}

/// The result of `call`. If the thread is cancelled in it, `cleanup` runs, and this does not return.
pub fn call<F: FnOnce() -> R, R, C: FnOnce()>(call: F, cleanup: C) -> Option<R> {
    let mut this = Call {
        call: Some(call),
        result: None,
        cleanup: Some(cleanup),
    };
    let data = (&raw mut this).cast();
    // SAFETY: both functions get the structure they were made for.
    unsafe { footrace_call_with_cleanup(invoke::<F, R, C>, data, unwound::<F, R, C>) };
    this.result
}
