//! Vector clocks that share what they have in common.
//!
//! A vector clock says for each [`Slot`] up to which [`Time`] its events are known. Here it is a
//! persistent radix tree: 32 times in a leaf, 16 subtrees in an inner node, nodes shared between clocks and
//! copied when one of the sharers changes.
//!
//! ```text
//!            inner ── 16 × Arc        copy of a clock: one reference, whatever its size
//!           /  |  \                   join: descends only where the two clocks do not share
//!       leaf leaf leaf  32 × u32      and ends up sharing wherever one side knew everything
//! ```
//!
//! So a copy is O(1), and a join costs as much as the clocks have moved apart since one was a copy of the
//! other: with 1,000 threads, a lock handed between two of them touches two leaves. Tree clocks (Mathur et
//! al., ASPLOS 2022) promise the same by remembering from whom each entry was learned, but their pruning is
//! valid only for clocks that belong to one thread; a lock released without being acquired, a channel, a
//! barrier and a release sequence gather from many. Sharing needs no such side condition: it compares
//! values, never histories. And a program with many locks pays for what the locks' clocks differ in, not
//! for a whole vector each.

use alloc::sync::Arc;
use core::array;

use super::{Slot, Time};

const LEAF: usize = 32;
const FAN: usize = 16;

#[derive(Clone, Debug)]
enum Node {
    Leaf([u32; LEAF]),
    Inner([Option<Arc<Node>>; FAN]),
}

impl Node {
    fn new(height: u8) -> Node {
        if height == 0 {
            Node::Leaf([0; LEAF])
        } else {
            Node::Inner([const { None }; FAN])
        }
    }
}

/// How many slots a tree of this height covers.
const fn span(height: u8) -> usize {
    LEAF * FAN.pow(height as u32)
}

/// Which of two clocks knew everything that the other knew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Order {
    left: bool,
    right: bool,
}

impl Order {
    const SAME: Order = Order {
        left: true,
        right: true,
    };
    fn and(self, other: Order) -> Order {
        Order {
            left: self.left && other.left,
            right: self.right && other.right,
        }
    }
}

/// A vector clock: for each slot, the last time of it that is known; 0 if nothing is.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    root: Option<Arc<Node>>,
    height: u8,
}

impl Clock {
    /// A clock that knows nothing.
    pub const fn new() -> Clock {
        Clock {
            root: None,
            height: 0,
        }
    }

    /// Up to which time `slot` is known.
    #[inline]
    pub fn get(&self, slot: Slot) -> Time {
        let index = slot.index();
        let mut height = self.height;
        let Some(mut node) = self.root.as_ref() else {
            return Time(0);
        };
        if index >= span(height) {
            return Time(0);
        }
        loop {
            match &**node {
                Node::Leaf(times) => return Time(times[index % LEAF]),
                Node::Inner(children) => {
                    height -= 1;
                    match &children[index / span(height) % FAN] {
                        Some(child) => node = child,
                        None => return Time(0),
                    }
                }
            }
        }
    }

    /// Makes `slot` known at least up to `time`.
    pub fn raise(&mut self, slot: Slot, time: Time) {
        if self.get(slot) >= time {
            return;
        }
        let index = slot.index();
        while index >= span(self.height) {
            self.grow();
        }
        let mut height = self.height;
        let mut node = self.root.get_or_insert_with(|| Arc::new(Node::new(height)));
        loop {
            match Arc::make_mut(node) {
                Node::Leaf(times) => {
                    times[index % LEAF] = time.0;
                    return;
                }
                Node::Inner(children) => {
                    height -= 1;
                    node = children[index / span(height) % FAN]
                        .get_or_insert_with(|| Arc::new(Node::new(height)));
                }
            }
        }
    }

    /// Learns everything that `other` knows. Was any of it news?
    pub fn join(&mut self, other: &Clock) -> bool {
        let Some(theirs) = &other.root else {
            return false;
        };
        if self.root.is_none() {
            self.clone_from(other);
            return true;
        }
        while self.height < other.height {
            self.grow();
        }
        let Some(mine) = &mut self.root else {
            return false;
        };
        !join_below(mine, self.height, theirs, other.height).left
    }

    /// Is everything that `other` knows known here?
    pub fn covers(&self, other: &Clock) -> bool {
        match (&self.root, &other.root) {
            (_, None) => true,
            (None, Some(theirs)) => is_zero(theirs),
            (Some(mine), Some(theirs)) if self.height >= other.height => {
                covers_below(mine, self.height, theirs, other.height)
            }
            (Some(_), Some(_)) => {
                let mut grown = self.clone();
                while grown.height < other.height {
                    grown.grow();
                }
                grown.covers(other)
            }
        }
    }

