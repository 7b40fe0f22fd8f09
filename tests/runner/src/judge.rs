//! Runs one program under one tool and says whether all is as it should be.

use crate::footrace::Report;
use crate::program::{Language, Pair, Program, TsanVerdict, Verdict};
use crate::tool::{Places, Tool, build, execute};
use crate::{footrace, golden, recorded, tool, tsan};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// What came of a program.
#[derive(Debug)]
pub(crate) enum Outcome {
    Passed,
    /// It could not be run on this machine.
    Skipped(String),
    /// A known miss that was found: move it to tests/race.
    Surprise,
    Failed(String),
}

/// A finished program.
#[derive(Debug)]
pub(crate) struct Result {
    pub(crate) outcome: Outcome,
    /// With `--tool tsan`: what ThreadSanitizer made of it.
    pub(crate) tsan: Option<TsanVerdict>,
}

impl Result {
    fn of(outcome: Outcome) -> Result {
        Result {
            outcome,
            tsan: None,
        }
    }
}

/// Which detectors a program runs under.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Detectors {
    /// These.
    Chosen(Vec<String>),
    /// The ones that users meet; every third program under the others as well. A build for each placement takes its time.
    Some,
    /// All that find every race.
    All,
}

/// FastTrack on every access, and the default.
const ALWAYS: [&str; 2] = ["fasttrack", "bigfoot-layers"];
/// The others that are exact.
const OTHERS: [&str; 8] = [
    "djit",
    "slimstate",
    "slimstate-bb",
    "redcard",
    "slimcard",
    "bigfoot",
    "bigfoot-bb",
    "bigfoot-pages",
];

impl Detectors {
    /// Those for one program; the same ones each time.
    fn of(&self, program: &Program) -> Vec<String> {
        let others = match self {
            Detectors::Chosen(names) => return names.clone(),
            Detectors::All => true,
            Detectors::Some => program.name.bytes().map(u32::from).sum::<u32>() % 3 == 0,
        };
        let others = OTHERS.iter().filter(|_| others);
        ALWAYS
            .iter()
            .chain(others)
            .map(|name| (*name).to_owned())
            .collect()
    }
}

/// How to judge.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) tool: Tool,
    pub(crate) detectors: Detectors,
    pub(crate) repeat: u32,
    pub(crate) bless: bool,
    /// Also record a run and judge its trace.
    pub(crate) recorded: bool,
    /// Flags of the processor.
    pub(crate) processor: Vec<String>,
}

/// Builds, runs and judges.
pub(crate) fn judge(program: &Program, options: &Options, places: &Places) -> Result {
    if let Some(needs) = &program.needs
        && !options.processor.contains(needs)
    {
        return Result::of(Outcome::Skipped(format!("the processor has no {needs}")));
    }
    let detectors = options.detectors.of(program);
    let mut executables = BTreeMap::new();
    for detector in &detectors {
        let placement = tool::placement(detector);
        if !executables.contains_key(placement) {
            match build(program, options.tool, placement, places) {
                Ok(executable) => executables.insert(placement, executable),
                Err(error) => return Result::of(Outcome::Failed(error)),
            };
        }
    }
    let executable = executables.values().next().cloned().unwrap_or_default();
    let mut result = Result::of(Outcome::Passed);
    for _ in 0..options.repeat {
        match options.tool {
            Tool::Plain => {
                result.outcome = match execute(program, options.tool, "", places, &executable) {
                    Err(error) => Outcome::Failed(error),
                    Ok(ended) if program.ends_by_signal && ended.signal().is_some() => {
                        Outcome::Passed
                    }
                    Ok(ended) if ended.code() == Some(program.exit) => Outcome::Passed,
                    Ok(ended) => Outcome::Failed(ended.describe()),
                };
            }
            Tool::Tsan => match execute(program, options.tool, "", places, &executable) {
                Err(error) => result.outcome = Outcome::Failed(error),
                Ok(ended) => {
                    let verdict = match program.tsan {
                        TsanVerdict::Varies => TsanVerdict::Varies,
                        _ => tsan::judge(program, &ended),
                    };
                    result.tsan = Some(verdict);
                    if verdict != program.tsan {
                        result.outcome = Outcome::Failed(format!(
                            "ThreadSanitizer: {} ({}), the file says {}\n{}",
                            verdict.name(),
                            ended.describe(),
                            program.tsan.name(),
                            ended.stderr
                        ));
                    }
                }
            },
            Tool::Footrace => {
                for detector in &detectors {
                    let Some(executable) = executables.get(tool::placement(detector)) else {
                        continue;
                    };
                    result.outcome =
                        match footrace_once(program, detector, options, places, executable) {
                            Ok(outcome) => outcome,
                            Err(error) => Outcome::Failed(format!("{detector}: {error}")),
                        };
                    if matches!(result.outcome, Outcome::Failed(_)) {
                        return result;
                    }
                }
                if options.recorded
                    && program.recorded
                    && let Some(executable) = executables.get("all")
                    && let Err(error) = recorded::check(program, places, executable)
                {
                    result.outcome = Outcome::Failed(error);
                    return result;
                }
                if options.recorded
                    && program.recorded
                    && let Err(error) = recorded_moved(program, &executables, options, places)
                {
                    result.outcome = Outcome::Failed(error);
                }
            }
        }
        if matches!(result.outcome, Outcome::Failed(_)) {
            break;
        }
    }
    result
}

