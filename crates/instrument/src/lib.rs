//! The pass plugin of Footrace. lld loads it into full link-time optimisation, where it sees the whole
//! program as one module, three times:
//!
//! | when | what | where |
//! |---|---|---|
//! | before optimisation | checks, before each access ([`early`]) or where placement wants them ([`bigfoot`]); brackets around atomics, note and constructor | [`early`] |
//! | after optimisation | quick paths of the checks, inlined | [`hot`] |
//! | at the end | updates of the calling-context hash | [`context`] |
//!
//! Settings come from the environment ([`options`]): `FOOTRACE_PLACEMENT`, `FOOTRACE_HOT` (bitcode of the
//! hot checks), `FOOTRACE_STATS`, `FOOTRACE_COUNT`, `FOOTRACE_WITNESS`. For `opt` the passes are called `footrace-early`, `footrace-hot` and `footrace-late`.
#![deny(unsafe_code)]

mod access;
mod address;
mod bigfoot;
mod checks;
mod context;
mod count;
mod early;
mod escape;
mod heap;
mod hot;
mod libatomic;
mod llvm;
mod note;
mod options;
mod places;
mod policy;
mod skip;
mod stats;
mod witness;
mod x86;

use llvm_sys::prelude::LLVMModuleRef;
use std::ffi::{c_char, c_void};

/// What the names of the runtime's functions begin with.
const PREFIX: &str = "__footrace_";

/// What LLVM asks a plugin for, `llvm::PassPluginLibraryInfo`.
#[repr(C)]
#[derive(Debug)]
#[allow(dead_code, reason = "read by LLVM")]
struct PassPluginLibraryInfo {
    api_version: u32,
    name: *const c_char,
    version: *const c_char,
    register: Option<unsafe extern "C" fn(*mut c_void)>,
    before_code_generation: Option<unsafe extern "C" fn()>,
}

/// LLVM 22's `LLVM_PLUGIN_API_VERSION`.
const PLUGIN_API_VERSION: u32 = 2;

#[allow(unsafe_code)]
mod entry {
    use super::{LLVMModuleRef, PLUGIN_API_VERSION, PassPluginLibraryInfo, c_void};
    use crate::llvm::Module;
    use crate::options::{Options, Placement};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    // SAFETY: defined in entry.cpp with this signature; `PassBuilder &` is a pointer.
    unsafe extern "C" {
        fn footrace_register(builder: *mut c_void);
    }

    /// The symbol LLVM looks for in a plugin.
    // SAFETY: the name is LLVM's for exactly this function; nothing else defines it here.
    #[unsafe(no_mangle)]
    extern "C" fn llvmGetPassPluginInfo() -> PassPluginLibraryInfo {
        PassPluginLibraryInfo {
            api_version: PLUGIN_API_VERSION,
            name: c"footrace".as_ptr(),
            version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
            register: Some(footrace_register),
            before_code_generation: None,
        }
    }

    /// An error ends the link: half an instrumented program would miss races silently.
    fn run(module: LLVMModuleRef, pass: fn(Module, &Options) -> Result<(), String>) {
        // SAFETY: LLVM hands a live module to a pass and leaves it alone until the pass returns.
        let module = unsafe { Module::new(module) };
        let result = catch_unwind(AssertUnwindSafe(|| {
            Options::from_environment().and_then(|options| pass(module, &options))
        }));
        let message = match result {
            Ok(Ok(())) => return,
            Ok(Err(message)) => message,
            Err(_) => {
                "the instrumentation failed; please report this with the link command".to_owned()
            }
        };
        eprintln!("footrace: error: {message}");
        std::process::exit(1);
    }

    // SAFETY: called by entry.cpp only, and named for it.
    #[unsafe(no_mangle)]
    extern "C" fn footrace_early(module: LLVMModuleRef) {
        run(module, crate::early::run);
    }

    // SAFETY: called by entry.cpp only, and named for it.
    #[unsafe(no_mangle)]
    extern "C" fn footrace_late(module: LLVMModuleRef) {
        run(module, crate::context::run);
    }

    // SAFETY: called by entry.cpp only, and named for it.
    #[unsafe(no_mangle)]
    extern "C" fn footrace_hot(module: LLVMModuleRef) {
        run(module, crate::hot::run);
    }

    // SAFETY: called by entry.cpp only, and named for it.
    #[unsafe(no_mangle)]
    extern "C" fn footrace_has_hot() -> bool {
        Options::from_environment().is_ok_and(|options| options.hot.is_some())
    }

    // SAFETY: called by entry.cpp only, and named for it.
    #[unsafe(no_mangle)]
    extern "C" fn footrace_moves_checks() -> bool {
        Options::from_environment().is_ok_and(|options| options.placement != Placement::All)
    }

    // SAFETY: called by entry.cpp only, and named for it.
    #[unsafe(no_mangle)]
    extern "C" fn footrace_defers_checks() -> bool {
        Options::from_environment().is_ok_and(|options| options.placement == Placement::BigFoot)
    }

    // SAFETY: called by entry.cpp only, and named for it.
    #[unsafe(no_mangle)]
    extern "C" fn footrace_thin(module: LLVMModuleRef) {
        run(module, |module, _| {
            Err(format!(
                "{} was compiled for ThinLTO and cannot be checked with the rest of the program; \
                 compile it with footrace-cc, or link with footrace-ld",
                module.name()
            ))
        });
    }
}
