//! Unsampled spans, unsampled children of sampled ones and callers' ids without a span of this
//! process are no tags; the sampled span around them gets its tag back.

use vtprof_integration::report::say;
use vtprof_integration::truth_run::{TruthRun, virtual_configurations};

const UNSAMPLED: &str = "Unsampled";
/// CPU that each run burns at least, ms: more than half of it is of no sampled span.
const WORK_MS: u32 = 2_000;

#[test]
fn what_is_not_recorded_is_never_a_tag() {
    for (jdk, strategy) in virtual_configurations("unsampled_spans") {
        let run = TruthRun::new(&jdk, "unsampled", strategy)
            .seconds(4)
            .carriers(2)
            .argument(format!("--work={WORK_MS}"))
            .run()
            .expect("a run");
        run.verdict.assert_no_wrong_tag();
        run.verdict.assert_all_named();
        run.verdict
            .assert_untagged_at_most(strategy.untagged_limit());
        assert!(run.verdict.right > 100, "{}", run.verdict);

        // Untagged is not enough: they must be there. By the program's own count of what it burnt, since its
        // iterations cost what they did at their fastest, or more.
        let iterations: f64 = run
            .log
            .fact(&format!("untagged.{UNSAMPLED}"))
            .expect("a count");
        let speed: f64 = run.log.fact("iterations_per_us").expect("a speed");
        let burnt = iterations / speed / 1e3;
        let sampled = (run.verdict.samples_of(UNSAMPLED) * run.recording.grain()) as f64 / 1e6;
        say(&format!(
            "unsampled spans on {} by {strategy}: {burnt:.0} ms burnt, {sampled:.0} ms sampled",
            jdk.version
        ));
        assert!(burnt >= f64::from(WORK_MS) / 4.0, "{burnt} ms burnt");
        assert!(
            sampled >= burnt / 2.0,
            "{sampled} ms sampled of {burnt}: {}",
            run.verdict
        );
    }
}
