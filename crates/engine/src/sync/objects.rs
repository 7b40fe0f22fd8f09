//! The atomic objects of a shard, by address.
//!
//! Open addressing: an object is where its address says, or after it, and each has a line of the cache to itself. So an operation on one of
//! many touches the shard's line and the object's. What an address says are other bits than those that chose the shard.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::atomic::AtomicObject;
use super::lent::Times;

/// A place for an object.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Place {
    addr: u64,
    /// None if the place is free.
    object: Option<AtomicObject>,
}

const _: () = assert!(size_of::<Place>() == 64);

/// Atomic objects.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// None, or a power of two of them, a quarter of which are free.
    places: Box<[Place]>,
    len: u32,
    /// Which of the shard's [`Times`] are in use.
    lent: u16,
}

/// How many places there are at first.
const FIRST: usize = 4;

impl Objects {
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The place that the address says: by the uppermost bits of its hash, and where there are more places than those tell apart, by others that
    /// did not choose the shard either.
    #[inline]
    fn home(&self, addr: u64) -> usize {
        let hash = addr.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 54 | hash >> 34 << 10) as usize & (self.places.len() - 1)
    }

    #[inline]
    fn is_taken(&self, at: usize) -> bool {
        self.places[at].object.is_some()
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.places.len() - 1)
    }

    /// Where the object at `addr` is, or would be. There are places.
    #[inline]
    fn place(&self, addr: u64) -> usize {
        let mut at = self.home(addr);
        while self.is_taken(at) && self.places[at].addr != addr {
            at = self.after(at);
        }
        at
    }

    /// Where the object at `addr` most likely is, if there is one.
    #[inline]
    pub(super) fn near(&self, addr: u64) -> *const () {
        if self.places.is_empty() {
            return core::ptr::null();
        }
        (&raw const self.places[self.home(addr)]).cast()
    }

    /// The object at `addr`, if there is one.
    #[inline]
    pub(super) fn find(&mut self, addr: u64) -> Option<&mut AtomicObject> {
        if self.places.is_empty() {
            return None;
        }
        let at = self.place(addr);
        self.places[at].object.as_mut()
    }

    /// Lends the object at `addr`, if there is one and a time for it.
    pub(super) fn lend(&mut self, addr: u64, times: &Times) -> Option<usize> {
        let free = self.lent.trailing_ones() as usize;
        let object = self.find(addr)?;
        let index = object.lend(times, free)?;
        self.lent |= 1 << index;
        Some(index)
    }

    /// Is any object lent?
    #[inline(always)]
    pub(super) fn are_lent(&self) -> bool {
        self.lent != 0
    }

    /// The object that had this time is not lent any more.
    pub(super) fn give_back(&mut self, index: usize) {
        self.lent &= !(1 << index);
    }

    /// The object at `addr`, made if there is none.
    #[inline(always)]
    pub(super) fn entry(&mut self, addr: u64) -> &mut AtomicObject {
        let mut at = self.places.len();
        if at != 0 {
            at = self.place(addr);
        }
        // Nearly always it is there.
        if self
            .places
            .get(at)
            .is_none_or(|place| place.object.is_none())
        {
            at = self.make(addr);
        }
        self.places[at].object.get_or_insert_default()
    }

    /// Makes room for an object that is not there: its place.
    #[cold]
    #[inline(never)]
    fn make(&mut self, addr: u64) -> usize {
        if self.len() >= self.places.len() / 4 * 3 {
            self.grow();
        }
        let at = self.place(addr);
        self.len += 1;
        self.places[at] = Place {
            addr,
            object: Some(AtomicObject::default()),
        };
        at
    }

    #[cold]
    fn grow(&mut self) {
        let mut places = Vec::new();
        let many = (2 * self.places.len()).max(FIRST);
        places.resize_with(many, Place::default);
        for place in core::mem::replace(&mut self.places, places.into()) {
            if place.object.is_some() {
                let at = self.place(place.addr);
                self.places[at] = place;
            }
        }
    }

    pub(super) fn remove(&mut self, addr: u64) {
        if self.places.is_empty() {
            return;
        }
        let mut free = self.place(addr);
        if !self.is_taken(free) {
            return;
        }
        self.len -= 1;
        let removed = core::mem::take(&mut self.places[free]);
        if let Some(index) = removed.object.and_then(|object| object.lent()) {
            self.give_back(index);
        }
        // Those that come after it until the next gap were to be found through it, unless their home is after it.
        let mut at = self.after(free);
        while self.is_taken(at) {
            let from_home = at.wrapping_sub(self.home(self.places[at].addr));
            let from_free = at.wrapping_sub(free);
            let mask = self.places.len() - 1;
            if from_home & mask >= from_free & mask {
                self.places.swap(free, at);
                free = at;
            }
            at = self.after(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Objects;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    /// However many there are, an object is not far from where its address says.
    #[test]
    fn many_are_near_their_homes() {
        let mut objects = Objects::default();
        // Those of one shard: every 1024th or so of all that are 16 bytes apart.
        let all = (0..1u64 << 24).map(|i| (1 << 44) + i * 16);
        let shard = |addr: u64| (addr / 16).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40 & 1023;
        let ours: alloc::vec::Vec<u64> = all.filter(|&addr| shard(addr) == 7).collect();
        assert!(ours.len() > 10_000);
        for &addr in &ours {
            objects.entry(addr);
        }
        let mask = objects.places.len() - 1;
        let far = |addr: u64| objects.place(addr).wrapping_sub(objects.home(addr)) & mask;
        let sum: usize = ours.iter().map(|&addr| far(addr)).sum();
        assert!(sum < 4 * ours.len(), "{sum} for {}", ours.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]
        /// Any mixture of operations agrees with a map.
        #[test]
        fn agrees_with_a_map(steps in proptest::collection::vec((0u64..40, 0u8..3), 1..200)) {
            let mut objects = Objects::default();
            let mut naive: BTreeMap<u64, u32> = BTreeMap::new();
            for (i, (addr, step)) in (1u32..).zip(steps) {
                // Some of them meet at home.
                let addr = (addr << 52) | (addr % 3);
                match step {
                    0 => {
                        objects.remove(addr);
                        naive.remove(&addr);
                    }
                    1 => {
                        let (object, same) = (objects.entry(addr), naive.entry(addr).or_default());
                        prop_assert_eq!(object.size, *same);
                        (object.size, *same) = (i, i);
                    }
                    _ => prop_assert_eq!(objects.find(addr).map(|o| o.size), naive.get(&addr).copied()),
                }
                prop_assert_eq!(objects.len(), naive.len());
                prop_assert_eq!(objects.is_empty(), naive.is_empty());
            }
            for (addr, size) in naive {
                prop_assert_eq!(objects.find(addr).map(|o| o.size), Some(size));
            }
        }
    }
}
