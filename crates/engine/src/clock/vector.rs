//! Vector clocks.
//!
//! A vector clock says for each [`Slot`] up to which [`Time`] its events are known. Most programs have few threads at a time, and the first slots
//! are given out first: then it is a few numbers, which are copied, compared and joined where they are. With more it is a tree
//! ([`Tree`]), which clocks share.

use super::tree::Tree;
use super::{Slot, Time};

/// So many, so that a clock takes 32 bytes, and an atomic object a line of the cache.
const FEW: usize = 7;

/// A vector clock: for each slot, the last time of it that is known; 0 if nothing is.
#[derive(Clone, Debug)]
pub struct Clock(Form);

#[derive(Clone, Debug)]
enum Form {
    /// The first slots; of others nothing is known.
    Few([u32; FEW]),
    Many(Tree),
}

const _: () = assert!(size_of::<Clock>() == 32);

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

impl Clock {
    /// A clock that knows nothing.
    pub const fn new() -> Clock {
        Clock(Form::Few([0; FEW]))
    }

    /// Up to which time `slot` is known.
    #[inline(always)]
    pub fn get(&self, slot: Slot) -> Time {
        match &self.0 {
            Form::Few(times) => Time(times.get(slot.index()).copied().unwrap_or(0)),
            Form::Many(tree) => tree.get(slot),
        }
    }

    /// Makes `slot` known at least up to `time`.
    #[inline]
    pub fn raise(&mut self, slot: Slot, time: Time) {
        if let Form::Few(times) = &mut self.0
            && let Some(known) = times.get_mut(slot.index())
        {
            *known = time.0.max(*known);
        } else if self.get(slot) < time {
            self.tree().raise(slot, time);
        }
    }

    /// Learns everything that `other` knows. Was any of it news?
    #[inline]
    pub fn join(&mut self, other: &Clock) -> bool {
        match (&mut self.0, &other.0) {
            (Form::Few(mine), Form::Few(theirs)) => {
                let mut news = false;
                for (mine, theirs) in mine.iter_mut().zip(theirs) {
                    news |= *mine < *theirs;
                    *mine = (*mine).max(*theirs);
                }
                news
            }
            (Form::Many(mine), Form::Few(theirs)) => {
                let mut news = false;
                for (slot, time) in few(theirs) {
                    news |= mine.get(slot) < time;
                    mine.raise(slot, time);
                }
                news
            }
            (_, Form::Many(theirs)) => self.tree().join(theirs),
        }
    }

    /// Is everything that `other` knows known here?
    #[inline]
    pub fn covers(&self, other: &Clock) -> bool {
        match (&self.0, &other.0) {
            (Form::Few(mine), Form::Few(theirs)) => {
                // Written without an early exit.
                let mut less = false;
                for (mine, theirs) in mine.iter().zip(theirs) {
                    less |= mine < theirs;
                }
                !less
            }
            (_, Form::Few(theirs)) => few(theirs).all(|(slot, time)| self.get(slot) >= time),
            (Form::Few(mine), Form::Many(theirs)) => tree_of(mine).covers(theirs),
            (Form::Many(mine), Form::Many(theirs)) => mine.covers(theirs),
        }
    }

    /// Is it clear without a look at many times that the two are equal?
    #[inline]
    pub fn shares(&self, other: &Clock) -> bool {
        match (&self.0, &other.0) {
            (Form::Few(mine), Form::Few(theirs)) => mine == theirs,
            (Form::Many(mine), Form::Many(theirs)) => mine.shares(theirs),
            _ => false,
        }
    }

    /// Is it clear without a look at many times that nothing is known?
    #[inline]
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Form::Few(times) if times.iter().fold(0, |all, time| all | time) == 0)
    }

    /// As a tree, from now on.
    #[inline]
    fn tree(&mut self) -> &mut Tree {
        if let Form::Few(times) = &self.0 {
            self.0 = Form::Many(tree_of(times));
        }
        match &mut self.0 {
            Form::Many(tree) => tree,
            Form::Few(_) => unreachable!("it is a tree now"),
        }
    }
}

fn few(times: &[u32; FEW]) -> impl Iterator<Item = (Slot, Time)> {
    (0..).map(Slot).zip(times.iter().copied().map(Time))
}

#[cold]
fn tree_of(times: &[u32; FEW]) -> Tree {
    let mut tree = Tree::new();
    for (slot, time) in few(times) {
        tree.raise(slot, time);
    }
    tree
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
            5u16..9,
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
