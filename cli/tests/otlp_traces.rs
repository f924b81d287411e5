//! Spans as the Collector's file exporter and others write them.

mod support;

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use support::{CpuProfile, Folder, TRACE, failure, int, local_root, run, stderr, tags};
use vtprof_profile::Message;
use vtprof_profile::spans::spans_to_traces;

const A: &str = "00000000000000aa";
const B: &str = "00000000000000bb";

/// A document as the Collector writes it: 64-bit numbers as text, ids hexadecimal, much that vtprof does not read.
fn document(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            {"key": "service.name", "value": {"stringValue": "shop"}},
            {"key": "process.pid", "value": {"intValue": "42"}},
            {"key": "host.ip", "value": {"arrayValue": {"values": [{"stringValue": "::1"}]}}},
        ]},
        "scopeSpans": [{
            "scope": {"name": "io.opentelemetry.helidon", "version": "2.1"},
            "spans": spans,
            "schemaUrl": "https://opentelemetry.io/schemas/1.37.0",
        }],
        "entityRefs": [],
    }]})
}

fn span(id: &str, parent: &str, name: &str, millis: u64) -> Value {
    let start = support::START as u64;
    json!({
        "traceId": TRACE.to_uppercase(),
        "spanId": id,
        "parentSpanId": parent,
        "flags": 257,
        "name": name,
        "kind": 2,
        "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": (start + millis * 1_000_000).to_string(),
        "attributes": [
            {"key": "http.response.status_code", "value": {"intValue": "200"}},
            {"key": "ratio", "value": {"doubleValue": 0.5}},
            {"key": "nothing", "value": {}},
            {"key": "raw", "value": {"bytesValue": "AQID"}},
        ],
        "events": [{"timeUnixNano": start.to_string(), "name": "received"}],
        "links": [],
        "status": {"code": 2},
    })
}

/// A profile and these traces: each local root's name, milliseconds and samples.
fn seen(folder: &Folder, traces: &std::path::Path) -> Vec<(String, i64, i64)> {
    let profile = folder.file("p.pb.gz");
    CpuProfile::window(0)
        .burn(3, &["f"], &tags(A, ""))
        .burn(4, &["g"], &tags(B, ""))
        .write(&profile);
    let answer = support::json([
        "spans".as_ref(),
        profile.as_os_str(),
        traces.as_os_str(),
        "--by".as_ref(),
        "span".as_ref(),
    ]);
    let rows = answer["spans"]["rows"].as_array().expect("spans").iter();
    let mut rows: Vec<_> = rows
        .filter(|row| row["duration_nanos"].is_number())
        .map(|row| {
            let name = row["name"].as_str().expect("a name").to_owned();
            let kind = &row["kinds"]["cpu"]["samples"];
            (name, int(&row["duration_nanos"]) / 1_000_000, int(kind))
        })
        .collect();
    rows.sort();
    rows
}

fn both() -> Vec<(String, i64, i64)> {
    vec![("GET /a".into(), 20, 3), ("GET /b".into(), 30, 4)]
}

/// The children stand before their roots, in a document of their own.
fn documents() -> [Value; 2] {
    [
        document(&[span("00000000000000cc", A, "child", 10)]),
        document(&[span(A, "", "GET /a", 20), span(B, "", "GET /b", 30)]),
    ]
}

#[test]
fn json_is_read_as_one_document_as_lines_and_indented_gzipped_or_not() {
    let folder = Folder::new();
    let [first, second] = documents();
    let lines = format!("{first}\n{second}\n");
    let mut gzipped = GzEncoder::new(Vec::new(), Compression::default());
    gzipped.write_all(lines.as_bytes()).expect("memory");
    for (name, bytes) in [
        ("one.json", second.to_string().into_bytes()),
        ("lines.jsonl", lines.clone().into_bytes()),
        (
            "blank lines.json",
            format!("\n{first}\n\n{second}\n\n").into_bytes(),
        ),
        ("marked.json", format!("\u{feff}{second}").into_bytes()),
        (
            "indented.json",
            serde_json::to_vec_pretty(&second).expect("JSON"),
        ),
        ("lines.json.gz", gzipped.finish().expect("memory")),
    ] {
        let file = folder.file(name);
        fs::write(&file, bytes).expect("a temporary file");
        assert_eq!(seen(&folder, &file), both(), "{name}");
    }
}

#[test]
fn lines_of_other_signals_are_left_out() {
    let folder = Folder::new();
    let [_, second] = documents();
    let file = folder.file("all.json");
    let text = format!("{{\"resourceMetrics\":[]}}\n{second}\n{{\"resourceLogs\":[{{}}]}}\n");
    fs::write(&file, text).expect("a temporary file");
    assert_eq!(seen(&folder, &file), both());
}

#[test]
fn enumerations_by_name_and_numbers_as_numbers_are_read_too() {
    let folder = Folder::new();
    let mut root = span(A, "", "GET /a", 20);
    root["kind"] = json!("SPAN_KIND_SERVER");
    root["status"] = json!({"code": "STATUS_CODE_ERROR", "message": "no"});
    root["startTimeUnixNano"] = json!(support::START);
    root["endTimeUnixNano"] = json!(support::START + 20_000_000);
    let file = folder.file("a.json");
    fs::write(&file, document(&[root]).to_string()).expect("a temporary file");
    assert_eq!(seen(&folder, &file), both()[..1]);
}

