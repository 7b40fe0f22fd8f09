//! The comparison with ThreadSanitizer as Markdown.

use crate::judge;
use crate::program::{Program, TsanVerdict, Verdict};
use std::fmt::Write;

/// Where ThreadSanitizer differs from the truth, and how often it does not.
pub(crate) fn markdown(programs: &[Program], results: &[judge::Result]) -> String {
    let rows: Vec<(&Program, TsanVerdict)> = programs
        .iter()
        .zip(results)
        .filter_map(|(program, result)| Some((program, result.tsan?)))
        .collect();
    let mut text = String::from(
        "# ThreadSanitizer on the programs of this suite\n\n\
         Each program of `tests/` is a situation with a known verdict. ThreadSanitizer is that of clang 22; Rust programs are \
         built with nightly's `-Zsanitizer=thread` and the std that rustup installs, which is not instrumented. Made by \
         `cargo run -p footrace-corpus -- --tool tsan --table docs/tsan-comparison.md tests/race tests/norace tests/known-miss`, which also checks that each file says \
         the same.\n\n| folder | programs |",
    );
    for verdict in TsanVerdict::ALL {
        let _ = write!(text, " {} |", verdict.name());
    }
    text.push_str("\n|---|---|---|---|---|---|---|---|---|\n");
    for folder in Verdict::ALL {
        let of: Vec<_> = rows.iter().filter(|(p, _)| p.verdict == folder).collect();
        let _ = write!(text, "| {} | {} |", folder.folder(), of.len());
        for verdict in TsanVerdict::ALL {
            let _ = write!(
                text,
                " {} |",
                of.iter().filter(|(_, v)| *v == verdict).count()
            );
        }
        text.push('\n');
    }
    text.push_str("\n## Where it is wrong\n\n| program | situation | ThreadSanitizer | why |\n|---|---|---|---|\n");
    for (program, verdict) in rows {
        if verdict != TsanVerdict::Right {
            let _ = writeln!(
                text,
                "| {}/{} | {} | {} | {} |",
                program.verdict.folder(),
                program.name,
                program.summary.replace('|', "\\|"),
                verdict.name(),
                program.tsan_reason
            );
        }
    }
    text
}
