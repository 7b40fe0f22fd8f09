//! The stack that a program gives for its signal handlers, often no larger than the kernel wants (`SIGSTKSZ`). A handler with checks needs
//! more, and what lies below would be overwritten without a word: the kernel gets a stack of ours, and the program is told of its own.

use core::ffi::{c_int, c_void};

use event::Addr;

use crate::real::interceptors;
use crate::{sys, thread};

/// What a stack needs besides what the program thought of: the larger frames of functions with checks, and the runtime's own;
/// a thread's also has our thread-locals.
pub const ROOM: usize = 192 << 10;

/// The kernel forgets the stack while a handler runs on it, and then takes another one.
const SS_AUTODISARM: c_int = 1 << 31;

/// A stack of ours that stands for one of the program's.
#[derive(Debug)]
pub struct SignalStack {
    ours: *mut u8,
    bytes: usize,
    program: *mut c_void,
    program_bytes: usize,
}

impl SignalStack {
    /// For `program`'s, if that is small.
    fn new(program: &libc::stack_t) -> Option<Self> {
        let enabled = program.ss_flags & (libc::SS_DISABLE | SS_AUTODISARM) == 0;
        if !enabled || program.ss_size >= ROOM {
            return None;
        }
        let bytes = program.ss_size + ROOM;
        Some(SignalStack {
            ours: sys::map(bytes)?,
            bytes,
            program: program.ss_sp,
            program_bytes: program.ss_size,
        })
    }
}

impl Drop for SignalStack {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; whoever drops it has told the kernel not to use it any more.
        unsafe { sys::unmap(self.ours, self.bytes) };
    }
}

/// Does what the program asks for, which the kernel judges, and then puts a stack of ours in the place of its own.
fn exchange(
    new: *const libc::stack_t,
    old: *mut libc::stack_t,
    real: impl Fn(*const libc::stack_t, *mut libc::stack_t) -> c_int,
) -> c_int {
    let mut before = libc::stack_t {
        ss_sp: core::ptr::null_mut(),
        ss_flags: 0,
        ss_size: 0,
    };
    let result = real(new, &raw mut before);
    if result != 0 {
        return result;
    }
    thread::with(|thread, runtime| {
        if let Some(known) = &thread.signal_stack
            && known.ours.cast() == before.ss_sp
        {
            before.ss_sp = known.program;
            before.ss_size = known.program_bytes;
        }
        // SAFETY: null or the program's structure.
        let Some(new) = (unsafe { new.as_ref() }) else {
            return;
        };
        thread.signal_stack = SignalStack::new(new);
        if let Some(stack) = &thread.signal_stack {
            // The memory may have been another thread's.
            let (start, bytes) = (Addr(stack.ours as u64), stack.bytes as u64);
            runtime.analysis.renew(&mut thread.state, start, bytes);
            let larger = libc::stack_t {
                ss_sp: stack.ours.cast(),
                ss_flags: new.ss_flags,
                ss_size: stack.bytes,
            };
            real(&raw const larger, core::ptr::null_mut());
        }
    });
    // SAFETY: null or the program's structure.
    if let Some(old) = unsafe { old.as_mut() } {
        *old = before;
    }
    result
}

/// The calling thread ends: gives its stack back, unless it is what the thread is running on.
pub fn end(thread: &mut thread::Thread) {
    let none = libc::stack_t {
        ss_sp: core::ptr::null_mut(),
        ss_flags: libc::SS_DISABLE,
        ss_size: 0,
    };
    if let Some(stack) = thread.signal_stack.take() {
        let args = [(&raw const none) as usize, 0, 0, 0, 0, 0];
        // SAFETY: the kernel reads the structure.
        if unsafe { sys::syscall(libc::SYS_sigaltstack, args) }.is_err() {
            core::mem::forget(stack);
        }
    }
}

interceptors! {
    fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int = |real, pc| {
        exchange(new, old, real)
    }
}
