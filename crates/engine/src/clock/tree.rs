//! Vector clocks of many slots, which share what they have in common.
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
#[inline(always)]
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
pub(super) struct Tree {
    root: Option<Arc<Node>>,
    height: u8,
}

impl Tree {
    /// A clock that knows nothing.
    pub(super) const fn new() -> Tree {
        Tree {
            root: None,
            height: 0,
        }
    }

    /// Up to which time `slot` is known.
    #[inline(never)]
    pub(super) fn get(&self, slot: Slot) -> Time {
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
    pub(super) fn raise(&mut self, slot: Slot, time: Time) {
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
    pub(super) fn join(&mut self, other: &Tree) -> bool {
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
    pub(super) fn covers(&self, other: &Tree) -> bool {
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
    pub(super) fn shares(&self, other: &Tree) -> bool {
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
