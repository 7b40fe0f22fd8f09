//! Was a run right?

use crate::column::Column;
use crate::measure::Run;
use crate::program::{Check, Job};

/// Why a run does not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// Over the time limit; its memory until then.
    Slow(Option<u64>),
    /// The column cannot do this: why.
    Unable(String),
    /// The result is wrong: how.
    Wrong(String),
}

/// The exit code of all detectors that found a race.
const RACES: i32 = 66;

/// What the plain program printed, in a form that can be compared.
pub(crate) fn canonical(check: Check, stdout: &[u8]) -> Vec<u8> {
    match check {
        Check::Checksum => Vec::new(),
        Check::SameOutput => stdout.to_vec(),
        Check::SameLines => {
            let mut lines: Vec<&[u8]> = stdout.split(|byte| *byte == b'\n').collect();
            lines.sort_unstable();
            lines.join(&b'\n')
        }
    }
}

/// Did the run report races? An error if it did not do its job.
pub(crate) fn judge(
    column: &Column,
    job: &Job,
    run: &Run,
    reference: Option<&[u8]>,
) -> Result<bool, Fault> {
    let Some(status) = run.status else {
        return Err(Fault::Slow(run.peak_bytes));
    };
    let races = status.code() == Some(RACES) && *column != Column::Plain && *column != Column::Null;
    if !status.success() && !races {
        let why = format!("{status}: {}", run.complaint());
        // The runtime refuses before the program starts, with 2.
        return Err(if column.ours() && status.code() == Some(2) {
            Fault::Unable(why)
        } else {
            Fault::Wrong(why)
        });
    }
    let right = match job.check {
        Check::Checksum => {
            let text = String::from_utf8_lossy(&run.stdout);
            text.contains("checksum=") && !text.contains("WRONG")
        }
        check => {
            let canonical = canonical(check, &run.stdout);
            !canonical.is_empty() && reference.is_none_or(|reference| reference == canonical)
        }
    };
    if right {
        Ok(races)
    } else {
        Err(Fault::Wrong("wrong output".to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn run(code: i32, stdout: &str) -> Run {
        Run {
            status: Some(ExitStatus::from_raw(code << 8)),
            seconds: 1.0,
            cpu_seconds: 1.0,
            peak_bytes: Some(1),
            stdout: stdout.as_bytes().to_vec(),
            stderr: String::new(),
        }
    }

    fn job(check: Check) -> Job {
        Job {
            wrapper: Vec::new(),
            arguments: Vec::new(),
            check,
        }
    }

    #[test]
    fn races_do_not_make_a_result_wrong_and_crashes_do() {
        let ours = Column::named("fasttrack");
        let job = job(Check::Checksum);
        assert_eq!(judge(&ours, &job, &run(0, "checksum=1"), None), Ok(false));
        assert_eq!(judge(&ours, &job, &run(66, "checksum=1"), None), Ok(true));
        let wrong = |column: &Column, code, text| {
            matches!(
                judge(column, &job, &run(code, text), None),
                Err(Fault::Wrong(_))
            )
        };
        assert!(wrong(&ours, 1, "checksum=1 WRONG"));
        assert!(wrong(&ours, 0, "checksum=1 WRONG"));
        assert!(wrong(&ours, 0, ""));
        assert!(wrong(&Column::Plain, 66, "checksum=1"));
        assert!(matches!(
            judge(&ours, &job, &run(2, ""), None),
            Err(Fault::Unable(_))
        ));
    }

    #[test]
    fn output_is_compared_with_the_plain_program() {
        let right = |check, text| {
            let reference = canonical(check, b"a\nb\n");
            judge(&Column::Tsan, &job(check), &run(0, text), Some(&reference)).is_ok()
        };
        assert!(right(Check::SameLines, "b\na\n") && !right(Check::SameOutput, "b\na\n"));
        assert!(right(Check::SameOutput, "a\nb\n") && !right(Check::SameLines, "a\n"));
    }
}
