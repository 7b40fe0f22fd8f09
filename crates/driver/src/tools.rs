//! The tools of LLVM 22 that we call.
use crate::{Error, Result};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// A tool, and the Debian package it comes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Tool {
    Clang,
    ClangXx,
    Lld,
    Ar,
    Ranlib,
    Nm,
}

impl Tool {
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Tool::Clang => ("clang", "clang-22"),
            Tool::ClangXx => ("clang++", "clang-22"),
            Tool::Lld => ("ld.lld", "lld-22"),
            Tool::Ar => ("llvm-ar", "llvm-22"),
            Tool::Ranlib => ("llvm-ranlib", "llvm-22"),
            Tool::Nm => ("llvm-nm", "llvm-22"),
        }
    }

    /// The tool's path: `clang-22` in `PATH`, else `clang` of Debian's directory for LLVM 22.
    pub fn find(self) -> Result<PathBuf> {
        let (name, package) = self.names();
        let versioned = format!("{name}-22");
        let search = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&search)
            .map(|directory| directory.join(&versioned))
            .chain([PathBuf::from("/usr/lib/llvm-22/bin").join(name)])
            .find(|path| path.is_file())
            .ok_or_else(|| {
                Error::new(format!(
                    "{versioned} is not installed; get it with: apt-get install {package}"
                ))
            })
    }
}

/// Replaces this process by the tool. Returns only if that fails.
pub fn become_tool(tool: Tool, arguments: Vec<OsString>) -> Result<ExitCode> {
    let mut command = Command::new(tool.find()?);
    command.args(arguments);
    Err(crate::exec(command))
}
