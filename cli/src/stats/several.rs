//! Many differences looked at together: some are large by chance.

/// The rate of false discoveries (Benjamini and Hochberg, 1995) that taking each for a difference, and all that are less
/// likely by chance, would have. `chances` are p-values, in any order; the answer is in the same.
pub fn benjamini_hochberg(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*b].total_cmp(&chances[*a]));
    let all = chances.len();
    let mut rates = vec![1.0; all];
    let mut least = 1.0_f64;
    for (greater, index) in order.into_iter().enumerate() {
        let rank = (all - greater) as f64;
        least = least.min(chances[index] * all as f64 / rank);
        rates[index] = least;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_paper_in_the_order_given() {
        // Benjamini and Hochberg's own example: of 15, four are taken at 5 %.
        let chances = [
            0.0459, 0.0001, 0.0298, 0.0004, 0.0344, 0.0019, 0.3240, 0.0095, 0.4262, 0.0201, 0.5719,
            0.0278, 0.6528, 0.7590, 1.0,
        ];
        let rates = benjamini_hochberg(&chances);
        let taken: Vec<_> = (0..chances.len()).filter(|i| rates[*i] <= 0.05).collect();
        assert_eq!(taken, [1, 3, 5, 7]);
        assert!((rates[1] - 0.0015).abs() < 1e-12);
        assert!((rates[7] - 0.0095 * 15.0 / 4.0).abs() < 1e-12);
        assert_eq!(rates[14], 1.0);
    }

    #[test]
    fn a_rate_is_never_above_that_of_a_less_likely_one_and_none_has_none() {
        let rates = benjamini_hochberg(&[0.04, 0.03, 0.05]);
        assert!(
            rates.iter().all(|rate| (rate - 0.05).abs() < 1e-12),
            "{rates:?}"
        );
        assert!(benjamini_hochberg(&[]).is_empty());
    }
}
