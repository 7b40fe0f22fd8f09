//! The rows of the definition, one small execution each: what races, and what is ordered.

use event::{
    AccessKind::{self, Read, Write},
    Addr, Elements, Event, FenceOrder, LoadOrder, Op, RmwOrder, Site, StoreOrder, SyncId, Tid,
};
use oracle::Oracle;

const X: Addr = Addr(0x100);
const FLAG: Addr = Addr(0x200);
const L: SyncId = SyncId(0);

fn plain(kind: AccessKind) -> Op {
    Op::Access {
        kind,
        addr: X,
        size: 8,
    }
}

const fn load(order: LoadOrder) -> Op {
    Op::Load {
        addr: FLAG,
        size: 4,
        order,
    }
}

const fn store(order: StoreOrder) -> Op {
    Op::Store {
        addr: FLAG,
        size: 4,
        order,
    }
}

const fn rmw(order: RmwOrder) -> Op {
    Op::Rmw {
        addr: FLAG,
        size: 4,
        order,
    }
}

fn trace(steps: &[(u32, Op)]) -> Oracle {
    let events: Vec<Event> = steps
        .iter()
        .enumerate()
        .map(|(i, &(t, op))| Event {
            thread: Tid(t),
            op,
            site: Site(i as u32),
        })
        .collect();
    Oracle::new(&events).unwrap()
}

/// Thread 0 writes x, then `steps`, then thread 1 reads x: does it race?
fn races_across(steps: &[(u32, Op)]) -> bool {
    let mut all = vec![(0, plain(Write))];
    all.extend_from_slice(steps);
    all.push((1, plain(Read)));
    let oracle = trace(&all);
    let last = all.len() - 1;
    let pairs = oracle.pairs();
    assert!(pairs.iter().all(|p| (p.first, p.second) == (0, last)));
    assert_eq!(oracle.racy_bytes().len(), 8 * pairs.len());
    !pairs.is_empty()
}

#[test]
fn nothing_between_is_a_race() {
    assert!(races_across(&[]));
}

#[test]
fn locks_order_release_with_acquire() {
    use Op::{Acquire, ReadAcquire, ReadRelease, Release};
    assert!(!races_across(&[
        (0, Acquire(L)),
        (0, Release(L)),
        (1, Acquire(L))
    ]));
    assert!(!races_across(&[
        (0, Acquire(L)),
        (0, Release(L)),
        (1, ReadAcquire(L))
    ]));
    assert!(!races_across(&[
        (0, ReadAcquire(L)),
        (0, ReadRelease(L)),
        (1, Acquire(L))
    ]));
    assert!(races_across(&[
        (0, ReadAcquire(L)),
        (0, ReadRelease(L)),
        (1, ReadAcquire(L))
    ]));
    let other = SyncId(1);
    assert!(races_across(&[
        (0, Acquire(L)),
        (0, Release(L)),
        (1, Acquire(other))
    ]));
}

#[test]
fn volatiles_and_messages_order_from_each_earlier_one() {
    use Op::{Receive, Send, VolatileRead, VolatileWrite};
    assert!(!races_across(&[
        (0, VolatileWrite(L)),
        (2, VolatileWrite(L)),
        (1, VolatileRead(L))
    ]));
    assert!(races_across(&[(0, VolatileRead(L)), (1, VolatileWrite(L))]));
    assert!(!races_across(&[
        (0, Send(L)),
        (2, Send(L)),
        (1, Receive(L))
    ]));
    // Each kind has a name space of its own.
    assert!(races_across(&[(0, Send(L)), (1, VolatileRead(L))]));
}

#[test]
fn threads_begin_after_their_fork_and_end_before_their_join() {
    assert!(!races_across(&[(0, Op::Fork(Tid(1)))]));
    assert!(!races_across(&[(0, Op::End), (1, Op::Join(Tid(0)))]));
    assert!(!races_across(&[(1, Op::Join(Tid(0)))]));
    assert!(!races_across(&[
        (0, Op::Fork(Tid(2))),
        (1, Op::Join(Tid(2)))
    ]));
}

#[test]
fn barriers_order_within_a_round() {
    use Op::{Arrive, Depart};
    assert!(!races_across(&[
        (0, Arrive(L)),
        (1, Arrive(L)),
        (1, Depart(L))
    ]));
    // Thread 1 leaves the round before thread 0 arrives: the next round is not its own.
    assert!(races_across(&[
        (1, Arrive(L)),
        (1, Depart(L)),
        (0, Arrive(L))
    ]));
    // Thread 2 closes the round; thread 0 opens the next; thread 1 departs from the first.
    assert!(races_across(&[
        (1, Arrive(L)),
        (2, Arrive(L)),
        (2, Depart(L)),
        (0, Arrive(L)),
        (1, Depart(L)),
    ]));
}

#[test]
fn release_and_acquire_synchronise() {
    use LoadOrder::Acquire;
    use StoreOrder::{Relaxed, Release};
    assert!(!races_across(&[(0, store(Release)), (1, load(Acquire))]));
    assert!(races_across(&[(0, store(Relaxed)), (1, load(Acquire))]));
    assert!(races_across(&[
        (0, store(Release)),
        (1, load(LoadOrder::Relaxed))
    ]));
    assert!(!races_across(&[
        (0, store(StoreOrder::SeqCst)),
        (1, load(LoadOrder::SeqCst))
    ]));
}

