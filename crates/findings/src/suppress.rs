//! Suppressions: races that the user knows of and does not want to see.
//!
//! One a line: `kind:glob`, `#` begins a comment. A race is suppressed if the glob matches
//!
//! | kind | what |
//! |---|---|
//! | `race` | a function, file or library on either side's stack |
//! | `race_top` | the innermost function of either side |
//! | `function`, `file`, `library` | that, on either side's stack |
//! | `global` | the name of the global |
//! | `id` | the race's id |

use crate::finding::{Finding, Memory};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Any,
    Top,
    Function,
    File,
    Library,
    Global,
    Id,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Rule {
    kind: Kind,
    glob: String,
}

/// The rules of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Suppressions {
    rules: Vec<Rule>,
}

/// Does `text` match `glob`, where `*` is any text? Without `*` at an end, the glob may stand anywhere: `foo`
/// is `*foo*`, `^` and `$` fix the ends.
fn matches(glob: &str, text: &str) -> bool {
    let (glob, start) = match glob.strip_prefix('^') {
        Some(rest) => (rest, true),
        None => (glob, false),
    };
    let (glob, end) = match glob.strip_suffix('$') {
        Some(rest) => (rest, true),
        None => (glob, false),
    };
    let mut parts = glob.split('*').peekable();
    let mut rest = text;
    let mut fixed = start;
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        if last && end {
            return if fixed {
                rest == part
            } else {
                rest.ends_with(part)
            };
        }
        rest = if fixed {
            match rest.strip_prefix(part) {
                Some(rest) => rest,
                None => return false,
            }
        } else {
            match rest.find(part) {
                Some(at) => &rest[at + part.len()..],
                None => return false,
            }
        };
        fixed = false;
    }
    true
}

impl Suppressions {
    /// Reads a file, if one is given.
    pub fn read(path: Option<&std::path::Path>) -> Result<Suppressions, String> {
        let Some(path) = path else {
            return Ok(Suppressions::default());
        };
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Suppressions::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Reads a file's text; an error names the line.
    pub fn parse(text: &str) -> Result<Suppressions, String> {
        let mut rules = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (kind, glob) = line.split_once(':').ok_or_else(|| {
                format!("line {number}: `{line}` is not of the form kind:pattern")
            })?;
            let kind = match kind.trim() {
                "race" => Kind::Any,
                "race_top" => Kind::Top,
                "function" | "fun" => Kind::Function,
                "file" | "src" => Kind::File,
                "library" | "called_from_lib" => Kind::Library,
                "global" => Kind::Global,
                "id" => Kind::Id,
                other => {
                    return Err(format!(
                        "line {number}: unknown kind `{other}`; known are race, race_top, function, file, library, global, id"
                    ));
                }
            };
            if glob.trim().is_empty() {
                return Err(format!("line {number}: the pattern is empty"));
            }
            rules.push(Rule {
                kind,
                glob: glob.trim().to_owned(),
            });
        }
        Ok(Suppressions { rules })
    }

    /// Is the race one of those?
    pub fn cover(&self, finding: &Finding) -> bool {
        self.rules.iter().any(|rule| rule.covers(finding))
    }
}

impl Rule {
    fn covers(&self, finding: &Finding) -> bool {
        let function =
            |name: &Option<String>| name.as_ref().is_some_and(|n| matches(&self.glob, n));
        let frames = || finding.accesses.iter().flat_map(|access| &access.stack);
        let any_function = || frames().any(|frame| function(&frame.function));
        let any_file = || {
            frames().any(|f| {
                f.place
                    .as_ref()
                    .is_some_and(|p| matches(&self.glob, &p.file))
            })
        };
        let any_library = || frames().any(|frame| matches(&self.glob, &frame.module));
        match self.kind {
            Kind::Any => any_function() || any_file() || any_library(),
            Kind::Top => {
                let tops = finding.accesses.iter().filter_map(|a| a.stack.first());
                tops.into_iter().any(|frame| function(&frame.function))
            }
            Kind::Function => any_function(),
            Kind::File => any_file(),
            Kind::Library => any_library(),
            Kind::Global => {
                matches!(&finding.memory, Memory::Global { name, .. } if matches(&self.glob, name))
            }
            Kind::Id => matches(&format!("^{}$", self.glob), &finding.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (glob, text, expected) in [
            ("foo", "a_foo_b", true),
            ("^foo", "a_foo", false),
            ("^foo$", "foo", true),
            ("^foo$", "food", false),
            ("f*o", "xfooox", true),
            ("^f*o$", "fxxo", true),
            ("^f*o$", "fxxox", false),
            ("*", "", true),
            ("a*b*c", "1a2b3c4", true),
            ("a*b*c", "1a2c3b4", false),
        ] {
            assert_eq!(matches(glob, text), expected, "{glob} {text}");
        }
    }

    #[test]
    fn bad_lines_are_named() {
        assert!(Suppressions::parse("# all\n\nrace:foo\nid: 12ab # why\n").is_ok());
        for (text, word) in [
            ("x", "line 1"),
            ("race:a\nlocks:b", "line 2"),
            ("race:", "empty"),
        ] {
            let error = Suppressions::parse(text).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
