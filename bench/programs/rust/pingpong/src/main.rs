//! Lock ping-pong: all threads take turns under one Mutex and one Condvar, SIZE turns, and uncontended locks in between.
//! Default 8,000; large: 1,000,000. Seeded race: turns are counted after the unlock.
use common::{Arguments, Field};
use std::process::ExitCode;
use std::sync::{Condvar, Mutex};
use std::thread;

const SEEDED: bool = cfg!(feature = "seeded_race");

fn main() -> ExitCode {
    let arguments = Arguments::read(8000);
    let (turn, changed) = (Mutex::new((0_usize, 0_usize)), Condvar::new());
    let counter = Field::new([0_usize]);
    thread::scope(|scope| {
        for me in 0..arguments.threads {
            let (turn, changed, counter) = (&turn, &changed, &counter);
            scope.spawn(move || {
                let own = Mutex::new(0_u64);
                loop {
                    let waiting = |t: &mut (usize, usize)| {
                        t.0 < arguments.size && t.0 % arguments.threads != me
                    };
                    let mut guard = changed.wait_while(turn.lock().unwrap(), waiting).unwrap();
                    if guard.0 >= arguments.size {
                        return;
                    }
                    guard.0 += 1;
                    guard.1 += 1;
                    changed.notify_all();
                    drop(guard);
                    if SEEDED {
                        counter.set(0, counter.get(0) + 1); // RACE
                    }
                    for _ in 0..20 {
                        *own.lock().unwrap() += 1;
                    }
                }
            });
        }
    });
    let turns = turn.into_inner().unwrap().1;
    arguments.end("pingpong", turns as f64, turns == arguments.size, SEEDED)
}
