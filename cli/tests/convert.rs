//! `vtprof convert`: sums are the same in each format, there and back.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use support::{CpuProfile, Folder, PERIOD, TRACE, failure, int, json, run, stderr, tags};
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
