//! `vtprof spans`: cost by endpoint and by local root span, joined with span files.

mod support;

use serde_json::Value;
use support::{
    CpuProfile, Folder, PERIOD, failure, int, json, local_root, row, run, stderr, stdout, tags,
};
use vtprof_profile::spans::{SpanRecord, SpanStatus, set_left_out, spans_to_traces};

const A: &str = "00000000000000aa";
const B: &str = "00000000000000bb";
const C: &str = "00000000000000cc";
const D: &str = "00000000000000dd";

/// Two windows: A and B end in them, C still runs, D ends without a sample; 5 samples are nobody's.
fn write_service(folder: &Folder) {
    CpuProfile::window(0)
        .burn(30, &["Json.write", "Cart.get"], &tags(A, "GET /cart"))
        .burn(10, &["Cart.get"], &tags(B, "GET"))
        .burn(4, &["Gc"], &[("thread", "GC Thread#N")])
        .write(&folder.file("shop-1-cpu-20231114T221320Z.pb.gz"));
    CpuProfile::window(1)
        .burn(20, &["Json.write"], &tags(A, "GET /cart"))
        .burn(8, &["Poll.run"], &tags(C, "poll"))
        .burn(1, &["Gc"], &[("thread", "GC Thread#N")])
        .write(&folder.file("shop-1-cpu-20231114T221420Z.pb.gz"));
    let child = SpanRecord {
        local_root: A.parse().expect("id"),
        ..local_root("00000000000000a1", "query", 5)
    };
    let failed = SpanRecord {
        status: SpanStatus::Error,
        ..local_root(B, "GET /cart", 2000)
    };
    let mut traces = spans_to_traces(
        "shop",
        [
            child,
            local_root(A, "GET /cart", 700),
            failed,
            local_root(D, "GET /health", 1),
        ],
    );
    set_left_out(&mut traces, 7);
    support::write_spans(&traces, &folder.file("shop-1-spans-20231114T221320Z.pb.gz"));
}

fn find<'a>(table: &'a Value, key: &str, value: &str) -> &'a Value {
    let rows = table["rows"].as_array().expect("rows");
    rows.iter()
        .find(|row| row[key] == value)
        .unwrap_or_else(|| panic!("no {value} in {table}"))
}

fn column(table: &Value, key: &str) -> Vec<String> {
    let rows = table["rows"].as_array().expect("rows");
    rows.iter()
        .map(|row| row[key].as_str().expect("text").to_owned())
        .collect()
}

fn sum(table: &Value, key: &str) -> i64 {
    let rows = table["rows"].as_array().expect("rows");
    rows.iter().map(|row| int(&row[key])).sum::<i64>() + int(&table["left_out"][key])
}

#[test]
fn both_listings_with_the_untagged_add_up_to_the_files() {
    let folder = Folder::new();
    write_service(&folder);
    for limit in ["0", "1", "2"] {
        let answer = json([
            "spans".as_ref(),
            folder.path().as_os_str(),
            "--limit".as_ref(),
            limit.as_ref(),
        ]);
        for table in ["endpoints", "spans"] {
            for (key, whole) in [("value", 73 * PERIOD), ("samples", 73)] {
                let total = sum(&answer[table], key) + int(&answer["untagged"][key]);
                assert_eq!(total, whole, "{table} {key} at --limit {limit}");
                assert_eq!(int(&answer["whole"][key]), whole);
            }
        }
    }
}

#[test]
fn endpoints_are_ordered_by_cost_and_carry_the_final_name() {
    let folder = Folder::new();
    write_service(&folder);
    let answer = json(["spans".as_ref(), folder.path().as_os_str()]);
    let endpoints = &answer["endpoints"];
    assert_eq!(
        column(endpoints, "name"),
        ["GET /cart", "poll", "GET /health"]
    );

    // B was "GET" when its window closed; the span file knows better.
    let cart = find(endpoints, "name", "GET /cart");
    assert_eq!(int(&cart["samples"]), 60);
    assert_eq!(int(&cart["spans"]), 2);
    assert_eq!(int(&cart["value_per_span"]), 30 * PERIOD);
    assert_eq!(int(&cart["duration_p50_nanos"]), 700_000_000);
    assert_eq!(int(&cart["duration_max_nanos"]), 2_000_000_000);
    let error = cart["relative_error"].as_f64().expect("a number");
    assert!((error - 1.0 / 60_f64.sqrt()).abs() < 1e-12, "{error}");

    // Still running: its cost is shown, but what one costs is not known yet.
    let poll = find(endpoints, "name", "poll");
    assert_eq!((int(&poll["samples"]), int(&poll["spans"])), (8, 0));
    assert!(poll["value_per_span"].is_null());
    assert_eq!(int(&find(endpoints, "name", "GET /health")["value"]), 0);
}

