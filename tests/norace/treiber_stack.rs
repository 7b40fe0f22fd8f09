// A lock-free stack of heap nodes: pushed by two threads, taken as a whole and freed by a third.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::ptr;
use std::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;

struct Node {
    value: u64,
    next: *mut Node,
}
static HEAD: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

fn push(value: u64) {
    let node = Box::into_raw(Box::new(Node {
        value,
        next: ptr::null_mut(),
    }));
    let mut head = HEAD.load(Relaxed);
    loop {
        unsafe { (*node).next = head };
        match HEAD.compare_exchange_weak(head, node, Release, Relaxed) {
            Ok(_) => return,
            Err(now) => head = now,
        }
    }
}

fn main() {
    let pushers: Vec<_> = (0..2)
        .map(|_| thread::spawn(|| (0..500).for_each(push)))
        .collect();
    let mut sum = 0;
    let mut count = 0;
    while count < 1000 {
        let mut at = HEAD.swap(ptr::null_mut(), Acquire);
        while !at.is_null() {
            let node = unsafe { Box::from_raw(at) };
            sum += node.value;
            count += 1;
            at = node.next;
        }
        thread::yield_now();
    }
    assert_eq!(sum, 499 * 500);
    for pusher in pushers {
        pusher.join().unwrap();
    }
}
