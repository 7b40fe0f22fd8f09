//! Reads ThreadSanitizer's text reports.

use crate::process::Ended;
use crate::program::{Pair, Program, TsanVerdict, Verdict, pair};
use std::collections::BTreeSet;

/// Options that leave data races as the only subject.
pub(crate) const OPTIONS: &str = "detect_deadlocks=0:report_thread_leaks=0:report_signal_unsafe=0:\
report_mutex_bugs=0:report_destroy_locked=0:atexit_sleep_ms=0:\
external_symbolizer_path=/usr/lib/llvm-22/bin/llvm-symbolizer";

/// The racing lines of each report, as far as they lie in `file`. A report without two such lines counts as (0, 0): it
/// is a report all the same.
pub(crate) fn pairs(stderr: &str, file: &str) -> BTreeSet<Pair> {
    let mut found = BTreeSet::new();
    for report in stderr.split("WARNING: ThreadSanitizer: ").skip(1) {
        let mut lines = Vec::new();
        let mut in_access = false;
        for line in report.lines() {
            if line.starts_with("SUMMARY:") {
                break;
            }
            if line.starts_with("  ") && !line.starts_with("   ") {
                let lower = line.trim_start().to_ascii_lowercase();
                in_access = ["read of", "write of", "atomic ", "previous "]
                    .iter()
                    .any(|start| lower.starts_with(start));
            } else if in_access
                && line.trim_start().starts_with('#')
                && let Some(number) = line_in(line, file)
            {
                lines.push(number);
                in_access = false;
            }
        }
        found.insert(match lines.as_slice() {
            [a, b, ..] => pair(*a, *b),
            _ => (0, 0),
        });
    }
    found
}

/// The line number in a frame such as `#0 main /some/where/file.c:12:3 (a.out+0x1234)`.
fn line_in(frame: &str, file: &str) -> Option<u32> {
    let start = frame.find(&format!("/{file}:"))? + file.len() + 2;
    let digits: String = frame
        .get(start..)?
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// What ThreadSanitizer made of the program.
pub(crate) fn judge(program: &Program, ended: &Ended) -> TsanVerdict {
    let Some(file) = program.source.file_name().and_then(|f| f.to_str()) else {
        return TsanVerdict::Crashes;
    };
    let found = pairs(&ended.stderr, file);
    let died = [
        "DEADLYSIGNAL",
        "CHECK failed",
        "FATAL: ",
        "not supported. Dying",
    ]
    .iter()
    .any(|word| ended.stderr.contains(word));
    let alarm = found.iter().any(|p| !program.pairs.contains(p));
    let missed = program.pairs.iter().any(|p| !found.contains(p));
    let race = program.verdict != Verdict::NoRace;
    if ended.status.is_none() {
        TsanVerdict::Hangs
    } else if !program.ends_by_signal && (died || ended.signal().is_some()) {
        TsanVerdict::Crashes
    } else if alarm {
        TsanVerdict::FalseAlarm
    } else if missed {
        TsanVerdict::Misses
    } else if race && !program.ends_by_signal && ended.code() != Some(66) {
        TsanVerdict::ExitsZero
    } else if !race && ended.code() != Some(program.exit) {
        TsanVerdict::Crashes
    } else {
        TsanVerdict::Right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_report() {
        let text = "\
WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 4 at 0x1 by thread T2:
    #0 memcpy libc.c:3:1 (a+0x1)
    #1 second /a/b/x.c:14:10 (a+0x1)

  Previous write of size 4 at 0x1 by thread T1:
    #0 first /a/b/x.c:7:10 (a+0x1)

  Thread T2 (tid=1, running) created by main thread at:
    #0 pthread_create <null> (a+0x1)
    #1 main /a/b/x.c:20:1 (a+0x1)

SUMMARY: ThreadSanitizer: data race /a/b/x.c:14:10 in second
";
        assert_eq!(pairs(text, "x.c"), [(7, 14)].into_iter().collect());
        assert_eq!(pairs(text, "y.c"), [(0, 0)].into_iter().collect());
        assert!(pairs("quiet", "x.c").is_empty());
    }
}
