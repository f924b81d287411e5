//! What small files of OTLP and speedscope may become that are made to fill memory: each sort of them, measured.

mod measured;

use measured::{Cost, is_bounded, is_refused, plain};
use prost::Message;
use vtprof_profile::formats::{Document, Hint, read};
use vtprof_profile::otlp::profiles::{
    KeyValueAndUnit, Line, Location, Profile as OtlpProfile, ProfilesData, ProfilesDictionary,
    ResourceProfiles, Sample, ScopeProfiles, Stack, ValueType,
};
use vtprof_profile::otlp::trace::{AnyValue, ArrayValue, KeyValue, KeyValueList, any_value};

const MIB: usize = 1 << 20;

/// Calls to that depth and back again, so many times over, with a leaf of its own each time.
fn evented(depth: usize, leaves: usize) -> Vec<u8> {
    let mut events = Vec::new();
    let mut at = 0;
    let mut event = |kind, frame| {
        at += 1;
        events.push(format!(
            "{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}}}"
        ));
    };
    (0..depth).for_each(|_| event('O', 0));
    for leaf in 1..=leaves {
        event('O', leaf);
        event('C', leaf);
    }
    (0..depth).for_each(|_| event('C', 0));
    let frames: Vec<_> = (0..=leaves)
        .map(|leaf| format!("{{\"name\":\"f{leaf}\"}}"))
        .collect();
    format!(
        "{{\"shared\":{{\"frames\":[{}]}},\"profiles\":[{{\"type\":\"evented\",\"name\":\"x\",\"unit\":\"none\",\"startValue\":0,\"endValue\":9,\"events\":[{}]}}]}}",
        frames.join(","),
        events.join(",")
    )
    .into_bytes()
}

#[test]
fn deep_calls_do_not_cost_their_depth_at_each_event() {
    is_refused(
        "deep and wide",
        &plain(&evented(20_000, 20_000)),
        "profile 0: more than ",
    );
    is_refused(
        "too deep",
        &plain(&evented(65_537, 1)),
        "more than 65536 frames in one stack",
    );
    let real = plain(&evented(1_000, 2_000));
    assert_eq!(real.refusal, None);
    is_bounded("real", &real);
}

fn sampled(profiles: usize, of: impl Fn(usize) -> String, frames: usize) -> Vec<u8> {
    let profiles: Vec<_> = (0..profiles)
        .map(|at| {
            let (name, samples) = (format!("n{at}"), of(at));
            let weights = vec!["1"; samples.matches('[').count()].join(",");
            format!("{{\"type\":\"sampled\",\"name\":\"{name}\",\"unit\":\"none\",\"startValue\":0,\"endValue\":1,\"samples\":[{samples}],\"weights\":[{weights}]}}")
        })
        .collect();
    let frames = vec!["{\"name\":\"f\"}"; frames].join(",");
    let profiles = profiles.join(",");
    format!("{{\"shared\":{{\"frames\":[{frames}]}},\"profiles\":[{profiles}]}}").into_bytes()
}

/// Twice the file asks for twice the memory, or little more: were it the square, it would be four times.
fn grows_with_the_file(name: &str, of: impl Fn(usize) -> Cost, size: usize) {
    let (one, two) = (of(size), of(2 * size));
    assert_eq!((&one.refusal, &two.refusal), (&None, &None), "{name}");
    is_bounded(name, &two);
    assert!(two.bytes > one.bytes * 19 / 10, "{name}: {one:?}, {two:?}");
    assert!(two.asked < one.asked * 3, "{name}: {one:?}, {two:?}");
}

#[test]
fn many_profiles_of_speedscope_do_not_cost_the_square_of_their_number() {
    let columns = |profiles| plain(&sampled(profiles, |_| "[0],[0],[0]".to_owned(), 1));
    grows_with_the_file("columns", columns, 1_000);
    // Each is another profile, since its samples are others.
    let frames = |size| {
        plain(&sampled(
            size,
            |at| vec!["[0]"; 1 + at % 2].join(","),
            4 * size,
        ))
    };
    grows_with_the_file("frames", frames, 1_000);
}

/// Profiles of one dictionary, each with `samples`.
fn otlp(dictionary: ProfilesDictionary, profiles: usize, samples: &[Sample]) -> Vec<u8> {
    let profile = |at| OtlpProfile {
        sample_type: Some(ValueType {
            type_strindex: 1,
            unit_strindex: 1,
        }),
        // Of another time than the one before, and so no column of it.
        time_unix_nano: at as u64,
        samples: samples.to_vec(),
        ..OtlpProfile::default()
    };
    let scope = ScopeProfiles {
        profiles: (0..profiles).map(profile).collect(),
        ..ScopeProfiles::default()
    };
    let data = ProfilesData {
        resource_profiles: vec![ResourceProfiles {
            scope_profiles: vec![scope],
            ..ResourceProfiles::default()
        }],
        dictionary: Some(dictionary),
    };
    data.encode_to_vec()
}

fn dictionary(text: &str) -> ProfilesDictionary {
    ProfilesDictionary {
        string_table: vec![String::new(), text.to_owned()],
        ..ProfilesDictionary::default()
    }
}

