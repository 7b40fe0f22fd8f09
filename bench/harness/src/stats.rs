//! Medians, spreads, means.

use serde::{Deserialize, Serialize};

/// The middle value and the range of a sample.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// Of an empty sample there is none.
pub(crate) fn summary(values: &[f64]) -> Option<Summary> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (least, most) = (*sorted.first()?, *sorted.last()?);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    let median = if sorted.len() % 2 == 1 {
        upper
    } else {
        (sorted.get(middle - 1)? + upper) / 2.0
    };
    Some(Summary {
        median,
        least,
        most,
    })
}

/// The geometric mean of positive values.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let logs: f64 = values.iter().map(|v| v.ln()).sum();
    Some((logs / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_samples() {
        let of = |values: &[f64]| summary(values).map(|s| (s.median, s.least, s.most));
        assert_eq!(of(&[3.0, 1.0, 2.0]), Some((2.0, 1.0, 3.0)));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), Some((2.5, 1.0, 4.0)));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn geometric_mean_of_two_and_eight_is_four() {
        assert!(geometric_mean(&[2.0, 8.0]).is_some_and(|m| (m - 4.0).abs() < 1e-12));
    }
}
