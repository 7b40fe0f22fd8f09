//! `footrace-cc` and `footrace-c++`: clang with bitcode for objects and our linker.
//!
//! A command line is one of three things. Questions (`--version`, `-print-…`, `-E`, `-M`, `-fsyntax-only`)
//! go to clang as they are. `-S` gives the assembly of the program without checks, for people to read. Everything
//! else compiles to bitcode, links, or both.
use crate::arguments::{expand, has_extension, pass};
use crate::flags::{Verdict, verdict};
use crate::layout::Layout;
use crate::settings;
use crate::tools::Tool;
use crate::{Error, Result};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

/// C or C++.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Language {
    C,
    Cxx,
}

/// What a command line asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Prints something; makes no object.
    Question,
    /// `-S`.
    Assembly,
    /// `-c`.
    Compile,
    /// Makes an executable or a shared library, perhaps from sources.
    Link,
}

/// Flags that make bitcode we can work with. The attribute keeps the optimiser from inventing loads
/// that the program does not do, which would be false alarms; vectors may wait until the checks are in,
/// since a vector load can cover bytes between the ones the program reads.
pub const BITCODE: &[&str] = &[
    "-flto=full",
    "-mllvm",
    "-force-attribute=sanitize_thread",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-unroll-loops",
];

/// Warnings about gcc's flags that clang ignores, and about ours when there is nothing to do for them.
const QUIET: &[&str] = &[
    "-Qunused-arguments",
    "-Wno-unknown-warning-option",
    "-Wno-ignored-optimization-argument",
];

/// The command line for clang, and what the environment needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// What it is.
    pub mode: Mode,
    /// Clang's arguments, without the path of the linker.
    pub arguments: Vec<OsString>,
    /// `-ffootrace=`.
    pub placement: Option<String>,
    /// `--footrace-stats`.
    pub stats: bool,
    /// `--footrace-count`.
    pub count: bool,
    /// `-nostdlib`: a program that brings its own world is linked without checks; a library gets them.
    pub bare: bool,
}

fn mode_of(argument: &str) -> Option<Mode> {
    match argument {
        "-E" | "-M" | "-MM" | "-fsyntax-only" | "--version" | "-dumpversion" | "-dumpmachine"
        | "-dumpfullversion" | "--help" | "-dumpspecs" | "--target-help" | "-emit-ast"
        | "--analyze" => Some(Mode::Question),
        "-S" => Some(Mode::Assembly),
        "-c" => Some(Mode::Compile),
        _ if argument.starts_with("-print-") || argument.starts_with("--print-") => {
            Some(Mode::Question)
        }
        _ => None,
    }
}

/// Flags whose value is the next argument, so that it is not taken for a flag or an input.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-I",
    "-L",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-isysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-Xlinker",
    "-Xclang",
    "-Xassembler",
    "-Xpreprocessor",
    "-mllvm",
    "-T",
    "-u",
    "-z",
    "-l",
    "-B",
    "-arch",
    "-target",
    "-e",
    "-rpath",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-aux-info",
    "-G",
    "-F",
    "-framework",
    "-main-file-name",
];

fn is_debug_level(argument: &str) -> bool {
    argument.starts_with("-g")
        && !argument.starts_with("-gcc-")
        && !argument.starts_with("-gz")
        && argument != "-gno-column-info"
        && argument != "-grecord-gcc-switches"
        && argument != "-gno-record-gcc-switches"
}

