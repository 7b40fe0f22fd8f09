//! The call stack of the calling thread, from the tables that the compiler writes for exceptions: they
//! cover libc, signal frames and code without frame pointers. The unwinder of libgcc finds them through
//! `_dl_find_object`, which takes no lock and allocates nothing.

use core::ffi::{c_int, c_void};

/// The deepest stack that is kept; of a deeper one, the innermost frames.
pub const MAX_FRAMES: usize = 512;

#[repr(C)]
struct Context {
    _opaque: [u8; 0],
}

type Callback = extern "C" fn(*mut Context, *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_Backtrace(callback: Callback, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut Context, before_instruction: *mut c_int) -> usize;
}

/// Filled by the walk.
struct Walk<'a> {
    frames: &'a mut [u64],
    count: usize,
    /// The return address of the runtime's outermost frame: frames before it are ours.
    from: usize,
    /// Has `from` been seen?
    outside: bool,
}

const CONTINUE: c_int = 0;
const STOP: c_int = 4; // _URC_END_OF_STACK: any other than 0 ends the walk

extern "C" fn step(context: *mut Context, argument: *mut c_void) -> c_int {
    // SAFETY: `argument` is the `Walk` of the caller below, which waits for us.
    let walk = unsafe { &mut *argument.cast::<Walk<'_>>() };
    let mut before: c_int = 0;
    // SAFETY: the unwinder handed us the context.
    let pc = unsafe { _Unwind_GetIPInfo(context, &raw mut before) };
    if pc == 0 {
        return STOP;
    }
    if !walk.outside {
        if pc != walk.from {
            return CONTINUE;
        }
        walk.outside = true;
    }
    if walk.count == walk.frames.len() {
        return STOP;
    }
    // A return address may belong to the next line or function: step back into the call.
    walk.frames[walk.count] = (pc as u64) - u64::from(before == 0);
    walk.count += 1;
    CONTINUE
}

/// Fills `frames` with the stack from return address `from` outwards; how many there are, at least 1.
#[cold]
#[inline(never)]
pub fn capture(from: usize, frames: &mut [u64]) -> usize {
    let mut walk = Walk {
        frames,
        count: 0,
        from,
        outside: false,
    };
    // SAFETY: `step` gets the walk, which outlives the call.
    unsafe { _Unwind_Backtrace(step, (&raw mut walk).cast()) };
    if walk.count == 0 {
        // Nothing could be unwound: at least we know who called.
        walk.frames[0] = from as u64 - 1;
        walk.count = 1;
    }
    walk.count
}

/// The return address of the exported function that this is written in. The runtime is built with
/// frame pointers, so it lies above the saved one.
macro_rules! caller {
    () => {{
        let pc: usize;
        // SAFETY: every function of the runtime keeps a frame pointer.
        unsafe {
            core::arch::asm!("mov {}, [rbp + 8]", out(reg) pc, options(readonly, nostack, preserves_flags, pure))
        };
        pc
    }};
}
pub(crate) use caller;
