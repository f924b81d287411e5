use super::*;
use crate::drain::recorder::tests::{Names, bench, ended, rows, tag};
use crate::spans::event::SpanEvent;

#[test]
fn a_root_that_ends_while_names_are_asked_for_has_its_last_name_and_is_a_span_of_the_next_window() {
    let mut bench = bench();
    let spans = bench.spans;
    for root in [5, 6, 7] {
        spans.push(SpanEvent::Started {
            span: root,
            root,
            root_name: Some("GET".to_owned()),
        });
        bench.cpu(tag(root), 1);
    }
    spans.push(ended(5, "GET /before", now_ns()));
    bench.recorder.drain(&Names);
    let windows = bench.recorder.next_windows();
    let (in_this_window, _) = bench.recorder.ended.take();

    // A sample of its last moments, which is read when its end is known.
    bench.cpu(tag(6), 1);
    let ask = |root| {
        assert_ne!(root, 5, "has ended");
        if root == 7 {
            return Some("GET /open".to_owned());
        }
        spans.push(ended(root, "GET /meanwhile", now_ns()));
        None
    };
    let asked = root_names(&mut bench.recorder, &windows, ask);
    assert_eq!(asked, HashMap::from([(7, Arc::from("GET /open"))]));
    let name = |recorder: &Recorder, root| recorder.root_name(root, |_| None).to_string();
    assert_eq!(name(&bench.recorder, 5), "GET /before");
    assert_eq!(name(&bench.recorder, 6), "GET /meanwhile");

    bench.recorder.names.next_window();
    bench.recorder.drain(&Names);
    let next = bench.recorder.next_windows();
    let spans_of = |window| -> Vec<_> { rows(window).iter().map(|row| row.2).collect() };
    assert_eq!(spans_of(&windows[Kind::Cpu]), [5, 6, 7]);
    assert_eq!(spans_of(&next[Kind::Cpu]), [6]);
    assert_eq!(name(&bench.recorder, 6), "GET /meanwhile");
    let (in_next_window, _) = bench.recorder.ended.take();
    let ids = |spans: &[SpanRecord]| -> Vec<_> { spans.iter().map(|span| span.span.0).collect() };
    assert_eq!(
        (ids(&in_this_window), ids(&in_next_window)),
        (vec![5], vec![6])
    );
}
