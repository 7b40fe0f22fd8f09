//! A job for rayon: `rayon-job [THREADS [SIZE]]` sorts, groups and reduces SIZE numbers in parallel.
use rayon::prelude::*;
use std::collections::BTreeMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let threads: usize = words.next().map_or(Ok(4), |word| word.parse())?;
    let size: u64 = words.next().map_or(Ok(400_000), |word| word.parse())?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let mut numbers: Vec<u64> = (0..size)
        .into_par_iter()
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % 1_000_003)
        .collect();
    numbers.par_sort_unstable();
    let rises = numbers
        .par_windows(2)
        .filter(|pair| pair[0] < pair[1])
        .count();
    let groups: BTreeMap<u64, u64> = numbers
        .par_iter()
        .fold(BTreeMap::new, |mut groups: BTreeMap<u64, u64>, number| {
            *groups.entry(number % 97).or_default() += number;
            groups
        })
        .reduce(BTreeMap::new, |mut left, right| {
            for (key, sum) in right {
                *left.entry(key).or_default() += sum;
            }
            left
        });
    let mut texts: Vec<String> = numbers
        .par_iter()
        .step_by(16)
        .map(|number| format!("{number:x}"))
        .collect();
    texts.par_sort();
    let length: usize = texts.par_iter().map(String::len).sum();
    let sums = groups
        .values()
        .fold(0_u64, |a, b| a.wrapping_mul(31).wrapping_add(*b));
    println!(
        "{rises} rises, {sums} in {} groups, {length} digits",
        groups.len()
    );
    println!("{:?} {:?}", texts.first(), texts.last());
    Ok(())
}
