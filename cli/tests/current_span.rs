//! Profiles whose samples name the current span and no local root: the spans of all files tell whose they are.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use support::{CpuProfile, Folder, int, json, local_root, run, stderr, stdout};
use vtprof_profile::builder::{ProfileBuilder, ValueType};
use vtprof_profile::pprof;
use vtprof_profile::spans::{SpanRecord, spans_to_traces};

/// Requests: one in ten is slow, and computes more.
const REQUESTS: u64 = 40;

fn root(number: u64) -> String {
    format!("{:016x}", 0x1000 + number)
}

fn child(number: u64) -> String {
    format!("{:016x}", 0x2000 + number)
}

fn is_slow(number: u64) -> bool {
    number.is_multiple_of(10)
}

fn samples(number: u64) -> i64 {
    if is_slow(number) { 40 } else { 5 }
}

fn all() -> i64 {
    (0..REQUESTS).map(samples).sum()
}

/// The spans, as an SDK of others writes them: no attribute names the local root.
fn write_spans(path: &Path, spans: impl IntoIterator<Item = SpanRecord>) {
    let mut traces = spans_to_traces("shop", spans);
    for span in &mut traces.resource_spans[0].scope_spans[0].spans {
        span.attributes.clear();
    }
    support::write_spans(&traces, path);
}

/// A profile of child spans in one file, their roots in another than they.
fn service() -> Folder {
    let folder = Folder::new();
    let mut cpu = CpuProfile::window(0).burn(7, &["gc"], &[]);
    for number in 0..REQUESTS {
        let id = child(number);
        let tags = [("trace_id", support::TRACE), ("span_id", &id)];
        let leaf = if is_slow(number) { "slow" } else { "fast" };
        cpu = cpu.burn(samples(number), &[leaf, "handle"], &tags);
    }
    cpu.write(&folder.file("p.pb.gz"));
    let millis = |number| if is_slow(number) { 1000 } else { 100 };
    let span = |id: &str, name, number| local_root(id, name, millis(number));
    let children = (0..REQUESTS).map(|number| SpanRecord {
        parent: root(number).parse().ok(),
        ..span(&child(number), "SELECT", number)
    });
    write_spans(&folder.file("traces-1.pb.gz"), children);
    let roots = (0..REQUESTS).map(|number| span(&root(number), "GET /x", number));
    write_spans(&folder.file("traces-2.pb.gz"), roots);
    folder
}

fn path(folder: &Folder) -> &str {
    folder.path().to_str().expect("a path")
}

fn rows<'a>(answer: &'a Value, table: &str) -> &'a Vec<Value> {
    answer[table]["rows"].as_array().expect("rows")
}

#[test]
fn spans_charges_requests_with_what_is_below_them_and_lists_no_child() {
    let folder = service();
    let answer = json(["spans", path(&folder)]);
    let endpoints = rows(&answer, "endpoints");
    assert_eq!(endpoints.len(), 1, "{endpoints:?}");
    assert_eq!(endpoints[0]["name"], "GET /x");
    assert_eq!(int(&endpoints[0]["kinds"]["cpu"]["samples"]), all());
    assert_eq!(int(&endpoints[0]["spans"]), REQUESTS as i64);
    let spans = rows(&answer, "spans");
    assert_eq!(spans.len() as u64, REQUESTS);
    for row in spans {
        let id = row["local_root_span_id"].as_str().expect("an id");
        let number = u64::from_str_radix(id, 16).expect("hex") - 0x1000;
        assert_eq!(int(&row["kinds"]["cpu"]["samples"]), samples(number));
    }
}

#[test]
fn diff_and_why_find_what_slow_requests_compute() {
    let folder = service();
    let bounds = ["--slow", "p95", "--fast", "p50"];
    let diff = [&["diff", path(&folder)][..], &bounds].concat();
    let answer = json(diff);
    assert_eq!(answer["rows"][0]["name"], "slow");
    let why = [
        &["why", path(&folder)][..],
        &["--slow", "p91", "--fast", "p50"],
    ]
    .concat();
    let text = stdout(&run(why));
    assert!(text.contains("slow"), "{text}");
}

