//! The programs: those below `bench/programs`, found in their folders, and the real ones.

use crate::column::{Column, Kind, Variant};
use crate::real::{self, Real};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders that everybody needs.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) repository: PathBuf,
    /// Footrace's tools.
    pub(crate) bin: PathBuf,
    pub(crate) scratch: PathBuf,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    C,
    Rust,
    Real(&'static Real),
}

/// One program in one language.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// `sor`, `sor.rs`, `pigz`.
    pub(crate) name: String,
    short: String,
    source: Source,
}

/// How a run's result is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Check {
    /// The program does it: it prints a checksum and ends with 0.
    Checksum,
    /// Standard output is that of the plain program.
    SameOutput,
    /// The same, but lines may come in any order.
    SameLines,
}

/// What a program is run with.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// What starts the program, such as a client; empty for most.
    pub(crate) wrapper: Vec<String>,
    pub(crate) arguments: Vec<String>,
    pub(crate) check: Check,
}

/// How to build something.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) command: Command,
    pub(crate) executable: PathBuf,
    /// Recipes with the same folder must not run at the same time.
    pub(crate) folder: PathBuf,
    /// What is enough where another recipe of the folder was followed: a link.
    pub(crate) link: Option<Command>,
    /// Takes long: the executable is kept until the tools change, and nothing else in the folder is.
    pub(crate) keep: bool,
}

/// The rows that share a mean.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Group {
    C,
    Rust,
    Real,
}

impl Group {
    pub(crate) const ALL: [Group; 3] = [Group::C, Group::Rust, Group::Real];

    pub(crate) fn of(name: &str) -> Group {
        if real::find(name).is_some() {
            Group::Real
        } else if name.ends_with(".rs") {
            Group::Rust
        } else {
            Group::C
        }
    }

    pub(crate) fn heading(self) -> &'static str {
        match self {
            Group::C => "C",
            Group::Rust => "Rust",
            Group::Real => "real programs",
        }
    }
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn entries(path: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut paths: Vec<_> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.sort();
    Ok(paths)
}

impl Program {
    /// Every program below `bench/programs`, C first, then the real ones.
    pub(crate) fn all(places: &Places) -> Result<Vec<Program>, String> {
        let folder = places.repository.join("bench/programs");
        let mut programs = Vec::new();
        for path in entries(&folder.join("c"))? {
            if path.extension().is_some_and(|e| e == "c") {
                programs.push(Program {
                    name: stem(&path),
                    short: stem(&path),
                    source: Source::C,
                });
            }
        }
        for path in entries(&folder.join("rust"))? {
            if path.join("src/main.rs").is_file() {
                programs.push(Program {
                    name: format!("{}.rs", stem(&path)),
                    short: stem(&path),
                    source: Source::Rust,
                });
            }
        }
        programs.extend(real::ALL.iter().map(|real| Program {
            name: real.name.to_string(),
            short: real.name.to_string(),
            source: Source::Real(real),
        }));
        Ok(programs)
    }

    pub(crate) fn group(&self) -> Group {
        match self.source {
            Source::C => Group::C,
            Source::Rust => Group::Rust,
            Source::Real(_) => Group::Real,
        }
    }

    /// Programs that were seeded with a race; the real ones were not.
    pub(crate) fn seeded(&self) -> bool {
        self.group() != Group::Real
    }

