//! What the detector did, for whoever asks with `--stats`.

use std::fmt::Write;

use report::{Module, Process, Stats};
use serde_json::{Value, json};

use crate::finding::{Frame, stack, top};
use crate::json;
use crate::symbols::Symbols;

/// Arrays from one place in the program, with names.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Arrays {
    partition: String,
    blocks: u64,
    elements: u64,
    locations: u64,
    stack: Vec<Frame>,
}

/// The statistics of one process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statistics {
    process: Process,
    counts: Vec<(String, u64)>,
    arrays: Vec<Arrays>,
}

impl Statistics {
    /// Gives names to what the runtime wrote.
    pub(crate) fn new(
        symbols: &mut Symbols,
        process: &Process,
        modules: &[Module],
        stats: Stats,
    ) -> Statistics {
        let arrays = stats.arrays.into_iter().map(|arrays| Arrays {
            partition: arrays.partition,
            blocks: arrays.blocks,
            elements: arrays.elements,
            locations: arrays.locations,
            stack: stack(symbols, modules, &arrays.stack.0),
        });
        Statistics {
            process: process.clone(),
            arrays: arrays.collect(),
            counts: stats.counts,
        }
    }

    /// Array shadow locations as a fraction of array elements, as in SlimState's Table II: of the blocks that are arrays, and
    /// of all. Without array shadows an element is a word. None if the detector counts neither.
    fn shadow_fraction(&self) -> Option<(f64, f64)> {
        let of = |arrays: &mut dyn Iterator<Item = &Arrays>| {
            let (locations, elements) = arrays.fold((0, 0), |sum, arrays| {
                (sum.0 + arrays.locations, sum.1 + arrays.elements)
            });
            (elements > 0).then(|| locations as f64 / elements as f64)
        };
        let all = of(&mut self.arrays.iter())?;
        let large = of(&mut self.arrays.iter().filter(|a| a.partition != "SMALL"));
        Some((large.unwrap_or(0.0), all))
    }

    /// Run-time checks for each access, as in BigFoot's Table 1. None if the program was not linked to count.
    fn check_ratio(&self) -> Option<(u64, u64, f64)> {
        let sum = |prefix: &str| {
            let of = |(name, _): &&(String, u64)| name.starts_with(prefix);
            self.counts.iter().filter(of).map(|(_, count)| count).sum()
        };
        let (checks, accesses): (u64, u64) = (sum("checks: "), sum("accesses: "));
        (accesses > 0).then(|| (checks, accesses, checks as f64 / accesses as f64))
    }

    /// For the user.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "statistics of process {} ({})\n",
            self.process.pid, self.process.detector
        );
        for (name, count) in self.counts.iter().filter(|(_, count)| *count > 0) {
            let _ = writeln!(text, "  {count:>15}  {name}");
        }
        if let Some((checks, accesses, ratio)) = self.check_ratio() {
            let _ = writeln!(
                text,
                "  check ratio {ratio:.2e}: {checks} checks for {accesses} accesses"
            );
        }
        if let Some((arrays, all)) = self.shadow_fraction() {
            let _ = writeln!(
                text,
                "  shadow fraction {arrays:.2e} of the arrays' elements, {all:.2e} with blocks too small to be arrays"
            );
            let _ = writeln!(
                text,
                "      blocks        elements       locations  partition  allocated at"
            );
        }
        for arrays in &self.arrays {
            let place = match top(&arrays.stack) {
                Some(frame) => crate::text::line(frame),
                None => "several places".to_owned(),
            };
            let _ = writeln!(
                text,
                "  {:>10} {:>15} {:>15}  {:<9}  {place}",
                arrays.blocks, arrays.elements, arrays.locations, arrays.partition
            );
        }
        text
    }

    /// For machines.
    pub(crate) fn json(&self) -> Value {
        let counts: serde_json::Map<String, Value> = self
            .counts
            .iter()
            .map(|(name, count)| (name.clone(), json!(count)))
            .collect();
        let arrays: Value = self
            .arrays
            .iter()
            .map(|arrays| {
                json!({
                    "partition": arrays.partition,
                    "blocks": arrays.blocks,
                    "elements": arrays.elements,
                    "locations": arrays.locations,
                    "stack": json::stack(&arrays.stack),
                })
            })
            .collect();
        json!({
            "pid": self.process.pid,
            "detector": self.process.detector,
            "check_ratio": self.check_ratio().map(|(_, _, ratio)| ratio),
            "checks": self.check_ratio().map(|(checks, _, _)| checks),
            "accesses": self.check_ratio().map(|(_, accesses, _)| accesses),
            "shadow_fraction": self.shadow_fraction().map(|(arrays, _)| arrays),
            "shadow_fraction_with_small_blocks": self.shadow_fraction().map(|(_, all)| all),
            "counts": counts,
            "arrays": arrays,
        })
    }
}
