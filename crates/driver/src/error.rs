//! Errors as the user reads them: what, where, what next.
use std::fmt;
use std::path::Path;

/// A message for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error(String);

/// What the functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with a message that says what to do next.
    pub fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }

    /// An operation on a file that failed.
    pub(crate) fn file(what: &str, path: &Path, error: &std::io::Error) -> Error {
        Error(format!("cannot {what} {}: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
