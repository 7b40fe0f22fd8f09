// What a closure captured comes before it, its result before what follows join.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::thread;

fn main() {
    let mut numbers = vec![0; 8];
    numbers[3] = 1;
    let worker = thread::Builder::new()
        .name("worker".to_string())
        .spawn(move || {
            numbers[3] += 1;
            numbers
        })
        .unwrap();
    let mut back = worker.join().unwrap();
    back[3] += 1;
    assert_eq!(back[3], 3);
}