/// Works out what to do.
pub fn plan(arguments: Vec<OsString>) -> Result<Plan> {
    let arguments = expand(arguments)?;
    let mut mode = Mode::Link;
    let mut kept = Vec::with_capacity(arguments.len());
    let (mut placement, mut stats, mut count, mut bare) = (None, false, false, false);
    let (mut debug, mut input, mut target_only) = (false, false, true);
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        let Some(text) = argument.to_str() else {
            input = true;
            kept.push(argument);
            continue;
        };
        if let Some(name) = text.strip_prefix("-ffootrace=") {
            placement = Some(name.to_owned());
            continue;
        }
        match text {
            "--footrace-stats" => {
                stats = true;
                continue;
            }
            "--footrace-count" => {
                count = true;
                continue;
            }
            "-static" | "--static" | "-static-pie" => {
                return Err(Error::new(format!(
                    "{text}: a static executable cannot be watched, its calls into libc are already \
                     resolved; link without it (-static-libgcc and -static-libstdc++ are fine)"
                )));
            }
            "-m32" | "-mx32" => {
                return Err(Error::new(format!(
                    "{text}: only programs with 64-bit addresses can be watched"
                )));
            }
            _ => {}
        }
        match verdict(text) {
            Verdict::Keep => {}
            Verdict::Drop => continue,
            Verdict::DropPair => {
                rest.next();
                continue;
            }
            Verdict::Refuse(name) => {
                return Err(Error::new(format!(
                    "-fsanitize={name} cannot be combined with Footrace: build once for each of them"
                )));
            }
        }
        if let Some(found) = mode_of(text)
            && (mode == Mode::Link || found == Mode::Question)
        {
            mode = found;
        }
        bare |= text == "-nostdlib";
        debug |= is_debug_level(text);
        if !text.starts_with('-') || text == "-" {
            input = true;
        }
        target_only &= matches!(text, "-v" | "-###" | "-m64");
        let value = WITH_VALUE.contains(&text).then(|| rest.next()).flatten();
        kept.push(argument);
        kept.extend(value);
    }
    // `cc -v` alone, and linker questions such as `cc -Wl,--version`, have no input.
    if mode == Mode::Link && !input && target_only {
        mode = Mode::Question;
    }
    kept.extend(QUIET.iter().map(OsString::from));
    if matches!(mode, Mode::Compile | Mode::Link) {
        kept.extend(BITCODE.iter().map(OsString::from));
        if !debug {
            kept.push("-g".into());
        }
    }
    Ok(Plan {
        mode,
        arguments: kept,
        placement,
        stats,
        count,
        bare,
    })
}

/// Runs the compiler as planned.
pub fn run(language: Language, arguments: Vec<OsString>) -> Result<ExitCode> {
    let plan = plan(arguments)?;
    let tool = match language {
        Language::C => Tool::Clang,
        Language::Cxx => Tool::ClangXx,
    };
    let mut command = Command::new(tool.find()?);
    let mut arguments = plan.arguments;
    if plan.mode == Mode::Link {
        let layout = Layout::find()?;
        let mut linker = OsString::from("--ld-path=");
        linker.push(layout.tool("footrace-ld")?);
        arguments.push(linker);
        if plan.bare {
            arguments.push("-Wl,--footrace-no-runtime".into());
        }
        if is_openmp(&arguments) {
            openmp(&mut arguments)?;
        }
    }
    // `#include <footrace.h>` finds ours, after all other directories; a variable, since clang complains
    // of a flag that a link does not need.
    if let Ok(layout) = Layout::find() {
        let mut path = std::env::var_os("CPATH").unwrap_or_default();
        if !path.is_empty() {
            path.push(":");
        }
        path.push(layout.include());
        command.env("CPATH", path);
    }
    if let Some(placement) = plan.placement {
        command.env(settings::PLACEMENT, placement);
    }
    if plan.stats {
        command.env(settings::STATS, "1");
    }
    if plan.count {
        command.env(settings::COUNT, "1");
    }
    let response = pass(&mut command, &arguments)?;
    if response.is_none() {
        return Err(crate::exec(command));
    }
    crate::wait(command)
}

/// Is the program linked with LLVM's OpenMP library? The last flag counts.
fn is_openmp(arguments: &[OsString]) -> bool {
    let mut flags = arguments.iter().rev().filter_map(|flag| flag.to_str());
    let last = flags.find(|flag| {
        *flag == "-fopenmp" || *flag == "-fno-openmp" || flag.starts_with("-fopenmp=")
    });
    matches!(last, Some("-fopenmp" | "-fopenmp=libomp"))
}

