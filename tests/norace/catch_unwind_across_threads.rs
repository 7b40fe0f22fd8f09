// A panic payload is caught in one thread and resumed in another.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::{panic, thread};

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let payload = thread::spawn(|| {
        panic::catch_unwind(|| -> () { panic::panic_any(vec![1, 2, 3]) }).unwrap_err()
    })
    .join()
    .unwrap();
    let again = thread::spawn(move || panic::resume_unwind(payload)).join();
    let mut numbers = again
        .map(|()| ())
        .unwrap_err()
        .downcast::<Vec<i32>>()
        .unwrap();
    numbers[1] = 5;
    assert_eq!(*numbers, [1, 5, 3]);
}
