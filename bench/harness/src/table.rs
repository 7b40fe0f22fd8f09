//! What was measured: cells by program and column, kept as JSON.

use crate::column::Column;
use crate::scaling::Series;
use crate::stats::{Summary, summary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What a detector counted in a run of its own.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Facts {
    /// Accesses of the program, and the checks that were made for them.
    pub(crate) accesses: Option<u64>,
    pub(crate) checks: Option<u64>,
    /// Shadow locations of arrays for each array element.
    pub(crate) shadow_fraction: Option<f64>,
    pub(crate) shadow_bytes: Option<u64>,
}

impl Facts {
    /// Checks for each access.
    pub(crate) fn check_ratio(&self) -> Option<f64> {
        Some(self.checks? as f64 / self.accesses.filter(|a| *a > 0)? as f64)
    }
}

/// One program in one column.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Cell {
    /// Why there are no runs.
    pub(crate) skipped: Option<String>,
    /// Seconds of each round; `None` where a run failed or was not made.
    pub(crate) seconds: Vec<Option<f64>>,
    pub(crate) cpu_seconds: Vec<Option<f64>>,
    pub(crate) peak_bytes: Vec<Option<u64>>,
    /// A run was given up after so many seconds.
    pub(crate) over_seconds: Option<f64>,
    /// What that run's memory had reached.
    pub(crate) over_bytes: Option<u64>,
    pub(crate) binary_bytes: Option<u64>,
    /// Processor time.
    pub(crate) build_seconds: Option<f64>,
    /// Was the seeded race found? Only for columns that find races.
    pub(crate) seeded_found: Option<bool>,
    /// Were races reported in the program as it is? (A real program may have some.)
    pub(crate) alarm: bool,
    pub(crate) facts: Facts,
}

/// The whole run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) machine: BTreeMap<String, String>,
    pub(crate) columns: Vec<Column>,
    pub(crate) programs: Vec<String>,
    /// By program, then column, as in the lists above.
    pub(crate) cells: Vec<Vec<Cell>>,
    pub(crate) scaling: Vec<Series>,
}

/// A cell in the file, with what follows from it.
#[derive(Serialize, Deserialize)]
struct Entry {
    program: String,
    column: String,
    #[serde(default)]
    slowdown: Option<Summary>,
    #[serde(default)]
    memory: Option<f64>,
    #[serde(default)]
    check_ratio: Option<f64>,
    #[serde(flatten)]
    cell: Cell,
}

#[derive(Serialize, Deserialize)]
struct File {
    machine: BTreeMap<String, String>,
    cells: Vec<Entry>,
    #[serde(default)]
    scaling: Vec<Series>,
}

impl Table {
    pub(crate) fn new(
        machine: BTreeMap<String, String>,
        columns: Vec<Column>,
        programs: Vec<String>,
    ) -> Table {
        Table {
            machine,
            cells: vec![vec![Cell::default(); columns.len()]; programs.len()],
            columns,
            programs,
            scaling: Vec::new(),
        }
    }

    pub(crate) fn column(&self, column: &Column) -> Option<usize> {
        self.columns.iter().position(|c| c == column)
    }

    pub(crate) fn cell(&self, program: usize, column: usize) -> Option<&Cell> {
        self.cells.get(program)?.get(column)
    }

    pub(crate) fn cell_mut(&mut self, program: usize, column: usize) -> Option<&mut Cell> {
        self.cells.get_mut(program)?.get_mut(column)
    }

    fn plain(&self, program: usize) -> Option<&Cell> {
        self.cell(program, self.column(&Column::Plain)?)
    }

    /// Time in plain runs: the ratios within each round. Of a column that was run once, apart from the rounds, the ratio to
    /// the median of the plain runs.
    pub(crate) fn slowdown(&self, program: usize, column: usize) -> Option<Summary> {
        let plain = self.plain(program)?;
        let cell = self.cell(program, column)?;
        if self.columns.get(column)?.valgrind() {
            let median = summary(&present(&plain.seconds))?.median;
            let ratios: Vec<f64> = present(&cell.seconds).iter().map(|s| s / median).collect();
            return summary(&ratios);
        }
        let ratios: Vec<f64> = cell
            .seconds
            .iter()
            .zip(&plain.seconds)
            .filter_map(|(ours, plain)| Some((*ours)? / (*plain)?))
            .collect();
        summary(&ratios)
    }

