//! A point in time on the command line.

use std::str::FromStr;

use jiff::{Span, SpanRelativeTo, Timestamp};

/// Ns since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub i128);

/// How it is written.
const FORM: &str = "write a time with its zone, such as 2026-03-01T12:30:00Z, or how long ago, such as 15m or 2h30m";

impl Moment {
    fn read(text: &str, now: Timestamp) -> Result<Self, String> {
        if let Ok(moment) = text.parse::<Timestamp>() {
            return Ok(Moment(moment.as_nanosecond()));
        }
        let no_moment = || format!("'{text}' is no point in time: {FORM}");
        let ago: Span = text.parse().map_err(|_| no_moment())?;
        let ago = ago
            .to_duration(SpanRelativeTo::days_are_24_hours())
            .map_err(|_| no_moment())?;
        if ago.is_negative() {
            return Err(no_moment());
        }
        Ok(Moment(now.as_nanosecond() - ago.as_nanos()))
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Moment::read(text, Timestamp::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i128 = 60_000_000_000;

    #[test]
    fn a_moment_is_a_time_with_a_zone_or_so_long_ago() {
        let now: Timestamp = "2023-11-14T22:13:20Z".parse().expect("a time");
        let read = |text: &str| Moment::read(text, now).expect(text).0 - now.as_nanosecond();
        assert_eq!(read("2023-11-14T22:14:20Z"), MINUTE);
        assert_eq!(read("2023-11-14T23:14:20+01:00"), MINUTE);
        assert_eq!(read("2023-11-14 22:13:20.5Z"), MINUTE / 120);
        assert_eq!(read("15m"), -15 * MINUTE);
        assert_eq!(read("2h30m"), -150 * MINUTE);
        assert_eq!(read("1d"), -24 * 60 * MINUTE);
        for wrong in [
            "yesterday",
            "15",
            "2023-11-14T22:14:20",
            "-5m",
            "1month",
            "",
        ] {
            let error = Moment::read(wrong, now).expect_err(wrong);
            assert!(error.contains("15m"), "{error}");
        }
    }
}
