//! The command itself: exit codes, messages, JSON, damaged files.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

fn footrace(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_footrace"))
        .args(arguments)
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A file that goes away with the test.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let name = format!("footrace-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes).unwrap();
        Temporary(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

const RACY: &str = "\
T0|new(a,8)|1
T0|w(a[0..8])|2
T0|w(x)|3
T1|r(x)|4
T1|w(a[2..6:2])|5
";

#[test]
fn json_is_what_the_documentation_says() {
    let file = Temporary::new("json.std", RACY.as_bytes());
    let output = footrace(&["analyze", "--json", file.path()]);
    assert_eq!(code(&output), 66, "{}", err(&output));
    let json: serde_json::Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(json["detector"], "fasttrack");
    assert_eq!(json["events"], 5);
    assert_eq!(
        json["racy_locations"],
        serde_json::json!(["a[2]", "a[4]", "x"])
    );
    let race = |location: &str, first: (&str, u64), second: (&str, u64), count: u64| {
        serde_json::json!({
            "location": location,
            "first": {"thread": "T0", "kind": "write", "site": first.0, "event": first.1},
            "second": {"thread": "T1", "kind": if second.0 == "4" {"read"} else {"write"}, "site": second.0, "event": second.1},
            "count": count,
        })
    };
    let expected = [
        race("x", ("3", 3), ("4", 4), 1),
        race("a[2]", ("2", 2), ("5", 5), 2),
    ];
    assert_eq!(json["races"], serde_json::json!(expected));
    assert_eq!(json["stats"]["accesses"], 12);
}

#[test]
fn every_detector_runs_and_agrees_on_a_plain_race() {
    let file = Temporary::new("all.std", RACY.as_bytes());
    for entry in analyze::detectors::DETECTORS {
        let output = footrace(&["analyze", "--detector", entry.name, "--json", file.path()]);
        assert_eq!(code(&output), 66, "{}: {}", entry.name, err(&output));
        let json: serde_json::Value = serde_json::from_str(&out(&output)).unwrap();
        let locations = serde_json::json!(["a[2]", "a[4]", "x"]);
        assert_eq!(json["racy_locations"], locations, "{}", entry.name);
        // However late a detector checks, the events are those of the accesses.
        let races = json["races"].as_array().unwrap();
        let x = races.iter().find(|race| race["location"] == "x").unwrap();
        assert_eq!(
            (&x["first"]["event"], &x["second"]["event"]),
            (&3.into(), &4.into()),
            "{}",
            entry.name
        );
    }
}

#[test]
fn text_and_binary_give_the_same_report() {
    let text = Temporary::new("same.std", RACY.as_bytes());
    let binary = Temporary::new("same.ftr", b"");
    assert_eq!(code(&footrace(&["convert", text.path(), binary.path()])), 0);
    let reports = [&text, &binary].map(|file| out(&footrace(&["analyze", "--json", file.path()])));
    assert_eq!(reports[0], reports[1]);
    assert_eq!(out(&footrace(&["convert", binary.path(), "-"])), RACY);
}

#[test]
fn bad_input_is_exit_code_2_with_its_place() {
    let file = Temporary::new("bad.std", b"T0|w(x)\nT1|w(x)\nT0|rel(l)\n");
    let output = footrace(&["analyze", file.path()]);
    assert_eq!(code(&output), 2);
    // What comes before is analysed all the same.
    assert!(out(&output).contains("1 data race, on 1 location, in 2 events"));
    let message = err(&output);
    assert!(
        message.contains("the thread does not hold this lock"),
        "{message}"
    );
    assert!(
        message.contains(&format!("{}:3:4", file.path())),
        "{message}"
    );
    assert!(
        message.contains("expected an acquire of the same lock"),
        "{message}"
    );
}

#[test]
fn a_cut_binary_gives_the_beginning_and_exit_code_2() {
    let text = Temporary::new("cut.std", RACY.as_bytes());
    let binary = Temporary::new("cut.ftr", b"");
    footrace(&["convert", text.path(), binary.path()]);
    let whole = fs::read(&binary.0).unwrap();
    for cut in 1..whole.len() {
        let part = Temporary::new("part.ftr", &whole[..cut]);
        let output = footrace(&["analyze", part.path()]);
        assert_eq!(code(&output), 2, "cut at {cut}");
        assert!(err(&output).contains("expected"), "{}", err(&output));
    }
}

#[test]
fn unknown_names_list_the_known_ones() {
    let file = Temporary::new("unknown.std", RACY.as_bytes());
    let output = footrace(&["analyze", "--detector", "nonsense", file.path()]);
    assert_eq!(code(&output), 2);
    assert!(err(&output).contains("djit fasttrack"), "{}", err(&output));
    let output = footrace(&["gen", "nonsense"]);
    assert_eq!(code(&output), 2);
    assert!(err(&output).contains("crypt series"), "{}", err(&output));
    assert_eq!(code(&footrace(&["analyze", "/no/such/file"])), 2);
    assert_eq!(code(&footrace(&["analyze", "--rate", "2", file.path()])), 2);
}

/// An option that would change nothing is a mistake, and the message says whom it is for.
#[test]
fn options_without_effect_are_errors() {
    let file = Temporary::new("options.std", RACY.as_bytes());
    let analyze = |options: &[&str]| {
        let arguments = [&["analyze"], options, &[file.path()]].concat();
        footrace(&arguments)
    };
    let wrong: [(&[&str], &str); 5] = [
        (
            &["--rate", "0.5"],
            "`--rate` says nothing to `fasttrack`; it is for: pacer",
        ),
        (
            &["--detector", "literace", "--rate", "1"],
            "it is for: pacer",
        ),
        (
            &["--seed", "0"],
            "`--seed` says nothing to `fasttrack`; it is for: pacer literace",
        ),
        (
            &["--detector", "slimstate", "--seed", "3"],
            "it is for: pacer literace",
        ),
        (&["--detector", "pacer", "--seed", "3"], "without `--rate`"),
    ];
    for (options, expected) in wrong {
        let output = analyze(options);
        assert_eq!(code(&output), 2, "{options:?}");
        assert!(
            err(&output).contains(expected),
            "{options:?}: {}",
            err(&output)
        );
        assert_eq!(out(&output), "", "{options:?}");
    }
    for options in [
        &["--detector", "pacer", "--rate", "1", "--seed", "3"][..],
        &["--detector", "pacer"],
        &["--detector", "literace", "--seed", "3"],
    ] {
        assert_eq!(code(&analyze(options)), 66, "{options:?}");
    }
    let unknown = analyze(&["--detector", "nothing", "--rate", "1"]);
    assert!(err(&unknown).contains("there is no detector `nothing`"));
}

#[test]
fn generated_traces_of_known_programs_do_not_race() {
    for shape in trace::shapes::SHAPES {
        let file = Temporary::new(&format!("{}.ftr", shape.name), b"");
        let arguments = [
            "gen",
            shape.name,
            "--size",
            "20",
            "--iterations",
            "2",
            "--threads",
            "3",
            "-o",
            file.path(),
        ];
        assert_eq!(code(&footrace(&arguments)), 0);
        for detector in ["fasttrack", "djit"] {
            let output = footrace(&["analyze", "--detector", detector, file.path()]);
            assert_eq!(
                code(&output),
                0,
                "{}: {}{}",
                shape.name,
                out(&output),
                err(&output)
            );
        }
    }
}

/// Nobody can tell that many threads apart: the races until then, an error that says where, and no panic.
#[test]
fn too_many_threads_are_an_error() {
    let mut trace = String::from("T0|w(x)|1\nT1|w(x)|2\n");
    for thread in 2..65_540 {
        trace.push_str(&format!("T{thread}|w(y{thread})|3\n"));
    }
    let file = Temporary::new("threads.std", trace.as_bytes());
    for detector in ["fasttrack", "slimstate", "pacer"] {
        let output = footrace(&["analyze", "--detector", detector, file.path()]);
        assert_eq!(code(&output), 2);
        assert!(
            out(&output).contains("1 data race, on 1 location"),
            "{}",
            out(&output)
        );
        let message = err(&output);
        assert!(message.contains("65537:8"), "{message}");
        assert!(message.contains("more than 65536"), "{message}");
    }
    // Joined threads make room.
    let mut trace = String::new();
    for thread in 1..70_000 {
        trace.push_str(&format!(
            "T0|fork(T{thread})|1\nT{thread}|w(x)|2\nT0|join(T{thread})|3\n"
        ));
    }
    let file = Temporary::new("joined.std", trace.as_bytes());
    assert_eq!(code(&footrace(&["analyze", file.path()])), 0);
}
