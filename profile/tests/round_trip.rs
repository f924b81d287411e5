//! What the builder made, the model reads back; and no bytes, however broken, make a reader panic.

use std::collections::BTreeMap;

use proptest::prelude::*;
use prost::Message;
use vtprof_profile::builder::{ProfileBuilder, ValueType};
use vtprof_profile::content::Content;
use vtprof_profile::gzip;
use vtprof_profile::ids::{SpanId, TraceId};
use vtprof_profile::model::{LabelValue, Profile};
use vtprof_profile::pprof;
use vtprof_profile::spans::{SpanKind, SpanRecord, SpanStatus, spans_to_traces, traces_to_spans};

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

/// A frame: function name, file, line.
type Frame = (String, String, i64);
/// What makes two samples the same: frames leaf first, labels by key.
type Key = (Vec<Frame>, BTreeMap<String, String>);

fn frame() -> impl Strategy<Value = Frame> {
    ("[a-c]{1,2}", "[xy]?", 0_i64..3)
}

fn sample() -> impl Strategy<Value = (Key, [i64; 2])> {
    let labels = prop::collection::btree_map("[a-b_][0-1]{0,1}", "[a-c]{1,2}", 0..4);
    let stack = prop::collection::vec(frame(), 1..5);
    ((stack, labels), [0_i64..10, -5_i64..1_000_000])
}

fn build(samples: &[(Key, [i64; 2])]) -> pprof::Profile {
    let mut builder = ProfileBuilder::new(&TYPES, TYPES[1], 10_000_000);
    builder.set_time(1_700_000_000_000_000_000, 60_000_000_000);
    for ((frames, labels), values) in samples {
        let stack: Vec<_> = frames
            .iter()
            .map(|(name, file, line)| {
                let function = builder.function(name, name, file, 0);
                builder.location(function, *line)
            })
            .collect();
        let labels: Vec<_> = labels
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        builder
            .sample(&stack, values, &labels)
            .expect("a good sample");
    }
    builder.finish()
}

/// Every sample of a profile, looked at to the last string.
fn walk(profile: &Profile) -> Vec<(Key, Vec<i64>)> {
    profile
        .samples
        .iter()
        .map(|sample| {
            let frames = profile.frames(&sample).map(|frame| {
                let function = profile.functions.get(frame.function);
                let text = |index| profile.strings.get(index).to_owned();
                (text(function.name), text(function.file), frame.line)
            });
            let labels = sample.labels.iter().map(|label| {
                let value = match label.value {
                    LabelValue::Text(text) => profile.strings.get(text).to_owned(),
                    LabelValue::Number { value, unit } => {
                        format!("{value}{}", profile.strings.get(unit))
                    }
                };
                (profile.strings.get(label.key).to_owned(), value)
            });
            ((frames.collect(), labels.collect()), sample.values.to_vec())
        })
        .collect()
}

fn read_any(bytes: &[u8]) -> Option<Profile> {
    if let Ok(Content::Spans(traces)) = Content::of(bytes) {
        traces_to_spans(&traces);
    }
    let profile = Profile::from_bytes(bytes).ok()?;
    let samples = walk(&profile);
    assert!(
        samples
            .iter()
            .all(|(_, values)| values.len() == profile.sample_types.len())
    );
    Some(profile)
}

proptest! {
    #[test]
    fn model_reads_what_the_builder_was_given(samples in prop::collection::vec(sample(), 0..20)) {
        let mut expected: BTreeMap<Key, Vec<i64>> = BTreeMap::new();
        for (key, values) in &samples {
            let sums = expected.entry(key.clone()).or_insert_with(|| vec![0, 0]);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        let file = gzip::write_gz(&build(&samples), Vec::new()).expect("memory takes everything");
        let bytes = gzip::read_bytes(file.as_slice(), 1 << 20).expect("just written");
        let profile = Profile::from_bytes(&bytes).expect("just built");
        let found = walk(&profile);
        prop_assert_eq!(found.len(), expected.len());
        prop_assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), expected);
        prop_assert_eq!(profile.period, 10_000_000);
        prop_assert_eq!(profile.duration_nanos, 60_000_000_000);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_any(&bytes);
        let _ = gzip::read_bytes(bytes.as_slice(), 100);
    }

    #[test]
    fn a_damaged_profile_is_read_or_refused(
        samples in prop::collection::vec(sample(), 1..6),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = build(&samples).encode_to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read_any(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        read_any(&bytes);
    }

    #[test]
    fn references_anywhere_are_resolved_or_refused(
        ids in prop::collection::vec(0_u64..5, 12),
        texts in prop::collection::vec(-1_i64..4, 12),
    ) {
        let message = pprof::Profile {
            sample_type: vec![pprof::ValueType { r#type: texts[0], unit: texts[1] }],
            sample: vec![pprof::Sample {
                location_id: vec![ids[0], ids[1]],
                value: vec![1],
                label: vec![pprof::Label { key: texts[2], str: texts[3], num: 7, num_unit: texts[4] }],
            }],
            mapping: vec![pprof::Mapping { id: ids[2], filename: texts[5], ..Default::default() }],
            location: vec![
                pprof::Location { id: ids[3], mapping_id: ids[4], address: ids[5], ..Default::default() },
                pprof::Location {
                    id: ids[6],
                    line: vec![pprof::Line { function_id: ids[7], line: 1, column: 0 }],
                    ..Default::default()
                },
            ],
            function: vec![pprof::Function { id: ids[8], name: texts[6], ..Default::default() }],
            string_table: vec![Vec::new(), b"a".to_vec(), vec![0xff, 0xfe]],
            comment: vec![texts[7]],
            default_sample_type: texts[8],
            ..Default::default()
        };
        if let Some(profile) = read_any(&message.encode_to_vec()) {
            prop_assert!(ids[0] != 0 && ids[1] != 0);
            prop_assert_eq!(profile.samples.len(), 1);
        }
    }

    #[test]
    fn spans_survive_their_file(
        ids in prop::collection::vec((1_u64.., 1_u64.., any::<u64>(), 1_u64..), 0..10),
        name in "\\PC{0,20}",
        kind in 0_i32..7,
        times in (any::<u64>(), any::<u64>()),
    ) {
        let records: Vec<_> = ids
            .iter()
            .map(|&(trace, span, parent, local_root)| SpanRecord {
                trace: TraceId::from_halves(trace, span),
                span: SpanId(span),
                parent: (parent != 0).then_some(SpanId(parent)),
                local_root: SpanId(local_root),
                name: name.clone(),
                kind: SpanKind::from_otlp(kind),
                start_unix_nanos: times.0,
                end_unix_nanos: times.1,
                status: SpanStatus::from_otlp(kind),
            })
            .collect();
        let bytes = spans_to_traces("shop", records.clone()).encode_to_vec();
        let Ok(Content::Spans(traces)) = Content::of(&bytes) else {
            return Err(TestCaseError::fail("not recognised as spans"));
        };
        prop_assert_eq!(traces_to_spans(&traces).spans, records);
    }
}
