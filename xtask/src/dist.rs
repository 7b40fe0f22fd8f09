//! `cargo xtask dist`: builds everything a user needs into `target/dist`, with `bin/` and `lib/`, from
//! which it runs without installation.
use crate::cargo::{self, workspace};
use std::path::{Path, PathBuf};

/// Executables: package, file in the target directory, name in `bin/`.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("footrace-driver", "footrace-cc", "footrace-cc"),
    ("footrace-driver", "footrace-cc", "footrace-c++"),
    ("footrace-driver", "footrace-cc", "llvm-ar"),
    ("footrace-driver", "footrace-cc", "llvm-ranlib"),
    ("footrace-driver", "footrace-cc", "llvm-nm"),
    ("footrace-driver", "footrace-ld", "footrace-ld"),
    ("footrace-driver", "cargo-footrace", "cargo-footrace"),
    ("footrace-cli", "footrace", "footrace"),
];

/// Libraries: package, file in the target directory, name in `lib/`.
const LIBRARIES: &[(&str, &str, &str)] = &[
    (
        "footrace-instrument",
        "libfootrace_instrument.so",
        "libfootrace_instrument.so",
    ),
    (
        "footrace-runtime-null",
        "libfootrace_null.rlib",
        "libfootrace_null.a",
    ),
];

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    // A running tool cannot be written to, but it can be replaced.
    let fresh = to.with_extension("new");
    std::fs::copy(from, &fresh)
        .and_then(|_| std::fs::rename(&fresh, to))
        .map_err(|error| {
            format!(
                "cannot copy {} to {}: {error}",
                from.display(),
                to.display()
            )
        })
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// Builds the runtime again, where all else is.
pub(crate) fn runtime() -> Result<(), String> {
    let target = target();
    crate::image::build(&workspace(), &target, &target.join("dist/lib"))
}

/// Builds and copies; returns the directory.
pub(crate) fn dist() -> Result<PathBuf, String> {
    let workspace = workspace();
    let target = target();
    let root = target.join("dist");
    for part in ["bin", "lib", "include"] {
        let directory = root.join(part);
        std::fs::create_dir_all(&directory)
            .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
    }
    let packages = PROGRAMS
        .iter()
        .chain(LIBRARIES)
        .map(|(package, _, _)| *package);
    let mut build = cargo::command(&["build", "--release"]);
    for package in packages {
        build.args(["--package", package]);
    }
    cargo::check(&mut build)?;
    let built = target.join("release");
    for (_, file, name) in PROGRAMS {
        copy(&built.join(file), &root.join("bin").join(name))?;
    }
    for (_, file, name) in LIBRARIES {
        copy(&built.join(file), &root.join("lib").join(name))?;
    }
    copy(
        &workspace.join("crates/runtime/include/footrace.h"),
        &root.join("include/footrace.h"),
    )?;
    crate::image::build(&workspace, &target, &root.join("lib"))?;
    crate::image::build_hot(&workspace, &root.join("lib"))?;
    Ok(root)
}
