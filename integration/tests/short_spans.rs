//! 100,000 spans of 200 to 400 µs, two names, one drawn three times as often: each is too short to be seen,
//! their sums are right as far as chance lets them.

use vtprof_integration::jdk;
use vtprof_integration::report::say;
use vtprof_integration::sums::shares_by_name;
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
    let shares = shares_by_name(&run.recording, &run.log, &["frequent", "rare"]);
    let rare = &shares[1];
    say(&format!(
        "short spans: {} times their part of the samples, chance gives {:.1} %",
        rare.excess(),
        100.0 * rare.sigma / (rare.burnt * (1.0 - rare.burnt))
    ));
    assert!(rare.sigma < 0.006, "few samples: {rare:?}");
    assert!(
        (rare.sampled - rare.burnt).abs() < 4.5 * rare.sigma,
        "{rare:?}"
    );
}
