//! SlimState told of the places in a program that accesses come from, as the runtime does.

use engine::detector::{Access, Detector, SyncOp};
use engine::slimstate::{Mode, Options, PlaceKey, Slim, Strided, Summary};
use event::{AccessKind, Addr, Site, SyncId, Tid};

const BASE: u64 = 5 << 30;
const BYTES: u64 = 8 * 2000;

/// Locations of an array of bytes that is read a word at a time, each byte of it at a place of its own: where those are in the code, by the word.
fn locations(places: [u64; 8], thrifty: bool) -> u64 {
    let options = Options {
        thrifty,
        ..Options::default()
    };
    let slim = Slim::<Strided, Mode>::new(options);
    let mut main = slim.root(Tid(0));
    slim.alloc(&mut main, Addr(BASE), 1, BYTES, Site(1), &mut |_| {});
    let mut me = slim.fork(&mut main, Tid(1), &mut |_| {});
    for word in (BASE..BASE + BYTES).step_by(8) {
        for (addr, place) in (word..).zip(places) {
            let key = PlaceKey::new(0x40_0000 + 8 * place, 1);
            if !slim.take(&mut me, key, Addr(addr), 1) {
                let access = Access {
                    kind: AccessKind::Read,
                    addr: Addr(addr),
                    size: 1,
                    site: Site(10 + place as u32),
                };
                slim.access_at(&mut me, key, access, &mut |race| panic!("{race:?}"));
            }
        }
    }
    slim.sync(&mut me, SyncOp::Release(SyncId(1)), &mut |_| {});
    Summary::of(&slim).total.locations
}

/// Three places have one set of streams while there are few sets, and two streams: what one of them had must not get into the footprint ahead of its neighbours', or the
/// array is committed in pieces and becomes FINE.
#[test]
fn what_is_accessed_at_places_that_share_a_set_stays_compressed() {
    for places in [[0, 1, 4, 5, 8, 2, 6, 3], [0, 1, 2, 3, 4, 5, 6, 7]] {
        for thrifty in [false, true] {
            assert_eq!(locations(places, thrifty), 1, "{places:?} {thrifty}");
        }
    }
}
