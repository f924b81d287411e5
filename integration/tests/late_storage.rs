//! The context storage cannot be wrapped any more: the shim says so once, and follows starts and
//! ends of spans instead. Where a request stays on the thread that started it, that is as right.

use vtprof_integration::truth_run::{TruthRun, virtual_configurations};

#[test]
fn without_the_wrapper_one_warning_and_tags_by_start_and_end() {
    for (jdk, strategy) in virtual_configurations("late_storage") {
        let run = TruthRun::new(&jdk, "mix", strategy)
            .seconds(3)
            .carriers(2)
            .argument("--otel=late")
            .run()
            .expect("a run");
        run.verdict.assert_no_wrong_tag();
        run.verdict.assert_all_named();
        run.verdict
            .assert_untagged_at_most(strategy.untagged_limit());
        assert!(run.verdict.right > 100, "{}", run.verdict);
        let warnings = run
            .finished
            .stderr
            .lines()
            .filter(|line| line.starts_with("WARNING"))
            .count();
        assert_eq!(warnings, 1, "{}", run.finished.stderr);
    }
}
