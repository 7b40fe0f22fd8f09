//! `cargo xtask test [NAME…]` and `bless`: the unit tests, then every program of `tests/` under every detector.
use std::process::Command;

/// Arguments after the command's name go to the runner: names to filter by, `--detectors`, `--tool`.
pub(crate) fn test(extra: &[&str]) -> Result<(), String> {
    let chosen: Vec<String> = std::env::args().skip(2).collect();
    if chosen.is_empty() {
        cargo(&["test", "--workspace", "--quiet"], &[])?;
    }
    crate::dist::dist()?;
    let runner = ["run", "--quiet", "--package", "footrace-corpus", "--"];
    cargo(&[&runner, extra].concat(), &chosen)
}

fn cargo(arguments: &[&str], more: &[String]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(arguments)
        .args(more)
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("cargo {}: {status}", arguments.join(" ")))
    }
}
