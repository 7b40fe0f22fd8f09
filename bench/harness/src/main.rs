//! `cargo xtask bench`: every program plain, with each detector and with the peers, in interleaved rounds.
//! `cargo xtask figures`: the papers' tables with ours beside them, from a run's results.
#![forbid(unsafe_code)]

mod build;
mod column;
mod facts;
mod figures;
mod judge;
mod machine;
mod measure;
mod papers;
mod plots;
mod pool;
mod program;
mod progress;
mod real;
mod report;
mod scaling;
mod session;
mod stats;
mod svg;
mod table;

use clap::{Parser, Subcommand};
use column::Column;
use program::{Group, Places, Program};
use session::{Session, Settings};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use table::Table;

/// What `--quick` measures: one program of each kind.
const QUICK: [&str; 6] = ["sor", "crypt", "hashmap", "queues", "pingpong", "counters"];
const DETECTORS: [&str; 7] = [
    "fasttrack",
    "redcard",
    "slimstate",
    "slimcard",
    "bigfoot",
    "bigfoot-pages",
    "bigfoot-layers",
];
const QUICK_DETECTORS: [&str; 3] = ["fasttrack", "slimstate", "bigfoot-layers"];

/// Measure the benchmark programs.
#[derive(Parser, Debug)]
#[command(
    name = "bench",
    args_conflicts_with_subcommands = true,
    // `cargo xtask bench large --rounds 3`: the last word counts.
    args_override_self = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Other>,
    /// Programs, separated by commas: `sor` (C), `sor.rs` (Rust), `pigz`; or groups: c, rust, real, all. Those of
    /// bench/programs unless given.
    #[arg(long, value_delimiter = ',', overrides_with = "programs")]
    programs: Vec<String>,
    /// Detectors, separated by commas [default: fasttrack,redcard,slimstate,slimcard,bigfoot,bigfoot-pages,bigfoot-layers].
    #[arg(long, value_delimiter = ',', overrides_with = "detectors")]
    detectors: Vec<String>,
    /// Rounds; Helgrind and DRD get one.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Two rounds of six programs with three detectors, without Valgrind, counters and scaling.
    #[arg(long)]
    quick: bool,
    /// Minutes for everything: when they run short, the most expensive cells get fewer rounds.
    #[arg(long, default_value_t = 29.5)]
    minutes: f64,
    /// Leave Helgrind and DRD out.
    #[arg(long)]
    no_valgrind: bool,
    /// Leave the growth with threads and sizes out.
    #[arg(long)]
    no_scaling: bool,
    /// Measure that only; the folder for the results keeps all else that it has.
    #[arg(long)]
    only_scaling: bool,
    /// Leave check ratios and shadow fractions out.
    #[arg(long)]
    no_counters: bool,
    /// Keep the rows of other programs that the folder for the results has.
    #[arg(long)]
    add: bool,
    /// Threads of each program.
    #[arg(long, default_value_t = 4)]
    threads: usize,
    /// Size given to each program instead of its default.
    #[arg(long)]
    size: Option<String>,
    /// Megabytes of arrays for the programs whose size decides it, instead of their default.
    #[arg(long, conflicts_with = "size")]
    megabytes: Option<u64>,
    /// The sizes at which the kernels' arrays fill 50 MB or more, where their work allows it.
    #[arg(long, conflicts_with_all = ["size", "megabytes"])]
    large: bool,
    /// Seconds after which a run is given up.
    #[arg(long, default_value_t = 40)]
    limit: u64,
    /// The same for Helgrind and DRD.
    #[arg(long, default_value_t = 15)]
    valgrind_limit: u64,
    /// Folder with the Footrace tools.
    #[arg(long, default_value = "target/dist/bin")]
    bin: PathBuf,
    /// Folder for the results.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
}

