// Destructors of thread-locals run in their thread, before join returns.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::cell::RefCell;
use std::sync::Mutex;
use std::thread;

static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Own(String);
impl Drop for Own {
    fn drop(&mut self) {
        LOG.lock().unwrap().push(std::mem::take(&mut self.0));
    }
}
thread_local! {
    static OWN: RefCell<Own> = RefCell::new(Own(String::from("fresh")));
}

fn main() {
    let threads: Vec<_> = (0..4)
        .map(|i| thread::spawn(move || OWN.with(|own| own.borrow_mut().0.push_str(&i.to_string()))))
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(LOG.lock().unwrap().len(), 4);
}
