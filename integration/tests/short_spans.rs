//! 100,000 spans of 300 µs, two names three to one: each is too short to be seen, their sums are
//! right within 5 %.

use vtprof_integration::jdk;
use vtprof_integration::sums::ratio_by_name;
use vtprof_integration::truth_run::{Strategy, TruthRun};

#[test]
fn spans_far_shorter_than_the_period_add_up_by_name() {
    let Some(jdk) = jdk::newest_virtual("short_spans") else {
        return;
    };
    let run = TruthRun::new(&jdk, "short-spans", Strategy::Auto)
        .argument("--count=100000")
        .run()
        .expect("a run");
    run.verdict.assert_no_wrong_tag();
    run.verdict.assert_all_named();
    run.verdict
        .assert_untagged_at_most(Strategy::Auto.untagged_limit());
    let (burnt, sampled) = ratio_by_name(&run.recording, &run.log, "frequent", "rare");
    assert!(
        (burnt - 3.0).abs() < 0.001,
        "the program burnt {burnt} to one"
    );
    assert!(
        (sampled / 3.0 - 1.0).abs() < 0.05,
        "the samples say {sampled:.3} to one"
    );
}
