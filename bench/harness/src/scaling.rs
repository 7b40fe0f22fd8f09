//! How cost grows: with the number of threads, and with the size of the arrays.

use crate::column::Column;
use crate::judge::Fault;
use crate::progress::Phase;
use crate::session::Session;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is varied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Axis {
    Threads,
    Megabytes,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) x: u64,
    pub(crate) seconds: f64,
    pub(crate) peak_bytes: Option<u64>,
}

/// One line of a plot.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) program: String,
    pub(crate) axis: Axis,
    pub(crate) column: String,
    pub(crate) points: Vec<Point>,
    /// Why it ends before the others.
    pub(crate) stopped: Option<String>,
}

impl Axis {
    fn programs(self) -> &'static [&'static str] {
        match self {
            Axis::Threads => &["crypt", "sor", "moldyn", "hashmap", "queues"],
            Axis::Megabytes => &["crypt", "sor", "sparse", "montecarlo"],
        }
    }

    fn values(self) -> &'static [u64] {
        match self {
            Axis::Threads => &[1, 2, 4, 8],
            Axis::Megabytes => &[1, 10, 100, 1000],
        }
    }
}

/// No run takes longer.
const LIMIT: Duration = Duration::from_secs(20);
/// Runs of which no more is known.
const GUESS: f64 = 1.5;

/// The columns that are drawn: two of ours and the default, and ThreadSanitizer.
fn drawn(column: &Column) -> bool {
    match column {
        Column::Plain | Column::Tsan => true,
        Column::Detector(name) => {
            matches!(name.as_str(), "fasttrack" | "slimstate" | "bigfoot-layers")
        }
        Column::Null | Column::Helgrind | Column::Drd => false,
    }
}

impl Session {
    /// Measures both axes for the programs of this run, as long as there is time.
    pub(crate) fn scaling(&mut self) {
        let columns: Vec<Column> = self
            .table
            .columns
            .iter()
            .filter(|c| drawn(c))
            .cloned()
            .collect();
        let mut lines = Vec::new();
        for axis in [Axis::Threads, Axis::Megabytes] {
            for (p, program) in self.programs.iter().enumerate() {
                if axis.programs().contains(&program.name.as_str()) {
                    lines.extend(columns.iter().map(|column| (axis, p, column.clone())));
                }
            }
        }
        let each = GUESS * 4.0;
        self.progress
            .expect(Phase::Scaling, lines.len() as f64 * each);
        self.progress.begin("scaling");
        for (axis, p, column) in lines {
            let late = self.progress.elapsed() > self.settings.budget;
            let series = if late {
                self.series(axis, p, &column, &[])
            } else {
                self.series(axis, p, &column, axis.values())
            };
            self.table.scaling.extend(series);
            self.progress.done(Phase::Scaling, each);
        }
        self.progress.expect(Phase::Scaling, 0.0);
    }

    fn series(&mut self, axis: Axis, p: usize, column: &Column, values: &[u64]) -> Option<Series> {
        let program = self.programs.get(p)?.clone();
        let mut series = Series {
            program: program.name.clone(),
            axis,
            column: column.to_string(),
            points: Vec::new(),
            stopped: values.is_empty().then(|| "no time left".to_string()),
        };
        for &x in values {
            if let (Axis::Megabytes, Some(last)) = (axis, series.points.last())
                && last.seconds * x as f64 / last.x as f64 > LIMIT.as_secs_f64() * 1.5
            {
                series.stopped = Some(format!("{x}: would take more than {} s", LIMIT.as_secs()));
                break;
            }
            let (threads, size) = match axis {
                Axis::Threads => (usize::try_from(x).ok()?, self.settings.size(&program)),
                Axis::Megabytes => (self.settings.threads, Some(program.size_of(x)?)),
            };
            self.progress
                .show(&format!("scaling {} {column} {x}", program.name));
            let job = program.job(threads, size.as_deref(), &self.places);
            match self.run(p, column, &job, LIMIT)? {
                Ok(run) => series.points.push(Point {
                    x,
                    seconds: run.seconds,
                    peak_bytes: run.peak_bytes,
                }),
                Err(fault) => {
                    series.stopped = Some(match fault {
                        Fault::Slow(_) => format!("{x}: over {} s", LIMIT.as_secs()),
                        Fault::Unable(why) | Fault::Wrong(why) => format!("{x}: {why}"),
                    });
                    break;
                }
            }
        }
        Some(series)
    }
}
