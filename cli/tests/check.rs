//! `vtprof check`: files tagged by carrier are found, right ones pass, and what cannot be told is said so.

#[path = "support/carriers.rs"]
mod carriers;
mod support;

use carriers::{Endpoint, Load, Run, Tagging};
use serde_json::Value;
use support::{CpuProfile, Folder, command, int, local_root, row, stderr, stdout, tags};
use vtprof_profile::ids::SpanId;
use vtprof_profile::spans::{SpanRecord, spans_to_traces};

const fn endpoint(name: &'static str, bursts: u32, burst: f64, wait: f64, part: f64) -> Endpoint {
    Endpoint {
        name,
        bursts,
        burst,
        wait,
        part,
    }
}

/// All requests are short: 2 ms, a query of 5 ms, 2 ms.
const SHORT: Load = Load {
    endpoints: &[
        endpoint("GET /cart", 2, 2.0, 5.0, 0.6),
        endpoint("GET /stock", 3, 2.0, 5.0, 0.4),
    ],
    carriers: 4,
    busy: 0.6,
};
/// Short, middling and slow ones beside each other.
const MIXED: Load = Load {
    endpoints: &[
        endpoint("GET /fast", 2, 1.0, 2.0, 0.6),
        endpoint("GET /json", 3, 4.0, 20.0, 0.3),
        endpoint("GET /slow", 5, 10.0, 100.0, 0.1),
    ],
    carriers: 4,
    busy: 0.6,
};
/// Nearly all of the time is waiting.
const WAITING: Load = Load {
    endpoints: &[
        endpoint("GET /gateway", 3, 3.0, 200.0, 0.5),
        endpoint("GET /report", 4, 3.0, 300.0, 0.5),
    ],
    carriers: 2,
    busy: 0.5,
};
/// As mixed, on a machine that is idle.
const IDLE: Load = Load {
    busy: 0.05,
    ..MIXED
};

const OWN_LABELS: [&str; 2] = ["span_id", "local_root_span_id"];

fn check(folder: &Folder, args: &[&str]) -> (Value, Option<i32>) {
    let output = command()
        .arg("check")
        .arg(folder.path())
        .args(args)
        .arg("--json")
        .output()
        .expect("vtprof starts");
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (answer, output.status.code())
}

/// A run as files: exit status and verdict.
fn verdict(run: &Run, tagging: Tagging, with_blocked: bool) -> (Option<i32>, String) {
    let folder = Folder::new();
    run.write(&folder, tagging, &OWN_LABELS, |id| id.to_string());
    if with_blocked {
        run.write_blocked(&folder, 1);
    }
    let (answer, status) = check(&folder, &[]);
    (
        status,
        answer["verdict"].as_str().expect("a verdict").to_owned(),
    )
}

#[test]
fn files_tagged_by_carrier_are_found_and_the_same_requests_tagged_right_pass() {
    for (name, load, count, with_blocked) in [
        ("mixed", MIXED, 4000, false),
        ("idle", IDLE, 2000, false),
        ("mixed", MIXED, 3000, true),
    ] {
        for seed in 0..2 {
            let run = Run::new(load, count, seed);
            assert!(run.wrong_part() > 0.2, "{name}: {}", run.wrong_part());
            let wrong = verdict(&run, Tagging::ByCarrier, with_blocked);
            assert_eq!(
                wrong,
                (Some(1), "wrong".to_owned()),
                "{name} {count} {seed}"
            );
            let right = verdict(&run, Tagging::Right, with_blocked);
            assert_eq!(right.0, Some(0), "{name} {count} {seed}");
            if with_blocked {
                assert_eq!(right.1, "consistent", "{name} {count} {seed}");
            }
        }
    }
}

#[test]
fn right_files_of_any_load_and_size_raise_no_alarm() {
    for load in [SHORT, MIXED, WAITING, IDLE] {
        for count in [1, 20, 500] {
            for seed in 10..14 {
                let run = Run::new(load, count, seed);
                let (cpu, blocked) = run.totals();
                assert!(cpu > 0 || count < 20, "{count}");
                assert!(blocked > 0 || count < 20, "{count}");
                for with_blocked in [false, true] {
                    let folder = Folder::new();
                    run.write(&folder, Tagging::Right, &OWN_LABELS, |id| id.to_string());
                    if with_blocked {
                        run.write_blocked(&folder, seed);
                    }
                    let output = command().arg("check").arg(folder.path()).output();
                    let status = output.expect("vtprof starts").status.code();
                    // One request may have no sample at all.
                    let is_fine = status == Some(0) || (count == 1 && status == Some(2));
                    assert!(is_fine, "{count} requests, seed {seed}: {status:?}");
                }
            }
        }
    }
}

