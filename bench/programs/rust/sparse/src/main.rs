//! Sparse matrix times vector, 20 times: SIZE rows with 5 entries each, sorted by row; each thread has its own rows.
//! Default 120,000 rows; large: 1,000,000 (136 MB). Seeded race: a row at a boundary belongs to two threads.
use common::{Arguments, Field, Random};
use std::process::ExitCode;
use std::thread;

const SEEDED: bool = cfg!(feature = "seeded_race");
const PER_ROW: usize = 5;
const ROUNDS: usize = 20;

fn main() -> ExitCode {
    let arguments = Arguments::read(120_000);
    let (rows, entries) = (arguments.size, arguments.size * PER_ROW);
    let mut random = Random(10_101_010);
    let x: Vec<f64> = (0..rows).map(|_| (random.next() % 10) as f64).collect();
    let (mut row, mut col, mut value) = (Vec::new(), Vec::new(), Vec::new());
    let mut expected = 0.0;
    for i in 0..entries {
        row.push(i / PER_ROW);
        col.push((random.next() % rows as u64) as usize);
        value.push((random.next() % 10) as f64);
        expected += x[col[i]] * value[i];
    }
    let y = Field::new(vec![0.0; rows]);
    thread::scope(|scope| {
        for t in 0..arguments.threads {
            let (x, y, row, col, value) = (&x, &y, &row, &col, &value);
            scope.spawn(move || {
                let range = arguments.slice(t, rows);
                let from = range.start * PER_ROW - if SEEDED && t > 0 { 2 } else { 0 };
                for _ in 0..ROUNDS {
                    for i in from..range.end * PER_ROW {
                        y.set(row[i], y.get(row[i]) + x[col[i]] * value[i]); // RACE
                    }
                }
            });
        }
    });
    let sum: f64 = (0..rows).map(|i| y.get(i)).sum();
    arguments.end("sparse", sum, sum == expected * ROUNDS as f64, SEEDED)
}
