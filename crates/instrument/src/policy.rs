//! How much of a function is instrumented.
use crate::llvm::{Linkage, Module, Value};

/// How much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    /// Everything.
    Full,
    /// Atomic operations and fences: what others synchronise with. No plain accesses.
    Synchronisation,
    /// Nothing.
    Nothing,
}

/// The policies of a module.
#[derive(Debug)]
pub(crate) struct Policies {
    /// They run while the loader works, before there is a runtime.
    resolvers: Vec<Value>,
}

impl Policies {
    pub(crate) fn new(module: Module) -> Policies {
        Policies {
            resolvers: module.ifunc_resolvers(),
        }
    }

    /// What prints backtraces was optimised with std and runs rarely: to do it again, with the best code generator, would take nearly half of
    /// a small program's link.
    pub(crate) fn leave_as_compiled(&self, module: Module, function: Value) {
        for attribute in ["alwaysinline", "inlinehint", "minsize", "optsize"] {
            function.remove_attribute(attribute);
        }
        for name in ["noinline", "optnone"] {
            if let Some(attribute) = module.context().attribute(name, 0) {
                function.add_attribute(attribute);
            }
        }
    }

    /// The policy for a function that has a body.
    pub(crate) fn of(&self, function: Value) -> Policy {
        let name = function.name();
        if function.has_attribute("naked")
            || function.has_attribute("disable_sanitizer_instrumentation")
            || function.linkage() == Linkage::LLVMAvailableExternallyLinkage
            || name.starts_with(crate::PREFIX)
            || self.resolvers.contains(&function)
        {
            Policy::Nothing
        } else if is_std_symboliser(&name) {
            Policy::Synchronisation
        } else {
            Policy::Full
        }
    }
}

/// The part of Rust's std that prints backtraces: half of the code of a small program. It runs under a lock of
/// its own, on data of its own. Its names: those of std's module for it, and those of its
/// libraries' generic functions in the copy that std made (the last crate in a mangled name is the one that made the copy).
fn is_std_symboliser(name: &str) -> bool {
    let libraries = [
        "_5gimli",
        "_9addr2line",
        "_11miniz_oxide",
        "_6object",
        "_14rustc_demangle",
    ];
    name.starts_with("_R")
        && (name.contains("_3std12backtrace_rs")
            || name.ends_with("_3std") && libraries.iter().any(|library| name.contains(library)))
}
