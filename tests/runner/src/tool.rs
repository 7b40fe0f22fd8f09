//! The tools a program can be built with and run under.

use crate::process::{Ended, run};
use crate::program::{Language, Program};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Building takes longer than running: a Rust program is linked with its std.
const BUILD_LIMIT: Duration = Duration::from_secs(600);

/// Who judges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Tool {
    /// Footrace, once with each detector.
    Footrace,
    /// ThreadSanitizer of clang 22, and of nightly rustc for Rust.
    Tsan,
    /// No detector: the program must end as it says it does.
    Plain,
}

/// Folders that everybody needs.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) repository: PathBuf,
    /// `footrace` and the compiler wrappers.
    pub(crate) bin: PathBuf,
    /// Where programs are built.
    pub(crate) scratch: PathBuf,
}

impl Places {
    /// The folder of one program under one tool, with checks placed one way.
    pub(crate) fn folder(&self, program: &Program, tool: Tool, placement: &str) -> PathBuf {
        let tool = match tool {
            Tool::Footrace => format!("footrace-{placement}"),
            Tool::Tsan | Tool::Plain => format!("{tool:?}").to_lowercase(),
        };
        self.scratch
            .join(tool)
            .join(program.verdict.folder())
            .join(&program.name)
    }

    fn support(&self) -> PathBuf {
        self.repository.join("tests/support")
    }
}

/// The placement of checks that a detector needs.
pub(crate) fn placement(detector: &str) -> &'static str {
    match detector {
        "redcard" | "slimcard" => "redcard",
        "bigfoot" | "bigfoot-bb" | "bigfoot-layers" | "bigfoot-pages" => "bigfoot",
        _ => "all",
    }
}

/// At the end of a placement's name: the program also tells of its accesses.
pub(crate) const WITNESS: &str = "+witness";

/// Builds the program; the executable, or what the compiler said.
pub(crate) fn build(
    program: &Program,
    tool: Tool,
    placement: &str,
    places: &Places,
) -> Result<PathBuf, String> {
    let folder = places.folder(program, tool, placement);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let executable = folder.join("program");
    if up_to_date(&executable, program, places, tool) {
        return Ok(executable);
    }
    let mut command = match program.language {
        Language::C | Language::Cxx => compile_c(program, tool, places, &executable),
        Language::Rust if tool == Tool::Footrace => {
            let manifest = wrap_in_package(program, &folder)?;
            compile_cargo(&manifest, tool, places, &folder)
        }
        Language::Rust => compile_rust(program, tool, &executable),
        Language::Cargo => {
            let project = program.source.ancestors().nth(2).unwrap_or(&program.source);
            compile_cargo(&project.join("Cargo.toml"), tool, places, &folder)
        }
    };
    let witness = placement.strip_suffix(WITNESS);
    command.env("FOOTRACE_PLACEMENT", witness.unwrap_or(placement));
    if witness.is_some() {
        command.env("FOOTRACE_WITNESS", "1");
    }
    let through_cargo = program.language == Language::Cargo
        || (program.language == Language::Rust && tool == Tool::Footrace);
    let ended = run(command, BUILD_LIMIT, &folder).map_err(|e| format!("cannot build: {e}"))?;
    if !ended.succeeded() {
        return Err(format!(
            "build: {}\n{}{}",
            ended.describe(),
            ended.stdout,
            ended.stderr
        ));
    }
    if through_cargo {
        let name = match program.language {
            Language::Cargo => program.name.as_str(),
            _ => "program",
        };
        let built = find_executable(&folder.join("cargo"), name)
            .ok_or("cargo built no executable of the project's name")?;
        std::fs::copy(&built, &executable).map_err(|e| format!("{}: {e}", built.display()))?;
        if program.language == Language::Rust {
            // It is not asked for again, and what was made on the way is much larger than the program.
            let _ = std::fs::remove_dir_all(folder.join("cargo"));
        }
    }
    Ok(executable)
}

/// Is the executable newer than its source, the support files and the tool?
fn up_to_date(executable: &Path, program: &Program, places: &Places, tool: Tool) -> bool {
    if program.language == Language::Cargo {
        return false;
    }
    let time = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    let Some(built) = time(executable) else {
        return false;
    };
    let mut inputs = vec![program.source.clone()];
    let of_tool = [places.bin.clone(), places.bin.with_file_name("lib")];
    let of_tool = of_tool.into_iter().filter(|_| tool == Tool::Footrace);
    for folder in of_tool.chain([places.support()]) {
        inputs.extend(
            std::fs::read_dir(folder)
                .into_iter()
                .flatten()
                .filter_map(|e| e.ok().map(|e| e.path())),
        );
    }
    inputs
        .iter()
        .all(|input| time(input).is_some_and(|t| t < built))
}

