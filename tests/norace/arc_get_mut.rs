// Arc::get_mut and make_mut give exclusive access once the other owner is gone.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{signal, use_value, wait};
use std::sync::Arc;
use std::thread;

fn main() {
    let mut mine = Arc::new([0_u64; 8]);
    let theirs = mine.clone();
    let other = thread::spawn(move || {
        use_value(theirs[3] as i64);
        drop(theirs);
        signal(1);
    });
    wait(1);
    Arc::get_mut(&mut mine).unwrap()[3] = 1;
    Arc::make_mut(&mut mine)[3] = 2;
    assert_eq!(Arc::try_unwrap(mine).unwrap()[3], 2);
    other.join().unwrap();
}
