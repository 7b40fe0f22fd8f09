//! A signal that asks `footrace run` to end reaches the program, and `footrace` ends as the program did.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// A program that answers `signal` with exit code 7; the signal is sent to `footrace` once the program listens.
fn answered(signal: &str) -> Option<i32> {
    let program = format!("sleep 60 & trap 'kill $!; exit 7' {signal}; echo ready; wait");
    let mut footrace = Command::new(env!("CARGO_BIN_EXE_footrace"))
        .args(["run", "--", "sh", "-c", &program])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(footrace.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "ready\n");
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -{signal} {}", footrace.id())])
        .status()
        .unwrap();
    assert!(sent.success());
    footrace.wait().unwrap().code()
}

#[test]
fn terminate_is_passed_on() {
    assert_eq!(answered("TERM"), Some(7));
}

#[test]
fn hang_up_is_passed_on() {
    assert_eq!(answered("HUP"), Some(7));
}
