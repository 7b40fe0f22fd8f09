//! A set of bytes, kept as runs.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of addresses. Its runs do not touch each other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ByteSet {
    runs: BTreeMap<u64, u64>,
}

impl ByteSet {
    /// Adds a run of bytes.
    pub fn insert(&mut self, run: Range<u64>) {
        if run.is_empty() {
            return;
        }
        let (mut start, mut end) = (run.start, run.end);
        // All runs that overlap or touch this one become one.
        while let Some((&s, &e)) = self.runs.range(..=end).next_back() {
            if e < start {
                break;
            }
            if s <= start && end <= e {
                return;
            }
            start = start.min(s);
            end = end.max(e);
            self.runs.remove(&s);
        }
        self.runs.insert(start, end);
    }

    /// The runs, ascending.
    pub fn runs(&self) -> impl Iterator<Item = Range<u64>> {
        self.runs.iter().map(|(&start, &end)| start..end)
    }

    /// No byte?
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::ByteSet;
    use std::collections::BTreeSet;

    #[test]
    fn equals_a_set_of_numbers() {
        let mut rng = oracle::r#gen::Rng::new(1);
        for _ in 0..500 {
            let mut set = ByteSet::default();
            let mut plain = BTreeSet::new();
            for _ in 0..20 {
                let start = rng.below(60);
                let end = start + rng.below(8);
                set.insert(start..end);
                plain.extend(start..end);
            }
            let flat: Vec<u64> = set.runs().flatten().collect();
            assert_eq!(flat, plain.iter().copied().collect::<Vec<_>>());
            let runs: Vec<_> = set.runs().collect();
            assert!(runs.windows(2).all(|w| w[0].end < w[1].start));
        }
    }
}
