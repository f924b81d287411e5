//! Compares sums of CPU time with what was burnt: by class, and by span with how long it lasted.
//!
//! A tag on the wrong request of the same class passes the comparison with frames; it does not
//! pass here, where a span would have more CPU than it lasted.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use vtprof_profile::ids::SpanId;

use crate::recording::{Recording, Sample};
use crate::truth::{NEVER_TAGGED, TruthLog};
use crate::verdict::burner_frame;

/// Spans of this name only bring code to full speed; their first iterations cost more than others.
pub const WARM_UP: &str = "warm-up";

/// What the samples charge to one span.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    /// Samples.
    pub count: u64,
    /// CPU time they stand for, ns.
    pub nanos: u64,
    /// The same without what a thread cannot have burnt between two samples of its own, ns.
    pub burnt: u64,
}

/// The charge of each span by tag; only samples that burn, so that nothing of the libraries counts.
pub fn by_span(recording: &Recording) -> HashMap<SpanId, Charge> {
    let grain = recording.grain();
    let mut charges: HashMap<SpanId, Charge> = HashMap::new();
    for sample in &recording.samples {
        let burns = sample
            .frames
            .iter()
            .find_map(|frame| burner_frame(frame))
            .is_some_and(|(_, method)| method != "serve");
        if let (Some(tag), true) = (&sample.tag, burns) {
            let charge = charges.entry(tag.span).or_default();
            charge.count += sample.count;
            charge.nanos += sample.nanos;
            charge.burnt += burnt_nanos(sample, grain);
        }
    }
    charges
}

/// Spans that were sampled more often than a thread can be while they lasted, with charge and
/// duration in ns. Left out are those that several threads worked for.
///
/// Two ticks may come beside those that fit: at its begin and at its end. A short span that moves to another carrier
/// may be ticked once more, there.
///
/// By samples and not by the CPU time they stand for: a thread that works in bursts shorter than a
/// tick is rarely running when one comes, and the sample it then gives stands for bursts of others
/// before it, too. That is right on average and says nothing about one span.
pub fn sampled_longer_than_they_lasted(
    recording: &Recording,
    log: &TruthLog,
) -> Vec<(SpanId, Charge, u64)> {
    let grain = recording.grain();
    bounded(recording, log, |charge, lasted| {
        let beside = if lasted < 4 * grain { 3 } else { 2 };
        charge.count.saturating_sub(beside) * grain
    })
}

/// Spans that were charged with more CPU than they lasted, where bursts are longer than a tick. The
/// first sample of a burst may stand for a part of the one before it, the last may come late.
pub fn charged_more_than_they_lasted(
    recording: &Recording,
    log: &TruthLog,
) -> Vec<(SpanId, Charge, u64)> {
    let slack = 4 * recording.grain();
    bounded(recording, log, |charge, _| {
        charge.nanos.saturating_sub(slack)
    })
}

fn bounded(
    recording: &Recording,
    log: &TruthLog,
    least: impl Fn(Charge, u64) -> u64,
) -> Vec<(SpanId, Charge, u64)> {
    by_span(recording)
        .into_iter()
        .filter_map(|(id, charge)| {
            let span = log.spans.get(&id)?;
            let lasted = span.duration()?;
            (!span.parallel && least(charge, lasted) > lasted).then_some((id, charge, lasted))
        })
        .collect()
}

/// Ticks that one sample stands for at the most where CPU time is compared with work that was counted.
const MOST_TICKS: u64 = 8;

/// CPU time of a sample, ns, without what no thread can have burnt between two samples of its own: some clocks of
/// CPU time go on while a hypervisor has stopped the machine, and the sample after it stands for all of that.
fn burnt_nanos(sample: &Sample, grain: u64) -> u64 {
    sample.nanos.min(MOST_TICKS * grain * sample.count)
}

/// Ticks of a clock of that grain, ns, in the CPU time that a class burnt where no span may be charged: as many samples
/// of it are to be expected.
///
/// # Errors
/// The log does not say how much that was.
pub fn ticks_of_untagged(log: &TruthLog, burner: &str, grain: u64) -> Result<f64> {
    let iterations: u64 = log.fact(&format!("untagged.{burner}"))?;
    let an_us: f64 = log.fact("iterations_per_us")?;
    Ok(iterations as f64 / an_us * 1e3 / grain as f64)
}

