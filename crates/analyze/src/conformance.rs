//! Holds detectors to the oracle: the bytes they call racy are the racy bytes.

use crate::ByteSet;
use crate::detectors::{self, DETECTORS, Entry, Options, Promise, Visitor};
use engine::{Detector, Race, replay::Replay};
use event::Event;
use oracle::{Oracle, r#gen::shrink};

struct RacyBytes<'a> {
    events: &'a [Event],
    /// Leave out the marks of sampling periods: the rate says when.
    by_rate: bool,
}

impl Visitor for RacyBytes<'_> {
    type Output = ByteSet;

    fn visit<D: Detector + 'static>(self, detector: D) -> ByteSet {
        let mut replay = Replay::new(detector);
        let mut racy = ByteSet::default();
        let mut sink = |race: &Race| racy.insert(race.addr.0..race.addr.0 + u64::from(race.size));
        for event in self.events {
            let mark = matches!(event.op, event::Op::SampleBegin | event::Op::SampleEnd);
            if !(mark && self.by_rate) {
                replay.step(event, &mut sink);
            }
        }
        replay.finish(&mut sink);
        racy
    }
}

/// The bytes that a detector calls racy.
pub fn racy_bytes(detector: &Entry, options: &Options, events: &[Event]) -> ByteSet {
    let visitor = RacyBytes {
        events,
        by_rate: options.rate.is_some(),
    };
    // The entry is a line of the table, so its name is known.
    detectors::with(detector.name, options, visitor).unwrap_or_default()
}

/// The bytes that are.
pub fn truth(events: &[Event]) -> ByteSet {
    let mut racy = ByteSet::default();
    if let Ok(oracle) = Oracle::new(events) {
        oracle.each(|_, _, bytes| {
            racy.insert(bytes);
            false
        });
    }
    racy
}

/// Does the detector keep its promise on this trace? Samplers are run at rate 1.
fn keeps_promise(detector: &Entry, options: &Options, events: &[Event], truth: &ByteSet) -> bool {
    match detector.promise {
        Promise::Exact => racy_bytes(detector, options, events) == *truth,
        Promise::Sampled => {
            let all = Options {
                rate: Some(1.0),
                ..*options
            };
            racy_bytes(detector, &all, events) == *truth
        }
        Promise::Sound => {
            let mut both = truth.clone();
            for run in racy_bytes(detector, options, events).runs() {
                both.insert(run);
            }
            both == *truth
        }
    }
}

/// Holds every detector of the table to the oracle on one trace. If one differs, says which, with a trace as small as possible.
pub fn check(options: &Options, events: &[Event]) -> Result<(), String> {
    check_these(DETECTORS, options, events)
}

/// The same for some detectors.
pub fn check_these<'a>(
    detectors: impl IntoIterator<Item = &'a Entry>,
    options: &Options,
    events: &[Event],
) -> Result<(), String> {
    let expected = truth(events);
    for detector in detectors {
        if keeps_promise(detector, options, events, &expected) {
            continue;
        }
        let small = shrink(events, |candidate| {
            !keeps_promise(detector, options, candidate, &truth(candidate))
        });
        let found = racy_bytes(detector, options, &small);
        let lines: Vec<_> = small.iter().map(|e| format!("  {e:?}")).collect();
        return Err(format!(
            "{} promises {:?}, and differs from the oracle on\n{}\noracle:   {:?}\ndetector: {:?}",
            detector.name,
            detector.promise,
            lines.join("\n"),
            truth(&small).runs().collect::<Vec<_>>(),
            found.runs().collect::<Vec<_>>(),
        ));
    }
    Ok(())
}
