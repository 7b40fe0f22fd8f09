//! What a detector counts when it is asked to: accesses, checks, shadow locations, bytes.

use crate::measure;
use crate::program::{Job, Places};
use crate::table::Facts;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Runs a program under `footrace run --stats`.
pub(crate) fn count(
    detector: &str,
    executable: &Path,
    job: &Job,
    places: &Places,
    limit: Duration,
    scratch: &Path,
) -> Result<Facts, String> {
    let (name, options) = detector.split_once(':').unwrap_or((detector, ""));
    let file = scratch.join("statistics.json");
    let mut command = match job.wrapper.split_first() {
        Some((first, rest)) => {
            let mut command = Command::new(first);
            command.args(rest).arg(places.bin.join("footrace"));
            command
        }
        None => Command::new(places.bin.join("footrace")),
    };
    command
        .args(["run", "--stats", "--detector", name, "--json"])
        .arg(&file)
        .arg(executable)
        .args(&job.arguments)
        .env("FOOTRACE_OPTIONS", options);
    let _ = std::fs::remove_file(&file);
    let run = measure::run(command, limit, scratch).map_err(|e| format!("does not run: {e}"))?;
    match run.status {
        Some(status) if status.success() || status.code() == Some(66) => {
            let text =
                std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            parse(&text)
        }
        Some(status) => Err(format!("{status}: {}", run.complaint())),
        None => Err(format!("over {} s", limit.as_secs())),
    }
}

/// What `footrace run --json` says of the first process.
fn parse(text: &str) -> Result<Facts, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| format!("no JSON: {e}"))?;
    let process = &value["statistics"][0];
    let counts = &process["counts"];
    if !counts.is_object() {
        return Err("no statistics".to_string());
    }
    Ok(Facts {
        accesses: process["accesses"].as_u64(),
        checks: process["checks"].as_u64(),
        shadow_fraction: process["shadow_fraction"].as_f64(),
        shadow_bytes: counts["bytes of the runtime, at most"].as_u64(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read() -> Result<(), String> {
        let facts = parse(
            r#"{"statistics": [{"shadow_fraction": 0.25, "accesses": 8, "checks": 2,
               "counts": {"bytes of the runtime, at most": 4096}}]}"#,
        )?;
        assert_eq!(facts.check_ratio(), Some(0.25));
        assert_eq!(facts.shadow_fraction, Some(0.25));
        assert_eq!(facts.shadow_bytes, Some(4096));
        assert!(parse(r#"{"statistics": []}"#).is_err() && parse("").is_err());
        Ok(())
    }
}
