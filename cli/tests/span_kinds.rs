//! `vtprof spans` over several kinds of profile: each in a column of its own, and how much of a duration they explain.

mod support;

use serde_json::Value;
use support::{
    CpuProfile, Folder, PERIOD, failure, int, json, local_root, row, run, stderr, stdout, tags,
};
use vtprof_profile::builder::{ProfileBuilder, ValueType};
use vtprof_profile::kind::Kind;
use vtprof_profile::spans::spans_to_traces;

const A: &str = "00000000000000aa";
const B: &str = "00000000000000bb";
const C: &str = "00000000000000cc";
const MS: i64 = 1_000_000;

/// A sample of a kind: its amount, the root it is of, and its state.
type Sample<'a> = (i64, Option<&'a str>, &'a str);

/// A profile of `kind`; each sample counts for three events.
fn write(folder: &Folder, kind: Kind, samples: &[Sample<'_>]) {
    let types = [kind.count(), kind.amount()];
    let mut builder = ProfileBuilder::new(&types, kind.period(), 1);
    builder.default_sample_type(kind.amount().kind);
    builder.set_time(support::START, support::WINDOW);
    let function = builder.function("Work.run", "", "", 0);
    let location = builder.location(function, 1);
    for (amount, root, state) in samples {
        let tags = root.map(|root| tags(root, "GET /a"));
        let mut labels = tags.map_or_else(Vec::new, |tags| tags.to_vec());
        labels.extend(kind.label().map(|label| (label, *state)));
        builder
            .sample(&[location], &[3, *amount], &labels)
            .expect("a good sample");
    }
    let name = format!("shop-1-{}-20231114T221320Z.pb.gz", kind.name());
    support::write(&builder.finish(), &folder.file(&name));
}

/// A of 100 ms and B of 400 ms have ended, C still runs; some of each kind is nobody's.
fn service(kinds: &[Kind]) -> Folder {
    let folder = Folder::new();
    if kinds.contains(&Kind::Cpu) {
        CpuProfile::window(0)
            .burn(3, &["Json.write"], &tags(A, "GET /a"))
            .burn(20, &["Json.write"], &tags(B, "GET /a"))
            .burn(9, &["Poll.run"], &tags(C, "GET /a"))
            .burn(5, &["Gc"], &[("thread", "GC Thread#N")])
            .write(&folder.file("shop-1-cpu-20231114T221320Z.pb.gz"));
    }
    if kinds.contains(&Kind::Blocked) {
        let samples = [
            (50 * MS, Some(A), "lock"),
            (10 * MS, Some(A), "io"),
            (300 * MS, Some(B), "io"),
            (77 * MS, Some(C), "sleep"),
            (4 * MS, None, "queue"),
        ];
        write(&folder, Kind::Blocked, &samples);
    }
    if kinds.contains(&Kind::Alloc) {
        let samples = [
            (1 << 20, Some(A), ""),
            (3 << 20, Some(B), ""),
            (512, None, ""),
        ];
        write(&folder, Kind::Alloc, &samples);
    }
    let spans = [local_root(A, "GET /a", 100), local_root(B, "GET /a", 400)];
    support::write_spans(
        &spans_to_traces("shop", spans),
        &folder.file("shop-1-spans-20231114T221320Z.pb.gz"),
    );
    folder
}

fn answer(folder: &Folder, args: &[&str]) -> Value {
    let path = folder.path().to_str().expect("a path");
    json(["spans", path].iter().chain(args))
}

fn span<'a>(answer: &'a Value, root: &str) -> &'a Value {
    let rows = answer["spans"]["rows"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["local_root_span_id"] == root);
    found.unwrap_or_else(|| panic!("no {root} in {answer}"))
}

const THREE: [Kind; 3] = [Kind::Cpu, Kind::Alloc, Kind::Blocked];

