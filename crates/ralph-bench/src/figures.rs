//! Medians and percentiles, and how times and rates are written.

use std::time::{Duration, Instant};

use crate::BenchResult;

/// The middle one; of an even number, the upper of the two.
pub(crate) fn median<T: PartialOrd + Copy>(values: &[T]) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    sorted.get(sorted.len() / 2).copied()
}

/// The smallest value that this share of all, in hundredths, is not above.
pub(crate) fn percentile<T: PartialOrd + Copy>(values: &[T], percent: usize) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let place = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(place - 1).copied()
}

/// Runs something `repeats` times and gives the median of the times it took.
pub(crate) fn median_time(
    repeats: usize,
    mut run: impl FnMut() -> BenchResult<()>,
) -> BenchResult<Duration> {
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats {
        let began = Instant::now();
        run()?;
        times.push(began.elapsed());
    }
    median(&times).ok_or_else(|| "nothing was measured".into())
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

pub(crate) fn megabytes_per_second(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

pub(crate) fn gigabytes_per_second(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / 1e9 / time.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_of_the_sorted_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4, 1, 3, 2]), Some(3));
        assert_eq!(median::<u32>(&[]), None);
    }

    #[test]
    fn a_percentile_has_that_share_at_or_below_it() {
        let values: Vec<u32> = (1..=200).rev().collect();
        assert_eq!(percentile(&values, 99), Some(198));
        assert_eq!(percentile(&values, 50), Some(100));
        assert_eq!(percentile(&[7], 99), Some(7));
        assert_eq!(percentile::<u32>(&[], 99), None);
    }
}
