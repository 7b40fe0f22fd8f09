//! The program's signal handlers run in the program's code, never in ours.
//!
//! In front of each handler stands [`front`]. If the signal came from outside (a timer, `kill`) while
//! the thread was in the runtime, it waits in the thread's queue until the thread leaves. A fault of the
//! thread's own doing (SIGSEGV and the like) can't wait: if it happened in the runtime, the runtime was
//! touching the program's memory for it, and the handler runs at once.
//!
//! A signal that ends the process, for want of a handler, comes to [`front`] too if checks are put off: what the threads did until then counts,
//! and a crash may well be a race's doing.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use engine::SyncOp;
use event::SyncId;

use crate::real::interceptors;
use crate::{atomic, sys, thread, tls};

const SIGNALS: usize = 65;
const WAITING: usize = 16;

/// A handler of the program, as `sigaction` got it.
struct Handler {
    function: AtomicUsize,
    flags: AtomicU32,
    mask: AtomicU64,
}

static HANDLERS: [Handler; SIGNALS] = [const {
    Handler {
        function: AtomicUsize::new(libc::SIG_DFL),
        flags: AtomicU32::new(0),
        mask: AtomicU64::new(0),
    }
}; SIGNALS];

/// Signals that wait. Filled by a signal handler while the thread is in the runtime, emptied by the
/// thread when it leaves.
pub struct Queue {
    entries: [Option<libc::siginfo_t>; WAITING],
}

impl Default for Queue {
    fn default() -> Self {
        Queue {
            entries: [None; WAITING],
        }
    }
}

impl core::fmt::Debug for Queue {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let waiting = self.entries.iter().flatten().map(|info| info.si_signo);
        f.debug_list().entries(waiting).finish()
    }
}

impl Queue {
    /// Like the kernel: of the ordinary signals one of each kind waits.
    fn push(&mut self, info: libc::siginfo_t) {
        let same = |entry: &Option<libc::siginfo_t>| {
            entry.is_some_and(|old| old.si_signo == info.si_signo && info.si_signo < 32)
        };
        if self.entries.iter().any(same) {
            return;
        }
        if let Some(free) = self.entries.iter_mut().find(|entry| entry.is_none()) {
            *free = Some(info);
        }
    }

    /// The thread has ended, and is outside: signals that waited come to it now.
    pub fn send_again(mut self) {
        while let Some(info) = self.pop() {
            sys::send_again(info.si_signo, &info);
        }
    }

    fn pop(&mut self) -> Option<libc::siginfo_t> {
        let first = self.entries[0].take();
        self.entries.rotate_left(1);
        first
    }
}

/// The channel of a signal: from `kill` and `sigaction` to the handler.
fn channel(signal: c_int) -> SyncId {
    SyncId(0x5100_0000_0000_0000 | signal as u64)
}

fn errno() -> *mut c_int {
    unsafe extern "C" {
        fn __errno_location() -> *mut c_int;
    }
    // SAFETY: libc's address of the thread's errno.
    unsafe { __errno_location() }
}

/// A signal that the thread did not cause by what it just executed.
fn from_outside(signal: c_int, code: c_int) -> bool {
    let fault = matches!(
        signal,
        libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL | libc::SIGTRAP | libc::SIGSYS
    );
    !fault || code <= 0
}

extern "C" fn front(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let own = tls::own();
    let mut inside = own.depth.load(Ordering::Relaxed);
    let interrupted = inside != 0;
    // SAFETY: the kernel's structure, alive until we return.
    let details = unsafe { *info };
    if inside != 0 && from_outside(signal, details.si_code) {
        let thread = own.thread();
        if !thread.is_null() {
            // SAFETY: the thread is the one we interrupted; nothing in the runtime touches the queue
            // with signals waiting but `deliver`, which has left.
            let queue = unsafe { &mut (*thread).signals };
            queue.push(details);
            own.pending.store(1, Ordering::Relaxed);
            return;
        }
    }
    // SAFETY: the thread's own.
    let saved_errno = unsafe { *errno() };
    if inside != 0 {
        if atomic::abandon(own) {
            inside = 0;
        }
        own.depth.store(0, Ordering::Relaxed);
    }
    run(signal, info, context, interrupted);
    own.depth.store(inside, Ordering::Relaxed);
    // SAFETY: the thread's own.
    unsafe { *errno() = saved_errno };
}

