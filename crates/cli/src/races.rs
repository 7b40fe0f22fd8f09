//! The commands about programs: `run`, `show`, `explain`.

use crate::{BAD_INPUT, FINE, RACES};
use clap::Args;
use driver::layout::Layout;
use findings::{Options, Suppressions};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

/// `footrace run`.
#[derive(Args)]
#[command(after_help = "Exit code: the program's own, 66 if races were found, 2 for bad input.")]
pub(crate) struct Run {
    /// Which detector watches; the program must have been linked for it.
    #[arg(long)]
    detector: Option<String>,
    /// End the program at the first race.
    #[arg(long)]
    halt_on_error: bool,
    /// Write reports to PATH.PID instead of standard error.
    #[arg(long, value_name = "PATH")]
    log_path: Option<PathBuf>,
    /// Print what the detector did: rules, shadow memory, arrays by allocation site; also in the JSON.
    #[arg(long)]
    stats: bool,
    /// For a program that was not built for footrace, such as an interpreter, but loads libraries that were.
    #[arg(long)]
    preload: bool,
    /// Write a trace of all events, for `footrace analyze`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
    /// The program, built with footrace-cc, footrace-c++ or cargo footrace, and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

/// `footrace show`.
#[derive(Args)]
pub(crate) struct Show {
    #[command(flatten)]
    common: Common,
    /// Files that a program left when it ran by itself.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// `footrace explain`.
#[derive(Args)]
pub(crate) struct Explain {
    /// FILE:LINE; of the file, the end of its path is enough.
    line: findings::Line,
    /// The program; by default the one built last here or by cargo footrace that has such a line.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// What both know.
#[derive(Args)]
struct Common {
    /// Also write the findings as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Races not to report, one `kind:pattern` a line.
    #[arg(long, value_name = "FILE")]
    suppressions: Option<PathBuf>,
    /// Exit code if races were found.
    #[arg(long, default_value_t = RACES)]
    exit_code: u8,
}

fn answer(result: Result<u8, String>) -> u8 {
    result.unwrap_or_else(|message| {
        eprintln!("footrace: error: {message}");
        BAD_INPUT
    })
}

impl Run {
    pub(crate) fn run(self) -> u8 {
        let runtime = self.preload.then(|| Layout::find()?.runtime_library());
        let preload = match runtime.transpose() {
            Ok(preload) => preload,
            Err(error) => return answer(Err(error.to_string())),
        };
        let options = Options {
            preload,
            command: self.command,
            detector: self.detector,
            json: self.common.json,
            record: self.record,
            suppressions: self.common.suppressions,
            halt_on_error: self.halt_on_error,
            log_path: self.log_path,
            stats: self.stats,
            exit_code: i32::from(self.common.exit_code),
        };
        answer(findings::run(&options).map(|code| u8::try_from(code).unwrap_or(1)))
    }
}

impl Explain {
    pub(crate) fn run(self) -> u8 {
        answer(
            findings::explain(&self.line, self.binary.as_deref()).map(|text| {
                print!("{text}");
                FINE
            }),
        )
    }
}

impl Show {
    pub(crate) fn run(self) -> u8 {
        answer(self.show())
    }

    fn show(self) -> Result<u8, String> {
        let suppressions = Suppressions::read(self.common.suppressions.as_deref())?;
        let collector = findings::show(&self.files, suppressions);
        for finding in collector.findings() {
            let color = std::io::stderr().is_terminal();
            eprintln!("{}\n", findings::render(finding, color));
        }
        for problem in collector.problems() {
            eprintln!("footrace: warning: {problem}");
        }
        if let Some(path) = &self.common.json {
            findings::json::write(&collector, path)?;
        }
        Ok(if collector.findings().is_empty() {
            FINE
        } else {
            self.common.exit_code
        })
    }
}
