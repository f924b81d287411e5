//! What small files may become that are made to fill memory: each sort of them, measured by an allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use prost::Message;
use vtprof_profile::formats::{Document, Format, Hint, read};
use vtprof_profile::merge::Merger;
use vtprof_profile::model::Profile;
use vtprof_profile::otlp::profiles::{
    KeyValueAndUnit, Line, Location, Profile as OtlpProfile, ProfilesData, ProfilesDictionary,
    ResourceProfiles, Sample, ScopeProfiles, Stack, ValueType,
};
use vtprof_profile::otlp::trace::{AnyValue, ArrayValue, any_value};
use vtprof_profile::pprof;

/// Counts what the thread at hand has and had at the most, and all that it ever asked for, which is a measure of work.
struct Counting;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

fn took(bytes: usize) {
    // Threads that end have no counters any more.
    let _ = HELD.try_with(|held| {
        held.set(held.get().wrapping_add(bytes));
        MOST.set(MOST.get().max(held.get()));
        ASKED.set(ASKED.get() + bytes);
    });
}

fn gave(bytes: usize) {
    let _ = HELD.try_with(|held| held.set(held.get().saturating_sub(bytes)));
}

// SAFETY: All is handed to the system's allocator as it came; counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: The layout is the caller's, who vouches for it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        gave(layout.size());
        // SAFETY: `System` made the pointer, with this layout: see `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What reading a file took.
#[derive(Debug)]
struct Cost {
    /// Of the file.
    bytes: usize,
    /// Most memory at a time, without the file.
    most: usize,
    /// All memory ever asked for.
    asked: usize,
    /// What was said against it.
    refusal: Option<String>,
}

/// Reads a file, and adds up what is in it.
fn cost(bytes: &[u8], hint: &Hint) -> Cost {
    let before = HELD.get();
    MOST.set(before);
    ASKED.set(0);
    let mut sums = Vec::new();
    let result = read(bytes, hint, |document| {
        if let Document::Profile(profile) = document {
            let mut sum = Merger::new();
            sum.add(&profile).expect("the first");
            sums.push(sum);
        }
    });
    Cost {
        bytes: bytes.len(),
        most: MOST.get() - before,
        asked: ASKED.get(),
        refusal: result.err().map(|error| error.to_string()),
    }
}

fn plain(bytes: &[u8]) -> Cost {
    cost(bytes, &Hint::default())
}

/// The allowance that each file has, whatever its size.
const FLOOR: usize = 192 << 20;
/// Bytes of memory for one of a file, at the most.
const TIMES: usize = 256;

fn is_bounded(name: &str, cost: &Cost) {
    let bound = FLOOR + TIMES * cost.bytes;
    assert!(cost.most <= bound, "{name}: {cost:?}");
    // What a list asks for as it grows, and what is made on the way.
    assert!(cost.asked <= 8 * bound, "{name}: {cost:?}");
}

/// Bounded, and refused with these words.
fn is_refused(name: &str, cost: &Cost, words: &str) {
    is_bounded(name, cost);
    let refusal = cost.refusal.as_deref().unwrap_or("nothing said");
    assert!(refusal.contains(words), "{name}: {refusal}");
    assert!(
        refusal.len() < 300 && !refusal.contains('\n'),
        "{name}: {refusal}"
    );
}

