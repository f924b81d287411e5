//! No sample in a request ever carries another request's tag, over every way to block, on one
//! carrier and two, by both strategies; and next to none loses its own.
//!
//! `VTPROF_TRUTH_SAMPLES` sets how many samples each configuration has to see, the warm-up's left out: 3,000 in the
//! everyday suite, 100,000 for the published numbers (`make truth`).

use vtprof_integration::jdk;
use vtprof_integration::report::say;
use vtprof_integration::scale::headline_samples;
use vtprof_integration::sums::sampled_longer_than_they_lasted;
use vtprof_integration::truth_run::{Strategy, TruthRun};
use vtprof_integration::verdict::Verdict;

/// Scenario and carriers.
const RUNS: [(&str, u32); 12] = [
    ("mix", 1),
    ("mix", 2),
    ("storm", 1),
    ("storm", 2),
    ("fan-out", 1),
    ("fan-out", 2),
    ("platform-pool", 2),
    ("background", 1),
    ("background", 2),
    ("leak", 2),
    ("cross-thread", 2),
    ("wrong-order", 2),
];
/// In-request samples a second that a run can be hoped to give; it only sets the length of runs.
const HOPED_RATE: u64 = 200;
const MOST_ROUNDS: u32 = 8;

fn configuration(feature: u32, strategy: Strategy) {
    let name = format!("headline, {feature} by {strategy}");
    let Some(jdk) = jdk::of_feature(feature, &name) else {
        return;
    };
    let wanted = headline_samples();
    let runs = RUNS.len() as u64;
    let seconds = u32::try_from(wanted / runs / HOPED_RATE + 1).expect("a sane number of samples");
    let mut sum = Verdict::default();
    for round in 0..MOST_ROUNDS {
        for (scenario, carriers) in RUNS {
            if round > 0 && sum.total >= wanted {
                break;
            }
            let run = TruthRun::new(&jdk, scenario, strategy)
                .seconds(seconds)
                .carriers(carriers)
                .run()
                .expect("a run");
            run.verdict.assert_no_wrong_tag();
            run.verdict.assert_all_named();
            assert_eq!(
                run.verdict.unknown_span, 0,
                "tags of spans nobody made: {}",
                run.verdict
            );
            run.verdict
                .assert_untagged_at_most(strategy.untagged_limit());
            let stolen = sampled_longer_than_they_lasted(&run.recording, &run.log);
            assert!(
                stolen.is_empty(),
                "spans sampled longer than they lasted: {stolen:?}"
            );
            sum.add(&run.verdict);
        }
        say(&format!("{name}, after round {}: {sum}", round + 1));
        if sum.total >= wanted {
            break;
        }
    }
    assert!(
        sum.total >= wanted,
        "only {} of {wanted} samples",
        sum.total
    );
    assert_eq!(sum.right + sum.untagged, sum.total);
    sum.assert_untagged_at_most(strategy.untagged_limit());
}

#[test]
fn every_sample_in_a_request_carries_its_own_span_on_21_by_mount() {
    configuration(21, Strategy::Mount);
}

#[test]
fn every_sample_in_a_request_carries_its_own_span_on_25_by_mount() {
    configuration(25, Strategy::Mount);
}

#[test]
fn every_sample_in_a_request_carries_its_own_span_on_25_by_sample() {
    configuration(25, Strategy::Sample);
}

#[test]
fn every_sample_in_a_request_carries_its_own_span_on_26_by_mount() {
    configuration(26, Strategy::Mount);
}

#[test]
fn every_sample_in_a_request_carries_its_own_span_on_26_by_sample() {
    configuration(26, Strategy::Sample);
}

#[test]
fn every_sample_in_a_request_carries_its_own_span_on_27_by_mount() {
    configuration(27, Strategy::Mount);
}

#[test]
fn every_sample_in_a_request_carries_its_own_span_on_27_by_sample() {
    configuration(27, Strategy::Sample);
}
