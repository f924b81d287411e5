//! However samples are split into profiles, their sum is that of one profile that has them all.

use std::collections::BTreeMap;

use proptest::prelude::*;
use prost::Message;

use super::*;
use crate::builder::{ProfileBuilder, ValueType as BuilderType};
use crate::{gzip, pprof};

const COUNT: BuilderType<'static> = BuilderType {
    kind: "samples",
    unit: "count",
};
const CPU: BuilderType<'static> = BuilderType {
    kind: "cpu",
    unit: "nanoseconds",
};
const KEYS: [&str; 3] = ["span_id", "thread", "trace_id"];

/// Stack (function, line), labels (key, text) in the order given, values.
type Given = (Vec<(u8, u8)>, Vec<(usize, u8)>, [i64; 2]);

fn given() -> impl Strategy<Value = Given> {
    let stack = prop::collection::vec((0u8..5, 0u8..3), 1..6);
    let labels = prop::sample::subsequence(vec![0usize, 1, 2], 0..=3)
        .prop_shuffle()
        .prop_flat_map(|keys| {
            let texts = prop::collection::vec(0u8..3, keys.len());
            texts.prop_map(move |texts| keys.iter().copied().zip(texts).collect())
        });
    let value = prop_oneof![-5i64..100, Just(i64::MAX >> 8)];
    (stack, labels, [value.clone(), value])
}

fn built(samples: &[Given]) -> pprof::Profile {
    let mut builder = ProfileBuilder::new(&[COUNT, CPU], CPU, 10);
    builder.default_sample_type("cpu");
    for (stack, labels, values) in samples {
        let stack: Vec<_> = stack
            .iter()
            .map(|(function, line)| {
                let name = format!("f{function}");
                let function = builder.function(&name, "", "F.java", 0);
                builder.location(function, i64::from(*line))
            })
            .collect();
        let texts: Vec<_> = labels.iter().map(|(_, text)| format!("t{text}")).collect();
        let labels: Vec<_> = labels
            .iter()
            .zip(&texts)
            .map(|((key, _), text)| (KEYS[*key], text.as_str()))
            .collect();
        builder
            .sample(&stack, values, &labels)
            .expect("a good sample");
    }
    builder.finish()
}

fn read(message: &pprof::Profile) -> Profile {
    Profile::from_bytes(&message.encode_to_vec()).expect("a profile")
}

/// What a sample is, whatever its indices.
type Told = (Vec<(String, i64)>, Vec<(String, String)>);

/// The samples by what they are; that none is there twice is asserted.
fn told(profile: &Profile) -> BTreeMap<Told, Vec<i64>> {
    let text = |index| profile.strings.get(index).to_owned();
    let mut samples = BTreeMap::new();
    for sample in profile.samples.iter() {
        let frames = profile.frames(&sample);
        let frames =
            frames.map(|frame| (text(profile.functions.get(frame.function).name), frame.line));
        let mut labels: Vec<_> = sample
            .labels
            .iter()
            .map(|label| match label.value {
                LabelValue::Text(value) => (text(label.key), text(value)),
                LabelValue::Number { value, unit } => {
                    (text(label.key), format!("{value} {}", text(unit)))
                }
            })
            .collect();
        labels.sort();
        let before = samples.insert((frames.collect(), labels), sample.values.to_vec());
        assert_eq!(before, None, "one sample twice");
    }
    samples
}

fn sum<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Profile {
    let mut merger = Merger::new();
    for profile in profiles {
        merger.add(profile).expect("of the same types");
    }
    merger.finish().expect("at least one")
}

/// What a pprof reader makes of the sum.
fn written(profile: &Profile) -> Profile {
    let mut bytes = Vec::new();
    profile.write_pprof(&mut bytes).expect("memory");
    let streamed = pprof::Profile::decode(bytes.as_slice()).expect("pprof");
    assert_eq!(streamed, profile.to_pprof(), "streamed and at once");
    Profile::from_bytes(&bytes).expect("a profile")
}

