//! Runs cargo in the workspace.
use std::path::PathBuf;
use std::process::Command;

/// The root of the sources.
pub(crate) fn workspace() -> PathBuf {
    // Asked at run time first: a target directory copied from another checkout holds an xtask that cargo
    // takes for fresh and that was compiled with the other's path.
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().unwrap_or(&here).to_path_buf()
}

/// The cargo that runs us, with these arguments.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace()).args(arguments);
    cargo
}

/// Runs it; an error if it fails.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    check(&mut command(arguments))
}

/// Runs a command; an error if it fails.
pub(crate) fn check(command: &mut Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|e| format!("cannot run {}: {e}", command.get_program().display()))?;
    if status.success() {
        return Ok(());
    }
    let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
    let program = command.get_program().to_string_lossy();
    Err(format!("{program} {}: {status}", arguments.join(" ")))
}
