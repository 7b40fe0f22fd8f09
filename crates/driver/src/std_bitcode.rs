//! Rust's standard library as bitcode.
//!
//! The rlibs of a toolchain hold machine code, and beside it the bitcode it was made from, in the
//! section `.llvmbc`. In the link we put an archive of that bitcode in the place of each rlib, so std is analysed and instrumented like
//! any other code. The archives are made once for each toolchain and kept in the user's cache.
use crate::lock::Lock;
use crate::tools::Tool;
use crate::{Error, Result};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

const SECTION: &str = ".llvmbc";

/// Bumped when what is cached changes.
const FORMAT: u32 = 2;

/// Libraries that stay machine code. The code generator calls `compiler_builtins` for what it cannot do inline,
/// after the link has settled who is needed. The others print backtraces, under a lock and on data of their own;
/// they would double the time of a small program's link.
const AS_THEY_ARE: &[&str] = &[
    "compiler_builtins",
    "addr2line",
    "adler2",
    "gimli",
    "miniz_oxide",
    "object",
    "rustc_demangle",
];

/// An rlib that came with the compiler and is replaced.
pub fn is_toolchain_library(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let in_rustlib = path
        .components()
        .any(|part| part == Component::Normal("rustlib".as_ref()));
    let replaced = name
        .strip_prefix("lib")
        .and_then(|name| name.strip_suffix(".rlib"))
        .and_then(|name| name.split('-').next())
        .is_some_and(|name| !AS_THEY_ARE.contains(&name));
    in_rustlib && replaced
}

/// The user's cache directory for us.
fn cache_directory() -> Result<PathBuf> {
    let base = std::env::var_os("FOOTRACE_CACHE")
        .map(PathBuf::from)
        .or_else(|| {
            std::env::var_os("XDG_CACHE_HOME").map(|base| PathBuf::from(base).join("footrace"))
        })
        .or_else(|| {
            std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/footrace"))
        })
        .ok_or_else(|| {
            Error::new(
                "no place for the cache of Rust's std: set FOOTRACE_CACHE, XDG_CACHE_HOME or HOME",
            )
        })?;
    std::fs::create_dir_all(&base).map_err(|error| Error::file("create", &base, &error))?;
    Ok(base)
}

/// A name for this very file: its path, its size and when it was changed.
fn key(path: &Path) -> Result<u64> {
    let facts = std::fs::metadata(path).map_err(|error| Error::file("read", path, &error))?;
    let mut hasher = DefaultHasher::new();
    (FORMAT, path, facts.len(), facts.modified().ok()).hash(&mut hasher);
    Ok(hasher.finish())
}

/// The archive of bitcode that stands for the rlib. Makes it if needed.
pub fn cached(library: &Path) -> Result<PathBuf> {
    let stem = library
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or("lib");
    let directory = cache_directory()?;
    let archive = directory.join(format!("{stem}-{:016x}.a", key(library)?));
    if archive.exists() {
        return Ok(archive);
    }
    let _lock = Lock::take(&directory.join("lock"))?;
    if !archive.exists() {
        extract(library, &archive)?;
    }
    Ok(archive)
}

/// Writes the archive under another name and renames it, so that it is there whole or not at all.
fn extract(library: &Path, archive: &Path) -> Result<()> {
    let bytes = std::fs::read(library).map_err(|error| Error::file("read", library, &error))?;
    let broken = |what: &str| {
        Error::new(format!(
            "{}: {what}; is the toolchain complete? `rustup toolchain install` mends it",
            library.display()
        ))
    };
    let work = archive.with_extension(format!("{}.tmp", std::process::id()));
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work).map_err(|error| Error::file("create", &work, &error))?;
    let mut members = Vec::new();
    let contents =
        ArchiveFile::parse(bytes.as_slice()).map_err(|error| broken(&error.to_string()))?;
    for member in contents.members() {
        let member = member.map_err(|error| broken(&error.to_string()))?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        if name.ends_with(".rmeta") {
            continue;
        }
        let data = member
            .data(bytes.as_slice())
            .map_err(|error| broken(&error.to_string()))?;
        let bitcode = object::File::parse(data)
            .ok()
            .and_then(|file| file.section_by_name(SECTION)?.data().ok())
            .filter(|bitcode| bitcode.starts_with(b"BC"));
        let path = work.join(&name);
        // What has no bitcode (assembly, C) stays as it is.
        let mut content = bitcode.unwrap_or(data).to_vec();
        crate::bitcode::make_full(&name, &mut content)?;
        std::fs::write(&path, content).map_err(|error| Error::file("write", &path, &error))?;
        members.push(path);
    }
    let made = work.join("made.a");
    let mut command = Command::new(Tool::Ar.find()?);
    command.arg("crs").arg(&made).args(&members);
    let output = command
        .output()
        .map_err(|error| Error::new(format!("cannot run llvm-ar-22: {error}")))?;
    if !output.status.success() {
        return Err(broken(&String::from_utf8_lossy(&output.stderr)));
    }
    std::fs::rename(&made, archive).map_err(|error| Error::file("write", archive, &error))?;
    let _ = std::fs::remove_dir_all(&work);
    Ok(())
}
