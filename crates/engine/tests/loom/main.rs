//! Interleavings of two or three small threads, on a model of the memory:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p footrace-engine --test loom --target-dir target/loom`.
#![cfg(loom)]

mod layers;

use engine::shadow::{
    Asked, Blank, Cell, Conflict, Depot, FastTrackRule, Location, Memo, PAGE_BYTES, Pages,
    RuleName, Touch,
};
use engine::slimstate::SlimState;
use engine::sync::HappensBefore;
use engine::{Access, AtomicOp, Detector, FastTrack, Race, Sink, SyncOp};
use event::{AccessKind, Addr, Elements, RmwOrder, Site, SyncId, Tid};
use loom::sync::Arc;

/// Every interleaving with at most two preemptions: where locks are this small, more find nothing new and take hours.
fn model(f: impl Fn() + Sync + Send + 'static) {
    model_within(2, f);
}

/// The same with at most so many.
fn model_within(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    let f = std::sync::Arc::new(f);
    builder.check(move || {
        let f = std::sync::Arc::clone(&f);
        spawn(move || f()).join().unwrap();
    });
}

/// A thread with room for the state of a detector's thread; loom's own have little.
fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> loom::thread::JoinHandle<T> {
    let builder = loom::thread::Builder::new().stack_size(1 << 18);
    builder.spawn(f).unwrap()
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
            || self
                .location
                .is_settled(me.memo.settled(), now, Asked::new(kind, mask))
        {
            return 0;
        }
        self.record(me, kind, mask, site, false)
    }

    /// The same without the same-epoch tests, which atomic accesses do not have.
    fn record(&self, me: &mut Me, kind: AccessKind, mask: u8, site: u32, atomic: bool) -> u8 {
        let (epoch, number) = me.clock.stamp(self.order.slots(), Site(site));
        let touch = Touch {
            cell: Cell::new(epoch, kind, mask, number),
            atomic,
            record: true,
        };
        let mut found: Vec<Conflict> = Vec::new();
        self.location.touch::<FastTrackRule>(
            &self.depot,
            &mut me.clock,
            self.order.slots(),
            &mut me.memo,
            touch,
            &mut found,
        );
        for conflict in &found {
            // The other's site can be named at once.
            self.order
                .slots()
                .site(conflict.old.slot(), conflict.old.site(), 0);
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
        let other = spawn(move || {
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
        let other = spawn(move || {
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

/// A state that the location owns, and that the reader knows to have his read, is gone with the memory: what comes in its place has to be told anew.
#[test]
fn fresh_memory_is_not_what_it_was() {
    model(|| {
        let (world, _main, mut a, mut b) = World::new();
        let there = Arc::clone(&world);
        let other = spawn(move || {
            let mut found = 0;
            for life in 0..2 {
                if life == 1 {
                    there.location.clear(&there.depot, 0xFF);
                }
                found |= there.record(&mut a, Read, 0x0F, life, true);
                found |= there.touch(&mut a, Read, 0xF0, 2);
            }
            found
        });
        let here = world.touch(&mut b, Write, 0xF0, 3);
        assert_eq!(here | other.join().unwrap(), 0xF0);
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
        let other = spawn(move || critical(&there, &mut a, &lock));
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
        let other = spawn(move || {
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

/// What two threads that nothing orders find together, each doing one thing to a detector. `before` is done by their parent: a `Grow`
/// is no part of the model, so what it has must be there.
fn detector<D: Detector + 'static>(
    make: fn() -> D,
    before: Act<D>,
    acts: [Act<D>; 2],
    expected: &'static [std::ops::Range<u64>],
) {
    detector_within(2, make, before, acts, expected);
}

/// The same with at most so many preemptions: one, where a single act is hundreds of steps.
fn detector_within<D: Detector + 'static>(
    preemptions: usize,
    make: fn() -> D,
    before: Act<D>,
    [first, second]: [Act<D>; 2],
    expected: &'static [std::ops::Range<u64>],
) {
    model_within(preemptions, move || {
        let world = Arc::new(make());
        let none: Sink<'_> = &mut |_: &Race| ();
        let mut main = world.root(Tid(0));
        let (base, elem, len) = (Addr(BLOCK), 8, 64);
        world.alloc(&mut main, base, elem, len, Site(1), none);
        before(&world, &mut main, none);
        let mut a = world.fork(&mut main, Tid(1), none);
        let mut b = world.fork(&mut main, Tid(2), none);
        let run = |world: &D, me: &mut D::Thread, act: Act<D>| {
            let mut found = Vec::new();
            let sink: Sink<'_> = &mut |race: &Race| found.push((race.addr.0, race.size));
            act(world, me, sink);
            world.end(me, sink);
            found
        };
        let there = Arc::clone(&world);
        let other = spawn(move || run(&there, &mut a, first));
        let mut found = run(&world, &mut b, second);
        found.extend(other.join().unwrap());
        let mut bytes: Vec<u64> = found
            .into_iter()
            .flat_map(|(addr, size)| addr - BLOCK..addr - BLOCK + u64::from(size))
            .collect();
        bytes.sort_unstable();
        bytes.dedup();
        assert!(bytes.into_iter().eq(expected.iter().cloned().flatten()));
    });
}

/// What a thread does to a detector.
type Act<D> = fn(&D, &mut <D as Detector>::Thread, Sink<'_>);

/// Where the array is.
const BLOCK: u64 = 0x10_000;

fn write_elements<D: Detector>(
    world: &D,
    me: &mut D::Thread,
    (lo, hi): (u64, u64),
    races: Sink<'_>,
) {
    let elements = Elements {
        base: Addr(BLOCK),
        elem: 8,
        lo,
        hi,
        stride: 1,
    };
    world.range(me, Write, elements, Site(2), races);
}

fn write_word<D: Detector>(world: &D, me: &mut D::Thread, word: u64, races: Sink<'_>) {
    let access = Access {
        kind: Write,
        addr: Addr(BLOCK + 8 * word),
        size: 8,
        site: Site(4),
    };
    world.access(me, access, races);
}

fn add<D: Detector>(world: &D, me: &mut D::Thread, order: RmwOrder, races: Sink<'_>) {
    let add = AtomicOp::Rmw(order);
    world.atomic(me, Addr(BLOCK + 8), 8, add, Site(3), races);
}

/// A counter: additions that stand for one another, met by a plain write whenever it comes.
#[test]
fn atomics_are_met_by_a_plain_write() {
    detector(
        FastTrack::default,
        |world, me, races| add(world, me, RmwOrder::Relaxed, races),
        [
            |world, me, races| {
                add(world, me, RmwOrder::AcqRel, races);
                add(world, me, RmwOrder::AcqRel, races);
            },
            |world, me, races| write_elements(world, me, (1, 2), races),
        ],
        &[8..16],
    );
}

/// Two threads count: no race, whoever comes first.
#[test]
fn atomics_do_not_race() {
    detector(
        FastTrack::default,
        |world, me, races| add(world, me, RmwOrder::Relaxed, races),
        [
            |world, me, races| {
                add(world, me, RmwOrder::AcqRel, races);
                add(world, me, RmwOrder::AcqRel, races);
            },
            |world, me, races| add(world, me, RmwOrder::AcqRel, races),
        ],
        &[],
    );
}

/// SlimState's shadow of an array: footprints committed at the same time, each to some of its locations.
#[test]
fn commits_meet_in_the_locations_of_an_array() {
    detector(
        SlimState::default,
        |world, me, races| {
            write_elements(world, me, (0, 16), races);
            world.sync(me, SyncOp::Release(SyncId(1)), races);
            write_elements(world, me, (16, 64), races);
        },
        [
            |world, me, races| write_elements(world, me, (0, 64), races),
            |world, me, races| write_elements(world, me, (16, 64), races),
        ],
        &[128..512],
    );
}

/// Pages that were never touched, and the tables to them, come from two threads at once: they are the same for both, and whoever finds one
/// finds what is in it. Neighbours have tables in common.
#[test]
fn pages_are_made_once() {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// Not the model's: there are too many in a page, and nobody waits for them.
    #[derive(Default)]
    struct Word(AtomicUsize);
    impl Blank for Word {}
    fn touch(pages: &Pages<Word>, page: u64) -> usize {
        let words = pages.touch(Addr(page * PAGE_BYTES)).unwrap();
        words[0].0.fetch_add(1, Relaxed);
        words.as_ptr() as usize
    }
    model(|| {
        let pages = Arc::new(Pages::<Word>::new());
        let there = Arc::clone(&pages);
        let other = spawn(move || [16, 17].map(|page| touch(&there, page)));
        let here = [17, 16].map(|page| touch(&pages, page));
        let [first, second] = other.join().unwrap();
        assert_eq!(here, [second, first]);
        for page in [16, 17] {
            let words = pages.page(Addr(page * PAGE_BYTES)).unwrap();
            assert_eq!(words[0].0.load(Relaxed), 2);
        }
    });
}

/// Two footprints that ask for different partitions are committed at the same time: whoever refines first, both are checked against each other, and
/// against what the whole array remembers.
#[test]
fn an_array_is_refined_by_two() {
    detector(
        SlimState::default,
        |world, me, races| write_elements(world, me, (0, 64), races),
        [
            |world, me, races| write_elements(world, me, (0, 32), races),
            |world, me, races| write_elements(world, me, (16, 64), races),
        ],
        &[128..256],
    );
}

/// An array becomes FINE, so that its elements' locations are where plain memory has them, while somebody commits to all of it.
#[test]
fn an_array_becomes_fine_under_a_commit() {
    detector_within(
        1,
        SlimState::default,
        |world, me, races| write_word(world, me, 512, races),
        [
            |world, me, races| write_elements(world, me, (1, 3), races),
            |world, me, races| write_elements(world, me, (0, 64), races),
        ],
        &[8..24],
    );
}

/// An atomic operation without a bracket is over before whoever ends the bias goes on, or is made with a bracket.
#[test]
fn nobody_is_within_when_the_bias_has_ended() {
    use engine::sync::quick::{WITHIN, begin, end, unbias};
    use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
    #[derive(Default)]
    struct Shared {
        state: AtomicU32,
        bias: AtomicU64,
        operation: AtomicU64,
    }
    model(|| {
        let shared = Arc::new(Shared::default());
        shared.bias.store(1, Ordering::Relaxed);
        let there = Arc::clone(&shared);
        let other = spawn(move || {
            for _ in 0..2 {
                if begin(&there.state, &there.bias, 1) {
                    there.operation.store(1, Ordering::Relaxed);
                    there.operation.store(0, Ordering::Relaxed);
                    end(&there.state);
                }
            }
        });
        unbias(&shared.bias, || {
            fence(Ordering::SeqCst);
            while shared.state.load(Ordering::Acquire) == WITHIN {
                loom::thread::yield_now();
            }
        });
        assert_eq!(shared.operation.load(Ordering::Relaxed), 0);
        loom::thread::yield_now();
        assert_eq!(shared.operation.load(Ordering::Relaxed), 0);
        other.join().unwrap();
    });
}

/// What the owner of an object wrote into what it was lent is there when the bias has ended, and it writes no more.
#[test]
fn what_was_lent_is_taken_back_whole() {
    use engine::sync::quick::{LENT, begin_as, end, is_within, unbias};
    use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
    #[derive(Default)]
    struct Shared {
        state: AtomicU32,
        bias: AtomicU64,
        time: AtomicU32,
    }
    model(|| {
        let shared = Arc::new(Shared::default());
        shared.bias.store(3, Ordering::Relaxed);
        let there = Arc::clone(&shared);
        let owner = spawn(move || {
            let mut made = 0;
            for time in 1..=2 {
                if begin_as(LENT, &there.state, &there.bias, 3) {
                    there.time.store(time, Ordering::Relaxed);
                    made = time;
                    end(&there.state);
                }
            }
            made
        });
        unbias(&shared.bias, || {
            fence(Ordering::SeqCst);
            while is_within(shared.state.load(Ordering::Acquire)) {
                loom::thread::yield_now();
            }
        });
        let taken = shared.time.load(Ordering::Relaxed);
        assert_eq!(owner.join().unwrap(), taken);
    });
}

/// One thread alone operates on an object, is lent it, and goes on while another one comes along with brackets: all that it released is acquired.
#[test]
fn an_object_that_is_lent_passes_on_what_was_released() {
    use engine::clock::ThreadClock;
    use engine::sync::Effect;
    use engine::sync::lent::Lent;
    use engine::sync::quick::{LENT, begin_as, end, is_within};
    use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
    const OBJECT: Addr = Addr(64);
    const RELEASE: AtomicOp = AtomicOp::Rmw(RmwOrder::AcqRel);
    type Loan<'a> = (Lent, u64, &'a AtomicU64, &'a AtomicU32);
    fn operate<'a>(order: &'a HappensBefore, me: &mut ThreadClock) -> Option<Loan<'a>> {
        let mut bracket = order.bracket(OBJECT);
        if bracket.is_biased() {
            order.expect(me, &mut bracket, RELEASE);
        }
        let operation = order.begin_atomic(me, &mut bracket, 8, RELEASE);
        me.stamp(order.slots(), Site(1));
        order.end_atomic(me, operation);
        let repeats = order.repeats(me, &mut bracket, 8, RELEASE)?;
        let lent = repeats.lent?;
        Some((lent, repeats.remembered, repeats.bias, bracket.time(lent)))
    }
    loom::lazy_static! {
        static ref STATE: AtomicU32 = AtomicU32::new(0);
    }
    engine::set_quiesce(|| {
        fence(Ordering::SeqCst);
        while is_within(STATE.load(Ordering::Acquire)) {
            loom::thread::yield_now();
        }
    });
    static LENT_AT_ALL: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
    let limits = engine::Limits {
        row: 0,
        ..engine::Limits::CELL
    };
    model(move || {
        let order = Arc::new(HappensBefore::new(limits));
        let mut owner = order.root(Tid(0));
        let mut other = order.fork(&mut owner, Tid(1));
        let there = Arc::clone(&order);
        let value = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&value);
        let before = owner.epoch();
        operate(&order, &mut owner);
        let first = spawn(move || {
            let order = &there;
            if let Some((lent, remembered, bias, time)) = operate(order, &mut owner) {
                let effect = Effect::of(RELEASE);
                if lent.admits(&owner, 8, effect) && begin_as(LENT, &STATE, bias, remembered) {
                    owner.stamp(order.slots(), Site(1));
                    let at = owner.epoch();
                    value.store(1, Ordering::Relaxed);
                    order.end_lent(&mut owner, time, (OBJECT, 8), effect, false);
                    end(&STATE);
                    return Some(at);
                }
            }
            None
        });
        // Whoever sees what was done within also knows that it was.
        let mut bracket = order.bracket(OBJECT);
        if bracket.is_biased() {
            order.expect(&other, &mut bracket, RELEASE);
        }
        let saw = seen.load(Ordering::Relaxed);
        let operation = order.begin_atomic(&mut other, &mut bracket, 8, RELEASE);
        order.end_atomic(&mut other, operation);
        drop(bracket);
        let cell = |epoch| Cell::new(epoch, Write, 0xFF, 0);
        let knows = |epoch| other.covers(cell(epoch).slot(), cell(epoch).time());
        assert!(knows(before));
        if let Some(at) = first.join().unwrap() {
            LENT_AT_ALL.store(true, Ordering::Relaxed);
            assert_eq!(knows(at), saw == 1);
        }
    });
    assert!(LENT_AT_ALL.load(Ordering::Relaxed));
}

/// Ranges that cut the runs of a page in different places at the same time.
#[test]
fn ranges_meet_in_the_runs_of_a_page() {
    detector(
        FastTrack::default,
        |world, me, races| write_elements(world, me, (0, 64), races),
        [
            |world, me, races| write_elements(world, me, (8, 24), races),
            |world, me, races| {
                write_elements(world, me, (32, 64), races);
                write_elements(world, me, (16, 32), races);
            },
        ],
        &[128..192],
    );
}

/// A page is split while somebody is at work on its runs: nothing is lost on the way.
#[test]
fn a_page_with_runs_is_split() {
    detector(
        FastTrack::default,
        |world, me, races| write_elements(world, me, (0, 64), races),
        [
            |world, me, races| write_elements(world, me, (0, 16), races),
            |world, me, races| add(world, me, RmwOrder::Relaxed, races),
        ],
        &[8..16],
    );
}

/// Rows that their page knows are accessed again: by two at once, and while the page is split.
#[test]
fn known_rows_are_accessed_again() {
    fn before(world: &FastTrack, me: &mut <FastTrack as Detector>::Thread, races: Sink<'_>) {
        write_elements(world, me, (0, 64), races);
        for _ in 0..3 {
            world.sync(me, SyncOp::Release(SyncId(1)), races);
            write_elements(world, me, (0, 16), races);
        }
        assert_eq!(me.counts.get(RuleName::RunAgain), 1);
    }
    /// On another page first: so the site has a number.
    fn again(world: &FastTrack, me: &mut <FastTrack as Detector>::Thread, races: Sink<'_>) {
        write_elements(world, me, (600, 601), &mut |_| ());
        write_elements(world, me, (0, 16), races);
    }
    detector_within(1, FastTrack::default, before, [again, again], &[0..128]);
    let add: Act<FastTrack> = |world, me, races| add(world, me, RmwOrder::Relaxed, races);
    detector_within(1, FastTrack::default, before, [again, add], &[8..16]);
}

/// Words side by side that have the same past, of a page that is split, are written by one thread while another writes one of them.
#[test]
fn rows_of_words_that_are_alike_meet() {
    fn before(world: &FastTrack, me: &mut <FastTrack as Detector>::Thread, races: Sink<'_>) {
        add(world, me, RmwOrder::Relaxed, races);
        write_elements(world, me, (2, 4), races);
    }
    /// On another page first: so the site has a number.
    fn row(world: &FastTrack, me: &mut <FastTrack as Detector>::Thread, races: Sink<'_>) {
        write_elements(world, me, (600, 601), &mut |_| ());
        write_elements(world, me, (2, 4), races);
    }
    let word: Act<FastTrack> = |world, me, races| write_word(world, me, 3, races);
    detector_within(1, FastTrack::default, before, [row, word], &[24..32]);
}

/// A page gets its runs from two threads at once.
#[test]
fn a_whole_page_gets_runs_once() {
    detector(
        FastTrack::default,
        |world, me, races| write_elements(world, me, (0, 512), races),
        [
            |world, me, races| write_elements(world, me, (0, 100), races),
            |world, me, races| write_elements(world, me, (50, 150), races),
        ],
        &[400..800],
    );
}

/// A whole page is written again while it gets runs.
#[test]
fn whole_pages_are_accessed_again() {
    fn before(world: &FastTrack, me: &mut <FastTrack as Detector>::Thread, races: Sink<'_>) {
        write_elements(world, me, (0, 512), races);
    }
    /// On another page first: so the site has a number.
    fn again(world: &FastTrack, me: &mut <FastTrack as Detector>::Thread, races: Sink<'_>) {
        write_elements(world, me, (600, 601), &mut |_| ());
        write_elements(world, me, (0, 512), races);
    }
    let part: Act<FastTrack> = |world, me, races| write_elements(world, me, (0, 100), races);
    detector_within(1, FastTrack::default, before, [again, part], &[0..800]);
}

/// A thread that remembers a range reads it again after it became fresh, which it is told: that is a new read.
#[test]
fn a_range_that_became_fresh_is_not_remembered() {
    model(|| {
        let world = Arc::new(FastTrack::default());
        let none: Sink<'_> = &mut |_: &Race| ();
        let elements = Elements {
            base: Addr(BLOCK),
            elem: 8,
            lo: 0,
            hi: 64,
            stride: 1,
        };
        let mut main = world.root(Tid(0));
        write_elements(&*world, &mut main, (0, 512), none);
        write_elements(&*world, &mut main, (0, 64), none);
        let mut a = world.fork(&mut main, Tid(1), none);
        let mut b = world.fork(&mut main, Tid(2), none);
        let fresh = Arc::new(loom::sync::atomic::AtomicBool::new(false));
        let (there, told) = (Arc::clone(&world), Arc::clone(&fresh));
        let other = spawn(move || {
            let mut races = 0;
            let sink: Sink<'_> = &mut |_: &Race| races += 1;
            there.range(&mut a, AccessKind::Read, elements, Site(3), sink);
            let again = told.load(std::sync::atomic::Ordering::Acquire);
            if again {
                there.range(&mut a, AccessKind::Read, elements, Site(4), sink);
            }
            (again, races)
        });
        let mut races = 0;
        let sink: Sink<'_> = &mut |_: &Race| races += 1;
        world.alloc(&mut b, elements.base, 8, 64, Site(5), sink);
        fresh.store(true, std::sync::atomic::Ordering::Release);
        write_elements(&*world, &mut b, (0, 64), sink);
        let (again, theirs) = other.join().unwrap();
        assert!(!again || races + theirs > 0);
    });
}

loom::lazy_static! {
    /// Where threads sleep, as on one futex.
    static ref ROOM: (loom::sync::Mutex<()>, loom::sync::Condvar) =
        (loom::sync::Mutex::new(()), loom::sync::Condvar::new());
}

/// Threads that sleep for a lock are woken, each of them.
#[test]
fn sleepers_wake() {
    use loom::sync::atomic::{Ordering, fence};
    engine::sleep::set_beds(engine::sleep::Beds {
        sleep: |word, expected| {
            let room = ROOM.0.lock().unwrap();
            if word.load(Ordering::Relaxed) == expected {
                drop(ROOM.1.wait(room).unwrap());
            }
        },
        wake: |_| {
            let _room = ROOM.0.lock().unwrap();
            ROOM.1.notify_one();
        },
        barrier: || fence(Ordering::SeqCst),
    });
    model(|| {
        let lock = Arc::new(engine::sleep::SleepLock::new(0));
        let add = |lock: &engine::sleep::SleepLock<i32>| {
            let mut sum = lock.lock();
            // Others come while it is held.
            loom::thread::yield_now();
            *sum += 1;
        };
        let threads = [0; 2].map(|_| {
            let lock = Arc::clone(&lock);
            spawn(move || add(&lock))
        });
        add(&lock);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(*lock.lock(), 3);
    });
}
