//! `footrace-ld`: lld with the pass plugin and the runtime.
use crate::arguments::{expand, pass};
use crate::inputs::Inputs;
use crate::layout::Layout;
use crate::settings::{self, Runtime};
use crate::tools::Tool;
use crate::{Error, Result};
use std::ffi::OsString;
use std::process::{Command, ExitCode};

/// What a link makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// A program: gets the runtime.
    Executable,
    /// `-shared`: finds the runtime in the program that loads it.
    Shared,
    /// `-r`: instrumented, linked again later.
    Relocatable,
    /// `--version` and the like.
    Question,
}

/// A linker's command line, understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// What it makes.
    pub output: Output,
    /// lld's arguments, those of the user without ours.
    pub arguments: Vec<OsString>,
    /// `--footrace-no-runtime`.
    pub bare: bool,
    /// `--footrace-stats`.
    pub stats: bool,
    /// `--footrace-count`.
    pub count: bool,
    /// `--footrace-placement=`.
    pub placement: Option<String>,
    /// `--footrace-runtime=`.
    pub runtime: Option<Runtime>,
    /// `-v` or `--verbose`.
    pub verbose: bool,
}

/// Works out what is asked for.
pub fn plan(arguments: Vec<OsString>) -> Result<Plan> {
    let mut plan = Plan {
        output: Output::Executable,
        arguments: Vec::new(),
        bare: false,
        stats: false,
        count: false,
        placement: None,
        runtime: None,
        verbose: false,
    };
    let arguments = expand(arguments)?;
    let question =
        arguments.len() <= 1 || arguments.iter().any(|a| a == "--version" || a == "--help");
    let shared = arguments
        .iter()
        .any(|a| a == "-shared" || a == "--shared" || a == "-Bshareable");
    let mut rest = arguments.into_iter().peekable();
    while let Some(argument) = rest.next() {
        match argument.to_str().unwrap_or_default() {
            "--footrace-no-runtime" => plan.bare = true,
            "--footrace-stats" => plan.stats = true,
            "--footrace-count" => plan.count = true,
            "-static" | "-Bstatic-pie" | "--no-dynamic-linker" if !shared => {
                return Err(Error::new(
                    "a static executable cannot be watched, its calls into libc are already resolved; \
                     link dynamically",
                ));
            }
            // The runtime is in the program, so a library always has undefined symbols.
            "--no-undefined" | "-zdefs" if shared => {}
            "-z" if shared && rest.peek().is_some_and(|value| value == "defs") => {
                rest.next();
            }
            text => {
                if let Some(name) = text.strip_prefix("--footrace-placement=") {
                    plan.placement = Some(name.to_owned());
                    continue;
                }
                if let Some(name) = text.strip_prefix("--footrace-runtime=") {
                    plan.runtime = Some(Runtime::parse(name));
                    continue;
                }
                plan.verbose |= matches!(text, "-v" | "--verbose");
                if matches!(text, "-r" | "--relocatable") {
                    plan.output = Output::Relocatable;
                }
                plan.arguments.push(argument);
            }
        }
    }
    if question {
        plan.output = Output::Question;
    } else if shared {
        plan.output = Output::Shared;
    }
    Ok(plan)
}

/// Symbols of the runtime that libraries of the program have to find: the ABI. What it defines in
/// place of libc's functions is listed beside it.
fn exported() -> impl Iterator<Item = String> {
    let functions = abi::FUNCTIONS.iter().map(|function| function.name);
    functions
        .chain([abi::CONTEXT, abi::counts::SYMBOL])
        .map(|name| format!("--export-dynamic-symbol={name}"))
}

/// Bytes of bitcode from which on machine code is made by several threads.
const LARGE: u64 = 1 << 20;
/// More parts than this have no more to gain: each reads the whole module.
const MOST_PARTITIONS: usize = 8;

/// In how many parts the merged module becomes machine code. Checks are placed before that, over the whole program; it is the
/// larger half of the time of a large link. A small one would lose more by being cut.
fn partitions(arguments: &[OsString]) -> Option<usize> {
    let is_input = |(i, argument): &(usize, &OsString)| {
        let after_o = i
            .checked_sub(1)
            .is_some_and(|before| arguments[before] == "-o");
        !after_o && !argument.as_encoded_bytes().starts_with(b"-")
    };
    let bytes: u64 = arguments
        .iter()
        .enumerate()
        .filter(is_input)
        .filter_map(|(_, file)| std::fs::metadata(file).ok())
        .filter(std::fs::Metadata::is_file)
        .map(|file| file.len())
        .sum();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (bytes >= LARGE && cores > 1).then(|| cores.min(MOST_PARTITIONS))
}

