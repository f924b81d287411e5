//! Numbers of JavaScript as values of samples.

use serde::{Deserialize, Serialize};

/// Whole ones are kept as they are.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Number {
    Whole(i64),
    Real(f64),
}

impl Default for Number {
    fn default() -> Self {
        Number::Whole(0)
    }
}

impl Number {
    pub fn minus(self, other: Number) -> Number {
        match (self, other) {
            (Number::Whole(one), Number::Whole(other)) => Number::Whole(one.saturating_sub(other)),
            (one, other) => Number::Real(one.real() - other.real()),
        }
    }

    fn real(self) -> f64 {
        match self {
            Number::Whole(number) => number as f64,
            Number::Real(number) => number,
        }
    }
}

/// Makes values of numbers, one after the other. What is rounded off one goes into the next, so that their sum is right.
#[derive(Default)]
pub(super) struct Rounding {
    rest: f64,
}

impl Rounding {
    /// The value, in units of which the number's is `factor`. Beyond the range of a value it saturates.
    pub fn value(&mut self, number: Number, factor: i64) -> i64 {
        match number {
            Number::Whole(number) => number.saturating_mul(factor),
            Number::Real(number) => {
                let exact = number * factor as f64 + self.rest;
                let value = exact.round();
                self.rest = exact - value;
                value as i64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_units_are_not_lost_in_a_sum() {
        let mut rounding = Rounding::default();
        let values = [1.5, 2.5, 0.4, 0.4, 0.4, -0.2].map(Number::Real);
        let values = values.map(|number| rounding.value(number, 1));
        assert_eq!(values, [2, 2, 0, 1, 0, 0]);
        let mut rounding = Rounding::default();
        let thirds: i64 = (0..3_000)
            .map(|_| rounding.value(Number::Real(1.0 / 3.0), 1_000))
            .sum();
        assert_eq!(thirds, 1_000_000);
        assert_eq!(rounding.value(Number::Whole(7), 1_000), 7_000);
        assert_eq!(rounding.value(Number::Real(1e300), 1_000), i64::MAX);
    }
}
