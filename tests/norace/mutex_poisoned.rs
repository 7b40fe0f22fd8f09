// A thread panics while it holds the Mutex; the next owner takes the value out of the error.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::sync::Mutex;
use std::{panic, thread};

static SHARED: Mutex<i32> = Mutex::new(0);

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let first = thread::spawn(|| {
        let mut guard = SHARED.lock().unwrap();
        *guard = 1;
        panic!("while locked");
    });
    assert!(first.join().is_err());
    let second = thread::spawn(|| match SHARED.lock() {
        Ok(_) => unreachable!(),
        Err(poison) => *poison.into_inner() += 1,
    });
    second.join().unwrap();
}
