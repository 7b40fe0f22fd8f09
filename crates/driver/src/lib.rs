//! The wrappers around other people's compilers, linkers and cargo.
//!
//! # Who calls whom
//!
//! ```text
//! make, cmake, …  → footrace-cc, footrace-c++ → clang-22 → footrace-ld → ld.lld-22 + plugin + runtime
//! cargo footrace  → cargo → rustc → footrace-cc → clang-22 → footrace-ld → the same
//!                         → build scripts → footrace-cc, footrace-c++
//! ```
//!
//! Compilers make bitcode; everything of ours happens in the link ([`ld`]). Tools find each other and the
//! files they need beside their own executable ([`layout`]): `bin/` and `lib/` of one directory, no
//! installation, no settings.
#![forbid(unsafe_code)]

pub mod arguments;
pub mod bitcode;
pub mod cargo;
pub mod cc;
pub mod environment;
mod error;
pub mod flags;
pub mod inputs;
pub mod layout;
pub mod ld;
mod lock;
pub mod settings;
pub mod std_bitcode;
pub mod tools;

pub use error::{Error, Result};

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// Becomes the command. Returns only if that fails.
pub(crate) fn exec(mut command: Command) -> Error {
    let program = command.get_program().to_string_lossy().into_owned();
    let error = command.exec();
    Error::new(format!("cannot run {program}: {error}"))
}

/// Runs the command to its end and passes its exit code on.
pub(crate) fn wait(mut command: Command) -> Result<ExitCode> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .map_err(|error| Error::new(format!("cannot run {program}: {error}")))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

/// The body of every `main`: prints an error with its way out, gives the exit code.
pub fn finish(tool: &str, result: Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("{tool}: error: {error}");
        ExitCode::from(2)
    })
}