/// Runs the program's handler; was the runtime `interrupted`?
fn run(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void, interrupted: bool) {
    let Some(handler) = HANDLERS.get(signal as usize) else {
        return;
    };
    let function = handler.function.load(Ordering::Acquire);
    if function == libc::SIG_IGN {
        return;
    }
    if function == libc::SIG_DFL {
        return end_process(signal, info, interrupted);
    }
    let flags = handler.flags.load(Ordering::Relaxed) as c_int;
    if flags & libc::SA_RESETHAND != 0 {
        handler.function.store(libc::SIG_DFL, Ordering::Release);
        if is_watched(signal) {
            set_kernel_action(signal, deadly(default_action()));
        }
    }
    thread::with(|thread, runtime| {
        let op = SyncOp::Receive(channel(signal));
        runtime.analysis.sync(&mut thread.state, op);
    });
    let calling_context = tls::context();
    if flags & libc::SA_SIGINFO != 0 {
        type Full = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
        // SAFETY: with SA_SIGINFO the program gave a function of this type.
        let function: Full = unsafe { core::mem::transmute::<usize, Full>(function) };
        function(signal, info, context);
    } else {
        type Short = extern "C" fn(c_int);
        // SAFETY: without SA_SIGINFO the program gave a function of this type.
        let function: Short = unsafe { core::mem::transmute::<usize, Short>(function) };
        function(signal);
    }
    tls::set_context(calling_context);
    // The handler may have come just before an access that was foreseen, which must not be taken for one of the handler's.
    thread::with(crate::streams::forget);
}

/// Signals that end the process if it does not say otherwise: those that people, other programs and faults send.
const DEADLY: [c_int; 15] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGUSR1,
    libc::SIGSEGV,
    libc::SIGUSR2,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGSYS,
];

/// Are they ours to take where the program has no handler?
static WATCHED: AtomicBool = AtomicBool::new(false);

/// From now on deadly signals come to [`front`] first. For detectors that put checks off.
pub fn watch_deaths() {
    WATCHED.store(true, Ordering::Relaxed);
    for signal in DEADLY {
        let mut now = default_action();
        // SAFETY: the real function fills a structure that is valid as it is.
        let known = unsafe { (real::sigaction.get())(signal, core::ptr::null(), &raw mut now) };
        // Who started the program may have it ignore some.
        if known == 0 && now.sa_sigaction == libc::SIG_DFL {
            set_kernel_action(signal, deadly(now));
        }
    }
}

/// Does the signal end the process if the program has no handler, and come to [`front`] then?
fn is_watched(signal: c_int) -> bool {
    WATCHED.load(Ordering::Relaxed) && DEADLY.contains(&signal)
}

/// What the kernel is told in place of `default`, which lets a signal end the process.
fn deadly(default: libc::sigaction) -> libc::sigaction {
    let mut ours = default;
    ours.sa_sigaction = front as *const () as usize;
    // On the program's own stack for signals, if it has one: the stack may be what is wrong.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    ours
}

/// The process ends by a signal, as it would without us, but what its threads have put off is checked before; not if the runtime was `interrupted`, which may hold any lock.
#[cold]
fn end_process(signal: c_int, info: *mut libc::siginfo_t, interrupted: bool) {
    // First of all, so that one more of them ends the process at once.
    set_kernel_action(signal, default_action());
    if !interrupted {
        crate::intercept::exit::settle();
    }
    // SAFETY: the kernel's structure, or `deliver`'s copy, alive until we return.
    sys::send_again(signal, unsafe { &*info });
    // Not later: a mask that was set for a single call is another one afterwards.
    set_mask(libc::SIG_UNBLOCK, 1 << (signal - 1));
}

/// What the kernel does by itself.
fn default_action() -> libc::sigaction {
    let action = core::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zeros is a valid structure, that of `SIG_DFL`.
    unsafe { action.assume_init() }
}

fn set_kernel_action(signal: c_int, action: libc::sigaction) {
    // SAFETY: three valid arguments.
    unsafe { (real::sigaction.get())(signal, &raw const action, core::ptr::null_mut()) };
}

fn set_mask(how: c_int, mask: u64) -> u64 {
    let mut old = 0u64;
    let args = [
        how as usize,
        (&raw const mask) as usize,
        (&raw mut old) as usize,
        8,
        0,
        0,
    ];
    // SAFETY: the kernel reads one word and writes one.
    let _ = unsafe { sys::syscall(libc::SYS_rt_sigprocmask, args) };
    old
}