#[test]
fn a_focus_takes_what_is_below_its_request() {
    let folder = service();
    let one = format!("root={}", root(10));
    for (focus, expected) in [("name=GET /x", all()), (&one, 40), ("name=SELECT", 0)] {
        let answer = json(["top", path(&folder), "--focus", focus]);
        assert_eq!(int(&answer["in_focus"]["samples"]), expected, "{focus}");
        assert_eq!(int(&answer["whole"]["samples"]), all() + 7);
        assert_eq!(int(&answer["profiles"]), 1);
        let out = Folder::new();
        let file = out.file("out.pb");
        let written = file.to_str().expect("a path");
        let output = run(["merge", path(&folder), "-o", written, "--focus", focus]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(by_span(&file).values().sum::<i64>(), expected, "{focus}");
    }
    let other = root(11);
    let lines = stdout(&run([
        "flame",
        path(&folder),
        "--roots",
        &other,
        "--format",
        "collapsed",
    ]));
    assert_eq!(lines, "handle;fast 50000000\n");
}

#[test]
fn a_page_takes_no_sample_by_the_id_of_a_child_as_lines_do_not() {
    let folder = service();
    for (id, samples) in [(root(10), 40), (child(10), 0)] {
        let focus = format!("root={id}");
        let args = ["flame", path(&folder), "--focus", &focus, "--format"];
        let page = stdout(&run(args.iter().chain(&["html"])));
        let shown = support::page::shown(&support::page::document(&page));
        assert_eq!(shown, samples * support::PERIOD, "{focus}");
        let lines = stdout(&run(args.iter().chain(&["collapsed"])));
        assert_eq!(lines.lines().count() as i64, samples.min(1), "{lines}");
    }
}

#[test]
fn rolled_up_samples_have_the_id_of_the_request() {
    let folder = service();
    let out = Folder::new();
    let file = out.file("out.pb");
    let written = file.to_str().expect("a path");
    let output = run(["merge", path(&folder), "-o", written, "--roll-up"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let expected = (0..REQUESTS).map(|number| (root(number), samples(number)));
    let mut expected: BTreeMap<_, _> = expected.collect();
    expected.insert(String::new(), 7);
    assert_eq!(by_span(&file), expected);
}

#[test]
fn a_label_without_text_names_no_request_to_roll_up_to() {
    let folder = service();
    let (known, unknown) = (child(3), child(REQUESTS));
    let mut cpu = CpuProfile::window(1);
    for (id, samples) in [(&known, 100), (&unknown, 9)] {
        cpu = cpu.burn(samples, &["f"], &[("span_id", id.as_str())]);
    }
    let mut cpu = cpu.build();
    let key = cpu.string_table.len() as i64;
    // The first string would be no text at all.
    let strings = [&b"local_root_span_id"[..], b""].map(<[u8]>::to_vec);
    cpu.string_table.extend(strings);
    for sample in &mut cpu.sample {
        sample.label.push(pprof::Label {
            key,
            str: key + 1,
            ..pprof::Label::default()
        });
    }
    support::write(&cpu, &folder.file("q.pb.gz"));
    let out = Folder::new();
    let file = out.file("out.pb");
    let written = file.to_str().expect("a path");
    let output = run(["merge", path(&folder), "-o", written, "--roll-up"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let by_span = by_span(&file);
    assert_eq!(by_span.get(&root(3)), Some(&(samples(3) + 100)));
    assert_eq!(by_span.get(&unknown), Some(&9));
    assert_eq!(by_span.get(""), Some(&7));
}

#[test]
fn sample_types_that_not_all_have_are_left_out_and_said_once_where_some_files_wait_for_spans() {
    let folder = Folder::new();
    let value_type = |kind, unit| ValueType { kind, unit };
    let (count, cpu) = (
        value_type("samples", "count"),
        value_type("cpu", "nanoseconds"),
    );
    let others = ["a", "b", "c"].map(|name| value_type(name, "count"));
    for (number, other) in others.into_iter().enumerate() {
        let mut builder = ProfileBuilder::new(&[count, other, cpu], cpu, support::PERIOD);
        builder.set_time(support::START, support::WINDOW);
        let function = builder.function("f", "", "", 0);
        let location = builder.location(function, 1);
        // The last says whose its samples are.
        let key = ["span_id", "span_id", "local_root_span_id"][number];
        let values = [1, 1, support::PERIOD];
        builder
            .sample(&[location], &values, &[(key, &child(0))])
            .expect("a good sample");
        support::write(&builder.finish(), &folder.file(&format!("{number}.pb.gz")));
    }
    let out = Folder::new();
    let file = out.file("out.pb");
    let written = file.to_str().expect("a path");
    let output = run(["merge", path(&folder), "-o", written, "--roll-up"]);
    assert_eq!(
        stderr(&output),
        "vtprof: a/count, b/count, c/count left out: not all cpu profiles have them\n"
    );
    assert_eq!(by_span(&file).values().sum::<i64>(), 3);
}

/// Samples by `span_id`.
fn by_span(file: &Path) -> BTreeMap<String, i64> {
    let bytes = std::fs::read(file).expect("a file");
    let profile: pprof::Profile = vtprof_profile::Message::decode(&bytes[..]).expect("a profile");
    let text = |index: i64| {
        let bytes = &profile.string_table[index as usize];
        String::from_utf8_lossy(bytes).into_owned()
    };
    let mut sums = BTreeMap::new();
    for sample in &profile.sample {
        let mut labels = sample.label.iter();
        let span = labels.find(|label| text(label.key) == "span_id");
        let span = span.map_or_else(String::new, |label| text(label.str));
        *sums.entry(span).or_default() += sample.value[0];
    }
    sums
}

#[test]
fn a_root_that_labels_name_is_not_replaced_by_the_one_above_it() {
    let folder = Folder::new();
    let (above, below) = (root(1), child(1));
    let tags = support::tags(&below, "GET /inner");
    let cpu = CpuProfile::window(0).burn(3, &["f"], &tags);
    cpu.write(&folder.file("p.pb.gz"));
    let inner = SpanRecord {
        parent: above.parse().ok(),
        ..local_root(&below, "GET /inner", 10)
    };
    write_spans(
        &folder.file("t.pb.gz"),
        [local_root(&above, "GET /outer", 20), inner],
    );
    let answer = json(["spans", path(&folder), "--by", "endpoint"]);
    let cost = |name: &str| {
        let mut rows = rows(&answer, "endpoints").iter();
        let row = rows.find(|row| row["name"] == name).expect(name);
        int(&row["kinds"]["cpu"]["samples"])
    };
    assert_eq!((cost("GET /inner"), cost("GET /outer")), (3, 0));
}
