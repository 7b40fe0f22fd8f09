//! Interleavings of two or three small threads, on a model of the memory:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p footrace-engine --test loom --target-dir target/loom`.
#![cfg(loom)]

use engine::SyncOp;
use engine::shadow::{Cell, Conflict, Depot, FastTrackRule, Location, Memo, Touch};
use engine::sync::HappensBefore;
use event::{AccessKind, Site, SyncId, Tid};
use loom::sync::Arc;

/// Every interleaving with at most two preemptions: where locks are this small, more find nothing new and take hours.
fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(f);
}

struct World {
    order: HappensBefore,
    depot: Depot,
    location: Location,
}

struct Me {
    clock: engine::clock::ThreadClock,
    memo: Memo,
}

impl World {
    /// A world and two threads that nothing orders.
    fn new() -> (Arc<World>, Me, Me, Me) {
        let order = HappensBefore::default();
        let mut main = order.root(Tid(0));
        let a = order.fork(&mut main, Tid(1));
        let b = order.fork(&mut main, Tid(2));
        let world = World {
            order,
            depot: Depot::new(),
            location: Location::new(),
        };
        let me = |clock| Me {
            clock,
            memo: Memo::default(),
        };
        (Arc::new(world), me(main), me(a), me(b))
    }

    /// The bytes on which the access races.
    fn touch(&self, me: &mut Me, kind: AccessKind, mask: u8, site: u32) -> u8 {
        let now = me.clock.epoch();
        if self.location.is_redundant(now, kind, mask)
            || self.location.is_settled(&mut me.memo, now, kind, mask)
        {
            return 0;
        }
        let (epoch, number) = me.clock.stamp(self.order.slots(), Site(site));
        let touch = Touch {
            cell: Cell::new(epoch, kind, mask, number),
            atomic: false,
            record: true,
        };
        let mut found: Vec<Conflict> = Vec::new();
        self.location.touch::<FastTrackRule>(
            &self.depot,
            &me.clock,
            &mut me.memo,
            touch,
            &mut found,
        );
        for conflict in &found {
            // The other's site can be named at once.
            self.order
                .slots()
                .site(conflict.old.slot(), conflict.old.site());
        }
        found.iter().fold(0, |mask, conflict| mask | conflict.mask)
    }
}

use AccessKind::{Read, Write};

/// Two accesses each; the union of what both found.
fn pair(first: [(AccessKind, u8); 2], second: [(AccessKind, u8); 2], expected: u8) {
    model(move || {
        let (world, _main, mut a, mut b) = World::new();
        let there = Arc::clone(&world);
        let other = loom::thread::spawn(move || {
            first
                .iter()
                .enumerate()
                .fold(0, |found, (i, &(kind, mask))| {
                    found | there.touch(&mut a, kind, mask, i as u32)
                })
        });
        let here = second
            .iter()
            .enumerate()
            .fold(0, |found, (i, &(kind, mask))| {
                found | world.touch(&mut b, kind, mask, 10 + i as u32)
            });
        assert_eq!(here | other.join().unwrap(), expected);
    });
}

#[test]
fn writes_find_each_other() {
    pair(
        [(Write, 0x0F), (Write, 0xF0)],
        [(Write, 0xF0), (Read, 0x01)],
        0xF1,
    );
}

#[test]
fn disjoint_bytes_do_not() {
    pair(
        [(Write, 0x03), (Read, 0x0C)],
        [(Write, 0x30), (Read, 0x0C)],
        0,
    );
}

#[test]
fn groups_go_outside_and_come_back() {
    pair(
        [(Write, 0x01), (Write, 0x02)],
        [(Write, 0x04), (Write, 0xFF)],
        0x03,
    );
}

/// Readers share a state, and none of them is forgotten.
#[test]
fn shared_readers_are_met_by_a_write() {
    model(|| {
        let (world, mut main, mut a, mut b) = World::new();
        assert_eq!(world.touch(&mut main, Read, 0xFF, 1), 0);
        let there = Arc::clone(&world);
        let other = loom::thread::spawn(move || {
            let found = there.touch(&mut a, Read, 0xFF, 2);
            (a, found)
        });
        assert_eq!(world.touch(&mut b, Read, 0xFF, 3), 0);
        let (mut a, found) = other.join().unwrap();
        assert_eq!(found, 0);
        // `main`'s first read is not ordered with the children that were forked before it.
        assert_eq!(world.touch(&mut a, Write, 0x01, 4), 0x01);
        a.memo.flush(&world.depot);
        b.memo.flush(&world.depot);
        main.memo.flush(&world.depot);
        world.location.clear(&world.depot, 0xFF);
        assert!(world.depot.is_empty());
    });
}

/// A lock orders, whoever gets it first.
#[test]
fn a_lock_orders() {
    model(|| {
        let (world, _main, mut a, mut b) = World::new();
        let real = Arc::new(loom::sync::Mutex::new(()));
        let critical = |world: &World, me: &mut Me, real: &loom::sync::Mutex<()>| {
            let held = real.lock().unwrap();
            world.order.sync(&mut me.clock, SyncOp::Acquire(SyncId(1)));
            let found = world.touch(me, Write, 0xFF, 1);
            world.order.sync(&mut me.clock, SyncOp::Release(SyncId(1)));
            drop(held);
            found
        };
        let (there, lock) = (Arc::clone(&world), Arc::clone(&real));
        let other = loom::thread::spawn(move || critical(&there, &mut a, &lock));
        assert_eq!(critical(&world, &mut b, &real), 0);
        assert_eq!(other.join().unwrap(), 0);
    });
}

/// Two threads are made and end at the same time: never in one slot.
#[test]
fn slots_are_taken_once() {
    model(|| {
        let (world, _main, mut a, mut b) = World::new();
        let there = Arc::clone(&world);
        let other = loom::thread::spawn(move || {
            let child = there.order.fork(&mut a.clock, Tid(3));
            (child.slot(), a.clock.slot())
        });
        let child = world.order.fork(&mut b.clock, Tid(4));
        let (theirs, a) = other.join().unwrap();
        let mut slots = vec![child.slot(), b.clock.slot(), theirs, a];
        slots.sort();
        slots.dedup();
        assert_eq!(slots.len(), 4);
        assert_eq!(
            world.order.slots().tid(theirs, engine::clock::Time(1)),
            Tid(3)
        );
    });
}
