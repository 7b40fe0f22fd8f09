//! Races are not lost, whatever becomes of the process: libraries loaded late, `exec`, another user, a killed `footrace`.
//!
//! These tests need `cargo xtask dist`; `cargo xtask test` runs them.
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn dist() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let target = test.ancestors().find(|path| path.join("dist/bin").is_dir());
    target.expect("run `cargo xtask dist` first").join("dist")
}

/// A fresh directory.
fn directory(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(&root).expect("a directory");
    root
}

/// Compiles `source` to `name` in `root`, with `compiler` of ours or the system's.
fn compile(compiler: &str, root: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let file = root.join(format!("{name}.c"));
    std::fs::write(&file, source).expect("a source file");
    let ours = dist().join("bin").join(compiler);
    let compiler = if ours.exists() { ours } else { compiler.into() };
    let output = Command::new(compiler)
        .args(["-O1", "-g", "-pthread"])
        .args(flags)
        .arg(&file)
        .arg("-o")
        .arg(root.join(name))
        .output()
        .expect("a compiler");
    assert!(output.status.success(), "{}", said(&output));
    root.join(name)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn footrace(arguments: &[&str]) -> Output {
    Command::new(dist().join("bin/footrace"))
        .args(arguments)
        .output()
        .expect("footrace")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// How many races of the variable `name` were told.
fn races_of(output: &Output, name: &str) -> usize {
    let said = said(output);
    let named = |line: &&str| line.contains("data race") && line.contains(&format!("`{name}`"));
    said.lines().filter(named).count()
}

/// `twice`: two threads call a function without any order, or one after the other.
fn twice(ordered: bool) -> String {
    let [between, end] = if ordered {
        ["pthread_join(a, 0);", ""]
    } else {
        ["", "pthread_join(a, 0);"]
    };
    format!(
        "#include <pthread.h>
        static void *call(void *function) {{ ((void (*)(void))function)(); return 0; }}
        static void twice(void (*function)(void)) {{
          pthread_t a, b;
          pthread_create(&a, 0, call, (void *)function);
          {between}
          pthread_create(&b, 0, call, (void *)function);
          {end}
          pthread_join(b, 0);
        }}
        "
    )
}

const LIBRARY: &str = "int loaded; void add(void) { loaded++; }";
const LOADER: &str = "#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments) {
  void *library = dlopen(arguments[1], RTLD_NOW);
  if (!library) { fprintf(stderr, \"%s\\n\", dlerror()); return 3; }
  twice((void (*)(void))dlsym(library, \"add\"));
  dlclose(library);
  return count == 2 ? 0 : 4;
}
";

#[test]
#[ignore = "needs `cargo xtask dist`"]
fn races_in_a_library_that_is_loaded_late() {
    let root = directory("dlopen");
    let library = compile(
        "footrace-cc",
        &root,
        "library.so",
        LIBRARY,
        &["-shared", "-fPIC"],
    );
    let source = twice(false) + LOADER;
    let checked = compile("footrace-cc", &root, "checked", &source, &["-ldl"]);
    let found = footrace(&["run", text(&checked), text(&library)]);
    assert_eq!(found.status.code(), Some(66), "{}", said(&found));
    assert_eq!(races_of(&found, "loaded"), 1, "{}", said(&found));

    // The program was not built for us: its threads and their order are seen all the same.
    let plain = compile("clang-22", &root, "plain", &source, &["-ldl"]);
    let found = footrace(&["run", "--preload", text(&plain), text(&library)]);
    assert_eq!(found.status.code(), Some(66), "{}", said(&found));
    assert_eq!(races_of(&found, "loaded"), 1, "{}", said(&found));
    let source = twice(true) + LOADER;
    let ordered = compile("clang-22", &root, "ordered", &source, &["-ldl"]);
    let quiet = footrace(&["run", "--preload", text(&ordered), text(&library)]);
    assert_eq!(quiet.status.code(), Some(0), "{}", said(&quiet));
}

#[test]
#[ignore = "needs `cargo xtask dist`"]
fn races_before_and_after_exec() {
    let two = twice(false);
    let root = directory("exec");
    let second = format!(
        "{two}int after; static void add(void) {{ after++; }} int main(void) {{ twice(add); }}"
    );
    let second = compile("footrace-cc", &root, "second", &second, &[]);
    let first = format!(
        "{two}#include <unistd.h>
        int before; static void add(void) {{ before++; }}
        int main(void) {{ twice(add); execl(\"{}\", \"second\", (char *)0); return 1; }}",
        second.display()
    );
    let first = compile("footrace-cc", &root, "first", &first, &[]);
    let found = footrace(&["run", text(&first)]);
    assert_eq!(found.status.code(), Some(66), "{}", said(&found));
    assert_eq!(races_of(&found, "before"), 1, "{}", said(&found));
    assert_eq!(races_of(&found, "after"), 1, "{}", said(&found));
}

#[test]
#[ignore = "needs `cargo xtask dist`"]
fn races_of_another_user() {
    let two = twice(false);
    let root = directory("user");
    let is_root = std::fs::metadata("/proc/self")
        .is_ok_and(|us| std::os::unix::fs::MetadataExt::uid(&us) == 0);
    if !is_root {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let source = format!(
        "{two}#include <unistd.h>
        #include <sys/wait.h>
        int parent, child;
        static void add(void) {{ parent++; }}
        static void add_too(void) {{ child++; }}
        int main(void) {{
          if (setgid(65534) || setuid(65534)) return 3;
          twice(add);
          if (!fork()) {{ twice(add_too); _exit(0); }}
          wait(0);
          return 0;
        }}"
    );
    let program = compile("footrace-cc", &root, "program", &source, &[]);
    let found = footrace(&["run", text(&program)]);
    let said = said(&found);
    assert_eq!(found.status.code(), Some(66), "{said}");
    assert_eq!(races_of(&found, "parent"), 1, "{said}");
    assert_eq!(races_of(&found, "child"), 1, "{said}");
    assert!(!said.contains("\naccess "), "raw records: {said}");
}

#[test]
#[ignore = "needs `cargo xtask dist`"]
fn a_killed_footrace_leaves_the_records() {
    let two = twice(false);
    let root = directory("killed");
    let source = format!(
        "{two}#include <stdio.h>
        int shared; static void add(void) {{ shared++; }}
        int main(void) {{ twice(add); puts(\"raced\"); fflush(stdout); getchar(); puts(\"done\"); return 0; }}"
    );
    let program = compile("footrace-cc", &root, "program", &source, &[]);
    let mut parent = Command::new(dist().join("bin/footrace"))
        .args(["run", text(&program)])
        .env("TMPDIR", &root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("footrace");
    let stdin = parent.stdin.take();
    let mut lines = BufReader::new(parent.stdout.take().expect("a pipe")).lines();
    assert_eq!(lines.next().and_then(Result::ok).as_deref(), Some("raced"));
    parent.kill().expect("a signal");
    parent.wait().expect("its end");
    drop(stdin);
    // The program goes on by itself, and comes to its end.
    assert_eq!(lines.next().and_then(Result::ok).as_deref(), Some("done"));
    assert!(lines.next().is_none());
    let left = std::fs::read_dir(&root).expect("the directory");
    let records = left
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.is_dir())
        .expect("the records");
    let shown = footrace(&["show", text(&records)]);
    assert_eq!(shown.status.code(), Some(66), "{}", said(&shown));
    assert_eq!(races_of(&shown, "shared"), 1, "{}", said(&shown));
}