#[test]
fn release_sequences_go_through_read_modify_writes_and_end_at_stores() {
    use LoadOrder::Acquire;
    use StoreOrder::{Relaxed, Release};
    let head = (0, store(Release));
    assert!(!races_across(&[
        head,
        (2, rmw(RmwOrder::Relaxed)),
        (1, load(Acquire))
    ]));
    assert!(races_across(&[
        head,
        (2, store(Relaxed)),
        (1, load(Acquire))
    ]));
    // Also one's own store.
    assert!(races_across(&[
        head,
        (0, store(Relaxed)),
        (1, load(Acquire))
    ]));
    assert!(!races_across(&[
        (0, rmw(RmwOrder::Release)),
        (1, rmw(RmwOrder::Acquire))
    ]));
}

#[test]
fn fences_synchronise() {
    use LoadOrder::Relaxed as LoadRelaxed;
    use StoreOrder::Relaxed;
    let release = Op::Fence(FenceOrder::Release);
    let acquire = Op::Fence(FenceOrder::Acquire);
    assert!(!races_across(&[
        (0, release),
        (0, store(Relaxed)),
        (1, load(LoadRelaxed)),
        (1, acquire),
    ]));
    assert!(!races_across(&[
        (0, release),
        (0, store(Relaxed)),
        (1, load(LoadOrder::Acquire))
    ]));
    // The fence must come before the store, and after the load.
    assert!(races_across(&[
        (0, store(Relaxed)),
        (0, release),
        (1, load(LoadOrder::Acquire))
    ]));
    assert!(races_across(&[
        (0, store(StoreOrder::Release)),
        (1, acquire),
        (1, load(LoadRelaxed)),
    ]));
    // And be of the right kind.
    assert!(races_across(&[
        (0, store(StoreOrder::Release)),
        (1, load(LoadRelaxed)),
        (1, release),
    ]));
}

#[test]
fn a_relaxed_store_after_a_fence_is_not_itself_released() {
    let relaxed = store(StoreOrder::Relaxed);
    let overwrite = Op::Access {
        kind: Write,
        addr: FLAG,
        size: 1,
    };
    let after_fence = trace(&[
        (0, Op::Fence(FenceOrder::Release)),
        (0, relaxed),
        (1, load(LoadOrder::Acquire)),
        (1, overwrite),
    ]);
    let pairs = after_fence.pairs();
    assert_eq!(pairs.len(), 1);
    assert_eq!((pairs[0].first, pairs[0].second), (1, 3));
    assert_eq!(pairs[0].bytes, vec![FLAG.0..FLAG.0 + 1]);
    let releasing = trace(&[
        (0, store(StoreOrder::Release)),
        (1, load(LoadOrder::Acquire)),
        (1, overwrite),
    ]);
    assert!(releasing.pairs().is_empty());
}

#[test]
fn plain_writes_reset_an_atomic_object() {
    let overwrite = Op::Access {
        kind: Write,
        addr: Addr(FLAG.0 + 3),
        size: 1,
    };
    let beside = Op::Access {
        kind: Write,
        addr: Addr(FLAG.0 + 4),
        size: 1,
    };
    let release = (0, store(StoreOrder::Release));
    let acquire = (1, load(LoadOrder::Acquire));
    assert!(races_across(&[
        release,
        (0, overwrite),
        (0, Op::Fork(Tid(2))),
        (2, Op::Begin)
    ]));
    let with = |op| {
        let all = [
            (0, plain(Write)),
            release,
            (0, op),
            acquire,
            (1, plain(Read)),
        ];
        trace(&all).racy_bytes().contains(&X.0)
    };
    assert!(with(overwrite));
    assert!(!with(beside));
}

#[test]
fn atomics_race_with_plain_accesses_only() {
    let both = trace(&[
        (0, store(StoreOrder::Relaxed)),
        (1, load(LoadOrder::Relaxed)),
    ]);
    assert!(both.pairs().is_empty());
    let read = Op::Access {
        kind: Read,
        addr: Addr(FLAG.0 + 2),
        size: 4,
    };
    let mixed = trace(&[(0, rmw(RmwOrder::SeqCst)), (1, read)]);
    assert_eq!(mixed.pairs()[0].bytes, vec![FLAG.0 + 2..FLAG.0 + 4]);
    let loads = trace(&[(0, load(LoadOrder::Relaxed)), (1, read)]);
    assert!(loads.pairs().is_empty());
}

#[test]
fn freeing_writes_and_allocation_forgets() {
    let alloc = Op::Alloc {
        addr: X,
        elem: 4,
        len: 4,
    };
    let free = Op::Free { addr: X };
    let early = trace(&[(0, alloc), (0, plain(Read)), (1, free)]);
    assert_eq!(early.pairs()[0].bytes, vec![X.0..X.0 + 8]);
    let reused = trace(&[
        (0, alloc),
        (0, plain(Write)),
        (0, free),
        (1, alloc),
        (1, plain(Write)),
    ]);
    assert!(reused.pairs().is_empty());
}

#[test]
fn ranges_touch_their_elements_only() {
    let odd = Op::Range {
        kind: Write,
        elements: Elements {
            base: X,
            elem: 2,
            lo: 1,
            hi: 8,
            stride: 2,
        },
    };
    let even = Op::Range {
        kind: Write,
        elements: Elements {
            base: X,
            elem: 2,
            lo: 0,
            hi: 8,
            stride: 2,
        },
    };
    assert!(trace(&[(0, odd), (1, even)]).pairs().is_empty());
    let pairs = trace(&[(0, odd), (1, plain(Read))]).pairs();
    assert_eq!(pairs[0].bytes, vec![X.0 + 2..X.0 + 4, X.0 + 6..X.0 + 8]);
}

#[test]
fn one_thread_never_races() {
    assert!(
        trace(&[(0, plain(Write)), (0, plain(Write))])
            .pairs()
            .is_empty()
    );
}
