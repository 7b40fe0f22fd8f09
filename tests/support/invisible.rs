//! Orders threads without any detector noticing: see `invisible.h` for the why and how.
//!
//! std takes a lock when a thread starts and when it ends, so a thread that ended is ordered before one that starts later.
//! A test of a race therefore lets both threads start (`signal(0)`) before the first access and end (`signal(9)`) after the
//! second.
//!
//! `signal(i)` raises flag i for ever; `wait(i)` returns once it is raised. [`Shared`] is a variable that threads may
//! touch without any synchronisation, which is what a test of a race needs and safe Rust forbids.
#![allow(dead_code, unsafe_op_in_unsafe_fn)]

use core::arch::asm;
use core::cell::UnsafeCell;

struct Flags(UnsafeCell<[i32; 128]>);
// SAFETY: touched by the assembly below only, whose accesses are atomic on x86-64.
unsafe impl Sync for Flags {}
static FLAGS: Flags = Flags(UnsafeCell::new([0; 128]));

fn flag(step: usize) -> *mut i32 {
    assert!(step < 128);
    FLAGS.0.get().cast::<i32>().wrapping_add(step)
}

#[inline(always)]
fn futex(word: *mut i32, operation: i64, value: i64) {
    // SAFETY: futex(2) on a word of our own, without a timeout.
    unsafe {
        asm!("syscall", inout("rax") 202_i64 => _, in("rdi") word, in("rsi") operation, in("rdx") value,
             in("r10") 0_i64, out("rcx") _, out("r11") _);
    }
}

#[inline(always)]
pub fn signal(step: usize) {
    let word = flag(step);
    // SAFETY: `word` is one of the flags.
    unsafe { asm!("xchg dword ptr [{0}], {1:e}", in(reg) word, inout(reg) 1 => _) };
    futex(word, 1, i32::MAX.into());
}

#[inline(always)]
pub fn wait(step: usize) {
    let word = flag(step);
    loop {
        let raised: i32;
        // SAFETY: `word` is one of the flags.
        unsafe { asm!("mov {1:e}, dword ptr [{0}]", in(reg) word, out(reg) raised) };
        if raised != 0 {
            return;
        }
        futex(word, 0, 0);
    }
}

/// The value counts as used, so the load that produced it stays.
#[inline(always)]
pub fn use_value(value: i64) {
    // SAFETY: no instruction at all.
    unsafe { asm!("/* {0} */", in(reg) value) };
}

/// A variable without any protection.
pub struct Shared<T>(UnsafeCell<T>);
// SAFETY: none, and that is the point: the programs of the suite race on purpose, or say why they don't.
unsafe impl<T> Sync for Shared<T> {}
unsafe impl<T> Send for Shared<T> {}

impl<T> Shared<T> {
    pub const fn new(value: T) -> Self {
        Shared(UnsafeCell::new(value))
    }
    /// Where it is. The compiler does not know, so it keeps every access through the pointer.
    #[inline(always)]
    pub fn at(&self) -> *mut T {
        let mut pointer = self.0.get();
        // SAFETY: no instruction at all.
        unsafe { asm!("/* {0} */", inout(reg) pointer) };
        pointer
    }
}

/// A raw pointer that may go to another thread.
pub struct Sent<T>(pub *mut T);
// SAFETY: as for `Shared`.
unsafe impl<T> Send for Sent<T> {}
unsafe impl<T> Sync for Sent<T> {}
impl<T> Clone for Sent<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Sent<T> {}
impl<T> Sent<T> {
    pub fn at(self) -> *mut T {
        self.0
    }
}
