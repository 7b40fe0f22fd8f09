//! Pages with layers: footprints that are committed while others commit theirs, split the page, or make its memory fresh.

use super::{Act, BLOCK, add, detector_within, model_within, spawn, write_word};
use engine::precise::PreciseThread;
use engine::shadow::RuleName;
use engine::{Detector, FastTrack, Race, Sink};
use event::{Addr, RmwOrder, Site, Tid};
use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Pages that are accessed in detail have layers, and keep them.
fn layered() -> FastTrack {
    FastTrack::default().with_layers(1 << 20)
}

/// The page gets its layers; what was done to it is checked before others are there.
fn lay(world: &FastTrack, me: &mut PreciseThread, races: Sink<'_>) {
    write_word(world, me, 0, races);
    assert_eq!(me.counts.get(RuleName::WritePutOff), 1);
}

const WRITE: Act<FastTrack> = |world, me, races| write_word(world, me, 5, races);

/// Footprints are checked one by one: whoever comes second finds what the first one left.
#[test]
fn footprints_meet_in_the_layers_of_a_page() {
    detector_within(2, layered, lay, [WRITE, WRITE], &[40..48]);
    let beside: Act<FastTrack> = |world, me, races| write_word(world, me, 6, races);
    detector_within(2, layered, lay, [WRITE, beside], &[]);
}

/// The page is split, for an atomic access, while a footprint is begun, or before it is checked.
#[test]
fn a_page_is_split_under_a_footprint() {
    let write: Act<FastTrack> = |world, me, races| write_word(world, me, 1, races);
    let add: Act<FastTrack> = |world, me, races| add(world, me, RmwOrder::Relaxed, races);
    detector_within(2, layered, lay, [write, add], &[8..16]);
}

/// Two threads, of which the second makes the word fresh that the first has written. Returns whether something `happened` in this interleaving, and how many races were found.
fn fresh(
    first: fn(&FastTrack, &mut PreciseThread, &AtomicBool, Sink<'_>) -> bool,
    second: fn(&FastTrack, &mut PreciseThread, &AtomicBool, Sink<'_>) -> bool,
    right: fn(bool, u32) -> bool,
) {
    model_within(2, move || {
        let world = Arc::new(layered());
        let mut main = world.root(Tid(0));
        lay(&world, &mut main, &mut |_| ());
        let mut a = world.fork(&mut main, Tid(1), &mut |_| ());
        let mut b = world.fork(&mut main, Tid(2), &mut |_| ());
        let said = Arc::new(AtomicBool::new(false));
        type Part = fn(&FastTrack, &mut PreciseThread, &AtomicBool, Sink<'_>) -> bool;
        let run = |world: &FastTrack, me: &mut PreciseThread, said: &AtomicBool, part: Part| {
            let mut races = 0;
            let sink: Sink<'_> = &mut |_: &Race| races += 1;
            let happened = part(world, me, said, sink);
            world.end(me, sink);
            (happened, races)
        };
        let (there, heard) = (Arc::clone(&world), Arc::clone(&said));
        let other = spawn(move || run(&there, &mut a, &heard, first));
        let (ours, mine) = run(&world, &mut b, &said, second);
        let (theirs, found) = other.join().unwrap();
        assert!(right(ours || theirs, mine + found));
    });
}

fn make_fresh(world: &FastTrack, me: &mut PreciseThread, races: Sink<'_>) {
    world.alloc(me, Addr(BLOCK + 40), 8, 1, Site(5), races);
}

/// What a thread put off before the memory was made fresh is no race with what its new owner does, though it is checked later.
#[test]
fn a_footprint_is_older_than_fresh_memory() {
    fresh(
        |world, me, said, races| {
            write_word(world, me, 5, races);
            said.store(true, Release);
            false
        },
        |world, me, said, races| {
            let after = said.load(Acquire);
            if after {
                make_fresh(world, me, races);
                write_word(world, me, 5, races);
            }
            after
        },
        |_, races| races == 0,
    );
}

/// A thread that has put off a write, and writes again after the memory became fresh, which it is told, races with the new owner.
#[test]
fn a_footprint_is_not_for_fresh_memory() {
    fresh(
        |world, me, said, races| {
            write_word(world, me, 5, races);
            let again = said.load(Acquire);
            if again {
                write_word(world, me, 5, races);
            }
            again
        },
        |world, me, said, races| {
            make_fresh(world, me, races);
            said.store(true, Release);
            write_word(world, me, 5, races);
            false
        },
        |again, races| !again || races > 0,
    );
}
