// Scoped threads work on disjoint chunks of one vector; the scope joins them.
// tsan: false alarm (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::thread;

fn main() {
    let mut numbers = vec![1_u64; 1000];
    thread::scope(|scope| {
        for chunk in numbers.chunks_mut(300) {
            scope.spawn(move || chunk.iter_mut().for_each(|n| *n *= 2));
        }
    });
    let total: u64 = numbers.iter().sum();
    assert_eq!(total, 2000);
    numbers.push(total);
}
