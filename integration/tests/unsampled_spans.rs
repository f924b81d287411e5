//! Unsampled spans, unsampled children of sampled ones and callers' ids without a span of this
//! process are no tags; the sampled span around them gets its tag back.

use vtprof_integration::truth_run::assert_tags_are_right;

#[test]
fn what_is_not_recorded_is_never_a_tag() {
    assert_tags_are_right("unsampled_spans", "unsampled", 2_000, |run| {
        run.assert_untagged_work_was_seen("Unsampled", 125.0);
    });
}
