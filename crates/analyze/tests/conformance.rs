//! Every detector of the table against the oracle, on random and on all small traces.
//!
//! Short by default; `FOOTRACE_LONG=1`, which `cargo xtask test --long` sets, runs all of it. Work is shared among the machine's cores.
//!
//! **All small traces** are over three threads, two locks, a scalar and an array of four; each access is a read or a write of the scalar, of an
//! element or of a strided range: 28 accesses. They count up to the names of threads and locks, and if they end in an access: the others
//! have the races of what is before their last event. A *class* is what comes out of one trace when independent events change places: the same
//! pairs race (`oracle::gen::exhaustive::classes`), but a detector meets them in another order. So of the classes that are tried whole one trace each is tried, and of all
//! traces a sample.
//!
//! | events | traces | classes | in the tests | in the long run |
//! |---|---|---|---|---|
//! | 1 to 4 | 9,691,864 | 2,812,852 | all classes | all traces, twice: accesses in the same places, and each in its own |
//! | 5 | 813,850,576 | 100,266,936 | 1 of 997 traces | all classes, 1 of 97 traces |
//! | 6 | 70,327,700,800 | 4,017,941,676 | none | 1 of 97 classes; with the 10 accesses of `Alphabet::small` all 11,708,010 classes |
//!
//! These go in lock-step (`analyze::lockstep`), which costs a few microseconds a trace for all detectors together. Traces of smaller alphabets and those with atomics
//! also go alone, each with threads of its own, whatever event they end in (`analyze::batch`).

use analyze::batch::{Apart, Batch};
use analyze::conformance::check;
use analyze::detectors::{DETECTORS, Entry, Options, Promise};
use analyze::lockstep::{Conflicts, Lockstep, Places};
use oracle::r#gen::exhaustive::{classes, enumerate_part, skeletons};
use oracle::r#gen::{Alphabet, random};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn long() -> bool {
    std::env::var_os("FOOTRACE_LONG").is_some()
}

/// With partitions for the smallest arrays, and runs in the smallest ranges, too.
const PARTITIONS: Options = Options {
    rate: None,
    seed: 0,
    small_array: 0,
    run_credit: 1 << 20,
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

fn exact() -> impl Iterator<Item = &'static Entry> + Clone {
    let exact = |entry: &&Entry| entry.promise == Promise::Exact;
    DETECTORS.iter().filter(exact)
}

/// One in `sample` of all traces, by their first three events, each with threads of its own.
fn alone(alphabet: &Alphabet, events: usize, sample: u64) {
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
                    result = batch.check(exact(), &PARTITIONS);
                }
            }
        });
        result.and_then(|()| batch.check(exact(), &PARTITIONS))?;
        Ok(visited)
    });
    println!("{checked} traces of up to {events} events, alone");
    assert!(checked > 1000);
}

/// In which orders events that are independent of each other come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Orders {
    /// One for each class of traces that race alike.
    One,
    All,
}

/// One in `sample` of all traces that end in an access, in lock-step.
fn in_lockstep(alphabet: &Alphabet, events: usize, orders: Orders, sample: u64, places: Places) {
    let mut skeletons = skeletons(alphabet, events);
    if orders == Orders::One {
        skeletons = classes(&skeletons);
    }
    let conflicts = Conflicts::new(alphabet);
    let detectors: Vec<_> = exact().copied().collect();
    let job = Lockstep {
        alphabet,
        sample,
        places,
        detectors: &detectors,
        options: &PARTITIONS,
    };
    // Taken one by one: most of the work is in few of them.
    let next = AtomicUsize::new(0);
    let checked = share_out(|_, _| {
        let mut checked = 0;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(skeleton) = skeletons.get(number) else {
                return Ok(checked);
            };
            checked += job.check(&conflicts, skeleton, 7919 * number as u64)?;
        }
    });
    let all: u64 = skeletons.iter().map(|skeleton| job.ways(skeleton)).sum();
    println!(
        "{checked} of {all} traces of up to {events} events, orders: {orders:?}, places: {places:?}"
    );
    assert!(checked > 1000 && (sample > 1 || checked == all));
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

/// Every strided range of an array of four.
#[test]
fn all_traces_of_every_footprint() {
    let full = Alphabet::full();
    if long() {
        in_lockstep(&full, 4, Orders::All, 1, Places::ByKind);
        in_lockstep(&full, 4, Orders::All, 1, Places::Apart);
        in_lockstep(&full, 5, Orders::One, 1, Places::ByKind);
        in_lockstep(&full, 5, Orders::All, 97, Places::Apart);
        in_lockstep(&full, 6, Orders::One, 97, Places::ByKind);
    } else {
        in_lockstep(&full, 4, Orders::One, 1, Places::ByKind);
        in_lockstep(&full, 5, Orders::All, 997, Places::Apart);
    }
}

/// One access for each kind of footprint.
#[test]
fn all_traces_of_each_kind_of_footprint() {
    let small = Alphabet::small();
    if long() {
        in_lockstep(&small, 6, Orders::One, 1, Places::ByKind);
        alone(&small, 5, 1);
    } else {
        alone(&small, 5, 64);
    }
}

#[test]
fn all_traces_with_fork_and_join() {
    let (full, small) = (
        Alphabet::full().with_forks(),
        Alphabet::small().with_forks(),
    );
    if long() {
        in_lockstep(&full, 4, Orders::One, 1, Places::ByKind);
        in_lockstep(&small, 5, Orders::All, 1, Places::Apart);
    } else {
        in_lockstep(&small, 5, Orders::All, 61, Places::ByKind);
    }
    alone(
        &Alphabet::tiny().with_forks(),
        5,
        if long() { 1 } else { 64 },
    );
}

#[test]
fn all_traces_with_atomics() {
    alone(&Alphabet::atomics(), 5, if long() { 1 } else { 128 });
}
