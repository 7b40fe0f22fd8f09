//! One run of the benchmarks: builds, verifies, measures in interleaved rounds.

use crate::build::{Builds, Which, build_all};
use crate::column::{Column, Kind, Variant};
use crate::facts;
use crate::judge::{Fault, canonical, judge};
use crate::measure;
use crate::pool;
use crate::program::{Job, Places, Program, run_command};
use crate::progress::{Phase, Progress};
use crate::stats::summary;
use crate::table::{Facts, Table, present};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) threads: usize,
    pub(crate) size: Option<String>,
    pub(crate) megabytes: Option<u64>,
    /// The sizes that programs have for large arrays?
    pub(crate) large: bool,
    pub(crate) rounds: usize,
    pub(crate) limit: Duration,
    pub(crate) valgrind_limit: Duration,
    /// For everything.
    pub(crate) budget: Duration,
    /// Count accesses, checks and shadow locations in runs of their own?
    pub(crate) facts: bool,
    pub(crate) scaling: bool,
    /// Look for the seeded races?
    pub(crate) seeded: bool,
}

impl Settings {
    /// What detectors count in. With large arrays it is about their shadow, which any build has, and about what is left of BigFoot's checks: counters of all accesses would take too long
    /// where each has its check.
    fn counted(&self, column: &Column) -> Variant {
        match self.large && !column.places_checks() {
            true => Variant::Clean,
            false => Variant::Counted,
        }
    }

    /// The size that was chosen for a program.
    pub(crate) fn size(&self, program: &Program) -> Option<String> {
        let filled = self
            .megabytes
            .and_then(|megabytes| program.size_of(megabytes));
        let large = program.large_size().filter(|_| self.large);
        let chosen = large.map(str::to_string).or(filled);
        chosen.or_else(|| self.size.clone())
    }

    fn job(&self, program: &Program, places: &Places) -> Job {
        program.job(self.threads, self.size(program).as_deref(), places)
    }
}

/// Seeded races depend on the schedule: so many runs may miss one.
const ATTEMPTS: usize = 3;

pub(crate) struct Session {
    pub(crate) places: Places,
    pub(crate) settings: Settings,
    pub(crate) programs: Vec<Program>,
    pub(crate) table: Table,
    pub(crate) progress: Progress,
    pub(crate) problems: BTreeSet<String>,
    builds: Builds,
    /// What the plain programs print.
    references: BTreeMap<usize, Vec<u8>>,
}

/// What is looked at apart from the timed rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    Seeded,
    Facts,
}

enum Seen {
    Seeded(Option<bool>),
    Facts(Result<Facts, String>),
}

impl Session {
    pub(crate) fn new(
        places: Places,
        settings: Settings,
        programs: Vec<Program>,
        table: Table,
    ) -> Session {
        Session {
            places,
            settings,
            programs,
            table,
            progress: Progress::new(),
            problems: BTreeSet::new(),
            builds: Builds::new(),
            references: BTreeMap::new(),
        }
    }

    /// Programs and columns by number, with the column.
    fn cells(&self) -> Vec<(usize, usize, Column)> {
        let columns = self.table.columns.iter().cloned().enumerate();
        (0..self.programs.len())
            .flat_map(|p| columns.clone().map(move |(c, column)| (p, c, column)))
            .collect()
    }

    /// A counting build is only of use to the detectors.
    fn counts(&self, column: &Column) -> bool {
        self.settings.facts && column.ours()
    }

    /// Checks and accesses are counted by the program, the same for all detectors that share it: those without array shadows leave it to
    /// one that has them.
    fn counted_by_another(&self, column: &Column) -> bool {
        let simple = |column: &Column| matches!(column, Column::Detector(name) if name == "fasttrack" || name == "redcard");
        let mut others = self.table.columns.iter().filter(|c| c.ours() && !simple(c));
        simple(column) && others.any(|other| other.kind() == column.kind())
    }

    fn share_counts(&mut self) {
        let columns: Vec<usize> = (0..self.table.columns.len()).collect();
        for p in 0..self.programs.len() {
            for &c in &columns {
                let column = self.table.columns[c].clone();
                if !column.ours() || !self.counted_by_another(&column) {
                    continue;
                }
                let mut of = columns.iter().filter_map(|&other| {
                    let shares = self.table.columns[other].kind() == column.kind();
                    let facts = self.table.cell(p, other)?.facts;
                    (shares && facts.accesses.is_some()).then_some(facts)
                });
                if let Some(facts) = of.next()
                    && let Some(cell) = self.table.cell_mut(p, c)
                {
                    cell.facts.accesses = facts.accesses;
                    cell.facts.checks = facts.checks;
                }
            }
        }
    }