    /// A size at which a seeded race shows in a moment.
    pub(crate) fn small_size(&self) -> &'static str {
        match self.short.as_str() {
            "crypt" => "16000",
            "lufact" | "sor" => "40",
            // Rust's std takes a lock when a thread begins and when it ends: threads that run one after the other are ordered by it.
            "series" => "1000",
            "raytracer" => "160",
            "moldyn" => "3",
            "montecarlo" => "200",
            "barriers" | "pingpong" => "500",
            "btree" => "1000",
            _ => "20000",
        }
    }

    /// A size at which its arrays fill 50 MB or more; of those whose work would take hours then, one that takes a minute. `None` for programs
    /// that are about other things than arrays.
    pub(crate) fn large_size(&self) -> Option<&'static str> {
        Some(match self.short.as_str() {
            // Three arrays of 110 MB, so that the program's other blocks count less; twice that in Rust, where std's own are some 110 locations.
            "crypt" if self.group() == Group::Rust => "220000000",
            "crypt" => "110000000",
            // A million numbers, as in the paper; seven in Rust, where std's own blocks are some 92 locations.
            "series" if self.group() == Group::Rust => "3500000",
            "series" => "500000",
            "lufact" | "sor" => "2600",
            "moldyn" => "13",
            "montecarlo" => "10000",
            "sparse" => "1000000",
            "raytracer" => "3600",
            _ => return None,
        })
    }

    /// The size at which its arrays fill so many megabytes; `None` if memory does not grow with the size.
    pub(crate) fn size_of(&self, megabytes: u64) -> Option<String> {
        let bytes = megabytes * 1_000_000;
        let size = match self.short.as_str() {
            // Text, cipher, and text again. Threads have equal shares, as with the sizes that the programs come with.
            "crypt" => bytes / 3 / 1024 * 1024,
            // Five entries of 16 bytes and two numbers a row.
            "sparse" => bytes / 96 / 64 * 64,
            "sor" | "lufact" => (bytes / 8).isqrt(),
            // A path has 1000 numbers.
            "montecarlo" => bytes / 8000,
            _ => return None,
        };
        Some(size.to_string())
    }

    /// What it is run with; `size` only for the programs that take one.
    pub(crate) fn job(&self, threads: usize, size: Option<&str>, places: &Places) -> Job {
        match self.source {
            Source::C | Source::Rust => {
                let mut arguments = vec![threads.to_string()];
                arguments.extend(size.map(str::to_string));
                Job {
                    wrapper: Vec::new(),
                    arguments,
                    check: Check::Checksum,
                }
            }
            Source::Real(real) => real.job(threads, places),
        }
    }

    /// Fetches what a build needs.
    pub(crate) fn fetch(&self, places: &Places) -> Option<Command> {
        match self.source {
            Source::C | Source::Rust => None,
            Source::Real(real) => Some(real.fetch(places)),
        }
    }

    /// The command that builds, and the file it makes; or why this column is not possible.
    pub(crate) fn build(
        &self,
        kind: &Kind,
        variant: Variant,
        places: &Places,
    ) -> Result<Recipe, String> {
        match self.source {
            Source::C => self.build_c(kind, variant, places),
            Source::Rust => self.build_rust(kind, variant, places),
            Source::Real(real) => real.build(kind, variant, places),
        }
    }

    fn build_c(&self, kind: &Kind, variant: Variant, places: &Places) -> Result<Recipe, String> {
        let folder = places.scratch.join(kind.folder(variant)).join("c");
        create(&folder)?;
        let executable = folder.join(&self.short);
        let mut command = match kind {
            Kind::Plain => {
                let mut command = Command::new("clang-22");
                command.arg("-gdwarf-4");
                command
            }
            Kind::Tsan => {
                let mut command = Command::new("clang-22");
                command.args(["-g", "-fsanitize=thread"]);
                command
            }
            Kind::Null | Kind::Checked(_) => {
                let mut command = Command::new(places.bin.join("footrace-cc"));
                command.arg("-g");
                checks(&mut command, kind, variant);
                command
            }
        };
        if variant == Variant::Seeded {
            command.arg("-DSEEDED_RACE");
        }
        let source = format!("bench/programs/c/{}.c", self.short);
        command
            .args(["-O2", "-pthread"])
            .arg(places.repository.join(source))
            .arg("-o")
            .arg(&executable)
            .arg("-lm");
        Ok(Recipe {
            command,
            folder: executable.clone(),
            executable,
            link: None,
            keep: false,
        })
    }

    fn build_rust(&self, kind: &Kind, variant: Variant, places: &Places) -> Result<Recipe, String> {
        let folder = places.scratch.join(kind.folder(variant)).join("rust");
        create(&folder)?;
        let mut command = cargo(kind, variant, places)?;
        command
            .args(["--release", "--package", &self.short, "--manifest-path"])
            .arg(places.repository.join("bench/programs/rust/Cargo.toml"))
            .arg("--target-dir")
            .arg(&folder);
        if variant == Variant::Seeded {
            command.args(["--features", "seeded_race"]);
        }
        let released = match kind {
            Kind::Plain | Kind::Tsan => "release",
            Kind::Null | Kind::Checked(_) => "x86_64-unknown-linux-gnu/release",
        };
        Ok(Recipe {
            command,
            executable: folder.join(released).join(&self.short),
            folder,
            link: None,
            keep: false,
        })
    }
}

pub(crate) fn create(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

/// Tells Footrace's tools which checks and which runtime go into a program.
pub(crate) fn checks(command: &mut Command, kind: &Kind, variant: Variant) {
    match kind {
        Kind::Null => {
            command.env("FOOTRACE_RUNTIME", "null");
            // What a check before each access costs, whatever the default is.
            command.env("FOOTRACE_PLACEMENT", "all");
        }
        Kind::Checked(placement) => {
            command.env("FOOTRACE_PLACEMENT", placement);
        }
        Kind::Plain | Kind::Tsan => {}
    }
    if variant == Variant::Counted {
        command.env("FOOTRACE_COUNT", "1");
    }
}

/// `cargo build`, or `cargo footrace build`.
pub(crate) fn cargo(kind: &Kind, variant: Variant, places: &Places) -> Result<Command, String> {
    let mut command = match kind {
        Kind::Plain => {
            let mut command = Command::new("cargo");
            command.env("RUSTFLAGS", "-C dwarf-version=4").arg("build");
            command
        }
        Kind::Tsan => return Err("n/a (needs nightly)".to_string()),
        Kind::Null | Kind::Checked(_) => {
            let mut command = Command::new(places.bin.join("cargo-footrace"));
            command.args(["footrace", "build"]);
            checks(&mut command, kind, variant);
            command
        }
    };
    // Several are built at once.
    command.env("CARGO_BUILD_JOBS", "1");
    Ok(command)
}

/// The command that runs a program's job in a column.
pub(crate) fn run_command(
    column: &Column,
    executable: &Path,
    job: &Job,
    scratch: &Path,
) -> Command {
    let mut words: Vec<String> = job.wrapper.clone();
    if column.valgrind() {
        let tool = if *column == Column::Drd {
            "drd"
        } else {
            "helgrind"
        };
        words.extend([
            "valgrind".to_string(),
            format!("--tool={tool}"),
            "--quiet".to_string(),
            "--error-exitcode=66".to_string(),
        ]);
    }
    words.push(executable.to_string_lossy().into_owned());
    words.extend(job.arguments.iter().cloned());
    let mut words = words.into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    match column {
        Column::Detector(name) => {
            let records = scratch.join("races");
            command.env(
                "FOOTRACE_OPTIONS",
                format!("detector={name}:log_path={}", records.display()),
            );
        }
        Column::Tsan => {
            command.env("TSAN_OPTIONS", "atexit_sleep_ms=0");
        }
        _ => {}
    }
    command
}
