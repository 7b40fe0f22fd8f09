//! Blocks of the heap: who gives and who takes them.
//!
//! Only allocators that the runtime watches are known here: libc's, C++'s and Rust's, as long as the program brings none of
//! its own. The blocks of another one may have been somebody's before, and nobody but its own code says so.
use crate::llvm::{Module, Value};

/// The allocators of a module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heap {
    /// Rust's allocator is the system's: there is no `#[global_allocator]`.
    rust_is_system: bool,
}

/// What a call does to blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Block {
    /// The result is a new one.
    Given,
    /// The first argument is gone, and the result is in its place.
    Moved,
    /// The first argument is gone.
    Taken,
}

const GIVE: &str = "malloc calloc aligned_alloc memalign valloc _Znwm _Znam _ZnwmSt11align_val_t _ZnamSt11align_val_t \
    _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t";

const TAKE: &str = "free cfree _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t \
    _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t";

impl Heap {
    pub(crate) fn new(module: Module) -> Heap {
        let is_own = |function: &Value| function.name().ends_with("__rg_alloc");
        Heap {
            rust_is_system: !module.functions().iter().any(is_own),
        }
    }

    /// What the call does, if it calls an allocator.
    pub(crate) fn block(self, call: Value) -> Option<Block> {
        let callee = call.callee().filter(|callee| callee.is_function())?;
        let name = callee.name();
        if let Some(name) = rust(&name) {
            return match name {
                _ if !self.rust_is_system => None,
                "alloc" | "alloc_zeroed" => Some(Block::Given),
                "realloc" => Some(Block::Moved),
                "dealloc" => Some(Block::Taken),
                _ => None,
            };
        }
        if !callee.is_declaration() {
            return None;
        }
        let listed = |names: &str| names.split_whitespace().any(|known| known == name);
        if name == "realloc" {
            Some(Block::Moved)
        } else if listed(GIVE) {
            Some(Block::Given)
        } else if listed(TAKE) {
            Some(Block::Taken)
        } else {
            None
        }
    }
}

/// `alloc` of `__rust_alloc`, which rustc writes into each program, and so on; older compilers do not mangle it.
fn rust(name: &str) -> Option<&str> {
    let (crate_of, name) = name.rsplit_once("__rust_")?;
    (crate_of.is_empty() || crate_of.contains("7___rustc")).then_some(name)
}
