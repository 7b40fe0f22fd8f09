// Once, OnceLock and LazyLock: initialised by one thread, used by the other.
// tsan: false alarm (the std that rustup installs is not instrumented, so its synchronisation is not seen)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, use_value, wait};
use std::sync::{LazyLock, Once, OnceLock};
use std::thread;

static ONCE: Once = Once::new();
static VALUE: Shared<i32> = Shared::new(0);
static LOCK: OnceLock<Vec<i32>> = OnceLock::new();
static LAZY: LazyLock<Vec<i32>> = LazyLock::new(|| vec![1, 2, 3]);

fn look() {
    ONCE.call_once(|| unsafe { *VALUE.at() = 1 });
    use_value(unsafe { *VALUE.at() }.into());
    use_value(LOCK.get_or_init(|| vec![4, 5])[1].into());
    use_value(LAZY[2].into());
}

fn main() {
    let first = thread::spawn(|| {
        look();
        signal(1);
    });
    let second = thread::spawn(|| {
        wait(1);
        look();
    });
    first.join().unwrap();
    second.join().unwrap();
}
