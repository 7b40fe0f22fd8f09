//! What a thread remembers of the states that it met.
//!
//! A thread that sweeps over a table of shared states makes the same step again and again: from the same state, with
//! the same access, to the same new state. [`Memo`] keeps the last steps, and in [`Settled`] the last states that answer for the thread's
//! current epoch. So a repeated step needs no look at the state, and a repeated read of shared memory no lock.
//!
//! A step is a function of the two cells, the access (which names slot, epoch, bytes and site) and what the thread
//! knows; the last is told by [`ThreadClock::knowledge`](crate::clock::ThreadClock::knowledge). States are named by
//! index; the memo holds each that it names, so that the index means the same as long as it is here.

use alloc::boxed::Box;
use alloc::vec::Vec;

use event::AccessKind;

use super::block::ROOM;
use super::cell::{Asked, Cell, Epoch, Owned, Room};
use super::depot::Depot;
use super::extended::Extended;
use super::fields::Fields;
use super::outside::inline;
use super::pool::Stock;
use super::settled::{Entries, Settled, known};
use super::stats::RuleName;

const STEPS: usize = 256;
/// See [`Memo::hopes`]: a state that is made weighs as much as so many that are met again …
const MADE: u32 = 4;
/// … and at this weight no more are made …
const VAIN: u32 = 64;
/// … for so many that might have been, at first and at most.
const WAIT: [u32; 2] = [64, 1 << 14];
/// Longer states are not shared: each of n threads that read a word would keep the one that it made, with up to n cells.
pub(super) const LONGEST: usize = 2048;
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
    /// States that have the thread's access.
    pub(super) settled: Settled,
    /// How many states were made of late, less those that were met again.
    in_vain: u32,
    /// So many states are not made because of that, …
    wait: u32,
    /// … and as many the next time.
    next_wait: u32,
    halves: Stock,
    blocks: Stock,
    doubles: Stock,
    /// Room to work in.
    pub(super) scratch: Extended,
    pub(super) flat: Vec<Cell>,
}