/// A profile of `cpu` and texts of which the last has that many bytes.
fn with_text(len: usize) -> pprof::Profile {
    let mut string_table: Vec<Vec<u8>> = ["", "cpu", "nanoseconds"].map(Into::into).to_vec();
    string_table.push(vec![b'x'; len]);
    pprof::Profile {
        sample_type: vec![pprof::ValueType { r#type: 1, unit: 2 }],
        string_table,
        ..pprof::Profile::default()
    }
}

const TEXT: i64 = 3;
const MIB: usize = 1 << 20;

#[test]
fn a_large_text_that_is_named_again_and_again_is_not_held_as_often() {
    let comments = pprof::Profile {
        comment: vec![TEXT; 60_000],
        ..with_text(MIB)
    };
    let refused = plain(&comments.encode_to_vec());
    is_refused(
        "comments",
        &refused,
        "bytes of texts by their index, too many for a file of ",
    );

    let value_type = pprof::ValueType {
        r#type: TEXT,
        unit: TEXT,
    };
    let types = pprof::Profile {
        sample_type: vec![value_type; 200],
        ..with_text(MIB)
    };
    is_refused(
        "types",
        &plain(&types.encode_to_vec()),
        "sample type: more than ",
    );

    let function = |id| pprof::Function {
        id,
        name: TEXT,
        ..pprof::Function::default()
    };
    let functions = pprof::Profile {
        function: (1..=100_000).map(function).collect(),
        ..with_text(MIB)
    };
    is_refused(
        "functions",
        &plain(&functions.encode_to_vec()),
        "function at byte ",
    );
}

#[test]
fn names_that_are_made_of_an_object_and_an_address_are_not_as_many_as_addresses() {
    let location = |id: u64| pprof::Location {
        id,
        mapping_id: 1,
        address: id,
        ..pprof::Location::default()
    };
    let mapping = pprof::Mapping {
        id: 1,
        filename: TEXT,
        ..pprof::Mapping::default()
    };
    let of = |len| {
        let profile = pprof::Profile {
            mapping: vec![mapping.clone()],
            location: (1..=100_000).map(location).collect(),
            ..with_text(len)
        };
        plain(&profile.encode_to_vec())
    };
    is_refused("large", &of(MIB), "location at byte ");
    // As long as a file's name may be.
    let real = of(255);
    assert_eq!(real.refusal, None);
    is_bounded("real", &real);

    let many = pprof::Profile {
        mapping: (1..=100_000)
            .map(|id| pprof::Mapping {
                id,
                ..mapping.clone()
            })
            .collect(),
        ..with_text(MIB)
    };
    let cost = plain(&many.encode_to_vec());
    assert_eq!(cost.refusal, None, "it is held once");
    is_bounded("mappings", &cost);
}

#[test]
fn more_comments_and_sample_types_than_any_file_has_are_refused() {
    let of = |comments, types: usize| {
        let profile = pprof::Profile {
            comment: vec![0; comments],
            sample_type: vec![pprof::ValueType { r#type: 1, unit: 2 }; types],
            ..with_text(0)
        };
        plain(&profile.encode_to_vec())
    };
    assert_eq!(of(65_536, 256).refusal, None);
    is_refused(
        "comments",
        &of(1_000_000, 1),
        " comments, too many for a file of ",
    );
    is_refused("types", &of(0, 257), "header: more than 256 sample types");
    is_refused(
        "many types",
        &of(0, 1_000_000),
        "header: more than 256 sample types",
    );
}

/// A location of that many lines, and samples of that many stacks that have it `deep` times.
fn inlined(lines: usize, deep: usize, samples: i64, is_one_stack: bool) -> Vec<u8> {
    let line = pprof::Line {
        function_id: 0,
        line: 1,
        column: 0,
    };
    let location = |id, line| pprof::Location {
        id,
        line,
        ..pprof::Location::default()
    };
    let sample = |value: i64| {
        let mut location_id = vec![1; deep];
        if !is_one_stack {
            location_id.extend((0..20).map(|bit| 2 + (value as u64 >> bit & 1)));
        }
        pprof::Sample {
            location_id,
            value: vec![1],
            label: Vec::new(),
        }
    };
    let profile = pprof::Profile {
        location: vec![
            location(1, vec![line; lines]),
            location(2, vec![line]),
            location(3, vec![line]),
        ],
        sample: (0..samples).map(sample).collect(),
        ..with_text(0)
    };
    profile.encode_to_vec()
}

#[test]
fn frames_that_one_location_stands_for_are_not_those_of_a_million_samples() {
    let one = plain(&inlined(60_000, 1, 100_000, true));
    is_refused(
        "one stack",
        &one,
        " frames of all samples, too many for a file of ",
    );
    let each = plain(&inlined(60_000, 1, 10_000, false));
    is_refused(
        "each its own",
        &each,
        " frames of different stacks, too many for a file of ",
    );
    let deep = plain(&inlined(60_000, 2, 1, true));
    is_refused(
        "deep",
        &deep,
        ": more than 65536 frames in one stack: no profiler writes that",
    );
    let flat = plain(&inlined(1, 65_537, 1, true));
    is_refused("flat", &flat, ": more than 65536 frames in one stack");
    // What others write: 2,048 frames, inlined five at a place.
    for real in [inlined(5, 2_048, 2_000, false), inlined(1, 65_536, 1, true)] {
        let cost = plain(&real);
        assert_eq!(cost.refusal, None);
        is_bounded("real", &cost);
    }
}

#[test]
fn one_large_label_of_a_million_samples_is_refused() {
    let sample = |value| pprof::Sample {
        location_id: Vec::new(),
        value: vec![value],
        label: vec![pprof::Label {
            key: 1,
            str: TEXT,
            ..pprof::Label::default()
        }],
    };
    let of = |len| {
        let profile = pprof::Profile {
            sample: (0..100_000).map(sample).collect(),
            ..with_text(len)
        };
        plain(&profile.encode_to_vec())
    };
    is_refused(
        "large",
        &of(MIB),
        " bytes of labels of all samples, too many for a file of ",
    );
    assert_eq!(of(8 << 10).refusal, None, "a statement of SQL");
}

#[test]
fn a_text_that_a_file_has_a_million_times_is_found_without_looking_at_each_for_each_label() {
    let of = |times: usize| {
        let mut profile = with_text(0);
        profile
            .string_table
            .extend(vec![b"span_id".to_vec(); times]);
        let label = pprof::Label {
            key: 1,
            str: 2,
            ..pprof::Label::default()
        };
        profile.sample = vec![pprof::Sample {
            location_id: Vec::new(),
            value: vec![1],
            label: vec![label; times],
        }];
        Profile::from_bytes(&profile.encode_to_vec()).expect("a profile")
    };
    // Look-ups of one index grow with the logarithm: were they 200,000 × 200,000, no one would wait for them.
    let profile = of(200_000);
    let keys = profile.strings.find("span_id");
    let sample = profile.samples.iter().next().expect("one");
    assert_eq!(sample.labels.len(), 200_000);
    assert_eq!(sample.text(&keys), None);
    let all = profile.strings.find_any(&["cpu", "span_id"]);
    assert_eq!(sample.text(&all), Some(sample_value(&profile)));
}

/// What the labels of [`a_text_that_a_file_has_a_million_times_is_found_without_looking_at_each_for_each_label`] say.
fn sample_value(profile: &Profile) -> vtprof_profile::model::StringIndex {
    let sample = profile.samples.iter().next().expect("one");
    match sample.labels[0].value {
        vtprof_profile::model::LabelValue::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

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
    let under_a_key = any_value::Value::KeyValueList(vtprof_profile::otlp::trace::KeyValueList {
        values: vec![vtprof_profile::otlp::trace::KeyValue {
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

#[test]
fn what_is_spelled_out_costs_a_small_multiple_of_its_bytes() {
    // The smallest entry of each table of pprof, and a file that is that alone.
    let head = with_text(0).encode_to_vec();
    for (name, entry) in [
        ("strings", vec![0x32, 0]),
        ("samples", vec![0x12, 3, 0x12, 1, 0]),
        (
            "empty labels",
            [vec![0x12, 0x87, 0x01, 0x12, 1, 0], [0x1a, 0].repeat(66)].concat(),
        ),
        ("unpacked", vec![0x12, 4, 0x10, 0, 0x1a, 0]),
    ] {
        let cost = plain(&[head.clone(), entry.repeat(300_000)].concat());
        assert_eq!(cost.refusal, None, "{name}");
        is_bounded(name, &cost);
    }
    let with_ids = |field: u8| {
        let entries = (1..300_000_u64).flat_map(|id| {
            let mut entry = vec![0x08];
            prost::encoding::encode_varint(u64::MAX - id, &mut entry);
            [vec![field, entry.len() as u8], entry].concat()
        });
        [head.clone(), entries.collect()].concat()
    };
    for (name, field) in [("mappings", 0x1a), ("locations", 0x22), ("functions", 0x2a)] {
        let cost = plain(&with_ids(field));
        assert_eq!(cost.refusal, None, "{name}");
        is_bounded(name, &cost);
    }
    let collapsed = Hint {
        format: Some(Format::Collapsed),
        ..Hint::default()
    };
    let lines = "; 1\n".repeat(300_000);
    is_bounded("lines", &cost(lines.as_bytes(), &collapsed));
    let deep = format!("{} 1\n", ";".repeat(65_536));
    let refused = cost(deep.as_bytes(), &collapsed);
    is_refused(
        "deep line",
        &refused,
        "line 1: more than 65536 frames in one stack",
    );
    assert_eq!(cost(&deep.as_bytes()[1..], &collapsed).refusal, None);
}
