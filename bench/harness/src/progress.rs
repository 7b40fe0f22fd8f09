//! A bar with the time left; without a terminal, a line for each phase.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// What is done one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Build,
    Verify,
    Rounds,
    Valgrind,
    Scaling,
}

const PHASES: usize = 5;
const STEPS: u64 = 1000;

/// Knows how many seconds are expected for what is left of each phase.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    start: Instant,
    expected: [f64; PHASES],
}

impl Progress {
    pub(crate) fn new() -> Progress {
        let bar = ProgressBar::new(STEPS);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {msg}") {
            bar.set_style(style);
        }
        Progress {
            bar,
            start: Instant::now(),
            expected: [0.0; PHASES],
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// So many seconds are expected for the rest of a phase.
    pub(crate) fn expect(&mut self, phase: Phase, seconds: f64) {
        if let Some(expected) = self.expected.get_mut(phase as usize) {
            *expected = seconds.max(0.0);
        }
    }

    /// Something that was expected to take so long is done.
    pub(crate) fn done(&mut self, phase: Phase, seconds: f64) {
        let left = self.expected.get(phase as usize).copied().unwrap_or(0.0);
        self.expect(phase, left - seconds);
    }

    pub(crate) fn expected(&self, phase: Phase) -> f64 {
        self.expected.get(phase as usize).copied().unwrap_or(0.0)
    }

    fn left(&self) -> String {
        let seconds: f64 = self.expected.iter().sum();
        if seconds >= 90.0 {
            format!("about {:.0} min left", seconds / 60.0)
        } else {
            format!("about {seconds:.0} s left")
        }
    }

    /// Shows what is being done.
    pub(crate) fn show(&self, what: &str) {
        let elapsed = self.elapsed().as_secs_f64();
        let whole = elapsed + self.expected.iter().sum::<f64>();
        let part = if whole > 0.0 { elapsed / whole } else { 0.0 };
        self.bar.set_position((part * STEPS as f64) as u64);
        self.bar.set_message(format!("{what}, {}", self.left()));
    }

    /// The beginning of a phase or a round.
    pub(crate) fn begin(&self, what: &str) {
        self.show(what);
        if self.bar.is_hidden() {
            let elapsed = self.elapsed().as_secs();
            eprintln!(
                "[{:2}:{:02}] {what}, {}",
                elapsed / 60,
                elapsed % 60,
                self.left()
            );
        }
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