    fn expect(&mut self) {
        let cells = self.cells();
        let workers = pool::workers() as f64;
        let valgrind = cells.iter().filter(|(_, _, c)| c.valgrind()).count() as f64;
        let timed = cells.len() as f64 - valgrind;
        self.progress
            .expect(Phase::Verify, cells.len() as f64 * 1.5 / workers);
        self.progress
            .expect(Phase::Rounds, timed * self.settings.rounds as f64);
        let limit = self.settings.valgrind_limit.as_secs_f64();
        self.progress
            .expect(Phase::Valgrind, valgrind * limit * 0.7 / workers);
        if self.settings.scaling {
            self.progress.expect(Phase::Scaling, 200.0);
        }
    }

    pub(crate) fn build(&mut self) {
        self.expect();
        let mut wanted: BTreeSet<Which> = BTreeSet::new();
        for (p, _, column) in self.cells() {
            wanted.insert((p, column.kind(), Variant::Clean));
            let seeded = self.programs.get(p).is_some_and(Program::seeded);
            if seeded && self.settings.seeded && (column.ours() || column.peer()) {
                wanted.insert((p, column.kind(), Variant::Seeded));
            }
            if self.counts(&column) {
                wanted.insert((p, column.kind(), self.settings.counted(&column)));
            }
        }
        // Cargo would find the programs of the last run up to date, and a build would take no time.
        for kind in wanted
            .iter()
            .map(|(_, kind, variant)| kind.folder(*variant))
        {
            let _ = std::fs::remove_dir_all(self.places.scratch.join(kind));
        }
        self.builds = build_all(&self.programs, &wanted, &self.places, &mut self.progress);
        for (p, c, column) in self.cells() {
            let Some(built) = self.builds.get(&(p, column.kind(), Variant::Clean)) else {
                continue;
            };
            let Some(cell) = self.table.cell_mut(p, c) else {
                continue;
            };
            match built {
                Ok((executable, seconds)) => {
                    cell.build_seconds = Some(*seconds);
                    cell.binary_bytes = executable.metadata().ok().map(|m| m.len());
                }
                Err(reason) => {
                    cell.skipped = Some(reason.clone());
                    if !reason.starts_with("n/a") && !column.peer() {
                        let name = &self.programs[p].name;
                        self.problems.insert(format!("{name}: {column}: {reason}"));
                    }
                }
            }
        }
    }

    pub(crate) fn executable(&self, p: usize, kind: &Kind, variant: Variant) -> Option<PathBuf> {
        let built = self.builds.get(&(p, kind.clone(), variant))?;
        built.as_ref().ok().map(|(path, _)| path.clone())
    }

    /// Seeded races, and what detectors count: not timed, so several at once.
    pub(crate) fn verify(&mut self) {
        let mut tasks = Vec::new();
        for (p, c, column) in self.cells() {
            for (look, variant) in [
                (Look::Seeded, Variant::Seeded),
                (Look::Facts, self.settings.counted(&column)),
            ] {
                let wanted = match look {
                    Look::Seeded => true,
                    Look::Facts => self.counts(&column) && !self.counted_by_another(&column),
                };
                if let (true, Some(executable)) =
                    (wanted, self.executable(p, &column.kind(), variant))
                    && (column.ours() || column.peer())
                {
                    tasks.push((p, c, column.clone(), look, executable));
                }
            }
        }
        let each = 1.5 / pool::workers() as f64;
        self.progress
            .expect(Phase::Verify, tasks.len() as f64 * each);
        self.progress.begin("seeded races and counters");
        let (programs, places, settings) = (&self.programs, &self.places, &self.settings);
        let (table, progress, problems) = (&mut self.table, &mut self.progress, &mut self.problems);
        pool::run_all(
            pool::workers(),
            tasks,
            |worker, (p, c, column, look, executable)| {
                let scratch = places.scratch.join(format!("run-{worker}"));
                let seen = programs.get(p).map(|program| match look {
                    Look::Seeded => {
                        let job = program.job(settings.threads, Some(program.small_size()), places);
                        Seen::Seeded(find_seeded(&column, &executable, &job, settings, &scratch))
                    }
                    Look::Facts => {
                        let job = settings.job(program, places);
                        let name = column.to_string();
                        let limit = settings.limit;
                        Seen::Facts(facts::count(
                            &name,
                            &executable,
                            &job,
                            places,
                            limit,
                            &scratch,
                        ))
                    }
                });
                (p, c, column, seen)
            },
            |(p, c, column, seen)| {
                progress.done(Phase::Verify, each);
                let name = programs.get(p).map_or("", |program| program.name.as_str());
                progress.show(&format!("verify {name} {column}"));
                let Some(cell) = table.cell_mut(p, c) else {
                    return;
                };
                match seen {
                    Some(Seen::Seeded(found)) => {
                        cell.seeded_found = found;
                        if column.ours() && !column.samples() && found != Some(true) {
                            problems.insert(format!("{name}: {column} missed the seeded race"));
                        }
                    }
                    Some(Seen::Facts(Ok(facts))) => cell.facts = facts,
                    Some(Seen::Facts(Err(reason))) => {
                        problems.insert(format!("{name}: {column}: counters: {reason}"));
                    }
                    None => {}
                }
            },
        );
        self.share_counts();
        self.progress.expect(Phase::Verify, 0.0);
    }

