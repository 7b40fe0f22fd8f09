//! The files of a link: what has to be replaced before lld sees it.
//!
//! | input | what lld gets |
//! |---|---|
//! | an rlib of the Rust toolchain | an archive of its bitcode, from the cache ([`crate::std_bitcode`]) |
//! | an object or archive with ThinLTO modules (rustc makes those) | a copy for full LTO ([`crate::bitcode`]) |
//! | anything else | itself |
//!
//! A copy of an archive lies beside it and is used again until the archive changes; copies of objects are
//! deleted after the link.
use crate::bitcode::{make_full, may_hold_bitcode};
use crate::std_bitcode;
use crate::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Goes through the arguments of a link; owns the copies.
#[derive(Debug)]
pub struct Inputs {
    verbose: bool,
    directory: Option<PathBuf>,
    count: usize,
}

impl Drop for Inputs {
    fn drop(&mut self) {
        if let Some(directory) = &self.directory {
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

/// What a file begins with.
fn start_of(path: &Path) -> Option<[u8; 18]> {
    let mut start = [0u8; 18];
    let mut file = std::fs::File::open(path).ok()?;
    file.read_exact(&mut start).ok()?;
    Some(start)
}

/// An object file of machine code. Bytes 16 and 17 of an ELF file are its type: 1 is an object file.
fn is_machine_code(start: &[u8]) -> bool {
    start.starts_with(b"\x7fELF") && start.get(16) == Some(&1)
}

impl Inputs {
    /// `verbose`: say which inputs are not checked.
    pub fn new(verbose: bool) -> Inputs {
        Inputs {
            verbose,
            directory: None,
            count: 0,
        }
    }

    /// No copy has to be deleted after the link.
    pub fn is_untouched(&self) -> bool {
        self.directory.is_none()
    }

    /// The arguments with files replaced.
    pub fn prepare(&mut self, arguments: Vec<OsString>) -> Result<Vec<OsString>> {
        let mut search = Vec::new();
        let mut result = Vec::with_capacity(arguments.len());
        let mut value_of: Option<OsString> = None;
        for argument in arguments {
            let text = argument.to_str().unwrap_or_default();
            if let Some(flag) = value_of.take() {
                if flag == "-L" {
                    search.push(PathBuf::from(&argument));
                }
                result.push(argument);
                continue;
            }
            if let Some(directory) = text.strip_prefix("-L").filter(|rest| !rest.is_empty()) {
                search.push(PathBuf::from(directory));
            }
            let library = text.strip_prefix("-l").filter(|name| !name.is_empty());
            if let Some(path) = library.and_then(|name| static_library(name, &search)) {
                // Only if it has to be replaced: lld's own search stays in charge otherwise.
                let replaced = self.file(&path)?;
                result.push(if replaced == path {
                    argument
                } else {
                    replaced.into()
                });
            } else if text.starts_with('-') {
                if [
                    "-L",
                    "-o",
                    "-soname",
                    "-h",
                    "-T",
                    "-m",
                    "-z",
                    "-rpath",
                    "-dynamic-linker",
                ]
                .contains(&text)
                {
                    value_of = Some(argument.clone());
                }
                result.push(argument);
            } else {
                result.push(self.file(Path::new(&argument))?.into());
            }
        }
        Ok(result)
    }

    fn file(&mut self, path: &Path) -> Result<PathBuf> {
        if std_bitcode::is_toolchain_library(path) {
            return std_bitcode::cached(path);
        }
        let Some(start) = start_of(path) else {
            return Ok(path.to_path_buf());
        };
        if self.verbose && is_machine_code(&start) {
            eprintln!(
                "footrace-ld: note: {} is machine code: its accesses are not checked",
                path.display()
            );
        }
        if !may_hold_bitcode(&start) {
            return Ok(path.to_path_buf());
        }
        let is_archive = start.starts_with(b"!");
        let beside = copy_beside(path);
        if is_archive && is_fresh(&beside, path) {
            return Ok(beside);
        }
        let mut bytes = std::fs::read(path).map_err(|error| Error::file("read", path, &error))?;
        if make_full(&path.to_string_lossy(), &mut bytes)? == 0 {
            return Ok(path.to_path_buf());
        }
        if is_archive && write_beside(&beside, &bytes).is_some() {
            return Ok(beside);
        }
        let copy = self.place(path)?;
        std::fs::write(&copy, bytes).map_err(|error| Error::file("write", &copy, &error))?;
        Ok(copy)
    }

    /// A name for a copy that lives as long as the link. Names of inputs appear in lld's messages, so they stay.
    fn place(&mut self, original: &Path) -> Result<PathBuf> {
        let root = match &self.directory {
            Some(root) => root.clone(),
            None => {
                let root = std::env::temp_dir().join(format!("footrace-ld-{}", std::process::id()));
                self.directory.insert(root).clone()
            }
        };
        self.count += 1;
        let directory = root.join(self.count.to_string());
        std::fs::create_dir_all(&directory)
            .map_err(|error| Error::file("create", &directory, &error))?;
        Ok(directory.join(original.file_name().unwrap_or(OsStr::new("input"))))
    }
}

/// The archive that `-lname` means, if no shared library comes first.
fn static_library(name: &str, search: &[PathBuf]) -> Option<PathBuf> {
    let exact = name.strip_prefix(':');
    for directory in search {
        if let Some(exact) = exact {
            let path = directory.join(exact);
            if path.is_file() {
                return Some(path).filter(|path| path.extension() == Some(OsStr::new("a")));
            }
            continue;
        }
        if directory.join(format!("lib{name}.so")).exists() {
            return None;
        }
        let archive = directory.join(format!("lib{name}.a"));
        if archive.is_file() {
            return Some(archive);
        }
    }
    None
}

fn copy_beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".full");
    path.with_file_name(name)
}

/// The copy was made after the last change of the original.
fn is_fresh(copy: &Path, original: &Path) -> bool {
    let changed = |path: &Path| {
        std::fs::metadata(path)
            .and_then(|facts| facts.modified())
            .ok()
    };
    changed(copy)
        .zip(changed(original))
        .is_some_and(|(copy, original)| copy > original)
}

/// Whole or not at all; `None` if the directory cannot be written to.
fn write_beside(copy: &Path, bytes: &[u8]) -> Option<()> {
    let fresh = copy.with_extension(format!("{}", std::process::id()));
    std::fs::write(&fresh, bytes).ok()?;
    std::fs::rename(&fresh, copy).ok()
}
