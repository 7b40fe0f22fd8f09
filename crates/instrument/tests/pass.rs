//! What the passes do to small modules: every kind of access, every reason to skip, the calling context.
//!
//! Each file of `tests/pass` is a module with instructions in comments:
//!
//! | line | meaning |
//! |---|---|
//! | `; RUN early` | the passes, of `early`, `hot`, `late` |
//! | `; PLACEMENT name` | which checks; `all` if it is not said |
//! | `; COUNTING` | with `FOOTRACE_COUNT` |
//! | `; WITNESSING` | with `FOOTRACE_WITNESS` |
//! | `; HOT file` | hot checks, as IR |
//! | `; EXPECT text` | a line of the result contains `text`; in this order |
//! | `; NEVER text` | no line does |
//! | `; COUNT n text` | so many lines do |
//! | `; STAT n name` | the pass counted `name` so often; names that are not listed were not counted |
//!
//! LLVM's verifier looks at every result.
use std::path::{Path, PathBuf};
use std::process::Command;

fn plugin() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let directory = test.parent().expect("the test is in a directory");
    let name = "libfootrace_instrument.so";
    [directory.join(name), directory.with_file_name(name)]
        .into_iter()
        .find(|path| path.exists())
        .expect("cargo builds the plugin before its tests")
}

fn run(command: &mut Command) -> (String, String) {
    let output = command
        .output()
        .expect("LLVM 22 is installed: apt-get install llvm-22");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    (String::from_utf8_lossy(&output.stdout).into_owned(), said)
}

fn check(path: &Path) {
    let source = std::fs::read_to_string(path).expect("the test file is there");
    let name = path.display();
    let words = |key: &'static str| {
        source.lines().filter_map(move |line| {
            line.strip_prefix("; ")?
                .strip_prefix(key)?
                .strip_prefix(' ')
        })
    };
    let passes: Vec<String> = words("RUN")
        .flat_map(|list| list.split(','))
        .map(|pass| format!("footrace-{pass},verify"))
        .collect();
    assert!(!passes.is_empty(), "{name}: no RUN line");
    let mut command = Command::new("opt-22");
    command
        .arg(format!("-load-pass-plugin={}", plugin().display()))
        .arg(format!("-passes={}", passes.join(",")))
        .args(["-S", "-o", "-"])
        .arg(path)
        .env("FOOTRACE_STATS", "1")
        .env_remove("FOOTRACE_PLACEMENT")
        .env_remove("FOOTRACE_COUNT")
        .env_remove("FOOTRACE_WITNESS")
        .env_remove("FOOTRACE_HOT");
    for placement in words("PLACEMENT") {
        command.env("FOOTRACE_PLACEMENT", placement);
    }
    for (line, variable) in [
        ("; COUNTING", "FOOTRACE_COUNT"),
        ("; WITNESSING", "FOOTRACE_WITNESS"),
    ] {
        if source.lines().any(|found| found == line) {
            command.env(variable, "1");
        }
    }
    for hot in words("HOT") {
        let bitcode = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(Path::new(hot).file_name().unwrap_or_default())
            .with_extension("bc");
        run(Command::new("llvm-as-22")
            .arg(path.with_file_name(hot))
            .arg("-o")
            .arg(&bitcode));
        command.env("FOOTRACE_HOT", bitcode);
    }
    let (result, said) = run(&mut command);
    let mut lines = result.lines();
    for text in words("EXPECT") {
        assert!(
            lines.any(|line| line.contains(text)),
            "{name}: `{text}` is missing, or not in this order, in\n{result}"
        );
    }
    for text in words("NEVER") {
        assert!(
            !result.contains(text),
            "{name}: `{text}` should not be in\n{result}"
        );
    }
    for text in words("COUNT") {
        let (count, text) = text.split_once(' ').expect("COUNT n text");
        let found = result.lines().filter(|line| line.contains(text)).count();
        assert_eq!(count.parse(), Ok(found), "{name}: `{text}` in\n{result}");
    }
    let mut stats: Vec<String> = said
        .lines()
        .filter_map(|line| line.strip_prefix("footrace:"))
        .map(|line| line.trim().to_owned())
        .filter(|line| {
            let uninteresting = [" functions", " call sites", " us of analysis"];
            !uninteresting.iter().any(|end| line.ends_with(end))
        })
        .collect();
    let mut expected: Vec<String> = words("STAT").map(str::to_owned).collect();
    if !expected.is_empty() {
        stats.sort();
        expected.sort();
        assert_eq!(stats, expected, "{name}\n{result}");
    }
}

macro_rules! tests {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let file = concat!(stringify!($name), ".ll");
            check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pass").join(file));
        })*

        #[test]
        fn no_file_is_forgotten() {
            let listed = [$(concat!(stringify!($name), ".ll"), )* "hot_checks.ll"];
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pass");
            for entry in std::fs::read_dir(directory).expect("the directory is there") {
                let name = entry.expect("an entry").file_name();
                assert!(listed.contains(&name.to_str().unwrap_or_default()), "{name:?}");
            }
        }
    };
}

tests! {
    scalars vectors aggregates memory_intrinsics masked x86 atomics libatomic fences
    skip_stack skip_heap skip_constant skip_thread_local skip_covered skip_profile skip_segment
    byval variadic policy note context context_slow hot hot_cold locations count witness
    place_straight place_loops place_divided place_rare place_calls place_indirect place_indirect_open place_stays place_unwind place_endless place_redcard place_fallback place_kept place_values place_last place_continued place_chosen
}

/// In a large program the quick path is inlined in small loops only; elsewhere the check is one call.
#[test]
fn quick_paths_of_large_programs_are_in_their_loops() {
    let loads = |count: usize| {
        (0..count)
            .map(|i| format!("  %a{i} = load volatile i32, ptr %p, align 4\n"))
            .collect::<String>()
    };
    let hot = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pass/hot_checks.ll");
    let walk = "br label %again\nagain:\n  %i = phi i64 [ 0, %0 ], [ %n, %again ]\n  \
                %q = getelementptr i32, ptr %p, i64 %i\n  %v = load i32, ptr %q, align 4\n  \
                %n = add i64 %i, 1\n  %c = icmp eq i64 %n, 100\n  \
                br i1 %c, label %done, label %again\ndone:\n  ret void\n";
    let text = format!(
        "; RUN early,hot\n; HOT {}\n; EXPECT define void @walk\n; EXPECT call void @__footrace_read4(ptr %q)\n\
         ; EXPECT define void @long\n; EXPECT call preserve_mostcc void @__footrace_read4_outlined(ptr %p)\n\
         ; COUNT 1 call void @__footrace_read4(\n; COUNT 4001 __footrace_read4_outlined(ptr %p)\n\
         define void @walk(ptr %p) {{\n  {walk}}}\ndefine void @long(ptr %p) {{\n{}  ret void\n}}\n",
        hot.display(),
        loads(4001)
    );
    let file = std::env::temp_dir().join(format!("footrace-large-{}.ll", std::process::id()));
    std::fs::write(&file, text).expect("the temporary directory can be written");
    check(&file);
    std::fs::remove_file(&file).expect("it was just written");
}
