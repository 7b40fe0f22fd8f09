//! The table as Markdown.

use crate::column::Column;
use crate::plots;
use crate::program::Group;
use crate::stats::geometric_mean;
use crate::table::{Cell, Table};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A value in a table: known, or known to be more than something.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Figure {
    Is(f64),
    Above(f64),
}

impl Figure {
    fn value(self) -> f64 {
        match self {
            Figure::Is(value) | Figure::Above(value) => value,
        }
    }
}

/// Time in plain runs.
pub(crate) fn time(table: &Table, program: usize, column: usize) -> Option<Figure> {
    let is = table
        .slowdown(program, column)
        .map(|s| Figure::Is(s.median));
    is.or_else(|| table.slowdown_above(program, column).map(Figure::Above))
}

/// Memory in plain runs.
pub(crate) fn memory(table: &Table, program: usize, column: usize) -> Option<Figure> {
    let is = table.memory(program, column).map(Figure::Is);
    is.or_else(|| table.memory_above(program, column).map(Figure::Above))
}

/// The geometric mean of a column over the programs of a group that have a value in all columns that have any in this group.
/// So the means of a group are over the same programs. Also: how many they are.
pub(crate) fn mean(
    table: &Table,
    group: Group,
    column: usize,
    value: impl Fn(&Table, usize, usize) -> Option<Figure>,
) -> Option<(Figure, usize)> {
    let rows: Vec<usize> = (0..table.programs.len())
        .filter(|p| {
            table
                .programs
                .get(*p)
                .is_some_and(|name| Group::of(name) == group)
        })
        .collect();
    let used: Vec<usize> = (0..table.columns.len())
        .filter(|c| rows.iter().any(|p| value(table, *p, *c).is_some()))
        .collect();
    let complete: Vec<usize> = rows
        .into_iter()
        .filter(|p| used.iter().all(|c| value(table, *p, *c).is_some()))
        .collect();
    let figures: Vec<Figure> = complete
        .iter()
        .filter_map(|p| value(table, *p, column))
        .collect();
    let values: Vec<f64> = figures.iter().map(|f| f.value()).collect();
    let mean = geometric_mean(&values)?;
    let above = figures.iter().any(|f| matches!(f, Figure::Above(_)));
    let figure = if above {
        Figure::Above(mean)
    } else {
        Figure::Is(mean)
    };
    Some((figure, complete.len()))
}

/// Is one of ours behind the best of the peers?
fn behind(
    table: &Table,
    program: usize,
    column: usize,
    value: &impl Fn(&Table, usize, usize) -> Option<Figure>,
) -> bool {
    let best = (0..table.columns.len())
        .filter(|c| table.columns.get(*c).is_some_and(Column::peer))
        .filter_map(|c| match value(table, program, c) {
            Some(Figure::Is(value)) => Some(value),
            _ => None,
        })
        .fold(f64::INFINITY, f64::min);
    let ours = table.columns.get(column).is_some_and(Column::ours);
    ours && value(table, program, column).is_some_and(|ours| ours.value() > best)
}

pub(crate) fn markdown(table: &Table) -> String {
    let mut text = String::from("# Benchmarks\n\n");
    for (key, value) in &table.machine {
        let _ = writeln!(text, "- {key}: {value}");
    }
    text.push_str(
        "\nRatios to the plain run of the same round: median (least to most). **Bold**: behind the best of the peers \
         (ThreadSanitizer, Helgrind, DRD). `>`: given up after the time limit. Helgrind and DRD were run once, two at a time: they \
         run one thread at a time. Means are over the programs of a group that have a value in each column.\n\n\
         [results.csv](results.csv) and [results.json](results.json) have each run.",
    );
    for (name, picture) in plots::all(table) {
        if picture.is_some() {
            let _ = write!(text, " [{name}]({name})");
        }
    }
    text.push('\n');
    ratios(table, &mut text, "Time", time, |p, c| {
        let summary = table.slowdown(p, c)?;
        Some(if summary.least == summary.most {
            format!("{:.2}", summary.median)
        } else {
            format!(
                "{:.2} ({:.2} to {:.2})",
                summary.median, summary.least, summary.most
            )
        })
    });
    ratios(table, &mut text, "Peak memory", memory, |p, c| {
        table.memory(p, c).map(|m| format!("{m:.2}"))
    });
    facts(
        table,
        &mut text,
        "Check ratio: checks for each access",
        Column::ours,
        |cell| cell.facts.check_ratio().map(scientific),
    );
    facts(
        table,
        &mut text,
        "Shadow fraction: shadow locations of arrays for each array element",
        Column::ours,
        |cell| cell.facts.shadow_fraction.map(scientific),
    );
    facts(
        table,
        &mut text,
        "Size of the binary, KiB",
        |c| !c.valgrind(),
        |cell| cell.binary_bytes.map(|bytes| format!("{}", bytes / 1024)),
    );
    facts(
        table,
        &mut text,
        "Build, seconds of processor time",
        |c| !c.valgrind(),
        |cell| cell.build_seconds.map(|s| format!("{s:.2}")),
    );
    facts(
        table,
        &mut text,
        "Seeded race found",
        |c| c.ours() || c.peer(),
        |cell| {
            cell.seeded_found.map(|found| match (found, cell.alarm) {
                (false, _) => "**no**".to_string(),
                (true, false) => "yes".to_string(),
                (true, true) => "yes, and some in the clean program".to_string(),
            })
        },
    );
    behind_list(table, &mut text);
    reasons(table, &mut text);
    text
}

/// As in the papers: 0.43, 4.2e-5.
pub(crate) fn scientific(value: f64) -> String {
    if value == 0.0 || value >= 0.01 {
        format!("{value:.3}")
    } else {
        format!("{value:.1e}")
    }
}