    /// Of a run that was given up: the slowdown that it has at least.
    pub(crate) fn slowdown_above(&self, program: usize, column: usize) -> Option<f64> {
        let over = self.cell(program, column)?.over_seconds?;
        let median = summary(&present(&self.plain(program)?.seconds))?.median;
        Some(over / median)
    }

    /// Peak memory in plain runs' peak memory.
    pub(crate) fn memory(&self, program: usize, column: usize) -> Option<f64> {
        Some(self.peak(program, column)? / self.peak(program, self.column(&Column::Plain)?)?)
    }

    /// Of a run that was given up: the memory that it needs at least.
    pub(crate) fn memory_above(&self, program: usize, column: usize) -> Option<f64> {
        let over = self.cell(program, column)?.over_bytes?;
        Some(over as f64 / self.peak(program, self.column(&Column::Plain)?)?)
    }

    /// Median of the peaks, in bytes.
    pub(crate) fn peak(&self, program: usize, column: usize) -> Option<f64> {
        let values: Vec<f64> = present(&self.cell(program, column)?.peak_bytes)
            .iter()
            .map(|bytes| *bytes as f64)
            .collect();
        summary(&values).map(|s| s.median)
    }

    pub(crate) fn csv(&self) -> String {
        let mut text = String::from(
            "program,column,round,seconds,cpu_seconds,peak_bytes,binary_bytes,build_seconds,slowdown_median,check_ratio,\
             shadow_fraction\n",
        );
        let number = |value: Option<f64>| value.map(|v| format!("{v:.6}")).unwrap_or_default();
        for (p, program) in self.programs.iter().enumerate() {
            for (c, column) in self.columns.iter().enumerate() {
                let Some(cell) = self.cell(p, c) else {
                    continue;
                };
                for (round, seconds) in cell.seconds.iter().enumerate() {
                    let peak = cell.peak_bytes.get(round).copied().flatten();
                    let _ = writeln!(
                        text,
                        "{program},{column},{round},{},{},{},{},{},{},{},{}",
                        number(*seconds),
                        number(cell.cpu_seconds.get(round).copied().flatten()),
                        peak.map(|b| b.to_string()).unwrap_or_default(),
                        cell.binary_bytes.map(|b| b.to_string()).unwrap_or_default(),
                        number(cell.build_seconds),
                        number(self.slowdown(p, c).map(|s| s.median)),
                        number(cell.facts.check_ratio()),
                        number(cell.facts.shadow_fraction)
                    );
                }
            }
        }
        text
    }

    pub(crate) fn json(&self) -> Result<String, String> {
        let mut cells = Vec::new();
        for (p, program) in self.programs.iter().enumerate() {
            for (c, column) in self.columns.iter().enumerate() {
                let Some(cell) = self.cell(p, c) else {
                    continue;
                };
                cells.push(Entry {
                    program: program.clone(),
                    column: column.to_string(),
                    slowdown: self.slowdown(p, c),
                    memory: self.memory(p, c),
                    check_ratio: cell.facts.check_ratio(),
                    cell: cell.clone(),
                });
            }
        }
        let file = File {
            machine: self.machine.clone(),
            cells,
            scaling: self.scaling.clone(),
        };
        let mut text = serde_json::to_string_pretty(&file).map_err(|e| e.to_string())?;
        text.push('\n');
        Ok(text)
    }

    pub(crate) fn parse(text: &str) -> Result<Table, String> {
        let file: File = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let (mut columns, mut programs) = (Vec::new(), Vec::new());
        for entry in &file.cells {
            let column = Column::named(&entry.column);
            if !columns.contains(&column) {
                columns.push(column);
            }
            if !programs.contains(&entry.program) {
                programs.push(entry.program.clone());
            }
        }
        let mut table = Table::new(file.machine, columns, programs);
        table.scaling = file.scaling;
        for entry in file.cells {
            let p = table.programs.iter().position(|p| *p == entry.program);
            let c = table.column(&Column::named(&entry.column));
            if let (Some(p), Some(c)) = (p, c)
                && let Some(cell) = table.cell_mut(p, c)
            {
                *cell = entry.cell;
            }
        }
        Ok(table)
    }

