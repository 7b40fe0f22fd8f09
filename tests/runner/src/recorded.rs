//! A recorded run: the trace of an execution, judged by any detector, says what was said while it ran; and where checks were moved, they
//! race on the very bytes on which the accesses of the same run race.

use crate::program::{Pair, Program, pair};
use crate::tool::{Places, Tool};
use crate::{footrace, process, tool};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const TRACE: &str = "recorded.ftr";
/// The detector that watches the run.
const ONLINE: &str = "fasttrack";
/// Those that judge the trace; they promise the same racy bytes.
const DETECTORS: [&str; 4] = [ONLINE, "djit", "slimstate", "rex"];

/// Records a run under `detector` in `folder`: how it ended, and the JSON.
fn record(
    program: &Program,
    places: &Places,
    (folder, executable): (&Path, &Path),
    detector: &str,
) -> Result<(process::Ended, String), String> {
    let trace = folder.join(TRACE);
    remove_traces(folder)?;
    let json = folder.join("recorded.json");
    let _ = std::fs::remove_file(&json);
    let mut command = Command::new(places.bin.join("footrace"));
    command
        .args(["run", "--detector", detector, "--json"])
        .arg(&json)
        .arg("--record")
        .arg(&trace)
        .arg("--")
        .arg(executable);
    let ended = process::run(command, 2 * program.timeout, folder)
        .map_err(|e| format!("cannot run: {e}"))?;
    let online = std::fs::read_to_string(&json);
    let online = online.map_err(|e| format!("no JSON: {e}\n{}", ended.stderr))?;
    if !trace.is_file() {
        return Err(format!("no trace\n{}", ended.stderr));
    }
    Ok((ended, online))
}

/// Records the program, which tells of its accesses, and compares them with its checks.
pub(crate) fn check_moved(
    program: &Program,
    places: &Places,
    placement: &str,
    executable: &Path,
) -> Result<(), String> {
    let folder = places.folder(program, Tool::Footrace, placement);
    let detector = match placement.strip_suffix(tool::WITNESS) {
        Some("redcard") => "redcard",
        _ => "bigfoot-pages",
    };
    let said = |what: String| format!("recorded with {placement}: {what}");
    record(program, places, (&folder, executable), detector).map_err(said)?;
    let accesses = |path: &Path| path.extension().is_some_and(|e| e == "accesses");
    if !traces(&folder).iter().any(|path| accesses(path)) {
        return Err(said("the program told of no access".to_string()));
    }
    for trace in traces(&folder).iter().filter(|path| !accesses(path)) {
        let mut witnessed = trace.clone().into_os_string();
        witnessed.push(".accesses");
        let witnessed = PathBuf::from(witnessed);
        if !witnessed.is_file() {
            // A process that made no access, such as a child that became another program.
            continue;
        }
        let judge = |trace: &Path| analyze(places, &folder, trace, ONLINE, program);
        let (checks, accesses) = (judge(trace)?, judge(&witnessed)?);
        let racy = |report: &Value| report.get("racy_locations").cloned();
        if racy(&checks) != racy(&accesses) {
            return Err(said(format!(
                "checks race on {:?}, accesses on {:?}",
                racy(&checks),
                racy(&accesses)
            )));
        }
    }
    remove_traces(&folder)
}

/// Records the program and compares.
pub(crate) fn check(program: &Program, places: &Places, executable: &Path) -> Result<(), String> {
    let folder = places.folder(program, Tool::Footrace, "all");
    let (ended, online) = record(program, places, (&folder, executable), ONLINE)
        .map_err(|e| format!("recorded: {e}"))?;
    let said = |what: String| format!("recorded: {what}; {}\n{}", ended.describe(), ended.stderr);
    let file = program.source.file_name().and_then(|f| f.to_str());
    let file = file.unwrap_or("");
    let expected = footrace::reports(&online, file).map_err(said)?;
    let expected: BTreeSet<Pair> = expected.iter().map(footrace::Report::pair).collect();
    let mut found = BTreeSet::new();
    let mut racy = Vec::new();
    for trace in traces(&folder) {
        let judge = |detector| analyze(places, &folder, &trace, detector, program);
        let first = judge(ONLINE)?;
        for detector in &DETECTORS[1..] {
            let other = judge(detector)?;
            let (a, b) = (first.get("racy_locations"), other.get("racy_locations"));
            if a != b {
                return Err(format!("{ONLINE} of the trace: {a:?}, {detector}: {b:?}"));
            }
        }
        found.extend(pairs(&first, file));
        racy.extend(runs(&first));
    }
    if found != expected {
        return Err(said(format!(
            "online {expected:?}, from the trace {found:?}"
        )));
    }
    for address in addresses(&online) {
        if !racy.iter().any(|run| run.contains(&address)) {
            return Err(said(format!("{address:#x} races online, not in the trace")));
        }
    }
    remove_traces(&folder)
}

