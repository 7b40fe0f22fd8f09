//! The pictures of a run.

use crate::column::Column;
use crate::scaling::{Axis, Series};
use crate::svg::{Line, Panel, bars, panels};
use crate::table::Table;

/// File names and contents; what was not measured has no picture.
pub(crate) fn all(table: &Table) -> Vec<(&'static str, Option<String>)> {
    let shown: Vec<usize> = (0..table.columns.len())
        .filter(|c| table.columns.get(*c) != Some(&Column::Plain))
        .collect();
    let series: Vec<String> = shown
        .iter()
        .filter_map(|c| table.columns.get(*c))
        .map(Column::to_string)
        .collect();
    let slowdown = bars("Time, in plain runs", &table.programs, &series, |p, s| {
        table.slowdown(p, *shown.get(s)?).map(|s| s.median)
    });
    let memory = bars(
        "Peak memory, in plain runs",
        &table.programs,
        &series,
        |p, s| table.memory(p, *shown.get(s)?),
    );
    let threads = growth(table, Axis::Threads, "Growth with threads");
    let size = growth(table, Axis::Megabytes, "Growth with the size of the arrays");
    vec![
        ("slowdown.svg", Some(slowdown)),
        ("memory.svg", Some(memory)),
        ("threads.svg", threads),
        ("size.svg", size),
    ]
}

/// Two panels for each program: seconds above, memory below.
fn growth(table: &Table, axis: Axis, title: &str) -> Option<String> {
    let mut programs: Vec<&str> = Vec::new();
    let measured = |series: &&Series| series.axis == axis && !series.points.is_empty();
    for series in table.scaling.iter().filter(measured) {
        if !programs.contains(&series.program.as_str()) {
            programs.push(&series.program);
        }
    }
    let x = match axis {
        Axis::Threads => "threads",
        Axis::Megabytes => "MB",
    };
    let panel = |program: &str, what: &str, y: &dyn Fn(&Series) -> Vec<(f64, f64)>| Panel {
        title: format!("{program}: {what} by {x}"),
        lines: table
            .scaling
            .iter()
            .filter(|series| series.axis == axis && series.program == program)
            .map(|series| Line {
                name: series.column.clone(),
                points: y(series),
            })
            .collect(),
    };
    let rows: Vec<[Panel; 2]> = programs
        .into_iter()
        .map(|program| {
            [
                panel(program, "seconds", &|series| {
                    let points = series.points.iter();
                    points
                        .map(|point| (point.x as f64, point.seconds))
                        .collect()
                }),
                panel(program, "peak MB", &|series| {
                    let points = series.points.iter();
                    points
                        .filter_map(|point| Some((point.x as f64, point.peak_bytes? as f64 / 1e6)))
                        .collect()
                }),
            ]
        })
        .collect();
    (!rows.is_empty()).then(|| panels(title, &rows))
}
