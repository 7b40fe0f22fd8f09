//! What was measured, as Markdown, CSV and JSON.

use crate::column::Column;
use crate::stats::{Summary, geometric_mean, summary};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// One program in one column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// Why there are no runs.
    pub(crate) skipped: Option<String>,
    /// Seconds of each round; `None` where a run failed or was not made.
    pub(crate) seconds: Vec<Option<f64>>,
    pub(crate) peak_bytes: Vec<u64>,
    pub(crate) binary_bytes: u64,
    pub(crate) build_seconds: f64,
    /// Was the seeded race found? Only for columns that find races.
    pub(crate) seeded_found: Option<bool>,
}

/// The whole run.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) machine: BTreeMap<String, String>,
    pub(crate) columns: Vec<Column>,
    pub(crate) programs: Vec<String>,
    /// By program, then column, as in the lists above.
    pub(crate) cells: Vec<Vec<Cell>>,
}

impl Table {
    fn plain(&self, program: usize) -> Option<&Cell> {
        let at = self.columns.iter().position(|c| *c == Column::Plain)?;
        self.cells.get(program)?.get(at)
    }

    fn cell(&self, program: usize, column: usize) -> Option<&Cell> {
        self.cells.get(program)?.get(column)
    }

    /// Time in plain runs: the ratios within each round.
    pub(crate) fn slowdown(&self, program: usize, column: usize) -> Option<Summary> {
        let plain = self.plain(program)?;
        let cell = self.cell(program, column)?;
        let ratios: Vec<f64> = cell
            .seconds
            .iter()
            .zip(&plain.seconds)
            .filter_map(|(ours, plain)| Some((*ours)? / (*plain)?))
            .collect();
        summary(&ratios)
    }

    /// Peak memory in plain runs' peak memory.
    pub(crate) fn memory(&self, program: usize, column: usize) -> Option<f64> {
        let median = |cell: &Cell| {
            let values: Vec<f64> = cell.peak_bytes.iter().map(|b| *b as f64).collect();
            summary(&values).map(|s| s.median)
        };
        Some(median(self.cell(program, column)?)? / median(self.plain(program)?)?)
    }

    /// The geometric mean of a column over the programs that `which` has in every one of the columns named.
    fn mean(&self, column: usize, value: impl Fn(usize, usize) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = (0..self.programs.len())
            .filter_map(|program| value(program, column))
            .collect();
        geometric_mean(&values)
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = String::from("# Benchmarks\n\n");
        for (key, value) in &self.machine {
            let _ = writeln!(text, "- {key}: {value}");
        }
        text.push_str(
            "\nRatios to the plain run of the same round; median (least to most). **Bold**: slower than ThreadSanitizer, or \
             more memory.\n",
        );
        let slow = |p: usize, c: usize| self.slowdown(p, c).map(|s| s.median);
        self.section(&mut text, "Time", slow, |p, c| {
            self.slowdown(p, c).map(|s| {
                if s.least == s.most {
                    format!("{:.2}", s.median)
                } else {
                    format!("{:.2} ({:.2} to {:.2})", s.median, s.least, s.most)
                }
            })
        });
        let memory = |p: usize, c: usize| self.memory(p, c);
        self.section(&mut text, "Peak memory", memory, |p, c| {
            self.memory(p, c).map(|m| format!("{m:.2}"))
        });
        self.plain_section(&mut text, "Size of the binary, KiB", |cell| {
            (cell.binary_bytes > 0).then(|| format!("{}", cell.binary_bytes / 1024))
        });
        self.plain_section(&mut text, "Build time, seconds", |cell| {
            (cell.build_seconds > 0.0).then(|| format!("{:.2}", cell.build_seconds))
        });
        self.plain_section(&mut text, "Seeded race found", |cell| {
            cell.seeded_found
                .map(|found| if found { "yes" } else { "**no**" }.to_string())
        });
        self.reasons(&mut text);
        text
    }

    fn header(&self, text: &mut String, title: &str) {
        let _ = write!(text, "\n## {title}\n\n| program |");
        for column in &self.columns {
            let _ = write!(text, " {column} |");
        }
        text.push_str("\n|---|");
        for _ in &self.columns {
            text.push_str("---|");
        }
        text.push('\n');
    }

