//! `footrace-ld`: see `driver`.
#![forbid(unsafe_code)]
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).collect();
    driver::finish("footrace-ld", driver::ld::run(arguments))
}
