//! Files of speedscope that others have written.

mod support;

use std::fs;

use support::{Folder, failure, int, json, run};
use vtprof_profile::gzip;
use vtprof_profile::pprof;

fn path(folder: &Folder, name: &str) -> String {
    folder.file(name).to_str().expect("a path").to_owned()
}

#[test]
fn speedscope_of_events_is_time_between_them() {
    let folder = Folder::new();
    let text = r#"{
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": "a"}, {"name": "b", "file": "b.js", "line": 3, "col": 4}]},
        "profiles": [{"type": "evented", "name": "a trace", "unit": "milliseconds", "startValue": 0, "endValue": 10,
            "events": [{"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 1, "at": 2.5},
                       {"type": "C", "frame": 1, "at": 4}, {"type": "C", "frame": 0, "at": 10}]}]
    }"#;
    let file = path(&folder, "a.json");
    fs::write(&file, text).expect("a temporary file");
    let answer = json(["top", &file]);
    assert_eq!(answer["measure"]["unit"], "nanoseconds");
    assert_eq!(int(&answer["whole"]["value"]), 10_000_000);
    let rows = answer["rows"].as_array().expect("rows");
    let own: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["name"].as_str().expect("a name"),
                int(&row["self"]["value"]),
            )
        })
        .collect();
    assert_eq!(own, [("a", 8_500_000), ("b", 1_500_000)]);
    for (from, to, reason) in [
        (
            "\"frame\": 1, \"at\": 4",
            "\"frame\": 0, \"at\": 4",
            "profile 0: frame 0 is closed but not open",
        ),
        (
            "\"O\", \"frame\": 1",
            "\"O\", \"frame\": 9",
            "profile 0: frame 9 is not in the file",
        ),
        ("\"evented\"", "\"other\"", "unknown variant `other`"),
        (
            "\"at\": 2.5",
            "\"at\": 9000000000000000000",
            "profile 0: 9000000000000000000 is more than 64 bits hold in nanoseconds",
        ),
    ] {
        fs::write(&file, text.replace(from, to)).expect("a temporary file");
        let error = failure(&run(["top", &file]));
        assert!(
            error.contains("speedscope: ") && error.contains(reason),
            "{error}"
        );
    }
}

/// A file with these profiles, of frames a and b.
fn speedscope(folder: &Folder, profiles: &str) -> String {
    let text = format!(
        r#"{{"shared":{{"frames":[{{"name":"a"}},{{"name":"b"}}]}},"profiles":[{profiles}]}}"#
    );
    fs::write(folder.file("x.speedscope.json"), text).expect("a temporary file");
    path(folder, "x.speedscope.json")
}

#[test]
fn threads_of_speedscope_are_added_up_and_told_by_a_label() {
    let folder = Folder::new();
    let file = speedscope(
        &folder,
        r#"{"type":"evented","name":"main","unit":"milliseconds","startValue":0,"endValue":9,
            "events":[{"type":"O","frame":0,"at":0},{"type":"C","frame":0,"at":2}]},
           {"type":"sampled","name":"pool 7","unit":"seconds","startValue":0,"endValue":1,
            "samples":[[0,1]],"weights":[0.5]}"#,
    );
    let answer = json(["top", &file]);
    assert_eq!(answer["measure"]["kind"], "time");
    assert_eq!(int(&answer["whole"]["value"]), 502_000_000);
    let out = path(&folder, "x.pb.gz");
    assert!(run(["convert", &file, "-o", &out]).status.success());
    let file = fs::File::open(&out).expect("written");
    let profile: pprof::Profile = gzip::read(file, 1 << 20).expect("pprof");
    let text = |index: i64| String::from_utf8_lossy(&profile.string_table[index as usize]);
    let told: Vec<_> = profile
        .sample
        .iter()
        .map(|sample| {
            let label = &sample.label[0];
            (
                text(label.key).into_owned(),
                text(label.str).into_owned(),
                sample.value[0],
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("thread".to_owned(), "main".to_owned(), 2_000_000),
            ("thread".to_owned(), "pool 7".to_owned(), 500_000_000)
        ]
    );
}

#[test]
fn a_frame_of_speedscope_that_is_not_closed_lasts_to_the_end_if_there_is_one() {
    let folder = Folder::new();
    let events = r#""events":[{"type":"O","frame":0,"at":1},{"type":"O","frame":1,"at":4}]"#;
    let of = |end: &str| {
        let head = r#""type":"evented","name":"main","unit":"nanoseconds","startValue":0"#;
        speedscope(&folder, &format!("{{{head},{end}{events}}}"))
    };
    let file = of(r#""endValue":10,"#);
    assert_eq!(int(&json(["top", &file])["whole"]["value"]), 9);
    for end in [r#""endValue":3,"#, ""] {
        let error = failure(&run(["top", &of(end)]));
        assert!(
            error.ends_with("profile 0: frame 1 is open when the profile ends"),
            "{error}"
        );
    }
}

#[test]
fn fractions_of_speedscope_add_up_to_what_they_are_together() {
    let folder = Folder::new();
    for (unit, expected) in [("none", 4), ("bytes", 4), ("microseconds", 4_000)] {
        let file = speedscope(
            &folder,
            &format!(
                r#"{{"type":"sampled","name":"x","unit":"{unit}","startValue":0,"endValue":4,
                    "samples":[[0],[1]],"weights":[1.5,2.5]}}"#
            ),
        );
        let answer = json(["top", &file]);
        assert_eq!(int(&answer["whole"]["value"]), expected, "{unit}");
    }
}

#[test]
fn threads_of_one_unit_with_the_same_stacks_are_threads_and_other_units_are_sample_types() {
    let folder = Folder::new();
    let two = |first: &str, second: &str| {
        let profile = |name: &str, unit: &str, weight: i64| {
            format!(
                r#"{{"type":"sampled","name":"{name}","unit":"{unit}","startValue":0,"endValue":9,"samples":[[0,1]],"weights":[{weight}]}}"#
            )
        };
        let profiles = [profile("main", first, 4), profile("worker", second, 5)];
        let file = speedscope(&folder, &profiles.join(","));
        int(&json(["top", &file, "--sort", "total"])["whole"]["value"])
    };
    assert_eq!(two("milliseconds", "milliseconds"), 9_000_000);
    assert_eq!(two("milliseconds", "seconds"), 5_004_000_000);
    assert_eq!(two("none", "bytes"), 5);
}
