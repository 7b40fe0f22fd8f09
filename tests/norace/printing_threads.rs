// println! and eprintln! from several threads: stdout has a reentrant lock.
// tsan: false alarm (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::thread;

fn main() {
    thread::scope(|scope| {
        for me in 0..3 {
            scope.spawn(move || {
                for i in 0..50 {
                    println!("{me} {i}");
                }
            });
        }
    });
}
