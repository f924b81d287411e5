//! Whether every expiry of a timer is in a profile or in a counter of losses. To the last one.
//!
//! In periods: `signals.received + signals.overruns` (what the kernel delivered until the stop) is what the profiles
//! stand for (`cpu/nanoseconds` by the period, the stack that stands for a full store included) and what was dropped,
//! by reason. In samples: what the profiles count is `samples.taken`, which is tagged, untagged and native.

use std::fmt;

use crate::recording::Recording;

/// Periods that are in no profile.
const LOST: [&str; 5] = [
    "dropped.ring_full",
    "dropped.ring_contended",
    "dropped.disarmed",
    "dropped.nested",
    "signals.stale",
];
const KINDS: [&str; 3] = [
    "samples.tagged",
    "samples.untagged",
    "samples.native_thread",
];

/// What becomes of a signal of the wall engine.
const VISITS: [&str; 7] = [
    "wall.samples",
    "wall.no_context",
    "wall.stale",
    "wall.dropped_ring_full",
    "wall.dropped_ring_contended",
    "wall.dropped_disarmed",
    "wall.dropped_nested",
];

/// The books of a run.
#[derive(Debug, Default, Clone)]
pub struct Ledger {
    /// Signals that came.
    pub signals: u64,
    /// Periods that they stand for.
    pub expired: u64,
    /// Periods in profiles.
    pub profiled: u64,
    /// Periods in counters of losses.
    pub lost: u64,
    /// Samples, as counted when they were taken.
    pub taken: u64,
    /// The same by kind.
    pub by_kind: u64,
    /// Samples in profiles.
    pub sampled: u64,
    /// Walks that failed, as counted.
    pub failed: u64,
    /// Signals of the wall engine.
    pub asked: u64,
    /// What became of them, as counted.
    pub answered: u64,
    /// Profiles that could not be written.
    pub unwritten: u64,
}

impl Ledger {
    /// Enters a window.
    pub fn add(&mut self, recording: &Recording) {
        let counter = |key: &str| recording.counter(key).unwrap_or(0);
        let period = recording
            .windows
            .first()
            .and_then(|window| u64::try_from(window.period).ok())
            .unwrap_or(1);
        self.signals += counter("signals.received");
        self.expired += counter("signals.received") + counter("signals.overruns");
        self.profiled += recording.nanos() / period;
        self.lost += LOST.iter().map(|key| counter(key)).sum::<u64>();
        self.taken += counter("samples.taken");
        self.by_kind += KINDS.iter().map(|key| counter(key)).sum::<u64>();
        self.sampled += recording.count();
        self.asked += counter("wall.signals");
        self.answered += VISITS.iter().map(|key| counter(key)).sum::<u64>();
        self.unwritten += counter("windows.write_failed");
        self.failed += recording
            .windows
            .iter()
            .flat_map(|window| &window.facts)
            .filter(|(key, _)| key.starts_with("failed."))
            .filter_map(|(_, value)| value.parse::<u64>().ok())
            .sum::<u64>();
    }

    /// What does not add up.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.expired != self.profiled + self.lost {
            faults.push(format!(
                "{} periods expired, but {} are in profiles and {} in counters of losses",
                self.expired, self.profiled, self.lost
            ));
        }
        if self.taken != self.by_kind || self.taken != self.sampled {
            faults.push(format!(
                "{} samples taken, but {} tagged, untagged or native, and {} in profiles",
                self.taken, self.by_kind, self.sampled
            ));
        }
        if self.asked != self.answered {
            faults.push(format!(
                "{} signals of the wall engine, but {} are accounted for",
                self.asked, self.answered
            ));
        }
        if self.unwritten > 0 {
            faults.push(format!("{} windows could not be written", self.unwritten));
        }
        faults
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} signals, {} periods = {} in profiles + {} counted as lost; {} samples, {} failed walks, {} visits",
            self.signals,
            self.expired,
            self.profiled,
            self.lost,
            self.sampled,
            self.failed,
            self.asked
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::path::PathBuf;

    use super::*;
    use crate::recording::{Sample, Window};

    fn window(facts: &[(&str, &str)], count: u64, nanos: u64) -> Recording {
        let facts: HashMap<String, String> = facts
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        Recording {
            windows: vec![Window {
                path: PathBuf::new(),
                start: 1,
                monotonic: 0,
                duration: 1,
                period: 10,
                facts,
            }],
            samples: vec![Sample {
                frames: vec!["a".into()],
                lines: vec![0],
                leaf_file: "".into(),
                tag: None,
                thread: None,
                count,
                nanos,
                window: (1, 2),
            }],
        }
    }

    #[test]
    fn one_period_too_few_is_seen_and_a_sample_may_go_into_the_next_window() {
        // 5 signals for 7 periods: 3 samples for 4 periods, of which one comes in the next window; 3 dropped.
        let first = [
            ("signals.received", "5"),
            ("signals.overruns", "2"),
            ("samples.taken", "3"),
            ("samples.native_thread", "3"),
            ("dropped.ring_full", "2"),
            ("signals.stale", "1"),
            ("failed.safepoint", "1"),
            ("wall.signals", "4"),
            ("wall.samples", "3"),
        ];
        let mut ledger = Ledger::default();
        ledger.add(&window(&first, 2, 20));
        assert_eq!(ledger.faults().len(), 3, "{:?}", ledger.faults());
        ledger.add(&window(&[("wall.dropped_nested", "1")], 0, 0));
        assert_eq!(ledger.faults().len(), 2, "{:?}", ledger.faults());
        let mut short = ledger.clone();
        ledger.add(&window(&[], 1, 20));
        assert!(ledger.faults().is_empty(), "{:?}", ledger.faults());
        short.add(&window(&[], 1, 10));
        assert_eq!(short.faults().len(), 1, "{:?}", short.faults());
        assert_eq!((ledger.expired, ledger.failed), (7, 1));
    }
}