proptest! {
    // No file of failed cases in the tree.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn split_at_random_the_sum_is_the_profile_of_all(
        samples in prop::collection::vec(given(), 1..60),
        cuts in prop::collection::vec(0usize..60, 0..6),
    ) {
        let whole = read(&built(&samples));
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (samples.len() + 1)).collect();
        cuts.extend([0, samples.len()]);
        cuts.sort_unstable();
        let parts: Vec<_> = cuts
            .windows(2)
            .map(|ends| read(&built(&samples[ends[0]..ends[1]])))
            .collect();
        let merged = sum(&parts);
        prop_assert_eq!(told(&merged), told(&whole));
        prop_assert_eq!(told(&written(&merged)), told(&whole));
        prop_assert_eq!(merged.default_sample_type, Some(1));
        // A sum of sums is the sum of all.
        let halves = [sum(&parts[..1]), sum(&parts)];
        let again = sum(&halves[1..]);
        prop_assert_eq!(told(&again), told(&merged));
    }

    #[test]
    fn what_is_left_out_by_labels_is_what_is_left_out_one_by_one(
        samples in prop::collection::vec(given(), 1..40),
        wanted in 0u8..3,
    ) {
        let profile = read(&built(&samples));
        let keys = profile.strings.find(KEYS[1]);
        let text = format!("t{wanted}");
        let dropped = profile.strings.find(KEYS[0]);
        let change = |labels: &mut Vec<Label>| {
            let has = labels.iter().any(|label| {
                let is_it = |of| profile.strings.get(of) == text;
                keys.contains(&label.key) && matches!(label.value, LabelValue::Text(of) if is_it(of))
            });
            labels.retain(|label| !dropped.contains(&label.key));
            has
        };
        let mut by_labels = Merger::new();
        by_labels.add_by_labels(&profile, change).expect("one profile");
        let by_labels = by_labels.finish().expect("one");
        let wanted_ones = samples.iter().filter(|(_, labels, _)| labels.contains(&(1, wanted)));
        let kept: Vec<_> = wanted_ones.cloned().map(|(stack, mut labels, values)| {
            labels.retain(|(key, _)| *key != 0);
            (stack, labels, values)
        }).collect();
        let one_by_one = sum([&read(&built(&kept))]);
        prop_assert_eq!(told(&by_labels), told(&one_by_one));
        let all = told(&by_labels);
        let is_changed = |labels: &[(String, String)]| {
            labels.iter().all(|(key, _)| key != KEYS[0])
                && labels.contains(&(KEYS[1].to_owned(), text.clone()))
        };
        prop_assert!(all.keys().all(|(_, labels)| is_changed(labels)));
    }
}

fn one(stack: &[(u8, u8)], labels: &[(usize, u8)], values: [i64; 2]) -> Given {
    (stack.to_vec(), labels.to_vec(), values)
}

#[test]
fn the_same_labels_in_another_order_and_under_other_indices_are_the_same() {
    let ab = read(&built(&[one(&[(0, 1)], &[(0, 1), (1, 2)], [1, 10])]));
    // Other texts first, so that every index differs.
    let ba = read(&built(&[
        one(&[(3, 0), (0, 1)], &[(1, 0)], [5, 50]),
        one(&[(0, 1)], &[(1, 2), (0, 1)], [2, 20]),
    ]));
    let merged = sum([&ab, &ba]);
    let all = told(&merged);
    assert_eq!(all.len(), 2);
    let key = told(&ab).into_keys().next().expect("one");
    assert_eq!(all[&key], [3, 30]);
}

