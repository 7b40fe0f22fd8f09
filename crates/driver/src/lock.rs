//! One process at a time.
use crate::{Error, Result};
use std::fs::File;
use std::path::Path;

/// Holds a file's lock until dropped; the system lets go of it if the process dies.
#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code, reason = "held, never read")] File);

impl Lock {
    pub(crate) fn take(path: &Path) -> Result<Lock> {
        let file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .map_err(|error| Error::file("open", path, &error))?;
        file.lock()
            .map_err(|error| Error::file("lock", path, &error))?;
        Ok(Lock(file))
    }
}
