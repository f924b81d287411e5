//! The builder refuses what readers would, and keeps what it takes.

use super::*;

const TYPES: [ValueType<'static>; 2] = [
    ValueType {
        kind: "samples",
        unit: "count",
    },
    ValueType {
        kind: "cpu",
        unit: "nanoseconds",
    },
];

fn builder() -> ProfileBuilder {
    ProfileBuilder::new(&TYPES, TYPES[1], 10_000_000)
}

#[test]
fn same_stack_and_labels_add_up_whatever_the_order_of_labels() {
    let mut b = builder();
    let f = b.function("a.B.c", "a.B.c()V", "B.java", 3);
    let at = b.location(f, 7);
    b.sample(&[at], &[1, 10], &[("x", "1"), ("y", "2")])
        .unwrap();
    b.sample(&[at], &[2, 20], &[("y", "2"), ("x", "1")])
        .unwrap();
    b.sample(&[at], &[4, 40], &[("x", "2"), ("y", "1")])
        .unwrap();
    assert_eq!(b.sample_count(), 2);
    let p = b.finish();
    assert_eq!(p.sample[0].value, [3, 30]);
    assert_eq!(p.sample[1].value, [4, 40]);
    assert_eq!(p.text(p.sample[1].label[0].str), "2");
}

#[test]
fn a_label_without_text_is_left_out_and_never_becomes_a_number() {
    let mut b = builder();
    let f = b.function("f", "f", "", 0);
    let at = b.location(f, 1);
    b.sample(&[at], &[1, 10], &[("x", ""), ("y", "2")]).unwrap();
    let p = b.finish();
    assert_eq!(p.sample[0].label.len(), 1);
    assert_eq!(p.text(p.sample[0].label[0].key), "y");
}

#[test]
fn stack_and_labels_are_not_taken_for_one_another() {
    let mut b = builder();
    let f = b.function("f", "", "", 0);
    let stack: Vec<_> = (0..8).map(|line| b.location(f, line)).collect();
    b.sample(&stack, &[1, 1], &[]).unwrap();
    b.sample(&stack[..6], &[1, 1], &[("f", "cpu")]).unwrap();
    b.sample(&stack[..4], &[1, 1], &[("f", "cpu"), ("cpu", "f")])
        .unwrap();
    let p = b.finish();
    let shape: Vec<_> = p
        .sample
        .iter()
        .map(|s| (s.location_id.len(), s.label.len()))
        .collect();
    assert_eq!(shape, [(8, 0), (6, 1), (4, 2)]);
}

#[test]
fn samples_a_reader_would_refuse_are_errors_and_leave_the_profile_unchanged() {
    let mut b = builder();
    let f = b.function("f", "", "", 0);
    let at = b.location(f, 0);
    let e = b.sample(&[], &[1, 1], &[]).unwrap_err();
    assert_eq!(e, SampleError::EmptyStack);
    let e = b.sample(&[at], &[1], &[]).unwrap_err();
    assert_eq!(
        e,
        SampleError::ValueCount {
            found: 1,
            wanted: 2
        }
    );
    for key in ["", "span-id", "1a", "a b", "ä"] {
        let e = b.sample(&[at], &[1, 1], &[(key, "v")]).unwrap_err();
        assert_eq!(e, SampleError::LabelKey(key.to_owned()));
    }
    let e = b
        .sample(&[at], &[1, 1], &[("k", "v"), ("k", "w")])
        .unwrap_err();
    assert_eq!(e, SampleError::DuplicateLabelKey("k".to_owned()));
    let foreign = LocationId(9);
    let e = b.sample(&[at, foreign], &[1, 1], &[]).unwrap_err();
    assert_eq!(e, SampleError::UnknownLocation(1));
    let nowhere = b.location(FunctionId(9), 1);
    let e = b.sample(&[nowhere], &[1, 1], &[]).unwrap_err();
    assert_eq!(e, SampleError::UnknownLocation(0));
    assert_eq!(b.finish().sample.len(), 0);
}

#[test]
fn every_location_has_a_function_with_a_name_and_every_id_starts_at_one() {
    let mut b = builder();
    let f = b.function("", "", "", 0);
    let at = b.location(f, 0);
    b.sample(&[at], &[1, 1], &[]).unwrap();
    let p = b.finish();
    assert_eq!(p.string_table[0], b"");
    assert_eq!(p.location[0].id, 1);
    assert_eq!(p.location[0].line[0].function_id, p.function[0].id);
    assert_eq!(p.text(p.function[0].name), "[unnamed]");
}

#[test]
fn written_sample_by_sample_the_profile_is_the_same() {
    let filled = || {
        let mut b = builder();
        b.comment("text");
        let f = b.function("f", "", "", 0);
        for i in 0..100 {
            let stack = [b.location(f, i), b.location(f, 0)];
            b.sample(&stack, &[1, i], &[("k", &i.to_string())]).unwrap();
        }
        b
    };
    let file = filled()
        .write_gz(Vec::new())
        .expect("memory takes everything");
    let read: pprof::Profile = gzip::read(file.as_slice(), 1 << 20).expect("just written");
    assert_eq!(read, filled().finish());
}

#[test]
fn header_fields_are_set_and_sums_saturate() {
    let mut b = builder();
    b.set_time(1_700_000_000_000_000_000, 60_000_000_000);
    b.default_sample_type("cpu");
    b.comment("agent vtprof 0.1.0");
    let f = b.function("f", "", "", 0);
    let at = b.location(f, 0);
    b.sample(&[at], &[1, i64::MAX], &[]).unwrap();
    b.sample(&[at], &[1, i64::MAX], &[]).unwrap();
    let p = b.finish();
    assert_eq!(p.sample[0].value, [2, i64::MAX]);
    assert_eq!(
        (p.time_nanos, p.duration_nanos),
        (1_700_000_000_000_000_000, 60_000_000_000)
    );
    assert_eq!(p.period, 10_000_000);
    let period_type = p.period_type.expect("set by new");
    assert_eq!(
        (p.text(period_type.r#type), p.text(period_type.unit)),
        ("cpu".into(), "nanoseconds".into())
    );
    assert_eq!(p.text(p.default_sample_type), "cpu");
    assert_eq!(p.text(p.comment[0]), "agent vtprof 0.1.0");
}