#[test]
fn numbers_and_several_values_of_one_key_are_kept_and_told_apart() {
    let with = |labels: &[(&str, i64, i64, &str)]| {
        let mut message = built(&[one(&[(0, 0)], &[], [1, 10])]);
        let index = |message: &mut pprof::Profile, text: &str| {
            message.string_table.push(text.into());
            message.string_table.len() as i64 - 1
        };
        for (key, str, num, unit) in labels {
            let key = index(&mut message, key);
            let unit = if unit.is_empty() {
                0
            } else {
                index(&mut message, unit)
            };
            let str = if *str > 0 {
                index(&mut message, &str.to_string())
            } else {
                0
            };
            message.sample[0].label.push(pprof::Label {
                key,
                str,
                num: *num,
                num_unit: unit,
            });
        }
        read(&message)
    };
    let profiles = [
        with(&[("size", 0, 7, "bytes")]),
        with(&[("size", 0, 7, "")]),
        with(&[("size", 0, 8, "bytes")]),
        with(&[("size", 7, 0, "")]),
        with(&[("k", 1, 0, ""), ("k", 2, 0, "")]),
        with(&[("k", 2, 0, ""), ("k", 1, 0, "")]),
        with(&[("size", 0, 7, "bytes")]),
    ];
    let all = told(&written(&sum(&profiles)));
    let of = |labels: &[(&str, &str)]| {
        let labels = labels
            .iter()
            .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        let labels: Vec<_> = labels.collect();
        let found = all.iter().find(|((_, found), _)| *found == labels);
        found.map(|(_, values)| values[0])
    };
    assert_eq!(all.len(), 5);
    assert_eq!(of(&[("size", "7 bytes")]), Some(2));
    assert_eq!(of(&[("size", "7 ")]), Some(1));
    assert_eq!(of(&[("size", "8 bytes")]), Some(1));
    assert_eq!(of(&[("size", "7")]), Some(1));
    assert_eq!(of(&[("k", "1"), ("k", "2")]), Some(2));
}

#[test]
fn inlined_frames_and_places_of_other_lines_are_other_places() {
    let mut inlined = built(&[one(&[(0, 1), (1, 1)], &[], [1, 1])]);
    // One location of two frames in place of two of one: the same frames, another stack.
    let second = inlined.location[1].line[0];
    inlined.location[0].line.push(second);
    inlined.sample[0].location_id.truncate(1);
    let plain = built(&[one(&[(0, 1), (1, 1)], &[], [1, 1])]);
    let mut merger = Merger::new();
    for message in [&inlined, &plain, &inlined] {
        merger.add(&read(message)).expect("of the same types");
    }
    let sum = merger.finish().expect("three");
    let values: Vec<_> = sum.samples.iter().map(|sample| sample.values[0]).collect();
    assert_eq!(values, [2, 1]);
}

#[test]
fn sums_that_no_number_holds_are_refused_at_both_ends() {
    for (value, more) in [(i64::MAX, 1), (i64::MIN, -1)] {
        let [most, none, beyond] =
            [value, 0, more].map(|value| read(&built(&[one(&[(0, 0)], &[], [1, value])])));
        let mut merger = Merger::new();
        for fits in [&most, &none] {
            merger.add(fits).expect("it fits");
        }
        assert_eq!(merger.add(&beyond), Err(MergeError::Full(Flaw::Sum)));
        let sum = merger.finish().expect("two");
        assert_eq!(sum.samples.get(0).values, [2, value]);
    }
}

#[test]
fn profiles_of_other_values_are_refused_and_change_nothing() {
    let cpu = read(&built(&[one(&[(0, 0)], &[], [1, 10])]));
    let types = [CPU, COUNT];
    let reversed = read(&ProfileBuilder::new(&types, CPU, 10).finish());
    let mut merger = Merger::new();
    merger.add(&cpu).expect("the first");
    let error = merger
        .add(&reversed)
        .expect_err("in another order")
        .to_string();
    assert_eq!(
        error,
        "its values are cpu/nanoseconds, samples/count, those of the files before are samples/count, cpu/nanoseconds: they have no sum"
    );
    assert_eq!(merger.profiles(), 1);
    assert_eq!(told(&merger.finish().expect("one")), told(&cpu));
    assert!(Merger::new().finish().is_none());
}