fn list(values: Vec<AnyValue>) -> AnyValue {
    AnyValue {
        value: Some(any_value::Value::Array(ArrayValue { values })),
    }
}

fn value(value: any_value::Value) -> AnyValue {
    AnyValue { value: Some(value) }
}

#[test]
fn empty_messages_of_otlp_are_refused_before_they_are_decoded() {
    let scope = ScopeProfiles {
        profiles: vec![OtlpProfile::default(); 2_000_000],
        ..ScopeProfiles::default()
    };
    let data = ProfilesData {
        resource_profiles: vec![ResourceProfiles {
            scope_profiles: vec![scope],
            ..ResourceProfiles::default()
        }],
        dictionary: Some(dictionary("x")),
    };
    let cost = plain(&data.encode_to_vec());
    is_refused(
        "profiles",
        &cost,
        " bytes of decoded messages, too many for a file of ",
    );
    // Of traces: field 1, which has fields 2, which are empty.
    let mut spans = [0x12, 0].repeat(2_000_000);
    let mut outer = vec![0x12];
    for key in [0x0a, 0] {
        prost::encoding::encode_varint(spans.len() as u64, &mut outer);
        outer.append(&mut spans);
        spans = std::mem::replace(&mut outer, vec![key]);
    }
    is_refused(
        "spans",
        &plain(&spans),
        " bytes of decoded messages, too many for a file of ",
    );
    let json = format!(
        "{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{}]}}]}}]}}",
        vec!["{}"; 2_000_000].join(",")
    );
    is_refused(
        "JSON",
        &plain(json.as_bytes()),
        " objects, too many for a file of ",
    );
    // serde takes a list for any message, whose fields are in order then.
    for message in ["[]", "[ ]", "[\"\"]"] {
        let json = format!(
            "{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{}]}}]}}]}}",
            vec![message; 3_000_000].join(",")
        );
        is_refused(
            message,
            &plain(json.as_bytes()),
            " objects, too many for a file of ",
        );
    }
    let braces = format!(
        "{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{{\"name\":\"\\\"{}\"}}]}}]}}]}}",
        "{".repeat(2_000_000)
    );
    assert_eq!(plain(braces.as_bytes()).refusal, None, "in a text");
}

#[test]
fn profiles_of_a_message_do_not_each_cost_the_dictionary_that_they_share() {
    let of = |size: usize| {
        let mut tables = dictionary("x");
        tables.stack_table = vec![Stack::default(); 10 * size];
        tables.location_table = vec![Location::default(); 10 * size];
        plain(&otlp(tables, size, &[]))
    };
    grows_with_the_file("empty tables", of, 2_000);

    let large = dictionary(&"x".repeat(MIB));
    let cost = plain(&otlp(large, 4_000, &[]));
    is_refused("a large type", &cost, " bytes of texts by their index");
    let cost = plain(&otlp(dictionary("x"), 100_000, &[]));
    is_refused(
        "profiles of 20 bytes",
        &cost,
        " profiles, too many for a file of ",
    );
    let mut tables = dictionary("x");
    tables.location_table = (0..10_000)
        .map(|at| Location {
            address: at,
            ..Location::default()
        })
        .collect();
    tables.stack_table = vec![Stack {
        location_indices: (0..10_000).collect(),
    }];
    let sample = Sample {
        values: vec![1],
        ..Sample::default()
    };
    let cost = plain(&otlp(tables, 4_000, &[sample]));
    is_refused("a large stack of each", &cost, ", too many for a file of ");
}

#[test]
fn an_attribute_that_is_a_list_is_not_as_many_labels_for_each_sample() {
    let of = |attribute, samples: usize| {
        let mut tables = dictionary(&"x".repeat(MIB));
        tables.attribute_table = vec![KeyValueAndUnit {
            key_strindex: 0,
            value: Some(attribute),
            unit_strindex: 0,
        }];
        let sample = Sample {
            attribute_indices: vec![0],
            ..Sample::default()
        };
        plain(&otlp(tables, 1, &vec![sample; samples]))
    };
    let texts = |count| {
        let number = |at: usize| value(any_value::Value::String(at.to_string()));
        list((0..count).map(number).collect())
    };
    is_refused(
        "list",
        &of(texts(100_000), 1_000),
        " labels of samples, too many for a file of ",
    );
    let large = || value(any_value::Value::StringIndex(1));
    is_refused(
        "large",
        &of(large(), 100_000),
        " bytes of labels of all samples, too many for a file of ",
    );
    // A text by its index is looked at once, however often it is in a list.
    let cost = of(list(vec![large(); 1_000]), 1);
    assert_eq!(cost.refusal, None);
    is_bounded("indices", &cost);
    let under_a_key = any_value::Value::KeyValueList(KeyValueList {
        values: vec![KeyValue {
            key: "k".repeat(MIB),
            value: Some(texts(1_000)),
        }],
    });
    is_refused(
        "map",
        &of(value(under_a_key), 1),
        " bytes of texts by their index",
    );
}

