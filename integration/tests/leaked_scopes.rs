//! A scope that is never closed tags nothing once its span has ended, on virtual threads and in a
//! pool whose threads go on to serve others.

use vtprof_integration::truth_run::assert_tags_are_right;

#[test]
fn an_ended_span_is_no_tag_though_its_scope_was_never_closed() {
    assert_tags_are_right("leaked_scopes", "leak", 4_000, |run| {
        run.assert_untagged_work_was_seen("AfterEnd", 100.0);
    });
}
