//! `footrace-cc`, and for copies with other names `footrace-c++` and the archivers of LLVM 22: see `driver`.
//! CMake looks for archivers beside the compiler before it takes those of another LLVM, or of binutils.
#![forbid(unsafe_code)]
use driver::cc::{Language, run};
use driver::tools::{Tool, become_tool};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).collect();
    let path = std::env::current_exe().ok();
    let name = path.as_ref().and_then(|path| path.file_name()?.to_str());
    let name = name.unwrap_or("footrace-cc");
    let result = match name {
        "footrace-c++" => run(Language::Cxx, arguments),
        "llvm-ar" => become_tool(Tool::Ar, arguments),
        "llvm-ranlib" => become_tool(Tool::Ranlib, arguments),
        "llvm-nm" => become_tool(Tool::Nm, arguments),
        _ => run(Language::C, arguments),
    };
    driver::finish(name, result)
}
