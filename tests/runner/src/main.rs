//! `cargo xtask test` runs this: every program of the suite is built, run and judged.
#![forbid(unsafe_code)]

mod footrace;
mod golden;
mod judge;
mod process;
mod program;
mod recorded;
mod table;
mod tool;
mod tsan;

use clap::Parser;
use judge::{Detectors, Options, Outcome};
use program::{Program, Verdict};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tool::{Places, Tool};

/// Build and judge the programs of tests/race, tests/norace, tests/known-miss and tests/cargo.
#[derive(Parser, Debug)]
#[command(name = "corpus")]
struct Arguments {
    /// Only programs whose path contains one of these.
    filters: Vec<String>,
    /// Who judges.
    #[arg(long, value_enum, default_value = "footrace")]
    tool: Tool,
    /// Detectors to run under, separated by commas. By default fasttrack and bigfoot-layers, and some programs under the others.
    #[arg(long, value_delimiter = ',')]
    detectors: Vec<String>,
    /// Every program under every exact detector.
    #[arg(long, conflicts_with = "detectors")]
    all: bool,
    /// Runs of each program.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Programs at a time.
    #[arg(long, short, default_value_t = 2)]
    jobs: usize,
    /// Do not also record each program's run and judge the trace.
    #[arg(long)]
    unrecorded: bool,
    /// Accept the reports as they are now.
    #[arg(long)]
    bless: bool,
    /// Folder with `footrace` and the compiler wrappers.
    #[arg(long, default_value = "target/dist/bin")]
    bin: PathBuf,
    /// With `--tool tsan`: write the comparison table (Markdown) here.
    #[arg(long)]
    table: Option<PathBuf>,
    /// List the programs and stop.
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let repository = repository()?;
    let mut programs = Program::all(&repository.join("tests"))?;
    programs.retain(|program| {
        let path = program.source.to_string_lossy();
        arguments.filters.is_empty() || arguments.filters.iter().any(|f| path.contains(f.as_str()))
    });
    if programs.is_empty() {
        return Err("no program has such a name; `--list` shows all".to_string());
    }
    if arguments.list {
        for program in &programs {
            println!(
                "{}/{}: {}",
                program.verdict.folder(),
                program.name,
                program.summary
            );
        }
        return Ok(true);
    }
    let places = Places {
        bin: repository.join(&arguments.bin),
        scratch: repository.join("target/corpus"),
        repository,
    };
    if arguments.tool == Tool::Footrace && !places.bin.join("footrace").is_file() {
        return Err(format!(
            "{} is missing; `cargo xtask dist` builds it",
            places.bin.join("footrace").display()
        ));
    }
    let options = Options {
        tool: arguments.tool,
        detectors: match arguments.detectors.as_slice() {
            [] if arguments.all => Detectors::All,
            [] => Detectors::Some,
            chosen => Detectors::Chosen(chosen.to_vec()),
        },
        repeat: arguments.repeat,
        bless: arguments.bless,
        recorded: !arguments.unrecorded,
        processor: processor_flags(),
    };
    let results = judge_all(&programs, &options, &places, arguments.jobs.max(1));
    if let Some(path) = &arguments.table {
        let text = table::markdown(&programs, &results);
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(summary(&programs, &results))
}

/// The workspace this program was built from.
fn repository() -> Result<PathBuf, String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    folder
        .ancestors()
        .nth(2)
        .map(PathBuf::from)
        .ok_or_else(|| "the repository is not where it was built".to_string())
}

fn processor_flags() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .find(|line| line.starts_with("flags"))
        .map(|line| line.split_whitespace().map(str::to_string).collect())
        .unwrap_or_default()
}

fn judge_all(
    programs: &[Program],
    options: &Options,
    places: &Places,
    jobs: usize,
) -> Vec<judge::Result> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, judge::Result)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((index, program)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    programs.get(index).map(|program| (index, program))
                } {
                    let result = judge::judge(program, options, places);
                    let title = format!("{}/{}", program.verdict.folder(), program.name);
                    match &result.outcome {
                        Outcome::Passed => println!("ok       {title}"),
                        Outcome::Skipped(why) => println!("skipped  {title}: {why}"),
                        Outcome::Surprise => println!("SURPRISE {title}: no longer missed"),
                        Outcome::Failed(why) => println!("FAILED   {title}: {why}"),
                    }
                    if let Ok(mut all) = results.lock() {
                        all.push((index, result));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Prints the last lines; true if all is well. A known miss that is found is no failure of the tool but has to be dealt
/// with, so it fails the suite.
fn summary(programs: &[Program], results: &[judge::Result]) -> bool {
    let mut failed = Vec::new();
    let mut surprises = Vec::new();
    let (mut passed, mut skipped, mut missed) = (0, 0, 0);
    for (program, result) in programs.iter().zip(results) {
        let title = format!("{}/{}", program.verdict.folder(), program.name);
        match result.outcome {
            Outcome::Passed => passed += 1,
            Outcome::Skipped(_) => skipped += 1,
            Outcome::Surprise => surprises.push(title),
            Outcome::Failed(_) => failed.push(title),
        }
        if program.verdict == Verdict::KnownMiss && matches!(result.outcome, Outcome::Passed) {
            missed += 1;
        }
    }
    for title in &failed {
        println!("failed: {title}");
    }
    for title in &surprises {
        println!("no longer missed, move it to tests/race: {title}");
    }
    println!(
        "{passed} passed, {} failed, {skipped} skipped, {missed} known misses, {} surprises",
        failed.len(),
        surprises.len()
    );
    failed.is_empty() && surprises.is_empty()
}
