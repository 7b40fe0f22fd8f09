//! Traces of programs that are made of loops: each thread goes through arrays in steps, from several places in the program that
//! take turns, as compiled loops do. [`random`](super::random) rarely does the same twice.

use super::rng::Rng;
use super::shrink::repair;
use event::{AccessKind, Addr, Event, LoadOrder, Op, Site, StoreOrder, SyncId, Tid};

const ARRAYS: u64 = 3;
const BYTES: u64 = 512;

fn array(index: u64) -> Addr {
    // Neighbours, as `malloc` gives them.
    Addr((1 << 41) + index * (BYTES + 16))
}

/// One access in a loop's body: how far from the loop's own address, how many bytes, what, where in the program.
struct Place {
    offset: u64,
    size: u32,
    kind: AccessKind,
    site: Site,
}

/// What a thread does, without the others.
fn script(rng: &mut Rng, thread: u32, blocks: u64) -> Vec<(Op, Site)> {
    let mut ops = Vec::new();
    // A loop is run again now and then, from the same places.
    let mut loops: Vec<(u64, Vec<Place>)> = Vec::new();
    for block in 0..blocks {
        if loops.is_empty() || rng.one_in(2) {
            let size = 1 << rng.below(4);
            let places = 1 + rng.below(4);
            let step = size * (1 + rng.below(5));
            let body = (0..places).map(|i| Place {
                offset: if rng.one_in(4) {
                    rng.below(3 * size)
                } else {
                    i * size
                },
                size: if rng.one_in(8) { 1 } else { size as u32 },
                kind: if rng.one_in(2) {
                    AccessKind::Write
                } else {
                    AccessKind::Read
                },
                site: Site(1 + thread * 1000 + (block * 10 + i) as u32),
            });
            loops.push((step, body.collect()));
        }
        let (step, body) = &loops[rng.below(loops.len() as u64) as usize];
        let base = array(rng.below(ARRAYS)).0;
        let (first, rounds) = (rng.below(BYTES / 4) & !7, 2 + rng.below(40));
        let down = rng.one_in(5);
        for round in 0..rounds {
            let round = if down { rounds - 1 - round } else { round };
            for place in body {
                // Loops have conditions.
                if rng.one_in(50) {
                    continue;
                }
                let addr = base + first + round * step + place.offset;
                if addr + u64::from(place.size) <= base + BYTES + 24 {
                    let (kind, size) = (place.kind, place.size);
                    let access = Op::Access {
                        kind,
                        addr: Addr(addr),
                        size,
                    };
                    ops.push((access, place.site));
                }
            }
        }
        let lock = SyncId(1 + rng.below(2));
        let site = Site(thread * 1000 + 900);
        let word = Addr(base + rng.below(8) * 8);
        match rng.below(10) {
            0..4 => ops.push((Op::Acquire(lock), site)),
            4..7 => ops.push((Op::Release(lock), site)),
            7 if rng.one_in(3) => {
                ops.push((Op::Free { addr: Addr(base) }, site));
                let (elem, len) = (8, BYTES / 8);
                ops.push((
                    Op::Alloc {
                        addr: Addr(base),
                        elem,
                        len,
                    },
                    site,
                ));
            }
            8 if rng.one_in(3) => {
                let order = StoreOrder::Release;
                ops.push((
                    Op::Store {
                        addr: word,
                        size: 8,
                        order,
                    },
                    site,
                ));
            }
            9 if rng.one_in(3) => {
                let order = LoadOrder::Acquire;
                ops.push((
                    Op::Load {
                        addr: word,
                        size: 8,
                        order,
                    },
                    site,
                ));
            }
            _ => {}
        }
    }
    ops
}

/// A trace of two or three threads whose loops interleave, a stretch of each at a time.
pub fn loops(seed: u64, blocks: u64) -> Vec<Event> {
    let mut rng = Rng::new(seed ^ 0x6c6f_6f70);
    let mut events = Vec::new();
    for index in 0..ARRAYS {
        let op = Op::Alloc {
            addr: array(index),
            elem: 8,
            len: BYTES / 8,
        };
        events.push(Event {
            thread: Tid(0),
            op,
            site: Site(1),
        });
    }
    let threads = 2 + rng.below(2) as u32;
    let mut scripts = Vec::new();
    for thread in 0..threads {
        if thread > 0 {
            let op = Op::Fork(Tid(thread));
            events.push(Event {
                thread: Tid(0),
                op,
                site: Site(2),
            });
        }
        scripts.push(script(&mut rng, thread, blocks).into_iter().peekable());
    }
    while scripts.iter_mut().any(|script| script.peek().is_some()) {
        let thread = rng.below(u64::from(threads)) as usize;
        let stretch = 1 + rng.below(60) as usize;
        for (op, site) in scripts[thread].by_ref().take(stretch) {
            events.push(Event {
                thread: Tid(thread as u32),
                op,
                site,
            });
        }
    }
    repair(events)
}
