//! Where our own files are: beside the executable that runs.
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The directory with `bin/` and `lib/`.
#[derive(Clone, Debug)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout that the running executable belongs to.
    pub fn find() -> Result<Layout> {
        let executable = std::env::current_exe()
            .map_err(|error| Error::new(format!("cannot tell where this tool is: {error}")))?;
        let root = executable
            .parent()
            .and_then(Path::parent)
            .ok_or_else(|| Error::new("this tool has to be in a directory `bin`"))?;
        Ok(Layout {
            root: root.to_path_buf(),
        })
    }

    /// A layout at a known place.
    pub fn at(root: impl Into<PathBuf>) -> Layout {
        Layout { root: root.into() }
    }

    /// One of our executables.
    pub fn tool(&self, name: &str) -> Result<PathBuf> {
        self.existing(self.root.join("bin").join(name))
    }

    /// The pass plugin.
    pub fn plugin(&self) -> Result<PathBuf> {
        self.existing(self.library("libfootrace_instrument.so"))
    }

    /// The runtime as a shared library.
    pub fn runtime_library(&self) -> Result<PathBuf> {
        self.existing(self.library("libfootrace_rt.so"))
    }

    /// The directory of `footrace.h`.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// A file of `lib/`, whether it is there or not.
    pub fn library(&self, name: &str) -> PathBuf {
        self.root.join("lib").join(name)
    }

    /// A file that has to be there.
    pub(crate) fn existing(&self, path: PathBuf) -> Result<PathBuf> {
        if path.exists() {
            Ok(path)
        } else {
            Err(Error::new(format!(
                "{} is missing: build it with `cargo xtask dist` and run the tools from target/dist/bin",
                path.display()
            )))
        }
    }
}
