// The address of a thread-local goes to another thread while its owner lives.
// tsan: false alarm (it names its own initialisation of the thread-local instead of the write)
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::{Shared, signal, wait};
use std::thread;

thread_local! {
    static OWN: Shared<i32> = const { Shared::new(0) };
}

/// A pointer that is passed on by assembly, so that it does not race itself.
struct Leak(Shared<*mut i32>);
unsafe impl Sync for Leak {}
static LEAKED: Leak = Leak(Shared::new(std::ptr::null_mut()));
impl Leak {
    fn at_store(&self, pointer: *mut i32) {
        unsafe { std::arch::asm!("mov [{0}], {1}", in(reg) self.0.at(), in(reg) pointer) };
    }
    fn at_load(&self) -> *mut i32 {
        let pointer;
        unsafe { std::arch::asm!("mov {1}, [{0}]", in(reg) self.0.at(), out(reg) pointer) };
        pointer
    }
}

fn main() {
    let first = thread::spawn(move || {
        OWN.with(|own| {
            LEAKED.at_store(own.at());
            unsafe { *own.at() = 1 }; // RACE a
            signal(1);
            wait(2);
        });
        signal(1);
    });
    let second = thread::spawn(move || {
        wait(1);
        unsafe { *LEAKED.at_load() = 2 }; // RACE a
        signal(2);
    });
    first.join().unwrap();
    second.join().unwrap();
}
