//! A program that runs by itself shows its races at the end, with the help of the command `footrace`.

use alloc::ffi::CString;
use alloc::format;
use alloc::vec::Vec;
use core::ffi::{c_char, c_int, c_void};

use crate::{records, start, sys, thread};

unsafe extern "C" {
    fn posix_spawnp(
        process: *mut libc::pid_t,
        file: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: *const *const c_char,
        environment: *const *const c_char,
    ) -> c_int;
    fn waitpid(process: libc::pid_t, status: *mut c_int, options: c_int) -> libc::pid_t;
}

/// Shows the races, or tells the user where the records are; nothing if `footrace run` does it. False
/// if all of them turned out to be suppressed.
pub fn at_exit() -> bool {
    let Some(runtime) = thread::runtime() else {
        return false;
    };
    if records::count() == 0 || !runtime.options.records.is_empty() {
        return records::count() != 0;
    }
    let path = records::path();
    let tool = start::variable("FOOTRACE_TOOL");
    let tool = tool.as_deref().unwrap_or("footrace");
    let mut words = Vec::from([tool, "show"]);
    if !runtime.options.suppressions.is_empty() {
        words.extend(["--suppressions", &runtime.options.suppressions]);
    }
    words.push(&path);
    match spawn(&words) {
        Some(code) => code != 0,
        None => {
            let text = format!(
                "footrace: data races found, recorded in {path}; show them with: footrace show {path}\n"
            );
            sys::write_all(2, text.as_bytes());
            true
        }
    }
}

/// Runs a command; its exit code, or none if it can't be run.
fn spawn(words: &[&str]) -> Option<i32> {
    let words: Vec<CString> = words
        .iter()
        .filter_map(|word| CString::new(*word).ok())
        .collect();
    let mut arguments: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
    arguments.push(core::ptr::null());
    let (mut process, mut status) = (0, 0);
    // SAFETY: lists that end with null, of strings that end with NUL.
    let error = unsafe {
        posix_spawnp(
            &raw mut process,
            arguments[0],
            core::ptr::null(),
            core::ptr::null(),
            arguments.as_ptr(),
            start::environment(),
        )
    };
    if error != 0 {
        return None;
    }
    // SAFETY: writes the status.
    let ended = unsafe { waitpid(process, &raw mut status, 0) };
    (ended == process && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) != 127)
        .then(|| libc::WEXITSTATUS(status))
}
