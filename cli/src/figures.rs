//! Sums and how they are written: values in their unit, shares, and how far a figure can be
//! trusted.

/// A sum over samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// Sum of the chosen sample type, in its unit. Wider than the values, so that no sum overflows.
    pub value: i128,
    /// Samples taken.
    pub samples: i128,
}

impl Sum {
    /// Adds another.
    pub fn add(&mut self, other: Sum) {
        self.value += other.value;
        self.samples += other.samples;
    }
}

impl std::iter::Sum for Sum {
    fn sum<I: Iterator<Item = Sum>>(sums: I) -> Sum {
        sums.fold(Sum::default(), |mut total, sum| {
            total.add(sum);
            total
        })
    }
}

/// Figures on fewer samples are printed faint: their error is above 30 %.
pub const FEW: i128 = 10;

/// Part of the whole, 0 to 1; `None` of nothing.
pub fn share(part: i128, whole: i128) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

/// From the first start to the last end, with one more time beside those that were known.
pub fn widened<T: Ord>(known: Option<(T, T)>, (start, end): (T, T)) -> (T, T) {
    match known {
        Some((first, last)) => (first.min(start), last.max(end)),
        None => (start, end),
    }
}

/// Relative standard error of a figure that stands on that many samples, 1/√n: samples are counts
/// of a Poisson process. `None` for none: nothing is known then.
pub fn relative_error(samples: i128) -> Option<f64> {
    (samples > 0).then(|| 1.0 / (samples as f64).sqrt())
}

/// A value in its unit.
pub fn value(value: i128, unit: &str) -> String {
    let scaled = |factor: f64| seconds(value as f64 * factor);
    match unit {
        "nanoseconds" => scaled(1e-9),
        "microseconds" => scaled(1e-6),
        "milliseconds" => scaled(1e-3),
        "seconds" => scaled(1.0),
        "bytes" => bytes(value as f64),
        _ => thousands(value),
    }
}

/// A part of values, as a mean is, in their unit.
pub fn fraction(number: f64, unit: &str) -> String {
    match unit {
        "nanoseconds" | "microseconds" | "milliseconds" | "seconds" | "bytes" => {
            value(number.round() as i128, unit)
        }
        _ => significant(number),
    }
}

/// Nanoseconds.
pub fn nanos(nanos: i128) -> String {
    value(nanos, "nanoseconds")
}

fn seconds(seconds: f64) -> String {
    let magnitude = seconds.abs();
    match magnitude {
        0.0 => "0".to_owned(),
        _ if magnitude >= 1.0 => format!("{} s", significant(seconds)),
        _ if magnitude >= 1e-3 => format!("{} ms", significant(seconds * 1e3)),
        _ if magnitude >= 1e-6 => format!("{} µs", significant(seconds * 1e6)),
        _ => format!("{} ns", significant(seconds * 1e9)),
    }
}

fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = bytes;
    let mut unit = 0;
    while scaled.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", significant(scaled), UNITS[unit])
}

/// Three significant digits, more only left of the point.
fn significant(number: f64) -> String {
    let magnitude = number.abs();
    if magnitude < 9.995 {
        format!("{number:.2}")
    } else if magnitude < 99.95 {
        format!("{number:.1}")
    } else {
        thousands(number.round() as i128)
    }
}

/// A whole number with thousands set apart.
pub fn thousands(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::from(if number < 0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things.
pub fn plural(number: i128, thing: &str) -> String {
    format!(
        "{} {thing}{}",
        thousands(number),
        if number == 1 { "" } else { "s" }
    )
}

/// A share as percent.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(dash, |share| format!("{:.1} %", share * 100.0))
}

/// A relative error as percent.
pub fn plus_minus(error: Option<f64>) -> String {
    error.map_or_else(dash, |error| {
        let percent = error * 100.0;
        if percent < 10.0 {
            format!("±{percent:.1} %")
        } else {
            format!("±{percent:.0} %")
        }
    })
}

/// What stands where nothing is known.
pub fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_in_a_unit_that_fits() {
        let written: Vec<_> = [
            0,
            7,
            1_500,
            12_340_000,
            300_000_000,
            9_999_000_000,
            1_234_567_000_000,
        ]
        .map(nanos)
        .to_vec();
        assert_eq!(
            written,
            [
                "0", "7.00 ns", "1.50 µs", "12.3 ms", "300 ms", "10.0 s", "1,235 s"
            ]
        );
        assert_eq!(value(1536, "bytes"), "1.50 KiB");
        assert_eq!(value(-1_234_567, "count"), "-1,234,567");
        assert_eq!(value(90, "milliseconds"), "90.0 ms");
    }

    #[test]
    fn error_of_three_samples_is_more_than_half_and_of_none_is_unknown() {
        assert_eq!(plus_minus(relative_error(3)), "±58 %");
        assert_eq!(plus_minus(relative_error(10_000)), "±1.0 %");
        assert_eq!(plus_minus(relative_error(0)), "-");
        assert_eq!(percent(share(1, 0)), "-");
    }
}
