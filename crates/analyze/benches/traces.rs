//! Events per second from a binary trace, on one core: `cargo xtask bench engine`.
//!
//! `null` reads and checks the trace and looks at nothing: what the other columns cannot do without.
//!
//! Targets: fasttrack 50 M events/s on crypt and sor, 20 M on random; slimstate no slower than fasttrack on the shapes, and at most 1.3 times as
//! long on random.

use analyze::{Options, analyze, detectors::DETECTORS};
use divan::{Bencher, counter::ItemsCount};
use oracle::{Checker, r#gen::random};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use trace::shapes::{SHAPES, Size};
use trace::{Format, NO_ACCESS, Names, Reader, Writer};

fn main() {
    divan::main();
}

/// Random traces, of so many threads: as many as the shapes have, and more than a vector clock has numbers at hand for.
const RANDOM: [(&str, u32); 2] = [("random", 4), ("random8", 8)];

struct Trace {
    bytes: Vec<u8>,
    events: u64,
}

fn make(name: &str) -> Trace {
    let mut bytes = Vec::new();
    let mut events = 0;
    let mut writer = Writer::new(&mut bytes, Format::Binary).unwrap();
    match SHAPES.iter().find(|shape| shape.name == name) {
        Some(shape) => {
            let size = Size {
                size: None,
                iterations: None,
                threads: 4,
                seed: 0,
            };
            let mut write = |event: &event::Event, names: &Names| {
                events += 1;
                writer.write(event, names)
            };
            shape.generate(&size, &mut write).unwrap();
        }
        None => {
            let names = Names::new();
            let (_, threads) = RANDOM.into_iter().find(|random| random.0 == name).unwrap();
            random::stream(&random::mixed(1_000_000, threads), 1, &mut |event| {
                events += 1;
                writer.write(&event, &names).unwrap();
            });
        }
    }
    writer.finish().unwrap();
    Trace { bytes, events }
}

static TRACES: LazyLock<Mutex<HashMap<String, &'static Trace>>> = LazyLock::new(Mutex::default);

fn trace(name: &str) -> &'static Trace {
    let mut traces = TRACES.lock().unwrap();
    traces
        .entry(name.to_string())
        .or_insert_with(|| Box::leak(Box::new(make(name))))
}

fn names() -> Vec<&'static str> {
    let shapes = SHAPES.iter().map(|shape| shape.name);
    shapes.chain(RANDOM.map(|random| random.0)).collect()
}

#[divan::bench(args = names(), sample_count = 5)]
fn null(bencher: Bencher, name: &str) {
    let trace = trace(name);
    bencher.counter(ItemsCount::new(trace.events)).bench(|| {
        let mut reader = Reader::new(&trace.bytes[..]).unwrap();
        let mut checker = Checker::new();
        let mut batch = [NO_ACCESS; analyze::BATCH];
        loop {
            while let Some(turn) = analyze::turn(&mut reader, &mut checker, &mut batch) {
                divan::black_box(turn);
            }
            match reader.next_event().unwrap() {
                Some(event) => drop(checker.step(&event).unwrap()),
                None => break,
            }
        }
    });
}

fn pairs() -> Vec<String> {
    let mut pairs = Vec::new();
    for entry in DETECTORS {
        pairs.extend(names().iter().map(|name| format!("{} {name}", entry.name)));
    }
    pairs
}

#[divan::bench(args = pairs(), sample_count = 3)]
fn detectors(bencher: Bencher, pair: &str) {
    let (detector, name) = pair.split_once(' ').unwrap();
    let trace = trace(name);
    bencher.counter(ItemsCount::new(trace.events)).bench(|| {
        // Opened once: the events of races are not looked for.
        let mut first = true;
        analyze(detector, &Options::default(), || {
            Ok(std::mem::take(&mut first).then(|| Reader::new(&trace.bytes[..]).unwrap()))
        })
    });
}
