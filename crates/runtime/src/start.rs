//! The first thing that happens in the process: before any constructor, the loader calls [`begin`].

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::analysis::Analysis;
use crate::detectors::{self, Detector};
use crate::options::Options;
use crate::thread::{RUNTIME, Runtime, runtime};
use crate::{intercept, modules, records, registry, sys, thread, tls};

/// The environment, as the process got it.
static ENVIRONMENT: AtomicPtr<*const c_char> = AtomicPtr::new(core::ptr::null_mut());

type Begin = extern "C" fn(c_int, *const *const c_char, *const *const c_char);

#[used]
#[cfg_attr(footrace_image, unsafe(link_section = ".preinit_array"))]
static BEGIN: Begin = begin;

/// As a library (`footrace run --preload`) the runtime is no part of the executable, whose list this is; then it begins with the
/// constructors.
#[used]
#[cfg_attr(footrace_image, unsafe(link_section = ".init_array.0"))]
static BEGIN_AS_LIBRARY: Begin = begin;

extern "C" fn begin(
    _count: c_int,
    _arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    if runtime().is_none() {
        ENVIRONMENT.store(environment.cast_mut(), Ordering::Relaxed);
        start();
    }
}

/// The environment as a list that ends with null.
pub fn environment() -> *const *const c_char {
    ENVIRONMENT.load(Ordering::Relaxed).cast_const()
}

/// A variable of the environment.
pub fn variable(name: &str) -> Option<String> {
    let mut at = ENVIRONMENT.load(Ordering::Relaxed).cast_const();
    while !at.is_null() {
        // SAFETY: the list ends with a null pointer, which ends the loop.
        let entry = unsafe { at.read() };
        if entry.is_null() {
            return None;
        }
        // SAFETY: the kernel's strings are NUL-terminated.
        let entry = unsafe { CStr::from_ptr(entry) }.to_string_lossy();
        if let Some((key, value)) = entry.split_once('=')
            && key == name
        {
            return Some(value.to_string());
        }
        at = at.wrapping_add(1);
    }
    None
}

/// Starts the runtime, once.
pub fn start() {
    if runtime().is_some() {
        return;
    }
    let own = tls::own();
    // Nothing that libc does for us now is an event.
    own.depth.store(1, Ordering::Relaxed);
    intercept::resolve();
    engine::set_yield(sys::yield_now);
    let text = variable("FOOTRACE_OPTIONS").unwrap_or_default();
    let options = match Options::parse(&text) {
        Ok(options) => options,
        Err(error) => sys::die(&format!("FOOTRACE_OPTIONS: {error}")),
    };
    modules::find_silent();
    let placement = modules::placement();
    let detector = choose(&options.detector, placement.as_deref());
    let Some(mut analysis) = Analysis::new(detector.analysis, &options) else {
        sys::die(&format!(
            "detector `{}` is not part of this runtime",
            detector.name
        ));
    };
    if !options.record.is_empty() {
        analysis = analysis.recorded(detector.name, &options.record);
    }
    if sys::register_barriers() {
        engine::set_quiesce(registry::wait_until_bracketed);
        engine::sleep::set_beds(engine::sleep::Beds {
            sleep: sys::futex_wait,
            wake: sys::futex_wake_one,
            barrier: sys::barrier_everywhere,
        });
    }
    let runtime = Box::new(Runtime {
        detector,
        analysis,
        options,
    });
    RUNTIME.store(Box::into_raw(runtime), Ordering::Release);
    if let Some(runtime) = thread::runtime() {
        records::prepare(&runtime.options);
    }
    own.depth.store(0, Ordering::Relaxed);
    intercept::threads::first_thread();
    intercept::threads::watch_forks();
    intercept::exit::prepare();
    if thread::runtime().is_some_and(|runtime| runtime.analysis.puts_off()) {
        crate::signal::watch_deaths();
    }
}

/// The detector that the user named, or the one for how the program's checks are placed. Ends the process if there is none.
/// An executable without checks may load libraries with any.
fn choose(name: &str, placement: Option<&str>) -> &'static Detector {
    let built = placement.unwrap_or("all");
    let chosen = if name.is_empty() {
        detectors::default_for(built)
    } else {
        detectors::find(name)
    };
    let Some(detector) = chosen else {
        sys::die(&format!(
            "no detector is made for checks placed as `{built}`; link the program again with -ffootrace=all"
        ));
    };
    if let Some(placement) = placement {
        check_placement(detector, placement);
    }
    detector
}

/// Ends the process if the checks in it are not those that the detector needs.
fn check_placement(detector: &Detector, placement: &str) {
    let needed = detector.placement;
    if placement != needed {
        let others = detectors::names(Some(placement));
        sys::die(&format!(
            "detector `{}` needs checks placed as `{needed}`, but the program was linked with `{placement}`; \
             link it again with -ffootrace={needed}, or choose a detector for `{placement}`: {others}",
            detector.name
        ));
    }
}

/// Every instrumented module calls this before its other constructors.
#[unsafe(no_mangle)]
unsafe extern "C" fn __footrace_init(note: *const c_char) {
    start();
    if tls::context() == 0 {
        tls::begin_context();
    }
    let own = tls::own();
    if note.is_null() || !own.enter() {
        return;
    }
    modules::mark_instrumented(note as usize);
    // SAFETY: the module's note, NUL-terminated.
    let note = unsafe { CStr::from_ptr(note) }.to_string_lossy();
    let field = |key: &str| {
        let mut words = note.split(' ').filter_map(|word| word.split_once('='));
        words.find(|(name, _)| *name == key).map(|(_, value)| value)
    };
    if field("abi") != Some(abi::VERSION.to_string().as_str()) {
        sys::die(&format!(
            "a module was built for another version of footrace (`{note}`, this is abi={}); build it again",
            abi::VERSION
        ));
    }
    // Any analysis is precise on any placement: only a name that the user chose is held to what it says.
    if let (Some(runtime), Some(placement)) = (runtime(), field("placement"))
        && !runtime.options.detector.is_empty()
    {
        check_placement(runtime.detector, placement);
    }
    own.leave();
}

/// Runs `f(argument)` as the program's code on a thread of the program: outside.
pub fn call(f: usize, argument: *mut c_void) -> *mut c_void {
    type Routine = extern "C" fn(*mut c_void) -> *mut c_void;
    // SAFETY: the program gave us a function of this type.
    let f = unsafe { core::mem::transmute::<usize, Routine>(f) };
    let _ = thread::runtime();
    f(argument)
}
