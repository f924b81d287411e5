//! A span that starts on one thread and ends on another leaves no tag behind, and the thread that
//! ends it keeps its own.

use vtprof_integration::sums::{at_least_half, ticks_of_untagged};
use vtprof_integration::truth_run::assert_tags_are_right_in;

#[test]
fn a_span_ended_by_another_thread_leaves_its_own_and_not_the_enders() {
    assert_tags_are_right_in("cross_thread", "cross-thread", |run| {
        let found = run.verdict.samples_of("AfterEnd");
        let ticks = ticks_of_untagged(&run.log, "AfterEnd", run.recording.grain()).expect("ticks");
        assert!(ticks > 50.0, "only {ticks} ticks: {}", run.verdict);
        assert!(
            at_least_half(found, ticks),
            "{found} of {ticks}: {}",
            run.verdict
        );
    });
}
