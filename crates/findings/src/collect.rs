//! Gathers the records of all processes of a run, as they grow.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use report::{Block, Module, Process, Reader};

use crate::finding::Finding;
use crate::stats::Statistics;
use crate::suppress::Suppressions;
use crate::symbols::Symbols;

/// One file, read up to a point.
#[derive(Debug, Default)]
struct Source {
    position: u64,
    reader: Reader,
    process: Option<Process>,
    modules: Vec<Module>,
    /// From the process's numbers to findings.
    numbers: BTreeMap<u32, usize>,
    /// How often each was seen again, so far.
    again: BTreeMap<u32, u64>,
    /// The process's own exit code, if it came that far.
    code: Option<i32>,
}

/// What was found, over all files.
#[derive(Debug, Default)]
pub struct Collector {
    sources: BTreeMap<PathBuf, Source>,
    symbols: Symbols,
    suppressions: Suppressions,
    findings: Vec<Finding>,
    suppressed: u64,
    statistics: Vec<Statistics>,
    /// What could not be read.
    problems: Vec<String>,
}

impl Collector {
    /// Nothing found yet.
    pub fn new(suppressions: Suppressions) -> Collector {
        Collector {
            suppressions,
            ..Collector::default()
        }
    }

    /// All unique races, in the order they were found.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many races were suppressed.
    pub fn suppressed(&self) -> u64 {
        self.suppressed
    }

    /// What the detectors did, one for each process that told.
    pub fn statistics(&self) -> &[Statistics] {
        &self.statistics
    }

    /// What could not be read, for the user.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Reads what is new in all files of a directory. Returns the new findings' indices.
    pub fn poll(&mut self, directory: &Path) -> Vec<usize> {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|e| e == "frr"))
            .collect();
        paths.sort();
        paths.iter().flat_map(|path| self.read(path)).collect()
    }

    /// Reads what is new in one file. Returns the new findings' indices.
    pub fn read(&mut self, path: &Path) -> Vec<usize> {
        let source = self.sources.entry(path.to_owned()).or_default();
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|mut file| {
            file.seek(SeekFrom::Start(source.position))?;
            file.read_to_end(&mut bytes)
        });
        if let Err(error) = read {
            self.problems
                .push(format!("cannot read {}: {error}", path.display()));
            return Vec::new();
        }
        source.position += bytes.len() as u64;
        source.reader.feed(&bytes);
        let mut fresh = Vec::new();
        while let Some(block) = source.reader.next_block() {
            match block {
                Err(error) => self.problems.push(format!("{}: {error}", path.display())),
                Ok(Block::Process(process)) => source.process = Some(process),
                Ok(Block::Modules(modules)) => source.modules = modules,
                Ok(Block::Stats(stats)) => {
                    if let Some(process) = &source.process {
                        let (symbols, modules) = (&mut self.symbols, &source.modules);
                        let statistics = Statistics::new(symbols, process, modules, stats);
                        self.statistics.push(statistics);
                    }
                }
                Ok(Block::End { code }) => source.code = Some(code),
                Ok(Block::Repeat { number, times }) => {
                    let before = source.again.insert(number, times).unwrap_or(0);
                    if let Some(&at) = source.numbers.get(&number) {
                        self.findings[at].times += times.saturating_sub(before);
                    }
                }
                Ok(Block::Race(race)) => {
                    let Some(process) = &source.process else {
                        self.problems
                            .push(format!("{}: a race before `process`", path.display()));
                        continue;
                    };
                    let finding = Finding::new(&mut self.symbols, process, &source.modules, &race);
                    if self.suppressions.cover(&finding) {
                        self.suppressed += 1;
                        continue;
                    }
                    let known = self.findings.iter().position(|old| old.id == finding.id);
                    let at = known.unwrap_or(self.findings.len());
                    source.numbers.insert(race.number, at);
                    match known {
                        Some(at) => self.findings[at].times += 1,
                        None => {
                            self.findings.push(finding);
                            fresh.push(at);
                        }
                    }
                }
            }
        }
        fresh
    }
}

/// Reads the files, and directories of files, given.
pub fn show(paths: &[PathBuf], suppressions: Suppressions) -> Collector {
    let mut collector = Collector::new(suppressions);
    for path in paths {
        if path.is_dir() {
            collector.poll(path);
        } else {
            collector.read(path);
        }
    }
    collector
}
