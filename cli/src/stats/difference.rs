//! The difference of two sides.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

use super::{CHANCE, Cost, Per, Side};

/// Degrees of freedom from which Student's distribution is the normal one.
const MANY: f64 = 10_000.0;

/// How much more something costs the second side than the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The second less the first.
    pub value: f64,
    /// Its standard error; `None` where too little is there to tell.
    pub error: Option<f64>,
    /// Half of the interval that has the true difference in 95 of 100 cases.
    pub half_width: Option<f64>,
    /// How likely chance alone makes one of that size or more (a two-sided p-value).
    pub chance: Option<f64>,
}

impl Difference {
    /// Of what costs `costs[0]` on the first side and `costs[1]` on the second.
    pub fn of(sides: [&Side; 2], costs: [&Cost; 2], per: Per) -> Self {
        let [first, second] = [0, 1].map(|i| sides[i].estimate(costs[i], per));
        let value = second.value - first.value;
        let (Some(a), Some(b)) = (first.variance, second.variance) else {
            return Difference::untold(value);
        };
        // As many observations as contribute (Kish's effective number), those of both sides together: a thousand
        // requests of which three have any of it are three.
        let sum = first.parts.0 + second.parts.0;
        let squares = first.parts.1 + second.parts.1;
        let contributing = if squares > 0.0 {
            sum * sum / squares
        } else {
            0.0
        };
        let degrees = match (first.degrees, second.degrees) {
            (Some(of_a), Some(of_b)) => welch((a, of_a), (b, of_b)),
            _ => f64::INFINITY,
        };
        let mut difference = Difference::student(value, a + b, degrees.min(contributing - 1.0));
        if costs
            .iter()
            .all(|cost| cost.is_of_samples() && cost.samples > 0 || cost.value() == 0.0)
            && let Some(exact) = exact(sides, costs, per)
        {
            difference.chance = Some(exact);
        }
        difference
    }

    /// Of the means of two lists of observations (Welch's).
    pub fn of_means(first: &[f64], second: &[f64]) -> Self {
        // The mean, its variance and the degrees of freedom of that.
        let of = |values: &[f64]| {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n.max(1.0);
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            (mean, squares / (n * (n - 1.0)).max(1.0), n - 1.0)
        };
        let ((of_a, a, free_a), (of_b, b, free_b)) = (of(first), of(second));
        let value = of_b - of_a;
        if free_a < 1.0 || free_b < 1.0 {
            return Difference::untold(value);
        }
        Difference::student(value, a + b, welch((a, free_a), (b, free_b)))
    }

    /// One of that variance on so many degrees of freedom.
    fn student(value: f64, variance: f64, degrees: f64) -> Self {
        let error = variance.sqrt();
        let (Some(quantile), Some(beyond)) = (
            quantile(1.0 - CHANCE / 2.0, degrees),
            beyond(value.abs() / error, degrees),
        ) else {
            return Difference::untold(value);
        };
        Difference {
            value,
            error: Some(error),
            half_width: Some(quantile * error),
            chance: Some(if value == 0.0 { 1.0 } else { 2.0 * beyond }),
        }
    }

    /// Nothing is known of how sure it is.
    const fn untold(value: f64) -> Self {
        Difference {
            value,
            error: None,
            half_width: None,
            chance: None,
        }
    }

    /// The end of its interval that is nearer to none: what is lost at least, or won. 0 where none is in it.
    pub fn at_least(&self) -> f64 {
        let Some(half) = self.half_width else {
            return 0.0;
        };
        if self.value > 0.0 {
            (self.value - half).max(0.0)
        } else {
            (self.value + half).min(0.0)
        }
    }
}

/// The degrees of freedom of the sum of two variances, each with its own (Welch, Satterthwaite).
fn welch((a, of_a): (f64, f64), (b, of_b): (f64, f64)) -> f64 {
    if a + b > 0.0 {
        (a + b).powi(2) / (a * a / of_a + b * b / of_b)
    } else {
        of_a.min(of_b)
    }
}

