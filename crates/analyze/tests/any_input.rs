//! Nothing panics, whatever the file: text and binary traces with random changes, through every detector.

use analyze::{Options, analyze, detectors::DETECTORS, show};
use oracle::r#gen::random;
use proptest::prelude::*;
use trace::{Format, Names, Reader, Writer};

fn written(seed: u64, format: Format) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, format).unwrap();
    for event in &random::arbitrary(seed, 60) {
        writer.write(event, &Names::new()).unwrap();
    }
    writer.finish().unwrap();
    out
}

fn run(bytes: &[u8]) {
    let style = show::Style {
        path: "trace".to_string(),
        color: true,
    };
    for entry in DETECTORS {
        let (report, end) = analyze(entry.name, &Options::default(), || {
            Reader::new(bytes).map(Some)
        });
        if let Some(report) = report {
            show::report(&report, &style);
            show::stats(&report.stats);
            assert!(show::json(&report).starts_with('{'));
        }
        if let Err(analyze::Failure::Trace(e)) = end {
            assert!(!show::error(&e, &style).is_empty());
        }
    }
}

const LINES: &[&str] = &[
    "T0|w(x)|1",
    "T1|r(x)",
    "T0|new(a,4)",
    "T1|w(a[0..4:2])|3",
    "T0|free(a)",
    "T0|acq(l)",
    "T1|rel(l)",
    "T0|rel(l)",
    "T0|fork(T1)",
    "T1|join(T0)",
    "T2|end",
    "T1|ld(x,acq)|9",
    "T0|st(x,rlx)",
    "T0|rmw(a[1],ar)",
    "T0|fence(sc)",
    "T0|arrive(b)",
    "T0|depart(b)",
    "T0|sbegin",
    "T1|send",
    "T0|enter(f)",
    "T0|exit(f)",
    "T0|w(@0x1001:3)|7",
    "T1|w(@0x1000:8)|7",
    "T1|r(@0x7fffffffffff:1)",
    "T0|new(@0x1000,9,2)",
    "T1|free(@0x1000)",
    "T0|new(a,1000)",
    "T0|w(a[3..1000:7])",
    "T1|begin",
    "# comment",
    "",
    "T3|vw(v)",
    "T3|vr(v)",
    "T3|snd(g)",
    "T1|rcv(g)",
    "T1|racq(l)",
    "T1|rrel(l)",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lines_in_any_order(lines in prop::collection::vec(prop::sample::select(LINES), 0..60)) {
        run(lines.join("\n").as_bytes());
    }

    #[test]
    fn changed_text(
        seed in 0_u64..1000,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut text = written(seed, Format::Text);
        for (at, byte) in changes {
            let i = at.index(text.len());
            text[i] = byte;
        }
        run(&text);
    }

    #[test]
    fn changed_binary(
        seed in 0_u64..1000,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = written(seed, Format::Binary);
        for (at, byte) in changes {
            let i = at.index(bytes.len());
            bytes[i] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        run(&bytes);
    }
}
