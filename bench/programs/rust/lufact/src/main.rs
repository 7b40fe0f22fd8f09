//! LU factorisation with partial pivoting of a SIZE x SIZE matrix and the solution of one system, columns dealt out to the
//! threads, barriers between the steps. Default 500; large: 2600 (54 MB).
//! Seeded race: the barrier before the update is missing. (Without the one after it there is no race: the column that
//! thread 0 scales next is the one that it updated itself.)
use common::{Arguments, Field, Random};
use std::process::ExitCode;
use std::sync::Barrier;
use std::thread;

const SEEDED: bool = cfg!(feature = "seeded_race");

fn factorise(
    me: usize,
    threads: usize,
    columns: &[Field<f64>],
    pivots: &Field<usize>,
    barrier: &Barrier,
) {
    let n = columns.len();
    for k in 0..n - 1 {
        let pivot_column = &columns[k];
        if me == 0 {
            let mut best = k;
            for i in k + 1..n {
                if pivot_column.get(i).abs() > pivot_column.get(best).abs() {
                    // RACE
                    best = i;
                }
            }
            pivots.set(k, best);
            let pivot = pivot_column.get(best);
            pivot_column.set(best, pivot_column.get(k));
            pivot_column.set(k, pivot);
            for i in k + 1..n {
                pivot_column.set(i, -pivot_column.get(i) / pivot); // RACE
            }
        }
        if !SEEDED {
            barrier.wait();
        }
        let best = pivots.get(k);
        for column in columns.iter().skip(k + 1 + me).step_by(threads) {
            let factor = column.get(best);
            column.set(best, column.get(k));
            column.set(k, factor);
            for i in k + 1..n {
                column.set(i, column.get(i) + factor * pivot_column.get(i));
            }
        }
        barrier.wait();
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::read(500);
    let n = arguments.size;
    let mut random = Random(1325);
    let original: Vec<Vec<f64>> = (0..n)
        .map(|_| (0..n).map(|_| random.uniform() - 0.5).collect())
        .collect();
    let columns: Vec<Field<f64>> = original
        .iter()
        .map(|c| Field::new(c.iter().copied()))
        .collect();
    let side: Vec<f64> = (0..n)
        .map(|i| original.iter().map(|c| c[i]).sum())
        .collect();
    let pivots = Field::new(vec![0_usize; n]);
    let barrier = Barrier::new(arguments.threads);
    thread::scope(|scope| {
        for me in 0..arguments.threads {
            let (columns, pivots, barrier) = (&columns, &pivots, &barrier);
            scope.spawn(move || factorise(me, arguments.threads, columns, pivots, barrier));
        }
    });
    let mut x = side.clone();
    for k in 0..n - 1 {
        x.swap(k, pivots.get(k));
        let t = x[k];
        for i in k + 1..n {
            x[i] += t * columns[k].get(i);
        }
    }
    for k in (0..n).rev() {
        x[k] /= columns[k].get(k);
        for i in 0..k {
            x[i] -= x[k] * columns[k].get(i);
        }
    }
    // The right side was made for the solution 1, 1, 1, …
    let worst = (0..n)
        .map(|i| (original.iter().zip(&x).map(|(c, x)| c[i] * x).sum::<f64>() - side[i]).abs())
        .fold(0.0, f64::max);
    let sum: f64 = x.iter().sum();
    let size = n as f64;
    let right = worst < 1e-9 * size && (sum - size).abs() < 1e-3 * size;
    arguments.end("lufact", (sum * 1e3).round() / 1e3, right, SEEDED)
}
