//! Reads `footrace run --json`.

use crate::program::{Pair, pair};
use serde_json::Value;
use std::collections::BTreeSet;

/// A reported race: of both sides the lines that may be meant. More than one if one check stands for several accesses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Report(BTreeSet<u32>, BTreeSet<u32>);

impl Report {
    /// Is it a report of this race?
    pub(crate) fn names(&self, (a, b): Pair) -> bool {
        self.0.contains(&a) && self.1.contains(&b) || self.0.contains(&b) && self.1.contains(&a)
    }

    /// One pair of lines that it names; (0, 0) if it does not lie in the program.
    pub(crate) fn pair(&self) -> Pair {
        match (self.0.first(), self.1.first()) {
            (Some(a), Some(b)) => pair(*a, *b),
            _ => (0, 0),
        }
    }
}

/// The reports, with their lines as far as they lie in `file`: of each stack the innermost frame there.
pub(crate) fn reports(json: &str, file: &str) -> Result<Vec<Report>, String> {
    let value: Value = serde_json::from_str(json).map_err(|e| format!("bad JSON: {e}"))?;
    let races = value
        .get("races")
        .and_then(Value::as_array)
        .ok_or("the JSON has no list `races`")?;
    let side = |race: &Value, at: usize| {
        let access = race.get("accesses").and_then(|all| all.get(at));
        let lines = |key: &str| access.and_then(|access| access.get(key)).cloned();
        let stack = lines("stack").unwrap_or_default();
        let sources = lines("sources").unwrap_or_default();
        let sources = sources.as_array().into_iter().flatten();
        // Sources are told for the innermost frame with a line. If that is not in the program, its caller is what counts.
        let first = stack.as_array().into_iter().flatten().next();
        let inside = first.is_some_and(|frame| line(frame, file).is_some());
        let sources = sources
            .filter(|_| inside)
            .filter_map(|source| line(source, file));
        innermost(&stack, file).into_iter().chain(sources).collect()
    };
    Ok(races
        .iter()
        .map(|race| Report(side(race, 0), side(race, 1)))
        .collect())
}

fn line(frame: &Value, file: &str) -> Option<u32> {
    let path = frame.get("file")?.as_str()?;
    let name = path.rsplit('/').next()?;
    if name != file {
        return None;
    }
    u32::try_from(frame.get("line")?.as_u64()?).ok()
}

fn innermost(stack: &Value, file: &str) -> Option<u32> {
    stack.as_array()?.iter().find_map(|frame| line(frame, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn innermost_frame_in_the_program_counts() {
        let json = r#"{"races":[{"accesses":[
            {"stack":[{"file":"/lib/string.h","line":3},{"file":"/t/x.c","line":14}]},
            {"stack":[{"file":"/t/x.c","line":7},{"file":"/t/x.c","line":30}],
             "sources":[{"file":"/t/x.c","line":8}]}]}]}"#;
        let found = reports(json, "x.c").unwrap_or_default();
        assert_eq!(found.len(), 1);
        assert!(found[0].names((7, 14)) && found[0].names((8, 14)));
        assert!(!found[0].names((7, 8)));
        let elsewhere = reports(json, "y.c").unwrap_or_default();
        assert_eq!(elsewhere[0].pair(), (0, 0));
        assert!(reports("{}", "x.c").is_err());
    }
}