#[test]
fn where_wrong_tags_would_not_show_that_is_said_and_what_tells_more() {
    let run = Run::new(WAITING, 1000, 1);
    for tagging in [Tagging::Right, Tagging::ByCarrier] {
        assert_eq!(
            verdict(&run, tagging, false),
            (Some(0), "cannot_tell".to_owned())
        );
    }
    let folder = Folder::new();
    run.write(&folder, Tagging::Right, &OWN_LABELS, |id| id.to_string());
    let text = stdout(&support::run(["check".as_ref(), folder.path().as_os_str()]));
    assert!(text.contains("blocked=1ms may tell more"), "{text}");
    run.write_blocked(&folder, 1);
    let text = stdout(&support::run(["check".as_ref(), folder.path().as_os_str()]));
    assert!(
        text.contains("a longer recording may tell\n") && !text.contains("blocked=1ms"),
        "{text}"
    );
}

#[test]
fn files_of_other_profilers_are_checked_by_the_label_that_they_have() {
    let run = Run::new(IDLE, 2000, 1);
    let decimal = |id: SpanId| id.0.to_string();
    let hex = |id: SpanId| id.to_string();
    let texts: [(&str, &dyn Fn(SpanId) -> String); 2] =
        [("profile_id", &hex), ("root_span", &decimal)];
    for (label, text) in texts {
        for (tagging, status) in [(Tagging::Right, 0), (Tagging::ByCarrier, 1)] {
            let folder = Folder::new();
            run.write(&folder, tagging, &[label], text);
            let (_, found) = check(&folder, &["--span-label", label]);
            assert_eq!(found, Some(status), "{label} {tagging:?}");
            let output = support::run(["check".as_ref(), folder.path().as_os_str()]);
            assert_eq!(output.status.code(), Some(2));
            assert!(stderr(&output).contains("--span-label"), "{output:?}");
        }
    }
}

#[test]
fn ids_as_numbers_are_read_whatever_their_sign() {
    let folder = Folder::new();
    let id = 0xffff_ffff_ffff_fff0_u64;
    let mut profile = CpuProfile::window(0)
        .burn(300, &["a"], &[("root", "x")])
        .build();
    // As Datadog calls it; vtprof writes no such keys.
    for text in &mut profile.string_table {
        if text == b"root" {
            *text = b"local root span id".to_vec();
        }
    }
    for sample in &mut profile.sample {
        sample.label[0].str = 0;
        sample.label[0].num = id.cast_signed();
    }
    support::write(&profile, &folder.file("cpu.pb.gz"));
    spans(&folder, vec![local_root(&format!("{id:016x}"), "GET /", 5)]);
    let (answer, status) = check(&folder, &["--span-label", "local root span id"]);
    assert_eq!(status, Some(1), "{answer}");
    assert_eq!(answer["spans"][0]["verdict"], "too_much");
}

fn spans(folder: &Folder, spans: Vec<SpanRecord>) {
    support::write_spans(
        &spans_to_traces("shop", spans),
        &folder.file("shop-1-spans-x.pb.gz"),
    );
}

/// `samples` samples of a root that lasted so many ms, in threads of these names.
fn one(samples: i64, millis: u64, threads: &[&str]) -> Folder {
    let folder = Folder::new();
    let mut profile = CpuProfile::window(0);
    for thread in threads {
        let mut labels = tags(A, "GET /a").to_vec();
        labels.push(("thread", thread));
        profile = profile.burn(samples / threads.len() as i64, &["a"], &labels);
    }
    profile.write(&folder.file("cpu.pb.gz"));
    spans(&folder, vec![local_root(A, "GET /a", millis)]);
    folder
}

const A: &str = "00000000000000aa";

#[test]
fn a_sample_or_two_in_a_short_span_are_no_proof_and_thirty_are() {
    for (samples, millis, status, word) in [
        (1, 3, 0, "possible"),
        (2, 3, 0, "possible"),
        (30, 3, 1, "too_much"),
        (115, 1000, 0, "possible"),
        (300, 1000, 1, "too_much"),
    ] {
        let (answer, found) = check(&one(samples, millis, &["http-1"]), &[]);
        assert_eq!(found, Some(status), "{samples} in {millis} ms: {answer}");
        assert_eq!(
            answer["spans"][0]["verdict"], word,
            "{samples} in {millis} ms"
        );
    }
}

