//! What the user can choose at link time, by flag or by environment variable. A flag wins.
use crate::layout::Layout;
use crate::{Error, Result};
use std::env;
use std::path::PathBuf;

/// Names of the environment variables, for the tools and for the plugin.
pub const PLACEMENT: &str = "FOOTRACE_PLACEMENT";
/// The placement of checks if nobody chooses one.
pub const DEFAULT_PLACEMENT: &str = "bigfoot";

/// The placement that the environment asks for, or the default.
pub fn placement() -> String {
    let chosen = env::var(PLACEMENT).unwrap_or_default();
    if chosen.is_empty() {
        DEFAULT_PLACEMENT.to_owned()
    } else {
        chosen
    }
}

/// Is a variable there, and not 0?
pub fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value != "0")
}

/// Prints what the pass did.
pub const STATS: &str = "FOOTRACE_STATS";
/// Set: the program counts its accesses and checks.
pub const COUNT: &str = "FOOTRACE_COUNT";
/// Set, and not 0: the program tells of its accesses besides its checks.
pub const WITNESS: &str = "FOOTRACE_WITNESS";
/// `null`, or the path of a runtime.
pub const RUNTIME: &str = "FOOTRACE_RUNTIME";
/// The plugin reads the path of the hot checks here.
pub const HOT: &str = "FOOTRACE_HOT";

/// Set: LLVM checks its own work at each step. For tests of the pass.
pub const VERIFY: &str = "FOOTRACE_VERIFY";

/// The runtime that is linked in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Runtime {
    /// The real one.
    Footrace,
    /// Empty callbacks, to price the instrumentation.
    Null,
    /// Another file.
    File(PathBuf),
}

impl Runtime {
    /// Reads the value of `--footrace-runtime=` or of the variable.
    pub fn parse(text: &str) -> Runtime {
        match text {
            "" | "footrace" => Runtime::Footrace,
            "null" => Runtime::Null,
            path => Runtime::File(path.into()),
        }
    }

    /// The runtime that the environment asks for.
    pub fn from_environment() -> Runtime {
        Runtime::parse(&env::var(RUNTIME).unwrap_or_default())
    }

    /// The file to link.
    pub fn file(&self, layout: &Layout) -> Result<PathBuf> {
        match self {
            Runtime::Footrace => layout.existing(layout.library("footrace_rt.o")),
            Runtime::Null => layout.existing(layout.library("libfootrace_null.a")),
            Runtime::File(path) if path.exists() => Ok(path.clone()),
            Runtime::File(path) => Err(Error::new(format!(
                "the runtime {} does not exist; {RUNTIME} is `null` or the path of a runtime",
                path.display()
            ))),
        }
    }

    /// The functions that the runtime defines in place of libc's, as a list for `--dynamic-list`.
    pub fn symbols(&self, layout: &Layout) -> Option<PathBuf> {
        let path = layout.library("footrace_rt.syms");
        (*self == Runtime::Footrace && path.exists()).then_some(path)
    }

    /// Bitcode of the checks that are inlined, if this runtime has some.
    pub fn hot(&self, layout: &Layout) -> Option<PathBuf> {
        let path = layout.library("footrace_hot.bc");
        (*self == Runtime::Footrace && path.exists()).then_some(path)
    }
}
