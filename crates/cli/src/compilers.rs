//! `footrace cc`, `footrace c++`, `footrace env`.
use clap::Args;
use driver::cc::{Language, run};
use std::ffi::OsString;
use std::process::ExitCode;

/// A compiler's command line.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Compile {
    /// As for clang or gcc.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Compile {
    pub(crate) fn run(self, name: &str, language: Language) -> ExitCode {
        driver::finish(name, run(language, self.arguments))
    }
}

/// What a build has to know.
#[derive(Args)]
pub(crate) struct Environment {
    /// Lines for eval "$(footrace env --export)".
    #[arg(long)]
    export: bool,
}

impl Environment {
    pub(crate) fn run(self) -> ExitCode {
        let lines = driver::layout::Layout::find()
            .and_then(|layout| driver::environment::lines(&layout, self.export));
        let printed = lines.map(|lines| {
            print!("{lines}");
            ExitCode::SUCCESS
        });
        driver::finish("footrace env", printed)
    }
}
