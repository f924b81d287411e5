//! What a sample stands for, and what many stand for together.
//!
//! One sample of an allocation of s bytes, taken on average every R bytes, stands for 1/(1-exp(-s/R)) objects:
//! a fraction. Rounded sample by sample, 1.3 objects would always be 1, and sums wrong by a quarter. So sums are
//! kept as they are and rounded once, when a profile is written (`export::rounding`). Whole numbers up to 2⁵³
//! are exact in an f64, and so are their sums: periods of CPU time, at 1 kHz for a quarter of a million years.

use std::ops::AddAssign;

/// See the module.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Weight {
    /// Of the kind's first sample type: samples of CPU time, objects, waits.
    pub count: f64,
    /// Of its second, in its unit; of CPU time in periods, not yet in ns.
    pub amount: f64,
}

impl Weight {
    /// One sample of CPU time that stands for `periods`.
    #[must_use]
    pub fn of_periods(periods: u32) -> Self {
        Self {
            count: 1.0,
            amount: f64::from(periods),
        }
    }

    /// One sampled object of `size` bytes, where the distance between two samples is exponential with the mean
    /// `interval`, in bytes (HotSpot, `threadHeapSampler.cpp`). The object is sampled if a sample falls into it: with
    /// the probability 1-exp(-size/interval), and never twice.
    #[must_use]
    pub fn of_object(size: u64, interval: u32) -> Self {
        // No object is empty.
        let size = size.max(1) as f64;
        // `exp_m1`: 1-exp(-x) of a small x would be what the subtraction leaves of it.
        let sampled = -(-size / f64::from(interval)).exp_m1();
        Self {
            count: 1.0 / sampled,
            amount: size / sampled,
        }
    }
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.amount += other.amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_stands_for_as_many_as_are_not_sampled_beside_it() {
        const R: u32 = 512 << 10;
        let close = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
        for (size, count) in [
            // Small ones stand for one interval together, and half an object.
            (16, f64::from(R) / 16.0 + 0.5 + 16.0 / f64::from(R) / 12.0),
            (u64::from(R), 1.0 / (1.0 - (-1.0_f64).exp())),
            // Large ones are always sampled.
            (u64::from(R) * 64, 1.0),
        ] {
            let weight = Weight::of_object(size, R);
            assert!(close(weight.count, count), "{size}: {weight:?}");
            assert!(
                close(weight.amount, count * size as f64),
                "{size}: {weight:?}"
            );
        }
        // What cannot be is no division by zero all the same.
        assert!(Weight::of_object(0, R).amount.is_finite());
        assert!(Weight::of_object(u64::MAX, 1 << 14).amount.is_finite());
    }

    #[test]
    fn sums_over_a_made_up_sampler_are_those_of_what_was_allocated() {
        // One thread that allocates 256 objects of 1 KiB to each of 256 KiB, under exponential distances.
        const R: u32 = 64 << 10;
        const ROUNDS: u64 = 20_000;
        let mut state = 7_u64;
        let mut distance = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let uniform = ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            -uniform.ln() * f64::from(R)
        };
        let mut left = distance();
        let (mut small, mut large) = (Weight::default(), Weight::default());
        for _ in 0..ROUNDS {
            for n in 0..=256 {
                let size = if n == 0 { 256 << 10 } else { 1 << 10 };
                left -= size as f64;
                if left <= 0.0 {
                    let sum = if n == 0 { &mut large } else { &mut small };
                    *sum += Weight::of_object(size, R);
                    left = distance();
                }
            }
        }
        // 80,000 samples of the small ones, 19,600 of the large, nearly all: 5 standard deviations are below 2 %.
        let bytes = (ROUNDS << 18) as f64;
        for (sum, size) in [(small, 1 << 10), (large, 256 << 10)] {
            assert!((sum.amount / bytes - 1.0).abs() < 0.02, "{size}: {sum:?}");
            let objects = bytes / f64::from(size);
            assert!((sum.count / objects - 1.0).abs() < 0.02, "{size}: {sum:?}");
        }
    }

    #[test]
    fn periods_add_up_exactly_and_fractions_are_not_lost() {
        let mut sum = Weight::of_periods(u32::MAX);
        for _ in 0..1_000 {
            sum += Weight::of_periods(u32::MAX);
        }
        sum += Weight::of_periods(1);
        let periods = 1_001 * u64::from(u32::MAX) + 1;
        assert_eq!((sum.count as u64, sum.amount as u64), (1_002, periods));

        let mut objects = Weight::default();
        for _ in 0..10_000 {
            objects += Weight {
                count: 1.3,
                amount: 400_000.25,
            };
        }
        assert!((objects.count - 13_000.0).abs() < 1e-6);
        assert!((objects.amount - 4_000_002_500.0).abs() < 1e-2);
    }
}
