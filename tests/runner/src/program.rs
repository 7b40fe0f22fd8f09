//! A program of the suite: one file that says in comments what it is and what must be found in it.
//!
//! The folder is the verdict, the file name the situation. Lines that race carry `// RACE a`, the same letter on both
//! lines of a pair (or on the one line, if it races with itself; `// RACE a b` if it takes part in two pairs).
//! Directives stand in comments of their own, `// key: value`:
//!
//! | key | meaning |
//! |---|---|
//! | `flags` | compiler flags |
//! | `libs` | linker flags |
//! | `needs` | a processor feature without which the program is skipped |
//! | `timeout` | seconds, 60 unless said |
//! | `exit` | the program's own exit code, 0 unless said |
//! | `ends` | `signal`: the program kills itself |
//! | `record` | `no`, and why: the program's recorded run is not compared |
//! | `tsan` | where ThreadSanitizer 22 is wrong: `misses`, `false alarm`, `crashes`, `exits 0`, `varies`, and why |

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the folder says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Verdict {
    /// Every marked pair is reported, nothing else.
    Race,
    /// Nothing is reported.
    NoRace,
    /// The marked pairs are races, but we do not report them (yet).
    KnownMiss,
}

impl Verdict {
    pub(crate) const ALL: [Verdict; 3] = [Verdict::Race, Verdict::NoRace, Verdict::KnownMiss];

    pub(crate) fn folder(self) -> &'static str {
        match self {
            Verdict::Race => "race",
            Verdict::NoRace => "norace",
            Verdict::KnownMiss => "known-miss",
        }
    }
}

/// How a program is built.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Language {
    C,
    Cxx,
    Rust,
    /// A cargo project with dependencies; the path is its `src/main.rs`.
    Cargo,
}

/// Two lines that race, the lower number first.
pub(crate) type Pair = (u32, u32);

/// Puts the lower number first.
pub(crate) fn pair(a: u32, b: u32) -> Pair {
    (a.min(b), a.max(b))
}

/// What ThreadSanitizer 22 makes of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum TsanVerdict {
    Right,
    Misses,
    FalseAlarm,
    Crashes,
    ExitsZero,
    Hangs,
    /// Declared only: no two runs need be the same.
    Varies,
}

impl TsanVerdict {
    pub(crate) const ALL: [TsanVerdict; 7] = [
        TsanVerdict::Right,
        TsanVerdict::Misses,
        TsanVerdict::FalseAlarm,
        TsanVerdict::Crashes,
        TsanVerdict::ExitsZero,
        TsanVerdict::Hangs,
        TsanVerdict::Varies,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            TsanVerdict::Right => "right",
            TsanVerdict::Misses => "misses",
            TsanVerdict::FalseAlarm => "false alarm",
            TsanVerdict::Crashes => "crashes",
            TsanVerdict::ExitsZero => "exits 0",
            TsanVerdict::Hangs => "hangs",
            TsanVerdict::Varies => "varies",
        }
    }
}

/// One program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) source: PathBuf,
    /// File name with extension, or the project's name.
    pub(crate) name: String,
    pub(crate) language: Language,
    pub(crate) verdict: Verdict,
    pub(crate) flags: Vec<String>,
    pub(crate) libs: Vec<String>,
    pub(crate) needs: Option<String>,
    pub(crate) timeout: Duration,
    pub(crate) exit: i32,
    pub(crate) ends_by_signal: bool,
    /// Is a recorded run judged, too?
    pub(crate) recorded: bool,
    pub(crate) tsan: TsanVerdict,
    /// Why ThreadSanitizer is wrong, in the program's words.
    pub(crate) tsan_reason: String,
    /// The first sentence of the file.
    pub(crate) summary: String,
    /// The marked pairs.
    pub(crate) pairs: BTreeSet<Pair>,
}

impl Program {
    /// Where the accepted report lies, unless a detector has one of its own.
    pub(crate) fn golden(&self, detector: Option<&str>) -> PathBuf {
        let base = match self.language {
            Language::Cargo => self
                .source
                .parent()
                .and_then(Path::parent)
                .unwrap_or(&self.source)
                .join(&self.name),
            _ => self.source.clone(),
        };
        let mut name = base.into_os_string();
        if let Some(detector) = detector {
            name.push(format!(".{detector}"));
        }
        name.push(".expected");
        PathBuf::from(name)
    }

