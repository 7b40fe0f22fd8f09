//! How programs walk arrays: the footprints that the rows of SlimState's Table I are about.

use super::Rng;
use event::{AccessKind, Addr, Elements, Op};

/// An array as the generator sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub base: Addr,
    pub elem: u8,
    pub len: u64,
    pub alive: bool,
}

impl Array {
    pub(super) fn elements(self, lo: u64, hi: u64, stride: u64) -> Elements {
        Elements {
            base: self.base,
            elem: self.elem,
            lo,
            hi,
            stride,
        }
    }
}

/// The footprint of one sweep; `thread` of `threads` prefers a share of its own.
fn footprint(rng: &mut Rng, array: Array, thread: u64, threads: u64) -> Elements {
    let n = array.len;
    let share = |rng: &mut Rng, k: u64| {
        if rng.one_in(4) {
            rng.below(k)
        } else {
            thread % k.max(1)
        }
    };
    match rng.below(8) {
        // COARSE
        0 | 1 => array.elements(0, n, 1),
        // BLOCK: share `b` of `k` blocks.
        2 => {
            let k = if rng.one_in(2) {
                threads.max(1)
            } else {
                1 + rng.below(4)
            };
            let size = n.div_ceil(k).max(1);
            let lo = (share(rng, k) * size).min(n);
            array.elements(lo, (lo + size).min(n), 1)
        }
        // STRIDE: offset `o` of stride `k`.
        3 => {
            let k = if rng.one_in(2) {
                threads.max(1)
            } else {
                1 + rng.below(4)
            };
            array.elements(share(rng, k).min(n), n, k)
        }
        // SPLIT: up to, or from, a middle that tends to be the same.
        4 | 5 => {
            let at = if rng.one_in(3) {
                rng.below(n + 1)
            } else {
                n / 2
            };
            if rng.one_in(2) {
                array.elements(0, at, 1)
            } else {
                array.elements(at, n, 1)
            }
        }
        // PREFIX: within the first quartile.
        6 => {
            let to = 1 + rng.below((n / 4).max(1));
            array.elements(0, to.min(n), 1)
        }
        // FINE: anything.
        _ => {
            let lo = rng.below(n);
            let hi = lo + 1 + rng.below(n - lo.min(n.saturating_sub(1)));
            array.elements(lo, hi.min(n), 1 + rng.below(4))
        }
    }
}

/// A sweep: one range event, or element by element, upwards or downwards, or in two ranges.
pub(super) fn sweep(
    rng: &mut Rng,
    array: Array,
    thread: u64,
    threads: u64,
    kind: AccessKind,
) -> Vec<Op> {
    let elements = footprint(rng, array, thread, threads);
    if elements.is_empty() {
        return Vec::new();
    }
    let range = |elements| Op::Range { kind, elements };
    let one = |i| Op::Access {
        kind,
        addr: elements.addr(i),
        size: u32::from(elements.elem),
    };
    match rng.below(6) {
        0 => elements.indices().map(one).collect(),
        1 => {
            let mut ops: Vec<Op> = elements.indices().map(one).collect();
            ops.reverse();
            ops
        }
        2 => {
            let middle = elements.lo + elements.len() / 2 * elements.stride;
            vec![
                range(Elements {
                    hi: middle,
                    ..elements
                }),
                range(Elements {
                    lo: middle,
                    ..elements
                }),
            ]
        }
        _ => vec![range(elements)],
    }
}