    /// One run, judged: seconds, processor seconds, peak memory, and whether races were reported.
    pub(crate) fn run(
        &mut self,
        p: usize,
        column: &Column,
        job: &Job,
        limit: Duration,
    ) -> Option<Result<measure::Run, Fault>> {
        let executable = self.executable(p, &column.kind(), Variant::Clean)?;
        let scratch = self.places.scratch.join("run-0");
        let reference = self.references.get(&p).map(Vec::as_slice);
        let run = run_once(column, &executable, job, limit, &scratch, reference);
        if let (Column::Plain, Ok((run, _))) = (column, &run) {
            let printed = || canonical(job.check, &run.stdout);
            self.references.entry(p).or_insert_with(printed);
        }
        Some(match run {
            Ok((run, alarm)) => {
                self.alarm(p, column, alarm);
                Ok(run)
            }
            Err(fault) => {
                if let Fault::Wrong(why) = &fault {
                    let name = &self.programs[p].name;
                    let problem = format!("{name} under {column}: {why}");
                    if column.peer() {
                        eprintln!("note: {problem}");
                    } else {
                        self.problems.insert(problem);
                    }
                }
                Err(fault)
            }
        })
    }

    fn alarm(&mut self, p: usize, column: &Column, alarm: bool) {
        let place = self.table.column(column);
        if let Some(cell) = place.and_then(|c| self.table.cell_mut(p, c)) {
            cell.alarm |= alarm;
        }
        if let Some(program) = self.programs.get(p)
            && alarm
            && column.ours()
            && program.seeded()
        {
            let name = &program.name;
            self.problems
                .insert(format!("{name}: {column} reports races without the seed"));
        }
    }

    /// The timed rounds: each round runs every program in every column once. If time is short, the most expensive cells
    /// sit out.
    pub(crate) fn rounds(&mut self) {
        let timed: Vec<(usize, usize, Column)> = self
            .cells()
            .into_iter()
            .filter(|(_, _, column)| !column.valgrind())
            .collect();
        for round in 0..self.settings.rounds {
            let sitting_out = self.too_expensive(&timed, round);
            self.progress
                .begin(&format!("round {} of {}", round + 1, self.settings.rounds));
            for (p, c, column) in &timed {
                let skipped = self
                    .table
                    .cell(*p, *c)
                    .is_none_or(|cell| cell.skipped.is_some());
                let expected = self.expected(*p, *c);
                let late = round > 0 && self.progress.elapsed() > self.settings.budget;
                let run = if skipped || late || sitting_out.contains(&(*p, *c)) {
                    None
                } else {
                    let name = self.programs[*p].name.clone();
                    self.progress
                        .show(&format!("round {} {name} {column}", round + 1));
                    let job = self.settings.job(&self.programs[*p], &self.places);
                    self.run(*p, column, &job, self.settings.limit)
                };
                self.progress.done(Phase::Rounds, expected);
                self.record(*p, *c, run, self.settings.limit);
            }
        }
        self.progress.expect(Phase::Rounds, 0.0);
    }

    /// What a run of this cell should take.
    fn expected(&self, p: usize, c: usize) -> f64 {
        let seconds = self.table.cell(p, c).map(|cell| present(&cell.seconds));
        let known = seconds.and_then(|seconds| summary(&seconds));
        let skipped = self
            .table
            .cell(p, c)
            .is_none_or(|cell| cell.skipped.is_some());
        known.map_or(if skipped { 0.0 } else { 1.0 }, |s| s.median)
    }

    /// The cells without which the rounds that are left fit into the time that is left.
    fn too_expensive(
        &mut self,
        timed: &[(usize, usize, Column)],
        round: usize,
    ) -> BTreeSet<(usize, usize)> {
        let rounds = (self.settings.rounds - round) as f64;
        let mut costs: Vec<(f64, usize, usize)> = timed
            .iter()
            .map(|(p, c, _)| (self.expected(*p, *c), *p, *c))
            .collect();
        let mut total: f64 = costs.iter().map(|(seconds, _, _)| seconds).sum();
        self.progress.expect(Phase::Rounds, total * rounds);
        let mut out = BTreeSet::new();
        if round == 0 {
            return out;
        }
        let later =
            self.progress.expected(Phase::Valgrind) + self.progress.expected(Phase::Scaling);
        let left =
            self.settings.budget.as_secs_f64() - self.progress.elapsed().as_secs_f64() - later;
        costs.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (seconds, p, c) in costs {
            if total * rounds <= left {
                break;
            }
            // Nothing is compared without the plain run.
            if self.table.columns.get(c) != Some(&Column::Plain) {
                total -= seconds;
                out.insert((p, c));
            }
        }
        self.progress.expect(Phase::Rounds, total * rounds);
        out
    }