impl Default for Memo {
    fn default() -> Memo {
        Memo {
            steps: alloc::vec![None; STEPS].into(),
            settled: Settled::default(),
            in_vain: 0,
            wait: 0,
            next_wait: WAIT[0],
            halves: Stock::default(),
            blocks: Stock::default(),
            doubles: Stock::default(),
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
    /// The states that have the thread's access.
    #[inline(always)]
    pub fn settled(&self) -> &Entries {
        self.settled.entries()
    }

    /// Is an access of `kind` to `mask` at `epoch` redundant in a location whose first cell is `first`?
    #[inline]
    pub(crate) fn settles(&self, first: Cell, epoch: Epoch, kind: AccessKind, mask: u8) -> bool {
        known(self.settled.entries(), first).gives(epoch, Asked::new(kind, mask))
    }

    /// Stores the state in `scratch` for a location: its cells. A state like none before, of a word that several threads read, is shared in the hope that more locations will have it;
    /// if that hope was in vain for a while, the location gets it for itself and changes it in place.
    pub(super) fn store(&mut self, depot: &Depot) -> [Cell; 2] {
        if self.scratch.flatten(&mut self.flat) {
            if let Some(cells) = inline(&self.flat) {
                return cells;
            }
            let flat = core::mem::take(&mut self.flat);
            let state = self.place(depot, &flat);
            self.flat = flat;
            if let Some(state) = state {
                return [state, Cell::EMPTY];
            }
        }
        if self.scratch.fits_mixed() {
            let block = self.take_block(depot, &[]);
            self.scratch.store_mixed(depot.blocks.get(block.index));
            return [Cell::mixed(block), Cell::EMPTY];
        }
        let owned = depot.own(core::mem::take(&mut self.scratch));
        [Cell::owned(owned), Cell::EMPTY]
    }

    /// A state with these plain accesses, unless they are too many to be shared or put into a block.
    fn place(&mut self, depot: &Depot, flat: &[Cell]) -> Option<Cell> {
        if let Some(room) = self.take_fields(depot, flat, 0xFF) {
            return Some(Cell::fields(room));
        }
        if flat.len() <= LONGEST && self.hopes() {
            let (index, made) = depot.share(flat, 1);
            if made {
                self.in_vain += MADE;
            } else {
                self.met();
            }
            return Some(Cell::shared(index));
        }
        (flat.len() <= ROOM).then(|| Cell::block(self.take_block(depot, flat)))
    }

    /// Is it worth it to share states? Not if those that were made of late are not met again. Then it is tried again some time, the later the
    /// more often that was in vain.
    pub(super) fn hopes(&mut self) -> bool {
        if self.wait == 0 && self.in_vain >= VAIN {
            self.in_vain = VAIN / 2;
            self.wait = self.next_wait;
            self.next_wait = (2 * self.next_wait).min(WAIT[1]);
        }
        self.wait = self.wait.saturating_sub(1);
        self.wait == 0
    }

    /// A shared state was met again.
    fn met(&mut self) {
        self.in_vain = self.in_vain.saturating_sub(1);
        if self.in_vain == 0 {
            self.next_wait = WAIT[0];
        }
    }

    /// A block for a location, with these cells.
    pub(super) fn take_block(&mut self, depot: &Depot, cells: &[Cell]) -> Owned {
        let block = self.blocks.take(&depot.blocks);
        depot.blocks.get(block.index).load(cells);
        block
    }

    /// The location does not need its block any more.
    pub(super) fn give_block(&mut self, depot: &Depot, block: Owned) {
        self.blocks.give(&depot.blocks, block);
    }

    /// Fields for a location, with these plain accesses, if each byte has one of a kind; not larger than these accesses and another one to `mask` ask for.
    pub(super) fn take_fields(&mut self, depot: &Depot, cells: &[Cell], mask: u8) -> Option<Room> {
        let mut bytes = [0; 2];
        let fits = |mask| (Fields::<2>::fits(mask), Fields::<4>::fits(mask));
        let (mut four, mut two) = fits(mask);
        for cell in cells.iter().filter(|cell| !cell.is_empty()) {
            let bytes = &mut bytes[usize::from(cell.is_write())];
            if *bytes & cell.mask() != 0 {
                return None;
            }
            *bytes |= cell.mask();
            let of = fits(cell.mask());
            (four, two) = (four & of.0, two & of.1);
        }
        Some(if four {
            let of = self.halves.take(&depot.halves);
            depot.halves.get(of.index).fields().load(cells);
            Room::Half(of)
        } else if two {
            let of = self.blocks.take(&depot.blocks);
            depot.blocks.get(of.index).fields().load(cells);
            Room::Block(of)
        } else {
            let of = self.doubles.take(&depot.doubles);
            depot.doubles.get(of.index).fields().load(cells);
            Room::Double(of)
        })
    }

    /// The location does not need its fields any more.
    pub(super) fn give_fields(&mut self, depot: &Depot, room: Room) {
        match room {
            Room::Half(of) => self.halves.give(&depot.halves, of),
            Room::Block(of) => self.blocks.give(&depot.blocks, of),
            Room::Double(of) => self.doubles.give(&depot.doubles, of),
        }
    }

    /// One that has lost the hope to share states for good.
    #[cfg(test)]
    pub(super) fn alone() -> Memo {
        Memo {
            wait: u32::MAX,
            ..Memo::default()
        }
    }

    /// One that loses it after the first, for a while.
    #[cfg(test)]
    pub(super) fn fickle() -> Memo {
        Memo {
            in_vain: VAIN - MADE,
            next_wait: 2,
            ..Memo::default()
        }
    }

    /// The step that was made before in the same situation, made again: its outcome, with its counts settled. `all` is what the thread has done in its epoch to a location that gets the new state, as far as that is
    /// known.
    #[inline(always)]
    pub(super) fn again(
        &mut self,
        depot: &Depot,
        old: [Cell; 2],
        access: Cell,
        knowledge: u64,
        all: Cell,
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
        if let Some(index) = step.old[0].as_shared() {
            step.debt += 1;
            if step.debt > BATCH {
                depot.let_go(index, BATCH);
                step.debt -= BATCH;
            }
        }
        let (new, rule) = (step.new, step.rule);
        self.met();
        self.settled.settle(depot, new[0], all);
        Some((new, rule))
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
        self.halves.flush(&depot.halves);
        self.blocks.flush(&depot.blocks);
        self.doubles.flush(&depot.doubles);
        self.settled.flush(depot);
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
