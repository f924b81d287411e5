//! Profiles of one kind whose sample types differ, and files with those of several kinds.

mod support;

use serde_json::Value;
use support::{Folder, START, TRACE, WINDOW, failure, int, json, run, stderr, stdout};
use vtprof_profile::builder::{ProfileBuilder, ValueType};
use vtprof_profile::gzip;
use vtprof_profile::pprof;
use vtprof_profile::spans::{SpanRecord, spans_to_traces};

const SAMPLES: (&str, &str) = ("samples", "count");
const CPU: (&str, &str) = ("cpu", "nanoseconds");
const MILLI: i64 = 1_000_000;

fn value_type((kind, unit): (&'static str, &'static str)) -> ValueType<'static> {
    ValueType { kind, unit }
}

/// Of a stack of one function for each root, with these values.
fn write(
    folder: &Folder,
    name: &str,
    types: &[(&'static str, &'static str)],
    samples: &[(String, Vec<i64>)],
) -> String {
    let types: Vec<_> = types.iter().map(|t| value_type(*t)).collect();
    let mut builder = ProfileBuilder::new(&types, value_type(CPU), 10 * MILLI);
    builder.set_time(START, WINDOW);
    let function = builder.function("f", "", "", 0);
    let location = builder.location(function, 0);
    for (root, values) in samples {
        let labels = [("local_root_span_id", root.as_str())];
        builder
            .sample(&[location], values, &labels)
            .expect("a good sample");
    }
    support::write(&builder.finish(), &folder.file(name));
    folder.file(name).to_str().expect("a path").to_owned()
}

fn id(number: u64) -> String {
    format!("{:016x}", 0x1000 + number)
}

/// 200 requests of which each tenth takes half a second, and half of all its time on the CPU: in three files, of other
/// sample types each, and one of spans. All paths, and the CPU time.
fn mixed(folder: &Folder) -> (Vec<String>, i64) {
    let (mut plain, mut alone, mut turned) = (Vec::new(), Vec::new(), Vec::new());
    let (mut spans, mut whole) = (Vec::new(), 0);
    for number in 0..200 {
        let millis = if number % 10 == 0 {
            500
        } else {
            100 + number % 7
        };
        let root = id(number);
        let span = support::local_root(&root, "GET /", millis);
        let trace = format!("{}{number:04x}", &TRACE[..28]).parse();
        spans.push(SpanRecord {
            trace: trace.expect("an id"),
            ..span
        });
        let nanos = millis as i64 * MILLI / 2;
        whole += nanos;
        match number % 30 / 10 {
            0 => plain.push((root, vec![millis as i64 / 20, nanos])),
            1 => alone.push((root, vec![nanos])),
            _ => turned.push((root, vec![nanos, millis as i64 / 20, 7])),
        }
    }
    let other = ("other", "count");
    let paths = vec![
        write(folder, "plain.pb.gz", &[SAMPLES, CPU], &plain),
        write(folder, "alone.pb.gz", &[CPU], &alone),
        write(folder, "turned.pb.gz", &[CPU, SAMPLES, other], &turned),
        folder
            .file("x-spans-x.pb.gz")
            .to_str()
            .expect("a path")
            .to_owned(),
    ];
    support::write_spans(
        &spans_to_traces("shop", spans),
        &folder.file("x-spans-x.pb.gz"),
    );
    (paths, whole)
}

