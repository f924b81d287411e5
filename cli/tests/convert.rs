//! `vtprof convert`: sums are the same in each format, there and back.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use support::{
    CpuProfile, Folder, PERIOD, TRACE, failure, int, json, run, run_with_input, stderr, tags,
};
use vtprof_profile::gzip;
use vtprof_profile::otlp::profiles::ProfilesData;
use vtprof_profile::pprof;

const A: &str = "00000000000000aa";
const B: &str = "00000000000000bb";
/// Name that a line of text could be broken with.
const HOSTILE: &str = "evil;frame\n17 \u{1b}[31m";

/// Two requests and a sample without any; the same stack under two spans and at two lines.
fn profile(path: &Path) {
    CpuProfile::window(0)
        .burn(
            10,
            &["leaf@F.java", "middle@M.java", "main"],
            &tags(A, "GET /a"),
        )
        .burn(
            5,
            &["leaf@F.java", "middle@M.java", "main"],
            &tags(B, "GET /b"),
        )
        .burn(2, &["leaf@F.java", "main"], &tags(B, "GET /b"))
        .burn(1, &[HOSTILE, "main"], &[])
        .burn(4, &["main"], &[("thread", "worker-#")])
        .write(path);
}

fn convert(args: &[&str]) -> String {
    let output = run([&["convert"], args].concat());
    assert!(output.status.success(), "{output:?}");
    stderr(&output)
}

fn path(folder: &Folder, name: &str) -> String {
    folder.file(name).to_str().expect("a path").to_owned()
}

fn read<M: vtprof_profile::Message + Default>(path: &str) -> M {
    let file = fs::File::open(path).expect("written");
    gzip::read(file, 1 << 30).expect("a message")
}

/// Frames leaf first and labels: values.
fn samples(path: &str) -> BTreeMap<(String, String), Vec<i64>> {
    let profile: pprof::Profile = read(path);
    let mut samples = BTreeMap::new();
    for sample in &profile.sample {
        let frames = sample.location_id.iter().map(|id| {
            let line = profile.location[*id as usize - 1].line[0];
            let function = &profile.function[line.function_id as usize - 1];
            let (name, file) = (profile.text(function.name), profile.text(function.filename));
            format!("{name}@{file}:{}", line.line)
        });
        let frames: Vec<_> = frames.collect();
        let labels = sample.label.iter();
        let mut labels: Vec<_> = labels
            .map(|label| format!("{}={}", profile.text(label.key), profile.text(label.str)))
            .collect();
        labels.sort();
        let key = (frames.join(" < "), labels.join(" "));
        assert_eq!(
            samples.insert(key, sample.value.clone()),
            None,
            "one sample twice"
        );
    }
    samples
}

#[test]
fn collapsed_stacks_are_lines_from_the_root_and_names_do_not_break_them() {
    let folder = Folder::new();
    profile(&folder.file("a.pb.gz"));
    let said = convert(&[
        &path(&folder, "a.pb.gz"),
        "-o",
        &path(&folder, "a.collapsed"),
        "--sample-type",
        "samples",
    ]);
    assert_eq!(
        said,
        "vtprof: collapsed has no labels: which span a sample belongs to is lost\n"
    );
    let text = fs::read_to_string(folder.file("a.collapsed")).expect("written");
    assert_eq!(
        text,
        "main;middle;leaf 15\nmain;leaf 2\nmain;evil:frame 17  [31m 1\nmain 4\n"
    );
}

