//! What threads did last to a page with runs.
//!
//! Matrices are read by rows, and rows are read again: by the thread that works on the next row, and by all the others. The
//! same-epoch test needs the runs, and so the page's lock; a hint says that it would succeed, without one.
//!
//! ```text
//!   56     54 53    45 44     36 35        20 19         0
//!  ┌─────────┬────────┬─────────┬────────────┬────────────┐
//!  │period-1 │ last   │ first   │ slot       │ time       │   words of the page, all bytes of each; 0: no hint
//!  └─────────┴────────┴─────────┴────────────┴────────────┘
//! ```
//!
//! **Who may touch what.** Hints are stored under the page's lock, and anybody may load them. A thread that finds its current epoch stored that
//! hint itself, after it had checked and recorded an access to these words in that epoch. Since then others may have
//! accessed them, which changes nothing (see [`Location::is_redundant`](super::Location::is_redundant)), and the words may have
//! been made fresh, which takes the hints away. So does another use of the entry.

use event::AccessKind;

use super::cell::Epoch;
use super::sweep::{Row, Sweep};
use crate::lock::{AtomicU64, Ordering};

/// Slots share places by their number.
const WAYS: usize = 4;
const EPOCH: u64 = (1 << 36) - 1;
const FIRST: u32 = 36;

/// The last accesses to a page, by kind and by some slots.
#[derive(Debug, Default)]
pub(super) struct Hints {
    all: [[AtomicU64; WAYS]; 2],
}

fn way(epoch: Epoch) -> usize {
    (epoch.bits() >> 20) as usize % WAYS
}

impl Hints {
    /// The thread that is in `epoch` has accessed these words in it, and that is recorded. The caller has the page locked.
    #[inline]
    pub(super) fn set(&self, epoch: Epoch, kind: AccessKind, row: Row) {
        let hint = epoch.bits() & EPOCH | u64::from(row.0 & Row::WORDS) << FIRST;
        self.all[kind as usize][way(epoch)].store(hint, Ordering::Relaxed);
    }

    /// Words of the page are fresh. The caller has the page locked.
    pub(super) fn clear(&self) {
        for hint in self.all.iter().flatten() {
            hint.store(0, Ordering::Relaxed);
        }
    }

    /// Is an access to these words known to be redundant?
    #[inline]
    pub(super) fn answer(&self, epoch: Epoch, kind: AccessKind, sweep: Sweep) -> bool {
        let by = |kind: AccessKind| {
            let hint = self.all[kind as usize][way(epoch)].load(Ordering::Relaxed);
            hint & EPOCH == epoch.bits() & EPOCH && has(hint, sweep)
        };
        by(AccessKind::Write) || kind == AccessKind::Read && by(AccessKind::Read)
    }
}

/// Are the words of `sweep` among those of a hint?
fn has(hint: u64, sweep: Sweep) -> bool {
    let row = Row((hint >> FIRST) as u32);
    let (first, last, period) = (row.first(), row.last(), row.period());
    first <= sweep.first
        && sweep.last <= last
        && (sweep.first - first).is_multiple_of(period)
        && (sweep.period.is_multiple_of(period) || sweep.first == sweep.last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Slot, Time};
    use AccessKind::{Read, Write};

    fn sweep(first: u16, count: u16, period: u16) -> Sweep {
        Sweep {
            first,
            last: first + (count - 1) * period,
            period,
            mask: 0xFF,
        }
    }

    /// A hint answers for its words, and for no others.
    #[test]
    fn hints_answer_for_their_words() {
        let epoch = Epoch::new(Slot(5), Time(7));
        let sweeps: alloc::vec::Vec<Sweep> = [0, 1, 2, 9, 500]
            .into_iter()
            .flat_map(|first| [1, 2, 3, 4].map(|period| (first, period)))
            .flat_map(|(first, period)| [1, 2, 3].map(|count| sweep(first, count, period)))
            .collect();
        for &made in &sweeps {
            let hints = Hints::default();
            hints.set(epoch, Read, made.row());
            for &asked in &sweeps {
                let known = asked.words().all(|word| made.words().any(|w| w == word));
                if hints.answer(epoch, Read, asked) {
                    assert!(known, "{made:?} {asked:?}");
                } else {
                    // Two words are two words, whatever their period is called.
                    assert!(
                        !known || asked.period % made.period != 0,
                        "{made:?} {asked:?}"
                    );
                }
                assert!(!hints.answer(epoch, Write, asked));
                assert!(!hints.answer(Epoch::new(Slot(5), Time(8)), Read, asked));
                assert!(!hints.answer(Epoch::new(Slot(1), Time(7)), Read, asked));
            }
            hints.clear();
            assert!(!hints.answer(epoch, Read, made));
            hints.set(epoch, Write, made.row());
            assert!(hints.answer(epoch, Read, made) && hints.answer(epoch, Write, made));
        }
    }
}
