//! Runs a command with a time limit and keeps what it printed.

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None`: it ran out of time and was killed with everything it had started.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.and_then(|s| s.code())
    }

    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.and_then(|s| s.signal())
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.status.is_some_and(|s| s.success())
    }

    /// One line for a summary.
    pub(crate) fn describe(&self) -> String {
        match (self.code(), self.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (_, Some(signal)) => format!("signal {signal}"),
            _ => "out of time".to_string(),
        }
    }
}

/// Runs `command`; its output goes through files in `scratch`, so that a child that outlives it cannot block us.
pub(crate) fn run(mut command: Command, limit: Duration, scratch: &Path) -> io::Result<Ended> {
    let (out, err) = (scratch.join("stdout"), scratch.join("stderr"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .process_group(0)
        .spawn()?;
    let end = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if Instant::now() >= end {
            if let Some(group) = i32::try_from(child.id())
                .ok()
                .and_then(rustix::process::Pid::from_raw)
            {
                // It may have ended meanwhile; then there is nothing to kill.
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            child.wait()?;
            break None;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    let read =
        |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Ended {
        status,
        stdout: read(&out)?,
        stderr: read(&err)?,
    })
}
