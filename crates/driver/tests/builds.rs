//! Whole projects through the wrappers: make, cmake, meson, autotools, cargo. Each builds a program whose
//! threads count under a lock, or without one; the counter is in a library, so a found race shows that
//! the library was instrumented, and no race that nothing was imagined.
//!
//! These tests need `cargo xtask dist` and the tools they are about; `cargo xtask test` runs them.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn dist() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let target = test.ancestors().find(|path| path.join("dist/bin").is_dir());
    target.expect("run `cargo xtask dist` first").join("dist")
}

fn tool(name: &str) -> PathBuf {
    dist().join("bin").join(name)
}

/// A fresh copy of the projects.
fn projects(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&root);
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects"),
        &root,
    );
    root
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// Runs a command in the environment that `footrace env` describes.
fn run(directory: &Path, program: &str, arguments: &[&str]) -> Output {
    let printed = Command::new(tool("footrace"))
        .arg("env")
        .output()
        .expect("footrace env");
    let lines = String::from_utf8_lossy(&printed.stdout).into_owned();
    let search = std::env::var("PATH").unwrap_or_default();
    Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .envs(lines.lines().filter_map(|line| line.split_once('=')))
        .env("PATH", format!("{search}:{}", dist().join("bin").display()))
        .env("FOOTRACE_VERIFY", "1")
        // The caller's cargo has settings that are not for this one.
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; apt-get install {program}"))
}

