//! What a server says to an upload.

use std::time::{Duration, SystemTime};

use crate::request::Request;

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It has it. Of the profiles in it, it says, it has thrown away so many.
    Taken {
        /// That many.
        rejected: u64,
    },
    /// Not now, or nobody knows: the same again later.
    Later {
        /// For the user, without a body or a header of anybody's.
        why: String,
        /// `Retry-After`.
        asked: Option<Duration>,
        /// It may be that of this request alone: not so where the server says that it is busy.
        is_suspect: bool,
    },
    /// Not this one, not later either.
    Refused {
        /// As above.
        why: String,
        /// It does not know the path (404, 405, 415).
        unknown: bool,
    },
    /// It does not know this form, and what was in it comes in another.
    Replaced,
}

/// Who brings a request to a server.
pub trait Carrier {
    /// Brings it, and has an answer at about `within` at the latest.
    fn carry(&mut self, request: &Request, within: Duration) -> Answer;
}

impl Answer {
    /// What a status says: 2xx has it; 408, 429 and 5xx not now; all else never. Redirects are not followed: they would
    /// take profiles, and a token, to where nobody has sent them.
    #[must_use]
    pub fn of(status: u16, asked: Option<Duration>) -> Self {
        match status {
            200..=299 => Self::Taken { rejected: 0 },
            408 | 429 | 500..=599 => Self::Later {
                why: format!("answers {status}"),
                asked,
                is_suspect: asked.is_none() && !matches!(status, 408 | 429 | 503),
            },
            300..=399 => Self::Refused {
                why: format!(
                    "it answers {status}, and redirects are not followed: give the address that it leads to"
                ),
                unknown: false,
            },
            401 | 403 => Self::Refused {
                why: format!("it answers {status}: look at push_auth and the token"),
                unknown: false,
            },
            _ => Self::Refused {
                why: format!("it answers {status}"),
                unknown: matches!(status, 404 | 405 | 415),
            },
        }
    }
}

/// `Retry-After`, in seconds or as a date; `now` is the server's own (`Date`) where it says so.
#[must_use]
pub fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_is_taken_later_or_refused() {
        for status in 0..1000 {
            let answer = Answer::of(status, None);
            let expected = match status {
                200..=299 => "taken",
                408 | 429 | 500..=599 => "later",
                _ => "refused",
            };
            let is = match answer {
                Answer::Taken { .. } => "taken",
                Answer::Later { .. } => "later",
                Answer::Refused { .. } => "refused",
                Answer::Replaced => "replaced",
            };
            assert_eq!(is, expected, "{status}");
        }
    }

    #[test]
    fn a_wait_is_read_in_seconds_and_as_a_date_and_nonsense_is_none() {
        let now = httpdate::parse_http_date("Tue, 01 Dec 2026 00:00:00 GMT").unwrap();
        for (text, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Tue, 01 Dec 2026 00:01:30 GMT", Some(90)),
            ("Mon, 30 Nov 2026 00:00:00 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
            ("", None),
            ("99999999999999999999999", None),
        ] {
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(retry_after(text, now), expected, "{text}");
        }
    }
}
