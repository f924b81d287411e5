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
            (Number::Whole(one), Number::Whole(other)) => match one.checked_sub(other) {
                Some(difference) => Number::Whole(difference),
                None => Number::Real(self.real() - Number::Whole(other).real()),
            },
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

/// 2^63.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

/// Makes values of numbers, one after the other. What is rounded off one goes into the next, so that their sum is right.
#[derive(Default)]
pub(super) struct Rounding {
    rest: f64,
}

impl Rounding {
    /// The value, in units of which the number's is `factor`.
    ///
    /// # Errors
    /// It is beyond the range of a value.
    pub fn value(&mut self, number: Number, factor: i64) -> Result<i64, String> {
        let value = match number {
            Number::Whole(number) => number.checked_mul(factor),
            Number::Real(number) => {
                let exact = number * factor as f64 + self.rest;
                let value = exact.round();
                self.rest = exact - value;
                // What is no number is in no range.
                (value.abs() < BEYOND).then_some(value as i64)
            }
        };
        value.ok_or_else(|| {
            // Units of which there are several in another are nanoseconds.
            let unit = if factor > 1 { " in nanoseconds" } else { "" };
            match number {
                Number::Whole(number) => format!("{number} is more than 64 bits hold{unit}"),
                Number::Real(number) => format!("{number:e} is more than 64 bits hold{unit}"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_units_are_not_lost_in_a_sum() {
        let mut rounding = Rounding::default();
        let values = [1.5, 2.5, 0.4, 0.4, 0.4, -0.2].map(Number::Real);
        let values = values.map(|number| rounding.value(number, 1).expect("small"));
        assert_eq!(values, [2, 2, 0, 1, 0, 0]);
        let mut rounding = Rounding::default();
        let thirds: i64 = (0..3_000)
            .map(|_| rounding.value(Number::Real(1.0 / 3.0), 1_000))
            .sum::<Result<_, _>>()
            .expect("small");
        assert_eq!(thirds, 1_000_000);
        assert_eq!(rounding.value(Number::Whole(7), 1_000), Ok(7_000));
    }

    #[test]
    fn what_is_beyond_64_bits_is_refused_and_never_clipped() {
        let value = |number, factor| Rounding::default().value(number, factor);
        for number in [
            Number::Real(1e300),
            Number::Real(1e308),
            Number::Real(-1e19),
        ] {
            assert!(value(number, 1_000_000_000).is_err());
        }
        assert!(value(Number::Whole(i64::MAX), 2).is_err());
        let whole = Number::Whole(i64::MAX).minus(Number::Whole(i64::MIN));
        assert!(value(whole, 1).is_err());
        assert_eq!(
            value(Number::Real(-9e18), 1),
            Ok(-9_000_000_000_000_000_000)
        );
    }
}
