//! `footrace run`: starts the program, shows races while it runs, ends as it ended.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use report::recording::Told;

use crate::collect::Collector;
use crate::signals::Signals;
use crate::suppress::Suppressions;
use crate::{json, recording, text};

/// What the user asked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Which detector, or what the program was built for.
    pub detector: Option<String>,
    /// Where to write the findings for machines.
    pub json: Option<PathBuf>,
    /// The runtime as a library, for a program that has none but loads libraries that need it.
    pub preload: Option<PathBuf>,
    /// Where to write a trace of all events.
    pub record: Option<PathBuf>,
    /// A file of suppressions.
    pub suppressions: Option<PathBuf>,
    /// Stop at the first race?
    pub halt_on_error: bool,
    /// Reports go to `<path>.<pid>` instead of standard error.
    pub log_path: Option<PathBuf>,
    /// Print what the detector did?
    pub stats: bool,
    /// The exit code if races were found.
    pub exit_code: i32,
}

const WATCH: Duration = Duration::from_millis(40);

/// A directory that is gone when this is.
struct Scratch(PathBuf);

impl Scratch {
    /// Beside `file`: what will be as large as it may not fit elsewhere.
    fn beside(file: &Path) -> Result<Scratch, String> {
        let mut name = file.as_os_str().to_owned();
        name.push(".logs");
        let path = PathBuf::from(name);
        std::fs::create_dir(&path)
            .and_then(|()| std::path::absolute(&path))
            .map_err(|error| {
                let path = path.display();
                format!("cannot create {path}: {error}; choose another place for the trace, or remove it if no other run is using it")
            })
            .and_then(|path| drop_box(&path).map(|()| Scratch(path)))
    }

    fn new() -> Result<Scratch, String> {
        let base = std::env::temp_dir();
        for attempt in 0..1000u32 {
            let path = base.join(format!("footrace-{}-{attempt}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => {
                    drop_box(&path)?;
                    return Ok(Scratch(path));
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(format!(
                        "cannot create {}: {error}; set TMPDIR",
                        path.display()
                    ));
                }
            }
        }
        Err(format!("no free name in {}; set TMPDIR", base.display()))
    }
}

/// A program that root starts may become another user's, and its records still have to go there: everybody may put files into
/// the directory, nobody but root can look.
fn drop_box(path: &Path) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o1733);
    std::fs::set_permissions(path, mode)
        .map_err(|error| format!("cannot open {} for others: {error}", path.display()))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The runtime's options, with what the user of `run` chose added.
fn environment(options: &Options, records: &Path, logs: Option<&Path>) -> Result<OsString, String> {
    let mut value = std::env::var_os("FOOTRACE_OPTIONS").unwrap_or_default();
    let mut add = |key: &str, text: &str| {
        if !value.is_empty() {
            value.push(":");
        }
        value.push(key);
        value.push("=");
        value.push(text);
    };
    if let Some(detector) = &options.detector {
        add("detector", detector);
    }
    // With suppressions only we can tell which race is the first that counts.
    if options.halt_on_error && options.suppressions.is_none() {
        add("halt_on_error", "1");
    }
    if options.stats {
        add("stats", "1");
    }
    let records = records
        .to_str()
        .ok_or("the temporary directory's name is not Unicode; set TMPDIR")?;
    add("records", records);
    if let Some(logs) = logs {
        let logs = logs
            .to_str()
            .ok_or("the name of the trace is not Unicode; choose another one")?;
        add("record", logs);
    }
    Ok(value)
}

struct Output<'a> {
    log_path: Option<&'a Path>,
    color: bool,
}

impl Output<'_> {
    fn print(&self, collector: &Collector, fresh: &[usize]) -> Result<(), String> {
        for &at in fresh {
            let finding = &collector.findings()[at];
            let text = text::render(finding, self.color);
            match self.log_path {
                None => {
                    // In one piece, and on a line of its own: the program may be in the middle of one.
                    let _ = std::io::stderr().write_all(format!("\n{text}\n\n").as_bytes());
                }
                Some(path) => {
                    let mut name = path.as_os_str().to_owned();
                    name.push(format!(".{}", finding.process.pid));
                    let path = PathBuf::from(name);
                    let mut how = std::fs::OpenOptions::new();
                    let file = how.create(true).append(true).open(&path);
                    file.and_then(|mut file| writeln!(file, "{text}\n"))
                        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
                }
            }
        }
        Ok(())
    }
}

fn own_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(128 + status.signal().unwrap_or(0))
}

