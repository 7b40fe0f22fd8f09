// A bounded channel and a rendezvous channel.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

fn main() {
    for bound in [0, 3] {
        let (sender, receiver) = mpsc::sync_channel(bound);
        let producer = thread::spawn(move || {
            for i in 0..300_usize {
                sender.send(vec![i; 4]).unwrap();
            }
        });
        let mut next = 0;
        while let Ok(mut message) = receiver.recv_timeout(Duration::from_secs(3600)) {
            message[1] += 1;
            assert_eq!(message[0], next);
            next += 1;
        }
        assert_eq!(next, 300);
        producer.join().unwrap();
    }
}
