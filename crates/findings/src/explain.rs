//! `footrace explain`: for each access of a line, where its check went and why. The pass wrote it all down; here it is said.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use places::{Access, Check, CheckId, Extent, Kind, Table};

use crate::symbols::{demangle, places_of};

/// A line that is asked for: the end of a file's path, and a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// `list.c` or `src/list.c`.
    pub file: String,
    /// From 1.
    pub line: u32,
}

impl std::str::FromStr for Line {
    type Err = String;
    fn from_str(text: &str) -> Result<Line, String> {
        let parts = text.rsplit_once(':');
        let (file, line) = parts.ok_or("give FILE:LINE, as in src/list.c:42")?;
        match line.parse() {
            Ok(line) if line > 0 && !file.is_empty() => Ok(Line {
                file: file.to_owned(),
                line,
            }),
            _ => Err(format!(
                "`{line}` is no line; give FILE:LINE, as in src/list.c:42"
            )),
        }
    }
}

impl Line {
    /// Does the path end in this one, component by component?
    fn is_in(&self, path: &str) -> bool {
        Path::new(path).ends_with(self.file.trim_start_matches("./"))
    }

    /// Those that are written on the line, or came there when a call was inlined.
    fn accesses<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a Access> {
        let is_here =
            |place: places::Place| place.line == self.line && self.is_in(table.text(place.file));
        let accesses = table.accesses().iter();
        accesses.filter(move |access| places_of_access(table, access).any(is_here))
    }
}

/// Where an access is written, and where it was inlined.
fn places_of_access<'a>(
    table: &'a Table,
    access: &'a Access,
) -> impl Iterator<Item = places::Place> + 'a {
    std::iter::once(access.place).chain(table.inlined_at(access))
}

fn read(path: &Path) -> Result<Table, String> {
    let bytes =
        std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let file = object::File::parse(&*bytes).map_err(|error| {
        format!(
            "{} is no program: {error}; give one that was linked with Footrace",
            path.display()
        )
    })?;
    let table = places_of(&file).map_err(|error| {
        format!(
            "{}: the table of checks cannot be read: {error}",
            path.display()
        )
    })?;
    if table.is_empty() {
        return Err(format!(
            "{} has no table of checks; give a program that was linked by footrace-cc or cargo footrace",
            path.display()
        ));
    }
    Ok(table)
}

/// The programs that the user may mean: here, and where `cargo footrace` puts them. The last one built comes first.
fn candidates() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from(".")];
    for target in entries(Path::new("target/footrace")) {
        folders.extend(["debug", "release"].map(|profile| target.join(profile)));
    }
    let mut found: Vec<(SystemTime, PathBuf)> = folders
        .iter()
        .flat_map(|folder| entries(folder))
        .filter_map(|path| {
            use std::os::unix::fs::PermissionsExt;
            let facts = path.metadata().ok()?;
            let executable = facts.is_file() && facts.permissions().mode() & 0o111 != 0;
            executable.then_some((facts.modified().ok()?, path))
        })
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}

/// What became of the checks of a line's accesses.
pub fn explain(line: &Line, binary: Option<&Path>) -> Result<String, String> {
    let (path, table) = match binary {
        Some(path) => (path.to_owned(), read(path)?),
        None => candidates()
            .into_iter()
            .filter_map(|path| Some((read(&path).ok()?, path)))
            .find(|(table, _)| line.accesses(table).next().is_some())
            .map(|(table, path)| (path, table))
            .ok_or_else(|| {
                format!(
                    "no program here has an access at {}:{}; name one with --binary",
                    line.file, line.line
                )
            })?,
    };
    let mut text = String::new();
    for access in line.accesses(&table) {
        describe(&mut text, &table, access);
    }
    if text.is_empty() {
        return Err(nothing(line, &table, &path));
    }
    Ok(text)
}

/// There is no access on the line: what else there is.
fn nothing(line: &Line, table: &Table, path: &Path) -> String {
    let mut lines: Vec<u32> = table
        .accesses()
        .iter()
        .flat_map(|access| places_of_access(table, access))
        .filter(|place| line.is_in(table.text(place.file)))
        .map(|place| place.line)
        .collect();
    lines.sort_by_key(|other| other.abs_diff(line.line));
    match lines.first() {
        None => format!("{} has no accesses in {}", path.display(), line.file),
        Some(near) => format!(
            "{}:{} has no access in {}: it was optimised away, or is none; the nearest is on line {near}",
            line.file,
            line.line,
            path.display()
        ),
    }
}

fn verb(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
    }
}

fn place(table: &Table, place: places::Place) -> String {
    let (file, line) = table.line(place);
    format!("{file}:{line}:{}", place.column)
}

