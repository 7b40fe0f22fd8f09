//! What a detector counts when it is asked to: accesses, checks, shadow locations.

use crate::measure;
use crate::table::Facts;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Runs a program whose runtime prints its counters at the end.
pub(crate) fn count(command: Command, limit: Duration, scratch: &Path) -> Result<Facts, String> {
    let run = measure::run(command, limit, scratch).map_err(|e| format!("does not run: {e}"))?;
    match run.status {
        Some(status) if status.success() => Ok(parse(&run.stderr)),
        Some(status) => Err(format!("{status}: {}", run.complaint())),
        None => Err(format!("over {} s", limit.as_secs())),
    }
}

/// Lines `footrace: NAME VALUE`.
fn parse(text: &str) -> Facts {
    let value = |name: &str| {
        text.lines()
            .filter_map(|line| line.strip_prefix("footrace: "))
            .find_map(|line| line.strip_prefix(name))
            .and_then(|rest| rest.split_whitespace().next())
    };
    let whole = |name: &str| value(name).and_then(|word| word.parse().ok());
    Facts {
        accesses: whole("accesses "),
        checks: whole("checks "),
        shadow_fraction: value("shadow fraction ").and_then(|word| word.parse().ok()),
        shadow_bytes: whole("peak shadow bytes "),
    }
}
