//! The papers' figures as traces: `tests/traces/*.std`.
//!
//! A line `#= detector: locations ; Counter=n …` says what the detector must report, exactly, and how
//! often rules must fire.

use analyze::{Options, Report};
use std::fs;
use std::path::Path;
use trace::Reader;

fn report(detector: &str, text: &str) -> Report {
    let open = || Reader::new(text.as_bytes()).map(Some);
    let (report, end) = analyze::analyze(detector, &Options::default(), open);
    end.unwrap_or_else(|e| panic!("{detector}: {e}"));
    report.expect("there is a trace")
}

/// Checks one file; returns how many expectations it holds.
fn check(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap();
    let mut count = 0;
    for line in text.lines().filter_map(|line| line.strip_prefix("#=")) {
        let place = format!("{}: {line}", path.display());
        let (detector, expected) = line.split_once(':').expect(&place);
        let (locations, counters) = expected.split_once(';').unwrap_or((expected, ""));
        let report = report(detector.trim(), &text);
        let locations: Vec<&str> = locations.split_whitespace().collect();
        assert_eq!(report.racy_locations, locations, "{place}");
        for counter in counters.split_whitespace() {
            let (name, n) = counter.split_once('=').expect(&place);
            let n: u64 = n.parse().expect(&place);
            assert_eq!(report.stats.rules.get(name), Some(&n), "{place}: {name}");
        }
        count += 1;
    }
    count
}

#[test]
fn traces_are_judged_as_their_headers_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/traces");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "std") {
            count += check(&path);
        }
    }
    assert!(count >= 20, "{count}");
}