#[test]
fn a_list_of_values_without_content_is_not_walked_for_each_time_that_it_is_named() {
    let empty = || AnyValue { value: None };
    let map = || {
        let entry = KeyValue {
            key: String::new(),
            value: None,
        };
        value(any_value::Value::KeyValueList(KeyValueList {
            values: vec![entry; 20_000],
        }))
    };
    let tables = |key: &str, attribute| {
        let mut tables = dictionary(key);
        tables.attribute_table = vec![KeyValueAndUnit {
            key_strindex: 1,
            value: Some(attribute),
            unit_strindex: 0,
        }];
        tables
    };
    let in_comments = |attribute, times| {
        let mut data = ProfilesData::decode(
            otlp(tables("pprof.profile.comment", attribute), 1, &[]).as_slice(),
        )
        .expect("made so");
        let scope = &mut data.resource_profiles[0].scope_profiles[0];
        scope.profiles[0].attribute_indices = vec![0; times];
        plain(&data.encode_to_vec())
    };
    let of_samples = |attribute, profiles| {
        let sample = Sample {
            attribute_indices: vec![0],
            ..Sample::default()
        };
        plain(&otlp(tables("x", attribute), profiles, &[sample]))
    };
    let refusal = " entries taken over from a dictionary, too many for a file of ";
    for (name, attribute) in [("list", list(vec![empty(); 20_000])), ("map", map())] {
        is_refused(name, &in_comments(attribute.clone(), 20_000), refusal);
        is_refused(name, &of_samples(attribute.clone(), 4_000), refusal);
        assert_eq!(in_comments(attribute.clone(), 10).refusal, None, "{name}");
        assert_eq!(of_samples(attribute, 10).refusal, None, "{name}");
    }
}

#[test]
fn profiles_that_name_the_same_deep_stacks_again_in_a_few_bytes_are_read() {
    // A hundred windows of a minute, of one process whose stacks are of 300 frames.
    let (windows, stacks, frames) = (100, 3_000, 300);
    let mut tables = dictionary("thread");
    tables.location_table = (0..2_000)
        .map(|at| Location {
            address: at,
            ..Location::default()
        })
        .collect();
    tables.stack_table = (0..stacks)
        .map(|at| Stack {
            location_indices: (0..frames)
                .map(|frame| (at * 7 + frame * (1 + at % 7)) % 2_000)
                .collect(),
        })
        .collect();
    tables.attribute_table = (0..100)
        .map(|at| KeyValueAndUnit {
            key_strindex: 1,
            value: Some(value(any_value::Value::String(format!("worker {at}")))),
            unit_strindex: 0,
        })
        .collect();
    let samples: Vec<_> = (0..stacks)
        .map(|at| Sample {
            stack_index: at,
            attribute_indices: vec![at % 100],
            values: vec![10_000_000],
            ..Sample::default()
        })
        .collect();
    let bytes = otlp(tables.clone(), windows, &samples);
    assert!((4 << 20..7 << 20).contains(&bytes.len()), "{}", bytes.len());
    let (mut profiles, mut frames_of_all) = (0, 0);
    read(&bytes, &Hint::default(), |document| {
        let Document::Profile(profile) = document else {
            panic!("profiles alone were written");
        };
        profiles += 1;
        let depths = profile.samples.iter().map(|sample| sample.stack.len());
        frames_of_all += depths.sum::<usize>();
    })
    .expect("a right file");
    assert_eq!(profiles, windows);
    assert_eq!(frames_of_all, 90_000_000);
    is_bounded("windows", &plain(&bytes));

    // Many profiles of one stack each are what that allowance ends.
    tables.location_table.truncate(1);
    tables.stack_table = vec![Stack {
        location_indices: vec![0; 60_000],
    }];
    let cost = plain(&otlp(tables, 4_000, &samples[..1]));
    is_refused(
        "one deep stack of each",
        &cost,
        " frames of stacks of all profiles, too many for a file of ",
    );
}

#[test]
fn lines_of_a_location_of_otlp_are_not_those_of_all_stacks() {
    let mut tables = dictionary("x");
    tables.location_table = vec![
        Location {
            lines: vec![
                Line {
                    line: 1,
                    ..Line::default()
                };
                60_000
            ],
            ..Location::default()
        },
        Location::default(),
    ];
    let stack = |at: i32| Stack {
        location_indices: (0..13)
            .map(|bit| i32::from(bit > 0 && at >> bit & 1 == 0))
            .collect(),
    };
    tables.stack_table = (0..1_000).map(|at| stack(2 * at)).collect();
    let sample = |stack_index| Sample {
        stack_index,
        values: vec![1],
        ..Sample::default()
    };
    let each: Vec<_> = (0..1_000).map(sample).collect();
    let cost = plain(&otlp(tables.clone(), 1, &each));
    is_refused("stacks", &cost, " in one stack");
    tables.stack_table = vec![Stack {
        location_indices: vec![0],
    }];
    let cost = plain(&otlp(tables, 1, &vec![sample(0); 100_000]));
    is_refused(
        "samples",
        &cost,
        " frames of all samples, too many for a file of ",
    );
}
