//! Compiles the plugin's C++ entry point and links the LLVM library that lld itself uses.
use std::path::Path;
use std::process::Command;

const PACKAGES: &str = "apt-get install llvm-22-dev clang-22 lld-22";

fn llvm_config(argument: &str) -> Result<String, String> {
    let program = "llvm-config-22";
    let output = Command::new(program)
        .args(["--link-shared", argument])
        .output()
        .map_err(|error| {
            format!("cannot run {program}: {error}; LLVM 22 is needed to build the pass plugin: {PACKAGES}")
        })?;
    if !output.status.success() {
        return Err(format!(
            "{program} {argument} failed: {}; reinstall LLVM 22: {PACKAGES}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn build() -> Result<(), String> {
    println!("cargo:rerun-if-changed=src/entry.cpp");
    for header in ["continued_loops", "last_values", "rare_calls"] {
        println!("cargo:rerun-if-changed=src/{header}.h");
    }
    println!("cargo:rerun-if-changed=build.rs");
    let include = llvm_config("--includedir")?;
    let header = Path::new(&include).join("llvm/Plugins/PassPlugin.h");
    if !header.exists() {
        return Err(format!("{} is missing: {PACKAGES}", header.display()));
    }
    let mut shim = cc::Build::new();
    shim.cpp(true)
        .file("src/entry.cpp")
        .warnings(false)
        .opt_level(1);
    for flag in llvm_config("--cxxflags")?.split_whitespace() {
        shim.flag(flag);
    }
    shim.try_compile("footrace_entry").map_err(|error| {
        format!("cannot compile the plugin's entry point: {error}; a C++ compiler is needed: apt-get install g++")
    })?;
    println!(
        "cargo:rustc-link-search=native={}",
        llvm_config("--libdir")?
    );
    println!("cargo:rustc-link-lib=dylib=LLVM-22");
    Ok(())
}

fn main() {
    if let Err(message) = build() {
        eprintln!("error: {message}");
        std::process::exit(1);
    }
}
