//! Slow requests and fast ones.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};

use super::Requests;
use crate::figures::{nanos, plural};
use crate::stats::percentile;

/// Where slow begins or fast ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    /// A percentile of the durations of the endpoint (nearest rank).
    Percentile(f64),
    /// A duration, itself included or not.
    Nanos { nanos: u64, is_included: bool },
}

/// What is slow: at or above a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slow(Bound);

/// What is fast: at or below a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fast(Bound);

impl Default for Slow {
    fn default() -> Self {
        Slow(Bound::Percentile(99.0))
    }
}

impl Default for Fast {
    fn default() -> Self {
        Fast(Bound::Percentile(50.0))
    }
}

impl FromStr for Slow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        bound(text, '>').map(Slow)
    }
}

impl FromStr for Fast {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        bound(text, '<').map(Fast)
    }
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self.0, '>', f)
    }
}

impl fmt::Display for Fast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self.0, '<', f)
    }
}

fn write(bound: Bound, sign: char, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match bound {
        Bound::Percentile(percent) => write!(f, "p{percent}"),
        Bound::Nanos {
            nanos: n,
            is_included,
        } => {
            let equals = if is_included { "=" } else { "" };
            write!(f, "{sign}{equals}{}", nanos(n.into()))
        }
    }
}

fn bound(text: &str, sign: char) -> Result<Bound, String> {
    let form =
        format!("write a percentile as p99, or a duration as '{sign}=800ms' (ns, us, ms, s, m)");
    if let Some(percent) = text.strip_prefix('p') {
        let percent: f64 = percent.parse().map_err(|_| form.clone())?;
        if !(0.0..=100.0).contains(&percent) {
            return Err(format!("'{text}' is no percentile: p0 to p100"));
        }
        return Ok(Bound::Percentile(percent));
    }
    let (is_included, length) = match text.strip_prefix(sign) {
        Some(rest) => match rest.strip_prefix('=') {
            Some(rest) => (true, rest),
            None => (false, rest),
        },
        None => (true, text),
    };
    let nanos = duration(length.trim()).ok_or_else(|| format!("'{text}' is no bound; {form}"))?;
    Ok(Bound::Nanos { nanos, is_included })
}

/// A number and its unit, ns.
fn duration(text: &str) -> Option<u64> {
    let at = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(at);
    let factor = match unit.trim_start() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        _ => return None,
    };
    let nanos = number.parse::<f64>().ok()? * factor;
    (nanos < u64::MAX as f64).then_some(nanos.round() as u64)
}

impl Slow {
    /// Whether a request is slow by it, where its endpoint's bound is `at`; one that is the bound of the fast ones, too, is not.
    fn holds(self, nanos: u64, at: u64, is_shared: bool) -> bool {
        nanos > at || (!is_shared && self.0.is_included() && nanos == at)
    }

    /// The percentile, if it is one.
    pub fn percentile(self) -> Option<f64> {
        match self.0 {
            Bound::Percentile(percent) => Some(percent),
            Bound::Nanos { .. } => None,
        }
    }
}

impl Fast {
    fn holds(self, nanos: u64, at: u64) -> bool {
        nanos < at || (self.0.is_included() && nanos == at)
    }
}

impl Bound {
    /// Where it is, of durations in order; percentiles of none are nowhere.
    fn at(self, sorted: &[u64]) -> Option<u64> {
        match self {
            Bound::Percentile(percent) => percentile(sorted, percent),
            Bound::Nanos { nanos, .. } => Some(nanos),
        }
    }

    fn is_included(self) -> bool {
        match self {
            Bound::Percentile(_) => true,
            Bound::Nanos { is_included, .. } => is_included,
        }
    }
}

/// The numbers of the slow requests and of the fast ones; none is both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Speeds {
    pub slow: Vec<u32>,
    pub fast: Vec<u32>,
    /// The bound, ns, where there is one endpoint and one bound: many durations may be the same.
    shared: Option<u64>,
}

impl Speeds {
    /// Tells those of `which` apart, each endpoint's by its own durations. One that is slow and fast by the bounds is
    /// neither; where a percentile is both bounds, it is fast.
    pub fn of(requests: &Requests, which: &[u32], slow: Slow, fast: Fast) -> Self {
        let all = requests.all();
        let mut by_name: HashMap<&str, Vec<u64>> = HashMap::new();
        for request in which.iter().map(|index| &all[*index as usize]) {
            by_name
                .entry(&request.name)
                .or_default()
                .push(request.duration_nanos);
        }
        let bounds: HashMap<&str, (u64, u64)> = by_name
            .into_iter()
            .filter_map(|(name, mut durations)| {
                durations.sort_unstable();
                Some((name, (slow.0.at(&durations)?, fast.0.at(&durations)?)))
            })
            .collect();
        let can_be_shared = slow.percentile().is_some() && fast.0.is_included();
        let are_shared = |(from, to): (u64, u64)| can_be_shared && from == to;
        let mut speeds = Speeds::default();
        if let [bounds] = bounds.values().copied().collect::<Vec<_>>()[..] {
            speeds.shared = are_shared(bounds).then_some(bounds.0);
        }
        for index in which {
            let request = &all[*index as usize];
            let Some((from, to)) = bounds.get(request.name.as_str()).copied() else {
                continue;
            };
            let nanos = request.duration_nanos;
            let is_slow = slow.holds(nanos, from, are_shared((from, to)));
            match (is_slow, fast.holds(nanos, to)) {
                (true, false) => speeds.slow.push(*index),
                (false, true) => speeds.fast.push(*index),
                _ => {}
            }
        }
        speeds
    }

