//! `cargo footrace build|run|test|bench [cargo's arguments]`: cargo with bitcode for objects and our linker,
//! on the stable toolchain.
//!
//! `--target <host>` keeps our flags away from build scripts and procedural macros: those run on the
//! developer's machine and are nobody's program under test. What build scripts compile for the target (the cc crate) goes through our
//! compilers. Everything is built in a directory of its own, so the usual build stays as it is.
use crate::layout::Layout;
use crate::settings::{self, Runtime};
use crate::tools::Tool;
use crate::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo footrace build|run|test|bench|check|clean [-ffootrace=PLACEMENT] [--footrace-stats] [--footrace-count] [cargo's arguments]

Builds the program and std with race checks, and runs it, its tests or its benchmarks under Footrace.
  -ffootrace=PLACEMENT  which checks are inserted: bigfoot (the default), redcard or all
  --footrace-stats      print what the pass did in each link
  --footrace-count      let the program count its accesses and checks; footrace run --stats prints them";

/// Separates flags in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: &str = "\x1f";

/// The command line, understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Cargo's subcommand.
    pub subcommand: String,
    /// Its arguments, without ours.
    pub arguments: Vec<OsString>,
    /// The user chose a target.
    pub target: Option<String>,
    /// The user chose a toolchain: `+nightly`.
    pub toolchain: Option<String>,
    /// `-ffootrace=`.
    pub placement: Option<String>,
    /// `--footrace-stats`.
    pub stats: bool,
    /// `--footrace-count`.
    pub count: bool,
    /// `--profile NAME` or `--release`.
    pub profile: Option<String>,
    /// `--target-dir`.
    pub target_directory: Option<PathBuf>,
    /// `--manifest-path`.
    pub manifest: Option<PathBuf>,
}

/// The value of `--name value` or `--name=value`.
fn value_of(
    name: &str,
    argument: &str,
    rest: &mut dyn Iterator<Item = OsString>,
) -> Option<(String, Vec<OsString>)> {
    if argument == name {
        let value = rest.next()?;
        let text = value.to_string_lossy().into_owned();
        return Some((text, vec![name.into(), value]));
    }
    let text = argument.strip_prefix(name)?.strip_prefix('=')?.to_owned();
    Some((text, vec![argument.into()]))
}

/// Reads the arguments that follow `cargo footrace`.
pub fn plan(arguments: Vec<OsString>) -> Result<Plan> {
    let mut rest = arguments.into_iter();
    let mut first = rest.next();
    let toolchain = first
        .as_ref()
        .and_then(|first| first.to_str())
        .and_then(|first| first.strip_prefix('+'))
        .map(str::to_owned);
    if toolchain.is_some() {
        first = rest.next();
    }
    let subcommand = first
        .and_then(|first| first.into_string().ok())
        .filter(|first| {
            [
                "build", "run", "test", "bench", "check", "clean", "b", "r", "t",
            ]
            .contains(&first.as_str())
        })
        .ok_or_else(|| Error::new(format!("no known subcommand\n{USAGE}")))?;
    let mut plan = Plan {
        subcommand,
        arguments: Vec::new(),
        target: None,
        toolchain,
        placement: None,
        stats: false,
        count: false,
        profile: None,
        target_directory: None,
        manifest: None,
    };
    while let Some(argument) = rest.next() {
        let text = argument.to_str().unwrap_or_default().to_owned();
        if text == "--" {
            plan.arguments.push(argument);
            plan.arguments.extend(rest);
            break;
        }
        if let Some(name) = text.strip_prefix("-ffootrace=") {
            plan.placement = Some(name.to_owned());
        } else if text == "--footrace-stats" {
            plan.stats = true;
        } else if text == "--footrace-count" {
            plan.count = true;
        } else if let Some((value, _)) = value_of("--target", &text, &mut rest) {
            plan.target = Some(value);
        } else if let Some((value, _)) = value_of("--target-dir", &text, &mut rest) {
            plan.target_directory = Some(value.into());
        } else if let Some((value, words)) = value_of("--profile", &text, &mut rest) {
            plan.profile = Some(value);
            plan.arguments.extend(words);
        } else if let Some((value, words)) = value_of("--manifest-path", &text, &mut rest) {
            plan.manifest = Some(value.into());
            plan.arguments.extend(words);
        } else {
            if text == "--release" || text == "-r" {
                plan.profile = Some("release".to_owned());
            }
            plan.arguments.push(argument);
        }
    }
    Ok(plan)
}

fn cargo(plan: &Plan) -> Command {
    let program = std::env::var_os("CARGO").filter(|_| plan.toolchain.is_none());
    let mut command = Command::new(program.unwrap_or_else(|| "cargo".into()));
    if let Some(toolchain) = &plan.toolchain {
        command.arg(format!("+{toolchain}"));
    }
    command
}

