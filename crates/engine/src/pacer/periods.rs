//! When Pacer samples.
//!
//! Execution is divided into global periods, and each is a sampling period or not. If the
//! execution brings marks (`sbegin`, `send`), they say which; else periods are so many events long, at random around
//! [`MEAN`], and each is a sampling period with probability `rate`, independently of all others. So each event is sampled with
//! probability `rate`. The paper's periods end with garbage collections, which come sooner while sampling, so that it has to
//! correct the probability by measuring the work done in both kinds of periods; a count of events is
//! that measure, and there is no bias to correct.
//!
//! Threads run side by side: a thread reports its events in batches, and sees a new period at its next
//! event. That threads see the switch at different moments is no matter, see the module above.

use crate::lock::Lock;
use crate::random::Random;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Events in a period, on average.
pub const MEAN: u64 = 1024;
/// A thread reports its events in batches of this size.
const BATCH: u32 = 16;

#[derive(Debug)]
pub(super) struct Periods {
    rate: f64,
    sampling: AtomicBool,
    /// The execution has marks.
    marked: AtomicBool,
    /// Events left in this period; 0 while its successor is being chosen.
    left: AtomicU64,
    random: Lock<Random>,
}

impl Periods {
    /// A rate of `None` leaves it all to marks.
    pub(super) fn new(rate: Option<f64>, seed: u64) -> Self {
        let mut random = Random::new(seed, 0);
        let rate_now = rate.unwrap_or(0.0);
        Periods {
            rate: rate_now,
            sampling: AtomicBool::new(random.chance(rate_now)),
            marked: AtomicBool::new(rate.is_none()),
            left: AtomicU64::new(length(&mut random)),
            random: Lock::new(random),
        }
    }

    /// Is this a sampling period?
    #[inline]
    pub(super) fn sampling(&self) -> bool {
        self.sampling.load(Ordering::Relaxed)
    }

    /// One more event of a thread that has `pending` events to report.
    #[inline]
    pub(super) fn tick(&self, pending: &mut u32) {
        *pending += 1;
        if *pending == BATCH {
            *pending = 0;
            self.report();
        }
    }

    #[cold]
    fn report(&self) {
        if self.marked.load(Ordering::Relaxed) {
            return;
        }
        let batch = u64::from(BATCH);
        let spent = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(batch))
            });
        if spent.is_ok_and(|left| left > 0 && left <= batch) {
            // Only one thread takes the last event of a period.
            let mut random = self.random.lock();
            if !self.marked.load(Ordering::Relaxed) {
                let sampling = random.chance(self.rate);
                self.sampling.store(sampling, Ordering::Relaxed);
            }
            self.left.store(length(&mut random), Ordering::Relaxed);
        }
    }

    /// A mark in the execution. From the first one on, only marks count.
    pub(super) fn mark(&self, sampling: bool) {
        let _exclusive = self.random.lock();
        self.marked.store(true, Ordering::Relaxed);
        self.sampling.store(sampling, Ordering::Relaxed);
    }
}

fn length(random: &mut Random) -> u64 {
    MEAN / 2 + random.up_to(MEAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fraction of events in sampling periods is the rate, and so is the chance of the first event.
    #[test]
    fn the_effective_rate_is_the_rate() {
        for rate in [0.0, 0.01, 0.1, 0.5, 1.0] {
            let (mut sampled, mut first, seeds, events) = (0, 0, 2_000, 20_000);
            for seed in 0..seeds {
                let periods = Periods::new(Some(rate), seed);
                first += u64::from(periods.sampling());
                let mut pending = 0;
                for _ in 0..events {
                    sampled += u64::from(periods.sampling());
                    periods.tick(&mut pending);
                }
            }
            let effective = sampled as f64 / (seeds * events) as f64;
            // About 20 periods a run: the standard deviation is that of 40,000 coins.
            let slack = 5.0 * (rate * (1.0 - rate) / 40_000.0).sqrt();
            assert!((effective - rate).abs() <= slack, "{rate}: {effective}");
            let slack = 4.0 * (rate * (1.0 - rate) / seeds as f64).sqrt();
            let first = first as f64 / seeds as f64;
            assert!((first - rate).abs() <= slack, "{rate}: {first}");
        }
    }

    #[test]
    fn marks_rule() {
        let periods = Periods::new(None, 1);
        assert!(!periods.sampling());
        let mut pending = 0;
        for sampling in [true, false, true] {
            periods.mark(sampling);
            for _ in 0..10_000 {
                periods.tick(&mut pending);
                assert_eq!(periods.sampling(), sampling);
            }
        }
        let always = Periods::new(Some(1.0), 1);
        assert!(always.sampling());
        always.mark(false);
        for _ in 0..10_000 {
            always.tick(&mut pending);
            assert!(!always.sampling());
        }
    }
}