fn header(text: &mut String, title: &str, columns: impl Iterator<Item = String>) {
    let columns: Vec<String> = columns.collect();
    let _ = writeln!(
        text,
        "\n## {title}\n\n| program | {} |",
        columns.join(" | ")
    );
    let _ = writeln!(text, "|---|{}", "---|".repeat(columns.len()));
}

fn ratios(
    table: &Table,
    text: &mut String,
    title: &str,
    value: impl Fn(&Table, usize, usize) -> Option<Figure>,
    show: impl Fn(usize, usize) -> Option<String>,
) {
    header(text, title, table.columns.iter().map(Column::to_string));
    for group in Group::ALL {
        let mut any = false;
        for (p, name) in table.programs.iter().enumerate() {
            if Group::of(name) != group {
                continue;
            }
            any = true;
            let _ = write!(text, "| {name} |");
            for c in 0..table.columns.len() {
                let shown = match (show(p, c), value(table, p, c)) {
                    (Some(shown), _) => shown,
                    (None, Some(Figure::Above(least))) => format!("> {least:.0}"),
                    _ => absent(table.cell(p, c)),
                };
                let _ = match behind(table, p, c, &value) {
                    true => write!(text, " **{shown}** |"),
                    false => write!(text, " {shown} |"),
                };
            }
            text.push('\n');
        }
        if any {
            mean_row(table, text, group, &value);
        }
    }
}

/// What stands in a cell without a value.
fn absent(cell: Option<&Cell>) -> String {
    match cell.and_then(|cell| cell.skipped.as_deref()) {
        Some(reason) if reason.starts_with("n/a") => reason.to_string(),
        Some(_) => "n/a".to_string(),
        None => String::new(),
    }
}

fn mean_row(
    table: &Table,
    text: &mut String,
    group: Group,
    value: &impl Fn(&Table, usize, usize) -> Option<Figure>,
) {
    let means: Vec<_> = (0..table.columns.len())
        .map(|c| mean(table, group, c, value))
        .collect();
    let Some(count) = means.iter().flatten().map(|(_, count)| *count).next() else {
        return;
    };
    let _ = write!(text, "| *geometric mean, {} ({count})* |", group.heading());
    for mean in means {
        let _ = match mean {
            Some((Figure::Is(mean), _)) => write!(text, " *{mean:.2}* |"),
            Some((Figure::Above(mean), _)) => write!(text, " *> {mean:.0}* |"),
            None => write!(text, " |"),
        };
    }
    text.push('\n');
}

fn facts(
    table: &Table,
    text: &mut String,
    title: &str,
    which: impl Fn(&Column) -> bool,
    show: impl Fn(&Cell) -> Option<String>,
) {
    let columns: Vec<usize> = (0..table.columns.len())
        .filter(|c| table.columns.get(*c).is_some_and(&which))
        .collect();
    let any = table.cells.iter().any(|row| {
        columns
            .iter()
            .any(|c| row.get(*c).is_some_and(|cell| show(cell).is_some()))
    });
    if !any {
        let _ = writeln!(text, "\n## {title}\n\nNot measured in this run.");
        return;
    }
    let headings = columns.iter().filter_map(|c| table.columns.get(*c));
    header(text, title, headings.map(Column::to_string));
    for (p, name) in table.programs.iter().enumerate() {
        let _ = write!(text, "| {name} |");
        for c in &columns {
            let shown = table.cell(p, *c).and_then(&show);
            let _ = write!(
                text,
                " {} |",
                shown.unwrap_or_else(|| absent(table.cell(p, *c)))
            );
        }
        text.push('\n');
    }
}

/// The rows where a detector of ours is behind the best of the peers.
fn behind_list(table: &Table, text: &mut String) {
    text.push_str("\n## Behind a peer\n\n");
    for (c, column) in table.columns.iter().enumerate() {
        if !column.ours() {
            continue;
        }
        let rows = |value: &dyn Fn(&Table, usize, usize) -> Option<Figure>| {
            let names: Vec<&str> = table
                .programs
                .iter()
                .enumerate()
                .filter(|(p, _)| behind(table, *p, c, &value))
                .map(|(_, name)| name.as_str())
                .collect();
            if names.is_empty() {
                "none".to_string()
            } else {
                names.join(", ")
            }
        };
        let _ = writeln!(
            text,
            "- {column}: time: {}; memory: {}",
            rows(&time),
            rows(&memory)
        );
    }
}

fn reasons(table: &Table, text: &mut String) {
    let mut reasons: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for (program, cells) in table.programs.iter().zip(&table.cells) {
        for (column, cell) in table.columns.iter().zip(cells) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::sample;

    #[test]
    fn rows_behind_a_peer_are_marked_and_named() {
        let text = markdown(&sample(["a", "b.rs"]));
        assert!(
            text.contains("| a | 1.00 | **8.00** | 4.00 | > 10 |"),
            "{text}"
        );
        assert!(
            text.contains("- fasttrack: time: a, b.rs; memory: none"),
            "{text}"
        );
    }

    #[test]
    fn means_are_over_programs_with_all_values() {
        let mut table = sample(["a", "b"]);
        table.cells[1][2].seconds.clear();
        // b has no value under ThreadSanitizer.
        let counted = mean(&table, Group::C, 1, time).map(|(_, count)| count);
        assert_eq!(counted, Some(1));
        assert_eq!(mean(&table, Group::Rust, 1, time), None);
        assert!(
            markdown(&table)
                .contains("| *geometric mean, C (1)* | *1.00* | *8.00* | *4.00* | *> 10* |")
        );
    }
}
