//! Creation, end and joining of threads.

use alloc::boxed::Box;
use alloc::string::ToString;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use engine::SyncOp;
use event::{Addr, Tid};

use super::writes;
use crate::real::interceptors;
use crate::signal_stack::{self, ROOM};
use crate::thread::{self, Thread};
use crate::{alone, recording, registry, signal, start, sys, tls};

unsafe extern "C" {
    fn pthread_self() -> usize;
    fn pthread_key_create(key: *mut u32, destructor: extern "C" fn(*mut c_void)) -> c_int;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    fn pthread_getattr_np(thread: usize, attributes: *mut libc::pthread_attr_t) -> c_int;
    fn pthread_attr_getstack(
        attributes: *const libc::pthread_attr_t,
        start: *mut *mut c_void,
        bytes: *mut usize,
    ) -> c_int;
    fn pthread_attr_setstacksize(attributes: *mut libc::pthread_attr_t, bytes: usize) -> c_int;
    fn pthread_attr_getdetachstate(
        attributes: *const libc::pthread_attr_t,
        state: *mut c_int,
    ) -> c_int;
    fn pthread_attr_destroy(attributes: *mut libc::pthread_attr_t) -> c_int;
}

/// What the creator hands to the new thread.
struct Birth {
    thread: Box<Thread>,
    routine: usize,
    argument: *mut c_void,
    detached: bool,
}

/// Key whose destructor is a thread's last event. 0: not made yet, else the key plus 1.
static KEY: AtomicU32 = AtomicU32::new(0);

/// libc calls destructors this many times over, as long as some value is not null.
const ROUNDS: usize = 4;

extern "C" fn last_event(round: *mut c_void) {
    let round = round as usize;
    if round < ROUNDS {
        // Other keys' destructors are still to run, and they are the program's code.
        arm(round + 1);
        return;
    }
    end();
}

fn arm(round: usize) {
    let key = KEY.load(Ordering::Acquire);
    if key != 0 {
        // SAFETY: the key exists; the value is a number, never followed.
        unsafe { pthread_setspecific(key - 1, round as *const c_void) };
    }
}

fn own_handle() -> usize {
    // SAFETY: always allowed.
    unsafe { pthread_self() }
}

/// Nothing more will be seen of the calling thread.
fn end() {
    let own = tls::own();
    if !own.enter() {
        return;
    }
    if let Some((thread, runtime)) = thread::current() {
        // A robust mutex goes to the next owner when its owner ends.
        for lock in thread.held_alone() {
            let op = SyncOp::Release(lock);
            runtime.analysis.sync(&mut thread.state, op);
        }
        signal_stack::end(thread);
        runtime.analysis.end(&mut thread.state);
        if runtime.options.stats {
            crate::stats::add(&thread.state);
        }
        own.set_thread(core::ptr::null_mut());
        own.ended.store(1, Ordering::Relaxed);
        // No more of them wait from now on.
        let signals = core::mem::take(&mut thread.signals);
        let thread: *mut Thread = thread;
        // SAFETY: made by `Box::into_raw` when the thread began; the block no longer refers to it.
        let thread = unsafe { Box::from_raw(thread) };
        registry::ended(own_handle(), thread);
        own.leave();
        return signals.send_again();
    }
    own.leave();
}

/// The stack of the calling thread, lowest address and end; it holds the thread-locals, too.
fn own_stack() -> Option<(u64, u64)> {
    let mut attributes = core::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: fills the structure for the calling thread.
    if unsafe { pthread_getattr_np(own_handle(), attributes.as_mut_ptr()) } != 0 {
        return None;
    }
    let (mut start, mut bytes) = (core::ptr::null_mut(), 0);
    // SAFETY: filled just now.
    unsafe { pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut bytes) };
    // SAFETY: filled just now.
    unsafe { pthread_attr_destroy(attributes.as_mut_ptr()) };
    Some((start as u64, start as u64 + bytes as u64))
}

/// The thread that runs `main`.
pub(crate) fn first_thread() {
    let own = tls::own();
    if !own.enter() {
        return;
    }
    let mut key = 0;
    // SAFETY: writes the new key.
    if unsafe { pthread_key_create(&raw mut key, last_event) } == 0 {
        KEY.store(key + 1, Ordering::Release);
    }
    if let Some((thread, _)) = thread::current() {
        if let Some(stack) = own_stack() {
            registry::update(thread.tid, |info| info.stack = stack);
        }
        registry::enter(own_handle(), thread.tid, false);
        arm(1);
    }
    own.leave();
}

