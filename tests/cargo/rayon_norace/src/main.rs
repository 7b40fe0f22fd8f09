// rayon: parallel iterators, sorting, joins and scopes on a pool of three threads, without a race.
// verdict: norace
// timeout: 120
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use rayon::prelude::*;

fn fibonacci(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = rayon::join(|| fibonacci(n - 1), || fibonacci(n - 2));
    a + b
}

fn main() {
    rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build_global()
        .unwrap();
    let squares: Vec<u64> = (0..10_000_u64).into_par_iter().map(|n| n * n).collect();
    assert_eq!(squares.par_iter().sum::<u64>(), 9999 * 10_000 * 19_999 / 6);
    let mut numbers: Vec<u32> = (0..5000_u32)
        .map(|i| i.wrapping_mul(2_654_435_761))
        .collect();
    numbers.par_sort_unstable();
    assert!(numbers.windows(2).all(|w| w[0] <= w[1]));
    numbers
        .par_chunks_mut(700)
        .for_each(|chunk| chunk.reverse());
    assert_eq!(fibonacci(14), 377);
    let mut parts = vec![0_usize; 8];
    rayon::scope(|scope| {
        for (i, part) in parts.iter_mut().enumerate() {
            scope.spawn(move |_| *part = i + 1);
        }
    });
    assert_eq!(parts.iter().sum::<usize>(), 36);
}
