//! Platform threads on every JDK, 17 included: the same requests, the same rule.

use vtprof_integration::jdk;
use vtprof_integration::truth_run::{Strategy, TruthRun};

#[test]
fn requests_on_platform_threads_carry_their_own_span() {
    for jdk in jdk::ends("platform_threads") {
        for scenario in ["mix", "platform-pool", "leak", "cross-thread", "fan-out"] {
            let run = TruthRun::new(&jdk, scenario, Strategy::Auto)
                .seconds(3)
                .argument("--work=2500")
                .argument("--kind=platform")
                .run()
                .expect("a run");
            run.verdict.assert_no_wrong_tag();
            run.verdict.assert_all_named();
            // No thread changes places here, so nothing can get lost.
            run.verdict.assert_untagged_at_most(0.001);
            assert!(run.verdict.right > 200, "{scenario}: {}", run.verdict);
        }
    }
}