#[test]
fn spans_of_several_threads_are_not_judged_by_their_durations() {
    let (answer, status) = check(&one(300, 1000, &["http-1", "pool-1-thread-1"]), &[]);
    assert_eq!(
        (status, &answer["spans"][0]["verdict"]),
        (Some(2), &"several_threads".into())
    );
    assert_eq!(answer["verdict"], "unchecked");
    // Two of one pool have one name: so they are named on the command line.
    let pool = one(300, 1000, &["pool-1-thread-1", "pool-1-thread-2"]);
    assert_eq!(check(&pool, &[]).1, Some(1));
    assert_eq!(check(&pool, &["--fan-out", "GET /a"]).1, Some(2));
    let path = pool.path().as_os_str();
    let fan_out = ["--fan-out", "GET /b"].map(str::as_ref);
    let output = support::run(["check".as_ref(), path, fan_out[0], fan_out[1]]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "vtprof: --fan-out: no local root span that ended is called 'GET /b'\n"
    );

    // Child spans that overlap.
    let child = |id: &str, from: u64| {
        let span = local_root(id, "part", 900);
        SpanRecord {
            parent: Some(A.parse().expect("an id")),
            local_root: A.parse().expect("an id"),
            start_unix_nanos: span.start_unix_nanos + from * 1_000_000,
            ..span
        }
    };
    let folder = one(300, 1000, &["http-1"]);
    spans(
        &folder,
        vec![
            local_root(A, "GET /a", 1000),
            child("00000000000000a1", 10),
            child("00000000000000a2", 20),
        ],
    );
    assert_eq!(check(&folder, &[]).1, Some(2));
}

#[test]
fn samples_of_spans_that_were_not_open_are_wrong_whatever_their_number() {
    let folder = Folder::new();
    // Both ended in the first minute, and are charged in the five after it.
    for window in 0..6 {
        CpuProfile::window(window)
            .burn(2, &["a"], &tags(A, "GET /a"))
            .burn(50, &["b"], &[])
            .write(&folder.file(&format!("cpu-{window}.pb.gz")));
    }
    spans(&folder, vec![local_root(A, "GET /a", 30_000)]);
    let (answer, status) = check(&folder, &[]);
    assert_eq!(status, Some(1));
    assert_eq!(
        int(&answer["samples_not_open"].as_f64().map(|n| n as i64).into()),
        10
    );
    assert_eq!(int(&answer["windows_not_open"]), 5);
    assert_eq!(answer["spans"][0]["verdict"], "not_open");
    let text = support::run(["check".as_ref(), folder.path().as_os_str()]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains(
            "verdict: the tags cannot be right\n  10 samples in 5 windows of spans that had ended"
        ),
        "{text}"
    );
}

#[test]
fn rows_are_tables_csv_and_json_alike() {
    let folder = one(30, 3, &["http-1"]);
    let run = |args: &[&str]| {
        let output = command()
            .arg("check")
            .arg(folder.path())
            .args(args)
            .output();
        String::from_utf8(output.expect("vtprof starts").stdout).expect("UTF-8")
    };
    let found = row(&run(&[]), "GET /a").join(" ");
    assert!(
        found.starts_with("3.00 ms 300 ms 30 10000.0 % - 1:10¹² too much 00000000000000aa"),
        "{found}"
    );
    let csv = run(&["--csv"]);
    assert!(
        csv.contains(
            "\n00000000000000aa,00000000000000aa,GET /a,too_much,3000000,300000000,30,0,100,0,"
        ),
        "{csv}"
    );
}

#[test]
fn what_cannot_be_checked_is_another_exit_status() {
    let nothing = Folder::new();
    let file = nothing.file("cpu.pb.gz");
    CpuProfile::window(0)
        .burn(3, &["a"], &tags(A, "GET /a"))
        .write(&file);
    let spans_only = nothing.file("spans.pb.gz");
    support::write_spans(
        &spans_to_traces("shop", [local_root("00000000000000bb", "x", 5)]),
        &spans_only,
    );
    let garbage = nothing.file("garbage.pb");
    std::fs::write(&garbage, b"garbage").expect("a file");
    for (files, part) in [
        (vec![&file], "add the -spans- files"),
        (vec![&spans_only], "no CPU profile"),
        (
            vec![&file, &spans_only],
            "none is among the 1 span that ended",
        ),
        (vec![&garbage], "garbage.pb: "),
    ] {
        let mut command = command();
        let output = command
            .arg("check")
            .args(files)
            .output()
            .expect("vtprof starts");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let error = stderr(&output);
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(part), "{error}");
    }
}

#[test]
#[ignore = "prints from how many spans on tags by carrier are found; minutes"]
fn sensitivity() {
    const RUNS: u64 = 5;
    for (name, load) in [
        ("short", SHORT),
        ("mixed", MIXED),
        ("waiting", WAITING),
        ("idle", IDLE),
    ] {
        for with_blocked in [false, true] {
            for count in [100, 300, 1000, 3000] {
                let (mut found, mut alarms, mut told) = (0, 0, 0);
                for seed in 0..RUNS {
                    let run = Run::new(load, count, seed);
                    let wrong = verdict(&run, Tagging::ByCarrier, with_blocked);
                    found += u32::from(wrong.0 == Some(1));
                    let right = verdict(&run, Tagging::Right, with_blocked);
                    alarms += u32::from(right.0 == Some(1));
                    told += u32::from(right.1 == "consistent");
                }
                println!(
                    "{name} blocked={with_blocked} spans={count}: found {found} of {RUNS}; right: {alarms} alarms, {told} consistent"
                );
            }
        }
    }
}
