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
    /// Peak resident memory.
    pub(crate) peak_bytes: u64,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// How often a running program is looked at.
const POLL: Duration = Duration::from_millis(5);

/// The kernel counts what a process used before exec(2), which is this program's memory: it says nothing about a child that
/// stays smaller. Then the largest value that was seen while it ran is taken.
fn peak(counted: u64, seen: u64) -> u64 {
    let own = peak_of("self").unwrap_or(0);
    if counted > own || seen == 0 {
        counted
    } else {
        seen
    }
}

/// `VmHWM` of a process, in bytes.
fn peak_of(pid: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Runs with a time limit; output goes through files in `scratch`.
pub(crate) fn run(mut command: Command, limit: Duration, scratch: &Path) -> io::Result<Run> {
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
    let text = |path: &Path| std::fs::read(path).map(|b| String::from_utf8_lossy(&b).into_owned());
    Ok(Run {
        status: (!killed).then_some(usage.status),
        seconds,
        peak_bytes: peak(usage.rusage.maxrss, seen),
        stdout: text(&out)?,
        stderr: text(&err)?,
    })
}
