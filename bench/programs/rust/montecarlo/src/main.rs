//! Monte Carlo pricing: SIZE paths of a geometric Brownian motion, 1000 days each; a path is a boxed object with an array of
//! values, results go to a shared list under a Mutex. Default 5,000 paths; large: 20,000. Seeded race: a counter of results has no lock.
use common::{Arguments, Field, Random};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const SEEDED: bool = cfg!(feature = "seeded_race");
const DAYS: usize = 1000;
const DRIFT: f64 = 0.05;
const VOLATILITY: f64 = 0.2;
const DT: f64 = 1.0 / 365.0;

struct Path {
    values: Vec<f64>,
    rate: f64,
    next: Option<Box<Path>>,
}

fn gaussian(random: &mut Random) -> f64 {
    loop {
        let (a, b) = (2.0 * random.uniform() - 1.0, 2.0 * random.uniform() - 1.0);
        let s = a * a + b * b;
        if s > 0.0 && s < 1.0 {
            return a * (-2.0 * s.ln() / s).sqrt();
        }
    }
}

fn simulate(number: usize) -> Box<Path> {
    let mut random = Random(number as u64 * 11 + 1);
    let mut values = Vec::with_capacity(DAYS);
    values.push(100.0_f64);
    for day in 1..DAYS {
        let change = (DRIFT - VOLATILITY * VOLATILITY / 2.0) * DT
            + VOLATILITY * DT.sqrt() * gaussian(&mut random);
        values.push(values[day - 1] * change.exp());
    }
    let sum: f64 = values.windows(2).map(|w| (w[1] / w[0]).ln()).sum();
    let rate = sum / ((DAYS - 1) as f64 * DT) + VOLATILITY * VOLATILITY / 2.0;
    Box::new(Path {
        values,
        rate,
        next: None,
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::read(5000);
    let next = AtomicUsize::new(0);
    let results = Mutex::new(None);
    let done = Field::new([0_usize]);
    thread::scope(|scope| {
        for _ in 0..arguments.threads {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(20, Ordering::Relaxed);
                    if from >= arguments.size {
                        return;
                    }
                    for i in from..(from + 20).min(arguments.size) {
                        let mut path = simulate(i);
                        if SEEDED {
                            done.set(0, done.get(0) + 1); // RACE
                        }
                        let mut list = results.lock().unwrap();
                        path.next = list.take();
                        *list = Some(path);
                    }
                }
            });
        }
    });
    // In billionths: whole numbers have one sum, whatever the order.
    let (mut count, mut sum) = (0, 0);
    let mut results = results.into_inner().unwrap();
    while let Some(path) = results {
        count += usize::from(path.values.len() == DAYS);
        sum += (path.rate * 1e9).round() as i64;
        results = path.next;
    }
    let complete = count == arguments.size;
    let mean = sum as f64 / 1e9 / arguments.size as f64;
    // Four standard errors.
    let error = VOLATILITY / ((DAYS - 1) as f64 * DT).sqrt() / (arguments.size as f64).sqrt();
    arguments.end(
        "montecarlo",
        mean,
        complete && (mean - DRIFT).abs() < 4.0 * error,
        SEEDED,
    )
}
