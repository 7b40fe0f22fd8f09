//! Atomic counters: relaxed adds, acquire-release adds, fetch_max and update loops on shared words, SIZE operations.
//! Default 3,000,000; large: 50,000,000. Seeded race: one of the counters is a plain variable.
use common::{Arguments, Field};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::thread;

const SEEDED: bool = cfg!(feature = "seeded_race");

fn main() -> ExitCode {
    let arguments = Arguments::read(3_000_000);
    let [added, exchanged, looped, highest] = [const { AtomicU64::new(0) }; 4];
    let plain = Field::new([0_u64]);
    thread::scope(|scope| {
        for me in 0..arguments.threads {
            let (added, exchanged, looped, highest, plain) =
                (&added, &exchanged, &looped, &highest, &plain);
            scope.spawn(move || {
                for i in arguments.slice(me, arguments.size) {
                    // Before the first acquire, so that it races even if the threads run one after the other.
                    if SEEDED {
                        plain.set(0, plain.get(0) + 1); // RACE
                    }
                    match i % 4 {
                        0 => drop(added.fetch_add(1, Relaxed)),
                        1 => drop(exchanged.fetch_add(1, AcqRel)),
                        2 => drop(looped.fetch_update(Release, Relaxed, |v| Some(v + 1))),
                        _ => drop(highest.fetch_max(i as u64, Release)),
                    }
                }
            });
        }
    });
    let sum = added.load(Relaxed) + exchanged.load(Relaxed) + looped.load(Relaxed);
    let expected = (0..arguments.size).filter(|i| i % 4 != 3).count() as u64;
    arguments.end("counters", sum as f64, sum == expected, SEEDED)
}