#[test]
fn spans_are_listed_slowest_first_and_running_ones_after_them() {
    let folder = Folder::new();
    write_service(&folder);
    let answer = json([
        "spans".as_ref(),
        folder.path().as_os_str(),
        "--by".as_ref(),
        "span".as_ref(),
    ]);
    assert!(answer.get("endpoints").is_none());
    assert_eq!(column(&answer["spans"], "local_root_span_id"), [B, A, D, C]);
    let slow = find(&answer["spans"], "local_root_span_id", B);
    assert_eq!(int(&slow["duration_nanos"]), 2_000_000_000);
    assert_eq!(int(&slow["samples"]), 10);
    assert_eq!(slow["status"], "error");
    assert_eq!(slow["trace_id"], support::TRACE);
    assert!(find(&answer["spans"], "local_root_span_id", C)["duration_nanos"].is_null());
}

#[test]
fn slowest_shows_that_many_and_the_cost_of_the_rest() {
    let folder = Folder::new();
    write_service(&folder);
    let answer = json([
        "spans".as_ref(),
        folder.path().as_os_str(),
        "--slowest".as_ref(),
        "2".as_ref(),
    ]);
    assert_eq!(column(&answer["spans"], "local_root_span_id"), [B, A]);
    assert_eq!(int(&answer["spans"]["rows_left_out"]), 2);
    assert_eq!(int(&answer["spans"]["left_out"]["samples"]), 8);
}

#[test]
fn slowest_without_span_files_says_what_is_missing() {
    let folder = Folder::new();
    let file = folder.file("cpu.pb.gz");
    CpuProfile::window(0)
        .burn(1, &["a"], &tags(A, "GET /"))
        .write(&file);
    let refused = failure(&run([
        "spans".as_ref(),
        file.as_os_str(),
        "--slowest".as_ref(),
        "1".as_ref(),
    ]));
    assert!(refused.contains("--slowest needs durations"), "{refused}");
    assert!(refused.ends_with("add the -spans- files"), "{refused}");
}

#[test]
fn profiles_alone_are_listed_by_cost_without_durations() {
    let folder = Folder::new();
    let file = folder.file("cpu.pb.gz");
    CpuProfile::window(0)
        .burn(3, &["a"], &tags(A, "GET /a"))
        .burn(90, &["b"], &tags(B, "GET /b"))
        .burn(7, &["c"], &[])
        .write(&file);
    let text = stdout(&run(["spans".as_ref(), file.as_os_str()]));
    let endpoint = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    assert!(
        text.starts_with("cpu: 1.00 s, 100 samples, 1 profile over 60.0 s\n"),
        "{text}"
    );
    let (endpoints, spans) = text.split_once("LOCAL ROOT").expect("two tables");
    assert_eq!(
        row(endpoints, "GET /a"),
        endpoint(&[
            "30.0", "ms", "3.0", "%", "±58", "%", "3", "-", "-", "-", "-", "-", "GET", "/a"
        ])
    );
    assert_eq!(
        row(endpoints, "(untagged)")[..7],
        endpoint(&["70.0", "ms", "7.0", "%", "±38", "%", "7"])
    );
    let b = row(spans, "GET /b");
    assert_eq!(
        b[..8],
        endpoint(&["-", "900", "ms", "90.0", "%", "±11", "%", "90"])
    );
    assert_eq!(b[8..], endpoint(&[B, support::TRACE, "-", "GET", "/b"]));
    assert_eq!(row(spans, "(untagged)")[1..3], endpoint(&["70.0", "ms"]));
}

