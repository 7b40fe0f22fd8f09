//! What a detector reports, grouped: one entry for each pair of places in the program.

use crate::ByteSet;
use engine::{Race, Side};
use event::{AccessKind, Addr, Site};
use std::collections::HashMap;

/// A pair of places with what each does, the lesser first. Without sites, a race is known by its location.
type Key = ((Site, AccessKind), (Site, AccessKind), Option<Addr>);

/// A unique race: its first report, and how many there were.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) race: Race,
    /// The event during which it was reported.
    pub(crate) reported_at: u64,
    pub(crate) count: u64,
}

/// All reports so far. Its size depends on the program, not on the length of the trace.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) racy: ByteSet,
    index: HashMap<Key, usize>,
    pub(crate) groups: Vec<Group>,
}

impl Findings {
    pub(crate) fn add(&mut self, race: &Race, at: u64) {
        let end = race.addr.0.saturating_add(u64::from(race.size));
        self.racy.insert(race.addr.0..end);
        let key = key(race);
        match self.index.get(&key) {
            Some(&i) => self.groups[i].count += 1,
            None => {
                self.index.insert(key, self.groups.len());
                self.groups.push(Group {
                    race: *race,
                    reported_at: at,
                    count: 1,
                });
            }
        }
    }
}

fn key(race: &Race) -> Key {
    let side = |s: &Side| (s.site, s.kind);
    let (a, b) = (side(&race.first), side(&race.second));
    let nowhere = race.first.site == Site(0) || race.second.site == Site(0);
    (a.min(b), a.max(b), nowhere.then_some(race.addr))
}