#[test]
fn spans_that_do_not_say_how_long_they_were_are_no_requests_and_said_once() {
    let folder = Folder::new();
    let at = |id: &str, start: i64, end: i64| {
        let mut span = span(id, "", "GET /b", 0);
        span["startTimeUnixNano"] = json!(start.to_string());
        span["endTimeUnixNano"] = json!(end.to_string());
        span
    };
    let start = support::START;
    let spans = [
        span(A, "", "GET /a", 20),
        at(B, start, 0),
        at("00000000000000dd", 0, start),
        at("00000000000000ee", start + 1, start),
        at("00000000000000ff", start, start),
    ];
    let mut below = at("00000000000000ab", start, 0);
    below["parentSpanId"] = json!(A);
    let spans = [&spans[..], &[below]].concat();
    let file = folder.file("t.json");
    fs::write(&file, document(&spans).to_string()).expect("a temporary file");
    let none = ("GET /b".to_owned(), 0, 0);
    assert_eq!(seen(&folder, &file), [both()[0].clone(), none]);
    let profile = folder.file("p.pb.gz");
    let told = |spans: &str| {
        format!("vtprof: {spans} that end before they start, or say 0 for one of both, left out\n")
    };
    let note = told("3 local root spans");
    // What is asked of a child is whose it is, but for check.
    for (command, told) in [("spans", note.clone()), ("check", told("4 spans"))] {
        let args = [command.as_ref(), profile.as_os_str(), file.as_os_str()];
        let said = stderr(&run(args));
        assert_eq!(said, told, "{command}");
    }
    let args = ["flame".as_ref(), profile.as_os_str(), file.as_os_str()];
    let end = [
        "--focus".as_ref(),
        "name=GET /b".as_ref(),
        "--format".as_ref(),
        "collapsed".as_ref(),
    ];
    let said = stderr(&run(args.into_iter().chain(end)));
    assert!(said.starts_with(&note), "{said}");
}

fn prefixed(messages: &[Vec<u8>]) -> Vec<u8> {
    let with_length = |message: &Vec<u8>| {
        let length = u32::try_from(message.len()).expect("short").to_be_bytes();
        [&length[..], message].concat()
    };
    messages.iter().flat_map(with_length).collect()
}

fn messages() -> [Vec<u8>; 2] {
    [local_root(A, "GET /a", 20), local_root(B, "GET /b", 30)]
        .map(|root| spans_to_traces("shop", [root]).encode_to_vec())
}

#[test]
fn protobuf_is_read_bare_and_as_length_prefixed_messages() {
    let folder = Folder::new();
    let messages = messages();
    let file = folder.file("traces.binpb");
    fs::write(&file, prefixed(&messages)).expect("a temporary file");
    assert_eq!(seen(&folder, &file), both());
    // Two messages one after the other are one.
    fs::write(&file, messages.concat()).expect("a temporary file");
    assert_eq!(seen(&folder, &file), both());
    let empty = prefixed(&[messages[0].clone(), Vec::new(), messages[1].clone()]);
    fs::write(&file, empty).expect("a temporary file");
    assert_eq!(seen(&folder, &file), both());
}

#[test]
fn what_is_cut_or_broken_is_told_with_its_place() {
    let folder = Folder::new();
    let [first, second] = documents();
    let lines = format!("{first}\n{second}\n");
    let messages = prefixed(&messages());
    let at = 4 + messages[3] as usize;
    let mut bad_inside = messages.clone();
    bad_inside[at + 4] = 0xff;
    let text = |text: &str| text.as_bytes().to_vec();
    for (name, bytes, reason) in [
        (
            "cut.json",
            text(&lines[..lines.len() - 20]),
            "EOF while parsing".to_owned(),
        ),
        (
            "wrong.json",
            text(&lines.replace("\"kind\":2", "\"kind\":")),
            " at line 1 column ".to_owned(),
        ),
        (
            "id.json",
            text(&lines.replace(B, "no id")),
            "\"no id\" is not hexadecimal".to_owned(),
        ),
        (
            "time.json",
            text(&lines.replace(&support::START.to_string(), "yesterday")),
            "\"yesterday\" is no 64-bit number at line 1 column ".to_owned(),
        ),
        (
            "other.json",
            text("{\"a\":1}"),
            "JSON, but neither OTLP".to_owned(),
        ),
        (
            "deep.json",
            text(&format!("{{\"resourceSpans\":{}", "[".repeat(1 << 20))),
            "not the JSON of OTLP or speedscope".to_owned(),
        ),
        (
            "cut.binpb",
            messages[..messages.len() - 1].to_vec(),
            format!("message at byte {at}: cut short: "),
        ),
        (
            "cut in length.binpb",
            messages[..at + 2].to_vec(),
            format!("message at byte {at}: cut short: no length"),
        ),
        (
            "broken.binpb",
            bad_inside,
            format!("message at byte {at}: neither OTLP traces nor profiles"),
        ),
        (
            "zstd.binpb",
            prefixed(&[vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0]]),
            "compressed with zstd, which is not read".to_owned(),
        ),
    ] {
        let file = folder.file(name);
        fs::write(&file, bytes).expect("a temporary file");
        let error = failure(&run(["spans".as_ref(), file.as_os_str()]));
        let start = format!("vtprof: error: {}: ", file.display());
        assert!(
            error.starts_with(&start) && error.contains(&reason),
            "{name}: {error}"
        );
    }
}

#[test]
fn spans_whose_ids_are_none_are_no_error() {
    let folder = Folder::new();
    let file = folder.file("a.json");
    let spans = [span("", "", "no id", 5), span(A, "", "GET /a", 20)];
    fs::write(&file, document(&spans).to_string()).expect("a temporary file");
    assert_eq!(seen(&folder, &file), both()[..1]);
    let output = run(["spans".as_ref(), file.as_os_str()]);
    assert!(output.status.success(), "{}", stderr(&output));
}
