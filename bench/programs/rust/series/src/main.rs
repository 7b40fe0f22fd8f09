//! The first SIZE Fourier coefficients of (x+1)^x on [0, 2], by the trapezoid rule; each thread has a range of them.
//! Default 8,000; the work is all arithmetic. Seeded race: each thread adds its part to a total without a lock.
use common::{Arguments, Field};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

const SEEDED: bool = cfg!(feature = "seeded_race");

fn integrand(x: f64, omega_n: f64, select: u8) -> f64 {
    let f = (x + 1.0).powf(x);
    match select {
        0 => f,
        1 => f * (omega_n * x).cos(),
        _ => f * (omega_n * x).sin(),
    }
}

fn integrate(steps: u32, omega_n: f64, select: u8) -> f64 {
    let dx = 2.0 / f64::from(steps);
    let mut x = 0.0;
    let mut value = integrand(0.0, omega_n, select) / 2.0;
    for _ in 1..steps {
        x += dx;
        value += integrand(x, omega_n, select);
    }
    (value + integrand(2.0, omega_n, select) / 2.0) * dx
}

fn coefficient(i: usize) -> (f64, f64) {
    let omega_n = std::f64::consts::PI * i as f64;
    if i == 0 {
        (integrate(1000, 0.0, 0) / 2.0, 0.0)
    } else {
        (integrate(1000, omega_n, 1), integrate(1000, omega_n, 2))
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::read(8000);
    let mut pairs = vec![(0.0, 0.0); arguments.size];
    let total = Mutex::new(0.0);
    let unlocked = Field::new([0.0]);
    thread::scope(|scope| {
        let mut rest = pairs.as_mut_slice();
        for t in 0..arguments.threads {
            let range = arguments.slice(t, arguments.size);
            let (mine, others) = rest.split_at_mut(range.len());
            rest = others;
            let (total, unlocked) = (&total, &unlocked);
            scope.spawn(move || {
                let mut own = 0.0;
                for (slot, i) in mine.iter_mut().zip(range) {
                    *slot = coefficient(i);
                    own += slot.0 + slot.1;
                }
                if SEEDED {
                    unlocked.set(0, unlocked.get(0) + own); // RACE
                } else {
                    *total.lock().unwrap() += own;
                }
            });
        }
    });
    // Computed once by another implementation of the same rule.
    let known = [
        (2.8819207854624507, 0.0),
        (1.1340408915193976, -1.8820818874413576),
        (0.3622257657421951, -1.1647896540860778),
        (0.17032237859212407, -0.8146841878127582),
    ];
    let close = |a: f64, b: f64| (a - b).abs() < 1e-11;
    let mut right = known
        .iter()
        .zip(&pairs)
        .all(|(k, p)| close(k.0, p.0) && close(k.1, p.1));
    let sum: f64 = pairs.iter().map(|p| p.0 + p.1).sum();
    right &= (sum - *total.lock().unwrap()).abs() < 1e-9 * arguments.size as f64;
    arguments.end("series", sum, right, SEEDED)
}