    fn record(
        &mut self,
        p: usize,
        c: usize,
        run: Option<Result<measure::Run, Fault>>,
        limit: Duration,
    ) {
        let Some(cell) = self.table.cell_mut(p, c) else {
            return;
        };
        let run = match run {
            Some(Ok(run)) => Some(run),
            None => None,
            Some(Err(fault)) => {
                match fault {
                    Fault::Slow(bytes) => {
                        cell.over_seconds = Some(limit.as_secs_f64());
                        cell.over_bytes = bytes;
                        cell.skipped = Some(format!("over {} s", limit.as_secs()));
                    }
                    Fault::Unable(why) => cell.skipped = Some(why),
                    Fault::Wrong(why) => cell.skipped = Some(format!("wrong result: {why}")),
                }
                None
            }
        };
        cell.seconds.push(run.as_ref().map(|run| run.seconds));
        cell.cpu_seconds
            .push(run.as_ref().map(|run| run.cpu_seconds));
        cell.peak_bytes
            .push(run.as_ref().and_then(|run| run.peak_bytes));
    }

    /// Valgrind's tools run one thread at a time: as many at once as there are processors.
    pub(crate) fn valgrind(&mut self) {
        let tasks: Vec<_> = self
            .cells()
            .into_iter()
            .filter(|(_, _, column)| column.valgrind())
            .filter_map(|(p, c, column)| {
                let executable = self.executable(p, &Kind::Plain, Variant::Clean)?;
                Some((p, c, column, executable))
            })
            .collect();
        let each = self.settings.valgrind_limit.as_secs_f64() * 0.7 / pool::workers() as f64;
        self.progress
            .expect(Phase::Valgrind, tasks.len() as f64 * each);
        self.progress.begin("Helgrind and DRD");
        let mut results = Vec::new();
        let (programs, places, settings) = (&self.programs, &self.places, &self.settings);
        let (references, progress) = (&self.references, &mut self.progress);
        pool::run_all(
            pool::workers(),
            tasks,
            |worker, (p, c, column, executable)| {
                let job = settings.job(&programs[p], places);
                let scratch = places.scratch.join(format!("run-{worker}"));
                let reference = references.get(&p).map(Vec::as_slice);
                let limit = settings.valgrind_limit;
                let run = run_once(&column, &executable, &job, limit, &scratch, reference);
                (p, c, column, run)
            },
            |(p, c, column, run)| {
                progress.done(Phase::Valgrind, each);
                progress.show(&format!("{column} {}", programs[p].name));
                results.push((p, c, column, run));
            },
        );
        for (p, c, column, run) in results {
            let run = run.map(|(run, alarm)| {
                self.alarm(p, &column, alarm);
                run
            });
            self.record(p, c, Some(run), self.settings.valgrind_limit);
        }
        self.progress.expect(Phase::Valgrind, 0.0);
    }
}

/// Is the seeded race reported in one of a few runs? `None`: each run took too long.
fn find_seeded(
    column: &Column,
    executable: &Path,
    job: &Job,
    settings: &Settings,
    scratch: &Path,
) -> Option<bool> {
    let mut ended = None;
    for _ in 0..ATTEMPTS {
        let limit = if column.valgrind() {
            settings.valgrind_limit
        } else {
            settings.limit
        };
        match run_once(column, executable, job, limit, scratch, None) {
            Ok((_, true)) => return Some(true),
            Ok((_, false)) | Err(Fault::Wrong(_)) => ended = Some(false),
            Err(Fault::Unable(_) | Fault::Slow(_)) => return ended,
        }
    }
    ended
}

fn run_once(
    column: &Column,
    executable: &Path,
    job: &Job,
    limit: Duration,
    scratch: &Path,
    reference: Option<&[u8]>,
) -> Result<(measure::Run, bool), Fault> {
    // Records of races of the run before.
    let _ = std::fs::remove_dir_all(scratch);
    let command = run_command(column, executable, job, scratch);
    let run = measure::run(command, limit, scratch)
        .map_err(|error| Fault::Unable(format!("does not run: {error}")))?;
    let races = judge(column, job, &run, reference)?;
    Ok((run, races))
}