    /// Reads one program; errors name the file and what is wrong with it.
    pub(crate) fn read(source: PathBuf, verdict: Option<Verdict>) -> Result<Program, String> {
        let at = source.display().to_string();
        let text = fs::read_to_string(&source).map_err(|e| format!("{at}: {e}"))?;
        let language = match source.extension().and_then(|e| e.to_str()) {
            Some("c") => Language::C,
            Some("cpp") => Language::Cxx,
            Some("rs") if verdict.is_none() => Language::Cargo,
            Some("rs") => Language::Rust,
            _ => return Err(format!("{at}: not a C, C++ or Rust file")),
        };
        let directives = Directives::read(&text);
        let verdict = match verdict {
            Some(v) => v,
            None => {
                let word = directives.get("verdict").unwrap_or("");
                *Verdict::ALL
                    .iter()
                    .find(|v| v.folder() == word)
                    .ok_or_else(|| {
                        format!("{at}: `// verdict: race|norace|known-miss` is missing")
                    })?
            }
        };
        let name = match language {
            Language::Cargo => source
                .ancestors()
                .nth(2)
                .and_then(Path::file_name)
                .map(|n| n.to_string_lossy().into_owned())
                .unwrap_or_default(),
            _ => source
                .file_name()
                .map(|n| n.to_string_lossy().into_owned())
                .unwrap_or_default(),
        };
        let (tsan, tsan_reason) = match directives.get("tsan") {
            None => (TsanVerdict::Right, String::new()),
            Some(words) => {
                let verdict = *TsanVerdict::ALL
                    .iter()
                    .find(|v| words.starts_with(v.name()))
                    .ok_or_else(|| format!("{at}: `// tsan: {words}` is no verdict"))?;
                let reason = words.get(verdict.name().len()..).unwrap_or("").trim();
                (
                    verdict,
                    reason.trim_matches(|c| c == '(' || c == ')').to_string(),
                )
            }
        };
        let number = |key: &str, default: u64| match directives.get(key) {
            None => Ok(default),
            Some(word) => word
                .parse::<u64>()
                .map_err(|_| format!("{at}: `// {key}: {word}` is not a number")),
        };
        let pairs = marked_pairs(&text).map_err(|e| format!("{at}: {e}"))?;
        if (verdict == Verdict::NoRace) != pairs.is_empty() {
            return Err(format!(
                "{at}: lines marked `// RACE` belong in tests/race and tests/known-miss, and there is at least one pair there"
            ));
        }
        let words = |key: &str| {
            directives
                .get(key)
                .unwrap_or("")
                .split_whitespace()
                .map(str::to_string)
                .collect()
        };
        Ok(Program {
            name,
            language,
            verdict,
            flags: words("flags"),
            libs: words("libs"),
            needs: directives.get("needs").map(str::to_string),
            timeout: Duration::from_secs(number("timeout", 60)?),
            exit: i32::try_from(number("exit", 0)?).unwrap_or(0),
            ends_by_signal: directives.get("ends") == Some("signal"),
            recorded: !directives
                .get("record")
                .is_some_and(|why| why.starts_with("no")),
            tsan,
            tsan_reason,
            summary: directives.summary,
            pairs,
            source,
        })
    }

    /// All programs below `tests`, by name.
    pub(crate) fn all(tests: &Path) -> Result<Vec<Program>, String> {
        let mut programs = Vec::new();
        for verdict in Verdict::ALL {
            for source in files(&tests.join(verdict.folder()))? {
                let extension = source.extension().and_then(|e| e.to_str());
                if matches!(extension, Some("c" | "cpp" | "rs")) {
                    programs.push(Program::read(source, Some(verdict))?);
                }
            }
        }
        for project in files(&tests.join("cargo"))? {
            let main = project.join("src/main.rs");
            if main.is_file() {
                programs.push(Program::read(main, None)?);
            }
        }
        Ok(programs)
    }
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.sort();
    Ok(paths)
}

struct Directives {
    values: BTreeMap<String, String>,
    summary: String,
}

impl Directives {
    const KEYS: [&str; 9] = [
        "flags", "libs", "needs", "timeout", "exit", "ends", "record", "tsan", "verdict",
    ];

    fn read(text: &str) -> Directives {
        let mut values = BTreeMap::new();
        let mut prose = String::new();
        for line in text.lines() {
            let Some(comment) = line.strip_prefix("//") else {
                break;
            };
            let comment = comment.trim_start_matches(['/', '!']).trim();
            match comment.split_once(':') {
                Some((key, value)) if Self::KEYS.contains(&key) => {
                    values.insert(key.to_string(), value.trim().to_string());
                }
                _ => {
                    prose.push_str(comment);
                    prose.push(' ');
                }
            }
        }
        let summary = match prose.find(". ") {
            Some(end) => prose[..end].to_string(),
            None => prose.trim().trim_end_matches('.').to_string(),
        };
        Directives { values, summary }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }
}

fn marked_pairs(text: &str) -> Result<BTreeSet<Pair>, String> {
    let mut labels: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (line, number) in text.lines().zip(1u32..) {
        if let Some((_, marks)) = line.split_once("// RACE ") {
            for label in marks.split_whitespace() {
                labels.entry(label).or_default().push(number);
            }
        }
    }
    labels
        .into_iter()
        .map(|(label, lines)| match lines.as_slice() {
            [only] => Ok(pair(*only, *only)),
            [a, b] => Ok(pair(*a, *b)),
            _ => Err(format!(
                "`RACE {label}` marks {} lines, a pair has one or two",
                lines.len()
            )),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_make_pairs() {
        let text = "x = 1; // RACE a b\ny = x; // RACE a\nx++; // RACE c\nz = x; // RACE b\n";
        assert_eq!(
            marked_pairs(text),
            Ok([(1, 2), (1, 4), (3, 3)].into_iter().collect())
        );
        assert!(marked_pairs("// RACE a\n// RACE a\n// RACE a\n").is_err());
    }

    #[test]
    fn directives_end_with_the_leading_comment() {
        let d = Directives::read("// One. Two.\n// flags: -O2 -g\nint x; // exit: 3\n// exit: 4\n");
        assert_eq!(d.get("flags"), Some("-O2 -g"));
        assert_eq!(d.get("exit"), None);
        assert_eq!(d.summary, "One");
    }
}
