//! What a program's author can tell the detector: `footrace.h`, and the dynamic annotations that other
//! tools made a custom (libarcher speaks them for OpenMP).

use core::ffi::{c_char, c_int, c_void};

use engine::SyncOp;
use event::{AccessKind, Addr, SyncId};

use super::{acquired, releasing, sync};
use crate::unwind::caller;
use crate::{recording, records, registry, thread};

type Object = *const c_void;

fn ignore(kind: AccessKind, by: i32) {
    thread::with(|thread, runtime| {
        // Foreseen accesses are taken without a look at what is ignored.
        crate::streams::forget(thread, runtime);
        let depth = &mut thread.ignore[kind as usize];
        *depth = depth.saturating_add_signed(by);
    });
}

fn renew(start: Object, bytes: usize, pc: usize) {
    thread::with(|thread, runtime| {
        let site = thread.site(pc);
        let start = Addr(start as u64);
        runtime
            .analysis
            .alloc(&mut thread.state, start, 1, bytes as u64, site);
    });
}

fn channel(object: Object) -> SyncId {
    SyncId(0x414E << 48 | (object as u64 & 0xFFFF_FFFF_FFFF))
}

fn name_thread(name: *const c_char) {
    if name.is_null() {
        return;
    }
    thread::with(|thread, _| {
        // SAFETY: the program's string.
        let name = unsafe { core::ffi::CStr::from_ptr(name) }.to_string_lossy();
        recording::named(thread.tid, &name);
        registry::update(thread.tid, |info| info.name = name.into_owned());
    });
}

macro_rules! exported {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)? $body:block)*) => {$(
        #[allow(non_snake_case, reason = "a custom of others")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $type),*) $(-> $ret)? $body
    )*};
}

type File = *const c_char;

exported! {
    fn footrace_release(object: Object) { sync(SyncOp::Send(channel(object))); }
    fn footrace_acquire(object: Object) { sync(SyncOp::Receive(channel(object))); }
    fn footrace_ignore_begin() { ignore(AccessKind::Read, 1); ignore(AccessKind::Write, 1); }
    fn footrace_ignore_end() { ignore(AccessKind::Read, -1); ignore(AccessKind::Write, -1); }
    fn footrace_benign(start: Object, bytes: usize) { records::benign(start as u64, bytes as u64); }
    fn footrace_new_memory(start: Object, bytes: usize) { renew(start, bytes, caller!()); }
    fn footrace_name_thread(name: *const c_char) { name_thread(name); }

    fn AnnotateHappensBefore(_file: File, _line: c_int, object: Object) { sync(SyncOp::Send(channel(object))); }
    fn AnnotateHappensAfter(_file: File, _line: c_int, object: Object) { sync(SyncOp::Receive(channel(object))); }
    fn AnnotateIgnoreReadsBegin(_file: File, _line: c_int) { ignore(AccessKind::Read, 1); }
    fn AnnotateIgnoreReadsEnd(_file: File, _line: c_int) { ignore(AccessKind::Read, -1); }
    fn AnnotateIgnoreWritesBegin(_file: File, _line: c_int) { ignore(AccessKind::Write, 1); }
    fn AnnotateIgnoreWritesEnd(_file: File, _line: c_int) { ignore(AccessKind::Write, -1); }
    fn AnnotateNewMemory(_file: File, _line: c_int, start: Object, bytes: usize) { renew(start, bytes, caller!()); }
    fn AnnotateBenignRaceSized(_file: File, _line: c_int, start: Object, bytes: usize, _why: File) {
        records::benign(start as u64, bytes as u64);
    }
    fn AnnotateBenignRace(_file: File, _line: c_int, start: Object, _why: File) { records::benign(start as u64, 1); }
    fn AnnotateRWLockCreate(_file: File, _line: c_int, _lock: Object) {}
    fn AnnotateRWLockCreateStatic(_file: File, _line: c_int, _lock: Object) {}
    fn AnnotateRWLockDestroy(_file: File, _line: c_int, _lock: Object) {}
    fn AnnotateRWLockAcquired(_file: File, _line: c_int, lock: Object, writer: isize) {
        acquired(lock as usize, writer == 0, caller!());
    }
    fn AnnotateRWLockReleased(_file: File, _line: c_int, lock: Object, writer: isize) {
        releasing(lock as usize, writer == 0);
    }
    fn AnnotateThreadName(_file: File, _line: c_int, name: *const c_char) { name_thread(name); }
    fn AnnotateFlushState(_file: File, _line: c_int) {}
    fn AnnotateEnableRaceDetection(_file: File, _line: c_int, enable: c_int) {
        let by = if enable != 0 { -1 } else { 1 };
        ignore(AccessKind::Read, by);
        ignore(AccessKind::Write, by);
    }
    fn AnnotateCondVarSignal(_file: File, _line: c_int, object: Object) { sync(SyncOp::Send(channel(object))); }
    fn AnnotateCondVarWait(_file: File, _line: c_int, object: Object, _lock: Object) { sync(SyncOp::Receive(channel(object))); }
    fn RunningOnValgrind() -> c_int { 0 }

    // libarcher looks for these to tell whether somebody listens.
    fn __tsan_init() {}
    fn __tsan_func_entry(_pc: Object) {}
    fn __tsan_func_exit() {}
    fn __tsan_acquire(object: Object) { sync(SyncOp::Receive(channel(object))); }
    fn __tsan_release(object: Object) { sync(SyncOp::Send(channel(object))); }
}
