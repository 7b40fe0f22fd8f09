//! Accepted reports: what changes from run to run is replaced by a name, the rest must stay. Frames of std and of system
//! headers are left out: they belong to a version of a toolchain, not to us.

use std::path::Path;

/// The report as it is compared: addresses, process and race ids and paths of this machine are gone.
pub(crate) fn normalise(report: &str, repository: &Path) -> String {
    let root = format!("{}/", repository.display());
    let mut result = String::new();
    // The program's own output stands between the reports.
    let mut in_report = false;
    for line in report.lines() {
        in_report = line.starts_with("error[") || (in_report && !line.is_empty());
        if !in_report && !line.starts_with("footrace:") {
            continue;
        }
        if line.contains(" at /rustc/") || line.contains(" at /usr/") {
            continue;
        }
        let line = line.replace(&root, "");
        let line = replace_runs(&line, "0x", |c| c.is_ascii_hexdigit(), "0x…");
        let line = replace_runs(&line, "pid ", |c| c.is_ascii_digit(), "pid …");
        let line = replace_runs(&line, "error[", |c| c.is_ascii_hexdigit(), "error[…");
        result.push_str(line.trim_end());
        result.push('\n');
    }
    result
}

/// Replaces each `prefix` followed by at least one character of the class.
fn replace_runs(line: &str, prefix: &str, class: fn(char) -> bool, with: &str) -> String {
    let mut result = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(prefix) {
        let (before, after) = rest.split_at(at);
        let tail = after.strip_prefix(prefix).unwrap_or(after);
        let end = tail.find(|c| !class(c)).unwrap_or(tail.len());
        result.push_str(before);
        result.push_str(if end == 0 { prefix } else { with });
        rest = tail.get(end..).unwrap_or("");
    }
    result + rest
}

/// The first line that differs, for a message.
pub(crate) fn difference(expected: &str, found: &str) -> Option<String> {
    let (mut a, mut b) = (expected.lines(), found.lines());
    for number in 1.. {
        match (a.next(), b.next()) {
            (None, None) => return None,
            (x, y) if x == y => {}
            (x, y) => {
                return Some(format!(
                    "report differs in line {number}\n    accepted: {}\n    now:      {}",
                    x.unwrap_or("(end)"),
                    y.unwrap_or("(end)")
                ));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_go() {
        let text = "hello\nerror[0a1b]: write at 0x7f01ab (pid 123)\n  f at /r/tests/race/x.c:3\n  \
                    g at /usr/x.h:1\n 0x\n\nbye\nfootrace: 1 race\n";
        assert_eq!(
            normalise(text, Path::new("/r")),
            "error[…]: write at 0x… (pid …)\n  f at tests/race/x.c:3\n 0x\nfootrace: 1 race\n"
        );
    }

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert!(difference("a\nb\n", "a\nc\n").is_some_and(|d| d.contains("line 2")));
        assert!(difference("a\n", "a\nb\n").is_some());
    }
}
