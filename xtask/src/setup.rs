//! What has to be on the machine besides Rust. Missing Debian packages are installed if we may, and named if we may not.
use std::path::Path;
use std::process::Command;

/// A file that shows that the package is there, and the package.
const NEEDED: &[(&str, &str)] = &[
    ("/usr/bin/clang-22", "clang-22"),
    ("/usr/bin/ld.lld-22", "lld-22"),
    ("/usr/bin/llvm-objcopy-22", "llvm-22"),
    ("/usr/bin/llvm-config-22", "llvm-22-dev"),
    ("/usr/include/zlib.h", "zlib1g-dev"),
];

/// What programs of the test suite need besides.
const FOR_TESTS: &[(&str, &str)] = &[
    ("/usr/bin/g++", "g++"),
    ("/usr/lib/llvm-22/lib/libarcher.so", "libomp-22-dev"),
    ("/usr/bin/make", "make"),
    ("/usr/bin/cmake", "cmake"),
    ("/usr/bin/meson", "meson"),
    ("/usr/bin/ninja", "ninja-build"),
    ("/usr/bin/autoreconf", "autoconf"),
    ("/usr/bin/automake", "automake"),
    ("/usr/bin/libtoolize", "libtool"),
];

/// The peers that benchmarks are run beside, and what fetches the sources of real programs.
const FOR_BENCHMARKS: &[(&str, &str)] = &[
    (
        "/usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.tsan-x86_64.a",
        "libclang-rt-22-dev",
    ),
    ("/usr/bin/valgrind", "valgrind"),
    ("/usr/bin/dpkg-source", "dpkg-dev"),
    ("/usr/bin/tclsh", "tcl"),
];

/// For building.
pub(crate) fn ensure() -> Result<(), String> {
    install(NEEDED)
}

/// For building and testing.
pub(crate) fn ensure_tests() -> Result<(), String> {
    components()?;
    install(&[NEEDED, FOR_TESTS].concat())
}

/// For building, testing and measuring.
pub(crate) fn ensure_benchmarks() -> Result<(), String> {
    ensure_tests()?;
    install(FOR_BENCHMARKS)
}

/// rustup's minimal profile comes without these.
fn components() -> Result<(), String> {
    for component in ["rustfmt", "clippy"] {
        let subcommand = if component == "rustfmt" {
            "fmt"
        } else {
            component
        };
        let there = crate::cargo::command(&[subcommand, "--version"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !there {
            run("rustup", &["component", "add", component])?;
        }
    }
    Ok(())
}

fn missing<'a>(needed: &[(&str, &'a str)]) -> Vec<&'a str> {
    needed
        .iter()
        .filter(|(file, _)| !Path::new(file).exists())
        .map(|&(_, package)| package)
        .collect()
}

fn install(needed: &[(&str, &str)]) -> Result<(), String> {
    let packages = missing(needed);
    if packages.is_empty() {
        return Ok(());
    }
    let command = format!("apt-get install -y {}", packages.join(" "));
    let root = std::fs::metadata("/proc/self")
        .is_ok_and(|us| std::os::unix::fs::MetadataExt::uid(&us) == 0);
    if !root {
        return Err(format!("packages are missing; run: sudo {command}"));
    }
    eprintln!("xtask: {command}");
    run("apt-get", &["update", "-q"])?;
    let mut arguments = vec!["install", "-y", "-q", "--no-install-recommends"];
    arguments.extend(&packages);
    run("apt-get", &arguments)?;
    match missing(needed).as_slice() {
        [] => Ok(()),
        still => Err(format!("apt-get did not bring {}", still.join(" "))),
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let status = Command::new(program)
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .map_err(|e| format!("cannot run {program}: {e}; install the packages by hand"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{program} {}: {status}", arguments.join(" ")))
    }
}
