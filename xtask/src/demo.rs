//! `cargo xtask demo`: the main job, on something small: a program with a race, then a trace with one and
//! the same trace without.
use crate::{cargo, dist, setup};
use std::process::Command;

const PROGRAM: &str = "examples/counter.c";
const TRACES: &[(&str, i32)] = &[
    ("examples/counter.std", 66),
    ("examples/counter-fixed.std", 0),
];

pub(crate) fn demo() -> Result<(), String> {
    setup::ensure()?;
    let root = dist::dist()?;
    let bin = root.join("bin");
    let built = root.join("counter");
    let built = built.to_string_lossy();
    show(
        Command::new(bin.join("footrace-cc")).args(["-O2", PROGRAM, "-o", &built]),
        &format!("footrace-cc -O2 {PROGRAM} -o counter"),
        0,
    )?;
    let footrace = || Command::new(bin.join("footrace"));
    show(
        footrace().args(["run", &built]),
        "footrace run ./counter",
        66,
    )?;
    for (trace, expected) in TRACES {
        let shown = format!("footrace analyze {trace}");
        show(footrace().args(["analyze", trace]), &shown, *expected)?;
    }
    Ok(())
}

/// Runs a command under the name a user would type; an error if it ends otherwise than expected.
fn show(command: &mut Command, shown: &str, expected: i32) -> Result<(), String> {
    println!("$ {shown}");
    let status = command
        .current_dir(cargo::workspace())
        .status()
        .map_err(|e| format!("cannot run {shown}: {e}"))?;
    println!("exit code {}\n", status.code().unwrap_or(-1));
    if status.code() == Some(expected) {
        Ok(())
    } else {
        Err(format!("{shown}: expected exit code {expected}"))
    }
}