#[test]
fn sums_survive_from_pprof_to_collapsed_and_back() {
    let folder = Folder::new();
    profile(&folder.file("a.pb.gz"));
    convert(&[
        &path(&folder, "a.pb.gz"),
        "-o",
        &path(&folder, "a.folded.gz"),
    ]);
    assert_eq!(
        fs::read(folder.file("a.folded.gz")).expect("written")[..2],
        [0x1f, 0x8b]
    );
    let back = path(&folder, "back.pb.gz");
    convert(&[
        &path(&folder, "a.folded.gz"),
        "-o",
        &back,
        "--value-type",
        "cpu/nanoseconds",
    ]);
    let answer = json(["top", &back]);
    assert_eq!(answer["measure"]["kind"], "cpu");
    assert_eq!(int(&answer["whole"]["value"]), 22 * PERIOD);
    let whole = json(["top", &path(&folder, "a.pb.gz")]);
    let by_name = |answer: &Value, own: &str| -> BTreeMap<String, i64> {
        let rows = answer["rows"].as_array().expect("rows").iter();
        rows.map(|row| {
            let name = row["name"].as_str().expect("a name");
            let name = name
                .replace(';', ":")
                .replace(|c: char| c.is_control(), " ");
            (name, int(&row[own]["value"]))
        })
        .collect()
    };
    for of in ["self", "total"] {
        assert_eq!(by_name(&answer, of), by_name(&whole, of), "{of}");
    }
}

#[test]
fn what_async_profiler_writes_is_read() {
    let folder = Folder::new();
    let text = "\
[main tid=41];java/lang/Thread.run_[j];Shop.serve_[j];java/util/HashMap.get_[i] 12\r
[main tid=41];java/lang/Thread.run_[0];Shop.serve_[1] 3\r
[GC_active];[unknown];entry_SYSCALL_64_after_hwframe_[k] 5\r
Shop.lambda$serve$0 with blanks 1\r
";
    fs::write(folder.file("a.collapsed"), text).expect("a temporary file");
    let answer = json(["top", &path(&folder, "a.collapsed"), "--sort", "total"]);
    assert_eq!(int(&answer["whole"]["samples"]), 21);
    let rows = answer["rows"].as_array().expect("rows");
    let total = |name: &str| {
        let row = rows.iter().find(|row| row["name"] == name);
        int(&row.unwrap_or_else(|| panic!("{name} in {rows:?}"))["total"]["value"])
    };
    assert_eq!(total("java/lang/Thread.run"), 15);
    assert_eq!(total("java/util/HashMap.get"), 12);
    assert_eq!(total("entry_SYSCALL_64_after_hwframe"), 5);
    assert_eq!(total("Shop.lambda$serve$0 with blanks"), 1);
    let piped = run_with_input(
        [
            "convert",
            "-",
            "--from",
            "collapsed",
            "-o",
            "-",
            "--to",
            "collapsed",
        ],
        text.as_bytes(),
    );
    assert!(piped.status.success(), "{piped:?}");
    let piped = String::from_utf8(piped.stdout).expect("UTF-8");
    assert!(
        piped.starts_with(
            "[main tid=41];java/lang/Thread.run;Shop.serve;java/util/HashMap.get 12\n"
        ),
        "{piped}"
    );
}

#[test]
fn numbers_that_cannot_be_samples_are_none_and_have_no_error() {
    let folder = Folder::new();
    for (text, samples) in [
        ("a;b 60000000000\na 240000000000\n", None),
        ("a;b 100000\na 0\n", None),
        ("a;b 99999\na 240000000000\n", Some(240_000_099_999)),
        ("step 3 12\na 9\n", Some(21)),
    ] {
        fs::write(folder.file("a.folded"), text).expect("a temporary file");
        let answer = json(["top", &path(&folder, "a.folded")]);
        let whole = &answer["whole"];
        assert_eq!(whole["samples"].as_i64(), samples, "{text}");
        assert_eq!(whole["relative_error"].is_null(), samples.is_none());
        let kind = samples.map_or("values", |_| "samples");
        assert_eq!(answer["measure"]["kind"], kind, "{text}");
    }
}

#[test]
fn sums_that_no_value_holds_are_refused_and_not_clipped() {
    let folder = Folder::new();
    let most = i64::MAX / PERIOD;
    for (name, root) in [("a.pb.gz", A), ("b.pb.gz", B)] {
        CpuProfile::window(0)
            .burn(most, &["f"], &tags(root, "GET /"))
            .write(&folder.file(name));
    }
    let [a, b, sum] = ["a.pb.gz", "b.pb.gz", "sum.pb.gz"].map(|name| path(&folder, name));
    let whole = json(["top", &a, &b])["whole"]["value"].to_string();
    assert_eq!(whole, (i128::from(most * PERIOD) * 2).to_string());
    // Under other labels each is a sample of its own.
    convert(&[&a, &b, "-o", &sum, "--to", "pprof"]);
    for args in [
        &[
            "merge",
            &a,
            &b,
            "--drop-labels",
            "span_id,local_root_span_id",
            "-o",
            "-",
        ][..],
        &["convert", &sum, "-o", "-", "--to", "collapsed"],
        &["convert", &sum, "-o", "-", "--to", "speedscope"],
    ] {
        let output = run(args);
        let reason = "values of one stack add up to more than 64 bits hold\n";
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr(&output).ends_with(reason), "{args:?}: {output:?}");
    }
}