fn float(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn answer(command: &str, paths: &[String], args: &[&str]) -> Value {
    let paths = paths.iter().map(String::as_str);
    json(
        [command]
            .into_iter()
            .chain(paths)
            .chain(args.iter().copied()),
    )
}

#[test]
fn profiles_of_one_kind_are_one_sum_whatever_their_columns_and_order() {
    let folder = Folder::new();
    let (mut paths, whole) = mixed(&folder);
    let out = Folder::new();
    for turn in 0..3 {
        paths[..3].rotate_left(1);
        let top = answer("top", &paths, &[]);
        assert_eq!(int(&top["whole"]["value"]), whole, "{turn}");

        let diff = answer("diff", &paths, &["--slow", "p95", "--fast", "p50"]);
        let sides = diff["sides"].as_array().expect("sides");
        for side in sides {
            let all = float(&side["value"]) as i64 + int(&side["left_out_other"]);
            assert_eq!(all, whole, "{turn}");
            assert_eq!(int(&side["profiles"]), 3);
        }
        // 20 slow ones with 250 ms each.
        assert_eq!(float(&sides[1]["value"]), 20.0 * 250e6, "{turn}");

        let why = answer("why", &paths, &["--slow", "p95"]);
        let parts = why["parts"].as_array().expect("parts");
        let cpu = parts.iter().find(|part| part["part"] == "cpu");
        let cpu = cpu.expect("CPU time");
        assert_eq!(cpu["slow_nanos"].as_f64(), Some(250e6), "{turn}");

        let all: Vec<_> = paths.iter().map(String::as_str).collect();
        let lines = run([&["flame", "--format", "collapsed"], &all[..]].concat());
        assert_eq!(stdout(&lines), format!("f {whole}\n"));
        assert_eq!(
            stderr(&lines),
            "vtprof: other/count, samples/count left out: not all cpu profiles have them\n"
        );

        let sum = out.file("sum.pb");
        let sum = sum.to_str().expect("a path");
        let merged = run([&["merge", "-o", sum, "--kind", "cpu"], &all[..]].concat());
        assert!(merged.status.success(), "{merged:?}");
        let top = answer("top", &[sum.to_owned()], &[]);
        assert_eq!(int(&top["whole"]["value"]), whole);
        let profile: pprof::Profile =
            gzip::read(std::fs::File::open(sum).expect("written"), 1 << 20).expect("pprof");
        assert_eq!(profile.sample_type.len(), 1);
    }
}

#[test]
fn a_count_that_all_have_is_kept_in_whatever_column_it_is() {
    let folder = Folder::new();
    let (paths, _) = mixed(&folder);
    let both = [paths[0].as_str(), paths[2].as_str()];
    let out = Folder::new();
    let sum = out.file("sum.pb.gz");
    let sum = sum.to_str().expect("a path");
    let samples = |files: &[&str]| {
        let files: Vec<_> = files.iter().map(|file| (*file).to_owned()).collect();
        int(&answer("top", &files, &["--kind", "cpu"])["whole"]["samples"])
    };
    let apart = samples(&both[..1]) + samples(&both[1..]);
    let merged = run(["merge", both[0], both[1], "-o", sum]);
    assert_eq!(
        stderr(&merged),
        "vtprof: other/count left out: not all cpu profiles have it\n"
    );
    assert_eq!(samples(&[sum]), apart);
    let nanos = int(&answer("top", &[sum.to_owned()], &[])["whole"]["value"]);
    let counted = answer("top", &[sum.to_owned()], &["--sample-type", "samples"]);
    assert_eq!(int(&counted["whole"]["value"]), apart);
    assert!(nanos > apart);
}

#[test]
fn without_a_count_and_with_several_periods_the_number_of_samples_is_not_known() {
    let folder = Folder::new();
    let (paths, _) = mixed(&folder);
    let fine = folder.file("fine.pb.gz");
    let types = [value_type(CPU)];
    let mut builder = ProfileBuilder::new(&types, types[0], MILLI);
    let function = builder.function("f", "", "", 0);
    let location = builder.location(function, 0);
    builder
        .sample(&[location], &[70 * MILLI], &[])
        .expect("a good sample");
    support::write(&builder.finish(), &fine);
    let sum = folder.file("sum.profile");
    let sum = sum.to_str().expect("a path");
    let fine = fine.to_str().expect("a path");
    for (other, is_known) in [(&paths[1], true), (&fine.to_owned(), false)] {
        let merged = run(["merge", &paths[0], other, "-o", sum]);
        assert!(merged.status.success(), "{merged:?}");
        let top = answer("top", &[sum.to_owned()], &[]);
        assert_eq!(top["whole"]["samples"].is_i64(), is_known, "{other}");
    }
}

#[test]
fn sides_of_a_picture_have_the_columns_that_both_have() {
    let folder = Folder::new();
    let (paths, whole) = mixed(&folder);
    let args = |base: &str, shown: &str| {
        let args = ["flame", shown, "--base", base, "--format", "collapsed"];
        stdout(&run(args))
    };
    let part = |path: &str| int(&json(["top", path, "--kind", "cpu"])["whole"]["value"]);
    let parts = [0, 1, 2].map(|at| part(&paths[at]));
    assert_eq!(parts.iter().sum::<i64>(), whole);
    for (base, shown) in [(0, 1), (1, 0), (2, 1), (0, 2)] {
        assert_eq!(
            args(&paths[base], &paths[shown]),
            format!("f {} {}\n", parts[base], parts[shown])
        );
    }
}

#[test]
fn a_sum_of_which_a_part_is_not_counted_has_no_error() {
    let folder = Folder::new();
    let root = |number| (id(number), vec![5, 50 * MILLI]);
    let counted = write(&folder, "counted.pb.gz", &[SAMPLES, CPU], &[root(1)]);
    let mut builder = ProfileBuilder::new(&[value_type(CPU)], value_type(("other", "count")), 0);
    let function = builder.function("f", "", "", 0);
    let location = builder.location(function, 0);
    builder
        .sample(&[location], &[70 * MILLI], &[])
        .expect("a good sample");
    support::write(&builder.finish(), &folder.file("not.pb.gz"));
    let not = folder
        .file("not.pb.gz")
        .to_str()
        .expect("a path")
        .to_owned();
    support::write_spans(
        &spans_to_traces("shop", [support::local_root(&id(1), "GET /", 100)]),
        &folder.file("x-spans-x.pb.gz"),
    );
    let spans = folder.file("x-spans-x.pb.gz");
    let files = [counted, not, spans.to_str().expect("a path").to_owned()];
    for command in [
        &["top"][..],
        &["spans"],
        &["spans", "--by", "endpoint"],
        &["spans", "--kind", "cpu"],
    ] {
        for (count, has_error) in [(1, true), (2, false)] {
            let mut given = command.to_vec();
            given.extend(files[..count].iter().map(String::as_str));
            given.push(&files[2]);
            let words = stdout(&run(&given));
            let has = words.contains("±1") || words.contains("±4");
            assert_eq!(has, has_error, "{command:?}: {words}");
            let table = stdout(&run(given.iter().chain(&["--csv"])));
            // 1/√5.
            assert_eq!(table.contains("0.447"), has_error, "{command:?}: {table}");
            let answer = stdout(&run(given.iter().chain(&["--json"])));
            assert_eq!(answer.contains("0.447"), has_error, "{command:?}: {answer}");
        }
    }
}

/// What Go's heap profiles have.
const HEAP: [(&str, &str); 4] = [
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
];

#[test]
fn a_file_of_two_kinds_is_of_each_that_is_asked_for() {
    let folder = Folder::new();
    let types = HEAP.map(value_type);
    let mut builder = ProfileBuilder::new(&types, types[3], 524_288);
    builder.default_sample_type("inuse_space");
    builder.set_time(START, 0);
    let function = builder.function("f", "", "", 0);
    let location = builder.location(function, 0);
    builder
        .sample(&[location], &[10, 1000, 2, 200], &[])
        .expect("a good sample");
    support::write(&builder.finish(), &folder.file("heap.pb.gz"));
    let heap = folder
        .file("heap.pb.gz")
        .to_str()
        .expect("a path")
        .to_owned();
    let alloc = write(&folder, "alloc.pb.gz", &HEAP[..2], &[(id(1), vec![1, 7])]);
    let value = |answer: &Value| {
        let measure = answer["measure"]["kind"].as_str().expect("a kind");
        (measure.to_owned(), int(&answer["whole"]["value"]))
    };
    for (args, measure, expected) in [
        (["--kind", "alloc"], "alloc_space", 1000),
        (["--kind", "live"], "inuse_space", 200),
        (["--sample-type", "inuse_space"], "inuse_space", 200),
        (["--sample-type", "inuse_objects"], "inuse_objects", 2),
        (["--sample-type", "alloc_objects"], "alloc_objects", 10),
    ] {
        let top = answer("top", std::slice::from_ref(&heap), &args);
        assert_eq!(value(&top), (measure.to_owned(), expected), "{args:?}");
        let lines = run(["flame", &heap, "--format", "collapsed", args[0], args[1]]);
        assert_eq!(stdout(&lines), format!("f {expected}\n"), "{args:?}");
        let diff = answer("diff", &[heap.clone(), heap.clone()], &args);
        assert_eq!(diff["measure"]["kind"], measure, "{args:?}");
        assert_eq!(
            float(&diff["sides"][0]["value"]),
            expected as f64,
            "{args:?}"
        );
        let spans = answer("spans", std::slice::from_ref(&heap), &args);
        assert_eq!(int(&spans["untagged"]["value"]), expected, "{args:?}");
        let wanted = folder.file("one.collapsed");
        let wanted = wanted.to_str().expect("a path");
        let converted = run(["convert", &heap, "-o", wanted, args[0], args[1]]);
        assert!(converted.status.success(), "{converted:?}");
        let text = std::fs::read_to_string(wanted).expect("written");
        assert_eq!(text, format!("f {expected}\n"), "{args:?}");
    }
    for (kind, place, expected) in [("alloc", 1, 1000), ("live", 3, 200)] {
        let page = stdout(&run(["flame", &heap, "--kind", kind]));
        let document = support::page::document(&page);
        assert_eq!(document["profiles"][0]["name"], kind);
        assert_eq!(int(&document["profiles"][0]["default"]), place);
        assert_eq!(support::page::shown(&document), expected, "{kind}");
    }
    for files in [[heap.clone(), alloc.clone()], [alloc.clone(), heap.clone()]] {
        let top = answer("top", &files, &["--kind", "alloc"]);
        assert_eq!(value(&top), ("alloc_space".to_owned(), 1007), "{files:?}");
        let args = ["--kind", "live", "--format", "collapsed"];
        let lines = run([&["flame", &files[0], &files[1]], &args[..]].concat());
        assert_eq!(stdout(&lines), "f 200\n", "{files:?}");
        let live = Folder::new();
        let into = live.path().to_str().expect("a path");
        let merged = run(["merge", &files[0], &files[1], "--kind", "live", "-o", into]);
        assert_eq!(stderr(&merged), "");
        let merged = live.file("all-live-merged.pb.gz");
        let merged = [merged.to_str().expect("a path").to_owned()];
        assert_eq!(
            value(&answer("top", &merged, &[])),
            ("inuse_space".to_owned(), 200)
        );
        let error = failure(&run(["top", &merged[0], "--kind", "alloc"]));
        assert!(error.ends_with("only 1 live profile"), "{error}");

        let out = folder.file("out.pb");
        let out = out.to_str().expect("a path");
        let merged = run(["merge", &files[0], &files[1], "-o", out]);
        assert_eq!(
            stderr(&merged),
            "vtprof: inuse_objects/count, inuse_space/bytes left out: not all alloc profiles have them\n"
        );
        let top = answer("top", &[out.to_owned()], &[]);
        assert_eq!(value(&top), ("alloc_space".to_owned(), 1007), "{files:?}");
    }
    let error = failure(&run(["top", &alloc, "--kind", "live"]));
    assert_eq!(
        error,
        "vtprof: error: no live profile among the inputs, only 1 alloc profile"
    );
}
