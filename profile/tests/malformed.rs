//! Each way a file can be wrong, and the sentence that says so.

use std::io::Write;

use prost::Message;
use vtprof_profile::gzip::{self, ReadError};
use vtprof_profile::model::Profile;
use vtprof_profile::pprof;

/// A profile of one sample in `main`, with texts `cpu`, `nanoseconds`, `main`.
fn good() -> pprof::Profile {
    pprof::Profile {
        sample_type: vec![pprof::ValueType { r#type: 1, unit: 2 }],
        sample: vec![pprof::Sample {
            location_id: vec![1],
            value: vec![5],
            label: vec![],
        }],
        location: vec![pprof::Location {
            id: 1,
            line: vec![pprof::Line {
                function_id: 1,
                line: 3,
                column: 0,
            }],
            ..Default::default()
        }],
        function: vec![pprof::Function {
            id: 1,
            name: 3,
            ..Default::default()
        }],
        string_table: ["", "cpu", "nanoseconds", "main"].map(Into::into).to_vec(),
        ..Default::default()
    }
}

fn refusal(change: impl FnOnce(&mut pprof::Profile)) -> String {
    let mut profile = good();
    change(&mut profile);
    Profile::from_bytes(&profile.encode_to_vec())
        .expect_err("a contradiction")
        .to_string()
}

#[test]
fn the_profile_the_others_are_variations_of_is_good() {
    let profile = Profile::from_bytes(&good().encode_to_vec()).expect("good");
    assert_eq!(profile.samples.len(), 1);
}

#[test]
fn bad_references_name_entry_offset_and_target() {
    // 6 bytes of sample type come first.
    assert_eq!(
        refusal(|p| p.sample[0].location_id = vec![9]),
        "sample at byte 6: location 9 is not in the file"
    );
    assert_eq!(
        refusal(|p| p.sample[0].location_id = vec![0]),
        "sample at byte 6: location 0 is not in the file"
    );
    assert_eq!(
        refusal(|p| p.location[0].line[0].function_id = 4),
        "location at byte 14: function 4 is not in the file"
    );
    assert_eq!(
        refusal(|p| p.function[0].name = 40),
        "function at byte 24: string 40 is beyond the 4 strings of the file"
    );
    assert_eq!(
        refusal(|p| p.function[0].filename = -1),
        "function at byte 24: string -1 is beyond the 4 strings of the file"
    );
    assert_eq!(
        refusal(|p| p.sample[0].label = vec![pprof::Label {
            key: 7,
            str: 1,
            num: 0,
            num_unit: 0
        }]),
        "sample at byte 6: string 7 is beyond the 4 strings of the file"
    );
    assert_eq!(
        refusal(|p| p.sample_type[0].unit = 8),
        "sample type: string 8 is beyond the 4 strings of the file"
    );
    assert_eq!(
        refusal(|p| p.comment = vec![8]),
        "comment: string 8 is beyond the 4 strings of the file"
    );
    let unsymbolized = |p: &mut pprof::Profile| {
        p.location[0].line.clear();
        p.location[0].mapping_id = 3;
    };
    assert_eq!(
        refusal(unsymbolized),
        "location at byte 14: mapping 3 is not in the file"
    );
}

#[test]
fn wrong_counts_and_ids_are_refused() {
    assert_eq!(
        refusal(|p| p.sample[0].value = vec![1, 2]),
        "sample at byte 6: 2 values for 1 sample types"
    );
    assert_eq!(
        refusal(|p| p.sample_type.clear()),
        "no sample types: not a pprof profile"
    );
    assert_eq!(
        refusal(|p| p.function.push(p.function[0].clone())),
        "function at byte 30: its id 1 is taken"
    );
    assert_eq!(
        refusal(|p| p.function[0].id = 0),
        "function at byte 24: its id is 0, which means none"
    );
    assert_eq!(
        refusal(|p| p.string_table.clear()),
        "string table: it is missing"
    );
    assert_eq!(
        refusal(|p| p.string_table[0] = b"x".to_vec()),
        "string at byte 30: the first string is not empty"
    );
}

#[test]
fn bytes_that_are_no_profile_are_refused_with_the_offset() {
    assert_eq!(
        Profile::from_bytes(&[]).expect_err("empty").to_string(),
        "the file is empty"
    );
    let json = Profile::from_bytes(b"{\"a\":1}").expect_err("JSON");
    assert_eq!(
        json.to_string(),
        "field at byte 0: wire type 3: not a protobuf this reader knows"
    );
    let mut cut = good().encode_to_vec();
    cut.truncate(cut.len() - 1);
    let cut = Profile::from_bytes(&cut).expect_err("cut");
    assert_eq!(
        cut.to_string(),
        "field at byte 50: cut short: 4 bytes announced, 3 left"
    );
}

#[test]
fn what_others_write_is_read() {
    let mut foreign = good();
    // Native code without symbols, a frame inlined into another, a number label, no stack, bytes
    // that are no UTF-8, ids out of order.
    foreign.string_table.extend([
        b"/usr/lib/libc.so.6".to_vec(),
        vec![b'x', 0xff],
        b"bytes".to_vec(),
    ]);
    foreign.mapping = vec![pprof::Mapping {
        id: 7,
        memory_start: 0x1000,
        filename: 4,
        ..Default::default()
    }];
    foreign.function.push(pprof::Function {
        id: 90,
        name: 5,
        ..Default::default()
    });
    let line = |function_id| pprof::Line {
        function_id,
        line: 0,
        column: 0,
    };
    foreign.location.push(pprof::Location {
        id: 5,
        mapping_id: 7,
        address: 0x1234,
        ..Default::default()
    });
    foreign.location.push(pprof::Location {
        id: 2,
        address: 0xabc,
        ..Default::default()
    });
    foreign.location.push(pprof::Location {
        id: 3,
        line: vec![line(90), line(1), line(0)],
        ..Default::default()
    });
    foreign.sample.push(pprof::Sample {
        location_id: vec![5, 2, 3],
        value: vec![1],
        label: vec![pprof::Label {
            key: 6,
            str: 0,
            num: 32,
            num_unit: 6,
        }],
    });
    foreign.sample.push(pprof::Sample {
        location_id: vec![],
        value: vec![2],
        label: vec![],
    });

    let profile = Profile::from_bytes(&foreign.encode_to_vec()).expect("odd, but clear");
    let names = |i| -> Vec<String> {
        let sample = profile.samples.iter().nth(i).expect("three samples");
        profile
            .frames(&sample)
            .map(|frame| {
                profile
                    .strings
                    .get(profile.functions.get(frame.function).name)
                    .to_owned()
            })
            .collect()
    };
    assert_eq!(
        names(1),
        ["libc.so.6+0x234", "0xabc", "x\u{fffd}", "main", "[unknown]"]
    );
    assert!(names(2).is_empty());
}

#[test]
fn a_bomb_stops_at_the_limit_and_a_cut_stream_names_its_offset() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![0; 10 << 20]).expect("memory");
    let bomb = encoder.finish().expect("memory");
    assert!(bomb.len() < 20_000, "{} bytes", bomb.len());
    let refused = gzip::read_bytes(bomb.as_slice(), 1 << 20).expect_err("ten times the limit");
    assert_eq!(
        refused.to_string(),
        "more than 1048576 bytes when decompressed"
    );
    assert_eq!(
        gzip::read_bytes(bomb.as_slice(), 10 << 20)
            .expect("exactly the limit")
            .len(),
        10 << 20
    );

    let cut = gzip::read_bytes(&bomb[..bomb.len() / 2], 10 << 20).expect_err("half a stream");
    let ReadError::Gzip { offset, .. } = cut else {
        panic!("{cut}")
    };
    assert!(offset > 1 << 20, "stopped at {offset}");
}

#[test]
fn plain_files_and_files_of_several_gzip_members_are_read() {
    assert_eq!(
        gzip::read_bytes(&b"\x0a"[..], 10).expect("one byte"),
        b"\x0a"
    );
    assert_eq!(gzip::read_bytes(&b""[..], 10).expect("nothing"), b"");
    let one = gzip::write_gz(&good(), Vec::new()).expect("memory");
    let strings = pprof::Profile {
        string_table: vec![b"more".to_vec()],
        ..Default::default()
    };
    let both = [one, gzip::write_gz(&strings, Vec::new()).expect("memory")].concat();
    let read: pprof::Profile =
        gzip::read(both.as_slice(), 1 << 20).expect("concatenated messages merge");
    assert_eq!(read.string_table.len(), 5);
}
