//! `cargo xtask demo`: the main job, on something small.
use crate::cargo;

/// A trace with a race, and one without.
const TRACES: &[(&str, i32)] = &[
    ("examples/counter.std", 66),
    ("examples/counter-fixed.std", 0),
];

pub(crate) fn demo() -> Result<(), String> {
    for (trace, expected) in TRACES {
        println!("$ footrace analyze {trace}");
        let run = [
            "run",
            "--quiet",
            "--release",
            "--package",
            "footrace-cli",
            "--bin",
            "footrace",
        ];
        let status = cargo::command(&[&run[..], &["--", "analyze", trace]].concat())
            .status()
            .map_err(|e| format!("cannot run cargo: {e}"))?;
        println!("exit code {}\n", status.code().unwrap_or(-1));
        if status.code() != Some(*expected) {
            return Err(format!("expected exit code {expected}"));
        }
    }
    Ok(())
}
