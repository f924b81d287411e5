//! A span that starts on one thread and ends on another leaves no tag behind, and the thread that
//! ends it keeps its own.

use vtprof_integration::truth_run::assert_tags_are_right;

#[test]
fn a_span_ended_by_another_thread_leaves_its_own_and_not_the_enders() {
    assert_tags_are_right("cross_thread", "cross-thread", 2_000, |run| {
        run.assert_untagged_work_was_seen("AfterEnd", 50.0);
    });
}
