//! A set of bytes of one page.

use alloc::boxed::Box;

use super::pages::PAGE_WORDS;
use super::sweep::Sweeps;

/// Words of a page whose bytes share a number of the set: eight.
const TOGETHER: usize = 8;
const CHUNKS: usize = PAGE_WORDS / TOGETHER;

/// A bit for each byte of a page, and one for each 64 of them that has any.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(loom), derive(bytemuck::Zeroable))]
pub(crate) struct Bits {
    chunks: [u64; CHUNKS],
    any: u64,
}

const _: () = assert!(CHUNKS == u64::BITS as usize);

impl Bits {
    /// None of them.
    #[cfg(not(loom))]
    pub(crate) fn none() -> Box<Bits> {
        bytemuck::zeroed_box()
    }

    /// None of them.
    #[cfg(loom)]
    pub(crate) fn none() -> Box<Bits> {
        Box::new(Bits {
            chunks: [0; CHUNKS],
            any: 0,
        })
    }

    /// All of them.
    pub(crate) fn all() -> Box<Bits> {
        let mut bits = Bits::none();
        bits.chunks.fill(u64::MAX);
        bits.any = u64::MAX;
        bits
    }

    /// The bytes of some words.
    pub(crate) fn of(sweeps: &Sweeps) -> Box<Bits> {
        let mut bits = Bits::none();
        for &sweep in sweeps.as_slice() {
            sweep.words().for_each(|word| bits.add(word, sweep.mask));
        }
        bits
    }

    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.any == 0
    }

    /// What `f` says of each 64 bytes.
    pub(crate) fn fill(&mut self, f: impl Fn(usize) -> u64) {
        self.any = 0;
        for (at, chunk) in self.chunks.iter_mut().enumerate() {
            *chunk = f(at);
            self.any |= u64::from(*chunk != 0) << at;
        }
    }

    /// Takes out all.
    pub(crate) fn clear(&mut self) {
        let mut rest = core::mem::take(&mut self.any);
        while rest != 0 {
            self.chunks[rest.trailing_zeros() as usize] = 0;
            rest &= rest - 1;
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        each_chunk(self.any)
            .map(|at| self.chunks[at].count_ones())
            .sum()
    }

    /// The bytes of a word that are there.
    #[inline(always)]
    pub(crate) const fn word(&self, word: usize) -> u8 {
        (self.chunks[word / TOGETHER % CHUNKS] >> (8 * (word % TOGETHER))) as u8
    }

    /// Are `len` bytes from `first` on all there? They are as many as a power of two, at a multiple of that.
    #[inline]
    pub(crate) fn has(&self, first: usize, len: usize) -> bool {
        if len >= 64 {
            let mut chunks = self.chunks[first / 64..(first + len) / 64].iter();
            return chunks.all(|&chunk| chunk == u64::MAX);
        }
        let bytes = u64::MAX >> (64 - len) << (first % 64);
        !self.chunks[first / 64 % CHUNKS] & bytes == 0
    }

    /// These bytes of a word, too.
    #[inline(always)]
    pub(crate) fn add(&mut self, word: usize, mask: u8) {
        self.add_chunk(word / TOGETHER, u64::from(mask) << (8 * (word % TOGETHER)));
    }

    /// The same for some of 64 bytes, which begin at a multiple of that.
    #[inline(always)]
    pub(crate) fn add_chunk(&mut self, chunk: usize, bytes: u64) {
        let chunk = chunk % CHUNKS;
        self.chunks[chunk] |= bytes;
        self.any |= u64::from(bytes != 0) << chunk;
    }

    /// Are there bytes in both?
    #[inline]
    pub(crate) fn meets(&self, other: &Bits) -> bool {
        self.common(other).next().is_some()
    }

    /// The words of which both have bytes, in order, with these.
    #[inline]
    pub(crate) fn common<'a>(&'a self, other: &'a Bits) -> impl Iterator<Item = (usize, u8)> + 'a {
        each_chunk(self.any & other.any)
            .flat_map(|at| words(at, self.chunks[at] & other.chunks[at]))
    }

    /// The words of which there are bytes, in order, with these.
    pub(crate) fn words(&self) -> impl Iterator<Item = (usize, u8)> + '_ {
        self.common(self)
    }

    /// Takes out the bytes of another set. Were there any?
    #[inline]
    pub(crate) fn remove(&mut self, other: &Bits) -> bool {
        let mut removed = 0;
        for at in each_chunk(self.any & other.any) {
            removed |= self.chunks[at] & other.chunks[at];
            self.chunks[at] &= !other.chunks[at];
            if self.chunks[at] == 0 {
                self.any &= !(1 << at);
            }
        }
        removed != 0
    }

    /// Takes in the bytes of another set.
    #[inline]
    pub(crate) fn unite(&mut self, other: &Bits) {
        for at in each_chunk(other.any) {
            self.chunks[at] |= other.chunks[at];
        }
        self.any |= other.any;
    }
}

