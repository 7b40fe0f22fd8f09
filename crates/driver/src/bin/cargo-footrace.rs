//! `cargo footrace`: see `driver::cargo`.
#![forbid(unsafe_code)]
use std::process::ExitCode;

fn main() -> ExitCode {
    // Cargo repeats the name of the subcommand.
    let arguments = std::env::args_os()
        .skip(1)
        .enumerate()
        .filter(|(index, argument)| *index > 0 || argument != "footrace")
        .map(|(_, argument)| argument)
        .collect();
    driver::finish("cargo footrace", driver::cargo::run(arguments))
}
