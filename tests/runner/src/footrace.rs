//! Reads `footrace run --json`.

use crate::program::{Pair, pair};
use serde_json::Value;
use std::collections::BTreeSet;

/// The racing lines of each report, as far as they lie in `file`: of each stack the innermost frame there. A report without
/// two such lines counts as (0, 0).
pub(crate) fn pairs(json: &str, file: &str) -> Result<BTreeSet<Pair>, String> {
    let value: Value = serde_json::from_str(json).map_err(|e| format!("bad JSON: {e}"))?;
    let races = value
        .get("races")
        .and_then(Value::as_array)
        .ok_or("the JSON has no list `races`")?;
    Ok(races
        .iter()
        .map(|race| {
            let lines: Vec<u32> = race
                .get("accesses")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(|access| innermost(access.get("stack")?, file))
                .collect();
            match lines.as_slice() {
                [a, b] => pair(*a, *b),
                _ => (0, 0),
            }
        })
        .collect())
}

fn innermost(stack: &Value, file: &str) -> Option<u32> {
    stack.as_array()?.iter().find_map(|frame| {
        let path = frame.get("file")?.as_str()?;
        let name = path.rsplit('/').next()?;
        if name != file {
            return None;
        }
        u32::try_from(frame.get("line")?.as_u64()?).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn innermost_frame_in_the_program_counts() {
        let json = r#"{"races":[{"accesses":[
            {"stack":[{"file":"/lib/string.h","line":3},{"file":"/t/x.c","line":14}]},
            {"stack":[{"file":"/t/x.c","line":7},{"file":"/t/x.c","line":30}]}]}]}"#;
        assert_eq!(pairs(json, "x.c"), Ok([(7, 14)].into_iter().collect()));
        assert_eq!(pairs(json, "y.c"), Ok([(0, 0)].into_iter().collect()));
        assert!(pairs("{}", "x.c").is_err());
    }
}
