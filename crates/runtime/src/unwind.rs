//! The call stack of the calling thread, from the tables that the compiler writes for exceptions: they
//! cover libc, signal frames and code without frame pointers. What they say of a return address is remembered (`frames`), and where that
//! is not enough, the unwinder of libgcc reads them. Both find them through `_dl_find_object`, which takes no lock and allocates nothing.

use core::ffi::{c_int, c_void};

use crate::frames::{Frame, Rule, rule};

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
    let quick = entered_from(from).and_then(|frame| walk(frame, frames));
    quick.unwrap_or_else(|| backtrace(from, frames))
}

/// Elsewhere functions keep no frame pointers.
#[cfg(not(footrace_image))]
fn entered_from(_: usize) -> Option<Frame> {
    None
}

/// The frame of the program that goes on at `from`, which called us. Every function of the runtime keeps a frame pointer, so these are a chain.
#[cfg(footrace_image)]
#[inline(always)]
fn entered_from(from: usize) -> Option<Frame> {
    /// More than functions of the runtime are ever inside of each other.
    const DEEP: usize = 64;
    /// More bytes than one of their frames has.
    const LARGE: usize = 1 << 16;
    let mut fp: usize;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov {}, rbp", out(reg) fp, options(nomem, nostack, preserves_flags, pure));
    };
    for _ in 0..DEEP {
        let pair = core::ptr::with_exposed_provenance::<[usize; 2]>(fp);
        // SAFETY: the frame of one of our functions, or of the program's below them: both words are on this stack.
        let [saved, pc] = unsafe { pair.read() };
        if pc == from {
            return Some(Frame {
                pc,
                sp: fp + 16,
                fp: saved,
            });
        }
        if saved <= fp || saved - fp > LARGE || !saved.is_multiple_of(8) {
            return None;
        }
        fp = saved;
    }
    None
}

/// Fills `frames` from `frame` outwards, as far as they have room, if there is a rule for each; how many there are.
fn walk(mut frame: Frame, frames: &mut [u64]) -> Option<usize> {
    for (count, place) in (1..).zip(&mut *frames) {
        // A return address may belong to the next line or function: step back into the call.
        *place = frame.pc as u64 - 1;
        let out = match rule(frame.pc) {
            Rule::Out(out) => out,
            Rule::Last => return Some(count),
            Rule::Unknown => return None,
        };
        // SAFETY: `frame` is on our stack, and that is the rule for where it goes on.
        let outer = unsafe { out.of(frame) };
        if outer.pc == 0 {
            return Some(count);
        }
        if outer.sp <= frame.sp {
            return None;
        }
        frame = outer;
    }
    Some(frames.len())
}

/// As [`capture`], by libgcc.
fn backtrace(from: usize, frames: &mut [u64]) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The frame of the caller at this very place.
    macro_rules! here {
        () => {{
            let (pc, sp, fp): (usize, usize, usize);
            // SAFETY: reads registers.
            unsafe {
                core::arch::asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp", out(reg) pc, out(reg) sp, out(reg) fp, options(nomem, nostack, preserves_flags))
            };
            // As if a call had been there.
            Frame { pc: pc + 1, sp, fp }
        }};
    }

    /// Both ways from one place, some calls deep, with frames of several sizes.
    #[inline(never)]
    fn dig<const BYTES: usize>(depth: usize, compared: &mut usize) -> u8 {
        let mut room = [depth as u8; BYTES];
        core::hint::black_box(&mut room);
        if depth == 0 {
            let mut quick = [0; MAX_FRAMES];
            let count = walk(here!(), &mut quick).expect("rules for all of them");
            let mut slow = [0; MAX_FRAMES];
            let outer = quick[1] as usize + 1;
            let slow_count = backtrace(outer, &mut slow);
            assert_eq!(quick[1..count], slow[..slow_count]);
            *compared += slow_count;
            return room[0];
        }
        let below = if depth.is_multiple_of(3) {
            dig::<8>(depth - 1, compared)
        } else {
            dig::<1000>(depth - 1, compared)
        };
        below.wrapping_add(room[BYTES - 1])
    }

    #[test]
    fn the_remembered_rules_lead_where_the_tables_lead() {
        crate::frames::resolve();
        let mut compared = 0;
        for depth in [0, 1, 2, 30, 100] {
            // Rules that are looked up, then those that are known.
            dig::<100>(depth, &mut compared);
            dig::<100>(depth, &mut compared);
        }
        assert!(compared > 300, "{compared}");
    }

    #[test]
    fn a_stack_deeper_than_there_is_room_for_is_cut() {
        crate::frames::resolve();
        let mut frames = [0; 2];
        assert_eq!(walk(here!(), &mut frames), Some(2));
    }
}
