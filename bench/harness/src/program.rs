//! The benchmark programs, found in their folders.

use crate::column::Column;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Built plain or with its seeded race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Variant {
    Clean,
    Seeded,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Language {
    C,
    Rust,
}

/// One program in one language.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// `sor` or `sor.rs`.
    pub(crate) name: String,
    short: String,
    language: Language,
}

/// Folders that everybody needs.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) repository: PathBuf,
    pub(crate) bin: PathBuf,
    pub(crate) scratch: PathBuf,
}

impl Program {
    /// Every program below `bench/programs`, C first.
    pub(crate) fn all(places: &Places) -> Result<Vec<Program>, String> {
        let folder = places.repository.join("bench/programs");
        let names = |path: &Path| -> Result<Vec<PathBuf>, String> {
            let entries =
                std::fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
            let mut paths: Vec<_> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
            paths.sort();
            Ok(paths)
        };
        let stem = |path: &Path| {
            path.file_stem()
                .map(|s| s.to_string_lossy().into_owned())
                .unwrap_or_default()
        };
        let mut programs = Vec::new();
        for path in names(&folder.join("c"))? {
            if path.extension().is_some_and(|e| e == "c") {
                programs.push(Program {
                    name: stem(&path),
                    short: stem(&path),
                    language: Language::C,
                });
            }
        }
        for path in names(&folder.join("rust"))? {
            if path.join("src/main.rs").is_file() {
                programs.push(Program {
                    name: format!("{}.rs", stem(&path)),
                    short: stem(&path),
                    language: Language::Rust,
                });
            }
        }
        Ok(programs)
    }

    /// A size at which a seeded race shows in a moment.
    pub(crate) fn small_size(&self) -> &'static str {
        match self.short.as_str() {
            "crypt" => "16000",
            "series" | "lufact" | "sor" | "raytracer" => "40",
            "moldyn" => "3",
            "montecarlo" => "200",
            "barriers" | "pingpong" => "500",
            "btree" => "1000",
            _ => "20000",
        }
    }

    /// The command that builds, and the file it makes; or why this column is not possible.
    pub(crate) fn build(
        &self,
        column: &Column,
        variant: Variant,
        places: &Places,
    ) -> Result<(Command, PathBuf), String> {
        let suffix = match variant {
            Variant::Clean => "",
            Variant::Seeded => "-seeded",
        };
        let folder = places
            .scratch
            .join(format!("{}{suffix}", column.build_key()));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        match self.language {
            Language::C => Ok(self.build_c(column, variant, places, &folder)),
            Language::Rust => self.build_rust(column, variant, places, &folder),
        }
    }

    fn build_c(
        &self,
        column: &Column,
        variant: Variant,
        places: &Places,
        folder: &Path,
    ) -> (Command, PathBuf) {
        let executable = folder.join(&self.short);
        let mut command = match column.placement() {
            Some(placement) => {
                let mut command = Command::new(places.bin.join("footrace-cc"));
                command.arg(format!("-ffootrace={placement}"));
                command
            }
            None => Command::new("clang-22"),
        };
        match column {
            Column::Null => {
                command.env("FOOTRACE_RUNTIME", "null");
            }
            Column::Tsan => {
                command.arg("-fsanitize=thread");
            }
            Column::Helgrind | Column::Drd => {
                command.arg("-gdwarf-4");
            }
            Column::Plain | Column::Detector(_) => {}
        }
        if variant == Variant::Seeded {
            command.arg("-DSEEDED_RACE");
        }
        let source = format!("bench/programs/c/{}.c", self.short);
        command
            .args(["-O2", "-g", "-pthread"])
            .arg(places.repository.join(source))
            .arg("-o")
            .arg(&executable)
            .arg("-lm");
        (command, executable)
    }

    fn build_rust(
        &self,
        column: &Column,
        variant: Variant,
        places: &Places,
        folder: &Path,
    ) -> Result<(Command, PathBuf), String> {
        let mut command = match column {
            Column::Plain => {
                let mut command = Command::new("cargo");
                command.arg("build");
                command
            }
            Column::Helgrind | Column::Drd => {
                let mut command = Command::new("cargo");
                command
                    .arg("build")
                    .env("RUSTFLAGS", "-C link-arg=-Wl,--build-id");
                command.env("CARGO_PROFILE_RELEASE_DEBUG", "false");
                command
            }
            Column::Tsan => {
                return Err("Rust's installed std is not instrumented for ThreadSanitizer".into());
            }
            Column::Null | Column::Detector(_) => {
                let mut command = Command::new(places.bin.join("cargo-footrace"));
                command.args(["footrace", "build"]);
                if let Some(placement) = column.placement() {
                    command.arg(format!("-ffootrace={placement}"));
                }
                if *column == Column::Null {
                    command.env("FOOTRACE_RUNTIME", "null");
                }
                command
            }
        };
        command
            .args(["--release", "--package", &self.short, "--manifest-path"])
            .arg(places.repository.join("bench/programs/rust/Cargo.toml"))
            .arg("--target-dir")
            .arg(folder.join("rust"));
        if variant == Variant::Seeded {
            command.args(["--features", "seeded_race"]);
        }
        let target = folder.join("rust");
        let executable = match column {
            Column::Null | Column::Detector(_) => target
                .join("x86_64-unknown-linux-gnu/release")
                .join(&self.short),
            _ => target.join("release").join(&self.short),
        };
        Ok((command, executable))
    }
}

/// The command that runs an executable in a column.
pub(crate) fn run_command(column: &Column, executable: &Path, arguments: &[String]) -> Command {
    let mut command = match column {
        Column::Helgrind | Column::Drd => {
            let mut command = Command::new("valgrind");
            let tool = if *column == Column::Drd {
                "drd"
            } else {
                "helgrind"
            };
            command
                .arg(format!("--tool={tool}"))
                .args(["--quiet", "--error-exitcode=66"])
                .arg(executable);
            command
        }
        _ => Command::new(executable),
    };
    match column {
        Column::Detector(name) => {
            command.env("FOOTRACE_OPTIONS", format!("detector={name}"));
        }
        Column::Tsan => {
            command.env("TSAN_OPTIONS", "atexit_sleep_ms=0");
        }
        _ => {}
    }
    command.args(arguments);
    command
}
