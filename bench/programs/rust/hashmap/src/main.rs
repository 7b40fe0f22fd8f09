//! A HashMap in 64 shards under Mutexes: SIZE operations, a mixture of insert, look up and remove; values are on the heap.
//! Default 600,000; large: 20,000,000. Seeded race: operations are counted without a lock.
use common::{Arguments, Field, Random};
use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

const SEEDED: bool = cfg!(feature = "seeded_race");
const SHARDS: usize = 64;
const KEYS: u64 = 1 << 16;

fn main() -> ExitCode {
    let arguments = Arguments::read(600_000);
    let shards: Vec<Mutex<HashMap<u64, Box<[u64; 4]>>>> =
        (0..SHARDS).map(|_| Mutex::default()).collect();
    let counter = Field::new([0_u64]);
    let balances: Vec<i64> = thread::scope(|scope| {
        let workers: Vec<_> = (0..arguments.threads)
            .map(|me| {
                let (shards, counter) = (&shards, &counter);
                scope.spawn(move || {
                    let mut random = Random(me as u64 + 1);
                    let mut balance = 0;
                    for _ in arguments.slice(me, arguments.size) {
                        let dice = random.next();
                        let key = dice % KEYS;
                        let mut shard = shards[key as usize % SHARDS].lock().unwrap();
                        match (dice >> 32) % 10 {
                            0 | 1 => {
                                balance +=
                                    i64::from(shard.insert(key, Box::new([key; 4])).is_none())
                            }
                            2 | 3 => balance -= i64::from(shard.remove(&key).is_some()),
                            _ => assert!(shard.get(&key).is_none_or(|value| value[3] == key)),
                        }
                        drop(shard);
                        if SEEDED {
                            counter.set(0, counter.get(0) + 1); // RACE
                        }
                    }
                    balance
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    let found: usize = shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
    let expected: i64 = balances.iter().sum();
    arguments.end("hashmap", found as f64, found as i64 == expected, SEEDED)
}
