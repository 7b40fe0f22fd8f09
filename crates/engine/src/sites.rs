//! From a [`Site`] to its number in the thread's slot.
//!
//! A number can also stand for several sites: accesses of one thread in one epoch to different bytes of a word are one
//! cell of the shadow, whose number is a [`Composite`] that tells which byte was accessed where. So memory that is accessed byte
//! by byte from many places needs no more room than memory accessed as a whole, and every report still names the right place.

use alloc::boxed::Box;
use core::hash::Hash;

use event::Site;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

const NONE: u32 = u32::MAX;

/// The bytes of `mask` were accessed at the site numbered `over`, all others at `under`, which may be a composite itself.
///
/// Bytes that a cell does not have are at some site too, so what it gets later may be said already; and `over` is another site at each level. So the
/// order in which the bytes of a word are accessed makes few composites, see [`ThreadClock::compose`](crate::clock::ThreadClock).
///
/// ```text
///  63   47     40 39        20 19         0
/// ┌───┬──┬───────┬────────────┬────────────┐
/// │ 1 │ 0│ mask  │ over       │ under      │
/// └───┴──┴───────┴────────────┴────────────┘
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Composite(u64);

impl Composite {
    const TAG: u64 = 1 << 63;
    const NUMBER: u64 = (1 << 20) - 1;

    pub(crate) const fn new(under: u32, over: u32, mask: u8) -> Composite {
        Composite(Self::TAG | (mask as u64) << 40 | (over as u64) << 20 | under as u64)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// The composite with these bits, if they are one's and not a site's.
    pub(crate) const fn from_bits(bits: u64) -> Option<Composite> {
        if bits & Self::TAG != 0 {
            Some(Composite(bits))
        } else {
            None
        }
    }

    pub(crate) const fn under(self) -> u32 {
        (self.0 & Self::NUMBER) as u32
    }

    pub(crate) const fn over(self) -> u32 {
        (self.0 >> 20 & Self::NUMBER) as u32
    }

    pub(crate) const fn mask(self) -> u8 {
        (self.0 >> 40) as u8
    }

    /// The number that tells where byte `byte` of the word was accessed.
    pub(crate) const fn of(self, byte: u32) -> u32 {
        if self.mask() >> byte & 1 != 0 {
            self.over()
        } else {
            self.under()
        }
    }
}

/// What a thread numbers: cheap to find among the last ones.
pub(crate) trait Numbered: Copy + Eq + Hash {
    /// Equal to none that is ever numbered.
    const NOTHING: Self;
    /// How many of the last ones are kept at hand, at first and at most: powers of two.
    const WAYS: (usize, usize);
    /// A number of which any bits say where to look first.
    fn hash(self) -> usize;
}

impl Numbered for Site {
    const NOTHING: Site = Site(u32::MAX);
    const WAYS: (usize, usize) = (256, 4096);
    #[inline(always)]
    fn hash(self) -> usize {
        self.0 as usize
    }
}

impl Numbered for Composite {
    const NOTHING: Composite = Composite(0);
    /// A loop over bytes that is unrolled makes many of them, for each alignment.
    const WAYS: (usize, usize) = (256, 8192);
    #[inline(always)]
    fn hash(self) -> usize {
        (self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize
    }
}

/// A thread's own map from sites, or composites, to the small numbers that cells hold; `Slots` has the way back.
#[derive(Debug)]
pub(crate) struct Numbers<K> {
    /// The last one of each way, and its number.
    recent: Box<[(K, u32)]>,
    /// Those that were known and not at hand, since there were as many ways.
    missed: usize,
    all: HashMap<K, u32, FxBuildHasher>,
}

/// The last ones of so many ways: none.
fn none<K: Numbered>(ways: usize) -> Box<[(K, u32)]> {
    alloc::vec![(K::NOTHING, NONE); ways].into()
}

impl<K: Numbered> Numbers<K> {
    pub(crate) fn new() -> Numbers<K> {
        Numbers {
            recent: none(K::WAYS.0),
            missed: 0,
            all: HashMap::with_hasher(FxBuildHasher),
        }
    }

    #[inline(always)]
    fn way(&self, key: K) -> usize {
        // As many as a power of two.
        key.hash() & (self.recent.len() - 1)
    }

    #[inline]
    pub(crate) fn get(&mut self, key: K) -> Option<u32> {
        self.recent(key).or_else(|| self.look_up(key))
    }

    /// The number of one of the last keys.
    #[inline]
    pub(crate) fn recent(&self, key: K) -> Option<u32> {
        let (recent, number) = self.recent[self.way(key)];
        (recent == key && number != NONE).then_some(number)
    }

    /// For [`Numbers::recent`]: what is said by `key` is also said by this number.
    pub(crate) fn note(&mut self, key: K, number: u32) {
        let way = self.way(key);
        self.recent[way] = (key, number);
    }

    #[cold]
    pub(crate) fn look_up(&mut self, key: K) -> Option<u32> {
        let number = *self.all.get(&key)?;
        self.missed += 1;
        let ways = self.recent.len();
        // A thread that goes on in many places needs more ways.
        if self.missed > 4 * ways && ways < K::WAYS.1 {
            self.recent = none(2 * ways);
            self.missed = 0;
        }
        self.note(key, number);
        Some(number)
    }

    pub(crate) fn insert(&mut self, key: K, number: u32) {
        self.all.insert(key, number);
        self.note(key, number);
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn clear(&mut self) {
        *self = Numbers::new();
    }
}