/// The exact test of two counts: given their sum, each sample was the second side's with the chance that its part of the
/// whole exposure is.
fn exact(sides: [&Side; 2], costs: [&Cost; 2], per: Per) -> Option<f64> {
    let exposures = sides.map(|side| match per {
        Per::Request => side.exposure.requests as f64,
        Per::Second => side.exposure.seconds,
        Per::Share => side.whole.samples as f64,
    });
    let [a, b] = costs.map(|cost| u64::try_from(cost.samples).ok());
    let (a, b) = (a?, b?);
    let both = a.checked_add(b)?;
    if exposures.iter().any(|exposure| *exposure <= 0.0) || both == 0 {
        return None;
    }
    let counts = Binomial::new(exposures[1] / (exposures[0] + exposures[1]), both).ok()?;
    let at_most = counts.cdf(b);
    let at_least = b.checked_sub(1).map_or(1.0, |less| counts.sf(less));
    Some((2.0 * at_most.min(at_least)).min(1.0))
}

/// What Student's variable is below with that probability; `None` without a whole degree of freedom.
fn quantile(probability: f64, degrees: f64) -> Option<f64> {
    if degrees < 1.0 {
        None
    } else if degrees > MANY {
        Some(Normal::standard().inverse_cdf(probability))
    } else {
        Some(
            StudentsT::new(0.0, 1.0, degrees)
                .ok()?
                .inverse_cdf(probability),
        )
    }
}

/// How likely Student's variable is beyond `t`.
fn beyond(t: f64, degrees: f64) -> Option<f64> {
    if degrees < 1.0 || t.is_nan() {
        // 0 / 0: no difference at all, on no spread.
        (degrees >= 1.0).then_some(0.5)
    } else if t.is_infinite() {
        Some(0.0)
    } else if degrees > MANY {
        Some(Normal::standard().sf(t))
    } else {
        Some(StudentsT::new(0.0, 1.0, degrees).ok()?.sf(t))
    }
}

