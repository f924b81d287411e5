//! Whole numbers for sums that are fractions: up or down by chance, in proportion to the fraction.
//!
//! A file has many small sums. Rounded to the nearest, those of 1.3 are all 1, and what a reader adds up over a
//! span or a method lacks a quarter; so do remainders that are carried over, where sums of two spans take turns.
//! By chance, each sum is right on average, and so is whatever is added up of them. A whole number stays as it
//! is, so that CPU time is exact.

/// Rounds. The same seed gives the same profile.
#[derive(Debug)]
pub struct Rounding(u64);

impl Rounding {
    /// Any seed will do.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One of the two whole numbers beside `value`, or `value` itself where it is one; at the bounds of i64 those.
    pub fn whole(&mut self, value: f64) -> i64 {
        let below = value.floor();
        let up = if self.uniform() < value - below {
            1.0
        } else {
            0.0
        };
        // `as` stops at the bounds.
        (below + up) as i64
    }

    /// Uniform in [0, 1): SplitMix64 (Steele, Lea, Flood 2014), its upper 53 bits.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_sums_are_right_on_average() {
        // 5 standard deviations of n roundings, whose variance is f(1-f) each.
        const N: u32 = 100_000;
        let mut rounding = Rounding::new(7);
        for value in [1.0 + 1e-3, 1.3, 1.5, 1.58, 7.97] {
            let mut sum = 0;
            for _ in 0..N {
                let whole = rounding.whole(value);
                assert!((whole as f64 - value).abs() < 1.0, "{whole} for {value}");
                sum += whole;
            }
            let fraction = value.fract();
            let bound = 5.0 * (f64::from(N) * fraction * (1.0 - fraction)).sqrt();
            let error = sum as f64 - f64::from(N) * value;
            assert!(error.abs() <= bound, "{error} for {value}, at most {bound}");
        }
    }

    #[test]
    fn whole_numbers_stay_as_they_are() {
        let mut rounding = Rounding::new(7);
        for value in [0, 1, 2, 10_000, (1 << 53) - 1] {
            for _ in 0..1_000 {
                assert_eq!(rounding.whole(value as f64), value);
            }
        }
        assert_eq!(rounding.whole(1e30), i64::MAX);
    }
}
