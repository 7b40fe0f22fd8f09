// parking_lot: Mutex, RwLock with upgrades, Condvar, Once and ReentrantMutex, contended, without a race.
// verdict: norace
// timeout: 120
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use parking_lot::{Condvar, Mutex, Once, ReentrantMutex, RwLock, RwLockUpgradableReadGuard};
use std::cell::Cell;
use std::thread;

static ONCE: Once = Once::new();
static TABLE: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn main() {
    let counter = Mutex::new(0_u32);
    let shared = RwLock::new(vec![0_u32; 4]);
    let turn = (Mutex::new(0_usize), Condvar::new());
    let reentrant = ReentrantMutex::new(Cell::new(0));
    thread::scope(|scope| {
        for me in 0..3 {
            let (counter, shared, turn, reentrant) = (&counter, &shared, &turn, &reentrant);
            scope.spawn(move || {
                ONCE.call_once(|| TABLE.lock().push(7));
                for i in 0..300 {
                    *counter.lock() += 1;
                    if i % 10 == me {
                        shared.write()[me] += 1;
                    } else {
                        assert!(shared.read()[me] <= 300);
                    }
                    let outer = reentrant.lock();
                    let inner = reentrant.lock();
                    inner.set(outer.get() + 1);
                }
                let guard = shared.upgradable_read();
                let mut guard = RwLockUpgradableReadGuard::upgrade(guard);
                guard[3] += 1;
                drop(guard);
                for _ in 0..20 {
                    let mut whose = turn.0.lock();
                    while *whose != me {
                        turn.1.wait(&mut whose);
                    }
                    *whose = (me + 1) % 3;
                    turn.1.notify_all();
                }
            });
        }
    });
    assert_eq!(counter.into_inner(), 900);
    assert_eq!(shared.into_inner()[3], 3);
    assert_eq!(reentrant.lock().get(), 900);
    assert_eq!(TABLE.lock().len(), 1);
}
