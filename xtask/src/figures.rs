//! `cargo xtask figures`: the papers' tables with ours beside them, in docs/figures.md, and the README's figures.
use crate::cargo;

/// Ends the part of docs/figures.md that comes from native programs; behind it are the traces.
const END: &str = "<!-- end of figures -->";

/// The tables of traces are made by an example of `analyze`, which has the detectors and the shapes; those of native programs by
/// the benchmark harness, from the results of a run (`--results FOLDER`; those that are committed unless given).
pub(crate) fn figures(chosen: &[&str]) -> Result<(), String> {
    let output = cargo::command(&[
        "run",
        "--release",
        "--quiet",
        "--package",
        "footrace-analyze",
        "--example",
        "figures",
    ])
    .stderr(std::process::Stdio::inherit())
    .output()
    .map_err(|e| format!("cannot run cargo: {e}"))?;
    if !output.status.success() {
        return Err(format!("the figures example: {}", output.status));
    }
    let path = cargo::workspace().join("docs").join("figures.md");
    let say = |e: std::io::Error| format!("{}: {e}", path.display());
    let old = std::fs::read_to_string(&path).map_err(say)?;
    let (native, _) = old
        .split_once(END)
        .ok_or_else(|| format!("{}: no line `{END}`", path.display()))?;
    let traces = String::from_utf8_lossy(&output.stdout);
    std::fs::write(&path, format!("{native}{END}\n\n{traces}")).map_err(say)?;
    let harness = ["run", "--quiet", "--package", "footrace-bench", "--"];
    cargo::run(&[&harness[..], &["figures"], chosen].concat())
}