/// Those of an earlier run would pass for this one's, and those of all programs fill a disk; what is left there did not pass.
fn remove_traces(folder: &Path) -> Result<(), String> {
    for old in traces(folder) {
        std::fs::remove_file(&old).map_err(|e| format!("{}: {e}", old.display()))?;
    }
    let _ = std::fs::remove_dir_all(folder.join(format!("{TRACE}.logs")));
    Ok(())
}

/// The traces of all processes.
fn traces(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy());
            name.is_some_and(|name| name.starts_with(TRACE)) && path.is_file()
        })
        .collect();
    paths.sort();
    paths
}

fn analyze(
    places: &Places,
    folder: &Path,
    trace: &Path,
    detector: &str,
    program: &Program,
) -> Result<Value, String> {
    let mut command = Command::new(places.bin.join("footrace"));
    command
        .args(["analyze", "--json", "--detector", detector])
        .arg(trace);
    let ended = process::run(command, 2 * program.timeout, folder)
        .map_err(|e| format!("cannot analyze: {e}"))?;
    if !matches!(ended.code(), Some(0 | 66)) {
        let trace = trace.display();
        return Err(format!(
            "{detector} of {trace}: {}\n{}",
            ended.describe(),
            ended.stderr
        ));
    }
    serde_json::from_str(&ended.stdout).map_err(|e| format!("{detector}: bad JSON: {e}"))
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    let list = value.get(key).and_then(Value::as_array);
    list.into_iter().flatten()
}

/// As for reports: of each side the innermost frame in the file. A site is `file:line function < file:line function …`.
fn pairs(report: &Value, file: &str) -> BTreeSet<Pair> {
    let line = |side: Option<&Value>| {
        let site = side?.get("site")?.as_str()?;
        site.split(" < ").find_map(|frame| {
            let (path, line) = frame.split(' ').next()?.rsplit_once(':')?;
            let name = path.rsplit('/').next()?;
            (name == file).then(|| line.parse().ok()).flatten()
        })
    };
    list(report, "races")
        .map(
            |race| match (line(race.get("first")), line(race.get("second"))) {
                (Some(a), Some(b)) => pair(a, b),
                _ => (0, 0),
            },
        )
        .collect()
}

fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The racy bytes of a trace.
fn runs(report: &Value) -> Vec<std::ops::Range<u64>> {
    let run = |text: &str| match text.split_once("..") {
        Some((start, end)) => Some(number(start)?..number(end)?),
        None => number(text).map(|at| at..at + 1),
    };
    list(report, "racy_locations")
        .filter_map(|text| run(text.as_str()?))
        .collect()
}

/// The first racy byte of each report of the run.
fn addresses(json: &str) -> Vec<u64> {
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    list(&value, "races")
        .filter_map(|race| number(race.get("address")?.as_str()?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_analyze_prints() {
        let report: Value = serde_json::from_str(
            r#"{"racy_locations": ["0x10..0x14", "0x20"], "races": [
                {"first": {"site": "/lib/string.h:3 copy < x.c:14 f"}, "second": {"site": "/t/x.c:7 g < x.c:30 f"}},
                {"first": {"site": null}, "second": {"site": "/t/x.c:7 g"}}]}"#,
        )
        .unwrap();
        assert_eq!(runs(&report), [0x10..0x14, 0x20..0x21]);
        let found: Vec<_> = pairs(&report, "x.c").into_iter().collect();
        assert_eq!(found, [(0, 0), (7, 14)]);
    }
}
