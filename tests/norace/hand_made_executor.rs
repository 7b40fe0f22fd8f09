// A future is polled by one thread and woken by another through std::task::Wake.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

struct Unpark(thread::Thread);
impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[derive(Default)]
struct Slot {
    value: Option<Vec<u32>>,
    waker: Option<Waker>,
}
struct Receive(Arc<Mutex<Slot>>);
impl Future for Receive {
    type Output = Vec<u32>;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<u32>> {
        let mut slot = self.0.lock().unwrap();
        match slot.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

fn main() {
    for round in 0..100 {
        let slot = Arc::new(Mutex::new(Slot::default()));
        let theirs = slot.clone();
        let sender = thread::spawn(move || {
            let mut slot = theirs.lock().unwrap();
            slot.value = Some(vec![round; 3]);
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        });
        let mut got = block_on(async { Receive(slot).await });
        got[2] += 1;
        assert_eq!(got, [round, round, round + 1]);
        sender.join().unwrap();
    }
}