#[test]
fn span_files_alone_show_durations() {
    let folder = Folder::new();
    let file = folder.file("shop-1-spans-x.pb.gz");
    support::write_spans(
        &spans_to_traces("shop", [local_root(A, "GET /a", 12)]),
        &file,
    );
    let text = stdout(&run(["spans".as_ref(), file.as_os_str()]));
    assert_eq!(
        row(
            text.split_once("LOCAL ROOT").expect("two tables").1,
            "GET /a"
        )[..2],
        ["12.0", "ms"]
    );
    assert!(
        failure(&run(["top".as_ref(), file.as_os_str()])).contains("no profile among the inputs")
    );
}

#[test]
fn spans_left_out_by_the_writer_are_reported() {
    let folder = Folder::new();
    write_service(&folder);
    let output = run(["spans".as_ref(), folder.path().as_os_str()]);
    assert!(
        stderr(&output).contains("7 more spans ended, but were left out of the span files"),
        "{output:?}"
    );
    assert!(stdout(&output).starts_with(
        "cpu: 730 ms, 73 samples, 2 profiles over 120 s; 4 spans ended, 3 of them local roots\n"
    ));
    assert_eq!(
        int(&json(["spans".as_ref(), folder.path().as_os_str()])["spans_left_out"]),
        7
    );
}

#[test]
fn a_root_renamed_between_windows_keeps_its_latest_name_whatever_the_order_of_files() {
    let folder = Folder::new();
    let (early, late) = (folder.file("a.pb.gz"), folder.file("b.pb.gz"));
    CpuProfile::window(0)
        .burn(5, &["a"], &tags(A, "GET"))
        .write(&early);
    CpuProfile::window(1)
        .burn(5, &["a"], &tags(A, "GET /a"))
        .write(&late);
    for files in [[&early, &late], [&late, &early]] {
        let answer = json(["spans".as_ref(), files[0].as_os_str(), files[1].as_os_str()]);
        assert_eq!(column(&answer["endpoints"], "name"), ["GET /a"]);
        assert_eq!(
            int(&find(&answer["endpoints"], "name", "GET /a")["samples"]),
            10
        );
    }
}

#[test]
fn files_with_one_span_id_or_only_a_name_are_read_too() {
    let folder = Folder::new();
    let file = folder.file("other.pb.gz");
    CpuProfile::window(0)
        .burn(
            2,
            &["a"],
            &[("span_id", "00000000000000AA"), ("span_name", "GET /a")],
        )
        .burn(3, &["a"], &[("span_name", "GET /a")])
        .burn(4, &["a"], &[("span_id", A)])
        .write(&file);
    let answer = json(["spans".as_ref(), file.as_os_str()]);
    assert_eq!(
        int(&find(&answer["endpoints"], "name", "GET /a")["samples"]),
        9
    );
    assert_eq!(
        int(&find(&answer["spans"], "local_root_span_id", A)["samples"]),
        6
    );
    assert_eq!(int(&answer["named_only"]["samples"]), 3);
    assert_eq!(int(&answer["untagged"]["samples"]), 0);
}

#[test]
fn without_a_profile_no_cost_is_known_which_is_not_that_there_is_none() {
    let folder = Folder::new();
    support::write_spans(
        &spans_to_traces(
            "shop",
            [support::local_root("00000000000000aa", "GET /x", 100)],
        ),
        &folder.file("shop-1-spans-x.pb.gz"),
    );
    let path = folder.path().to_str().expect("a path");
    let text = stdout(&run(["spans", path]));
    for end in ["GET /x", "(untagged)"] {
        let rows: Vec<_> = text.lines().filter(|line| line.ends_with(end)).collect();
        assert_eq!(rows.len(), 2, "{text}");
        for row in rows {
            let words: Vec<_> = row.split_whitespace().collect();
            assert!(
                words.iter().filter(|word| **word == "-").count() >= 4,
                "{row}"
            );
            assert!(!words.contains(&"0"), "{row}");
        }
    }
    let answer = json(["spans", path]);
    for figure in [&answer["whole"], &answer["spans"]["rows"][0]] {
        assert!(figure["value"].is_null() && figure["samples"].is_null());
    }
}
