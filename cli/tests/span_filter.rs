//! `vtprof spans` of some spans only: by name, trace and time. What is not listed is still accounted for.

mod support;

use serde_json::Value;
use support::{
    CpuProfile, Folder, START, WINDOW, int, json, local_root, row, run, stderr, stdout, tags,
};
use vtprof_profile::spans::{SpanRecord, spans_to_traces};

const A: &str = "00000000000000aa";
const B: &str = "00000000000000bb";
const C: &str = "00000000000000cc";
const OTHER_TRACE: &str = "0000000000000000000000000000000f";

/// A is in the first minute, B in the third; C still runs and has samples in the second.
fn service() -> Folder {
    let folder = Folder::new();
    CpuProfile::window(0)
        .burn(30, &["Cart.get"], &tags(A, "GET /cart"))
        .burn(3, &["Cart.get"], &[("span_name", "GET /cart")])
        .burn(5, &["Gc"], &[])
        .write(&folder.file("a.pb.gz"));
    CpuProfile::window(1)
        .burn(8, &["Poll.run"], &tags(C, "poll"))
        .write(&folder.file("b.pb.gz"));
    CpuProfile::window(2)
        .burn(20, &["Stock.get"], &tags(B, "GET /stock"))
        .write(&folder.file("c.pb.gz"));
    let late = local_root(B, "GET /stock", 500);
    let late = SpanRecord {
        trace: OTHER_TRACE.parse().expect("an id"),
        start_unix_nanos: late.start_unix_nanos + 2 * WINDOW as u64,
        end_unix_nanos: late.end_unix_nanos + 2 * WINDOW as u64,
        ..late
    };
    let traces = spans_to_traces("shop", [local_root(A, "GET /cart", 700), late]);
    support::write_spans(&traces, &folder.file("shop-1-spans-x.pb.gz"));
    folder
}

fn answer(folder: &Folder, args: &[&str]) -> Value {
    let path = folder.path().to_str().expect("a path");
    json(["spans", path].iter().chain(args))
}

fn listed(answer: &Value) -> Vec<&str> {
    let rows = answer["spans"]["rows"].as_array().expect("rows");
    rows.iter()
        .map(|row| row["local_root_span_id"].as_str().expect("an id"))
        .collect()
}

fn at(minutes: i64) -> String {
    let seconds = START / 1_000_000_000 + 60 * minutes;
    // START is 2023-11-14T22:13:20Z.
    let minute = 13 + minutes;
    assert_eq!(seconds % 60, 20);
    format!("2023-11-14T22:{minute}:20Z")
}

#[test]
fn what_the_files_have_is_told_whatever_is_listed() {
    let folder = service();
    let path = folder.path().to_str().expect("a path");
    for (name, found) in [("GET /cart", 1), ("no such name", 0)] {
        let text = support::stdout(&support::run(["spans", path, "--name", name]));
        assert!(
            text.contains("; 2 spans ended, 2 of them local roots\n")
                && text.contains(&format!("listed: {found} of 3 local root spans\n")),
            "{text}"
        );
    }
}

#[test]
fn spans_are_listed_by_name_trace_and_time() {
    let folder = service();
    let all = answer(&folder, &[]);
    assert_eq!(listed(&all), [A, B, C]);
    assert!(all.get("not_listed").is_none());
    let (one, two) = (at(1), at(2));
    for (args, expected) in [
        (&["--name", "GET /cart"][..], &[A][..]),
        (&["--name", "GET /cart", "--name", "poll"], &[A, C]),
        (&["--trace", OTHER_TRACE], &[B]),
        (&["--trace", support::TRACE], &[A, C]),
        (&["--since", &one], &[B, C]),
        (&["--until", &one], &[A, C]),
        // C has samples up to the end of the second minute.
        (&["--since", &two], &[B, C]),
        (&["--since", &one, "--name", "GET /stock"], &[B]),
        (&["--until", &one, "--name", "GET /stock"], &[]),
        // All of it is years ago.
        (&["--since", "15m"], &[]),
    ] {
        let answer = answer(&folder, args);
        assert_eq!(listed(&answer), expected, "{args:?}");
    }
}

#[test]
fn listed_and_not_listed_and_untagged_add_up_to_the_files() {
    let folder = service();
    let one = at(1);
    for args in [
        &["--name", "GET /cart"][..],
        &["--trace", OTHER_TRACE],
        &["--since", &one],
    ] {
        let answer = answer(&folder, args);
        for table in ["endpoints", "spans"] {
            let rows = answer[table]["rows"].as_array().expect("rows");
            let mut sum: i64 = rows.iter().map(|row| int(&row["samples"])).sum();
            sum += int(&answer["not_listed"]["samples"]) + int(&answer["untagged"]["samples"]);
            if table == "spans" {
                sum += int(&answer["named_only"]["samples"]);
            }
            assert_eq!(sum, 66, "{table} of {args:?}");
        }
    }
    // What has a name and no id is of the endpoint, and of no trace.
    let by_name = answer(&folder, &["--name", "GET /cart"]);
    assert_eq!(int(&by_name["named_only"]["samples"]), 3);
    assert_eq!(int(&by_name["not_listed"]["samples"]), 28);
    let by_trace = answer(&folder, &["--trace", support::TRACE]);
    assert_eq!(int(&by_trace["named_only"]["samples"]), 0);
    assert_eq!(int(&by_trace["not_listed"]["samples"]), 23);
}

#[test]
fn the_tables_say_how_many_spans_are_listed() {
    let folder = service();
    let path = folder.path().to_str().expect("a path");
    let output = run(["spans", path, "--name", "GET /stock", "--by", "span"]);
    assert_eq!(stderr(&output), "");
    let text = stdout(&output);
    assert!(
        text.contains("\nlisted: 1 of 3 local root spans\n"),
        "{text}"
    );
    let rest = row(&text, "(spans not listed)").join(" ");
    assert!(rest.starts_with("- 410 ms 62.1 % ±16 % 41"), "{rest}");

    let output = run(["spans", path, "--name", "GET /nothing"]);
    assert!(
        stderr(&output).contains("no local root span is such"),
        "{output:?}"
    );
}

#[test]
fn what_is_no_time_and_no_trace_is_refused_with_the_form() {
    for (args, part) in [
        (["--since", "yesterday"], "15m"),
        (["--until", "2023-11-14T22:13"], "2026-03-01T12:30:00Z"),
        (["--trace", "12"], "32 hex digits"),
    ] {
        let output = run(["spans", "x"].iter().chain(&args));
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}

#[test]
fn a_span_of_a_sum_with_a_gap_may_have_run_up_to_the_end_of_its_last_window() {
    let folder = Folder::new();
    for number in [0, 5] {
        CpuProfile::window(number)
            .burn(8, &["Poll.run"], &tags(C, "poll"))
            .write(&folder.file(&format!("{number}.pb.gz")));
    }
    let sums = Folder::new();
    let sum = sums.file("sum.pb.gz");
    let path = folder.path().as_os_str();
    let output = run(["merge".as_ref(), path, "-o".as_ref(), sum.as_os_str()]);
    assert!(output.status.success(), "{}", stderr(&output));
    for (since, expected) in [(at(5), 1), (at(6), 1), (at(7), 0)] {
        for files in [&folder, &sums] {
            let answer = answer(files, &["--since", &since]);
            assert_eq!(listed(&answer).len(), expected, "{since}: {answer}");
        }
    }
}
