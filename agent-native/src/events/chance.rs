//! Which waits are sampled, and what each sample stands for.
//!
//! A wait as long as the period or longer always is, for itself. A shorter one of length d is with probability
//! d/P, and then stands for P/d waits and P ns. So what is expected of each is itself: one wait, d ns; and of
//! short ones hardly any is sampled. Each is drawn for itself, since a fixed distance between samples would beat
//! with programs that wait in a rhythm.

use std::time::Duration;

use crate::aggregate::weight::Weight;

/// What the sample of a wait stands for, or `None` if there is to be none. `draw` gives a number from 0 up to 1,
/// each as likely; it is asked only for waits shorter than the period.
pub fn weight(blocked_ns: u64, period_ns: u64, draw: impl FnOnce() -> f64) -> Option<Weight> {
    let (blocked, period) = (blocked_ns as f64, period_ns as f64);
    if blocked_ns == 0 {
        return None;
    }
    if blocked_ns >= period_ns {
        return Some(Weight {
            count: 1.0,
            amount: blocked,
        });
    }
    (draw() * period < blocked).then_some(Weight {
        count: period / blocked,
        amount: period,
    })
}

/// Random numbers of one thread: SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators",
/// 2014), which is good from any seed on.
#[derive(Clone, Copy, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The sequence of that seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A time between a half and one and a half of `mean`.
    pub fn around(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(0.5 + self.draw())
    }

    /// A number from 0 up to 1, without 1.
    pub fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        // As many bits as an f64 keeps.
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 1_000_000;

    /// What the samples of `waits` waits stand for, what was waited in truth, and how many samples there are.
    fn sampled(waits: usize, seed: u64, mut each: impl FnMut(f64) -> u64) -> (Weight, f64, usize) {
        let (mut lengths, mut chance) = (Chance::new(seed), Chance::new(!seed));
        let (mut sum, mut truth, mut samples) = (Weight::default(), 0.0, 0);
        for _ in 0..waits {
            let blocked = each(lengths.draw());
            truth += blocked as f64;
            if let Some(weight) = weight(blocked, PERIOD, || chance.draw()) {
                sum += weight;
                samples += 1;
            }
        }
        (sum, truth, samples)
    }

    #[test]
    fn sums_of_samples_are_those_of_all_waits_whatever_their_lengths() {
        for seed in 1..=5 {
            // From 1 µs to 10 ms, each order of magnitude as often as another.
            let (sum, truth, _) = sampled(1_000_000, seed, |u| (10_f64.powf(3.0 + 4.0 * u)) as u64);
            let error = sum.amount / truth - 1.0;
            assert!(error.abs() < 0.01, "time: {error}");
            let (sum, truth, samples) = sampled(1_000_000, seed, |_| 20_000);
            let error = sum.amount / truth - 1.0;
            assert!(error.abs() < 0.02, "time of short waits: {error}");
            let error = sum.count / 1e6 - 1.0;
            assert!(error.abs() < 0.02, "short waits: {error}");
            assert!((19_500..20_500).contains(&samples), "{samples}");
        }
    }

    #[test]
    fn a_wait_of_a_period_or_more_stands_for_itself_and_asks_no_chance() {
        for blocked in [PERIOD, PERIOD + 1, 3_600_000_000_000] {
            let weight = weight(blocked, PERIOD, || unreachable!("no draw"));
            let expected = Weight {
                count: 1.0,
                amount: blocked as f64,
            };
            assert_eq!(weight, Some(expected));
        }
        assert_eq!(weight(0, PERIOD, || 0.0), None, "no division by it");
    }

    #[test]
    fn draws_fill_the_unit_interval_evenly() {
        let mut chance = Chance::new(0);
        let mut tenths = [0_u32; 10];
        for _ in 0..100_000 {
            let drawn = chance.draw();
            assert!((0.0..1.0).contains(&drawn));
            tenths[(drawn * 10.0) as usize] += 1;
        }
        assert!(
            tenths.iter().all(|n| (9_600..10_400).contains(n)),
            "{tenths:?}"
        );
        assert_ne!(Chance::new(1).draw(), Chance::new(2).draw());
    }
}
