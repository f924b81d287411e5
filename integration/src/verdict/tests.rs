//! The judgement on samples whose answer is known; a check that cannot fail would prove nothing.

use super::*;
use vtprof_profile::ids::{SpanId, TraceId};

const WINDOW: (i64, i64) = (10_000_000_000, 20_000_000_000);

fn span(log: &mut TruthLog, burner: &str, id: u64, root: u64) {
    log.add(SpanTruth {
        burner: burner.to_owned(),
        name: burner.to_lowercase(),
        first_name: "request".to_owned(),
        trace: TraceId::from_halves(1, root),
        span: SpanId(id),
        local_root: SpanId(root),
        start: 12_000_000_000,
        end: Some(13_000_000_000),
        iterations: 1,
        parallel: false,
        least: 0,
    })
    .expect("a new span");
}

fn log() -> TruthLog {
    let mut log = TruthLog::default();
    log.burners.extend(NEVER_TAGGED.map(str::to_owned));
    span(&mut log, "Root01", 1, 1);
    span(&mut log, "Root02", 2, 2);
    span(&mut log, "Child05", 5, 1);
    log
}

fn sample(frames: &[&str], tag: Option<(u64, u64, u64, &str)>) -> Sample {
    Sample {
        lines: vec![0; frames.len()],
        leaf_file: "".into(),
        frames: frames
            .iter()
            .map(|frame| match frame.split_once('.') {
                Some((class, method)) if !frame.contains('/') => {
                    format!("io.vtprof.truth.burn.{class}.{method}").into()
                }
                _ => (*frame).into(),
            })
            .collect(),
        tag: tag.map(|(trace, span, local_root, name)| Tag {
            trace: TraceId::from_halves(1, trace),
            span: SpanId(span),
            local_root: SpanId(local_root),
            name: name.to_owned(),
        }),
        thread: None,
        count: 1,
        nanos: 1,
        window: WINDOW,
    }
}

fn judged(sample: Sample) -> Verdict {
    Verdict::of(
        &Recording {
            windows: Vec::new(),
            samples: vec![sample],
        },
        &log(),
    )
}

#[test]
fn the_own_span_is_right_for_root_and_child() {
    let root = judged(sample(
        &["Root01.burn", "Root01.work", "Root01.serve"],
        Some((1, 1, 1, "root01")),
    ));
    assert_eq!((root.total, root.right), (1, 1));
    let child = judged(sample(
        &[
            "Child05.burn",
            "Child05.work",
            "Child05.serve",
            "Root01.serve",
        ],
        Some((1, 5, 1, "root01")),
    ));
    assert_eq!((child.total, child.right), (1, 1));
}

#[test]
fn every_part_of_a_tag_can_be_wrong() {
    let child = ["Child05.burn", "Child05.work", "Root01.serve"];
    for (what, tag) in [
        ("the parent's span", (1, 1, 1, "root01")),
        ("another trace", (2, 5, 1, "root01")),
        ("another local root", (1, 5, 2, "root01")),
        ("another name", (1, 5, 1, "root02")),
        ("a span that is none", (1, 9, 1, "root01")),
    ] {
        let verdict = judged(sample(&child, Some(tag)));
        assert_eq!((verdict.wrong, verdict.right), (1, 0), "{what}");
        assert_eq!(verdict.examples.len(), 1, "{what}");
    }
    let under_another = judged(sample(
        &["Child05.burn", "Root02.serve"],
        Some((1, 5, 1, "root01")),
    ));
    assert_eq!(under_another.wrong, 1);
}

#[test]
fn the_first_name_is_right_only_while_the_span_goes_on_past_the_window() {
    let mut early = sample(&["Root01.burn"], Some((1, 1, 1, "request")));
    assert_eq!(judged(early.clone()).wrong, 1);
    early.window = (10_000_000_000, 12_500_000_000);
    let verdict = judged(early);
    assert_eq!((verdict.right, verdict.early_name), (1, 1));
}

