//! What a thread remembers of the states that it met.
//!
//! A thread that sweeps over a table of shared states makes the same step again and again: from the same state, with
//! the same access, to the same new state. [`Memo`] keeps the last steps, and the last states that the thread knows to answer for
//! its current epoch. So a repeated step needs no look at the state, and a repeated read of shared memory no lock.
//!
//! A step is a function of the two cells, the access (which names slot, epoch, bytes and site) and what the thread
//! knows; the last is told by [`ThreadClock::knowledge`](crate::clock::ThreadClock::knowledge). States are named by
//! index; the memo holds each that it names, so that the index means the same as long as it is here.

use alloc::boxed::Box;
use alloc::vec::Vec;

use event::AccessKind;

use super::cell::{Cell, Epoch};
use super::depot::Depot;
use super::extended::Extended;
use super::location::inline;
use super::stats::RuleName;

const STEPS: usize = 64;
const SETTLED: usize = 256;
/// See [`Memo::should_hint`].
const HINT_EVERY: u32 = 4;
/// See [`Memo::store`]: a state that is made weighs as much as so many that are met again …
const MADE: u32 = 4;
/// … and at this weight no more are made.
const VAIN: u32 = 64;
/// So many counts of a new state are taken at once, and so many of an old one given back.
const BATCH: u32 = 64;

#[derive(Clone, Copy, Debug)]
struct Step {
    old: [Cell; 2],
    access: Cell,
    knowledge: u64,
    new: [Cell; 2],
    rule: RuleName,
    /// Counts of the new state that are ours to pass on; one of them keeps it alive.
    credit: u32,
    /// Counts of the old state that are ours to give back; one of them keeps it alive.
    debt: u32,
}

/// The last steps, and the last states that answer for the current epoch. Belongs to one thread of one detector.
#[derive(Debug)]
pub struct Memo {
    steps: Box<[Option<Step>]>,
    /// A state (as a first cell) in which the thread's access is answered.
    settled: Box<[(Cell, Cell)]>,
    /// How often a state was found there.
    found: u32,
    /// How many states were made of late, less those that were met again.
    in_vain: u32,
    /// Room to work in.
    pub(super) scratch: Extended,
    pub(super) flat: Vec<Cell>,
}

impl Default for Memo {
    fn default() -> Memo {
        Memo {
            steps: alloc::vec![None; STEPS].into(),
            settled: alloc::vec![(Cell::EMPTY, Cell::EMPTY); SETTLED].into(),
            found: 0,
            in_vain: 0,
            scratch: Extended::default(),
            flat: Vec::new(),
        }
    }
}

fn place(old: [Cell; 2], access: Cell) -> usize {
    let mixed = (old[0].0 ^ old[1].0.rotate_left(20) ^ access.0.rotate_left(40))
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 32) as usize % STEPS
}

impl Memo {
    /// Is an access of `kind` to `mask` at `epoch` redundant in a location whose first cell is `first`? The access that
    /// makes it so.
    #[inline]
    pub(crate) fn settles(
        &self,
        first: Cell,
        epoch: Epoch,
        kind: AccessKind,
        mask: u8,
    ) -> Option<Cell> {
        let index = first.as_shared()?;
        let (state, access) = self.settled[index as usize % SETTLED];
        (state == first && access.answers(epoch, kind, mask)).then_some(access)
    }

    /// The thread found a location by [`Memo::settles`]. Is it time to leave a hint there? Threads that read the same
    /// memory side by side would take the hint from each other, so not each time.
    #[inline]
    pub(super) fn should_hint(&mut self) -> bool {
        self.found = self.found.wrapping_add(1);
        self.found.is_multiple_of(HINT_EVERY)
    }

    /// From now on `access` is answered in a location whose first cell is `first`.
    pub(super) fn settle(&mut self, depot: &Depot, first: Cell, access: Cell) {
        let Some(index) = first.as_shared() else {
            return;
        };
        let (state, known) = &mut self.settled[index as usize % SETTLED];
        if *state != first {
            depot.hold(index, 1);
            if let Some(index) = state.as_shared() {
                depot.let_go(index, 1);
            }
            (*state, *known) = (first, Cell::EMPTY);
        }
        *known = if known.same_epoch(access) && known.kind() == access.kind() {
            access.with(known.mask())
        } else {
            access
        };
    }

    /// Stores the state in `scratch` for a location: its cells. A state like none before is shared in the hope that more locations will have it;
    /// if that hope was in vain for a while, the location gets it for itself and changes it in place.
    pub(super) fn store(&mut self, depot: &Depot) -> [Cell; 2] {
        if self.scratch.flatten(&mut self.flat) {
            if let Some(cells) = inline(&self.flat) {
                return cells;
            }
            if let Some((index, made)) = depot.share(&self.flat, 1, self.in_vain < VAIN) {
                self.in_vain = if made {
                    self.in_vain + MADE
                } else {
                    self.in_vain.saturating_sub(1)
                };
                return [Cell::shared(index), Cell::EMPTY];
            }
            // Try again some time.
            self.in_vain -= 1;
        }
        let index = depot.own(core::mem::take(&mut self.scratch));
        [Cell::owned(index), Cell::EMPTY]
    }

    /// The step that was made before in the same situation, made again: its outcome, with its counts settled.
    pub(super) fn again(
        &mut self,
        depot: &Depot,
        old: [Cell; 2],
        access: Cell,
        knowledge: u64,
    ) -> Option<([Cell; 2], RuleName)> {
        let step = self.steps[place(old, access)].as_mut()?;
        if step.old != old || step.access != access || step.knowledge != knowledge {
            return None;
        }
        if let Some(index) = step.new[0].as_shared() {
            // One stays with us: it keeps the index from being used for another state.
            if step.credit == 1 {
                depot.hold(index, BATCH);
                step.credit += BATCH;
            }
            step.credit -= 1;
        }
        self.in_vain = self.in_vain.saturating_sub(1);
        if let Some(index) = step.old[0].as_shared() {
            step.debt += 1;
            if step.debt > BATCH {
                depot.let_go(index, BATCH);
                step.debt -= BATCH;
            }
        }
        Some((step.new, step.rule))
    }

    /// Remembers a step. The caller holds the state `new`, if it is one, for the location; and still holds `old`.
    pub(super) fn remember(
        &mut self,
        depot: &Depot,
        old: [Cell; 2],
        access: Cell,
        knowledge: u64,
        new: [Cell; 2],
        rule: RuleName,
    ) {
        if let Some(index) = new[0].as_shared() {
            depot.hold(index, BATCH);
        }
        if let Some(index) = old[0].as_shared() {
            depot.hold(index, 1);
        }
        let step = Step {
            old,
            access,
            knowledge,
            new,
            rule,
            credit: BATCH,
            debt: 1,
        };
        let before = self.steps[place(old, access)].replace(step);
        forget(depot, before);
    }

    /// Lets go of all states. To be called when the thread ends; otherwise what it remembers is kept for good.
    pub fn flush(&mut self, depot: &Depot) {
        for step in &mut self.steps {
            forget(depot, step.take());
        }
        for (state, _) in &mut self.settled {
            if let Some(index) = core::mem::take(state).as_shared() {
                depot.let_go(index, 1);
            }
        }
    }
}

fn forget(depot: &Depot, step: Option<Step>) {
    let Some(step) = step else { return };
    if let Some(index) = step.new[0].as_shared() {
        depot.let_go(index, step.credit);
    }
    if let Some(index) = step.old[0].as_shared() {
        depot.let_go(index, step.debt);
    }
}