#[test]
fn each_kind_has_values_of_its_own_and_what_is_of_one_is_in_no_other() {
    let folder = service(&THREE);
    let answer = answer(&folder, &[]);
    let a = &span(&answer, A)["kinds"];
    assert_eq!(int(&a["cpu"]["value"]), 3 * PERIOD);
    assert_eq!(int(&a["blocked"]["value"]), 60 * MS);
    assert_eq!(int(&a["alloc"]["value"]), 1 << 20);
    let endpoint = &answer["endpoints"]["rows"][0];
    assert_eq!(endpoint["name"], "GET /a");
    let kinds = &endpoint["kinds"];
    // A, B and C; what one costs is of those that ended.
    assert_eq!(int(&kinds["cpu"]["value"]), 32 * PERIOD);
    assert_eq!(int(&kinds["cpu"]["value_per_span"]), 23 * PERIOD / 2);
    assert_eq!(int(&kinds["blocked"]["value"]), 437 * MS);
    assert_eq!(int(&kinds["blocked"]["value_per_span"]), 180 * MS);
    assert_eq!(int(&kinds["alloc"]["value_per_span"]), 2 << 20);
    // C still runs: what one costs does not stand on its samples.
    let error = kinds["cpu"]["value_per_span_relative_error"].as_f64();
    assert_eq!(error, Some(1.0 / 23_f64.sqrt()));
    // The figures without a kind are those of the first.
    assert_eq!(int(&endpoint["value"]), 32 * PERIOD);
    assert_eq!(answer["measure"]["kind"], "cpu");
    assert_eq!(answer["kinds"]["alloc"]["measure"]["unit"], "bytes");
    // Of samples of CPU time the number is known, of those of events it is not.
    let error = kinds["cpu"]["relative_error"].as_f64().expect("a number");
    assert!((error - 1.0 / 32_f64.sqrt()).abs() < 1e-12, "{error}");
    assert!(kinds["alloc"]["samples"].is_null());
    assert!(kinds["blocked"]["relative_error"].is_null());
}

#[test]
fn the_rows_of_each_kind_with_the_untagged_add_up_to_its_file() {
    let folder = service(&THREE);
    for limit in ["0", "1"] {
        let answer = answer(&folder, &["--limit", limit]);
        for (kind, whole) in [
            ("cpu", 37 * PERIOD),
            ("alloc", (4 << 20) + 512),
            ("blocked", 441 * MS),
        ] {
            let value = |costs: &Value| int(&costs["kinds"][kind]["value"]);
            assert_eq!(value(&answer["whole"]), whole);
            for table in ["endpoints", "spans"] {
                let table = &answer[table];
                let rows = table["rows"].as_array().expect("rows");
                let sum = rows.iter().map(value).sum::<i64>()
                    + value(&table["left_out"])
                    + value(&answer["untagged"]);
                assert_eq!(sum, whole, "{kind} at --limit {limit}");
            }
        }
    }
}

#[test]
fn accounted_is_cpu_and_blocked_time_over_the_duration_of_what_ended() {
    let folder = service(&THREE);
    let answer = answer(&folder, &[]);
    let of = |row: &Value| {
        let share = row["accounted_share"].as_f64().expect("a share");
        (int(&row["accounted_nanos"]), share)
    };
    assert_eq!(of(span(&answer, A)), (90 * MS, 0.9));
    // Several threads worked or waited for it at once.
    assert_eq!(of(span(&answer, B)), (500 * MS, 1.25));
    assert!(span(&answer, C)["accounted_share"].is_null());
    assert_eq!(
        of(&answer["endpoints"]["rows"][0]),
        (590 * MS, 590.0 / 500.0)
    );
    // Bytes are no time.
    let without = service(&[Kind::Cpu, Kind::Blocked]);
    let without = self::answer(&without, &[]);
    assert_eq!(of(span(&without, A)), (90 * MS, 0.9));
}

#[test]
fn where_a_kind_is_missing_nothing_is_accounted_for_and_no_column_is_shown() {
    for (kinds, shown, hidden) in [
        (&[Kind::Cpu, Kind::Alloc][..], "ALLOC/SPAN", "BLOCKED"),
        (&[Kind::Blocked], "BLOCKED/SPAN", "CPU"),
        (&[Kind::Cpu], "CPU/SPAN", "ALLOC"),
    ] {
        let folder = service(kinds);
        let text = stdout(&run(["spans".as_ref(), folder.path().as_os_str()]));
        assert!(text.contains(shown), "{text}");
        assert!(!text.contains(hidden), "{text}");
        assert!(!text.contains("ACCOUNTED"), "{text}");
        let answer = answer(&folder, &[]);
        assert!(span(&answer, A)["accounted_nanos"].is_null());
        let there = answer["kinds"].as_object().expect("kinds");
        assert_eq!(there.len(), kinds.len(), "{answer}");
    }
    // One that was asked for stands alone, whatever there is.
    let folder = service(&THREE);
    let path = folder.path().to_str().expect("a path");
    let output = run(["spans", path, "--kind", "blocked"]);
    assert_eq!(stderr(&output), "");
    let text = stdout(&output);
    assert!(text.starts_with("blocked: 441 ms"), "{text}");
    assert!(
        !text.contains("CPU/SPAN") && !text.contains("ACCOUNTED"),
        "{text}"
    );
}

