//! Beside the profiles lie the spans that ended: every one, once, under its final name, and none that
//! was not sampled.

use vtprof_integration::jdk;
use vtprof_integration::span_files;
use vtprof_integration::sums::WARM_UP;
use vtprof_integration::truth_run::{Strategy, TruthRun};

#[test]
fn every_span_that_ended_is_listed_once_under_its_final_name() {
    let jdk = jdk::each("span_lists").pop().expect("a JDK");
    let run = TruthRun::new(&jdk, "mix", Strategy::Auto)
        .seconds(4)
        .every("1s")
        .run()
        .expect("a run");
    let reported = span_files::read(&run.dir.path().join("out")).expect("span lists");
    let ended: Vec<_> = run
        .log
        .spans
        .values()
        .filter(|span| span.end.is_some())
        .collect();
    let of_requests = ended.iter().filter(|span| span.name != WARM_UP).count();
    assert!(of_requests > 200, "only {of_requests} spans of requests");
    let mut least = 0;
    for span in &ended {
        let Some(listed) = reported.get(&span.span) else {
            panic!(
                "{span:?} is not listed ({} of {} are)",
                reported.len(),
                ended.len()
            );
        };
        assert_eq!(listed.name, span.name, "{span:?}");
        assert_eq!(listed.trace, span.trace, "{span:?}");
        let length = listed.end - listed.start;
        // Both by the monotonic clock, and the program's own runs from before the start to after the end.
        assert!(Some(length) <= span.duration(), "{length} ns of {span:?}");
        assert!(length >= span.least, "{length} ns of {span:?}");
        least += span.least;
    }
    assert!(
        least > 0,
        "the program has not looked how long its spans were"
    );
    assert_eq!(
        reported.len(),
        ended.len(),
        "spans that are none of the program's"
    );
}

#[test]
fn spans_that_are_not_sampled_are_not_listed() {
    let jdk = jdk::each("span_lists").pop().expect("a JDK");
    let run = TruthRun::new(&jdk, "unsampled", Strategy::Auto)
        .seconds(2)
        .run()
        .expect("a run");
    let reported = span_files::read(&run.dir.path().join("out")).expect("span lists");
    let of_requests = reported.values().filter(|span| span.name != WARM_UP);
    assert!(of_requests.count() > 50);
    for (id, span) in reported {
        assert!(run.log.spans.contains_key(&id), "{span:?}");
    }
}