/// libomp orders its threads by means of its own. libarcher hears from libomp what orders what, and tells the runtime; libomp
/// uses it if it is in the program.
fn openmp(arguments: &mut Vec<OsString>) -> Result<()> {
    const LIBRARIES: &str = "/usr/lib/llvm-22/lib";
    let archer = format!("{LIBRARIES}/libarcher.so");
    if !Path::new(&archer).is_file() {
        return Err(crate::Error::new(format!(
            "an OpenMP program needs {archer}; get it with: apt-get install libomp-22-dev"
        )));
    }
    arguments.push("-Wl,--push-state,--no-as-needed".into());
    arguments.push(archer.into());
    arguments.push("-Wl,--pop-state".into());
    arguments.push(format!("-Wl,-rpath,{LIBRARIES}").into());
    Ok(())
}

/// Is it a source file of C or C++?
pub fn is_source(path: &Path) -> bool {
    has_extension(
        path,
        &["c", "cc", "cpp", "cxx", "C", "c++", "i", "ii", "m", "mm"],
    )
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

    fn has(plan: &Plan, argument: &str) -> bool {
        plan.arguments.iter().any(|known| known == argument)
    }

    #[test]
    fn modes() {
        for (line, mode) in [
            ("--version", Mode::Question),
            ("-v", Mode::Question),
            ("-print-prog-name=ld", Mode::Question),
            ("-E a.c", Mode::Question),
            ("-MM a.c", Mode::Question),
            ("-c -MD -MF a.d a.c", Mode::Compile),
            ("-c -E a.c", Mode::Question),
            ("-S a.c", Mode::Assembly),
            ("a.o -o -c", Mode::Link),
            ("-shared a.o -o libx.so", Mode::Link),
            ("-Wl,--version", Mode::Link),
        ] {
            assert_eq!(planned(line).mode, mode, "{line}");
        }
    }

    #[test]
    fn bitcode_for_objects_only() {
        assert!(has(&planned("-c a.c"), "-flto=full"));
        assert!(has(&planned("a.c -o a"), "-flto=full"));
        assert!(!has(&planned("-S a.c"), "-flto=full"));
        assert!(!has(&planned("-E a.c"), "-flto=full"));
    }

    #[test]
    fn the_users_debug_level_stays() {
        assert!(has(&planned("-c a.c"), "-g"));
        for level in ["-g1", "-ggdb3", "-g0", "-gline-tables-only"] {
            let plan = planned(&format!("{level} -c a.c"));
            assert!(has(&plan, level) && !has(&plan, "-g"), "{level}");
        }
        assert!(has(&planned("-gz -c a.c"), "-g"));
    }

    #[test]
    fn values_are_no_flags() {
        let plan = planned("-o -static.o -c a.c -MT -static");
        assert_eq!(plan.mode, Mode::Compile);
        assert!(has(&plan, "-static.o"));
    }

    #[test]
    fn our_flags() {
        let plan = planned("-ffootrace=all --footrace-stats --footrace-count -nostdlib a.o");
        assert_eq!(plan.placement.as_deref(), Some("all"));
        assert!(plan.stats && plan.count && plan.bare);
        assert!(!has(&plan, "-ffootrace=all"));
    }

    #[test]
    fn openmp_by_its_last_flag() {
        let openmp = |line: &str| is_openmp(&planned(line).arguments);
        assert!(openmp("-fopenmp a.o") && openmp("-fno-openmp -fopenmp=libomp a.o"));
        assert!(
            !openmp("a.o") && !openmp("-fopenmp -fno-openmp a.o") && !openmp("-fopenmp-simd a.o")
        );
    }

    #[test]
    fn static_executables_are_refused() {
        let message = plan(vec!["-static".into(), "a.o".into()]).map_err(|e| e.to_string());
        assert!(message.is_err_and(|text| text.contains("-static-libgcc")));
    }
}
