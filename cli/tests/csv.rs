//! `--csv`: one table in raw numbers, which add up as the JSON does.

mod support;

use support::{CpuProfile, Folder, PERIOD, local_root, run, stderr, stdout, tags};
use vtprof_profile::builder::ProfileBuilder;
use vtprof_profile::kind::Kind;
use vtprof_profile::spans::spans_to_traces;

const A: &str = "00000000000000aa";

fn service(name: &str) -> Folder {
    let folder = Folder::new();
    CpuProfile::window(0)
        .burn(16, &["a.b.Cart.get", "a.b.Main.run"], &tags(A, name))
        .burn(4, &["c.Gc.run"], &[])
        .write(&folder.file("cpu.pb.gz"));
    support::write_spans(
        &spans_to_traces("shop", [local_root(A, name, 700)]),
        &folder.file("shop-1-spans-x.pb.gz"),
    );
    folder
}

fn lines(folder: &Folder, args: &[&str]) -> Vec<String> {
    let path = folder.path().to_str().expect("a path");
    let output = run([args[0], path, "--csv"].iter().chain(&args[1..]));
    assert_eq!(stderr(&output), "");
    stdout(&output).lines().map(str::to_owned).collect()
}

#[test]
fn functions_are_rows_of_raw_numbers() {
    let folder = service("GET /");
    assert_eq!(
        lines(&folder, &["top"]),
        [
            "name,self_nanoseconds,self_share,self_samples,self_relative_error,total_nanoseconds,total_share,total_samples,total_relative_error",
            "a.b.Cart.get,160000000,0.8,16,0.25,160000000,0.8,16,0.25",
            "c.Gc.run,40000000,0.2,4,0.5,40000000,0.2,4,0.5",
            "a.b.Main.run,0,0,0,,160000000,0.8,16,0.25",
        ]
    );
    let packages = lines(&folder, &["top", "--by", "package", "--limit", "1"]);
    assert_eq!(packages.len(), 2);
    assert!(
        packages[1].starts_with("a.b,160000000,0.8,16,"),
        "{packages:?}"
    );
}

#[test]
fn spans_and_endpoints_are_a_table_each() {
    let folder = service("GET /a, \"b\"");
    let spans = lines(&folder, &["spans"]);
    assert_eq!(
        spans,
        [
            "local_root_span_id,trace_id,name,kind,status,start_unix_nanoseconds,duration_nanoseconds,cpu_nanoseconds,cpu_share,cpu_samples,cpu_relative_error".to_owned(),
            format!(
                "{A},{},\"GET /a, \"\"b\"\"\",server,unset,{},700000000,{},0.8,16,0.25",
                support::TRACE,
                support::START,
                16 * PERIOD
            ),
        ]
    );
    let endpoints = lines(&folder, &["spans", "--by", "endpoint"]);
    assert_eq!(
        endpoints[1],
        "\"GET /a, \"\"b\"\"\",1,700000000,700000000,160000000,0.8,16,0.25,160000000,0.25"
    );
    assert_eq!(endpoints[0].split(',').count(), 10);
}

#[test]
fn states_have_columns_whose_values_add_up_to_that_of_their_kind() {
    let folder = service("GET /");
    let kind = Kind::Blocked;
    let mut builder = ProfileBuilder::new(&[kind.count(), kind.amount()], kind.period(), 1);
    builder.default_sample_type(kind.amount().kind);
    let function = builder.function("wait", "", "", 0);
    let location = builder.location(function, 0);
    for (state, nanos) in [("io", 3), ("lock", 7), ("io", 2)] {
        let mut labels = tags(A, "GET /").to_vec();
        labels.push(("state", state));
        builder
            .sample(&[location], &[1, nanos], &labels)
            .expect("a good sample");
    }
    support::write(&builder.finish(), &folder.file("blocked.pb.gz"));
    for by in ["span", "endpoint"] {
        let table = lines(&folder, &["spans", "--by", by, "--states"]);
        let rows: Vec<Vec<_>> = table.iter().map(|row| row.split(',').collect()).collect();
        let cell = |head: &str| {
            let at = rows[0].iter().position(|of| *of == head);
            let at = at.unwrap_or_else(|| panic!("no {head}: {}", table[0]));
            rows[1][at].parse::<i64>().expect("a number")
        };
        assert_eq!(rows[0].len(), rows[1].len());
        assert_eq!(cell("blocked_nanoseconds"), 12, "{by}");
        assert_eq!(cell("blocked_lock_nanoseconds"), 7, "{by}");
        assert_eq!(cell("blocked_io_nanoseconds"), 5, "{by}");
        let plain = lines(&folder, &["spans", "--by", by]);
        assert_eq!(plain[0].split(',').count() + 2, rows[0].len(), "{by}");
    }
}

#[test]
fn a_hostile_name_is_no_formula_and_no_command() {
    let folder = service("=HYPERLINK(\"http://x\")\x1b[2J");
    let spans = lines(&folder, &["spans"]);
    assert!(
        spans[1].contains(",\"'=HYPERLINK(\"\"http://x\"\")\\u{1b}[2J\","),
        "{spans:?}"
    );
}

#[test]
fn csv_and_json_exclude_each_other() {
    let output = run(["top", "x", "--csv", "--json"]);
    assert_eq!(output.status.code(), Some(2));
}