#[test]
fn lines_that_are_no_stacks_are_refused_with_their_number() {
    let folder = Folder::new();
    for (text, reason) in [
        (
            "a;b 1\na;b x\n",
            "line 2: no whole number at its end: not collapsed stacks",
        ),
        (
            "a;b\n",
            "line 1: no whole number at its end: not collapsed stacks",
        ),
        (
            "a 99999999999999999999\n",
            "line 1: no whole number at its end: not collapsed stacks",
        ),
        ("\n\n", "no stack in it"),
        (
            "a;b 3 12\n\na 0 9\n",
            "two numbers on each line: the difference of two profiles, which has no one sum; give those it was made of",
        ),
    ] {
        fs::write(folder.file("a.folded"), text).expect("a temporary file");
        let file = path(&folder, "a.folded");
        let error = failure(&run(["top", &file]));
        assert_eq!(error, format!("vtprof: error: {file}: {reason}"));
    }
    // Without a name or an option it is no text of any kind.
    fs::write(folder.file("a.txt"), "a;b 1\n").expect("a temporary file");
    assert!(!run(["top", &path(&folder, "a.txt")]).status.success());
    convert(&[
        &path(&folder, "a.txt"),
        "--from",
        "collapsed",
        "-o",
        &path(&folder, "a.pb.gz"),
    ]);
}

