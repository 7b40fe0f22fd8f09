//! Where and with what a run was made.

use std::collections::BTreeMap;
use std::process::Command;

/// Processor, memory, system, versions, date.
pub(crate) fn describe(threads: usize, rounds: usize) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map(|rest| rest.trim_start_matches(['\t', ':', ' ']).to_string())
        .unwrap_or_else(|| "unknown processor".to_string());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    facts.insert("machine".to_string(), format!("{cores} cores, {model}"));
    let asked: [(&str, &str, &[&str]); 6] = [
        ("kernel", "uname", &["-r"]),
        ("clang", "clang-22", &["--version"]),
        ("rustc", "rustc", &["--version"]),
        ("valgrind", "valgrind", &["--version"]),
        ("footrace", "git", &["rev-parse", "--short", "HEAD"]),
        ("date", "date", &["+%Y-%m-%d"]),
    ];
    for (name, program, arguments) in asked {
        let output = Command::new(program).args(arguments).output();
        let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
        let line = text.unwrap_or_default().lines().next().map(str::to_string);
        facts.insert(
            name.to_string(),
            line.unwrap_or_else(|| "missing".to_string()),
        );
    }
    facts.insert("threads".to_string(), threads.to_string());
    facts.insert("rounds".to_string(), rounds.to_string());
    facts
}
