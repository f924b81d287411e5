//! A scope that is never closed tags nothing once its span has ended, on virtual threads and in a
//! pool whose threads go on to serve others.

use vtprof_integration::report::say;
use vtprof_integration::truth_run::{TruthRun, virtual_configurations};

/// CPU time that is burnt after the ends of spans at the least, ns.
const AFTER_END: f64 = 0.4e9;

#[test]
fn an_ended_span_is_no_tag_though_its_scope_was_never_closed() {
    for (jdk, strategy) in virtual_configurations("leaked_scopes") {
        let run = TruthRun::new(&jdk, "leak", strategy)
            .seconds(4)
            .argument("--work=4000")
            .carriers(2)
            .run()
            .expect("a run");
        run.verdict.assert_no_wrong_tag();
        run.verdict.assert_all_named();
        run.verdict
            .assert_untagged_at_most(strategy.untagged_limit());
        assert!(run.verdict.right > 100, "{}", run.verdict);
        // What was burnt where a tag would be wrong was seen, so that it could have been.
        let fact = |key: &str| run.log.fact::<f64>(key).expect("a figure");
        let burnt = 1_000.0 * fact("untagged.AfterEnd") / fact("iterations_per_us");
        let seen = (run.verdict.samples_of("AfterEnd") * run.recording.grain()) as f64;
        say(&format!(
            "leaked scopes on {} by {strategy}: {:.0} ms burnt after the end, {:.0} ms in samples",
            jdk.version,
            burnt / 1e6,
            seen / 1e6
        ));
        assert!(burnt >= AFTER_END, "{burnt} ns burnt after the end");
        assert!(
            seen >= 0.5 * burnt,
            "{seen} of {burnt} ns after the end were seen: {}",
            run.verdict
        );
    }
}