/// Links.
pub fn run(arguments: Vec<OsString>) -> Result<ExitCode> {
    let plan = plan(arguments)?;
    let lld = Tool::Lld.find()?;
    let mut command = Command::new(lld);
    if plan.output == Output::Question {
        command.args(&plan.arguments);
        return Err(crate::exec(command));
    }
    // A program without libc has no place for a runtime, and none of what the checks would call.
    if plan.output == Output::Executable && plan.bare {
        let response = pass(&mut command, &plan.arguments)?;
        return if response.is_none() {
            Err(crate::exec(command))
        } else {
            crate::wait(command)
        };
    }
    let layout = Layout::find()?;
    let mut arguments: Vec<OsString> = Vec::with_capacity(plan.arguments.len() + 64);
    let mut plugin = OsString::from("--load-pass-plugin=");
    plugin.push(layout.plugin()?);
    arguments.push(plugin);
    // As GNU ld, and before the user's arguments, which may say otherwise: version scripts name symbols that a
    // configuration lacks (zlib's `configure` tries its script on a library of one function).
    arguments.push("--undefined-version".into());
    if std::env::var_os(settings::VERIFY).is_none() {
        arguments.push("--disable-verify".into());
    }
    let runtime = plan.runtime.unwrap_or_else(Runtime::from_environment);
    // The runtime comes first, so that nobody takes the same functions from an archive (libstdc++.a has some).
    if plan.output == Output::Executable {
        arguments.extend(exported().map(OsString::from));
        if let Some(symbols) = runtime.symbols(&layout) {
            let mut list = OsString::from("--dynamic-list=");
            list.push(symbols);
            arguments.push(list);
        }
        arguments.push("--whole-archive".into());
        arguments.push(runtime.file(&layout)?.into());
        arguments.push("--no-whole-archive".into());
    }
    let mut inputs = Inputs::new(plan.verbose);
    let prepared = inputs.prepare(plan.arguments)?;
    // Before the user's arguments, which may say otherwise.
    if let Some(partitions) = partitions(&prepared) {
        arguments.push(format!("--lto-partitions={partitions}").into());
    }
    arguments.extend(prepared);
    match runtime.hot(&layout) {
        Some(path) => command.env(settings::HOT, path),
        None => command.env_remove(settings::HOT),
    };
    if plan.stats {
        command.env(settings::STATS, "1");
    }
    if plan.count {
        command.env(settings::COUNT, "1");
    }
    let placement = plan.placement.unwrap_or_else(settings::placement);
    command.env(settings::PLACEMENT, placement);
    let response = pass(&mut command, &arguments)?;
    if response.is_none() && inputs.is_untouched() {
        return Err(crate::exec(command));
    }
    crate::wait(command)
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
    fn outputs() {
        assert_eq!(planned("a.o -o a").output, Output::Executable);
        assert_eq!(planned("-shared a.o -o a.so").output, Output::Shared);
        assert_eq!(planned("-r a.o -o b.o").output, Output::Relocatable);
        assert_eq!(planned("--version").output, Output::Question);
        assert_eq!(planned("-m elf_x86_64 --version").output, Output::Question);
    }

    #[test]
    fn only_large_inputs_are_cut_into_parts() -> std::io::Result<()> {
        let folder = std::env::temp_dir().join(format!("footrace-parts-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let (small, large) = (folder.join("small.o"), folder.join("large.o"));
        std::fs::write(&small, b"BC")?;
        std::fs::File::create(&large)?.set_len(LARGE)?;
        let (small, large) = (small.into_os_string(), large.into_os_string());
        let several = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        assert_eq!(
            partitions(&[small.clone(), "-o".into(), large.clone()]),
            None
        );
        assert_eq!(partitions(&[small, large]).is_some(), several);
        std::fs::remove_dir_all(&folder)
    }

    #[test]
    fn libraries_may_leave_the_runtime_undefined() {
        let plan = planned("-shared -z defs --no-undefined -z now a.o");
        assert_eq!(plan.arguments, ["-shared", "-z", "now", "a.o"]);
        let plan = planned("-z defs --no-undefined a.o");
        assert_eq!(plan.arguments, ["-z", "defs", "--no-undefined", "a.o"]);
    }

    #[test]
    fn our_flags_are_ours() {
        let plan = planned(
            "--footrace-stats --footrace-count --footrace-placement=all --footrace-runtime=null a.o",
        );
        assert_eq!(plan.arguments, ["a.o"]);
        assert!(plan.stats && plan.count);
        assert_eq!(plan.placement.as_deref(), Some("all"));
        assert_eq!(plan.runtime, Some(Runtime::Null));
    }
}