#[test]
fn through_otlp_a_profile_comes_back_as_it_was() {
    let folder = Folder::new();
    profile(&folder.file("a.pb.gz"));
    for otlp in ["a.otlp.pb", "a.otlp.pb.gz", "a.otlp.json", "a.otlp.json.gz"] {
        assert_eq!(
            convert(&[&path(&folder, "a.pb.gz"), "-o", &path(&folder, otlp)]),
            ""
        );
        let back = path(&folder, "back.pb.gz");
        assert_eq!(convert(&[&path(&folder, otlp), "-o", &back]), "");
        assert_eq!(samples(&back), samples(&path(&folder, "a.pb.gz")), "{otlp}");
        let (one, other): (pprof::Profile, pprof::Profile) =
            (read(&path(&folder, "a.pb.gz")), read(&back));
        let head = |profile: &pprof::Profile| {
            let text = |index| profile.text(index).into_owned();
            let types = profile.sample_type.iter().chain(&profile.period_type);
            let types: Vec<_> = types.map(|t| (text(t.r#type), text(t.unit))).collect();
            let comments: Vec<_> = profile.comment.iter().map(|line| text(*line)).collect();
            let times = (profile.time_nanos, profile.duration_nanos, profile.period);
            (types, comments, times, text(profile.default_sample_type))
        };
        assert_eq!(head(&one), head(&other), "{otlp}");
        // Every command reads it as it is.
        let spans = |file: &str| json(["spans", file]);
        assert_eq!(
            spans(&path(&folder, otlp)),
            spans(&path(&folder, "a.pb.gz"))
        );
    }
}

#[test]
fn in_otlp_the_span_of_a_sample_is_its_link() {
    let folder = Folder::new();
    profile(&folder.file("a.pb.gz"));
    convert(&[
        &path(&folder, "a.pb.gz"),
        "-o",
        &path(&folder, "a.otlp.json"),
    ]);
    let text = fs::read_to_string(folder.file("a.otlp.json")).expect("written");
    let data: Value = serde_json::from_str(&text).expect("JSON");
    let dictionary = &data["dictionary"];
    let links = dictionary["linkTable"].as_array().expect("links");
    assert_eq!(links.len(), 3);
    assert_eq!(links[0]["traceId"], "0".repeat(32));
    assert_eq!(links[1]["traceId"], TRACE);
    assert_eq!(links[1]["spanId"], A);
    let profiles = &data["resourceProfiles"][0]["scopeProfiles"][0]["profiles"];
    assert_eq!(profiles.as_array().expect("one a sample type").len(), 2);
    let linked = |link: i64| -> i64 {
        let samples = profiles[0]["samples"].as_array().expect("samples").iter();
        let of_link = samples.filter(|sample| sample["linkIndex"].as_i64().unwrap_or(0) == link);
        of_link
            .map(|sample| {
                sample["values"][0]
                    .as_str()
                    .expect("text")
                    .parse::<i64>()
                    .expect("a number")
            })
            .sum()
    };
    assert_eq!((linked(0), linked(1), linked(2)), (5, 10, 7));
    let strings = dictionary["stringTable"].as_array().expect("texts");
    assert_eq!(strings[0], "");
    for (table, zero) in [
        ("locationTable", serde_json::json!({})),
        ("functionTable", serde_json::json!({})),
        ("stackTable", serde_json::json!({})),
        ("attributeTable", serde_json::json!({})),
        ("mappingTable", serde_json::json!({})),
    ] {
        assert_eq!(dictionary[table][0], zero, "{table}");
    }
    // Neither id is an attribute as well.
    let keys = dictionary["attributeTable"]
        .as_array()
        .expect("attributes")
        .iter();
    let keys: Vec<_> = keys
        .filter_map(|attribute| strings[attribute["keyStrindex"].as_u64()? as usize].as_str())
        .collect();
    assert!(
        !keys.contains(&"trace_id") && !keys.contains(&"span_id"),
        "{keys:?}"
    );
    assert!(
        keys.contains(&"local_root_span_id") && keys.contains(&"span_name"),
        "{keys:?}"
    );
}

#[test]
fn otlp_holds_several_kinds_and_the_other_formats_one() {
    let folder = Folder::new();
    profile(&folder.file("a.pb.gz"));
    let kind = vtprof_profile::kind::Kind::Alloc;
    let types = [kind.count(), kind.amount()];
    let mut builder = vtprof_profile::builder::ProfileBuilder::new(&types, kind.period(), 1);
    let function = builder.function("byte[]", "", "", 0);
    let location = builder.location(function, 0);
    builder
        .sample(&[location], &[3, 300], &[])
        .expect("a good sample");
    support::write(&builder.finish(), &folder.file("b.pb.gz"));
    let (a, b) = (path(&folder, "a.pb.gz"), path(&folder, "b.pb.gz"));
    let otlp = path(&folder, "both.otlp.pb");
    convert(&[&a, &b, "-o", &otlp]);
    let data: ProfilesData = read(&otlp);
    assert_eq!(data.resource_profiles[0].scope_profiles.len(), 2);
    for (kind, value) in [("cpu", 22 * PERIOD), ("alloc", 300)] {
        let answer = json(["top", &otlp, "--kind", kind]);
        assert_eq!(int(&answer["whole"]["value"]), value);
    }
    let out = path(&folder, "both.collapsed");
    assert_eq!(
        failure(&run(["convert", &otlp, "-o", &out])),
        "vtprof: error: 2 kinds of profile, of which collapsed holds one (cpu, alloc): --kind names it, the OTLP formats hold all"
    );
    convert(&[&otlp, "-o", &out, "--kind", "alloc"]);
    assert_eq!(fs::read_to_string(&out).expect("written"), "byte[] 300\n");
}

#[test]
fn sums_survive_to_speedscope_and_back() {
    let folder = Folder::new();
    profile(&folder.file("a.pb.gz"));
    let out = path(&folder, "a.speedscope.json");
    convert(&[&path(&folder, "a.pb.gz"), "-o", &out]);
    let text = fs::read_to_string(&out).expect("written");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        file["$schema"],
        "https://www.speedscope.app/file-format-schema.json"
    );
    let profiles = file["profiles"].as_array().expect("profiles");
    let heads: Vec<_> = profiles
        .iter()
        .map(|profile| {
            let text = |key: &str| profile[key].as_str().expect("text").to_owned();
            (
                text("type"),
                text("name"),
                text("unit"),
                int(&profile["endValue"]),
            )
        })
        .collect();
    let head = |name: &str, unit: &str, whole| ("sampled".into(), name.into(), unit.into(), whole);
    assert_eq!(
        heads,
        [
            head("samples", "none", 22),
            head("cpu", "nanoseconds", 22 * PERIOD)
        ]
    );
    assert_eq!(file["activeProfileIndex"], 1);
    // From the root; lines and labels are one.
    let frames = file["shared"]["frames"].as_array().expect("frames");
    let stacks: Vec<Vec<_>> = profiles[1]["samples"]
        .as_array()
        .expect("samples")
        .iter()
        .map(|stack| {
            let frames_of = stack.as_array().expect("frames").iter();
            let name = |frame: &Value| frames[int(frame) as usize]["name"].as_str();
            frames_of
                .map(|frame| name(frame).expect("a name"))
                .collect()
        })
        .collect();
    assert_eq!(
        stacks,
        [
            vec!["main", "middle", "leaf"],
            vec!["main", "leaf"],
            vec!["main", HOSTILE],
            vec!["main"]
        ]
    );
    let back = path(&folder, "back.pb.gz");
    convert(&[&out, "-o", &back]);
    let top = |file: &str| {
        let mut answer = json(["top", file, "--sort", "total"]);
        for window in ["window_start_unix_nanos", "window_end_unix_nanos"] {
            answer[window].take();
        }
        answer
    };
    assert_eq!(top(&back), top(&path(&folder, "a.pb.gz")));
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
    ] {
        fs::write(&file, text.replace(from, to)).expect("a temporary file");
        let error = failure(&run(["top", &file]));
        assert!(
            error.contains("speedscope: ") && error.contains(reason),
            "{error}"
        );
    }
}

/// A file of speedscope with these profiles, of frames a and b.
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
           {"type":"sampled","name":"pool 7","unit":"milliseconds","startValue":0,"endValue":1,
            "samples":[[0,1]],"weights":[500.0]}"#,
    );
    let answer = json(["top", &file]);
    assert_eq!(answer["measure"]["kind"], "time");
    assert_eq!(int(&answer["whole"]["value"]), 502_000_000);
    let out = path(&folder, "x.pb.gz");
    convert(&[&file, "-o", &out]);
    let told: Vec<_> = samples(&out).into_iter().collect();
    let expected = [("a", "main", 2_000_000), ("b a", "pool 7", 500_000_000)];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for (((_, labels), values), (_, thread, value)) in told.iter().zip(expected) {
        assert!(
            labels.contains("thread") && labels.contains(thread),
            "{labels}"
        );
        assert_eq!(*values, [value]);
    }
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
fn a_name_that_tells_no_format_is_refused_and_an_option_tells_it() {
    let folder = Folder::new();
    profile(&folder.file("a.pb.gz"));
    let (input, out) = (path(&folder, "a.pb.gz"), path(&folder, "out.json"));
    assert_eq!(
        failure(&run(["convert", &input, "-o", &out])),
        format!(
            "vtprof: error: {out}: tells no format by its end; --to names one of pprof, collapsed, otlp, otlp-json, speedscope"
        )
    );
    convert(&[&input, "-o", &out, "--to", "otlp-json"]);
    assert_eq!(int(&json(["top", &out])["whole"]["samples"]), 22);
    let error = failure(&run([
        "convert",
        &input,
        "-o",
        &out,
        "--to",
        "collapsed",
        "--sample-type",
        "wall",
    ]));
    assert_eq!(
        error,
        "vtprof: error: no sample type wall; there are samples/count, cpu/nanoseconds"
    );
    let broken = path(&folder, "broken.otlp.json");
    fs::write(&broken, r#"{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"sampleType":{},"samples":[{"stackIndex":7,"values":["1"]}]}]}]}],"dictionary":{"stringTable":[""],"stackTable":[{}]}}"#)
        .expect("a temporary file");
    assert_eq!(
        failure(&run(["top", &broken])),
        format!(
            "vtprof: error: {broken}: OTLP profiles: profile 0, sample 0: stack 7 is not in the file"
        )
    );
}