    /// Refuses sides without a span.
    ///
    /// # Errors
    /// One of them has none.
    pub fn check(&self, spans: usize, slow: Slow, fast: Fast) -> Result<()> {
        let spans = plural(spans as i128, "span");
        for (side, bound, found) in [
            ("slow", slow.to_string(), &self.slow),
            ("fast", fast.to_string(), &self.fast),
        ] {
            match self.shared {
                _ if !found.is_empty() => {}
                Some(at) => bail!(
                    "{fast} and {slow} of {spans} are both {}, and none is slower; --slow and --fast set the bounds",
                    nanos(at.into())
                ),
                None => bail!(
                    "no {side} span ({bound}) among {spans}; --slow and --fast set the bounds"
                ),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vtprof_profile::ids::{SpanId, TraceId};
    use vtprof_profile::spans::{SpanKind, SpanList, SpanRecord, SpanStatus};

    fn requests(durations: &[(&str, u64)]) -> Requests {
        let spans = (1..).zip(durations).map(|(id, (name, nanos))| SpanRecord {
            trace: TraceId::from_halves(0, 1),
            span: SpanId(id),
            parent: None,
            local_root: SpanId(id),
            name: (*name).to_owned(),
            kind: SpanKind::Server,
            start_unix_nanos: 1,
            end_unix_nanos: 1 + *nanos,
            status: SpanStatus::Unset,
        });
        Requests::of(SpanList {
            spans: spans.collect(),
            without_id: 0,
        })
    }

    fn split(durations: &[(&str, u64)], slow: &str, fast: &str) -> Speeds {
        let requests = requests(durations);
        let which: Vec<u32> = (0..durations.len() as u32).collect();
        Speeds::of(
            &requests,
            &which,
            slow.parse().unwrap(),
            fast.parse().unwrap(),
        )
    }

    #[test]
    fn percentiles_are_of_each_endpoint_and_include_the_bound() {
        let mut durations: Vec<_> = (1..=100).map(|nanos| ("a", nanos)).collect();
        durations.extend((1..=10).map(|nanos| ("b", nanos * 1_000)));
        let speeds = split(&durations, "p99", "p50");
        assert_eq!(speeds.slow, [98, 99, 109], "99 and 100 of a, 10,000 of b");
        assert_eq!(speeds.fast.len(), 50 + 5);
    }

    #[test]
    fn durations_have_a_sign_and_a_unit() {
        let durations = [("a", 20_000_000), ("a", 20_000_001), ("a", 800_000_000)];
        for (slow, fast, expected) in [
            (">=800ms", "<=20ms", (1, 1)),
            (">800ms", "<20ms", (0, 0)),
            ("0.8s", "20ms", (1, 1)),
            (">20ms", "< 20000 us", (2, 0)),
        ] {
            let speeds = split(&durations, slow, fast);
            let found = (speeds.slow.len(), speeds.fast.len());
            assert_eq!(found, expected, "{slow} {fast}");
        }
    }

    #[test]
    fn what_is_slow_and_fast_is_neither() {
        let durations: Vec<_> = (1..=10).map(|nanos| ("a", nanos)).collect();
        let speeds = split(&durations, "p40", "p60");
        assert_eq!((speeds.fast.len(), speeds.slow.len()), (3, 4));
        let speeds = split(&[("a", 5_000), ("a", 5_000)], "5us", "5us");
        assert_eq!((speeds.fast.len(), speeds.slow.len()), (0, 0));
    }

    #[test]
    fn where_slow_and_fast_are_one_duration_those_above_it_are_slow() {
        let durations = |usual: usize, rare: u64| {
            let rest = std::iter::repeat_n(("a", rare), 100 - usual);
            let usual = std::iter::repeat_n(("a", 100_000_000), usual);
            usual.chain(rest).collect::<Vec<_>>()
        };
        for (usual, slow) in [(99, "p99"), (90, "p90"), (95, "p80")] {
            let speeds = split(&durations(usual, 500_000_000), slow, "p50");
            let found = (speeds.fast.len(), speeds.slow.len());
            assert_eq!(found, (usual, 100 - usual), "{slow}");
        }
        // Where none is above it, that is said.
        for (usual, rare) in [(100, 0), (99, 1_000_000)] {
            let speeds = split(&durations(usual, rare), "p99", "p50");
            let error = speeds.check(100, Slow::default(), Fast::default());
            assert_eq!(
                error.expect_err("no slow one").to_string(),
                "p50 and p99 of 100 spans are both 100 ms, and none is slower; --slow and --fast set the bounds"
            );
        }
    }

    #[test]
    fn what_is_no_bound_is_refused_with_the_form() {
        for text in ["p", "p101", "fast", "800", "<=3ms", "1e9s", ".s", "pNaN"] {
            let error = text.parse::<Slow>().expect_err(text);
            assert!(error.contains("p99") || error.contains("p100"), "{error}");
        }
        assert_eq!(">=1.5s".parse::<Slow>().unwrap().to_string(), ">=1.50 s");
        assert_eq!("p99.9".parse::<Slow>().unwrap().to_string(), "p99.9");
    }
}
