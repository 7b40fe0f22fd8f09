//! Which epochs are in a thread's past, in a table that stubs read (`runtime::stub`).
//!
//! ```text
//! table[slot % 64]     slot (63..48), time (47..28), 0     all that the slot did up to that time is ordered before what the thread does
//! ```
//!
//! **Why an entry may stay.** A thread forgets nothing of what it knows: a fact is true for the rest of its life, whatever slot it is in. Of its own slot the
//! table has the epochs that the thread has completed, not the one it is in: what is recorded in that is compared in another way.
//!
//! An entry of which nothing is known is that of some slot that belongs there, up to time 0, at which nothing happens.

use core::sync::atomic::{AtomicU64, Ordering};

use super::cell::{Cell, Epoch};
use super::location::Location;
use crate::clock::{Slot, ThreadClock, Time};

/// How many facts there are room for: a power of two.
pub const ORDERED: usize = 64;
/// How far an epoch is shifted up in an entry, so that its slot's bits are the uppermost.
pub const ORDERED_SHIFT: u32 = 64 - Epoch::BITS;

/// The entry for what `slot` did up to `time`.
#[inline(always)]
const fn entry(slot: Slot, time: Time) -> u64 {
    Epoch::bits_of(slot, time) << ORDERED_SHIFT
}

/// Makes a table in which nothing is known.
pub fn clear(table: &[AtomicU64; ORDERED]) {
    for (place, known) in table.iter().enumerate() {
        known.store(entry(Slot(place as u16), Time(0)), Ordering::Relaxed);
    }
}

/// Notes what `me` knows of itself.
#[inline(always)]
pub fn note_own(table: &[AtomicU64; ORDERED], me: &ThreadClock) {
    let own = entry(me.slot(), me.completed());
    table[me.slot().index() % ORDERED].store(own, Ordering::Relaxed);
}

/// Notes what `me` knows of the other threads whose accesses `location` remembers just now.
#[inline(always)]
pub fn note(table: &[AtomicU64; ORDERED], me: &ThreadClock, location: &Location) {
    for cell in location.seen() {
        if cell.is_access() && cell.slot() != me.slot() {
            let slot = cell.slot();
            let known = entry(slot, me.past().get(slot));
            table[slot.index() % ORDERED].store(known, Ordering::Relaxed);
        }
    }
}

/// Does the table say that the access `cell` is ordered before what the thread does? One comparison: entries of other slots in the same place are too far away.
#[inline(always)]
pub fn is_noted(table: &[AtomicU64; ORDERED], cell: Cell) -> bool {
    let known = table[cell.slot().index() % ORDERED].load(Ordering::Relaxed);
    let asked = entry(cell.slot(), cell.time());
    known.wrapping_sub(asked) >> (ORDERED_SHIFT + Epoch::SLOT_SHIFT) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use event::AccessKind;

    #[test]
    fn no_other_slot_is_taken_for_the_one_that_is_noted() {
        let slots = [0, 1, 63, 64, 65, 128, 65_471, 65_472, 65_535];
        let times = [1, 2, 1000, (1 << 20) - 2];
        for known in slots {
            for until in times {
                let table = [const { AtomicU64::new(0) }; ORDERED];
                clear(&table);
                let noted = entry(Slot(known), Time(until));
                table[usize::from(known) % ORDERED].store(noted, Ordering::Relaxed);
                for slot in slots {
                    for time in times {
                        let epoch = Epoch::new(Slot(slot), Time(time));
                        let cell = Cell::new(epoch, AccessKind::Read, 1, 7);
                        let expected = slot == known && time <= until;
                        assert_eq!(is_noted(&table, cell), expected, "{known} {slot}");
                    }
                }
            }
        }
    }
}