fn compile_c(program: &Program, tool: Tool, places: &Places, executable: &Path) -> Command {
    let cxx = program.language == Language::Cxx;
    let mut command = match tool {
        Tool::Footrace => {
            Command::new(
                places
                    .bin
                    .join(if cxx { "footrace-c++" } else { "footrace-cc" }),
            )
        }
        Tool::Tsan | Tool::Plain => Command::new(if cxx { "clang++-22" } else { "clang-22" }),
    };
    if tool == Tool::Tsan {
        command.arg("-fsanitize=thread");
    }
    if cxx {
        command.arg("-std=c++20");
    }
    command
        .args(["-O1", "-g", "-pthread", "-I"])
        .arg(places.support())
        .args(&program.flags)
        .arg(&program.source)
        .arg("-o")
        .arg(executable)
        .args(&program.libs);
    command
}

/// rustc on the one file.
fn compile_rust(program: &Program, tool: Tool, executable: &Path) -> Command {
    let mut command = match tool {
        Tool::Tsan => {
            let mut command = Command::new("rustup");
            command.args(["run", "nightly", "rustc", "-Zsanitizer=thread"]);
            // The std that is installed is not instrumented: the mixture is what its users get without building std.
            command.arg("-Cunsafe-allow-abi-mismatch=sanitizer");
            command
        }
        Tool::Footrace | Tool::Plain => Command::new("rustc"),
    };
    command
        .args(["--edition", "2024", "-C", "opt-level=1", "-g"])
        .args(&program.flags)
        .arg(&program.source)
        .arg("-o")
        .arg(executable);
    command
}

/// Footrace builds Rust through cargo, so that std is instrumented: a package around the one file.
fn wrap_in_package(program: &Program, folder: &Path) -> Result<PathBuf, String> {
    let manifest = folder.join("Cargo.toml");
    let text = format!(
        "[package]\nname = \"program\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [[bin]]\nname = \"program\"\npath = {:?}\n\n\
         [profile.release]\nopt-level = 1\ndebug = true\n\n[workspace]\n",
        program.source
    );
    std::fs::write(&manifest, text).map_err(|e| format!("{}: {e}", manifest.display()))?;
    Ok(manifest)
}

fn compile_cargo(manifest: &Path, tool: Tool, places: &Places, folder: &Path) -> Command {
    let mut command = match tool {
        Tool::Footrace => {
            let mut command = Command::new(places.bin.join("cargo-footrace"));
            command.arg("footrace");
            command
        }
        Tool::Tsan => {
            let mut command = Command::new("cargo");
            command.env(
                "RUSTFLAGS",
                "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer",
            );
            command.env("RUSTUP_TOOLCHAIN", "nightly");
            command
        }
        Tool::Plain => Command::new("cargo"),
    };
    command.arg("build");
    if tool == Tool::Tsan {
        command.args(["--target", "x86_64-unknown-linux-gnu"]);
    }
    command
        .args(["--release", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(folder.join("cargo"));
    command
}

/// `NAME` in `release`, wherever the target triple put it.
fn find_executable(target: &Path, name: &str) -> Option<PathBuf> {
    let direct = target.join("release").join(name);
    let nested = std::fs::read_dir(target)
        .ok()?
        .filter_map(|e| e.ok().map(|e| e.path().join("release").join(name)))
        .find(|path| path.is_file());
    nested.or_else(|| direct.is_file().then_some(direct))
}

/// Runs the program. With Footrace the JSON lies in `report.json` of the folder afterwards.
pub(crate) fn execute(
    program: &Program,
    tool: Tool,
    detector: &str,
    places: &Places,
    executable: &Path,
) -> Result<Ended, String> {
    let folder = places.folder(program, tool, placement(detector));
    let command = match tool {
        Tool::Footrace => {
            let json = folder.join("report.json");
            // A report of an earlier run must not pass for this one's.
            let _ = std::fs::remove_file(&json);
            let mut command = Command::new(places.bin.join("footrace"));
            command
                .args(["run", "--detector", detector, "--json"])
                .arg(json)
                .arg("--")
                .arg(executable);
            command
        }
        Tool::Tsan => {
            let mut command = Command::new(executable);
            command.env("TSAN_OPTIONS", crate::tsan::OPTIONS);
            command
        }
        Tool::Plain => Command::new(executable),
    };
    run(command, program.timeout, &folder).map_err(|e| format!("cannot run: {e}"))
}
