//! Successive over-relaxation on a SIZE x SIZE grid, 50 red-black iterations, a barrier after each colour.
//! Default 850; large: 2600 (54 MB). Seeded race: the barrier between the colours is missing.
use common::{Arguments, Field, Random};
use std::process::ExitCode;
use std::sync::Barrier;
use std::thread;

const SEEDED: bool = cfg!(feature = "seeded_race");
const ITERATIONS: usize = 50;
const OMEGA: f64 = 1.25;

fn relax(above: &Field<f64>, here: &Field<f64>, below: &Field<f64>, start: usize) {
    for j in (start..here.len() - 1).step_by(2) {
        let around = above.get(j) + below.get(j) + here.get(j - 1) + here.get(j + 1); // RACE
        here.set(j, OMEGA / 4.0 * around + (1.0 - OMEGA) * here.get(j)); // RACE
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::read(850);
    arguments.size = arguments.size.max(3);
    let n = arguments.size;
    let mut random = Random(101);
    let grid: Vec<Field<f64>> = (0..n)
        .map(|_| Field::new((0..n).map(|_| random.uniform() * 1e-6)))
        .collect();
    let barrier = Barrier::new(arguments.threads);
    thread::scope(|scope| {
        for me in 0..arguments.threads {
            let (grid, barrier) = (&grid, &barrier);
            scope.spawn(move || {
                for _ in 0..ITERATIONS {
                    for colour in 0..2 {
                        for i in arguments.slice(me, n - 2) {
                            relax(
                                &grid[i],
                                &grid[i + 1],
                                &grid[i + 2],
                                1 + (i + 1 + colour) % 2,
                            );
                        }
                        if !SEEDED || colour == 1 {
                            barrier.wait();
                        }
                    }
                }
            });
        }
    });
    let mut residual = 0.0;
    for i in 1..n - 1 {
        for j in 1..n - 1 {
            let around =
                grid[i - 1].get(j) + grid[i + 1].get(j) + grid[i].get(j - 1) + grid[i].get(j + 1);
            residual += (around - 4.0 * grid[i].get(j)).abs();
        }
    }
    let sum: f64 = grid
        .iter()
        .map(|row| (0..n).map(|j| row.get(j)).sum::<f64>())
        .sum();
    let mut right = residual / (n * n) as f64 <= 1e-6 / 20.0;
    // With the default size the sum is known, whatever the number of threads.
    if n == 850 {
        right &= (sum - 0.361008614497).abs() < 1e-11;
    }
    arguments.end("sor", sum, right, SEEDED)
}
