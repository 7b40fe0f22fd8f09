//! `cargo xtask bench`: every program plain, with each detector and with the peers, in interleaved rounds.
#![forbid(unsafe_code)]

mod column;
mod machine;
mod measure;
mod program;
mod stats;
mod svg;
mod table;

use clap::Parser;
use column::Column;
use indicatif::{ProgressBar, ProgressStyle};
use program::{Places, Program, Variant, run_command};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use table::{Cell, Table};

const BUILD_LIMIT: Duration = Duration::from_secs(900);
/// What `--quick` measures: one program of each kind.
const QUICK: [&str; 6] = ["sor", "crypt", "hashmap", "queues", "pingpong", "counters"];

/// Measure the benchmark programs.
#[derive(Parser, Debug)]
#[command(name = "bench")]
struct Arguments {
    /// Programs, separated by commas: `sor` (C), `sor.rs` (Rust); all unless given.
    #[arg(long, value_delimiter = ',')]
    programs: Vec<String>,
    /// Detectors, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "fasttrack,bigfoot")]
    detectors: Vec<String>,
    /// Rounds; Valgrind's columns get one.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Two rounds of six programs, without Valgrind.
    #[arg(long)]
    quick: bool,
    /// Leave Helgrind and DRD out.
    #[arg(long)]
    no_valgrind: bool,
    /// Threads of each program.
    #[arg(long, default_value_t = 4)]
    threads: usize,
    /// Size given to each program instead of its default.
    #[arg(long)]
    size: Option<String>,
    /// Seconds after which a run is given up.
    #[arg(long, default_value_t = 120)]
    limit: u64,
    /// Folder with the Footrace tools.
    #[arg(long, default_value = "target/dist/bin")]
    bin: PathBuf,
    /// Folder for the results.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
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

/// An executable, or the reason why there is none; with its build time.
type Built = Result<(PathBuf, f64), String>;

struct Bench<'a> {
    places: Places,
    arguments: &'a Arguments,
    bar: ProgressBar,
    built: BTreeMap<(String, String, bool), Built>,
    problems: Vec<String>,
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let repository = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .ok_or("the repository is not where it was built")?;
    let places = Places {
        bin: repository.join(&arguments.bin),
        scratch: repository.join("target/bench-build"),
        repository: repository.clone(),
    };
    let mut programs = Program::all(&places)?;
    let wanted: Vec<&str> = match (arguments.programs.as_slice(), arguments.quick) {
        ([], true) => QUICK.to_vec(),
        (chosen, _) => chosen.iter().map(String::as_str).collect(),
    };
    if let Some(unknown) = wanted
        .iter()
        .find(|w| programs.iter().all(|p| p.name != **w))
    {
        let names: Vec<&str> = programs.iter().map(|p| p.name.as_str()).collect();
        return Err(format!(
            "no program `{unknown}`; there are {}",
            names.join(", ")
        ));
    }
    if !wanted.is_empty() {
        programs.retain(|p| wanted.contains(&p.name.as_str()));
    }
    let valgrind = !arguments.quick && !arguments.no_valgrind;
    let columns = Column::all(&arguments.detectors, valgrind);
    let rounds = if arguments.quick {
        2
    } else {
        arguments.rounds.max(1)
    };
    let bar = ProgressBar::new((programs.len() * columns.len() * (rounds + 1)) as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} ({eta} left)") {
        bar.set_style(style);
    }
    let mut bench = Bench {
        places,
        arguments,
        bar,
        built: BTreeMap::new(),
        problems: Vec::new(),
    };
    let mut table = Table {
        machine: machine::describe(arguments.threads, rounds),
        programs: programs.iter().map(|p| p.name.clone()).collect(),
        cells: vec![vec![Cell::default(); columns.len()]; programs.len()],
        columns,
    };
    bench.build_all(&programs, &mut table);
    bench.measure_all(&programs, rounds, &mut table);
    bench.bar.finish_and_clear();
    write_results(&table, &repository.join(&arguments.out))?;
    print!("{}", table.markdown());
    for problem in &bench.problems {
        eprintln!("problem: {problem}");
    }
    Ok(bench.problems.is_empty())
}