#[test]
fn the_warm_up_is_judged_but_counted_apart() {
    let mut log = log();
    log.add(SpanTruth {
        name: WARM_UP.to_owned(),
        first_name: String::new(),
        span: SpanId(7),
        local_root: SpanId(7),
        ..log.spans[&SpanId(1)].clone()
    })
    .expect("a new span");
    for (trace, found) in [(1, (0, 0, 1, 0)), (2, (1, 0, 0, 1))] {
        let recording = Recording {
            windows: Vec::new(),
            samples: vec![sample(&["Root01.burn"], Some((trace, 7, 7, WARM_UP)))],
        };
        let verdict = Verdict::of(&recording, &log);
        let counts = (verdict.total, verdict.right, verdict.warm_up, verdict.wrong);
        assert_eq!(counts, found);
    }
}

#[test]
fn a_tag_without_a_name_is_counted_apart() {
    let verdict = judged(sample(&["Root01.burn"], Some((1, 1, 1, UNKNOWN_NAME))));
    assert_eq!((verdict.right, verdict.unnamed), (1, 1));
    assert!(std::panic::catch_unwind(|| verdict.assert_all_named()).is_err());
}

#[test]
fn a_tag_outside_the_life_of_its_span_is_wrong() {
    let mut late = sample(&["Root01.burn"], Some((1, 1, 1, "root01")));
    late.window = (15_000_000_000, 20_000_000_000);
    assert_eq!(judged(late).wrong, 1);
}

#[test]
fn work_without_a_span_must_have_no_tag() {
    let tagged = judged(sample(&["Background.burn"], Some((1, 1, 1, "root01"))));
    assert_eq!(tagged.tagged_without_span, 1);
    let clean = judged(sample(&["AfterEnd.burn", "Root01.serve"], None));
    assert_eq!((clean.without_span, clean.total), (1, 0));
}

#[test]
fn a_thread_of_the_jvm_must_have_no_tag() {
    let mut collector = sample(&["java/G1"], Some((1, 1, 1, "root01")));
    collector.thread = Some("GC Thread#N".into());
    assert_eq!(judged(collector).tagged_without_span, 1);
}

#[test]
fn around_a_request_only_another_requests_tag_is_wrong() {
    let frames = ["java/Park", "Child05.serve", "Root01.serve"];
    for tag in [None, Some((1, 1, 1, "root01")), Some((1, 5, 1, "root01"))] {
        let verdict = judged(sample(&frames, tag));
        assert_eq!((verdict.around, verdict.around_wrong), (1, 0));
    }
    assert_eq!(
        judged(sample(&frames, Some((2, 2, 2, "root02")))).around_wrong,
        1
    );
}

/// What a profiler does that keeps the tag on the OS thread: X parks, Y starts there, X goes on
/// under Y's tag. The check must see it, or it proves nothing.
#[test]
fn tags_kept_on_the_carrier_are_found_out() {
    let log = log();
    let carrier =
        |burner: &str, tag| sample(&[&format!("{burner}.burn"), &format!("{burner}.work")], tag);
    let (x, y) = ((1, 1, 1, "root01"), (2, 2, 2, "root02"));
    let recording = Recording {
        windows: Vec::new(),
        samples: vec![
            carrier("Root01", Some(x)),
            carrier("Root02", Some(y)),
            carrier("Root01", Some(y)),
            carrier("Root01", None),
            carrier("Background", Some(y)),
        ],
    };
    let verdict = Verdict::of(&recording, &log);
    assert_eq!(
        (
            verdict.total,
            verdict.right,
            verdict.wrong,
            verdict.untagged
        ),
        (4, 2, 1, 1)
    );
    assert_eq!(verdict.tagged_without_span, 1);
    assert!(std::panic::catch_unwind(|| verdict.assert_no_wrong_tag()).is_err());
}
