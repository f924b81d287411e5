//! What small files of pprof and text may become that are made to fill memory: each sort of them, measured.

mod measured;

use measured::{cost, is_bounded, is_refused, plain};
use prost::Message;
use vtprof_profile::formats::{Format, Hint};
use vtprof_profile::model::{LabelValue, Profile, StringIndex};
use vtprof_profile::pprof;

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
fn sample_value(profile: &Profile) -> StringIndex {
    let sample = profile.samples.iter().next().expect("one");
    match sample.labels[0].value {
        LabelValue::Text(text) => text,
        other => panic!("{other:?}"),
    }
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