    pub(crate) fn read(path: &Path) -> Result<Table, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Table::parse(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// The same with how cost grows as `newer` has it, for the programs that it has.
    pub(crate) fn with_scaling_of(&self, newer: &Table) -> Table {
        let same = |a: &Series, b: &Series| a.program == b.program && a.axis == b.axis;
        let is_kept = |series: &&Series| !newer.scaling.iter().any(|new| same(new, series));
        let kept = self.scaling.iter().filter(is_kept);
        Table {
            scaling: newer.scaling.iter().chain(kept).cloned().collect(),
            ..self.clone()
        }
    }

    /// This run's rows in place of `older`'s, whose other rows stay. Columns are the union, in `older`'s order first.
    pub(crate) fn added_to(self, older: &Table, order: &[String]) -> Table {
        let mut columns = older.columns.clone();
        for column in &self.columns {
            if !columns.contains(column) {
                // Peers come last.
                let at = columns
                    .iter()
                    .position(Column::peer)
                    .filter(|_| !column.peer());
                columns.insert(at.unwrap_or(columns.len()), column.clone());
            }
        }
        let mut programs: Vec<String> = order.to_vec();
        programs.retain(|name| self.programs.contains(name) || older.programs.contains(name));
        let mut table = Table::new(self.machine.clone(), columns, programs);
        table.scaling = older.with_scaling_of(&self).scaling;
        for (p, program) in table.programs.clone().iter().enumerate() {
            let source = if self.programs.contains(program) {
                &self
            } else {
                older
            };
            let Some(row) = source.programs.iter().position(|name| name == program) else {
                continue;
            };
            for (c, column) in table.columns.clone().iter().enumerate() {
                let cell = source
                    .column(column)
                    .and_then(|from| source.cell(row, from));
                if let (Some(cell), Some(place)) = (cell.cloned(), table.cell_mut(p, c)) {
                    *place = cell;
                }
            }
        }
        table
    }
}

/// The values that are there.
pub(crate) fn present<T: Copy>(values: &[Option<T>]) -> Vec<T> {
    values.iter().copied().flatten().collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two programs and four columns, with round numbers.
    pub(crate) fn sample(programs: [&str; 2]) -> Table {
        let columns = ["plain", "fasttrack", "ThreadSanitizer", "Helgrind"];
        let mut table = Table::new(
            BTreeMap::from([("machine".to_string(), "2 cores".to_string())]),
            columns.map(Column::named).to_vec(),
            programs.map(str::to_string).to_vec(),
        );
        for p in 0..2 {
            for (c, factor) in [1.0, 8.0, 4.0].into_iter().enumerate() {
                if let Some(cell) = table.cell_mut(p, c) {
                    cell.seconds = vec![Some(factor), Some(2.0 * factor), None];
                    cell.peak_bytes = vec![Some(100 * (c as u64 + 1)); 2];
                }
            }
            if let Some(cell) = table.cell_mut(p, 3) {
                cell.over_seconds = Some(15.0);
                cell.over_bytes = Some(7 << 20);
            }
        }
        table
    }

    #[test]
    fn ratios_are_those_within_rounds() {
        let table = sample(["a", "b"]);
        assert_eq!(
            table.slowdown(0, 1).map(|s| (s.least, s.most)),
            Some((8.0, 8.0))
        );
        assert_eq!(table.memory(1, 2), Some(3.0));
        assert_eq!(table.slowdown_above(0, 3), Some(10.0));
        assert_eq!(table.slowdown(0, 3), None);
        assert!(table.memory_above(0, 3).is_some() && table.memory(0, 3).is_none());
    }

    #[test]
    fn a_file_is_read_as_it_was_written() -> Result<(), String> {
        let text = sample(["a", "b"]).json()?;
        assert_eq!(Table::parse(&text)?.json()?, text);
        Ok(())
    }

    #[test]
    fn rows_of_an_older_run_stay() {
        let mut newer = sample(["b", "c"]);
        newer.columns[1] = Column::named("bigfoot");
        let order = ["a", "b", "c"].map(str::to_string);
        let table = newer.added_to(&sample(["a", "b"]), &order);
        assert_eq!(table.programs, order);
        let headings: Vec<String> = table.columns.iter().map(Column::to_string).collect();
        assert_eq!(
            headings,
            [
                "plain",
                "fasttrack",
                "bigfoot",
                "ThreadSanitizer",
                "Helgrind"
            ]
        );
        let slowdown = |p, c| table.slowdown(p, c).map(|s| s.median);
        assert_eq!((slowdown(0, 1), slowdown(0, 2)), (Some(8.0), None));
        assert_eq!((slowdown(1, 1), slowdown(1, 2)), (None, Some(8.0)));
    }
}
