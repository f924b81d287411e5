//! Percentiles of what is sorted.

/// What `percent` of them do not exceed (nearest rank); nothing of nothing.
pub fn percentile(sorted: &[u64], percent: f64) -> Option<u64> {
    // 99.9 % of 1,000 are 999, and not a little more.
    let rank = (sorted.len() as f64 * percent / 100.0 - 1e-9)
        .ceil()
        .max(1.0) as usize;
    sorted.get(rank.min(sorted.len()).checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_them() {
        let sorted: Vec<u64> = (1..=1000).collect();
        for (percent, found) in [
            (0.0, 1),
            (50.0, 500),
            (50.01, 501),
            (99.0, 990),
            (99.9, 999),
            (100.0, 1000),
        ] {
            assert_eq!(percentile(&sorted, percent), Some(found), "{percent}");
        }
        assert_eq!(percentile(&[7], 1.0), Some(7));
        assert_eq!(percentile(&[], 50.0), None);
    }
}
