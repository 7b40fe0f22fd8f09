// HashMap in a RwLock, VecDeque with a Condvar, BTreeMap in a Mutex: std's collections between threads.
// tsan: false alarm (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Condvar, Mutex, RwLock};
use std::thread;

fn main() {
    let words = RwLock::new(HashMap::new());
    let queue = (Mutex::new(VecDeque::new()), Condvar::new());
    let ordered = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..200_u32 {
                words.write().unwrap().insert(i, i.to_string());
                queue.0.lock().unwrap().push_back(i);
                queue.1.notify_one();
            }
        });
        scope.spawn(|| {
            for _ in 0..200 {
                let mut guard = queue
                    .1
                    .wait_while(queue.0.lock().unwrap(), |q| q.is_empty())
                    .unwrap();
                let key = guard.pop_front().unwrap();
                drop(guard);
                let word = words.read().unwrap()[&key].clone();
                ordered.lock().unwrap().insert(word, key);
            }
        });
    });
    assert_eq!(ordered.into_inner().unwrap().len(), 200);
}