    /// Do the two share all their memory? (Then they are equal; the converse need not hold.)
    pub fn shares(&self, other: &Clock) -> bool {
        match (&self.root, &other.root) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    /// Room for 16 times as many slots.
    fn grow(&mut self) {
        self.height += 1;
        if let Some(old) = self.root.take() {
            let mut children = [const { None }; FAN];
            children[0] = Some(old);
            self.root = Some(Arc::new(Node::Inner(children)));
        }
    }
}

fn is_zero(node: &Node) -> bool {
    match node {
        Node::Leaf(times) => times.iter().all(|&t| t == 0),
        Node::Inner(children) => children.iter().flatten().all(|child| is_zero(child)),
    }
}

/// Joins `right` into the first slots of `left`, which is at least as high.
fn join_below(left: &mut Arc<Node>, left_height: u8, right: &Arc<Node>, right_height: u8) -> Order {
    if left_height == right_height {
        return join_nodes(left, right);
    }
    if covers_below(left, left_height, right, right_height) {
        return Order {
            left: true,
            right: false,
        };
    }
    if let Node::Inner(children) = Arc::make_mut(left) {
        match &mut children[0] {
            Some(child) => {
                join_below(child, left_height - 1, right, right_height);
            }
            empty => {
                let mut node = Arc::clone(right);
                for _ in right_height + 1..left_height {
                    let mut above = [const { None }; FAN];
                    above[0] = Some(node);
                    node = Arc::new(Node::Inner(above));
                }
                *empty = Some(node);
            }
        }
    }
    Order {
        left: false,
        right: false,
    }
}

fn join_nodes(left: &mut Arc<Node>, right: &Arc<Node>) -> Order {
    if Arc::ptr_eq(left, right) {
        return Order::SAME;
    }
    let order = match (&**left, &**right) {
        (Node::Leaf(a), Node::Leaf(b)) => {
            let order = order_of(a, b);
            if !order.left && !order.right {
                let joined = array::from_fn(|i| signed(a[i]).max(signed(b[i])).cast_unsigned());
                match Arc::get_mut(left) {
                    Some(node) => *node = Node::Leaf(joined),
                    None => *left = Arc::new(Node::Leaf(joined)),
                }
            }
            order
        }
        (Node::Inner(_), Node::Inner(b)) => match Arc::get_mut(left) {
            Some(Node::Inner(a)) => {
                let mut order = Order::SAME;
                for (a, b) in a.iter_mut().zip(b) {
                    order = order.and(join_children(a, b));
                }
                order
            }
            _ => join_shared(left, b),
        },
        _ => unreachable!("nodes of one height are of one kind"),
    };
    // Sharing is what makes the next join cheap, so it is kept up even between equals.
    if order.right {
        left.clone_from(right);
    }
    order
}

/// As `join_nodes` for a left node that others share: it is copied once something changes.
fn join_shared(left: &mut Arc<Node>, b: &[Option<Arc<Node>>; FAN]) -> Order {
    let Node::Inner(a) = &**left else {
        unreachable!("nodes of one height are of one kind")
    };
    let mut order = Order::SAME;
    let mut copy: Option<[Option<Arc<Node>>; FAN]> = None;
    for i in 0..FAN {
        let same = match (&a[i], &b[i]) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        if same {
            continue;
        }
        let mut child = a[i].clone();
        let here = join_children(&mut child, &b[i]);
        order = order.and(here);
        if !here.left {
            copy.get_or_insert_with(|| a.clone())[i] = child;
        }
    }
    if let (Some(copy), false) = (copy, order.right) {
        *left = Arc::new(Node::Inner(copy));
    }
    order
}

fn join_children(left: &mut Option<Arc<Node>>, right: &Option<Arc<Node>>) -> Order {
    match (left, right) {
        (None, None) => Order::SAME,
        (Some(_), None) => Order {
            left: true,
            right: false,
        },
        (left @ None, Some(theirs)) => {
            *left = Some(Arc::clone(theirs));
            Order {
                left: false,
                right: true,
            }
        }
        (Some(mine), Some(theirs)) => join_nodes(mine, theirs),
    }
}

/// No time and no version needs the highest bit, see [`Limits`](super::Limits).
#[inline(always)]
const fn signed(time: u32) -> i32 {
    time.cast_signed()
}

fn order_of(a: &[u32; LEAF], b: &[u32; LEAF]) -> Order {
    // Written to be vectorised: no early exit, and signed, which all processors can.
    let (mut less, mut more) = (0u32, 0u32);
    for i in 0..LEAF {
        less |= u32::from(signed(a[i]) < signed(b[i]));
        more |= u32::from(signed(a[i]) > signed(b[i]));
    }
    Order {
        left: less == 0,
        right: more == 0,
    }
}

fn covers_below(left: &Arc<Node>, left_height: u8, right: &Arc<Node>, right_height: u8) -> bool {
    if Arc::ptr_eq(left, right) {
        return true;
    }
    match (&**left, &**right) {
        (Node::Leaf(a), Node::Leaf(b)) => order_of(a, b).left,
        (Node::Inner(a), _) if left_height > right_height => match &a[0] {
            Some(a) => covers_below(a, left_height - 1, right, right_height),
            None => is_zero(right),
        },
        (Node::Inner(a), Node::Inner(b)) => a.iter().zip(b).all(|(a, b)| match (a, b) {
            (_, None) => true,
            (None, Some(b)) => is_zero(b),
            (Some(a), Some(b)) => covers_below(a, left_height - 1, b, right_height - 1),
        }),
        _ => unreachable!("nodes of one height are of one kind"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Raise(usize, u16, u32),
        Join(usize, usize),
        Copy(usize, usize),
    }

    const CLOCKS: usize = 4;

    fn step() -> impl Strategy<Value = Step> {
        let slot = prop_oneof![
            0u16..4,
            60u16..70,
            1020u16..1030,
            16380u16..16390,
            any::<u16>()
        ];
        prop_oneof![
            (0..CLOCKS, slot, 1u32..20).prop_map(|(c, s, t)| Step::Raise(c, s, t)),
            (0..CLOCKS, 0..CLOCKS).prop_map(|(a, b)| Step::Join(a, b)),
            (0..CLOCKS, 0..CLOCKS).prop_map(|(a, b)| Step::Copy(a, b)),
        ]
    }

    type Naive = BTreeMap<u16, u32>;

    fn naive_covers(a: &Naive, b: &Naive) -> bool {
        b.iter().all(|(s, t)| a.get(s).is_some_and(|x| x >= t))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]
        /// Any mixture of raises, joins and copies agrees with maps from slot to time.
        #[test]
        fn agrees_with_maps(steps in proptest::collection::vec(step(), 1..40)) {
            let mut clocks: Vec<Clock> = (0..CLOCKS).map(|_| Clock::new()).collect();
            let mut naive: Vec<Naive> = (0..CLOCKS).map(|_| Naive::new()).collect();
            let mut seen: Vec<u16> = Vec::new();
            for step in steps {
                match step {
                    Step::Raise(c, s, t) => {
                        seen.push(s);
                        clocks[c].raise(Slot(s), Time(t));
                        let entry = naive[c].entry(s).or_default();
                        *entry = (*entry).max(t);
                    }
                    Step::Join(a, b) => {
                        let (other, theirs) = (clocks[b].clone(), naive[b].clone());
                        let news = !naive_covers(&naive[a], &theirs);
                        prop_assert_eq!(clocks[a].join(&other), news);
                        for (s, t) in theirs {
                            let entry = naive[a].entry(s).or_default();
                            *entry = (*entry).max(t);
                        }
                    }
                    Step::Copy(a, b) => {
                        clocks[a] = clocks[b].clone();
                        naive[a] = naive[b].clone();
                    }
                }
                for (clock, naive) in clocks.iter().zip(&naive) {
                    for &s in &seen {
                        prop_assert_eq!(clock.get(Slot(s)).0, naive.get(&s).copied().unwrap_or(0));
                    }
                }
                for a in 0..CLOCKS {
                    for b in 0..CLOCKS {
                        prop_assert_eq!(clocks[a].covers(&clocks[b]), naive_covers(&naive[a], &naive[b]));
                    }
                }
            }
        }
    }

    #[test]
    fn a_join_ends_in_sharing_if_one_side_knew_everything() {
        let mut a = Clock::new();
        for s in 0..1000 {
            a.raise(Slot(s), Time(5));
        }
        let mut b = a.clone();
        b.raise(Slot(17), Time(6));
        assert!(!a.shares(&b));
        assert!(a.join(&b));
        assert!(a.shares(&b));
        assert!(!b.join(&a));
    }
}
