//! Barriers, round by round.

use alloc::collections::BTreeMap;

use event::Tid;

use crate::clock::{Copied, Published, Snapshot};

#[derive(Debug, Default)]
struct Round {
    arrived: Published,
    /// Threads whose last arrival was in this round.
    members: usize,
}

/// A barrier. A round collects arrivals until its first departure closes it. A closed round is kept as long as
/// some thread's last arrival was in it.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    rounds: BTreeMap<u64, Round>,
    /// The round that arrivals go to.
    open: u64,
    /// The round of each thread's last arrival.
    last: BTreeMap<Tid, u64>,
}

impl Barrier {
    pub(super) fn arrive(&mut self, tid: Tid, snapshot: Snapshot) -> Copied {
        let open = self.open;
        let before = self.last.insert(tid, open);
        let round = self.rounds.entry(open).or_default();
        let copied = round.arrived.accumulate(snapshot);
        if before != Some(open) {
            round.members += 1;
            if let Some(before) = before {
                self.leave(before);
            }
        }
        copied
    }

    /// What the thread departs with; nothing if it never arrived.
    pub(super) fn depart(&mut self, tid: Tid) -> Option<&Published> {
        let round = *self.last.get(&tid)?;
        if round == self.open {
            self.open += 1;
        }
        Some(&self.rounds.get(&round)?.arrived)
    }

    fn leave(&mut self, number: u64) {
        if let Some(round) = self.rounds.get_mut(&number) {
            round.members -= 1;
            if round.members == 0 {
                self.rounds.remove(&number);
            }
        }
    }
}
