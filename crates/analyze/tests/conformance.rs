//! Every detector of the table against the oracle, on random and on all small traces.
//!
//! Short by default; `FOOTRACE_LONG=1`, which `cargo xtask test --long` sets, runs all of it. Work is shared among the machine's cores.

use analyze::batch::{Apart, Batch};
use analyze::conformance::check;
use analyze::detectors::{DETECTORS, Options, Promise};
use oracle::r#gen::{Alphabet, exhaustive::enumerate_part, random};
use std::sync::Mutex;

fn long() -> bool {
    std::env::var_os("FOOTRACE_LONG").is_some()
}

/// With partitions for the smallest arrays, too.
const PARTITIONS: Options = Options {
    rate: None,
    seed: 0,
    small_array: 0,
};

/// Runs `job` for each share; panics with the first complaint.
fn share_out(job: impl Fn(u64, u64) -> Result<u64, String> + Sync) -> u64 {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let first_error = Mutex::new(None);
    let total = Mutex::new(0);
    std::thread::scope(|scope| {
        for core in 0..cores {
            let (job, first_error, total) = (&job, &first_error, &total);
            scope.spawn(move || match job(core, cores) {
                Ok(n) => *total.lock().unwrap() += n,
                Err(e) => drop(first_error.lock().unwrap().get_or_insert(e)),
            });
        }
    });
    if let Some(e) = first_error.into_inner().unwrap() {
        panic!("{e}");
    }
    total.into_inner().unwrap()
}

fn random_traces(count: u64, events: usize, options: &Options) {
    let checked = share_out(|core, cores| {
        let mut checked = 0;
        for seed in (core..count).step_by(cores as usize) {
            check(options, &random::arbitrary(seed, events))
                .map_err(|e| format!("seed {seed}: {e}"))?;
            checked += 1;
        }
        Ok(checked)
    });
    assert_eq!(checked, count);
}

/// One in `sample` of all traces, by their first three events.
fn all_traces(alphabet: &Alphabet, events: usize, sample: u64) {
    let exact = DETECTORS
        .iter()
        .filter(|entry| entry.promise == Promise::Exact);
    let apart = Apart {
        bytes: 64,
        threads: alphabet.threads,
        locks: alphabet.locks.max(1),
    };
    let checked = share_out(|core, cores| {
        let mut result = Ok(());
        let mut batch = Batch::new(apart);
        let visited = enumerate_part(alphabet, events, core, cores * sample, &mut |trace| {
            if result.is_ok() {
                batch.add(trace);
                if batch.is_full() {
                    result = batch.check(exact.clone(), &PARTITIONS);
                }
            }
        });
        result.and_then(|()| batch.check(exact.clone(), &PARTITIONS))?;
        Ok(visited)
    });
    println!("{checked} traces of up to {events} events");
    assert!(checked > 1000);
}

#[test]
fn random_traces_of_200_events() {
    random_traces(
        if long() { 100_000 } else { 1_000 },
        200,
        &Options::default(),
    );
}

#[test]
fn random_traces_of_200_events_with_small_partitions() {
    random_traces(if long() { 100_000 } else { 1_000 }, 200, &PARTITIONS);
}

#[test]
fn random_traces_of_5000_events() {
    random_traces(if long() { 1_000 } else { 8 }, 5_000, &Options::default());
}

/// The whole alphabet: every strided range of an array of four.
#[test]
fn all_traces_of_every_footprint() {
    if long() {
        all_traces(&Alphabet::full(), 5, 1);
    } else {
        all_traces(&Alphabet::full(), 3, 1);
        all_traces(&Alphabet::full(), 5, 10_000);
    }
}

#[test]
fn all_traces_of_each_kind_of_footprint() {
    let sample = if long() { 1 } else { 64 };
    all_traces(&Alphabet::small(), 5, sample);
}

#[test]
fn all_longer_traces() {
    let (events, sample) = if long() { (6, 1) } else { (5, 16) };
    all_traces(&Alphabet::tiny(), events, sample);
}

#[test]
fn all_traces_with_fork_and_join() {
    let sample = if long() { 1 } else { 64 };
    all_traces(&Alphabet::tiny().with_forks(), 5, sample);
}

#[test]
fn all_traces_with_atomics() {
    let sample = if long() { 1 } else { 128 };
    all_traces(&Alphabet::atomics(), 5, sample);
}