/// Whether so many samples are at least half of those expected, as far as chance can tell.
pub fn at_least_half(samples: u64, expected: f64) -> bool {
    samples as f64 >= expected / 2.0 - 3.0 * expected.sqrt()
}

/// The share of one class, or of the spans of one name, in the work and in the samples, 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The class, or the name.
    pub whose: String,
    /// By iterations.
    pub burnt: f64,
    /// By CPU time in the samples.
    pub sampled: f64,
    /// Standard deviation that chance gives `sampled`.
    pub sigma: f64,
}

impl Share {
    /// Whether chance and a tenth of unequal speed explain the difference.
    pub fn plausible(&self) -> bool {
        (self.sampled - self.burnt).abs() <= 6.0 * self.sigma + 0.1 * self.burnt
    }

    /// How many times its part of all the others' work its part of their samples is.
    pub fn excess(&self) -> f64 {
        let against_others = |share: f64| share / (1.0 - share);
        against_others(self.sampled) / against_others(self.burnt)
    }
}

/// The shares of the classes in all spans, warm-up left out.
pub fn shares(recording: &Recording, log: &TruthLog) -> Vec<Share> {
    let spans = log.spans.values().filter(|span| span.name != WARM_UP);
    let samples = recording.samples.iter().filter_map(|sample| {
        let (class, method) = sample.frames.iter().find_map(|frame| burner_frame(frame))?;
        let warm_up = sample.tag.as_ref().is_some_and(|tag| tag.name == WARM_UP);
        let counts = method != "serve" && !warm_up && !NEVER_TAGGED.contains(&class);
        counts.then_some((class, sample))
    });
    compare(
        spans.map(|span| (span.burner.as_str(), span.iterations)),
        samples,
        recording.grain(),
    )
}

/// The shares of the spans of these names, among those of all of them.
pub fn shares_by_name(recording: &Recording, log: &TruthLog, names: &[&str]) -> Vec<Share> {
    let spans = log
        .spans
        .values()
        .map(|span| (span.name.as_str(), span.iterations));
    let samples = recording
        .samples
        .iter()
        .filter_map(|sample| Some((sample.tag.as_ref()?.name.as_str(), sample)));
    compare(
        spans.filter(|(name, _)| names.contains(name)),
        samples.filter(|(name, _)| names.contains(name)),
        recording.grain(),
    )
}

