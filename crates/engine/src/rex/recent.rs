//! What a thread remembers of its own accesses: a bounded set that may forget.
//!
//! Forgetting costs filtering, never a race: an access whose witness is forgotten is checked again
//! and becomes the witness. So the table is a cache of fixed associativity. It starts small, doubles
//! while entries that could still be useful push each other out, and stops at [`MAX_SETS`].

//!
//! Most programs sweep over memory, so neighbours in memory are neighbours in the table: a sweep streams through it.

use crate::random::mix;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU64;

/// Entries in a set.
const WAYS: usize = 4;
const FIRST_SETS: usize = 16;
/// At most 65536 entries of 32 bytes a thread, if it makes so many different accesses in a span.
const MAX_SETS: usize = 16384;

/// What identifies an access for the filter.
pub(crate) trait Key: Copy + Eq {
    /// Where in memory. Equal for a few neighbours, about half a set, so that two sweeps fit into the same sets. Equality is always
    /// checked as well.
    fn place(&self) -> u64;
    /// The rest of it.
    fn rest(&self) -> u64;
}

#[derive(Clone, Copy, Debug)]
struct Entry<K> {
    key: K,
    /// The context it was made in.
    context: NonZeroU64,
    generation: u64,
}

/// What the set knew of an access before it was noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    /// The same access in the same context, and its memory was not handed out again since.
    Yes,
    /// The same access in the same context, but to what was there before.
    Reallocated,
    /// Nothing.
    No,
}

const _: () = assert!(size_of::<Option<Entry<[u64; 2]>>>() == 32);

#[derive(Debug)]
pub(crate) struct Recent<K> {
    sets: Vec<[Option<Entry<K>>; WAYS]>,
    /// Which way of a full set goes next.
    hand: usize,
}

impl<K: Key> Recent<K> {
    pub(crate) const fn new() -> Self {
        Recent {
            sets: Vec::new(),
            hand: 0,
        }
    }

    fn set_of(&self, key: &K, context: NonZeroU64) -> usize {
        let elsewhere = mix(key.rest() ^ context.get().wrapping_mul(0x9E37_79B9_7F4A_7C15));
        (key.place().wrapping_add(elsewhere) as usize) & (self.sets.len() - 1)
    }

    /// Notes an access, and says whether it was known. Entries with contexts below `live` can never
    /// be asked for again.
    #[inline]
    pub(crate) fn note(
        &mut self,
        key: K,
        context: NonZeroU64,
        generation: u64,
        live: NonZeroU64,
    ) -> Known {
        if self.sets.is_empty() {
            self.sets = vec![[None; WAYS]; FIRST_SETS];
        }
        let entry = Entry {
            key,
            context,
            generation,
        };
        let set = self.set_of(&key, context);
        for way in self.sets[set].iter_mut().flatten() {
            if way.key == key && way.context == context {
                if way.generation == generation {
                    return Known::Yes;
                }
                way.generation = generation;
                return Known::Reallocated;
            }
        }
        if !self.place(set, entry, live) {
            if self.sets.len() < MAX_SETS {
                self.grow(live);
            }
            let set = self.set_of(&key, context);
            if !self.place(set, entry, live) {
                self.hand = (self.hand + 1) % WAYS;
                self.sets[set][self.hand] = Some(entry);
            }
        }
        Known::No
    }

    /// Puts the entry into an empty or dead way, if there is one.
    fn place(&mut self, set: usize, entry: Entry<K>, live: NonZeroU64) -> bool {
        let free = self.sets[set]
            .iter_mut()
            .find(|way| way.is_none_or(|old| old.context < live));
        match free {
            Some(way) => {
                *way = Some(entry);
                true
            }
            None => false,
        }
    }

    #[cold]
    fn grow(&mut self, live: NonZeroU64) {
        let sets = vec![[None; WAYS]; self.sets.len() * 2];
        for entry in core::mem::replace(&mut self.sets, sets)
            .into_iter()
            .flatten()
            .flatten()
        {
            if entry.context >= live {
                let set = self.set_of(&entry.key, entry.context);
                self.place(set, entry, live);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::collections::BTreeMap;

    impl Key for u64 {
        fn place(&self) -> u64 {
            *self / 9 // many collisions
        }
        fn rest(&self) -> u64 {
            0
        }
    }

    fn number(n: u64) -> NonZeroU64 {
        NonZeroU64::new(n).unwrap()
    }

    /// Whatever it claims to know is true: the twin remembers everything.
    #[test]
    fn never_claims_what_it_was_not_told() {
        let mut random = Random::new(3, 0);
        let mut recent = Recent::new();
        let mut twin: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        let (mut live, mut known) = (1, 0);
        for _ in 0..200_000 {
            if random.up_to(999) == 0 {
                live += 3;
            }
            let key = random.up_to(300);
            let context = live + random.up_to(2);
            let generation = random.up_to(1);
            let before = twin.insert((key, context), generation);
            match recent.note(key, number(context), generation, number(live)) {
                Known::Yes => {
                    known += 1;
                    assert_eq!(before, Some(generation));
                }
                Known::Reallocated => assert!(before.is_some_and(|g| g != generation)),
                Known::No => {}
            }
        }
        assert!(known > 20_000, "it remembers something: {known}");
    }

    #[test]
    fn memory_is_bounded() {
        let mut recent = Recent::new();
        for key in 0..1_000_000 {
            assert_eq!(recent.note(key, number(1), 0, number(1)), Known::No);
        }
        assert_eq!(recent.sets.len(), MAX_SETS);
    }
}
