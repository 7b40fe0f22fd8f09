//! `cargo xtask figures`: shadow fractions of traces shaped like the papers' programs, beside SlimState's Table II.
use crate::cargo;

/// Writes docs/figures.md. The table itself is made by an example of `analyze`, which has the detectors and the shapes.
pub(crate) fn figures() -> Result<(), String> {
    let mut command = cargo::command(&[
        "run",
        "--release",
        "--quiet",
        "--package",
        "footrace-analyze",
        "--example",
        "figures",
    ]);
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    if !output.status.success() {
        return Err(format!("the figures example: {}", output.status));
    }
    let path = cargo::workspace().join("docs").join("figures.md");
    std::fs::write(&path, &output.stdout)
        .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    println!("{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}