fn compare<'a>(
    work: impl Iterator<Item = (&'a str, u64)>,
    samples: impl Iterator<Item = (&'a str, &'a Sample)>,
    grain: u64,
) -> Vec<Share> {
    let mut iterations: BTreeMap<&str, u64> = BTreeMap::new();
    for (whose, burnt) in work {
        *iterations.entry(whose).or_default() += burnt;
    }
    let mut nanos: BTreeMap<&str, u64> = BTreeMap::new();
    let mut squares = 0.0;
    for (whose, sample) in samples {
        let burnt = burnt_nanos(sample, grain);
        *nanos.entry(whose).or_default() += burnt;
        squares += (burnt as f64).powi(2) / sample.count as f64;
    }
    let all_iterations = iterations.values().sum::<u64>().max(1) as f64;
    let all_nanos = nanos.values().sum::<u64>().max(1) as f64;
    // As many draws of one weight would scatter as much as these of many.
    let draws = (all_nanos.powi(2) / f64::max(squares, 1.0)).max(1.0);
    iterations
        .iter()
        .map(|(whose, &burnt)| {
            let burnt = burnt as f64 / all_iterations;
            Share {
                whose: (*whose).to_owned(),
                burnt,
                sampled: nanos.get(whose).copied().unwrap_or(0) as f64 / all_nanos,
                sigma: (burnt * (1.0 - burnt) / draws).sqrt(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Tag, Window};
    use crate::truth::SpanTruth;
    use vtprof_profile::ids::TraceId;

    fn span(id: u64, burner: &str, duration: i64, iterations: u64) -> SpanTruth {
        SpanTruth {
            burner: burner.to_owned(),
            name: "GET /".to_owned(),
            first_name: String::new(),
            trace: TraceId::from_halves(0, 1),
            span: SpanId(id),
            local_root: SpanId(id),
            start: 0,
            end: Some(duration),
            iterations,
            parallel: false,
            least: 0,
        }
    }

    fn sample(id: u64, burner: &str, nanos: u64) -> Sample {
        Sample {
            frames: vec![format!("io.vtprof.truth.burn.{burner}.burn").into()],
            lines: vec![0],
            leaf_file: "".into(),
            tag: Some(Tag {
                trace: TraceId::from_halves(0, 1),
                span: SpanId(id),
                local_root: SpanId(id),
                name: "GET /".to_owned(),
            }),
            thread: None,
            count: 1,
            nanos,
            window: (0, 0),
        }
    }

    /// So many samples of 10 ms each.
    fn ticks(id: u64, burner: &str, count: u64) -> Sample {
        Sample {
            count,
            ..sample(id, burner, count * 10_000_000)
        }
    }

    fn recording(samples: Vec<Sample>) -> Recording {
        Recording {
            windows: vec![Window {
                path: "x".into(),
                start: 0,
                monotonic: 0,
                duration: 0,
                period: 10_000_000,
                facts: HashMap::new(),
            }],
            samples,
        }
    }

    fn log(spans: Vec<SpanTruth>) -> TruthLog {
        let mut log = TruthLog::default();
        for span in spans {
            log.add(span).expect("a new span");
        }
        log
    }

    #[test]
    fn a_span_with_more_cpu_than_it_lasted_is_found() {
        let log = log(vec![
            span(1, "Root01", 20_000_000, 1),
            span(2, "Root01", 900_000_000, 1),
        ]);
        let fair = recording(vec![
            sample(1, "Root01", 40_000_000),
            sample(2, "Root01", 900_000_000),
        ]);
        assert_eq!(charged_more_than_they_lasted(&fair, &log), []);
        let stolen = recording(vec![sample(1, "Root01", 61_000_000)]);
        let found = charged_more_than_they_lasted(&stolen, &log);
        assert_eq!(found[0].0, SpanId(1));
    }

    #[test]
    fn a_span_with_more_samples_than_fit_into_it_is_found() {
        let log = log(vec![
            span(1, "Root01", 20_000_000, 1),
            span(2, "Root01", 60_000_000, 1),
        ]);
        // 10 ms apart: two and six fit, one more at either end, and in the short one another.
        for (id, most) in [(1, 5), (2, 8)] {
            let samples = |count| vec![sample(id, "Root01", 1); count];
            assert_eq!(
                sampled_longer_than_they_lasted(&recording(samples(most)), &log),
                []
            );
            let found = sampled_longer_than_they_lasted(&recording(samples(most + 1)), &log);
            assert_eq!(found[0].1.count, most as u64 + 1);
        }
    }

    #[test]
    fn a_class_that_lost_its_samples_to_another_is_implausible() {
        let log = log(vec![span(1, "Root01", 1, 500), span(2, "Root02", 1, 500)]);
        let even = recording(vec![ticks(1, "Root01", 5_050), ticks(2, "Root02", 4_950)]);
        assert!(shares(&even, &log).iter().all(Share::plausible));
        let skewed = recording(vec![ticks(1, "Root01", 7_000), ticks(2, "Root02", 3_000)]);
        assert!(!shares(&skewed, &log).iter().any(Share::plausible));
    }

    #[test]
    fn a_stop_of_the_machine_that_one_sample_stands_for_makes_no_class_implausible() {
        let log = log(vec![span(1, "Root01", 1, 500), span(2, "Root02", 1, 500)]);
        let stopped = recording(vec![
            ticks(1, "Root01", 500),
            sample(1, "Root01", 2_000_000_000),
            ticks(2, "Root02", 500),
        ]);
        assert!(shares(&stopped, &log).iter().all(Share::plausible));
        assert_eq!(by_span(&stopped)[&SpanId(1)].burnt, 5_080_000_000);
    }
}
