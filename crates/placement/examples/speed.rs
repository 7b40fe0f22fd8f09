//! How long the analysis takes: generated programs, from small to far larger than any method.
//! `cargo run --release -p footrace-placement --example speed`

use placement::generate::{Random, Size, program};
use placement::{Mode, Options, effects, place, text};
use std::time::{Duration, Instant};

fn main() {
    println!(
        "{:>10} {:>9} {:>9} {:>10} {:>12} {:>12} {:>12}",
        "statements", "functions", "accesses", "mode", "µs/function", "µs/access", "worst µs"
    );
    for statements in [4, 12, 40, 150, 600] {
        for mode in [Mode::RedCard, Mode::BigFoot] {
            measure(statements, mode);
        }
    }
}

fn measure(statements: usize, mode: Mode) {
    let mut random = Random(7);
    let (mut functions, mut accesses) = (0u32, 0u64);
    let (mut total, mut worst) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..20 {
        let size = Size {
            threads: 5,
            statements,
            depth: 3,
        };
        let source = program(&mut random, size);
        let Ok(lowered) = text::lower(&source) else {
            continue;
        };
        let effects = effects(&lowered.program);
        for f in &lowered.program.funcs {
            let start = Instant::now();
            let options = Options {
                mode,
                ..Options::default()
            };
            let placement = place(f, &effects, options);
            let took = start.elapsed();
            total += took;
            worst = worst.max(took);
            functions += 1;
            accesses += placement.counts.accesses;
        }
    }
    let micros = |d: Duration| d.as_secs_f64() * 1e6;
    println!(
        "{statements:>10} {functions:>9} {accesses:>9} {:>10} {:>12.1} {:>12.2} {:>12.0}",
        format!("{mode:?}"),
        micros(total) / f64::from(functions),
        micros(total) / accesses as f64,
        micros(worst)
    );
}
