//! What a profile says of itself, as `key=value` comments: who made it, how, what it lost, what it cost.
//!
//! Few lines, since `go tool pprof` prints all of them, of all windows, above its tables: a line of facts that
//! all windows share, one of this window's, one of its counters.

use vtprof_profile::comments::{COUNTERS, SESSION_START, WINDOW};
use vtprof_signal::counters::{Counter, Counters};
use vtprof_signal::durations::Counts;

use crate::threads::own::Used;

/// What is known of the process for the whole run.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// `java.vm.name` and version.
    pub jvm: String,
    /// Kernel release.
    pub kernel: String,
    /// What signals threads: `timer` or `perf`, and why.
    pub engine: String,
    /// Whether signals come by the wall clock (option `stress`).
    pub is_stress: bool,
    /// When the session began, ns since the Unix epoch: it tells processes apart whose names and ids are the same, as
    /// those of containers are.
    pub session_start_unix_ns: u64,
}

/// What is known of one window.
#[derive(Clone, Debug, Default)]
pub struct WindowFacts {
    /// `mount` or `sample`, and why.
    pub strategy: String,
    /// Period asked for, ns.
    pub period_ns: u64,
    /// CPU time of the process, ns.
    pub process_cpu_ns: u64,
    /// CPU time in samples, ns.
    pub sampled_cpu_ns: u64,
    /// CPU time of the agent's own threads, ns, by name.
    pub own: Vec<Used>,
    /// The most that waited in each queue, in what it counts.
    pub depths: Vec<(&'static str, u64)>,
    /// Its start by the monotonic clock, ns.
    pub start_monotonic_ns: u64,
    /// How long before the window its oldest sample was taken, ns.
    pub late_ns: u64,
    /// Memory the agent holds, bytes.
    pub heap_bytes: usize,
    /// Methods whose names and lines are remembered.
    pub methods: usize,
    /// Methods of classes that are there, or were when last looked for.
    pub methods_noted: usize,
}

/// Periods that stand in no profile.
const LOST: [Counter; 5] = [
    Counter::DroppedRingFull,
    Counter::DroppedRingContended,
    Counter::DroppedDisarmed,
    Counter::DroppedNested,
    Counter::SignalsStale,
];

/// Samples, all of them and by kind.
const SAMPLES: [Counter; 4] = [
    Counter::SamplesTaken,
    Counter::SamplesTagged,
    Counter::SamplesUntagged,
    Counter::SamplesNative,
];

/// The counters at the end of the window before.
pub struct Snapshot {
    values: [u64; Counter::ALL.len()],
    handler: Counts,
    walk: Counts,
    completion: Counts,
}

impl Snapshot {
    /// The counters before anything was counted.
    pub const ZERO: Self = Self {
        values: [0; Counter::ALL.len()],
        handler: Counts::NONE,
        walk: Counts::NONE,
        completion: Counts::NONE,
    };

    /// The counters now.
    #[must_use]
    pub fn of(counters: &Counters) -> Self {
        Self {
            values: std::array::from_fn(|i| counters.get(Counter::ALL[i])),
            handler: counters.handler.counts(),
            walk: counters.walk.counts(),
            completion: counters.completion.counts(),
        }
    }

    /// What was added since.
    #[must_use]
    pub fn since(&self, earlier: &Self, counter: Counter) -> u64 {
        self.values[counter as usize].saturating_sub(earlier.values[counter as usize])
    }

    /// Expiries of timers that were told since: signals, and what was merged into them.
    fn expiries_since(&self, earlier: &Self) -> u64 {
        self.since(earlier, Counter::Signals) + self.since(earlier, Counter::Overruns)
    }

