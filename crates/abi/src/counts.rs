//! Counters of what a program does and what is checked of it: thread-local, as many `u64` as [`Counter`] has cases, in
//! [`SYMBOL`]. Only programs that were linked with `--footrace-count` count.

/// The thread's counters (thread-local, initial-exec).
pub const SYMBOL: &str = "__footrace_counts";

/// How many there are.
pub const COUNTERS: usize = 12;

/// What is counted, by its place in the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
#[allow(missing_docs, reason = "named below")]
pub enum Counter {
    Reads,
    Writes,
    ReadChecks,
    WriteChecks,
    ReadRanges,
    WriteRanges,
    ReadStrided,
    WriteStrided,
    ReadMasked,
    WriteMasked,
    ReadGathered,
    WriteGathered,
}

impl Counter {
    /// All of them, in order.
    pub const ALL: [Counter; COUNTERS] = [
        Counter::Reads,
        Counter::Writes,
        Counter::ReadChecks,
        Counter::WriteChecks,
        Counter::ReadRanges,
        Counter::WriteRanges,
        Counter::ReadStrided,
        Counter::WriteStrided,
        Counter::ReadMasked,
        Counter::WriteMasked,
        Counter::ReadGathered,
        Counter::WriteGathered,
    ];

    /// For reports. An access is one that another thread could see; a check is one call, however much it covers.
    pub const fn name(self) -> &'static str {
        match self {
            Counter::Reads => "accesses: reads",
            Counter::Writes => "accesses: writes",
            Counter::ReadChecks => "checks: of a read",
            Counter::WriteChecks => "checks: of a write",
            Counter::ReadRanges => "checks: of a range of reads",
            Counter::WriteRanges => "checks: of a range of writes",
            Counter::ReadStrided => "checks: of reads with gaps",
            Counter::WriteStrided => "checks: of writes with gaps",
            Counter::ReadMasked => "checks: of masked reads",
            Counter::WriteMasked => "checks: of masked writes",
            Counter::ReadGathered => "checks: of a list of reads",
            Counter::WriteGathered => "checks: of a list of writes",
        }
    }

    /// The counter for calls of a function of the ABI.
    pub fn of_check(function: &str) -> Option<Counter> {
        let (write, rest) = match function.strip_prefix("__footrace_read") {
            Some(rest) => (false, rest),
            None => (true, function.strip_prefix("__footrace_write")?),
        };
        let both = match rest {
            "1" | "2" | "4" | "8" | "16" | "24" | "32" | "_unaligned2" | "_unaligned4"
            | "_unaligned8" | "_unaligned16" => [Counter::ReadChecks, Counter::WriteChecks],
            "_range" => [Counter::ReadRanges, Counter::WriteRanges],
            "_strided" => [Counter::ReadStrided, Counter::WriteStrided],
            "_gathered" => [Counter::ReadGathered, Counter::WriteGathered],
            "_masked" => [Counter::ReadMasked, Counter::WriteMasked],
            _ => return None,
        };
        Some(both[usize::from(write)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_a_counter() {
        for function in crate::FUNCTIONS {
            let name = function.name;
            let is_check =
                name.starts_with("__footrace_read") || name.starts_with("__footrace_write");
            assert_eq!(Counter::of_check(name).is_some(), is_check, "{name}");
        }
        for (at, counter) in Counter::ALL.into_iter().enumerate() {
            assert_eq!(counter as usize, at);
        }
    }
}