/// Waits for the program, showing what it finds.
fn watch(
    child: &mut Child,
    collector: &mut Collector,
    records: &Path,
    output: &Output<'_>,
    signals: &Signals,
    halt: bool,
) -> Result<ExitStatus, String> {
    let mut pause = Duration::from_millis(1);
    loop {
        let ended = child
            .try_wait()
            .map_err(|error| format!("cannot wait for the program: {error}"))?;
        let fresh = collector.poll(records);
        output.print(collector, &fresh)?;
        if let Some(status) = ended {
            return Ok(status);
        }
        signals.pass_on(child);
        if halt && !collector.findings().is_empty() {
            let _ = child.kill();
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(WATCH);
    }
}

/// Runs the program. The exit code is 66 if races were found, else the program's own.
pub fn run(options: &Options) -> Result<i32, String> {
    let [program, arguments @ ..] = options.command.as_slice() else {
        return Err(
            "no program given; usage: footrace run [options] -- PROGRAM [arguments]".into(),
        );
    };
    let suppressions = Suppressions::read(options.suppressions.as_deref())?;
    let scratch = Scratch::new()?;
    let logs = options.record.as_deref().map(Scratch::beside).transpose()?;
    let logs_at = logs.as_ref().map(|logs| logs.0.as_path());
    let signals = Signals::hold()?;
    let mut command = Command::new(program);
    // libarcher, which tells us of OpenMP, else warns that it is not ThreadSanitizer's.
    if std::env::var_os("TSAN_OPTIONS").is_none() {
        command.env("TSAN_OPTIONS", "ignore_noninstrumented_modules=1");
    }
    if let Some(runtime) = &options.preload {
        let mut all = runtime.clone().into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD") {
            all.push(":");
            all.push(others);
        }
        command.env("LD_PRELOAD", all);
    }
    let mut child = command
        .args(arguments)
        .env("FOOTRACE_OPTIONS", environment(options, &scratch.0, logs_at)?)
        .spawn()
        .map_err(|error| {
            format!(
                "cannot run {}: {error}; give the program's path, as in `footrace run -- ./program`",
                program.to_string_lossy()
            )
        })?;
    let mut collector = Collector::new(suppressions);
    let output = Output {
        log_path: options.log_path.as_deref(),
        color: options.log_path.is_none() && std::io::stderr().is_terminal(),
    };
    let halt = options.halt_on_error && options.suppressions.is_some();
    let status = watch(
        &mut child,
        &mut collector,
        &scratch.0,
        &output,
        &signals,
        halt,
    )?;
    for problem in collector.problems() {
        eprintln!("footrace: warning: {problem}");
    }
    for statistics in collector.statistics() {
        eprintln!("footrace: {}", statistics.text());
    }
    if let (Some(logs), Some(file)) = (logs_at, &options.record) {
        traces(logs, child.id(), file)?;
    }
    summary(&collector, status);
    if let Some(path) = &options.json {
        json::write(&collector, path)?;
    }
    if collector.findings().is_empty() {
        Ok(own_code(status))
    } else {
        Ok(options.exit_code)
    }
}

fn summary(collector: &Collector, status: ExitStatus) {
    let found = collector.findings();
    if !found.is_empty() {
        let again: u64 = found.iter().map(|finding| finding.times - 1).sum();
        let noun = if found.len() == 1 { "race" } else { "races" };
        let suppressed = match collector.suppressed() {
            0 => String::new(),
            n => format!(", {n} suppressed"),
        };
        let ended = match status.signal() {
            Some(signal) => format!("; the program ended by signal {signal}"),
            None if status.code() == Some(0) => String::new(),
            None => format!("; the program's exit code was {}", own_code(status)),
        };
        let again = if again == 0 {
            String::new()
        } else if found.len() == 1 {
            " (seen again)".to_owned()
        } else {
            " (some seen again)".to_owned()
        };
        eprintln!(
            "footrace: {} data {noun} found{again}{suppressed}{ended}",
            found.len()
        );
    }
}

/// Makes traces of the logs: `file` of the program's own, `file.PID` of other processes it started, and `file.PID.N` of what a
/// process became by `exec`.
fn traces(logs: &Path, program: u32, file: &Path) -> Result<(), String> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(logs)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "frl"))
        .collect();
    paths.sort();
    let mut whole = false;
    for log in paths {
        let name = log.file_stem().unwrap_or_default().to_string_lossy();
        let (pid, number) = name.split_once('.').unwrap_or((&name, "0"));
        let own = pid == program.to_string() && number == "0";
        whole |= own;
        let to = if own {
            file.to_owned()
        } else {
            let mut to = file.as_os_str().to_owned();
            to.push(format!(".{pid}"));
            if number != "0" {
                to.push(format!(".{number}"));
            }
            PathBuf::from(to)
        };
        let converted = recording::convert(&log, &to, Told::Access)?;
        let whose = match converted.process {
            Some(process) if !own => format!(" of process {}", process.pid),
            _ => String::new(),
        };
        let events = converted.events;
        eprintln!(
            "footrace: {events} events{whose} recorded in {}",
            to.display()
        );
        if converted.witnessed {
            let mut accesses = to.into_os_string();
            accesses.push(".accesses");
            let to = PathBuf::from(accesses);
            let events = recording::convert(&log, &to, Told::Check)?.events;
            eprintln!(
                "footrace: {events} events{whose}, with accesses in place of checks, recorded in {}",
                to.display()
            );
        }
    }
    if !whole {
        return Err(format!(
            "the program left no recording; was it built with footrace-cc, footrace-c++ or cargo footrace? \
             (its log would have been in {})",
            logs.display()
        ));
    }
    Ok(())
}
