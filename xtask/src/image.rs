//! The runtime as one object file that programs link: every symbol but the ABI and the interceptors is
//! private, so that it collides with nothing of the program, not even with the program's own Rust.
//!
//! ```text
//! footrace-runtime ──rustc, fat LTO──► libfootrace_runtime.a
//!   ──ld -r──► one object
//!   ──objcopy: memcpy → __footrace_memcpy …──► calls of the compiler's memory functions are ours
//!   ──objcopy: __interceptor_NAME → NAME, all else local──► footrace_rt.o, footrace_rt.syms, libfootrace_rt.so
//! ```
use std::path::Path;
use std::process::Command;

/// Functions that the compiler calls on its own. The runtime has them under another name.
const COMPILER_CALLS: &[(&str, &str)] = &[
    ("memcpy", "__footrace_memcpy"),
    ("memmove", "__footrace_memmove"),
    ("memset", "__footrace_memset"),
    ("memcmp", "__footrace_memcmp"),
    ("bcmp", "__footrace_memcmp"),
    ("strlen", "__footrace_strlen"),
];

const INTERCEPTOR: &str = "__interceptor_";

/// Beginnings of names that programs may use.
const PUBLIC: &[&str] = &["__footrace_", "footrace_", "Annotate", "__tsan_"];

fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("cannot run {name}: {error}; apt install llvm-22 lld-22"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name} failed:\n{said}"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Builds `footrace_rt.o` and `footrace_rt.syms` into `lib`.
pub(crate) fn build(workspace: &Path, target: &Path, lib: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(workspace)
        .args(["rustc", "--package", "footrace-runtime", "--lib"])
        .args(["--profile", "runtime", "--crate-type", "staticlib", "--"])
        .args(["--cfg", "footrace_image"])
        .args(["-C", "force-frame-pointers=yes"])
        .args(["-C", "force-unwind-tables=yes"])
        .args(["-C", "relocation-model=pic"])
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err("the runtime does not build".to_owned());
    }
    let work = target.join("runtime");
    let archive = work.join("libfootrace_runtime.a");
    let (whole, renamed, merged) = (
        work.join("whole.o"),
        work.join("renamed.o"),
        work.join("merged.o"),
    );
    run(Command::new("ld.lld-22")
        .args(["-r", "-u", "__footrace_init", "-o"])
        .arg(&whole)
        .arg(&archive))?;
    let mut objcopy = Command::new("llvm-objcopy-22");
    for (from, to) in COMPILER_CALLS {
        objcopy.arg(format!("--redefine-sym={from}={to}"));
    }
    run(objcopy.arg("--strip-debug").arg(&whole).arg(&renamed))?;
    run(Command::new("ld.lld-22")
        .args(["-r", "-o"])
        .arg(&merged)
        .arg(&renamed))?;
    let names = run(Command::new("llvm-nm-22")
        .args(["--defined-only", "--extern-only", "--just-symbol-name"])
        .arg(&merged))?;
    let mut objcopy = Command::new("llvm-objcopy-22");
    let mut public = Vec::new();
    for name in names.lines() {
        if let Some(libc) = name.strip_prefix(INTERCEPTOR) {
            objcopy.arg(format!("--redefine-sym={name}={libc}"));
            public.push(libc);
        } else if PUBLIC.iter().any(|start| name.starts_with(start))
            && !COMPILER_CALLS.iter().any(|(_, ours)| *ours == name)
        {
            public.push(name);
        }
    }
    run(objcopy.arg(&merged).arg(&renamed))?;
    let list = work.join("public");
    write(&list, &public.join("\n"))?;
    run(Command::new("llvm-objcopy-22")
        .arg(format!("--keep-global-symbols={}", list.display()))
        .arg(&renamed)
        .arg(lib.join("footrace_rt.o")))?;
    // For programs that have no runtime of their own but load libraries that need one.
    run(Command::new("clang-22")
        .args([
            "-shared",
            "-fuse-ld=lld",
            "-nostartfiles",
            "-Wl,-z,now",
            "-Wl,--no-as-needed",
        ])
        .arg("-o")
        .arg(lib.join("libfootrace_rt.so"))
        .arg(lib.join("footrace_rt.o"))
        .arg("-lgcc_s"))?;
    // For the linker's --dynamic-list: libraries of the program must find these before libc's.
    let exported: String = public.iter().map(|name| format!("{name};\n")).collect();
    write(
        &lib.join("footrace_rt.syms"),
        &format!("{{\n{exported}}};\n"),
    )
}

/// `abi::OWN`: not a function; the pass puts the address of the thread's block in its place.
const OWN: &str = "__footrace_own";

/// Builds `footrace_hot.bc`, the checks that the pass inlines.
pub(crate) fn build_hot(workspace: &Path, lib: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let bitcode = lib.join("footrace_hot.bc");
    let status = Command::new(cargo)
        .current_dir(workspace)
        .args(["rustc", "--package", "footrace-hot", "--lib"])
        .args(["--profile", "runtime", "--"])
        .args(["--cfg", "footrace_image"])
        // Lines of the checks are of no use: inlined, they are the line of the access.
        .args(["-C", "relocation-model=pic", "-C", "debuginfo=0"])
        .arg(format!("--emit=llvm-bc={}", bitcode.display()))
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err("the inlined checks do not build".to_owned());
    }
    // Whatever it calls has to be in the runtime, or is put in its place by the pass.
    let names = run(Command::new("llvm-nm-22")
        .args(["--undefined-only", "--just-symbol-name"])
        .arg(&bitcode))?;
    match names
        .lines()
        .find(|name| !is_slow_path(name) && *name != OWN)
    {
        Some(name) => Err(format!(
            "the inlined checks call {name}, which programs do not have"
        )),
        None => Ok(()),
    }
}

fn is_slow_path(name: &str) -> bool {
    name.starts_with("__footrace_") && (name.ends_with("_slow") || name == "__footrace_tls")
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