    /// Whether a window without samples may be left out, and what the others count still adds up: each expiry that
    /// was told since was lost since, and no sample was counted. A handler that was inside at one of the two moments
    /// has counted one part in one window, the other in the next.
    #[must_use]
    pub fn is_even_since(&self, earlier: &Self) -> bool {
        let sum = |of: &[Counter]| of.iter().map(|c| self.since(earlier, *c)).sum::<u64>();
        self.expiries_since(earlier) == sum(&LOST) && sum(&SAMPLES) == 0
    }

    /// Medians and 99th percentiles of the handler's, AsyncGetCallTrace's and completions' time since, as the line has them.
    fn times_since(&self, earlier: &Self) -> String {
        let mut text = String::new();
        for (name, now, before) in [
            ("handler", &self.handler, &earlier.handler),
            ("walk", &self.walk, &earlier.walk),
            ("completion", &self.completion, &earlier.completion),
        ] {
            let counts = now.since(before);
            for (quantile, per_mille) in [("median", 500), ("p99", 990)] {
                if let Some(ns) = counts.quantile_ns(per_mille) {
                    text.push_str(&format!(" {name}.{quantile}_ns={ns}"));
                }
            }
        }
        text
    }
}

/// What became of the samples by CPU time that were wanted, as sums of counters: name, what it is, value.
#[must_use]
pub fn outcomes(of: impl Fn(Counter) -> u64) -> [(&'static str, &'static str, u64); 4] {
    let sum = |is_in: &dyn Fn(Counter) -> bool| -> u64 {
        let of_them = Counter::ALL
            .iter()
            .copied()
            .filter(|counter| is_in(*counter));
        of_them.map(&of).sum()
    };
    [
        (
            "samples.wanted",
            "Periods of CPU time that threads have used: signals, and what was merged into them.",
            of(Counter::Signals) + of(Counter::Overruns),
        ),
        (
            "samples.dropped",
            "Periods of CPU time that are in no sample.",
            sum(&|counter| LOST.contains(&counter)),
        ),
        (
            "samples.failed",
            "Samples by CPU time without a stack; each names the reason.",
            sum(&|counter| counter.name().starts_with("failed.")),
        ),
        (
            "samples.truncated",
            "Samples by CPU time whose stack lacks frames; each names the reason.",
            sum(&|counter| counter.name().starts_with("truncated.")),
        ),
    ]
}

/// CPU time between two samples of a thread on average, ns; what was asked for, where there was none.
#[must_use]
pub fn achieved_ns(wanted_ns: u64, signals: u64, expiries: u64) -> u64 {
    wanted_ns
        .saturating_mul(expiries)
        .checked_div(signals)
        .unwrap_or(wanted_ns)
}

/// What each of the agent's threads used, what became of the samples that were wanted, and how full queues were.
fn own_figures(window: &WindowFacts, now: &Snapshot, earlier: &Snapshot) -> String {
    let mut text = String::new();
    for (name, _, value) in outcomes(|counter| now.since(earlier, counter)) {
        text.push_str(&format!(" {name}={value}"));
    }
    for used in &window.own {
        text.push_str(&format!(" {}={}", used.figure_name, used.cpu_ns));
    }
    for (name, most) in &window.depths {
        text.push_str(&format!(" {name}={most}"));
    }
    text
}

/// The comments of a window. Counters at zero are left out; the line says so.
#[must_use]
pub fn lines(
    facts: &Facts,
    window: &WindowFacts,
    now: &Snapshot,
    earlier: &Snapshot,
) -> Vec<String> {
    let signals = now.since(earlier, Counter::Signals);
    let achieved = achieved_ns(window.period_ns, signals, now.expiries_since(earlier));
    let counted: Vec<_> = Counter::ALL
        .iter()
        .map(|counter| (counter.name(), now.since(earlier, *counter)))
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name}={count}"))
        .collect();
    let mut lines = vec![
        format!("agent=vtprof {}", env!("CARGO_PKG_VERSION")),
        format!("jvm={}", facts.jvm),
        format!("kernel={} {}", facts.kernel, std::env::consts::ARCH),
        format!("context.strategy={}", window.strategy),
        format!("engine={}", facts.engine),
        format!(
            "{WINDOW}period.wanted_ns={} period.achieved_ns={achieved} process.cpu_ns={} sampled.cpu_ns={} agent.thread_cpu_ns={} {SESSION_START}={} start.monotonic_ns={} samples.late_ns={} agent.heap_bytes={} agent.methods_remembered={} agent.methods_noted={}{}{}",
            window.period_ns,
            window.process_cpu_ns,
            window.sampled_cpu_ns,
            window.own.iter().map(|used| used.cpu_ns).sum::<u64>(),
            facts.session_start_unix_ns,
            window.start_monotonic_ns,
            window.late_ns,
            window.heap_bytes,
            window.methods,
            window.methods_noted,
            now.times_since(earlier),
            own_figures(window, now, earlier)
        ),
        format!("{COUNTERS}{}", counted.join(" ")),
    ];
    if facts.is_stress {
        lines.push("stress: signals by the wall clock, figures are no CPU time".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_without_samples_is_even_if_what_came_in_it_was_lost_in_it() {
        let counters = Counters::new();
        let start = Snapshot::of(&counters);
        assert!(start.is_even_since(&Snapshot::ZERO));
        counters.add(Counter::Signals, 2);
        counters.add(Counter::Overruns, 3);
        counters.add(Counter::DroppedDisarmed, 4);
        // The fifth period: between two windows its handler was inside.
        let torn = Snapshot::of(&counters);
        assert!(!torn.is_even_since(&start));
        counters.add(Counter::SignalsStale, 1);
        counters.add(Counter::SignalsLate, 9);
        let end = Snapshot::of(&counters);
        assert!(!end.is_even_since(&torn));
        assert!(end.is_even_since(&start));
        // One that is in the window before, but was counted only now.
        counters.add(Counter::SamplesTaken, 1);
        assert!(!Snapshot::of(&counters).is_even_since(&start));
    }

    #[test]
    fn a_window_shows_what_was_added_in_it_and_nothing_twice() {
        let counters = Counters::new();
        counters.add(Counter::Signals, 7);
        let earlier = Snapshot::of(&counters);
        counters.add(Counter::Signals, 10);
        counters.add(Counter::Overruns, 10);
        counters.add(Counter::DroppedRingFull, 3);
        counters.add(Counter::WalkGcActive, 1);
        counters.add(Counter::WalkFaulted, 1);
        counters.add(Counter::TruncatedStale, 4);
        let used = |figure_name, cpu_ns| Used {
            figure_name,
            cpu_ns,
        };
        let window = WindowFacts {
            period_ns: 1_000_000,
            start_monotonic_ns: 15,
            late_ns: 20,
            own: vec![used("agent.drain_cpu_ns", 5), used("agent.wall_cpu_ns", 6)],
            depths: vec![("spans.queue_most", 9)],
            ..Default::default()
        };
        counters.handler.add(5_000);
        let lines = lines(
            &Facts {
                session_start_unix_ns: 17,
                ..Facts::default()
            },
            &window,
            &Snapshot::of(&counters),
            &earlier,
        );
        let text = lines.join("\n");
        for word in [
            "signals.received=10",
            "dropped.ring_full=3",
            "period.achieved_ns=2000000",
            "session.start_unix_ns=17 start.monotonic_ns=15",
            "samples.late_ns=20",
            "agent.thread_cpu_ns=11",
            "agent.drain_cpu_ns=5 agent.wall_cpu_ns=6 spans.queue_most=9",
            "samples.wanted=20 samples.dropped=3 samples.failed=2 samples.truncated=4",
            "handler.median_ns=5120 handler.p99_ns=5120",
        ] {
            assert_eq!(text.matches(word).count(), 1, "{text}");
        }
        assert!(!text.contains("signals.foreign"), "zero: {text}");
        assert!(lines.iter().all(|line| !line.contains('\n')));
    }
}