    fn section(
        &self,
        text: &mut String,
        title: &str,
        value: impl Fn(usize, usize) -> Option<f64>,
        show: impl Fn(usize, usize) -> Option<String>,
    ) {
        self.header(text, title);
        let tsan = self.columns.iter().position(|c| *c == Column::Tsan);
        for (program, name) in self.programs.iter().enumerate() {
            let _ = write!(text, "| {name} |");
            let bar = tsan.and_then(|tsan| value(program, tsan));
            for (column, kind) in self.columns.iter().enumerate() {
                let shown = show(program, column).unwrap_or_default();
                let behind = matches!(kind, Column::Detector(_))
                    && matches!((value(program, column), bar), (Some(ours), Some(bar)) if ours > bar);
                let _ = match behind {
                    true => write!(text, " **{shown}** |"),
                    false => write!(text, " {shown} |"),
                };
            }
            text.push('\n');
        }
        text.push_str("| geometric mean |");
        for column in 0..self.columns.len() {
            let mean = self.mean(column, &value);
            let _ = match mean {
                Some(mean) => write!(text, " {mean:.2} |"),
                None => write!(text, " |"),
            };
        }
        text.push('\n');
    }

    fn plain_section(
        &self,
        text: &mut String,
        title: &str,
        show: impl Fn(&Cell) -> Option<String>,
    ) {
        self.header(text, title);
        for (program, name) in self.programs.iter().enumerate() {
            let _ = write!(text, "| {name} |");
            for column in 0..self.columns.len() {
                let shown = self.cell(program, column).and_then(&show);
                let _ = write!(text, " {} |", shown.unwrap_or_default());
            }
            text.push('\n');
        }
    }

    fn reasons(&self, text: &mut String) {
        let mut reasons: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
        for (program, cells) in self.programs.iter().zip(&self.cells) {
            for (column, cell) in self.columns.iter().zip(cells) {
                if let Some(reason) = &cell.skipped {
                    let key = (column.to_string(), reason.clone());
                    reasons.entry(key).or_default().push(program);
                }
            }
        }
        if !reasons.is_empty() {
            text.push_str("\n## Left out\n\n");
        }
        for ((column, reason), programs) in reasons {
            let _ = writeln!(text, "- {column}: {reason} ({})", programs.join(", "));
        }
    }

    pub(crate) fn csv(&self) -> String {
        let mut text = String::from(
            "program,column,round,seconds,peak_bytes,binary_bytes,build_seconds,slowdown_median\n",
        );
        for (p, program) in self.programs.iter().enumerate() {
            for (c, column) in self.columns.iter().enumerate() {
                let Some(cell) = self.cell(p, c) else {
                    continue;
                };
                let slowdown = self.slowdown(p, c).map(|s| format!("{:.4}", s.median));
                for (round, seconds) in cell.seconds.iter().enumerate() {
                    let _ = writeln!(
                        text,
                        "{program},{column},{round},{},{},{},{:.3},{}",
                        seconds.map(|s| format!("{s:.6}")).unwrap_or_default(),
                        cell.peak_bytes.get(round).copied().unwrap_or(0),
                        cell.binary_bytes,
                        cell.build_seconds,
                        slowdown.clone().unwrap_or_default()
                    );
                }
            }
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        let cells: Vec<Value> = self
            .programs
            .iter()
            .enumerate()
            .flat_map(|(p, program)| {
                self.columns.iter().enumerate().filter_map(move |(c, column)| {
                    let cell = self.cell(p, c)?;
                    let slowdown = self.slowdown(p, c);
                    Some(json!({
                        "program": program,
                        "column": column.to_string(),
                        "skipped": cell.skipped,
                        "seconds": cell.seconds,
                        "peak_bytes": cell.peak_bytes,
                        "binary_bytes": cell.binary_bytes,
                        "build_seconds": cell.build_seconds,
                        "seeded_found": cell.seeded_found,
                        "slowdown": slowdown.map(|s| json!({"median": s.median, "least": s.least, "most": s.most})),
                        "memory": self.memory(p, c),
                    }))
                })
            })
            .collect();
        json!({"machine": self.machine, "cells": cells})
    }
}
