//! Four threads count in C, under a lock unless the first argument is "race"; and once more in Rust.
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

unsafe extern "C" {
    fn counter_bump();
    fn counter_value() -> std::ffi::c_long;
}

static LOCK: Mutex<()> = Mutex::new(());

fn count(race: bool) {
    // All threads live at once, so that the end of one cannot order it with another. Relaxed: orders nothing.
    let started = &AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                started.fetch_add(1, Relaxed);
                while started.load(Relaxed) < 4 {
                    std::hint::spin_loop();
                }
                let _guard = (!race).then(|| LOCK.lock().unwrap());
                unsafe { counter_bump() };
            });
        }
    });
}

fn main() {
    count(std::env::args().nth(1).as_deref() == Some("race"));
    println!("counted {} {}", unsafe { counter_value() } > 0, macros::answer!());
}

#[test]
fn counts() {
    count(false);
    let caught = std::thread::spawn(|| panic!("on purpose")).join();
    assert!(caught.is_err());
}
