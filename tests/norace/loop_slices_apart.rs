// Threads that share a vector without sharing an element: chunks, every other element, rows of a matrix, a lock for each part.
use std::sync::Mutex;
use std::thread;

const N: usize = 512;

fn main() {
    let mut numbers = vec![0u32; N];
    thread::scope(|scope| {
        for (k, chunk) in numbers.chunks_mut(N / 4).enumerate() {
            scope.spawn(move || {
                for (i, number) in chunk.iter_mut().enumerate() {
                    *number = (k * i) as u32;
                }
                chunk.reverse();
            });
        }
    });
    let (even, odd): (Vec<_>, Vec<_>) = numbers.iter_mut().enumerate().partition(|(i, _)| i % 2 == 0);
    thread::scope(|scope| {
        for half in [even, odd] {
            scope.spawn(move || {
                for (i, number) in half {
                    *number += i as u32;
                }
            });
        }
    });
    let mut matrix = vec![[0.0f64; 33]; 40];
    thread::scope(|scope| {
        let (top, bottom) = matrix.split_at_mut(17);
        for part in [top, bottom] {
            scope.spawn(move || {
                for row in part {
                    for column in (1..row.len()).step_by(2) {
                        row[column] = row[column - 1] + 1.0;
                    }
                }
            });
        }
    });
    let parts: Vec<Mutex<Vec<u32>>> = numbers.chunks(64).map(|c| Mutex::new(c.to_vec())).collect();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for part in &parts {
                    let mut part = part.lock().unwrap();
                    for number in part.iter_mut() {
                        *number += 1;
                    }
                }
            });
        }
    });
    let sum: u32 = parts.iter().map(|p| p.lock().unwrap().iter().sum::<u32>()).sum();
    assert!(sum > 0 && matrix[39][32] == 0.0);
}