#[test]
fn tables_have_a_column_a_kind_in_the_order_of_kinds() {
    let folder = service(&THREE);
    let output = run(["spans".as_ref(), folder.path().as_os_str()]);
    assert_eq!(stderr(&output), "");
    let text = stdout(&output);
    let heads: Vec<_> = text.lines().take(3).collect();
    assert_eq!(
        heads,
        [
            "cpu: 370 ms, 37 samples, 1 profile over 60.0 s; 2 spans ended, 2 of them local roots",
            "alloc_space: 4.00 MiB, 1 profile over 60.0 s",
            "blocked: 441 ms, 1 profile over 60.0 s",
        ]
    );
    let (endpoints, spans) = text.split_once("LOCAL ROOT").expect("two tables");
    assert_eq!(
        row(endpoints, "ENDPOINT").join(" "),
        "CPU % ± SAMPLES ALLOC BLOCKED SPANS CPU/SPAN ± ALLOC/SPAN BLOCKED/SPAN ACCOUNTED P50 TIME MAX TIME ENDPOINT"
    );
    assert_eq!(
        row(endpoints, "GET /a").join(" "),
        "320 ms 86.5 % ±18 % 32 4.00 MiB 437 ms 2 115 ms ±21 % 2.00 MiB 180 ms 118.0 % 100 ms 400 ms GET /a"
    );
    assert_eq!(
        row(endpoints, "(untagged)").join(" "),
        "50.0 ms 13.5 % ±45 % 5 512 B 4.00 ms - - - - - - - - (untagged)"
    );
    let b = spans.lines().find(|line| line.contains(B)).expect("a row");
    let b: Vec<_> = b.split_whitespace().collect();
    assert_eq!(
        b[..16].join(" "),
        format!("400 ms 200 ms 54.1 % ±22 % 20 3.00 MiB 300 ms 125.0 % {B}")
    );
}

#[test]
fn states_add_up_to_what_was_blocked_and_stand_in_tables_where_asked_for() {
    let folder = service(&THREE);
    let answer = answer(&folder, &[]);
    let states = &span(&answer, A)["kinds"]["blocked"]["by_state"];
    assert_eq!(*states, serde_json::json!({"lock": 50 * MS, "io": 10 * MS}));
    let whole = &answer["whole"]["kinds"]["blocked"];
    let states = whole["by_state"].as_object().expect("states");
    let sum: i64 = states.values().map(int).sum();
    assert_eq!((states.len(), sum), (4, int(&whole["value"])));
    assert!(answer["whole"]["kinds"]["alloc"].get("by_state").is_none());

    let path = folder.path().to_str().expect("a path");
    let text = stdout(&run(["spans", path, "--by", "endpoint", "--states"]));
    // The longest first.
    assert!(
        row(&text, "ENDPOINT")
            .join(" ")
            .contains("BLOCKED BLOCKED:io BLOCKED:sleep BLOCKED:lock BLOCKED:queue SPANS"),
        "{text}"
    );
    assert!(
        row(&text, "GET /a")
            .join(" ")
            .contains("437 ms 310 ms 77.0 ms 50.0 ms 0 2"),
        "{text}"
    );
}

#[test]
fn a_profile_of_another_writer_is_not_shown_beside_those_of_vtprof() {
    let folder = service(&[Kind::Cpu]);
    let types = [ValueType {
        kind: "samples",
        unit: "count",
    }];
    let mut builder = ProfileBuilder::new(&types, types[0], 1);
    let function = builder.function("main", "", "", 0);
    let location = builder.location(function, 1);
    builder.sample(&[location], &[7], &[]).expect("a sample");
    support::write(&builder.finish(), &folder.file("other.pb.gz"));
    let path = folder.path().to_str().expect("a path");
    let refused = failure(&run(["spans", path]));
    assert!(refused.contains("--sample-type"), "{refused}");
    let answer = answer(&folder, &["--sample-type", "samples"]);
    assert_eq!(int(&answer["whole"]["value"]), 37 + 7);
}