fn output_of(mut command: Command, what: &str) -> Result<String> {
    let output = command
        .output()
        .map_err(|error| Error::new(format!("cannot run {what}: {error}; is Rust installed?")))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::new(format!("{what} failed: {reason}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The triple that the compiler runs on, and its LLVM's major version.
fn host(plan: &Plan) -> Result<(String, u32)> {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    if let Some(toolchain) = &plan.toolchain {
        command.arg(format!("+{toolchain}"));
    }
    command.arg("-vV");
    let text = output_of(command, "rustc -vV")?;
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
            .ok_or_else(|| Error::new(format!("rustc -vV does not say its `{name}`")))
    };
    let llvm = field("LLVM version:")?
        .split('.')
        .next()
        .and_then(|text| text.parse().ok());
    Ok((field("host:")?.to_owned(), llvm.unwrap_or(0)))
}

/// Cargo's directory for everything it builds.
fn target_directory(plan: &Plan) -> Result<PathBuf> {
    if let Some(directory) = &plan.target_directory {
        return Ok(directory.clone());
    }
    let mut command = cargo(plan);
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    if let Some(manifest) = &plan.manifest {
        command.arg("--manifest-path").arg(manifest);
    }
    let text = output_of(command, "cargo metadata")?;
    let facts: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Error::new(format!("cannot read what cargo metadata says: {error}")))?;
    facts["target_directory"]
        .as_str()
        .map(|directory| Path::new(directory).join("footrace"))
        .ok_or_else(|| Error::new("cargo metadata names no target directory"))
}

/// Flags for rustc. The reasons are those of [`crate::cc::BITCODE`].
fn rust_flags(compiler: &Path) -> Vec<OsString> {
    let mut linker = OsString::from("-Clinker=");
    linker.push(compiler);
    let mut flags: Vec<OsString> = [
        "-Clinker-plugin-lto",
        "-Clinker-flavor=gcc",
        "-Cllvm-args=-force-attribute=sanitize_thread",
        "-Cno-vectorize-loops",
        "-Cno-vectorize-slp",
        // An iterator's parts that are compiled apart from the loop that uses it are inlined in the link only, after the checks: rustc's own remedy, thin LTO
        // among the units of a crate, is off in such a build.
        "-Ccodegen-units=1",
    ]
    .map(OsString::from)
    .to_vec();
    flags.push(linker);
    flags
}

/// A flag that changes when the files that are linked into programs do, or the way they are linked: cargo, which knows nothing of
/// that, then builds again.
fn stamp(plan: &Plan, layout: &Layout, runtime: &Runtime) -> Result<OsString> {
    let placement = plan.placement.clone().unwrap_or_else(settings::placement);
    let count = plan.count || settings::is_set(settings::COUNT);
    let witness = settings::is_set(settings::WITNESS);
    let chosen = format!("{placement} {count} {witness}").into_bytes();
    let files = [
        Some(runtime.file(layout)?),
        Some(layout.plugin()?),
        runtime.hot(layout),
    ];
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let files = files
        .into_iter()
        .flatten()
        .map(|path| std::fs::read(&path).map_err(|error| Error::file("read", &path, &error)));
    for bytes in files.chain([Ok(chosen)]) {
        let bytes = bytes?;
        for chunk in bytes.chunks(8) {
            let word = chunk
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
            hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(17);
        }
    }
    Ok(format!("--cfg=footrace_{hash:016x}").into())
}

/// The user's own flags come first, ours win.
fn encoded_flags(name: &str, ours: Vec<OsString>) -> OsString {
    let mut flags: Vec<OsString> = match std::env::var(format!("CARGO_ENCODED_{name}")) {
        Ok(encoded) => encoded
            .split(SEPARATOR)
            .filter(|f| !f.is_empty())
            .map(OsString::from)
            .collect(),
        Err(_) => {
            let plain = std::env::var(name).unwrap_or_default();
            plain.split_whitespace().map(OsString::from).collect()
        }
    };
    flags.extend(ours);
    flags.join(OsStr::new(SEPARATOR))
}

/// The name of an environment variable of cargo for a profile's or target's setting.
fn variable(kind: &str, name: &str, setting: &str) -> String {
    let name = name.to_uppercase().replace(['-', '.'], "_");
    format!("CARGO_{kind}_{name}_{setting}")
}

/// Runs cargo.
pub fn run(arguments: Vec<OsString>) -> Result<ExitCode> {
    if arguments.is_empty() || arguments.iter().any(|a| a == "--help" || a == "-h") {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    let plan = plan(arguments)?;
    let layout = Layout::find()?;
    let (triple, llvm) = host(&plan)?;
    if let Some(target) = plan.target.as_ref().filter(|target| **target != triple) {
        return Err(Error::new(format!(
            "--target {target}: only programs for this machine ({triple}) can be watched"
        )));
    }
    if llvm != 22 {
        return Err(Error::new(format!(
            "this Rust toolchain uses LLVM {llvm}, and the linker is LLVM 22's: use a toolchain with LLVM 22, \
             such as 1.95: cargo +1.95 footrace …"
        )));
    }
    // Missing tools are named now, not by the fifth rustc in parallel.
    for tool in [Tool::Clang, Tool::Lld, Tool::Ar] {
        tool.find()?;
    }
    let compiler = layout.tool("footrace-cc")?;
    let runtime = Runtime::from_environment();
    runtime.file(&layout)?;

    let mut command = cargo(&plan);
    command.arg(&plan.subcommand);
    let directory = target_directory(&plan)?;
    command.arg("--target-dir").arg(&directory);
    if plan.subcommand != "clean" {
        command.arg("--target").arg(&triple);
    }
    command.args(&plan.arguments);
    // Documentation tests are programs, too.
    let stamp = stamp(&plan, &layout, &runtime)?;
    for name in ["RUSTFLAGS", "RUSTDOCFLAGS"] {
        let mut ours = rust_flags(&compiler);
        ours.push(stamp.clone());
        let flags = encoded_flags(name, ours);
        command.env(format!("CARGO_ENCODED_{name}"), flags);
    }
    let tools = [
        ("CC", compiler),
        ("CXX", layout.tool("footrace-c++")?),
        ("AR", Tool::Ar.find()?),
        ("RANLIB", Tool::Ranlib.find()?),
    ];
    for (name, path) in tools {
        command.env(format!("{name}_{triple}"), &path);
        command.env(format!("{name}_{}", triple.replace('-', "_")), path);
    }
    let profiles = ["release", "bench"]
        .into_iter()
        .chain(plan.profile.as_deref());
    for profile in profiles.filter(|profile| !["dev", "test"].contains(profile)) {
        command.env(variable("PROFILE", profile, "DEBUG"), "line-tables-only");
    }
    for profile in ["dev", "test", "release", "bench"]
        .into_iter()
        .chain(plan.profile.as_deref())
    {
        // Link-time optimisation is ours, and a report without symbols is no report.
        command.env(variable("PROFILE", profile, "LTO"), "off");
        command.env(variable("PROFILE", profile, "STRIP"), "none");
    }
    if let Some(runner) = runner(&layout, &runtime) {
        command.env(variable("TARGET", &triple, "RUNNER"), runner);
    }
    if let Some(placement) = &plan.placement {
        command.env(settings::PLACEMENT, placement);
    }
    if plan.count {
        command.env(settings::COUNT, "1");
    }
    if !plan.stats {
        return Err(crate::exec(command));
    }
    // Cargo shows nothing that a linker says: the counts of all links go to a file.
    std::fs::create_dir_all(&directory)
        .map_err(|error| Error::file("create", &directory, &error))?;
    let file = std::path::absolute(directory.join("stats.txt"))
        .map_err(|error| Error::file("find", &directory, &error))?;
    let _ = std::fs::remove_file(&file);
    command.env(settings::STATS, &file);
    let code = crate::wait(command)?;
    match std::fs::read_to_string(&file) {
        Ok(text) => eprint!("{text}"),
        Err(_) => eprintln!(
            "footrace: nothing was linked, so there are no counts: everything is up to date"
        ),
    }
    Ok(code)
}

/// What runs the programs: `footrace run`, which shows the reports, unless the runtime makes none.
fn runner(layout: &Layout, runtime: &Runtime) -> Option<OsString> {
    let footrace = layout
        .tool("footrace")
        .ok()
        .filter(|_| *runtime != Runtime::Null)?;
    let mut runner = footrace.into_os_string();
    runner.push(" run --");
    Some(runner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(line: &str) -> Plan {
        match plan(line.split(' ').map(OsString::from).collect()) {
            Ok(plan) => plan,
            Err(error) => panic!("{line}: {error}"),
        }
    }

    #[test]
    fn ours_and_cargos() {
        let plan = planned(
            "test -ffootrace=all --footrace-stats --footrace-count --release -p x --target-dir=t -- --nocapture --release",
        );
        assert_eq!(plan.subcommand, "test");
        assert_eq!(plan.placement.as_deref(), Some("all"));
        assert!(plan.stats && plan.count);
        assert_eq!(
            plan.arguments,
            ["--release", "-p", "x", "--", "--nocapture", "--release"]
        );
        assert_eq!(plan.target_directory, Some("t".into()));
        assert_eq!(plan.profile.as_deref(), Some("release"));
    }

    #[test]
    fn what_follows_the_dashes_is_the_programs() {
        let plan = planned("run -- --target x --profile");
        assert_eq!(plan.target, None);
        assert_eq!(plan.arguments, ["--", "--target", "x", "--profile"]);
    }

    #[test]
    fn a_toolchain_goes_first() {
        let plan = planned("+1.95 build --profile fast");
        assert_eq!(plan.toolchain.as_deref(), Some("1.95"));
        assert_eq!(plan.profile.as_deref(), Some("fast"));
    }

    #[test]
    fn names_of_variables() {
        assert_eq!(
            variable("PROFILE", "my-fast", "LTO"),
            "CARGO_PROFILE_MY_FAST_LTO"
        );
        assert_eq!(
            variable("TARGET", "x86_64-unknown-linux-gnu", "RUNNER"),
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER"
        );
    }
}
