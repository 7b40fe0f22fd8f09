//! From a conflict in the shadow to the races of the program.

use alloc::vec::Vec;

use event::{Addr, Elements};

use crate::detector::{Race, Side, Sink};
use crate::shadow::{Conflict, Extent};
use crate::sync::HappensBefore;

/// Tells `races` of a conflict found in the word at `word`, one race for each run of bytes that were accessed at one site.
#[cold]
pub fn report_conflict(
    order: &HappensBefore,
    conflict: Conflict,
    second: Side,
    word: Addr,
    races: Sink<'_>,
) {
    let old = conflict.old;
    let thread = order.slots().tid(old.slot(), old.time());
    let racy = |byte: u32| byte < 8 && conflict.mask >> byte & 1 != 0;
    let site = |byte: u32| order.slots().site(old.slot(), old.site(), byte);
    let mut from = 0;
    while from < 8 {
        if !racy(from) {
            from += 1;
            continue;
        }
        let first = Side {
            thread,
            kind: old.kind(),
            atomic: conflict.atomic,
            site: site(from),
        };
        let mut end = from + 1;
        while racy(end) && site(end) == first.site {
            end += 1;
        }
        races(&Race {
            addr: Addr(word.0 + u64::from(from)),
            size: end - from,
            elements: None,
            first,
            second,
        });
        from = end;
    }
}

/// Tells `races` of a conflict found in the words of `extent` on the page at `base`: one race for all if they are neighbours and
/// were accessed at one site, else one for each, which knows of the others.
#[cold]
pub(super) fn report_extent(
    order: &HappensBefore,
    conflict: Conflict,
    extent: Extent,
    second: Side,
    base: Addr,
    races: Sink<'_>,
) {
    let first = Addr(base.0 + 8 * u64::from(extent.first));
    let mut here: Vec<Race> = Vec::new();
    report_conflict(order, conflict, second, first, &mut |race| here.push(*race));
    if let [race] = here[..]
        && race.size == 8
        && extent.step == 1
    {
        let size = 8 * u32::from(extent.count);
        return races(&Race { size, ..race });
    }
    let step = 8 * u64::from(extent.step);
    for word in 0..u64::from(extent.count) {
        for race in &here {
            let size = u64::from(race.size);
            let even = matches!(size, 1 | 2 | 4 | 8) && extent.count > 1;
            let elements = even.then(|| Elements {
                base: race.addr,
                elem: size as u8,
                lo: 0,
                hi: u64::from(extent.count - 1) * (step / size) + 1,
                stride: step / size,
            });
            races(&Race {
                addr: Addr(race.addr.0 + word * step),
                elements,
                ..*race
            });
        }
    }
}
