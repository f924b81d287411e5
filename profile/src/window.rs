//! The time that a profile is of. Of a sum that is not the length it tells, which is that of all its profiles one behind the
//! other: those of several processes are of the same time, and between windows there may be none.

use crate::comments::{self, COVERED};
use crate::model::Profile;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its start, ns since the Unix epoch.
    pub start: i64,
    /// Its end, the same.
    pub end: i64,
    /// The time between in which something was profiled, ns.
    pub covered: i64,
}

const END: &str = "end_unix_ns";
const TIME: &str = "time_ns";
/// How many profiles of a sum do not say when they were.
const WITHOUT: &str = "profiles_without_time";

impl Window {
    /// That of a profile; `None` where it does not say when it starts.
    #[must_use]
    pub fn of(profile: &Profile) -> Option<Self> {
        let start = profile.time_nanos;
        if start <= 0 {
            return None;
        }
        let told = |key| {
            let figure = comments::figure(&profile.comments, COVERED, key)?;
            i64::try_from(figure).ok()
        };
        let covered = profile.duration_nanos.max(0);
        let plain = Window {
            start,
            end: start.saturating_add(covered),
            covered,
        };
        let summed = told(END).zip(told(TIME));
        let summed = summed.map(|(end, covered)| Window {
            start,
            end,
            covered,
        });
        Some(summed.filter(Window::is_possible).unwrap_or(plain))
    }

    /// The same; `None` also of a sum of which only some profiles say when they were.
    #[must_use]
    pub fn of_all(profile: &Profile) -> Option<Self> {
        let without = comments::figure(&profile.comments, COVERED, WITHOUT);
        Self::of(profile).filter(|window| window.covered > 0 && without.is_none())
    }

    /// The line that tells of a sum that so many of its profiles do not say when they were.
    #[cfg(feature = "merge")]
    pub(crate) fn line_without(profiles: u64) -> String {
        format!("{COVERED}{WITHOUT}={profiles}")
    }

    fn is_possible(&self) -> bool {
        let length = self.end.checked_sub(self.start);
        length.is_some_and(|length| self.covered > 0 && self.covered <= length)
    }

    /// All of them: time in several counts once. Where one has gaps and others lie there, as much is covered as they could
    /// at the most.
    #[must_use]
    pub fn together(windows: &[Window]) -> Option<Self> {
        let mut sorted = windows.to_vec();
        sorted.sort_unstable_by_key(|window| window.start);
        let start = sorted.first()?.start;
        let (mut end, mut spanned, mut sum) = (i64::MIN, 0_i64, 0_i64);
        for window in sorted {
            let from = window.start.max(end);
            spanned = spanned.saturating_add(window.end.saturating_sub(from).max(0));
            sum = sum.saturating_add(window.covered);
            end = end.max(window.end);
        }
        let covered = spanned.min(sum);
        Some(Window {
            start,
            end,
            covered,
        })
    }

    /// The line that tells it, where what the head of a sum tells is another.
    #[cfg(feature = "merge")]
    pub(crate) fn line(&self, duration_nanos: i64) -> Option<String> {
        let is_told =
            self.covered == duration_nanos && self.end == self.start.saturating_add(duration_nanos);
        let Window { end, covered, .. } = self;
        (!is_told && self.is_possible()).then(|| format!("{COVERED}{END}={end} {TIME}={covered}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn together(windows: &[(i64, i64)]) -> Option<(i64, i64, i64)> {
        let windows: Vec<_> = windows
            .iter()
            .map(|&(start, end)| Window {
                start,
                end,
                covered: end - start,
            })
            .collect();
        Window::together(&windows).map(|all| (all.start, all.end, all.covered))
    }

    #[test]
    fn time_in_several_windows_counts_once_and_gaps_not_at_all() {
        for (windows, expected) in [
            (&[][..], None),
            (&[(10, 20), (20, 30)], Some((10, 30, 20))),
            (&[(15, 30), (10, 20)], Some((10, 30, 20))),
            (&[(10, 100), (20, 30), (200, 201)], Some((10, 201, 91))),
        ] {
            assert_eq!(together(windows), expected, "{windows:?}");
        }
    }

    #[test]
    fn of_two_with_gaps_no_more_is_covered_than_there_is_time_or_than_both_have() {
        let with_gaps = |start, end, covered| Window {
            start,
            end,
            covered,
        };
        let covered = |windows: &[Window]| Window::together(windows).map(|all| all.covered);
        let gaps = with_gaps(0, 100, 30);
        assert_eq!(covered(&[gaps]), Some(30));
        assert_eq!(covered(&[gaps, with_gaps(100, 200, 40)]), Some(70));
        assert_eq!(covered(&[gaps, with_gaps(0, 100, 90)]), Some(100));
    }
}