#[test]
fn the_sum_begins_with_the_first_lasts_as_long_as_all_and_has_the_longest_period() {
    let with = |start, duration, period_type, period| {
        let mut builder = ProfileBuilder::new(&[COUNT, CPU], period_type, period);
        builder.set_time(start, duration);
        read(&builder.finish())
    };
    let head = |profile: &Profile| {
        let period_type = profile.period_type.as_ref().map(|t| t.kind.clone());
        (
            profile.time_nanos,
            profile.duration_nanos,
            profile.period,
            period_type,
        )
    };
    let windows = [
        with(200, 60, CPU, 10),
        with(0, 5, CPU, 20),
        with(100, 60, CPU, 10),
    ];
    let cpu = Some("cpu".to_owned());
    assert_eq!(head(&sum(&windows)), (100, 125, 20, cpu.clone()));
    assert_eq!(head(&sum(&windows[1..2])), (0, 5, 20, cpu));
    let endless = [
        with(1, i64::MAX, CPU, 10),
        with(1, 2, CPU, 10),
        with(1, -2, CPU, 10),
    ];
    assert_eq!(head(&sum(&endless)).1, i64::MAX);
    // A period of something else is none of the sum.
    let other = [with(1, 1, CPU, 10), with(1, 1, COUNT, 97)];
    assert_eq!(head(&sum(&other)), (1, 2, 0, None));
}

#[test]
fn what_no_sample_uses_is_not_in_the_sum() {
    let mut message = built(&[one(&[(0, 0)], &[(0, 1)], [1, 10])]);
    message
        .string_table
        .extend((0..100).map(|i| format!("unused {i}").into_bytes()));
    let merged = sum([&read(&message)]);
    assert!(
        merged
            .strings
            .iter()
            .all(|text| !text.starts_with("unused"))
    );
    assert_eq!(
        merged.strings.len(),
        ["", "f0", "F.java", "span_id", "t1"].len()
    );
}

/// Most bytes the tables of a sum of so many windows hold.
fn entries(windows: u64, spans_anew: bool) -> [usize; 5] {
    let mut merger = Merger::new();
    for window in 0..windows {
        let samples: Vec<_> = (0..50u8)
            .map(|i| one(&[(i % 5, i / 5 % 3)], &[], [1, 10]))
            .collect();
        let mut message = built(&samples);
        if spans_anew {
            message.string_table.push(b"span_id".to_vec());
            let key = message.string_table.len() as i64 - 1;
            message
                .string_table
                .push(format!("{window:016x}").into_bytes());
            for sample in &mut message.sample {
                let label = pprof::Label {
                    key,
                    str: key + 1,
                    num: 0,
                    num_unit: 0,
                };
                sample.label.push(label);
            }
        }
        merger.add(&read(&message)).expect("of the same types");
    }
    let sum = merger.finish().expect("some");
    [
        sum.strings.len(),
        sum.locations.len(),
        sum.samples.stacks.len(),
        sum.samples.label_sets.len(),
        sum.samples.len(),
    ]
}

#[test]
fn tables_grow_with_what_is_distinct_and_not_with_what_is_added() {
    assert_eq!(entries(40, false), entries(1, false));
    let [strings, locations, stacks, label_sets, samples] = entries(1, true);
    assert_eq!(label_sets, 1);
    // Each window brings one span: one text, one set of labels, its samples, and no stack.
    assert_eq!(
        entries(40, true),
        [strings + 39, locations, stacks, 40, samples * 40]
    );
}

#[test]
fn a_sum_is_written_gzipped_and_says_that_it_has_names() {
    let merged = sum([&read(&built(&[one(&[(0, 1)], &[(0, 1)], [1, 10])]))]);
    let bytes = merged.write_gz(Vec::new()).expect("memory");
    let message: pprof::Profile = gzip::read(bytes.as_slice(), 1 << 20).expect("just written");
    assert_eq!(message, merged.to_pprof());
    let mapping = &message.mapping[0];
    assert!(mapping.has_functions && mapping.has_filenames && mapping.has_line_numbers);
    assert!(
        message
            .location
            .iter()
            .all(|location| location.mapping_id == mapping.id)
    );
    assert_eq!(message.text(message.default_sample_type), "cpu");
}
