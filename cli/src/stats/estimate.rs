//! What something costs a side, by what it is set against, with its variance.

use clap::ValueEnum;
use serde::Serialize;

use super::Cost;

/// What costs are set against, so that two sides can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// A request: a local root span that ended, and not in an error
    Request,
    /// A second of the process (with --slow: of the spans' durations)
    Second,
    /// The whole of its side
    Share,
}

/// Below so many requests, their spread is held to be at least that of independent samples.
const ALIKE_BY_CHANCE: f64 = 30.0;

/// What a side had the time for.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Exposure {
    /// Requests.
    pub requests: u64,
    /// Seconds.
    pub seconds: f64,
}

/// A side: what it had the time for and what it cost in all.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Side {
    /// See there.
    pub exposure: Exposure,
    /// All its samples.
    pub whole: Cost,
}

/// A figure of one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub value: f64,
    /// `None` of fewer than two requests.
    pub variance: Option<f64>,
    /// Sum of the observations' parts in `value`, and of the squares of these.
    pub parts: (f64, f64),
    /// Degrees of freedom, where requests are counted.
    pub degrees: Option<f64>,
}

impl Side {
    /// What `cost` is divided by.
    pub fn divisor(&self, per: Per) -> f64 {
        match per {
            Per::Request => self.exposure.requests as f64,
            Per::Second => self.exposure.seconds,
            Per::Share => self.whole.value(),
        }
    }

    /// `cost` by what it is set against; 0 where there is nothing of that.
    pub fn rate(&self, cost: &Cost, per: Per) -> f64 {
        ratio(cost.value(), self.divisor(per))
    }

    pub(super) fn estimate(&self, cost: &Cost, per: Per) -> Estimate {
        let divisor = self.divisor(per);
        let value = ratio(cost.value(), divisor);
        let squared = divisor * divisor;
        let (variance, degrees) = match per {
            Per::Request => {
                let n = divisor;
                let among = (n > 1.0).then(|| {
                    let of = &cost.requests;
                    // Rounding may leave less than nothing.
                    (of.squares - of.value * of.value / n).max(0.0) / (n * (n - 1.0))
                });
                let sum = among.map(|among| among + ratio(cost.alone.squares, squared));
                (sum, Some(n - 1.0))
            }
            // The number of requests is chance, too: a sum of so many has the variance of its squares' sum.
            Per::Second => (Some(ratio(cost.squares(), squared)), None),
            // Of a ratio of two sums over the same observations.
            Per::Share => {
                let around = cost.squares() - 2.0 * value * cost.products()
                    + value * value * self.whole.squares();
                (Some(ratio(around.max(0.0), squared)), None)
            }
        };
        // Few requests may happen to be alike; many that are, are: a timer that ticks evenly leaves less to chance than counts
        // have.
        let by_chance = match per {
            Per::Request if divisor < ALIKE_BY_CHANCE => ratio(cost.by_chance, squared),
            _ => 0.0,
        };
        Estimate {
            value,
            variance: variance.map(|variance| variance.max(by_chance)),
            parts: (value, ratio(cost.squares(), squared)),
            degrees,
        }
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(requests: u64, seconds: f64, whole: Cost) -> Side {
        Side {
            exposure: Exposure { requests, seconds },
            whole,
        }
    }

    fn of_requests(values: &[(f64, f64)]) -> Cost {
        let mut cost = Cost::default();
        for (value, whole) in values {
            cost.requests.add(*value, *whole);
        }
        cost
    }

    #[test]
    fn the_variance_of_a_mean_is_that_between_requests_those_without_cost_included() {
        // 1, 3, 0, 0: mean 1, squared deviations 0 + 4 + 1 + 1, over 4 · 3.
        let cost = of_requests(&[(1.0, 1.0), (3.0, 3.0)]);
        let mean = side(4, 1.0, cost).estimate(&cost, Per::Request);
        assert_eq!((mean.value, mean.variance), (1.0, Some(0.5)));
        assert_eq!(mean.degrees, Some(3.0));
        let one = side(1, 1.0, cost).estimate(&cost, Per::Request);
        assert_eq!(one.variance, None);
    }

    #[test]
    fn the_variance_of_few_requests_is_not_below_that_of_the_samples() {
        let alike = |requests: u64| {
            let mut cost = of_requests(&vec![(10.0, 10.0); requests as usize]);
            cost.by_chance = requests as f64 * 10.0 * 10.0;
            let mean = side(requests, 1.0, cost).estimate(&cost, Per::Request);
            mean.variance
        };
        assert_eq!(alike(2), Some(200.0 / 4.0));
        assert_eq!(alike(29), Some(100.0 / 29.0));
        assert_eq!(alike(30), Some(0.0));
    }

    #[test]
    fn single_samples_have_the_variance_of_a_count() {
        let mut cost = Cost::default();
        // Nine samples of 10.
        cost.alone.add_alike(90.0, 9.0);
        let rate = side(0, 3.0, cost).estimate(&cost, Per::Second);
        assert_eq!(rate.value, 30.0);
        assert_eq!(rate.variance, Some(900.0 / 9.0), "√9 samples of 10 in 3 s");
    }

    #[test]
    fn a_share_of_samples_has_the_variance_of_a_binomial() {
        let (mut cost, mut whole) = (Cost::default(), Cost::default());
        cost.alone.add_alike(250.0, 25.0);
        whole.alone.add_alike(1000.0, 100.0);
        let share = side(0, 1.0, whole).estimate(&cost, Per::Share);
        assert_eq!(share.value, 0.25);
        let expected = 0.25 * 0.75 / 100.0;
        assert!((share.variance.unwrap() - expected).abs() < 1e-12);
        // The whole is all of itself, surely.
        let all = side(0, 1.0, whole).estimate(&whole, Per::Share);
        assert_eq!((all.value, all.variance), (1.0, Some(0.0)));
    }
}
