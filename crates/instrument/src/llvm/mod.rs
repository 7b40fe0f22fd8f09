//! The LLVM boundary: small copyable handles with safe methods. All of the crate's `unsafe` is here
//! and in the two entry points of `lib.rs`.
//!
//! A handle is a pointer into the module that LLVM handed to the pass. It stays good while the pass
//! runs, because the pass never deletes a value that it still holds a handle of. Methods that make sense for one kind of value only
//! ask LLVM for the kind first and answer `None`, or say so and are called after such a question.
//!
//! Why not a ready-made safe layer: those model the values a front end creates and panic on what a
//! whole program contains besides (tokens, metadata operands, target types). A pass sees all of it.
#![allow(unsafe_code)]

/// One call into LLVM.
macro_rules! llvm {
    ($function:path, $($argument:expr),* $(,)?) => {
        // SAFETY: every handle points into the live module (see the module comment of `llvm`), and
        // the surrounding method has made sure that the value is of the kind the function wants.
        unsafe { $function($($argument),*) }
    };
}

mod builder;
mod flow;
mod location;
mod module;
mod types;
mod value;

pub(crate) use builder::Builder;
pub(crate) use flow::Predicate;
pub(crate) use location::Location;
pub(crate) use module::{Attribute, Context, Module};
pub(crate) use types::Type;
pub(crate) use value::{Block, Value};

pub(crate) use llvm_sys::{
    LLVMAtomicOrdering as Ordering, LLVMLinkage as Linkage, LLVMOpcode as Opcode,
    LLVMTypeKind as TypeKind,
};

/// LLVM's NUL-terminated or sized strings, copied; invalid UTF-8 is replaced.
fn text(start: *const std::ffi::c_char, length: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: LLVM returns `length` readable bytes at `start`, owned by the module.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}