/// A new thread's first steps, then the program's routine.
extern "C" fn birth(argument: *mut c_void) -> *mut c_void {
    let own = tls::own();
    // The block is fresh: the thread is inside at once, and no fork comes between.
    own.enter();
    // SAFETY: the creator leaked it for us.
    let birth = unsafe { Box::from_raw(argument.cast::<Birth>()) };
    let Birth {
        thread,
        routine,
        argument,
        detached,
    } = *birth;
    let tid = thread.tid;
    let thread = Box::into_raw(thread);
    own.set_thread(thread);
    registry::started(thread);
    registry::enter(own_handle(), tid, detached);
    arm(1);
    if let (Some(stack), Some((thread, runtime))) = (own_stack(), thread::current()) {
        registry::update(tid, |info| info.stack = stack);
        // The memory may have been another thread's stack.
        let bytes = stack.1 - stack.0;
        runtime
            .analysis
            .renew(&mut thread.state, Addr(stack.0), bytes);
    }
    own.leave();
    tls::begin_context();
    start::call(routine, argument)
}

/// Prepares a thread that is about to be created.
fn conceive(
    routine: usize,
    argument: *mut c_void,
    detached: bool,
    pc: usize,
) -> Option<*mut Birth> {
    thread::with(|parent, runtime| {
        let site = parent.site(pc);
        let tid = registry::announce(Some(parent.tid), site);
        let state = runtime.analysis.fork(&mut parent.state, tid);
        Box::into_raw(Box::new(Birth {
            thread: Thread::new(tid, state),
            routine,
            argument,
            detached,
        }))
    })
}

/// Creates a thread with `create`, which gets the routine and argument to use.
fn creates(
    handle: *mut usize,
    routine: usize,
    argument: *mut c_void,
    detached: bool,
    pc: usize,
    create: impl FnOnce(usize, *mut c_void) -> c_int,
) -> c_int {
    // libc stores the handle before the new thread runs.
    writes(handle, size_of::<usize>(), pc);
    alone::creates(tls::own());
    let Some(conceived) = conceive(routine, argument, detached, pc) else {
        return create(routine, argument);
    };
    // SAFETY: ours until the thread starts.
    let tid: Tid = unsafe { (*conceived).thread.tid };
    let result = create(birth as *const () as usize, conceived.cast());
    if result == 0 {
        // SAFETY: libc has stored the handle.
        let handle = unsafe { *handle };
        thread::with(|_, _| registry::enter(handle, tid, detached));
    } else {
        // SAFETY: nobody will run it.
        let birth = unsafe { Box::from_raw(conceived) };
        thread::with(|_, runtime| {
            drop(birth);
            alone::joined(tls::own(), runtime);
        });
    }
    result
}

/// Waits for the thread with `wait`; if it has ended, all it did is in our past.
fn joins(handle: usize, wait: impl FnOnce() -> c_int) -> c_int {
    // The handle may be another thread's as soon as libc returns.
    let tid = thread::with(|_, _| registry::by_handle(handle)).flatten();
    let result = wait();
    if result == 0
        && let Some(tid) = tid
    {
        thread::with(|thread, runtime| {
            if let Some(mut child) = registry::joined(handle, tid) {
                runtime.analysis.join(&mut thread.state, &mut child.state);
                alone::joined(tls::own(), runtime);
            }
        });
    }
    result
}

/// libc may create a thread for that event.
fn notifies(event: *const libc::sigevent) {
    // SAFETY: the program's event, or null.
    let event = unsafe { event.as_ref() };
    if event.is_some_and(|event| event.sigev_notify == libc::SIGEV_THREAD) {
        alone::creates(tls::own());
    }
}

type Event = *mut libc::sigevent;
type Time = *const libc::timespec;
type Attributes = *const libc::pthread_attr_t;

fn is_detached(attributes: Attributes) -> bool {
    let mut state = 0;
    if !attributes.is_null() {
        // SAFETY: the program's attributes.
        unsafe { pthread_attr_getdetachstate(attributes, &raw mut state) };
    }
    state == libc::PTHREAD_CREATE_DETACHED
}