fn describe(text: &mut String, table: &Table, access: &Access) {
    let _ = writeln!(
        text,
        "{}: {} in {}",
        place(table, access.place),
        verb(access.kind),
        demangle(table.text(access.function)),
    );
    for call in table.inlined_at(access) {
        let _ = writeln!(text, "    inlined at {}", place(table, call));
    }
    let fate = &access.fate;
    let mut said: Vec<String> = Vec::new();
    for id in &fate.checks {
        // Copies of a check, on several ways out of a loop, are one to the reader.
        if let Some(check) = table.get(*id)
            && let what = checked(table, access, *id, check)
            && !said.contains(&what)
        {
            let _ = writeln!(text, "    {what}");
            said.push(what);
        }
    }
    if fate.already_checked {
        let _ = writeln!(
            text,
            "    dropped where an earlier check covers it, with no release in between"
        );
    }
    if fate.anticipated {
        let _ = writeln!(
            text,
            "    dropped where a later access is sure to come, whose check covers it, with no acquire in between"
        );
    }
    if fate.stayed {
        let _ = writeln!(
            text,
            "    not deferred: there would be a check on each of several ways"
        );
    }
    if let Some(why) = fate.dropped {
        let _ = writeln!(text, "    dropped: {}", table.text(why));
    }
}

fn checked(table: &Table, access: &Access, id: CheckId, check: &Check) -> String {
    let others: Vec<String> = table
        .accesses()
        .iter()
        .filter(|other| *other != access && other.fate.checks.contains(&id))
        .map(|other| place(table, other.place))
        .collect();
    let what = match check.extent {
        Extent::One => "check",
        Extent::Range => "range check",
        Extent::Strided => "strided check",
        Extent::Gathered => "check of a list",
    };
    let what = format!("{} {what}", verb(check.kind));
    match (check.place == access.place, others.is_empty()) {
        (true, true) if check.extent == Extent::One => "kept here".to_owned(),
        (true, true) if check.extent == Extent::Gathered => {
            "put on a list, which is checked when it is full and where the loop is left".to_owned()
        }
        (true, true) => format!("moved out of its loop, into a {what}"),
        (true, false) => format!("merged into one {what} with {}", others.join(", ")),
        (false, true) => format!("moved to the {what} of {}", place(table, check.place)),
        (false, false) => format!(
            "merged into the {what} of {}, with {}",
            place(table, check.place),
            others.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use places::Fate;

    #[test]
    fn lines_are_understood() {
        let line: Line = "src/list.c:42".parse().unwrap_or_else(|e| panic!("{e}"));
        assert!(line.is_in("/home/me/src/list.c"));
        assert!(!line.is_in("/home/me/other/list.c") && !line.is_in("/home/me/src/blist.c"));
        for bad in ["list.c", "list.c:", ":4", "list.c:0", "list.c:x"] {
            assert!(bad.parse::<Line>().is_err(), "{bad}");
        }
    }

    #[test]
    fn fates_are_said() {
        let mut table = Table::default();
        let (here, there) = (table.place("/a.c", 1, 2), table.place("/a.c", 3, 4));
        let kept = table.check(here, Kind::Read, Extent::One);
        let merged = table.check(there, Kind::Write, Extent::Range);
        let mut access = |function: &str, at, kind, fate| {
            table.access(function, (at, None), kind, fate);
        };
        access("f", here, Kind::Read, Fate::checked([kept]));
        access("f", here, Kind::Write, Fate::checked([merged]));
        access("f", there, Kind::Write, Fate::checked([merged]));
        access("f", there, Kind::Read, Fate::dropped("private stack slot"));
        let listed = table.check(here, Kind::Read, Extent::Gathered);
        table.access("g", (here, None), Kind::Read, Fate::checked([listed]));
        let mut text = String::new();
        for access in table.accesses() {
            describe(&mut text, &table, access);
        }
        assert_eq!(
            text,
            "/a.c:1:2: read in f\n    kept here\n\
             /a.c:1:2: write in f\n    merged into the write range check of /a.c:3:4, with /a.c:3:4\n\
             /a.c:3:4: write in f\n    merged into one write range check with /a.c:1:2\n\
             /a.c:3:4: read in f\n    dropped: private stack slot\n\
             /a.c:1:2: read in g\n    put on a list, which is checked when it is full and where the loop is left\n"
        );
    }

    #[test]
    fn what_was_inlined_on_a_line_is_found_there() {
        let mut table = Table::default();
        let at = |table: &mut Table, line| table.place("/src/main.c", line, 9);
        let (callee, caller, outermost) =
            (at(&mut table, 3), at(&mut table, 20), at(&mut table, 30));
        let outer = table.call(outermost, None);
        let inner = table.call(caller, Some(outer));
        let kept = table.check(callee, Kind::Read, Extent::One);
        table.access(
            "main",
            (callee, Some(inner)),
            Kind::Read,
            Fate::checked([kept]),
        );
        table.access(
            "get",
            (callee, None),
            Kind::Read,
            Fate::dropped("private stack slot"),
        );
        let found = |line: &str| {
            let line: Line = line.parse().unwrap_or_else(|e| panic!("{e}"));
            line.accesses(&table).count()
        };
        assert_eq!(
            ["main.c:3", "main.c:20", "main.c:30", "main.c:4"].map(found),
            [2, 1, 1, 0]
        );
        let mut text = String::new();
        describe(&mut text, &table, &table.accesses()[0]);
        assert_eq!(
            text,
            "/src/main.c:3:9: read in main\n    inlined at /src/main.c:20:9\n    inlined at /src/main.c:30:9\n    kept here\n"
        );
    }
}
