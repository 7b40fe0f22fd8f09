//! Numbers that look random: for hashing, and for samplers that must be repeatable by their seed.

/// A bijection of 64-bit numbers that spreads every input bit over all output bits (the finaliser
/// of SplitMix64).
pub(crate) const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream number `stream` of a seed. Streams of one seed have nothing to do with each other.
    pub(crate) const fn new(seed: u64, stream: u64) -> Self {
        Random(mix(seed ^ mix(stream.wrapping_add(GOLDEN))))
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number from 0 to `bound` inclusive. The bias, at most `bound / 2^64`, is far below anything
    /// a sampler could notice.
    pub(crate) const fn up_to(&mut self, bound: u64) -> u64 {
        ((self.next() as u128 * (bound as u128 + 1)) >> 64) as u64
    }

    /// True with probability `p`.
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        // 53 bits: every value is exact as f64 and below 1, so p = 1 is always and p = 0 never.
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        unit < p
    }
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certain_and_impossible() {
        let mut random = Random::new(1, 2);
        assert!((0..10_000).all(|_| random.chance(1.0)));
        assert!((0..10_000).all(|_| !random.chance(0.0)));
    }

    #[test]
    fn bounds_are_reached_and_kept() {
        let mut random = Random::new(7, 0);
        let mut seen = [false; 4];
        for _ in 0..1_000 {
            seen[usize::try_from(random.up_to(3)).unwrap()] = true;
        }
        assert_eq!(seen, [true; 4]);
        assert_eq!(random.up_to(0), 0);
    }

    #[test]
    fn streams_differ() {
        assert_ne!(Random::new(1, 0).next(), Random::new(1, 1).next());
        assert_ne!(Random::new(1, 0).next(), Random::new(2, 0).next());
    }
}
