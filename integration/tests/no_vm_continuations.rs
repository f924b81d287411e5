//! Without the VM's continuations a virtual thread is a thread of the platform and no mount event
//! comes: tags are right there, or none.

use vtprof_integration::jdk;
use vtprof_integration::truth_run::{Strategy, TruthRun};

#[test]
fn without_vm_continuations_tags_are_right_or_none() {
    for jdk in jdk::each_from(jdk::VIRTUAL_THREADS, "no_vm_continuations") {
        let run = TruthRun::new(&jdk, "mix", Strategy::Auto)
            .seconds(4)
            .flag("-XX:+UnlockExperimentalVMOptions")
            .flag("-XX:-VMContinuations")
            .run()
            .expect("a run");
        run.verdict.assert_no_wrong_tag();
        run.verdict.assert_all_named();
        assert!(run.verdict.total > 300, "{}", run.verdict);
        let strategy = run.recording.fact("context.strategy").unwrap_or("none");
        assert!(
            run.verdict.right > 0
                || run
                    .finished
                    .agent_lines()
                    .iter()
                    .any(|line| line.contains("virtual")),
            "no tag at all and no word about it ({strategy}): {}",
            run.finished.stderr
        );
    }
}