impl Bench<'_> {
    fn build_all(&mut self, programs: &[Program], table: &mut Table) {
        for (p, program) in programs.iter().enumerate() {
            for (c, column) in table.columns.clone().iter().enumerate() {
                self.bar
                    .set_message(format!("build {} {column}", program.name));
                let built = self.build(program, column, Variant::Clean);
                let found = match (column, &built) {
                    (Column::Detector(_) | Column::Tsan, Ok(_)) => self.seeded(program, column),
                    _ => None,
                };
                if found == Some(false) && matches!(column, Column::Detector(_)) {
                    self.problems
                        .push(format!("{}: {column} missed the seeded race", program.name));
                }
                if let Some(cell) = table.cells.get_mut(p).and_then(|row| row.get_mut(c)) {
                    cell.seeded_found = found;
                    match built {
                        Ok((executable, seconds)) => {
                            cell.build_seconds = seconds;
                            cell.binary_bytes = executable.metadata().map_or(0, |m| m.len());
                        }
                        Err(reason) => cell.skipped = Some(reason),
                    }
                }
                self.bar.inc(1);
            }
        }
    }

    /// Builds once for all columns that share the executable.
    fn build(&mut self, program: &Program, column: &Column, variant: Variant) -> Built {
        let key = (
            program.name.clone(),
            column.build_key(),
            variant == Variant::Seeded,
        );
        if let Some(built) = self.built.get(&key) {
            return built.clone();
        }
        let built = self.build_now(program, column, variant);
        self.built.insert(key, built.clone());
        built
    }

    fn build_now(&self, program: &Program, column: &Column, variant: Variant) -> Built {
        let (command, executable) = program.build(column, variant, &self.places)?;
        let tool = command.get_program().to_string_lossy().into_owned();
        if tool.contains('/') && !Path::new(&tool).is_file() {
            return Err("the tool is not built: run `cargo xtask dist`".to_string());
        }
        let start = Instant::now();
        let run = measure::run(command, BUILD_LIMIT, &self.places.scratch)
            .map_err(|e| format!("cannot build: {e}"))?;
        match run.status {
            Some(status) if status.success() => Ok((executable, start.elapsed().as_secs_f64())),
            Some(_) => {
                let reason = run
                    .stderr
                    .lines()
                    .find(|line| line.contains("error"))
                    .or(run.stderr.lines().last())
                    .unwrap_or("no message");
                Err(format!("does not build: {reason}"))
            }
            None => Err("building takes too long".to_string()),
        }
    }

    /// Is the seeded race reported? `None` if the variant could not be built or run.
    fn seeded(&mut self, program: &Program, column: &Column) -> Option<bool> {
        let (executable, _) = self.build(program, column, Variant::Seeded).ok()?;
        let arguments = [
            self.arguments.threads.to_string(),
            program.small_size().to_string(),
        ];
        let command = run_command(column, &executable, &arguments);
        let limit = Duration::from_secs(self.arguments.limit);
        let run = measure::run(command, limit, &self.places.scratch).ok()?;
        Some(run.status?.code() == Some(66))
    }

    fn measure_all(&mut self, programs: &[Program], rounds: usize, table: &mut Table) {
        for round in 0..rounds {
            for (p, program) in programs.iter().enumerate() {
                for (c, column) in table.columns.clone().iter().enumerate() {
                    self.bar
                        .set_message(format!("round {} {} {column}", round + 1, program.name));
                    let run = self.measure(program, column, round);
                    if let Some(cell) = table.cells.get_mut(p).and_then(|row| row.get_mut(c)) {
                        match run {
                            Some(Ok((seconds, peak))) => {
                                cell.seconds.push(Some(seconds));
                                cell.peak_bytes.push(peak);
                            }
                            Some(Err(reason)) => {
                                cell.seconds.push(None);
                                cell.skipped = Some(reason);
                            }
                            None => {}
                        }
                    }
                    self.bar.inc(1);
                }
            }
        }
    }

    /// One run; `None` if there is nothing to run.
    fn measure(
        &mut self,
        program: &Program,
        column: &Column,
        round: usize,
    ) -> Option<Result<(f64, u64), String>> {
        if column.valgrind() && round > 0 {
            return None;
        }
        let (executable, _) = self.build(program, column, Variant::Clean).ok()?;
        let mut arguments = vec![self.arguments.threads.to_string()];
        arguments.extend(self.arguments.size.clone());
        let command = run_command(column, &executable, &arguments);
        let limit = Duration::from_secs(self.arguments.limit);
        let run = match measure::run(command, limit, &self.places.scratch) {
            Ok(run) => run,
            Err(error) => return Some(Err(format!("does not run: {error}"))),
        };
        let Some(status) = run.status else {
            return Some(Err(format!("over {} s", self.arguments.limit)));
        };
        // Valgrind's tools report the programs' atomics as races: their exit code says nothing about the output.
        let right = status.success() || (column.valgrind() && status.code() == Some(66));
        if !right || !run.stdout.contains("checksum=") || run.stdout.contains("WRONG") {
            let problem = format!("{} under {column}: {status}", program.name);
            if !column.valgrind() {
                self.problems.push(problem);
            }
            return Some(Err(format!("wrong result, {status}")));
        }
        Some(Ok((run.seconds, run.peak_bytes)))
    }
}

fn write_results(table: &Table, out: &Path) -> Result<(), String> {
    std::fs::create_dir_all(out).map_err(|e| format!("{}: {e}", out.display()))?;
    let shown: Vec<usize> = (0..table.columns.len())
        .filter(|c| table.columns.get(*c) != Some(&Column::Plain))
        .collect();
    let series: Vec<String> = shown
        .iter()
        .filter_map(|c| table.columns.get(*c))
        .map(Column::to_string)
        .collect();
    let slowdown = svg::bars("Time, in plain runs", &table.programs, &series, |p, s| {
        table.slowdown(p, *shown.get(s)?).map(|s| s.median)
    });
    let memory = svg::bars(
        "Peak memory, in plain runs",
        &table.programs,
        &series,
        |p, s| table.memory(p, *shown.get(s)?),
    );
    for (name, text) in [
        ("results.md", table.markdown()),
        ("results.csv", table.csv()),
        ("results.json", format!("{:#}\n", table.json())),
        ("slowdown.svg", slowdown),
        ("memory.svg", memory),
    ] {
        let path = out.join(name);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}
