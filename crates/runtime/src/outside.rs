//! How a stub has an access checked whose location has a state outside: it finds the number of the site, as for [a step of its own](crate::step), and asks the engine for the
//! step, without the rest of what it takes to enter the runtime.

use core::sync::atomic::Ordering;

use engine::Detector;
use engine::precise::Raced;
use engine::shadow::{Location, Seen};
use event::{AccessKind, Addr};

use crate::analysis::{Analysis, State};
use crate::entry::{mask, tell};
use crate::{thread, tls};

/// Where a stub found an access to be recorded: in a location; or, one byte further than its own address, in what the thread has accessed of the page.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Place(usize);

/// Makes the step of an access whose site has that number in the thread's slot. The thread is inside. Returns false if nothing was done.
#[inline(always)]
pub fn outside(
    kind: AccessKind,
    Place(place): Place,
    at: usize,
    size: u32,
    number: u32,
    pc: usize,
) -> bool {
    // A fork waits for who holds a lock, but not for a stub.
    if tls::FORKING.load(Ordering::Relaxed) != 0 || at % 8 + size as usize > 8 {
        return false;
    }
    let Some((thread, runtime)) = thread::current() else {
        return false;
    };
    let (Analysis::FastTrack(detector), State::FastTrack(precise)) =
        (&runtime.analysis, &mut thread.state)
    else {
        return false;
    };
    let (order, shadow) = (detector.order(), detector.shadow());
    if place % 2 == 1 {
        let seen = (place - 1) as *const Seen;
        // SAFETY: the stub found it in the thread's cache, and it stays as long as the thread.
        let footprint = unsafe { &*seen }.number.load(Ordering::Relaxed);
        let what = (kind, Addr(at as u64), u64::from(size));
        let done = shadow.mark(precise, footprint as usize, what, number);
        // It is not published yet.
        tls::own().idle.store(0, Ordering::Relaxed);
        return done;
    }
    let location = place as *const Location;
    // SAFETY: the stub found it in the shadow of the page, which stays.
    let location = unsafe { &*location };
    let done = shadow.access_in_block(order, precise, location, kind, mask(at, size), number);
    match done {
        None => return false,
        Some(Raced(true)) => tell(thread, runtime, (kind, Addr(at as u64), size), pc),
        Some(Raced(false)) => {}
    }
    // It is not published yet.
    tls::own().idle.store(0, Ordering::Relaxed);
    true
}

/// Finds the number of the site of an access at rdi to a location with a state outside, and asks `{outside}` for the step; returns to the program if that made it, or goes back to
/// `8:`. It begins at `60:`; rax and rcx are pushed, r11 is where the block is. SlimState's go to the runtime.
macro_rules! take_outside {
    (Read 16) => { $crate::outside::take_outside!(@none) };
    (Read 24) => { $crate::outside::take_outside!(@none) };
    (Read 32) => { $crate::outside::take_outside!(@none) };
    (Write 16) => { $crate::outside::take_outside!(@none) };
    (Write 24) => { $crate::outside::take_outside!(@none) };
    (Write 32) => { $crate::outside::take_outside!(@none) };
    (Any 0) => { $crate::outside::take_outside!(@none) };
    (@none) => {
        "/* {outside} */\n"
    };
    ($kind:ident $size:tt) => {
        concat!(
            "60:\n",
            ".cfi_remember_state\n",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            "cmp qword ptr fs:[r11 + {streams}], 0\n",
            "jne 8b\n",
            "cmp dword ptr fs:[r11 + {depth}], 0\n",
            "jne 8b\n",
            $crate::locate::find_location!("8b"),
            // With what is put off; what rcx is, `Place` says.
            "61:\n",
            "mov dword ptr fs:[r11 + {depth}], 1\n",
            "push rdx\n",
            ".cfi_adjust_cfa_offset 8\n",
            "push rsi\n",
            ".cfi_adjust_cfa_offset 8\n",
            "push rdi\n",
            ".cfi_adjust_cfa_offset 8\n",
            "push r8\n",
            ".cfi_adjust_cfa_offset 8\n",
            "push r9\n",
            ".cfi_adjust_cfa_offset 8\n",
            "push r10\n",
            ".cfi_adjust_cfa_offset 8\n",
            // As the stack has to be for a call.
            "push r11\n",
            ".cfi_adjust_cfa_offset 8\n",
            $crate::step::find_number!("72", "edx", "rdx", "edx", "69f"),
            "mov rsi, rdi\n",
            "mov rdi, rcx\n",
            "mov rcx, qword ptr [rsp + 72]\n",
            "call {outside}\n",
            "cmp al, 1\n",
            "69:\n",
            // The flag is whether it is done.
            "pop r11\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop r10\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop r9\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop r8\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rdi\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rsi\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rdx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "mov dword ptr fs:[r11 + {depth}], 0\n",
            "jne 8b\n",
            "cmp dword ptr fs:[r11 + {pending}], 0\n",
            "jne 8b\n",
            "pop rcx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rax\n",
            ".cfi_adjust_cfa_offset -8\n",
            "ret\n",
            ".cfi_restore_state\n",
        )
    };
}

pub(crate) use take_outside;