/// Records a run with checks that were moved, for the placements that were judged. A Rust program takes long to link: there only where all
/// detectors were.
fn recorded_moved(
    program: &Program,
    executables: &BTreeMap<&str, std::path::PathBuf>,
    options: &Options,
    places: &Places,
) -> std::result::Result<(), String> {
    let rust = matches!(program.language, Language::Rust | Language::Cargo);
    if rust && !executables.contains_key("redcard") {
        return Ok(());
    }
    for placement in ["bigfoot", "redcard"] {
        if executables.contains_key(placement) && !(rust && placement == "redcard") {
            let placement = format!("{placement}{}", tool::WITNESS);
            let executable = build(program, options.tool, &placement, places)?;
            recorded::check_moved(program, places, &placement, &executable)?;
        }
    }
    Ok(())
}

fn footrace_once(
    program: &Program,
    detector: &str,
    options: &Options,
    places: &Places,
    executable: &std::path::Path,
) -> std::result::Result<Outcome, String> {
    let ended = execute(program, Tool::Footrace, detector, places, executable)?;
    if ended.status.is_none() {
        return Err(format!("no end after {:?}", program.timeout));
    }
    let said = |what: String| format!("{what}; {}\n{}", ended.describe(), ended.stderr);
    let folder = places.folder(program, Tool::Footrace, tool::placement(detector));
    let json = folder.join("report.json");
    let json = fs::read_to_string(&json).map_err(|e| said(format!("no JSON report: {e}")))?;
    let file = program
        .source
        .file_name()
        .and_then(|f| f.to_str())
        .unwrap_or("");
    let reports = footrace::reports(&json, file).map_err(said)?;
    let missing = |expected: &BTreeSet<Pair>| -> Vec<Pair> {
        let is_found = |pair: &Pair| reports.iter().any(|report| report.names(*pair));
        expected.iter().copied().filter(|p| !is_found(p)).collect()
    };
    let beyond = |expected: &BTreeSet<Pair>| -> Vec<Pair> {
        let is_right = |r: &&Report| expected.iter().any(|pair| r.names(*pair));
        let wrong = reports.iter().filter(|report| !is_right(report));
        wrong.map(Report::pair).collect()
    };
    if program.verdict == Verdict::KnownMiss && !reports.is_empty() {
        let surprise = missing(&program.pairs).is_empty() && beyond(&program.pairs).is_empty();
        return if surprise {
            Ok(Outcome::Surprise)
        } else {
            let lines: Vec<Pair> = reports.iter().map(Report::pair).collect();
            Err(said(format!("unexpected reports at lines {lines:?}")))
        };
    }
    let expected = match program.verdict {
        Verdict::Race => program.pairs.clone(),
        Verdict::NoRace | Verdict::KnownMiss => Default::default(),
    };
    let (missed, extra) = (missing(&expected), beyond(&expected));
    if !missed.is_empty() {
        let found: Vec<Pair> = reports.iter().map(Report::pair).collect();
        return Err(said(format!("missed: {missed:?}, found: {found:?}")));
    }
    if !extra.is_empty() {
        return Err(said(format!("false alarm: {extra:?}")));
    }
    let code = if expected.is_empty() {
        program.exit
    } else {
        66
    };
    if ended.code() != Some(code) {
        return Err(said(format!("exit code {code} expected")));
    }
    // Which functions of its dependencies a cargo project's threads pass through depends on their version
    // and on the schedule: there the pairs of lines, judged above, are the verdict.
    if expected.is_empty() || program.language == Language::Cargo {
        return Ok(Outcome::Passed);
    }
    compare(program, detector, options, places, &ended.stderr)
}

/// Compares with the accepted report, the detector's own if it has one. Where checks are moved, a report names other lines and
/// more of them, and where they are put off, the side that is checked last comes last; there the verdict above is enough, unless
/// somebody accepted a report of that detector.
fn compare(
    program: &Program,
    detector: &str,
    options: &Options,
    places: &Places,
    report: &str,
) -> std::result::Result<Outcome, String> {
    let now = golden::normalise(report, &places.repository);
    let own = program.golden(Some(detector));
    let common = program.golden(None);
    let moved = tool::placement(detector) != "all" || detector.starts_with("slimstate");
    if moved && !own.exists() {
        return Ok(Outcome::Passed);
    }
    let accepted = fs::read_to_string(&own)
        .or_else(|_| fs::read_to_string(&common))
        .ok();
    match (accepted, options.bless) {
        (Some(accepted), _) if accepted == now => Ok(Outcome::Passed),
        (accepted, true) => {
            // The first detector's report is the common one, the others get their own if they differ.
            let first = options
                .detectors
                .of(program)
                .first()
                .is_some_and(|d| d == detector);
            let path = if first || accepted.is_none() {
                &common
            } else {
                &own
            };
            fs::write(path, now).map_err(|e| format!("{}: {e}", path.display()))?;
            Ok(Outcome::Passed)
        }
        (Some(accepted), false) => {
            Err(golden::difference(&accepted, &now).unwrap_or_else(|| "report differs".to_string()))
        }
        (None, false) => Err(format!(
            "no accepted report {}; look at the report and run with --bless\n{now}",
            common.display()
        )),
    }
}
