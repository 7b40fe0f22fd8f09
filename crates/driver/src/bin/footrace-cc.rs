//! `footrace-cc`, and `footrace-c++` for a copy of that name: see `driver`.
#![forbid(unsafe_code)]
use driver::cc::{Language, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).collect();
    let name = std::env::current_exe().ok();
    let name = name.as_ref().and_then(|path| path.file_stem()?.to_str());
    match name {
        Some("footrace-c++") => driver::finish("footrace-c++", run(Language::Cxx, arguments)),
        _ => driver::finish("footrace-cc", run(Language::C, arguments)),
    }
}