/// Runs `f` with all signals blocked.
pub fn without_signals<R>(f: impl FnOnce() -> R) -> R {
    let old = set_mask(libc::SIG_SETMASK, u64::MAX);
    let result = f();
    set_mask(libc::SIG_SETMASK, old);
    result
}

/// The thread has left the runtime and signals wait: now they run.
#[cold]
pub fn deliver(own: &tls::Block) {
    own.pending.store(0, Ordering::Relaxed);
    let thread = own.thread();
    if thread.is_null() {
        return;
    }
    loop {
        // The queue is shared with `front` on this very thread.
        let next = without_signals(|| {
            // SAFETY: the calling thread's own, and no handler can come in between.
            let queue = unsafe { &mut (*thread).signals };
            queue.pop()
        });
        let Some(mut info) = next else { return };
        let signal = info.si_signo;
        let bit = 1u64 << ((signal - 1) & 63);
        let mask = HANDLERS[signal as usize & 63].mask.load(Ordering::Relaxed) | bit;
        let old = set_mask(libc::SIG_BLOCK, mask);
        let mut context = core::mem::MaybeUninit::<libc::ucontext_t>::zeroed();
        // SAFETY: the thread's own.
        let saved_errno = unsafe { *errno() };
        run(signal, &raw mut info, context.as_mut_ptr().cast(), false);
        // SAFETY: the thread's own.
        unsafe { *errno() = saved_errno };
        set_mask(libc::SIG_SETMASK, old);
    }
}

fn describe(signal: usize, action: &mut libc::sigaction) {
    let handler = &HANDLERS[signal];
    action.sa_sigaction = handler.function.load(Ordering::Acquire);
    action.sa_flags = handler.flags.load(Ordering::Relaxed) as c_int;
}

fn send(signal: c_int) {
    thread::with(|thread, runtime| {
        let op = SyncOp::Send(channel(signal));
        runtime.analysis.sync(&mut thread.state, op);
    });
}

fn mask_word(set: &libc::sigset_t) -> u64 {
    // SAFETY: a signal set is larger than a word and begins with signals 1 to 64.
    unsafe { *(&raw const *set).cast::<u64>() }
}

/// Installs `new` (if any) with [`front`] before it, and says what was there before.
fn install(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
    real: impl Fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int,
) -> c_int {
    let number = signal as usize;
    if number == 0 || number >= SIGNALS {
        return real(signal, new, old);
    }
    let (mut previous, mut before) = (default_action(), default_action());
    describe(number, &mut before);
    // SAFETY: null or the program's structure.
    let result = match unsafe { new.as_ref() } {
        None => real(signal, new, &raw mut previous),
        Some(new) if new.sa_sigaction == libc::SIG_DFL || new.sa_sigaction == libc::SIG_IGN => {
            let watched = new.sa_sigaction == libc::SIG_DFL && is_watched(signal);
            let given = if watched { deadly(*new) } else { *new };
            let result = real(signal, &raw const given, &raw mut previous);
            if result == 0 {
                let handler = &HANDLERS[number];
                handler.flags.store(new.sa_flags as u32, Ordering::Relaxed);
                handler
                    .mask
                    .store(mask_word(&new.sa_mask), Ordering::Relaxed);
                handler.function.store(new.sa_sigaction, Ordering::Release);
            }
            result
        }
        Some(new) => {
            send(signal);
            let handler = &HANDLERS[number];
            let mut ours = *new;
            ours.sa_sigaction = front as *const () as usize;
            ours.sa_flags |= libc::SA_SIGINFO;
            // The table first: the signal may come at once.
            handler.flags.store(new.sa_flags as u32, Ordering::Relaxed);
            handler
                .mask
                .store(mask_word(&new.sa_mask), Ordering::Relaxed);
            handler.function.store(new.sa_sigaction, Ordering::Release);
            let result = real(signal, &raw const ours, &raw mut previous);
            if result != 0 {
                handler
                    .function
                    .store(before.sa_sigaction, Ordering::Release);
                handler
                    .flags
                    .store(before.sa_flags as u32, Ordering::Relaxed);
            }
            result
        }
    };
    // SAFETY: null or the program's structure.
    let old = unsafe { old.as_mut() };
    if result == 0
        && let Some(old) = old
    {
        *old = previous;
        if old.sa_sigaction == front as *const () as usize {
            old.sa_sigaction = before.sa_sigaction;
            old.sa_flags = before.sa_flags;
        }
    }
    result
}