/// The numbers of the bits of `rest`.
#[inline(always)]
fn each_chunk(mut rest: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let at = rest.trailing_zeros() as usize;
        (rest != 0).then(|| {
            rest &= rest - 1;
            at % CHUNKS
        })
    })
}

/// The words of a chunk that have bytes in it.
#[inline(always)]
fn words(chunk: usize, bytes: u64) -> impl Iterator<Item = (usize, u8)> {
    (0..if bytes == 0 { 0 } else { TOGETHER }).filter_map(move |word| {
        let mask = (bytes >> (8 * word)) as u8;
        (mask != 0).then_some((chunk * TOGETHER + word, mask))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn of(bytes: &BTreeSet<usize>) -> Box<Bits> {
        let mut bits = Bits::none();
        for byte in bytes {
            bits.add(byte / 8, 1 << (byte % 8));
        }
        bits
    }

    fn bytes(bits: &Bits) -> BTreeSet<usize> {
        bits.words()
            .flat_map(|(word, mask)| {
                (0..8)
                    .filter(move |b| mask >> b & 1 != 0)
                    .map(move |b| 8 * word + b)
            })
            .collect()
    }

    fn sets() -> impl Strategy<Value = BTreeSet<usize>> {
        let near = (0..4096usize, 1..80usize)
            .prop_map(|(from, len)| (from..(from + len).min(4096)).collect());
        prop_oneof![near, prop::collection::btree_set(0..4096usize, 0..20)]
    }

    proptest! {
        #[test]
        fn a_set_of_bytes_is_a_set(a in sets(), b in sets()) {
            let (x, y) = (of(&a), of(&b));
            prop_assert_eq!(bytes(&x), a.clone());
            prop_assert_eq!(x.meets(&y), !a.is_disjoint(&b));
            let common: Vec<_> = x.common(&y).collect();
            let both: BTreeSet<usize> = a.intersection(&b).copied().collect();
            prop_assert_eq!(common, of(&both).words().collect::<Vec<_>>());
            let mut less = x.clone();
            prop_assert_eq!(less.remove(&y), !both.is_empty());
            prop_assert_eq!(bytes(&less), a.difference(&b).copied().collect());
            prop_assert_eq!(less.is_empty(), a.is_subset(&b));
            for (at, shift) in [(a.first(), 3), (b.first(), 7)] {
                let (first, len) = (at.map_or(0, |at| at >> shift << shift), 1 << shift);
                prop_assert_eq!(x.has(first, len), (first..first + len).all(|byte| a.contains(&byte)));
            }
            let mut more = x.clone();
            more.unite(&y);
            prop_assert_eq!(bytes(&more), a.union(&b).copied().collect());
            more.clear();
            prop_assert_eq!(&more, &Bits::none());
        }
    }

    #[test]
    fn all_bytes_are_a_page() {
        assert_eq!(bytes(&Bits::all()).len(), 4096);
        assert_eq!(Bits::all().word(511), 0xFF);
    }
}
