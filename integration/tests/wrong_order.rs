//! Scopes closed in the wrong order: the tag follows what OpenTelemetry says is current.

use vtprof_integration::truth_run::assert_tags_are_right;

#[test]
fn the_tag_is_the_current_span_when_scopes_close_in_the_wrong_order() {
    assert_tags_are_right("wrong_order", "wrong-order", 2_000, |_| {});
}