/// The attributes with a larger stack, if they ask for one of a certain size that libc is to make. The program's own are left as they are:
/// several threads may use them at once. The copy shares what they point to, so it is never destroyed.
fn with_room(attributes: Attributes) -> Option<libc::pthread_attr_t> {
    if attributes.is_null() {
        return None;
    }
    let (mut start, mut bytes) = (core::ptr::null_mut::<c_void>(), 0);
    // SAFETY: the program's attributes.
    if unsafe { pthread_attr_getstack(attributes, &raw mut start, &raw mut bytes) } != 0 {
        return None;
    }
    // Without a stack of the program's, libc takes its end to be 0.
    let is_given = (start as usize).wrapping_add(bytes) != 0;
    if is_given || bytes == 0 {
        return None;
    }
    // SAFETY: the program's attributes, plain bytes.
    let mut copy = unsafe { attributes.read() };
    // SAFETY: a copy of initialised attributes.
    let code = unsafe { pthread_attr_setstacksize(&raw mut copy, bytes.checked_add(ROOM)?) };
    (code == 0).then_some(copy)
}

fn set_name(tid: Option<Tid>, name: *const c_char) {
    if let Some(tid) = tid
        && !name.is_null()
    {
        // SAFETY: the program's string.
        let name = unsafe { CStr::from_ptr(name) }
            .to_string_lossy()
            .to_string();
        recording::named(tid, &name);
        registry::update(tid, |info| info.name = name);
    }
}

interceptors! {
    fn pthread_create(handle: *mut usize, attributes: Attributes, routine: usize, argument: *mut c_void) -> c_int = |real, pc| {
        let roomy = with_room(attributes);
        let attributes = roomy.as_ref().map_or(attributes, core::ptr::from_ref);
        creates(handle, routine, argument, is_detached(attributes), pc, |routine, argument| {
            real(handle, attributes, routine, argument)
        })
    }
    fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int = |real, pc| {
        let code = joins(thread, || real(thread, result));
        if code == 0 && !result.is_null() {
            writes(result, size_of::<usize>(), pc);
        }
        code
    }
    fn pthread_tryjoin_np(thread: usize, result: *mut *mut c_void) -> c_int = |real, pc| {
        joins(thread, || real(thread, result))
    }
    fn pthread_timedjoin_np(thread: usize, result: *mut *mut c_void, until: Time) -> c_int = |real, pc| {
        joins(thread, || real(thread, result, until))
    }
    fn pthread_clockjoin_np(thread: usize, result: *mut *mut c_void, clock: c_int, until: Time) -> c_int = |real, pc| {
        joins(thread, || real(thread, result, clock, until))
    }
    fn pthread_detach(thread: usize) -> c_int = |real, pc| {
        thread::with(|_, _| registry::detach(thread));
        real(thread)
    }
    fn pthread_setname_np(thread: usize, name: *const c_char) -> c_int = |real, pc| {
        thread::with(|_, _| set_name(registry::by_handle(thread), name));
        real(thread, name)
    }
    fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int = |real, pc| {
        if option == libc::PR_SET_NAME {
            thread::with(|thread, _| set_name(Some(thread.tid), a as *const c_char));
        }
        real(option, a, b, c, d)
    }

    // Threads that libc creates for itself, and those that nobody knows of.
    fn timer_create(clock: c_int, event: Event, timer: *mut c_void) -> c_int = |real, pc| {
        notifies(event);
        real(clock, event, timer)
    }
    fn mq_notify(queue: c_int, event: Event) -> c_int = |real, pc| {
        notifies(event);
        real(queue, event)
    }
    fn aio_read(control: *mut c_void) -> c_int = |real, pc| {
        alone::creates(crate::tls::own());
        real(control)
    }
    fn aio_read64(control: *mut c_void) -> c_int = |real, pc| {
        alone::creates(crate::tls::own());
        real(control)
    }
    fn aio_write(control: *mut c_void) -> c_int = |real, pc| {
        alone::creates(crate::tls::own());
        real(control)
    }
    fn aio_write64(control: *mut c_void) -> c_int = |real, pc| {
        alone::creates(crate::tls::own());
        real(control)
    }
    fn aio_fsync(operation: c_int, control: *mut c_void) -> c_int = |real, pc| {
        alone::creates(crate::tls::own());
        real(operation, control)
    }
    fn aio_fsync64(operation: c_int, control: *mut c_void) -> c_int = |real, pc| {
        alone::creates(crate::tls::own());
        real(operation, control)
    }
    fn lio_listio(mode: c_int, list: *mut c_void, count: c_int, event: Event) -> c_int = |real, pc| {
        alone::creates(crate::tls::own());
        real(mode, list, count, event)
    }
    fn lio_listio64(mode: c_int, list: *mut c_void, count: c_int, event: Event) -> c_int = |real, pc| {
        alone::creates(crate::tls::own());
        real(mode, list, count, event)
    }
    fn getaddrinfo_a(mode: c_int, list: *mut c_void, count: c_int, event: Event) -> c_int = |real, pc| {
        alone::creates(crate::tls::own());
        real(mode, list, count, event)
    }
    fn clone(routine: usize, stack: *mut c_void, flags: c_int, argument: *mut c_void, parent: usize, tls: usize, child: usize) -> c_int = |real, pc| {
        alone::creates(crate::tls::own());
        real(routine, stack, flags, argument, parent, tls, child)
    }

    fn thrd_create(handle: *mut usize, routine: usize, argument: *mut c_void) -> c_int = |real, pc| {
        creates(handle, routine, argument, false, pc, |routine, argument| {
            real(handle, routine, argument)
        })
    }
    fn thrd_join(thread: usize, result: *mut c_int) -> c_int = |real, pc| {
        let code = joins(thread, || real(thread, result));
        if code == 0 && !result.is_null() {
            writes(result, size_of::<c_int>(), pc);
        }
        code
    }
    fn thrd_detach(thread: usize) -> c_int = |real, pc| {
        thread::with(|_, _| registry::detach(thread));
        real(thread)
    }
}

