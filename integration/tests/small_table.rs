//! More threads in a span than the table of contexts holds: what does not fit is counted and
//! untagged, never wrong.

use vtprof_integration::truth_run::{TruthRun, virtual_configurations};

#[test]
fn a_full_table_of_contexts_costs_tags_and_makes_none_wrong() {
    for (jdk, strategy) in virtual_configurations("small_table") {
        let mut run = TruthRun::new(&jdk, "mix", strategy).seconds(3).carriers(2);
        run.options = ",contexts=16".to_owned();
        let run = run.run().expect("a run");
        run.verdict.assert_no_wrong_tag();
        assert!(run.verdict.right > 50, "{}", run.verdict);
        assert!(
            run.verdict.untagged > 50,
            "nothing overflowed: {}",
            run.verdict
        );
        let overflow = run.recording.counter("untagged.context_table_full");
        assert!(
            overflow.is_some_and(|count| count > 0),
            "not counted: {overflow:?}"
        );
    }
}