/// What a signal's handler was before it became `new`, if that is any.
fn replace(signal: c_int, new: *const libc::sigaction) -> usize {
    let mut old = default_action();
    let result = install(signal, new, &raw mut old, |signal, new, old| {
        // SAFETY: three valid arguments.
        unsafe { (real::sigaction.get())(signal, new, old) }
    });
    if result == 0 {
        old.sa_sigaction
    } else {
        libc::SIG_ERR
    }
}

/// `signal` and its relatives, in terms of `sigaction`.
fn simple(signal: c_int, handler: usize, flags: c_int) -> usize {
    let mut new = default_action();
    new.sa_sigaction = handler;
    new.sa_flags = flags;
    replace(signal, &raw const new)
}

/// What `sigset` takes and returns for a signal that is blocked.
const SIG_HOLD: usize = 2;

/// `sigset`, in terms of `sigaction` and the thread's mask.
fn set_and_unblock(signal: c_int, handler: usize) -> usize {
    let hold = handler == SIG_HOLD;
    let before = if hold {
        replace(signal, core::ptr::null())
    } else {
        simple(signal, handler, 0)
    };
    // It is a signal's number.
    if before == libc::SIG_ERR {
        return before;
    }
    let bit = 1 << (signal - 1);
    let how = if hold {
        libc::SIG_BLOCK
    } else {
        libc::SIG_UNBLOCK
    };
    let was_blocked = set_mask(how, bit) & bit != 0;
    if was_blocked { SIG_HOLD } else { before }
}

interceptors! {
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int = |real, pc| {
        install(signal, new, old, real)
    }
    fn signal(signal: c_int, handler: usize) -> usize = |real, pc| {
        simple(signal, handler, libc::SA_RESTART)
    }
    fn bsd_signal(signal: c_int, handler: usize) -> usize = |real, pc| {
        simple(signal, handler, libc::SA_RESTART)
    }
    fn sysv_signal(signal: c_int, handler: usize) -> usize = |real, pc| {
        simple(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER)
    }
    fn __sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int = |real, pc| {
        install(signal, new, old, real)
    }
    fn ssignal(signal: c_int, handler: usize) -> usize = |real, pc| {
        simple(signal, handler, libc::SA_RESTART)
    }
    fn __sysv_signal(signal: c_int, handler: usize) -> usize = |real, pc| {
        simple(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER)
    }
    fn sigset(signal: c_int, handler: usize) -> usize = |real, pc| {
        set_and_unblock(signal, handler)
    }
    fn sigignore(signal: c_int) -> c_int = |real, pc| {
        if simple(signal, libc::SIG_IGN, 0) == libc::SIG_ERR { -1 } else { 0 }
    }
    fn kill(process: libc::pid_t, signal: c_int) -> c_int = |real, pc| {
        send(signal);
        real(process, signal)
    }
    fn raise(signal: c_int) -> c_int = |real, pc| {
        send(signal);
        real(signal)
    }
    fn pthread_kill(thread: usize, signal: c_int) -> c_int = |real, pc| {
        send(signal);
        real(thread, signal)
    }
    fn tgkill(group: libc::pid_t, thread: libc::pid_t, signal: c_int) -> c_int = |real, pc| {
        send(signal);
        real(group, thread, signal)
    }
    fn sigqueue(process: libc::pid_t, signal: c_int, value: usize) -> c_int = |real, pc| {
        send(signal);
        real(process, signal, value)
    }
    fn pthread_sigqueue(thread: usize, signal: c_int, value: usize) -> c_int = |real, pc| {
        send(signal);
        real(thread, signal, value)
    }
    fn sigwait(set: *const libc::sigset_t, signal: *mut c_int) -> c_int = |real, pc| {
        let result = real(set, signal);
        if result == 0 {
            // SAFETY: the real function wrote it.
            received(unsafe { *signal });
        }
        result
    }
    fn sigwaitinfo(set: *const libc::sigset_t, info: *mut libc::siginfo_t) -> c_int = |real, pc| {
        let result = real(set, info);
        received(result);
        result
    }
    fn sigtimedwait(set: *const libc::sigset_t, info: *mut libc::siginfo_t, timeout: *const libc::timespec) -> c_int = |real, pc| {
        let result = real(set, info, timeout);
        received(result);
        result
    }
}

/// A signal was taken without a handler.
fn received(signal: c_int) {
    if signal > 0 {
        thread::with(|thread, runtime| {
            let op = SyncOp::Receive(channel(signal));
            runtime.analysis.sync(&mut thread.state, op);
        });
    }
}