unsafe extern "C" {
    fn __register_atfork(
        prepare: extern "C" fn(),
        parent: extern "C" fn(),
        child: extern "C" fn(),
        library: *mut c_void,
    ) -> c_int;
}

/// Registered before all others: libc calls our first step after the program's handlers, and our second before
/// them. So nobody is inside the runtime when the process is copied, and the program's handlers are outside
/// of it all.
pub(crate) fn watch_forks() {
    // SAFETY: the functions stay as long as the process.
    unsafe { __register_atfork(before_fork, in_parent, in_child, core::ptr::null_mut()) };
}

extern "C" fn before_fork() {
    if let Some(me) = thread::with(|thread, _| thread.tid) {
        stand_still(me, None);
    }
}

/// Waits until nobody but the caller, `me`, is inside the runtime, if need be at most so many milliseconds, and keeps all others out until [`go_on`]. Are they outside?
fn stand_still(me: Tid, patience: Option<u64>) -> bool {
    // One at a time. A signal in between would find the door closed by nobody.
    let close = || {
        let closed = tls::FORKING.compare_exchange(0, 1, Ordering::SeqCst, Ordering::Relaxed);
        if closed.is_ok() {
            tls::FORKER.store(tls::block().cast_mut(), Ordering::Relaxed);
        }
        closed.is_ok()
    };
    while !signal::without_signals(close) {
        sys::futex_wait(&tls::FORKING, 1);
    }
    // After this, who does not see FORKING shows its depth.
    sys::barrier_everywhere();
    // From within: signals wait, since the list of threads is locked meanwhile.
    thread::with(|_, _| registry::wait_until_outside(me, patience)).unwrap_or(false)
}

/// Lets the others in again, if the caller kept them out.
fn go_on() -> bool {
    let mine = tls::FORKER.load(Ordering::Relaxed).cast_const() == tls::block();
    if mine {
        tls::FORKER.store(core::ptr::null_mut(), Ordering::Relaxed);
        tls::FORKING.store(0, Ordering::SeqCst);
        sys::futex_wake(tls::FORKING.as_ptr());
    }
    mine
}

/// The process ends: what other threads did counts, even if they never synchronise again and checks are put off; and what they counted. They are waited for, if need be at most so many milliseconds.
pub(crate) fn settle_others(patience: Option<u64>) {
    let forking = tls::FORKER.load(Ordering::Relaxed).cast_const() == tls::block();
    let me = thread::with(|thread, runtime| {
        let asked = runtime.analysis.puts_off() || runtime.options.stats;
        asked.then_some(thread.tid)
    });
    let Some(me) = me.flatten().filter(|_| !forking) else {
        return;
    };
    if !stand_still(me, patience) {
        go_on();
        return;
    }
    thread::with(|_, runtime| {
        registry::each_other(me, |other, _| runtime.analysis.settle(&mut other.state));
        if runtime.options.stats {
            crate::stats::add_others(|add| {
                registry::each_other(me, |other, block| add(block, &other.state));
            });
        }
    });
    go_on();
}

extern "C" fn in_parent() {
    go_on();
}

extern "C" fn in_child() {
    if !go_on() {
        return;
    }
    thread::with(|thread, runtime| {
        recording::forked(thread);
        // What the others did before the copy was made is in the child's past.
        registry::bury_others(thread.tid, |other| {
            runtime.analysis.bury(&mut thread.state, &mut other.state);
        });
        alone::forked(tls::own(), runtime);
        crate::records::forked();
        crate::stats::forked();
    });
}
