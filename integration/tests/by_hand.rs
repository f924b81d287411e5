//! The SDK put together by hand with the two lines of the manual works as autoconfiguration does.

use vtprof_integration::jdk;
use vtprof_integration::truth_run::{Strategy, TruthRun};

#[test]
fn two_lines_by_hand_are_enough() {
    for jdk in jdk::ends("by_hand") {
        let run = TruthRun::new(&jdk, "mix", Strategy::Auto)
            .seconds(3)
            .argument("--otel=hand")
            .argument("--work=2000")
            .run()
            .expect("a run");
        run.verdict.assert_no_wrong_tag();
        run.verdict.assert_all_named();
        run.verdict
            .assert_untagged_at_most(Strategy::Auto.untagged_limit());
        assert!(run.verdict.right > 200, "{}", run.verdict);
    }
}
