//! The columns of the table: ways to build and run a program.

use std::fmt;

/// What a program is built with and run under.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Column {
    /// clang -O2 or rustc --release: what the others are compared with.
    Plain,
    /// All checks, empty callbacks: the price of the instrumentation.
    Null,
    /// Footrace with a detector and its options: `fasttrack`, `pacer:rate=0.03`.
    Detector(String),
    /// ThreadSanitizer of clang 22.
    Tsan,
    /// Valgrind's tools, on the plain build.
    Helgrind,
    Drd,
}

/// What an executable is made with. Columns with the same one share the executable.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Kind {
    /// Valgrind 3.19 cannot read DWARF 5, so plain builds have DWARF 4.
    Plain,
    Null,
    /// Footrace's checks, with this placement.
    Checked(String),
    Tsan,
}

/// Clean, with the seeded race, or with counters of accesses and checks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Variant {
    Clean,
    Seeded,
    Counted,
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

    /// The column with this heading.
    pub(crate) fn named(name: &str) -> Column {
        [
            Column::Plain,
            Column::Null,
            Column::Tsan,
            Column::Helgrind,
            Column::Drd,
        ]
        .into_iter()
        .find(|column| column.to_string() == name)
        .unwrap_or_else(|| Column::Detector(name.to_string()))
    }

    /// A detector that drops or moves checks needs a build of its own.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Column::Plain | Column::Helgrind | Column::Drd => Kind::Plain,
            Column::Null => Kind::Null,
            Column::Detector(name) => Kind::Checked(
                match name.as_str() {
                    "redcard" | "slimcard" => "redcard",
                    name if name.starts_with("bigfoot") => "bigfoot",
                    _ => "all",
                }
                .to_string(),
            ),
            Column::Tsan => Kind::Tsan,
        }
    }

    pub(crate) fn valgrind(&self) -> bool {
        matches!(self, Column::Helgrind | Column::Drd)
    }

    /// One of ours.
    pub(crate) fn ours(&self) -> bool {
        matches!(self, Column::Detector(_))
    }

    /// One that moves and merges checks.
    pub(crate) fn places_checks(&self) -> bool {
        matches!(self.kind(), Kind::Checked(placement) if placement == "bigfoot")
    }

    /// Those that sample miss races on purpose.
    pub(crate) fn samples(&self) -> bool {
        matches!(self, Column::Detector(name) if name.starts_with("pacer") || name.starts_with("literace"))
    }

    /// What a user would take instead.
    pub(crate) fn peer(&self) -> bool {
        matches!(self, Column::Tsan | Column::Helgrind | Column::Drd)
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

impl Kind {
    /// The name of its folder.
    pub(crate) fn folder(&self, variant: Variant) -> String {
        let kind = match self {
            Kind::Plain => "plain",
            Kind::Null => "null",
            Kind::Checked(placement) => placement,
            Kind::Tsan => "tsan",
        };
        let suffix = match variant {
            Variant::Clean => "",
            Variant::Seeded => "-seeded",
            Variant::Counted => "-counted",
        };
        format!("{kind}{suffix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_headings() {
        for column in Column::all(&["fasttrack".to_string(), "x".to_string()], true) {
            assert_eq!(Column::named(&column.to_string()), column);
        }
    }
}
