//! The papers' tables with ours beside them, from the results of a run; and the figures that the README quotes.

use crate::column::Column;
use crate::papers::{
    BIGFOOT, BIGFOOT_DETECTORS, BIGFOOT_MEAN_OVERHEAD, BIGFOOT_MEAN_RATIO, BIGFOOT_MEAN_SPACE,
    KERNELS, PACER, REX_MEMORY, REX_TIME, SLIMSTATE,
};
use crate::program::Group;
use crate::report::{self, Figure, scientific};
use crate::stats::geometric_mean;
use crate::table::Table;
use std::fmt::Write;
use std::path::Path;

/// Before and after what is generated in a file that is written by hand.
const BEGIN: &str = "<!-- figures: written by `cargo xtask figures` -->";
const END: &str = "<!-- end of figures -->";

/// Whose check ratio is told where arrays are large: the default's, which has BigFoot's checks.
const LARGE_RATIOS: &str = "bigfoot-layers";

/// A cell without a value.
const NONE: &str = "–";

/// Writes docs/figures.md's and the README's generated parts, and the pages and pictures of the run itself.
pub(crate) fn write(repository: &Path, results: &Path) -> Result<(), String> {
    let table = Table::read(&results.join("results.json"))?;
    crate::write_results(&table, results)?;
    for (file, text) in [
        ("docs/figures.md", native(&table, &large(results)?)),
        ("README.md", readme(&table)),
    ] {
        let path = repository.join(file);
        let say = |e: std::io::Error| format!("{}: {e}", path.display());
        let old = std::fs::read_to_string(&path).map_err(say)?;
        let new = replaced(&old, &text)
            .ok_or_else(|| format!("{file}: no line `{BEGIN}` and `{END}`"))?;
        std::fs::write(&path, new).map_err(say)?;
    }
    Ok(())
}

/// The kernels with large arrays, if these were measured: rows of a run of its own.
fn large(results: &Path) -> Result<Option<Table>, String> {
    let path = results.join("large/results.json");
    path.exists().then(|| Table::read(&path)).transpose()
}

/// A file's text with the generated part replaced.
fn replaced(old: &str, part: &str) -> Option<String> {
    let (before, rest) = old.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{part}{END}{after}"))
}

/// A table of results with lookups by name.
struct Results<'a>(&'a Table);

impl Results<'_> {
    fn row(&self, program: &str) -> Option<usize> {
        self.0.programs.iter().position(|name| name == program)
    }

    fn column(&self, column: &str) -> Option<usize> {
        self.0.column(&Column::named(column))
    }

    fn time(&self, program: &str, column: &str) -> Option<f64> {
        let summary = self.0.slowdown(self.row(program)?, self.column(column)?)?;
        Some(summary.median)
    }

    fn memory(&self, program: &str, column: &str) -> Option<f64> {
        self.0.memory(self.row(program)?, self.column(column)?)
    }

    /// Peak memory, in bytes.
    fn peak(&self, program: &str, column: &str) -> Option<f64> {
        self.0.peak(self.row(program)?, self.column(column)?)
    }

    /// Memory beyond the plain run, in FastTrack's.
    fn space(&self, program: &str, column: &str) -> Option<f64> {
        self.space_beside(program, column, "fasttrack")
    }

    /// The same in another column's.
    fn space_beside(&self, program: &str, column: &str, other: &str) -> Option<f64> {
        let beyond = |column| Some((self.memory(program, column)? - 1.0).max(0.0));
        Some(beyond(column)? / beyond(other).filter(|most| *most > 0.0)?)
    }

    fn check_ratio(&self, program: &str, column: &str) -> Option<f64> {
        let cell = self.0.cell(self.row(program)?, self.column(column)?)?;
        cell.facts.check_ratio()
    }

    fn fraction(&self, program: &str, column: &str) -> Option<f64> {
        let cell = self.0.cell(self.row(program)?, self.column(column)?)?;
        cell.facts.shadow_fraction
    }

    /// `C / Rust (paper)`.
    fn beside(
        &self,
        program: &str,
        value: impl Fn(&str) -> Option<f64>,
        paper: Option<f64>,
        show: impl Fn(f64) -> String,
    ) -> String {
        let shown = |name: &str| value(name).map_or(NONE.to_string(), &show);
        let ours = format!("{} / {}", shown(program), shown(&format!("{program}.rs")));
        match paper {
            Some(paper) => format!("{ours} ({})", show(paper)),
            None => ours,
        }
    }
}

