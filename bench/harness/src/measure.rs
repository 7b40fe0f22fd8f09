//! Runs one command and measures it.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use wait4::Wait4;

/// What a run cost.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// `None`: killed after the time limit.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) seconds: f64,
    /// Of all processors, with the processes that it waited for.
    pub(crate) cpu_seconds: f64,
    /// Peak resident memory; `None` if the run was too short to see it.
    pub(crate) peak_bytes: Option<u64>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    /// The line of standard error that says why it failed.
    pub(crate) fn complaint(&self) -> &str {
        let lines = || self.stderr.lines().map(str::trim).filter(|l| !l.is_empty());
        lines()
            .find(|line| line.contains("footrace: error"))
            .or(lines().find(|line| line.contains("error")))
            .or(lines().next_back())
            .unwrap_or("no message")
    }
}

/// How often a running program is looked at.
const POLL: Duration = Duration::from_millis(5);

/// The kernel counts what a process used before exec(2), which is this program's memory: it says nothing about a child that
/// stays smaller. Then the largest value that was seen while it ran is taken.
fn peak(counted: u64, seen: u64) -> Option<u64> {
    let own = peak_of("self").unwrap_or(0);
    if counted > own {
        return Some(counted);
    }
    (seen > 0).then_some(seen)
}

/// `VmHWM` of a process, in bytes.
fn peak_of(pid: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Runs with a time limit; output goes through files in `scratch`, which nobody else may use meanwhile.
pub(crate) fn run(mut command: Command, limit: Duration, scratch: &Path) -> io::Result<Run> {
    std::fs::create_dir_all(scratch)?;
    let (out, err) = (scratch.join("stdout"), scratch.join("stderr"));
    command
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .process_group(0);
    let start = Instant::now();
    let child = command.spawn()?;
    let group = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let (ended, watch) = mpsc::channel::<()>();
    let pid = child.id();
    let (usage, (killed, seen)) = std::thread::scope(|scope| {
        let watchdog = scope.spawn(move || {
            let mut seen = 0;
            while watch.recv_timeout(POLL) == Err(mpsc::RecvTimeoutError::Timeout) {
                seen = peak_of(&pid.to_string()).unwrap_or(0).max(seen);
                if start.elapsed() > limit {
                    if let Some(group) = group {
                        // It may have ended meanwhile; then there is nothing to kill.
                        let _ = rustix::process::kill_process_group(
                            group,
                            rustix::process::Signal::KILL,
                        );
                    }
                    return (true, seen);
                }
            }
            (false, seen)
        });
        let usage = child.wait4();
        drop(ended);
        (usage, watchdog.join().unwrap_or((true, 0)))
    });
    let seconds = start.elapsed().as_secs_f64();
    let usage = usage?;
    Ok(Run {
        status: (!killed).then_some(usage.status),
        seconds,
        cpu_seconds: (usage.rusage.utime + usage.rusage.stime).as_secs_f64(),
        peak_bytes: peak(usage.rusage.maxrss, seen),
        stdout: std::fs::read(&out)?,
        stderr: String::from_utf8_lossy(&std::fs::read(&err)?).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, seconds: f64, name: &str) -> io::Result<Run> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let scratch = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let run = run(command, Duration::from_secs_f64(seconds), &scratch);
        std::fs::remove_dir_all(&scratch)?;
        run
    }

    #[test]
    fn output_and_exit_code_are_kept() -> io::Result<()> {
        let run = shell("echo out; echo an error >&2; exit 66", 60.0, "bench-kept")?;
        assert_eq!(run.status.and_then(|s| s.code()), Some(66));
        assert_eq!(run.stdout, b"out\n");
        assert_eq!(run.complaint(), "an error");
        Ok(())
    }

    #[test]
    fn what_takes_too_long_is_killed_with_its_children() -> io::Result<()> {
        let run = shell("sleep 100 & sleep 100", 0.05, "bench-killed")?;
        assert!(run.status.is_none() && run.seconds < 50.0);
        Ok(())
    }
}