#[derive(Subcommand, Debug)]
enum Other {
    /// Write docs/figures.md and the README's figures from the results of a run.
    Figures {
        /// Folder with the results.
        #[arg(long, default_value = "bench/results")]
        results: PathBuf,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.command {
        None => run(&arguments),
        Some(Other::Figures { results }) => {
            figures::write(&repository(), &repository().join(results)).map(|()| true)
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// The root of the sources. Cargo is asked at run time: the target directory may be a copy of another checkout's.
pub(crate) fn repository() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.ancestors().nth(2).unwrap_or(&here).to_path_buf()
}

/// The programs that were named, by name or by group.
fn choose(all: &[Program], arguments: &Arguments) -> Result<Vec<Program>, String> {
    let wanted: Vec<&str> = match (arguments.programs.as_slice(), arguments.quick) {
        ([], true) => QUICK.to_vec(),
        ([], false) => vec!["c", "rust"],
        (chosen, _) => chosen.iter().map(String::as_str).collect(),
    };
    let matches = |program: &Program, word: &str| match word {
        "c" => program.group() == Group::C,
        "rust" => program.group() == Group::Rust,
        "real" => program.group() == Group::Real,
        "all" => true,
        name => program.name == name,
    };
    for word in &wanted {
        if !all.iter().any(|program| matches(program, word)) {
            let names: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
            return Err(format!(
                "no program `{word}`; there are c, rust, real, all, {}",
                names.join(", ")
            ));
        }
    }
    let chosen = all
        .iter()
        .filter(|p| wanted.iter().any(|word| matches(p, word)));
    Ok(chosen.cloned().collect())
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let repository = repository();
    let places = Places {
        bin: repository.join(&arguments.bin),
        scratch: repository.join("target/bench-build"),
        repository: repository.clone(),
    };
    let all = Program::all(&places)?;
    let programs = choose(&all, arguments)?;
    let detectors: Vec<String> = match (arguments.detectors.as_slice(), arguments.quick) {
        ([], true) => QUICK_DETECTORS.map(str::to_string).to_vec(),
        ([], false) => DETECTORS.map(str::to_string).to_vec(),
        (chosen, _) => chosen.to_vec(),
    };
    let mut columns = Column::all(&detectors, !arguments.quick && !arguments.no_valgrind);
    // Runs that are about something else than the price of checks and the races found.
    let special = arguments.large || arguments.only_scaling;
    columns.retain(|column| !special || *column != Column::Null);
    let rounds = if arguments.quick {
        2
    } else {
        arguments.rounds.max(1)
    };
    let settings = Settings {
        threads: arguments.threads,
        size: arguments.size.clone(),
        megabytes: arguments.megabytes,
        large: arguments.large,
        rounds,
        limit: Duration::from_secs(arguments.limit),
        valgrind_limit: Duration::from_secs(arguments.valgrind_limit),
        budget: Duration::try_from_secs_f64(arguments.minutes * 60.0)
            .map_err(|e| format!("--minutes {}: {e}", arguments.minutes))?,
        facts: !arguments.quick && !arguments.no_counters,
        scaling: !arguments.quick && !arguments.no_scaling,
        seeded: !special,
    };
    let table = Table::new(
        machine::describe(arguments.threads, rounds),
        columns,
        programs.iter().map(|p| p.name.clone()).collect(),
    );
    let out = repository.join(&arguments.out);
    let older = match arguments.add || arguments.only_scaling {
        true => Some(Table::read(&out.join("results.json"))?),
        false => None,
    };
    let order: Vec<String> = all.into_iter().map(|p| p.name).collect();
    let mut session = Session::new(places, settings, programs, table);
    // Results are written after each phase: a run that is interrupted leaves what it has.
    let write = |session: &Session| match &older {
        Some(older) if arguments.only_scaling => {
            write_results(&older.with_scaling_of(&session.table), &out)
        }
        Some(older) => write_results(&session.table.clone().added_to(older, &order), &out),
        None => write_results(&session.table, &out),
    };
    session.build();
    if !arguments.only_scaling {
        session.verify();
        session.rounds();
        write(&session)?;
        session.valgrind();
        write(&session)?;
    }
    if session.settings.scaling {
        session.scaling();
    }
    session.progress.end();
    write(&session)?;
    if !arguments.only_scaling {
        print!("{}", report::markdown(&session.table));
    }
    for problem in &session.problems {
        eprintln!("problem: {problem}");
    }
    Ok(session.problems.is_empty())
}

fn write_results(table: &Table, out: &Path) -> Result<(), String> {
    program::create(out)?;
    let texts = [
        ("results.md", Some(report::markdown(table))),
        ("results.csv", Some(table.csv())),
        ("results.json", Some(table.json()?)),
    ];
    for (name, text) in texts.into_iter().chain(plots::all(table)) {
        let path = out.join(name);
        let result = match text {
            Some(text) => std::fs::write(&path, text),
            // One of an earlier run would be taken for this one's.
            None if path.exists() => std::fs::remove_file(&path),
            None => Ok(()),
        };
        result.map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}
