//! Each way to block, alone: a mistake in one of them must not hide among the others.

use vtprof_integration::truth_run::{TruthRun, virtual_configurations};

#[test]
fn a_request_keeps_its_tag_over_each_single_way_to_block() {
    for (jdk, strategy) in virtual_configurations("waits") {
        for wait in [
            "sleep",
            "park",
            "lock",
            "monitor",
            "object_wait",
            "queue",
            "socket",
            "future",
            "yield",
        ] {
            let run = TruthRun::new(&jdk, "mix", strategy)
                .seconds(1)
                .carriers(2)
                .argument(format!("--waits={wait}"))
                .argument("--work=2000")
                .run()
                .unwrap_or_else(|error| panic!("{wait}: {error:#}"));
            run.verdict.assert_no_wrong_tag();
            run.verdict.assert_all_named();
            run.verdict
                .assert_untagged_at_most(strategy.untagged_limit());
            assert!(run.verdict.right > 100, "{wait}: {}", run.verdict);
        }
    }
}