fn short(value: f64) -> String {
    format!("{value:.2}")
}

fn line(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn header(text: &mut String, cells: &[&str]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(cells.len()));
}

/// The tables that come from native programs.
pub(crate) fn native(table: &Table, large: &Option<Table>) -> String {
    let results = Results(table);
    let mut text = String::new();
    let fact = |name: &str| table.machine.get(name).map_or("unknown", String::as_str);
    let _ = writeln!(
        text,
        "\nNative programs, from [the committed run](../bench/results/results.md) ({}, {} threads, {}). Each cell: C / Rust (the \
         paper's). The papers' programs are Java under RoadRunner on other machines: structural ratios carry over, times do not.",
        fact("machine"),
        fact("threads"),
        fact("date")
    );
    beside_tsan(&results, &mut text);
    slimstate(&results, &mut text);
    if let Some(large) = large {
        large_arrays(&Results(large), &mut text);
    }
    bigfoot(&results, large.as_ref().map(Results), &mut text);
    others(&results, &mut text);
    text.push('\n');
    text
}

/// What we promise beside the peer that most use: time and memory beyond the plain run, in ThreadSanitizer's.
fn beside_tsan(results: &Results<'_>, text: &mut String) {
    let detectors = [
        "fasttrack",
        "slimstate",
        "bigfoot",
        "bigfoot-pages",
        "bigfoot-layers",
    ];
    let columns: Vec<&str> = std::iter::once("program").chain(detectors).collect();
    let real = crate::real::compared();
    type Value<'a> = &'a dyn Fn(&str, &str) -> Option<f64>;
    let tables: [(&str, Value<'_>); 2] = [
        ("time", &|name, column| results.time(name, column)),
        ("memory", &|name, column| results.memory(name, column)),
    ];
    for (what, value) in tables {
        let _ = writeln!(
            text,
            "\n## Beside ThreadSanitizer: {what} beyond the plain run, in ThreadSanitizer's\n"
        );
        header(text, &columns);
        for (group, names) in [("kernels", &KERNELS[..]), ("real programs", &real)] {
            for name in names {
                let cells = detectors.map(|column| {
                    let beyond = |column| Some((value(name, column)? - 1.0).max(0.0));
                    share(beyond(column), beyond("ThreadSanitizer"))
                });
                named_line(text, name, cells);
            }
            // As in the other tables: a mean of overheads near 0 says nothing, so means are of the whole and what is beyond is taken from them.
            let cells = detectors.map(|column| {
                let beyond = |column| Some(mean(names, |name| value(name, column))? - 1.0);
                share(beyond(column), beyond("ThreadSanitizer"))
            });
            named_line(
                text,
                &format!("*geometric mean of the whole, {group}*"),
                cells,
            );
        }
    }
}

/// A line that begins with whose it is.
fn named_line<const N: usize>(text: &mut String, name: &str, cells: [String; N]) {
    let all: Vec<String> = std::iter::once(name.to_string()).chain(cells).collect();
    line(text, &all);
}

/// A part of ThreadSanitizer's.
fn share(ours: Option<f64>, most: Option<f64>) -> String {
    let share = ours.zip(most.filter(|most| *most > 0.0));
    share.map_or(NONE.to_string(), |(ours, most)| {
        format!("{:.0} %", 100.0 * ours / most)
    })
}

fn slimstate(results: &Results<'_>, text: &mut String) {
    text.push_str(
        "\n## SlimState, Table II: shadow fraction\n\nShadow locations of arrays for each array element. What is compressed needs a \
         number of locations that does not grow with the array, so fractions near 0 depend on the sizes.\n\n",
    );
    header(text, &["program", "SlimState", "paper's best (bit sets)"]);
    for paper in &SLIMSTATE {
        let ours = results.beside(
            paper.program,
            |name| results.fraction(name, "slimstate"),
            Some(paper.fraction),
            scientific,
        );
        line(
            text,
            &[paper.program.to_string(), ours, scientific(paper.both)],
        );
    }
    text.push_str(
        "\n## SlimState, Table III: memory and time\n\nPeak memory and time, in plain runs. The paper's memory is the smallest heap \
         that suffices.\n\n",
    );
    header(
        text,
        &[
            "program",
            "memory, FastTrack",
            "memory, SlimState",
            "time, FastTrack",
            "time, SlimState",
        ],
    );
    for paper in &SLIMSTATE {
        let mut cells = vec![paper.program.to_string()];
        for (column, heap) in ["fasttrack", "slimstate"].into_iter().zip(paper.heap) {
            let value = |name: &str| results.memory(name, column);
            cells.push(results.beside(paper.program, value, Some(heap), short));
        }
        for (column, time) in ["fasttrack", "slimstate"].into_iter().zip(paper.time) {
            let value = |name: &str| results.time(name, column);
            cells.push(results.beside(paper.program, value, Some(time), short));
        }
        line(text, &cells);
    }
}

/// Table II where it means most, and what the shadow costs there.
fn large_arrays(results: &Results<'_>, text: &mut String) {
    text.push_str(
        "\n## SlimState, Table II with large arrays\n\nThe kernels at sizes at which their arrays fill 50 MB or more, where their work allows it \
         (`cargo xtask bench large`; series would take hours, moldyn's work is quadratic), each cell again C / Rust (the paper's). Shadow fractions of \
         `slimstate`, of `slimstate-bb` (bit sets for footprints and partitions: the paper's best), and of `bigfoot-pages`. A page has at least one location there, so a fraction is \
         seldom below 1/512; its elements are words of 8 bytes, however small the program's are. Memory is the peak beyond the \
         plain run's; that of ThreadSanitizer is known for C.\n\n",
    );
    let memory = ["slimstate", "slimstate-bb", "bigfoot-pages"];
    let mut headings = vec!["program", "plain, MB", "SlimState", "bit sets", "pages"];
    headings.extend([
        "memory of slimstate, in fasttrack's",
        "of bit sets",
        "of pages",
    ]);
    headings.extend([
        "of slimstate, in ThreadSanitizer's",
        "of bit sets",
        "of pages",
    ]);
    header(text, &headings);
    for paper in &SLIMSTATE {
        let peak = |name: &str| results.peak(name, "plain").map(|bytes| bytes / 1e6);
        let mut cells = vec![paper.program.to_string()];
        cells.push(results.beside(paper.program, peak, None, |mb| format!("{mb:.0}")));
        let known = [Some(paper.fraction), Some(paper.both), None];
        for (column, known) in memory.into_iter().zip(known) {
            let value = |name: &str| results.fraction(name, column);
            cells.push(results.beside(paper.program, value, known, scientific));
        }
        for column in memory {
            let value = |name: &str| results.space(name, column);
            cells.push(results.beside(paper.program, value, None, short));
        }
        for column in memory {
            let share = results.space_beside(paper.program, column, "ThreadSanitizer");
            let percent = share.map(|share| format!("{:.0} %", 100.0 * share));
            cells.push(percent.unwrap_or(NONE.to_string()));
        }
        line(text, &cells);
    }
}

/// Mean of the eight kernels in C, or nothing if one is missing.
fn kernels(value: impl Fn(&str) -> Option<f64>, suffix: &str) -> Option<f64> {
    mean(&KERNELS, |name| value(&format!("{name}{suffix}")))
}

/// The geometric mean over these programs, if each has a value.
fn mean(names: &[&str], value: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = names.iter().map(|name| value(name)).collect();
    geometric_mean(&values?.into_iter().map(|v| v.max(1e-9)).collect::<Vec<_>>())
}

fn mean_cells(
    value: impl Fn(&str, &str) -> Option<f64>,
    paper: [f64; 5],
    show: impl Fn(f64) -> String,
) -> Vec<String> {
    let mean = |column: &str, suffix: &str| {
        kernels(|name| value(name, column), suffix).map_or(NONE.to_string(), &show)
    };
    BIGFOOT_DETECTORS
        .iter()
        .zip(paper)
        .map(|(column, paper)| {
            format!(
                "{} / {} ({})",
                mean(column, ""),
                mean(column, ".rs"),
                show(paper)
            )
        })
        .collect()
}

/// What is left of the checks where loops are long.
fn ratios_of_large_arrays(large: &Results<'_>, text: &mut String) {
    text.push_str(
        "\nA check that leaves its loop is one check, however long the loop is: ratios near 0 depend on the sizes. With arrays as in the table above, nearer to the paper's sizes:\n\n",
    );
    header(text, &["program", LARGE_RATIOS]);
    for paper in &BIGFOOT {
        let value = |name: &str| large.check_ratio(name, LARGE_RATIOS);
        let known = Some(paper.check_ratio);
        let cell = large.beside(paper.program, value, known, scientific);
        line(text, &[paper.program.to_string(), cell]);
    }
}

fn bigfoot(results: &Results<'_>, large: Option<Results<'_>>, text: &mut String) {
    let columns: Vec<&str> = std::iter::once("program")
        .chain(BIGFOOT_DETECTORS)
        .collect();
    let mean_name = "*geometric mean* (ours: these 8; paper: 19)".to_string();
    text.push_str(
        "\n## BigFoot, Table 1: check ratio\n\nChecks that are made for each access. The paper has them by program for BigFoot only. Its accesses are \
         Java's, ours those of the optimised program: a field that is read in each round there is in a register here, so the same checks are a larger share (sparse: 2 checks of 6 \
         accesses in a round, of 14 in Java, if they were made in each round; a list of up to 128 addresses that a loop has made is one check here).\n\n",
    );
    header(text, &columns);
    for paper in &BIGFOOT {
        let mut cells = vec![paper.program.to_string()];
        for column in BIGFOOT_DETECTORS {
            let known = (column == "bigfoot").then_some(paper.check_ratio);
            let value = |name: &str| results.check_ratio(name, column);
            cells.push(results.beside(paper.program, value, known, scientific));
        }
        line(text, &cells);
    }
    let value = |name: &str, column: &str| results.check_ratio(name, column);
    let mut cells = vec![mean_name.clone()];
    cells.extend(mean_cells(value, BIGFOOT_MEAN_RATIO, scientific));
    line(text, &cells);
    if let Some(large) = large {
        ratios_of_large_arrays(&large, text);
    }

    text.push_str("\n## BigFoot, Table 1: time beyond the plain run, in plain runs\n\n");
    header(text, &columns);
    let overhead =
        |name: &str, column: &str| results.time(name, column).map(|t| (t - 1.0).max(0.0));
    for paper in &BIGFOOT {
        let mut cells = vec![paper.program.to_string()];
        for (column, known) in BIGFOOT_DETECTORS.into_iter().zip(paper.overhead) {
            let value = |name: &str| overhead(name, column);
            cells.push(results.beside(paper.program, value, Some(known), short));
        }
        line(text, &cells);
    }
    // A mean of overheads near 0 says nothing: the mean is of the slowdowns.
    let slowdown = |name: &str, column: &str| results.time(name, column);
    let mut cells = vec![mean_name.clone()];
    let papers = BIGFOOT_MEAN_OVERHEAD;
    cells.extend(mean_cells(slowdown, papers.map(|o| o + 1.0), |mean| {
        short((mean - 1.0).max(0.0))
    }));
    line(text, &cells);

    text.push_str("\n## BigFoot, Table 2: memory beyond the plain run, in FastTrack's\n\n");
    header(text, &columns);
    for paper in &BIGFOOT {
        let mut cells = vec![paper.program.to_string()];
        for (column, known) in BIGFOOT_DETECTORS.into_iter().zip(paper.space) {
            let value = |name: &str| results.space(name, column);
            cells.push(results.beside(paper.program, value, Some(known), short));
        }
        line(text, &cells);
    }
    let value = |name: &str, column: &str| results.space(name, column);
    let mut cells = vec![mean_name];
    cells.extend(mean_cells(value, BIGFOOT_MEAN_SPACE, short));
    line(text, &cells);
}

/// Detectors that are measured when they are asked for: `cargo xtask bench --detectors fasttrack,rex,pacer:rate=0.03`.
fn others(results: &Results<'_>, text: &mut String) {
    let time = |column: &str| {
        let mean = kernels(|name| results.time(name, column), "");
        mean.map_or(NONE.to_string(), short)
    };
    text.push_str(
        "\n## ReX and Pacer\n\nGeometric means of the eight kernels in C, measured with `cargo xtask bench --detectors \
         fasttrack,rex,pacer:rate=0.03`; – if the committed run has none.\n\n",
    );
    header(text, &["detector", "time, in plain runs", "paper's"]);
    for (column, paper) in ["fasttrack", "rex"].into_iter().zip(REX_TIME) {
        line(text, &[column.to_string(), time(column), short(paper)]);
    }
    for (rate, paper) in PACER {
        let column = format!("pacer:rate={rate}");
        line(text, &[format!("`{column}`"), time(&column), short(paper)]);
    }
    let memory = |column: &str| kernels(|name| results.memory(name, column), "");
    let rex = memory("rex")
        .zip(memory("fasttrack"))
        .map(|(rex, fast)| short(rex / fast));
    let _ = writeln!(
        text,
        "\nReX's memory in FastTrack's: {} (the paper: {REX_MEMORY}).",
        rex.unwrap_or(NONE.to_string())
    );
}

/// What the README quotes: the means of each group of programs.
pub(crate) fn readme(table: &Table) -> String {
    let mut text = String::new();
    let fact = |name: &str| table.machine.get(name).map_or("unknown", String::as_str);
    let _ = writeln!(
        text,
        "Time and peak memory in those of the plain program, geometric means, {} threads on {} ({}):\n",
        fact("threads"),
        fact("machine"),
        fact("date")
    );
    let columns: Vec<usize> = (0..table.columns.len())
        .filter(|c| table.columns.get(*c).is_some_and(|c| c.ours() || c.peer()))
        .collect();
    let names = columns.iter().filter_map(|c| table.columns.get(*c));
    let headings: Vec<String> = std::iter::once(String::new())
        .chain(names.map(Column::to_string))
        .collect();
    header(
        &mut text,
        &headings.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    for group in Group::ALL {
        for (what, value) in [
            (
                "time",
                report::time as fn(&Table, usize, usize) -> Option<Figure>,
            ),
            ("memory", report::memory),
        ] {
            let mut programs = 0;
            let mut cells = Vec::new();
            for column in &columns {
                cells.push(match report::mean(table, group, *column, value) {
                    Some((Figure::Is(mean), count)) => {
                        programs = count;
                        short(mean)
                    }
                    Some((Figure::Above(mean), count)) => {
                        programs = count;
                        format!("> {mean:.0}")
                    }
                    None => NONE.to_string(),
                });
            }
            if programs > 0 {
                cells.insert(0, format!("{} ({programs}), {what}", group.heading()));
                line(&mut text, &cells);
            }
        }
    }
    text.push_str(
        "\nEach program, with the rows where we are behind: [bench/results](bench/results/results.md), \
         [raw data](bench/results/results.json). The papers' tables beside ours: [docs/figures.md](docs/figures.md).\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository;

    /// What is quoted is what the committed run says.
    #[test]
    fn quoted_figures_are_those_of_the_committed_run() -> Result<(), String> {
        let results = repository().join("bench/results");
        let table = Table::read(&results.join("results.json"))?;
        for (file, text) in [
            ("docs/figures.md", native(&table, &large(&results)?)),
            ("README.md", readme(&table)),
        ] {
            let old =
                std::fs::read_to_string(repository().join(file)).map_err(|e| e.to_string())?;
            assert_eq!(
                replaced(&old, &text).as_deref(),
                Some(old.as_str()),
                "{file} is stale: run `cargo xtask figures`"
            );
        }
        Ok(())
    }

    /// The pages of the committed run are made from its data.
    #[test]
    fn the_committed_pages_belong_to_the_committed_data() -> Result<(), String> {
        let folder = repository().join("bench/results");
        let table = Table::read(&folder.join("results.json"))?;
        let page = std::fs::read_to_string(folder.join("results.md")).map_err(|e| e.to_string())?;
        assert!(
            page == report::markdown(&table),
            "bench/results/results.md is not made from results.json"
        );
        Ok(())
    }

    #[test]
    fn only_the_generated_part_of_a_file_is_replaced() {
        let old = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        assert_eq!(
            replaced(&old, "new\n").as_deref(),
            Some(format!("a\n{BEGIN}\nnew\n{END}\nb\n").as_str())
        );
        assert_eq!(replaced("a", "new"), None);
    }
}