fn build(directory: &Path, program: &str, arguments: &[&str]) {
    let output = run(directory, program, arguments);
    assert!(
        output.status.success(),
        "{program} {arguments:?} in {}:\n{}{}",
        directory.display(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// With the lock there is no race; without it there is one, in the counter.
fn judge(directory: &Path, program: &str, counter: &str) {
    let path = directory.join(program);
    let path = path.to_str().expect("UTF-8");
    let safe = run(directory, path, &[]);
    let said = String::from_utf8_lossy(&safe.stderr);
    assert_eq!(safe.status.code(), Some(0), "{path}: {said}");
    assert!(
        String::from_utf8_lossy(&safe.stdout).starts_with("counted"),
        "{path}: {said}"
    );
    let footrace = tool("footrace");
    let racy = run(
        directory,
        footrace.to_str().expect("UTF-8"),
        &["run", path, "race"],
    );
    let said = String::from_utf8_lossy(&racy.stderr);
    assert_eq!(racy.status.code(), Some(66), "{path} race: {said}");
    assert!(said.contains(counter), "{path} race: {said}");
}

#[test]
#[ignore = "needs cargo xtask dist"]
fn make() {
    let directory = projects("make").join("make");
    build(&directory, "make", &[]);
    for program in ["archive", "library", "response"] {
        judge(&directory, program, "counter.c");
    }
}

#[test]
#[ignore = "needs cargo xtask dist, cmake"]
fn cmake() {
    let directory = projects("cmake").join("cmake");
    build(&directory, "cmake", &["-B", "build", "."]);
    build(&directory, "cmake", &["--build", "build"]);
    for program in ["archive", "library"] {
        judge(&directory.join("build"), program, "counter.c");
    }
}

/// Meson and automake want the sources inside the project.
fn sources(root: &Path, project: &str) -> PathBuf {
    let directory = root.join(project);
    let src = directory.join("src");
    std::fs::create_dir_all(&src).expect("a directory");
    for name in ["counter.c", "counter.h", "main.cpp"] {
        std::fs::copy(root.join(name), src.join(name)).expect("a copy");
    }
    directory
}

#[test]
#[ignore = "needs cargo xtask dist, meson"]
fn meson() {
    let directory = sources(&projects("meson"), "meson");
    build(&directory, "meson", &["setup", "build"]);
    build(&directory, "meson", &["compile", "-C", "build"]);
    for program in ["archive", "library"] {
        judge(&directory.join("build"), program, "counter.c");
    }
}

#[test]
#[ignore = "needs cargo xtask dist, autoconf, automake, libtool"]
fn autotools() {
    let directory = sources(&projects("autotools"), "autotools");
    build(&directory, "autoreconf", &["-i"]);
    build(&directory, "sh", &["./configure"]);
    build(&directory, "make", &[]);
    for program in ["archive", "library"] {
        judge(&directory, program, "counter.c");
    }
}

#[test]
#[ignore = "needs cargo xtask dist and the network"]
fn cargo() {
    let directory = projects("cargo").join("cargo");
    for (profile, place) in [("dev", "debug"), ("release", "release")] {
        build(
            &directory,
            "cargo",
            &["footrace", "build", "--profile", profile],
        );
        let built = directory
            .join("target/footrace/x86_64-unknown-linux-gnu")
            .join(place);
        judge(&built, "app", "counter.c");
    }
    build(&directory, "cargo", &["footrace", "test"]);
    let built = directory.join("target/footrace/x86_64-unknown-linux-gnu/debug");
    for (library, program) in [
        ("libplugin.so", "with_library"),
        ("libplugin.a", "with_archive"),
    ] {
        let library = built.join(library);
        let library = library.to_str().expect("UTF-8");
        let rpath = format!("-Wl,-rpath,{}", built.display());
        build(
            &directory,
            "footrace-c++",
            &[
                "-O1",
                "../main.cpp",
                "-o",
                program,
                library,
                &rpath,
                "-pthread",
            ],
        );
        judge(&directory, program, "plugin/src/lib.rs");
    }
}

fn said_by(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "needs cargo xtask dist"]
fn errors_say_what_to_do() {
    let directory = projects("errors");
    let cc = tool("footrace-cc");
    let cc = cc.to_str().expect("UTF-8");
    let fixed = run(&directory, cc, &["-static", "counter.c"]);
    assert_eq!(fixed.status.code(), Some(2));
    assert!(
        said_by(&fixed).contains("-static-libgcc"),
        "{}",
        said_by(&fixed)
    );
    let two = run(&directory, cc, &["-fsanitize=thread", "counter.c"]);
    assert!(
        said_by(&two).contains("cannot be combined"),
        "{}",
        said_by(&two)
    );
    std::fs::write(directory.join("m.c"), "int main(void) { return 0; }").expect("a file");
    let placement = run(&directory, cc, &["-ffootrace=sideways", "m.c"]);
    assert!(!placement.status.success());
    assert!(
        said_by(&placement).contains("unknown placement `sideways`"),
        "{}",
        said_by(&placement)
    );
}

#[test]
#[ignore = "needs cargo xtask dist"]
fn objects_of_machine_code_are_linked_and_named() {
    let directory = projects("machine");
    build(&directory, "clang-22", &["-O1", "-c", "counter.c"]);
    let output = run(
        &directory,
        tool("footrace-c++").to_str().expect("UTF-8"),
        &[
            "-O1",
            "main.cpp",
            "counter.o",
            "-pthread",
            "-o",
            "mixed",
            "-Wl,--verbose",
        ],
    );
    assert!(output.status.success(), "{}", said_by(&output));
    assert!(
        said_by(&output).contains("counter.o is machine code"),
        "{}",
        said_by(&output)
    );
    let safe = run(
        &directory,
        directory.join("mixed").to_str().expect("UTF-8"),
        &[],
    );
    assert_eq!(safe.status.code(), Some(0), "{}", said_by(&safe));
}

#[test]
#[ignore = "needs cargo xtask dist"]
fn a_program_without_libc_gets_no_checks() {
    let directory = projects("bare");
    let text = "int x; void _start(void) { x = 7; \
                __asm__ volatile(\"syscall\" : : \"a\"(60), \"D\"(x)); __builtin_unreachable(); }";
    std::fs::write(directory.join("bare.c"), text).expect("a file");
    build(
        &directory,
        tool("footrace-cc").to_str().expect("UTF-8"),
        &["-O1", "-nostdlib", "-ffreestanding", "bare.c", "-o", "bare"],
    );
    let program = directory.join("bare");
    let output = run(&directory, program.to_str().expect("UTF-8"), &[]);
    assert_eq!(output.status.code(), Some(7));
}

#[test]
#[ignore = "needs cargo xtask dist"]
fn counts_are_printed() {
    let directory = projects("counts");
    std::fs::write(
        directory.join("m.c"),
        "int x; int main(void) { x = 1; return 0; }",
    )
    .expect("a file");
    let cc = tool("footrace-cc");
    let output = run(
        &directory,
        cc.to_str().expect("UTF-8"),
        &["m.c", "--footrace-stats"],
    );
    assert!(
        said_by(&output).contains("1 write checks"),
        "{}",
        said_by(&output)
    );
}

/// A thread that waits for ever has counted a thousand writes by the time `main` returns.
#[test]
#[ignore = "needs cargo xtask dist"]
fn threads_that_never_end_are_counted() {
    let directory = projects("waiting");
    let text = "#include <pthread.h>\n#include <semaphore.h>\n\
                static sem_t done, never;\n\
                static volatile char bytes[1000];\n\
                static void *works(void *arg) {\n\
                  for (int i = 0; i < 1000; i++) bytes[i] = 1;\n\
                  sem_post(&done);\n\
                  sem_wait(&never);\n\
                  return arg;\n\
                }\n\
                int main(void) {\n\
                  pthread_t thread;\n\
                  sem_init(&done, 0, 0);\n\
                  sem_init(&never, 0, 0);\n\
                  pthread_create(&thread, 0, works, 0);\n\
                  sem_wait(&done);\n\
                  return 0;\n\
                }\n";
    std::fs::write(directory.join("waiting.c"), text).expect("a file");
    build(
        &directory,
        tool("footrace-cc").to_str().expect("UTF-8"),
        &["-O1", "--footrace-count", "waiting.c", "-o", "waiting"],
    );
    let footrace = tool("footrace");
    let output = run(
        &directory,
        footrace.to_str().expect("UTF-8"),
        &["run", "--stats", "./waiting"],
    );
    let said = said_by(&output);
    let writes = said.lines().find_map(|line| {
        let (count, what) = line.trim().split_once("  ")?;
        (what == "accesses: writes").then(|| count.parse::<u64>().ok())?
    });
    assert!(writes.is_some_and(|count| count >= 1000), "{said}");
}

/// Links a library whose version script names a function that is not there.
fn with_missing_version(root: &Path, more: &[&str]) -> Output {
    let flags = ["-shared", "-fPIC", "-Wl,--version-script,l.map"];
    let files = ["l.c", "-o", "l.so"];
    let arguments: Vec<&str> = flags.iter().chain(more).chain(&files).copied().collect();
    run(
        root,
        tool("footrace-cc").to_str().expect("a path"),
        &arguments,
    )
}

#[test]
#[ignore = "needs cargo xtask dist"]
fn version_scripts_may_name_what_is_not_there() {
    let root = projects("version");
    std::fs::write(root.join("l.c"), "int here(void) { return 1; }\n").expect("a file");
    std::fs::write(
        root.join("l.map"),
        "V1 { global: here; gone; local: *; };\n",
    )
    .expect("a file");
    let lenient = with_missing_version(&root, &[]);
    assert!(lenient.status.success(), "{}", said_by(&lenient));
    let strict = with_missing_version(&root, &["-Wl,--no-undefined-version"]);
    assert!(!strict.status.success(), "the user's choice counts");
    assert!(said_by(&strict).contains("gone"), "{}", said_by(&strict));
}
