//! The columns of the table: ways to build and run a program.

use std::fmt;

/// What a program is built with and run under.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Column {
    /// clang -O2 or rustc --release: what the others are compared with.
    Plain,
    /// All checks, empty callbacks: the price of the instrumentation.
    Null,
    /// Footrace with a detector.
    Detector(String),
    /// ThreadSanitizer of clang 22.
    Tsan,
    /// Valgrind's tools, on a plain build with DWARF 4.
    Helgrind,
    Drd,
}

impl Column {
    /// All columns in the order of the table.
    pub(crate) fn all(detectors: &[String], valgrind: bool) -> Vec<Column> {
        let mut columns = vec![Column::Plain, Column::Null];
        columns.extend(detectors.iter().cloned().map(Column::Detector));
        columns.push(Column::Tsan);
        if valgrind {
            columns.extend([Column::Helgrind, Column::Drd]);
        }
        columns
    }

    /// Which checks the linker inserts, for the columns that are ours. A detector that drops or moves checks needs a build
    /// of its own.
    pub(crate) fn placement(&self) -> Option<&str> {
        match self {
            Column::Null => Some("all"),
            Column::Detector(name) => Some(match name.as_str() {
                "redcard" | "slimcard" => "redcard",
                "bigfoot" => "bigfoot",
                _ => "all",
            }),
            _ => None,
        }
    }

    /// Columns with the same key share an executable.
    pub(crate) fn build_key(&self) -> String {
        match self {
            Column::Plain => "plain".to_string(),
            Column::Null => "null".to_string(),
            Column::Detector(_) => format!("footrace-{}", self.placement().unwrap_or("all")),
            Column::Tsan => "tsan".to_string(),
            Column::Helgrind | Column::Drd => "valgrind".to_string(),
        }
    }

    pub(crate) fn valgrind(&self) -> bool {
        matches!(self, Column::Helgrind | Column::Drd)
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Column::Plain => "plain",
            Column::Null => "null",
            Column::Detector(name) => name,
            Column::Tsan => "ThreadSanitizer",
            Column::Helgrind => "Helgrind",
            Column::Drd => "DRD",
        })
    }
}
