//! The end of the process: the last counts, and the exit code.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use engine::SyncOp;
use event::SyncId;

use super::sync;
use crate::real::interceptors;
use crate::signal::Queue;
use crate::{records, thread, tls};

unsafe extern "C" {
    fn fork() -> libc::pid_t;
}

/// From every registration of an exit handler to the exit.
const HANDLERS: SyncId = SyncId(0x4558_0000_0000_0000);

static FINISHED: AtomicBool = AtomicBool::new(false);
/// Were all races suppressed?
static SUPPRESSED: AtomicBool = AtomicBool::new(false);

/// Registered before everything else, so called after all other handlers.
pub(crate) fn prepare() {
    // SAFETY: `late` stays as long as the process.
    unsafe { (real::on_exit.get())(late as *const () as usize, core::ptr::null_mut()) };
}

/// The code to end with instead of `code`.
fn final_code(code: c_int) -> c_int {
    match thread::runtime() {
        Some(runtime)
            if records::count() > 0
                && runtime.options.records.is_empty()
                && !SUPPRESSED.load(Ordering::Relaxed) =>
        {
            runtime.options.exitcode
        }
        _ => code,
    }
}

extern "C" fn late(code: c_int, _: *mut c_void) {
    finish(code);
    let instead = final_code(code);
    if instead != code {
        // libc allows this: it goes on with what is left and ends with the new code.
        // SAFETY: ends the process.
        unsafe { (real::exit.get())(instead) };
    }
}

/// So many milliseconds a process that is ended by a signal waits for its threads: the signal may have come while the caller holds a lock that another one needs to get out of the runtime.
const PATIENCE: u64 = 1000;

/// Makes all checks that were put off: the process is about to end without another word.
pub(crate) fn settle() {
    super::threads::settle_others(Some(PATIENCE));
    thread::with(|thread, runtime| runtime.analysis.settle(&mut thread.state));
}

/// The last words.
fn finish(code: c_int) {
    if FINISHED.swap(true, Ordering::Relaxed) {
        return;
    }
    super::threads::settle_others(None);
    let own = tls::own();
    if own.enter() {
        let mut signals = Queue::default();
        if let Some((thread, runtime)) = thread::current() {
            // Detectors that put checks off do them now.
            runtime.analysis.end(&mut thread.state);
            own.set_thread(core::ptr::null_mut());
            own.ended.store(1, Ordering::Relaxed);
            // No more of them wait from now on.
            signals = core::mem::take(&mut thread.signals);
            if runtime.options.stats {
                crate::stats::finish(&runtime.analysis, &thread.state);
            }
        }
        records::finish(code);
        SUPPRESSED.store(!crate::show::at_exit(), Ordering::Relaxed);
        own.leave();
        signals.send_again();
    }
}

/// The program's `main`.
static MAIN: AtomicUsize = AtomicUsize::new(0);

extern "C" fn main(count: c_int, arguments: usize, environment: usize) -> c_int {
    type Main = extern "C" fn(c_int, usize, usize) -> c_int;
    // SAFETY: the first argument of `__libc_start_main`.
    let main = unsafe { core::mem::transmute::<usize, Main>(MAIN.load(Ordering::Relaxed)) };
    let code = main(count, arguments, environment);
    // Returning is exiting.
    sync(SyncOp::Receive(HANDLERS));
    code
}

interceptors! {
    fn __libc_start_main(program: usize, count: c_int, arguments: usize, init: usize, fini: usize, loader: usize, stack: usize) -> c_int = |real, pc| {
        MAIN.store(program, Ordering::Relaxed);
        real(main as *const () as usize, count, arguments, init, fini, loader, stack)
    }
    fn on_exit(function: usize, argument: *mut c_void) -> c_int = |real, pc| {
        sync(SyncOp::Send(HANDLERS));
        real(function, argument)
    }
    fn exit(code: c_int) = |real, pc| {
        sync(SyncOp::Receive(HANDLERS));
        real(code);
    }
    fn _exit(code: c_int) = |real, pc| {
        finish(code);
        real(final_code(code));
    }
    fn _Exit(code: c_int) = |real, pc| {
        finish(code);
        real(final_code(code));
    }
    fn quick_exit(code: c_int) = |real, pc| {
        finish(code);
        real(final_code(code));
    }
    fn __cxa_atexit(function: usize, argument: *mut c_void, library: *mut c_void) -> c_int = |real, pc| {
        sync(SyncOp::Send(HANDLERS));
        real(function, argument, library)
    }
    fn vfork() -> libc::pid_t = |real, pc| {
        // The child of a true vfork would run in the parent's memory, detector and all.
        // SAFETY: needs nothing.
        unsafe { fork() }
    }
}