/// How many observations a side needs so that the half width of its mean's interval is at most `half_width`, at the
/// standard deviation `deviation`; `None` if none are enough.
pub fn needed(deviation: f64, half_width: f64) -> Option<u64> {
    if half_width <= 0.0 || !deviation.is_finite() {
        return None;
    }
    let enough = |n: u64| {
        let t = quantile(1.0 - CHANCE / 2.0, (n - 1) as f64);
        t.is_some_and(|t| t * deviation / (n as f64).sqrt() <= half_width)
    };
    const MOST: u64 = 1 << 40;
    let (mut less, mut most) = (1, 2);
    while !enough(most) {
        (less, most) = (most, most * 2);
        if most > MOST {
            return None;
        }
    }
    while most - less > 1 {
        let middle = less + (most - less) / 2;
        if enough(middle) {
            most = middle;
        } else {
            less = middle;
        }
    }
    Some(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Exposure;

    fn close(found: f64, expected: f64) {
        assert!(
            (found / expected - 1.0).abs() < 1e-3,
            "{found} for {expected}"
        );
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (degrees, expected) in [
            (1.0, 12.706),
            (2.0, 4.303),
            (9.0, 2.262),
            (30.0, 2.042),
            (9_999.0, 1.960),
            (1e9, 1.960),
        ] {
            close(quantile(0.975, degrees).unwrap(), expected);
        }
        assert_eq!(quantile(0.975, 0.5), None);
        close(beyond(2.262, 9.0).unwrap(), 0.025);
        close(beyond(1.96, f64::INFINITY).unwrap(), 0.025);
    }

    fn side_of(values: &[f64], requests: u64) -> (Side, Cost) {
        let mut cost = Cost::default();
        values
            .iter()
            .for_each(|value| cost.requests.add(*value, *value));
        let exposure = Exposure {
            requests,
            seconds: 1.0,
        };
        (
            Side {
                exposure,
                whole: cost,
            },
            cost,
        )
    }

    #[test]
    fn the_difference_of_means_is_welchs() {
        // Means 20 and 30, variances of the means 10/4 and 40/4 after squares 10 and 40.
        let (a, of_a) = side_of(&[16.0, 20.0, 24.0, 20.0], 4);
        let (b, of_b) = side_of(&[22.0, 30.0, 38.0, 30.0], 4);
        let found = Difference::of([&a, &b], [&of_a, &of_b], Per::Request);
        close(found.value, 10.0);
        let variance: f64 = 32.0 / 12.0 + 128.0 / 12.0;
        close(found.error.unwrap(), variance.sqrt());
        // By integrating the density with 4.41 degrees of freedom.
        close(found.chance.unwrap(), 0.046_72);
        assert!(found.at_least() > 0.0 && found.at_least() < 2.0);
    }

    #[test]
    fn lists_and_sums_of_the_same_requests_have_the_same_difference() {
        let lists = [[16.0, 20.0, 24.0, 20.0], [22.0, 30.0, 38.0, 30.0]];
        let of_lists = Difference::of_means(&lists[0], &lists[1]);
        let [(a, of_a), (b, of_b)] = lists.map(|list| side_of(&list, 4));
        let of_sums = Difference::of([&a, &b], [&of_a, &of_b], Per::Request);
        close(of_lists.error.unwrap(), of_sums.error.unwrap());
        close(of_lists.chance.unwrap(), of_sums.chance.unwrap());
        assert_eq!(Difference::of_means(&[1.0], &[2.0, 3.0]).chance, None);
    }

    #[test]
    fn few_requests_among_many_are_few() {
        let (a, of_a) = side_of(&[], 1_000);
        let (b, of_b) = side_of(&[50.0; 4], 1_000);
        let found = Difference::of([&a, &b], [&of_a, &of_b], Per::Request);
        // Four, all on one side: 2 · 2⁻⁴ of the draws. Welch alone would say 0.046.
        let chance = found.chance.unwrap();
        assert!((0.12..0.2).contains(&chance), "{chance}");
        let (b, of_b) = side_of(&[50.0], 1_000);
        let one = Difference::of([&a, &b], [&of_a, &of_b], Per::Request);
        assert_eq!((one.chance, one.half_width), (None, None));
        assert_eq!(one.at_least(), 0.0);
    }

    #[test]
    fn counts_are_tested_exactly_with_their_exposures() {
        let side = |samples: i128, seconds: f64| {
            let mut cost = Cost {
                samples,
                by_chance: samples as f64 * 100.0,
                ..Cost::default()
            };
            cost.alone.add_alike(samples as f64 * 10.0, samples as f64);
            let exposure = Exposure {
                requests: 0,
                seconds,
            };
            (
                Side {
                    exposure,
                    whole: cost,
                },
                cost,
            )
        };
        // Twice the sum of the binomial from 30 of 40 on.
        for (seconds, expected) in [(1.0, 0.002_222), (3.0, 1.0)] {
            let ((a, of_a), (b, of_b)) = (side(10, 1.0), side(30, seconds));
            let found = Difference::of([&a, &b], [&of_a, &of_b], Per::Second);
            close(found.chance.unwrap(), expected);
        }
        let ((a, of_a), (b, of_b)) = (side(0, 1.0), side(5, 1.0));
        let found = Difference::of([&a, &b], [&of_a, &of_b], Per::Second);
        close(found.chance.unwrap(), 0.0625);
    }

    #[test]
    fn no_difference_on_no_spread_is_chance() {
        let (a, of_a) = side_of(&[5.0; 10], 10);
        let found = Difference::of([&a, &a], [&of_a, &of_a], Per::Request);
        assert_eq!((found.value, found.chance), (0.0, Some(1.0)));
    }

    #[test]
    fn what_is_needed_is_what_makes_the_interval_so_narrow() {
        // t(15) = 2.131: 2.131 · 10 / √16 = 5.33, with 17 below 5.2.
        assert_eq!(needed(10.0, 5.33), Some(16));
        assert_eq!(needed(10.0, 5.2), Some(17));
        assert_eq!(needed(0.0, 1.0), Some(2));
        assert_eq!(needed(1.0, 0.0), None);
    }

    #[test]
    fn where_there_is_no_difference_one_in_twenty_is_taken_for_one() {
        // Requests of which one in ten waits, for a time whose spread is as its mean.
        let mut state = 7_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (rounds, mut taken) = (2_000, 0);
        for _ in 0..rounds {
            let mut side = |requests: u64| {
                let waiting = (0..requests).filter(|_| draw() < 0.1).count();
                let waits: Vec<f64> = (0..waiting).map(|_| -draw().max(1e-9).ln()).collect();
                side_of(&waits, requests)
            };
            let ((a, of_a), (b, of_b)) = (side(300), side(150));
            let found = Difference::of([&a, &b], [&of_a, &of_b], Per::Request);
            taken += usize::from(found.chance.is_some_and(|chance| chance < CHANCE));
        }
        let share = taken as f64 / rounds as f64;
        assert!((0.02..0.06).contains(&share), "{share}");
    }
}
