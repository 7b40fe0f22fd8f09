//! Messages on the heap through std's bounded channels, one receiver for half of the threads: SIZE messages.
//! Default 150,000; large: 5,000,000. Seeded race: receivers add up without a lock.
use common::{Arguments, Field};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::mpsc::sync_channel;
use std::thread;

const SEEDED: bool = cfg!(feature = "seeded_race");

fn main() -> ExitCode {
    let mut arguments = Arguments::read(150_000);
    arguments.threads += arguments.threads % 2;
    let pairs = arguments.threads / 2;
    let total = Mutex::new(0_u64);
    let unlocked = Field::new([0_u64]);
    thread::scope(|scope| {
        for pair in 0..pairs {
            let (sender, receiver) = sync_channel::<Box<(usize, String)>>(64);
            let (total, unlocked) = (&total, &unlocked);
            scope.spawn(move || {
                for i in (pair..arguments.size).step_by(pairs) {
                    sender
                        .send(Box::new((i, format!("message {}", i % 100))))
                        .unwrap();
                }
            });
            scope.spawn(move || {
                let own: u64 = receiver
                    .iter()
                    .map(|m| m.0 as u64 + u64::from(m.1.as_bytes()[0]))
                    .sum();
                if SEEDED {
                    unlocked.set(0, unlocked.get(0) + own); // RACE
                } else {
                    *total.lock().unwrap() += own;
                }
            });
        }
    });
    let n = arguments.size as u64;
    let total = total.into_inner().unwrap();
    arguments.end(
        "queues",
        total as f64,
        total == n * (n - 1) / 2 + n * u64::from(b'm'),
        SEEDED,
    )
}
