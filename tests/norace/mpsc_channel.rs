// Boxes travel through an unbounded channel and are freed by the receiver.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let producers: Vec<_> = (0..3)
        .map(|me| {
            let sender = sender.clone();
            thread::spawn(move || {
                for i in 0..500_u64 {
                    sender.send(Box::new(i * me)).unwrap();
                }
            })
        })
        .collect();
    drop(sender);
    let mut sum = 0;
    for mut message in receiver {
        *message += 1;
        sum += *message;
    }
    assert_eq!(sum, 3 * 499 * 500 / 2 + 1500);
    for producer in producers {
        producer.join().unwrap();
    }
}
