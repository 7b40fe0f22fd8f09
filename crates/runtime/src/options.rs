//! `FOOTRACE_OPTIONS=key=value:key=value`: what the program's user may choose at start.

use alloc::format;
use alloc::string::{String, ToString};

use crate::detectors;

/// The choices, with their defaults.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Which detector runs; empty: the first one for the program's placement of checks.
    pub detector: String,
    /// End the process at the first race?
    pub halt_on_error: bool,
    /// The process's exit code if races were found.
    pub exitcode: i32,
    /// Where a program that runs by itself leaves its records: `<log_path>.<pid>`. Empty: the temporary directory.
    pub log_path: String,
    /// A directory that `footrace run` reads from; it also prints, and chooses the exit code.
    pub records: String,
    /// A directory for logs of all events, one for each process; empty: none.
    pub record: String,
    /// File of suppressions, applied when races are shown.
    pub suppressions: String,
    /// Races beyond this many are counted, not written; 0: no limit.
    pub max_races: u32,
    /// Print counters at the end?
    pub stats: bool,
    /// The share of the execution that a sampling detector looks at.
    pub rate: f64,
    /// Where a sampling detector's choices come from.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            detector: String::new(),
            halt_on_error: false,
            exitcode: 66,
            log_path: String::new(),
            records: String::new(),
            record: String::new(),
            suppressions: String::new(),
            max_races: 0,
            stats: false,
            rate: 1.0,
            seed: 0,
        }
    }
}

const KEYS: &str = "detector, halt_on_error, exitcode, log_path, records, record, suppressions, max_races, stats, rate, seed";

fn flag(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "0" | "no" | "false" => Ok(false),
        "1" | "yes" | "true" => Ok(true),
        _ => Err(format!("{key} must be 0 or 1, not `{value}`")),
    }
}

impl Options {
    /// Reads the text of the environment variable.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut options = Options::default();
        // A file name may hold a colon: a part without `=` belongs to the one before it.
        let mut last: Option<&mut String> = None;
        for part in text.split(':') {
            let Some((key, value)) = part.split_once('=') else {
                match &mut last {
                    Some(path) => {
                        path.push(':');
                        path.push_str(part);
                    }
                    None if part.is_empty() => {}
                    None => return Err(format!("`{part}` is not of the form key=value")),
                }
                continue;
            };
            last = None;
            match key {
                "detector" => {
                    if detectors::find(value).is_none() {
                        return Err(format!(
                            "detector must be one of {}, not `{value}`",
                            detectors::names(None)
                        ));
                    }
                    options.detector = value.to_string();
                }
                "halt_on_error" => options.halt_on_error = flag(key, value)?,
                "stats" => options.stats = flag(key, value)?,
                "exitcode" => match value.parse() {
                    Ok(code @ 0..=255) => options.exitcode = code,
                    _ => return Err(format!("exitcode must be 0 to 255, not `{value}`")),
                },
                "max_races" => {
                    options.max_races = value
                        .parse()
                        .map_err(|_| format!("max_races must be a number, not `{value}`"))?;
                }
                "seed" => {
                    options.seed = value
                        .parse()
                        .map_err(|_| format!("seed must be a number, not `{value}`"))?;
                }
                "rate" => match value.parse() {
                    Ok(rate) if (0.0..=1.0).contains(&rate) => options.rate = rate,
                    _ => return Err(format!("rate must be 0 to 1, not `{value}`")),
                },
                "log_path" | "records" | "record" | "suppressions" => {
                    let path = match key {
                        "log_path" => &mut options.log_path,
                        "records" => &mut options.records,
                        "record" => &mut options.record,
                        _ => &mut options.suppressions,
                    };
                    if value.is_empty() {
                        return Err(format!("{key} must name a file"));
                    }
                    *path = value.to_string();
                    last = Some(path);
                }
                _ => return Err(format!("unknown key `{key}`; known are {KEYS}")),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys() {
        let options =
            Options::parse("halt_on_error=1:exitcode=3:log_path=/a:b/c:max_races=7:stats=1")
                .unwrap();
        assert!(options.halt_on_error && options.stats);
        assert_eq!((options.exitcode, options.max_races), (3, 7));
        assert_eq!(options.log_path, "/a:b/c");
        assert_eq!(Options::parse(""), Ok(Options::default()));
    }

    #[test]
    fn bad_ones_are_named() {
        for (text, word) in [
            ("nonsense=1", "nonsense"),
            ("exitcode=256", "256"),
            ("exitcode=", "exitcode"),
            ("halt_on_error=2", "halt_on_error"),
            ("detector=psychic", "psychic"),
            ("alone", "alone"),
            ("log_path=", "log_path"),
        ] {
            let error = Options::parse(text).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
