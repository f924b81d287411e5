//! `vtprof diff`: what is more on one side than on the other, by how much a request, and what may be chance.

mod made;
mod support;

use std::path::Path;

use made::{MS, Made, path, text as name_of};
use serde_json::Value;
use support::{CpuProfile, Folder, failure, int, json, row, run, stderr, stdout};
use vtprof_profile::builder::{ProfileBuilder, ValueType};
use vtprof_profile::kind::Kind;
use vtprof_profile::spans::SpanStatus;

const NAME: &str = "GET /note";

fn diff(args: &[&str]) -> Value {
    json(["diff"].iter().chain(args))
}

fn names(answer: &Value) -> Vec<&str> {
    let rows = answer["rows"].as_array().expect("rows");
    rows.iter()
        .map(|row| row["name"].as_str().expect("a name"))
        .collect()
}

fn find<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let rows = answer["rows"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {answer}"))
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// Slow requests, one of ten, serialise the note twice more, each time for 27 ms; all parse for 20 and serialise for 30.
fn twice() -> Folder {
    let mut made = Made::new(&[Kind::Cpu]);
    for at in 0..600 {
        let is_slow = at % 10 == 3;
        let noise = 10.0 * made.draws.draw();
        let who = made.request(NAME, 55.0 + noise + if is_slow { 60.0 } else { 0.0 });
        let handle = ["com.acme.Handler.get", "com.acme.Main.run"];
        made.burn(
            Some(&who),
            15.0 + noise,
            &[&["com.acme.Json.parse"], &handle[..]].concat(),
        );
        let once: &[&str] = &["java.lang.StringBuilder.append", "com.acme.Note.serialize"];
        made.burn(Some(&who), 30.0, &[once, &handle].concat());
        if is_slow {
            for _ in 0..2 {
                made.burn(
                    Some(&who),
                    27.0,
                    &[once, &["com.acme.Note.serializeTwice"], &handle].concat(),
                );
            }
        }
    }
    made.write()
}

#[test]
fn what_slow_requests_do_and_fast_ones_do_not_is_the_first_row_with_its_cost_a_request() {
    let folder = twice();
    let answer = diff(&[
        path(&folder),
        "--slow",
        "p91",
        "--fast",
        "p50",
        "--name",
        NAME,
    ]);
    assert_eq!(answer["per"], "request");
    assert_eq!(answer["sides"][0]["name"], "fast");
    let slow = number(&answer["sides"][1]["requests"]);
    assert!((54.0..=60.0).contains(&slow), "{slow}");
    assert_eq!(names(&answer)[0], "com.acme.Note.serializeTwice");
    let twice = &answer["rows"][0]["total"];
    assert_eq!(twice["is"], "more");
    assert_eq!(number(&twice["rates"][0]), 0.0);
    let lost = number(&twice["difference"]);
    assert!((lost / (54.0 * MS) - 1.0).abs() < 0.1, "{lost}");
    let half = number(&twice["half_width"]);
    assert!(
        (lost - 54.0 * MS).abs() < half && half < 0.1 * lost,
        "{lost} ± {half}"
    );
    assert!(number(&twice["false_discovery_rate"]) < 1e-6);
    // As the leaf it has nothing; what it calls has, in both.
    assert_eq!(number(&answer["rows"][0]["self"]["difference"]), 0.0);
    let by_self = diff(&[path(&folder), "--slow", "p91", "--sort", "self"]);
    assert_eq!(names(&by_self)[0], "java.lang.StringBuilder.append");
    // What both do alike is no difference. (The noise of parsing is in the duration, but not only there.)
    let table = stdout(&run([
        "diff",
        path(&folder),
        "--slow",
        "p91",
        "--fast",
        "p50",
    ]));
    assert!(table.contains("cpu per request: "), "{table}");
    let first = row(&table, "  com.acme.Note.serializeTwice");
    assert_eq!(first[0], "0", "{table}");
}

#[test]
fn a_release_that_costs_more_is_told_from_noise_function_by_function() {
    let release = |seed: usize, json: f64| {
        let mut made = Made::new(&[Kind::Cpu]);
        (0..seed).for_each(|_| {
            made.draws.draw();
        });
        for _ in 0..400 {
            let who = made.request(NAME, 100.0);
            made.burn(
                Some(&who),
                json,
                &["com.acme.Json.write", "com.acme.Main.run"],
            );
            made.burn(
                Some(&who),
                50.0 - json,
                &["com.acme.Cache.get", "com.acme.Main.run"],
            );
            // Fifty functions that cost the same, 0.4 ms each.
            for function in 0..50 {
                let frame = format!("com.acme.Rest.f{function}");
                made.burn(Some(&who), 0.4, &[&frame, "com.acme.Main.run"]);
            }
        }
        made.write()
    };
    let (good, bad) = (release(0, 10.0), release(77, 14.0));
    let answer = diff(&[path(&good), path(&bad)]);
    assert_eq!(answer["sides"][1]["name"], "bad");
    assert_eq!(
        names(&answer)[..2],
        ["com.acme.Json.write", "com.acme.Cache.get"]
    );
    let json = find(&answer, "com.acme.Json.write");
    assert!((number(&json["total"]["difference"]) / (4.0 * MS) - 1.0).abs() < 0.15);
    assert_eq!(json["total"]["rates"], json["self"]["rates"]);
    assert_eq!(find(&answer, "com.acme.Cache.get")["total"]["is"], "less");
    let rows = answer["rows"].as_array().expect("rows");
    let noise: Vec<_> = rows[2..]
        .iter()
        .filter(|row| row["total"]["is"] == "noise")
        .collect();
    assert_eq!(noise.len(), rows.len() - 2, "{rows:?}");
    assert_eq!(noise.len(), 51);
    // The other way round it is the same, with the other sign.
    let back = diff(&[path(&bad), path(&good)]);
    assert_eq!(
        names(&back)[..2],
        ["com.acme.Cache.get", "com.acme.Json.write"]
    );
    let of = |answer: &Value| number(&find(answer, "com.acme.Json.write")["total"]["difference"]);
    assert_eq!(of(&back), -of(&answer));
    // With itself there is none.
    let same = diff(&[path(&good), path(&good)]);
    let rows = same["rows"].as_array().expect("rows");
    assert!(
        rows.iter()
            .all(|row| row["total"]["is"] == "noise" && row["total"]["difference"] == 0.0)
    );
}

#[test]
fn one_request_with_many_samples_is_one_observation() {
    let side = |heavy: usize| {
        let mut made = Made::new(&[Kind::Cpu]);
        for at in 0..100 {
            let who = made.request(NAME, 10.0);
            made.burn(Some(&who), 10.0, &["com.acme.Json.write"]);
            if at < heavy {
                made.burn(Some(&who), 2_000.0, &["com.acme.Report.sum"]);
            }
        }
        made.write()
    };
    // 200 samples against none: were they independent, p would be 10⁻⁶⁰.
    let answer = diff(&[path(&side(0)), path(&side(1))]);
    let report = find(&answer, "com.acme.Report.sum");
    assert_eq!(report["total"]["samples"], serde_json::json!([0, 200]));
    assert_eq!(report["total"]["is"], "noise");
    assert!(report["total"]["p_value"].is_null());
    // Of 30 requests it is one.
    let answer = diff(&[path(&side(0)), path(&side(30))]);
    assert_eq!(answer["rows"][0]["name"], "com.acme.Report.sum");
    assert_eq!(answer["rows"][0]["total"]["is"], "more");
}

#[test]
fn failed_requests_and_those_that_have_not_ended_do_not_count() {
    let side = |failures: usize| {
        let mut made = Made::new(&[Kind::Cpu]);
        for _ in 0..50 {
            let who = made.request(NAME, 20.0);
            made.burn(Some(&who), 20.0, &["com.acme.Json.write"]);
        }
        for _ in 0..failures {
            let who = made.ended(NAME, 1.0, SpanStatus::Error);
            made.burn(Some(&who), 10.0, &["com.acme.Retry.again"]);
        }
        let who = made.open(NAME);
        made.burn(Some(&who), 500.0, &["com.acme.Poll.run"]);
        // The collector works for all.
        made.burn(None, 100.0, &["GC Thread"]);
        made.write()
    };
    let (good, bad) = (side(0), side(40));
    let answer = diff(&[path(&good), path(&bad)]);
    let bad_side = &answer["sides"][1];
    assert_eq!(int(&bad_side["requests"]), 50);
    assert_eq!(int(&bad_side["left_out_failed"]), 40 * 10 * MS as i64);
    assert_eq!(int(&bad_side["left_out_open"]), 500 * MS as i64);
    let mut found = names(&answer);
    found.sort_unstable();
    assert_eq!(found, ["GC Thread", "com.acme.Json.write"]);
    assert_eq!(
        number(&find(&answer, "GC Thread")["total"]["rates"][0]),
        2.0 * MS
    );
    let output = run(["diff", path(&good), path(&bad)]);
    let said = stderr(&output);
    assert!(
        said.contains("bad: 400 ms of requests that ended in an error left out"),
        "{said}"
    );
    assert!(
        said.contains("good: 500 ms of requests whose end is in no file left out"),
        "{said}"
    );
    // Counted as others, each costs half as much.
    let answer = diff(&[path(&good), path(&bad), "--with-errors"]);
    assert_eq!(int(&answer["sides"][1]["requests"]), 90);
    assert_eq!(find(&answer, "com.acme.Retry.again")["total"]["is"], "more");
    // With a name, what is nobody's is not that endpoint's.
    let answer = diff(&[path(&good), path(&bad), "--name", NAME]);
    assert_eq!(names(&answer), ["com.acme.Json.write"]);
}

/// A profile without tags, as others write them.
fn foreign(path: &Path, seconds: i64, samples: &[(i64, &str)]) {
    let mut profile = CpuProfile::window(0);
    for (count, function) in samples {
        profile = profile.burn(*count, &[function, "main"], &[]);
    }
    let mut profile = profile.build();
    profile.duration_nanos = seconds * 1_000_000_000;
    support::write(&profile, path);
}

#[test]
fn profiles_without_spans_are_compared_per_second_and_their_counts_tested_exactly() {
    let folder = Folder::new();
    let (good, bad) = (folder.file("good.pb.gz"), folder.file("bad.pb.gz"));
    foreign(
        &good,
        10,
        &[
            (10, "Json.write"),
            (500, "Poll.run"),
            (5, "Shop$$Lambda$7/0x0000000800c03000.run"),
        ],
    );
    foreign(
        &bad,
        20,
        &[
            (60, "Json.write"),
            (1_000, "Poll.run"),
            (10, "Shop$$Lambda$99/0x00007f0012345678.run"),
        ],
    );
    let answer = diff(&[name_of(&good), name_of(&bad)]);
    assert_eq!(answer["per"], "second");
    let json = find(&answer, "Json.write");
    assert_eq!(
        json["total"]["rates"],
        serde_json::json!([10.0 * MS, 30.0 * MS])
    );
    // Twice the lesser tail of 70 draws with 2/3 each, by summing the binomial: 60 or more.
    assert!(
        (number(&json["total"]["p_value"]) / 5.312e-4 - 1.0).abs() < 0.01,
        "{json}"
    );
    assert_eq!(json["total"]["is"], "more");
    assert_eq!(find(&answer, "Poll.run")["total"]["is"], "noise");
    // Names meet without their addresses.
    assert_eq!(
        find(&answer, "Shop$$Lambda.run")["total"]["samples"],
        serde_json::json!([5, 10])
    );

    let shares = diff(&[name_of(&good), name_of(&bad), "--per", "share"]);
    let of = |name: &str| number(&find(&shares, name)["total"]["rates"][1]);
    assert!((of("Json.write") - 60.0 / 1_070.0).abs() < 1e-12);
    assert_eq!(of("main"), 1.0);
    let main = find(&shares, "main");
    assert_eq!(
        (&main["total"]["difference"], &main["total"]["is"]),
        (&0.0.into(), &"noise".into())
    );
    assert!(shares["difference"].is_null());
    let refused = failure(&run([
        "diff",
        name_of(&good),
        name_of(&bad),
        "--per",
        "request",
    ]));
    assert!(
        refused.contains("--per request: the good side has no local root span that ended"),
        "{refused}"
    );
}

#[test]
fn blocked_time_whose_samples_are_not_counted_is_judged_by_requests() {
    let side = |millis: f64| {
        let mut made = Made::new(&[Kind::Blocked]);
        for _ in 0..80 {
            let late = millis * 2.0 * made.draws.draw();
            let who = made.request(NAME, 20.0);
            made.wait(
                &who,
                "lock",
                1,
                late,
                &["java.lang.Object.wait", "com.acme.Store.update"],
            );
            let late = 10.0 * made.draws.draw();
            made.wait(
                &who,
                "io",
                1,
                late,
                &["sun.nio.ch.Net.poll", "com.acme.Db.query"],
            );
        }
        made.write()
    };
    let answer = diff(&[path(&side(5.0)), path(&side(15.0))]);
    assert_eq!(answer["measure"]["kind"], "blocked");
    let store = find(&answer, "com.acme.Store.update");
    assert_eq!(
        (&store["total"]["is"], &store["total"]["samples"]),
        (&"more".into(), &Value::Null)
    );
    let (lost, half) = (
        number(&store["total"]["difference"]),
        number(&store["total"]["half_width"]),
    );
    assert!(
        (lost - 10.0 * MS).abs() < half && half < 3.0 * MS,
        "{lost} ± {half}"
    );
    assert_eq!(find(&answer, "com.acme.Db.query")["total"]["is"], "noise");
}

#[test]
fn what_cannot_be_subtracted_is_said() {
    let side = |jvm: &str, period: i64, truncated: f64| {
        let mut made = Made::new(&[Kind::Cpu]);
        made.comment(Kind::Cpu, "agent=vtprof 1");
        made.comment(Kind::Cpu, &format!("jvm={jvm}"));
        let taken = if truncated > 0.0 { 900 } else { 1_000 };
        made.comment(
            Kind::Cpu,
            &format!(
                "counters (those not named are 0): samples.taken={taken} dropped.ring_full={}",
                1_000 - taken
            ),
        );
        for _ in 0..20 {
            let who = made.request(NAME, 100.0);
            made.burn(
                Some(&who),
                100.0 - truncated,
                &["com.acme.Json.write", "com.acme.Main.run"],
            );
            made.burn(
                Some(&who),
                truncated,
                &["com.acme.Json.write", "[truncated: frozen frames]"],
            );
        }
        let folder = made.write();
        let file = folder.file("shop-1-cpu-20231114T221320Z.pb.gz");
        let bytes =
            vtprof_profile::gzip::read_bytes(std::fs::File::open(&file).unwrap(), 1 << 20).unwrap();
        let mut profile =
            <vtprof_profile::pprof::Profile as vtprof_profile::Message>::decode(&bytes[..])
                .unwrap();
        profile.period = period;
        support::write(&profile, &file);
        folder
    };
    let good = side("OpenJDK 21", support::PERIOD, 0.0);
    let alike = side("OpenJDK 21", support::PERIOD, 0.0);
    assert_eq!(
        diff(&[path(&good), path(&alike)])["warnings"],
        serde_json::json!([])
    );
    let bad = side("OpenJDK 25", support::PERIOD / 10, 10.0);
    let answer = diff(&[path(&good), path(&bad)]);
    let warnings: Vec<_> = answer["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .map(|w| w.as_str().expect("text"))
        .collect();
    let begin = [
        "sampling periods differ, 10.0 ms (good) and 1.00 ms (bad)",
        "JVM differs, OpenJDK 21 (good) and OpenJDK 25 (bad)",
        "samples lost: 0.0 % (good) and 10.0 % (bad)",
        "truncated stacks: 0.0 % (good) and 10.0 % (bad)",
    ];
    assert_eq!(warnings.len(), begin.len(), "{warnings:?}");
    for (warning, begin) in warnings.iter().zip(begin) {
        assert!(warning.starts_with(begin), "{warning}");
    }
    let said = stderr(&run(["diff", path(&good), path(&bad)]));
    assert_eq!(said.matches("vtprof: warning: ").count(), 4, "{said}");
}

#[test]
fn a_name_that_neither_side_has_is_refused_and_one_that_a_side_has_is_not() {
    let side = |name: &str| {
        let mut made = Made::new(&[Kind::Cpu]);
        for _ in 0..20 {
            let who = made.request(name, 100.0);
            made.burn(Some(&who), 50.0, &["com.acme.Json.write"]);
        }
        made.write()
    };
    let (good, bad) = (side(NAME), side("GET /new"));
    let args = |name| ["diff", path(&good), path(&bad), "--name", name];
    for per in [&[][..], &["--per", "share"], &["--per", "second"]] {
        let output = run(args("GET /nope").iter().chain(per));
        assert_eq!(
            failure(&output),
            "vtprof: error: no request and no sample of either side is called 'GET /nope'; `vtprof spans` lists names"
        );
        assert!(run(args("GET /new").iter().chain(per)).status.success());
    }
}

#[test]
fn csv_has_a_line_a_function_and_its_header_names_the_sides() {
    let folder = twice();
    let args = ["diff", path(&folder), "--slow", "p91", "--csv"];
    let text = stdout(&run(args));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header").clone();
    assert_eq!(
        header.iter().take(4).collect::<Vec<_>>(),
        ["function", "total_fast", "total_slow", "total_difference"]
    );
    let rows: Vec<_> = reader
        .records()
        .map(|record| record.expect("a record"))
        .collect();
    assert_eq!(rows.len(), 6);
    assert_eq!(&rows[0][0], "com.acme.Note.serializeTwice");
    assert_eq!(&rows[0][7], "more");
    let cut = stdout(&run(args.iter().copied().chain(["-n", "2"])));
    assert_eq!(cut.lines().count(), 3);
}

#[test]
fn sides_can_be_of_many_files_and_what_is_no_two_sides_is_refused() {
    let folder = Folder::new();
    let files: Vec<_> = (0..4).map(|i| folder.file(&format!("{i}.pb.gz"))).collect();
    for file in &files {
        foreign(file, 10, &[(10, "Json.write")]);
    }
    let files: Vec<_> = files.iter().map(|file| name_of(file)).collect();
    let answer = diff(&[files[0], files[1], files[2], "--bad", files[3]]);
    assert_eq!(int(&answer["sides"][0]["profiles"]), 3);
    assert_eq!(number(&answer["sides"][0]["seconds"]), 30.0);
    assert_eq!(number(&answer["difference"]["difference"]), 0.0);
    for count in [1, 3] {
        let refused = failure(&run(["diff"].iter().chain(&files[..count])));
        assert!(refused.contains("diff takes two, GOOD BAD"), "{refused}");
    }
    let refused = failure(&run(["diff", files[0], "--slow", "p99"]));
    assert!(refused.contains("need durations"), "{refused}");
    let bound = run(["diff", files[0], "--slow", "fast"]);
    assert_eq!(bound.status.code(), Some(2));
    assert!(
        stderr(&bound).contains("write a percentile as p99"),
        "{}",
        stderr(&bound)
    );
}

#[test]
fn kinds_are_not_mixed() {
    let folder = Folder::new();
    let (one, two) = (folder.file("one.pb.gz"), folder.file("two.pb.gz"));
    foreign(&one, 10, &[(10, "Json.write")]);
    let types = [
        ValueType {
            kind: "inuse_objects",
            unit: "count",
        },
        ValueType {
            kind: "inuse_space",
            unit: "bytes",
        },
    ];
    let mut builder = ProfileBuilder::new(&types, types[1], 1);
    let function = builder.function("Cache.put", "", "", 0);
    let location = builder.location(function, 1);
    builder
        .sample(&[location], &[1, 4_096], &[])
        .expect("a sample");
    builder.set_time(support::START, support::WINDOW);
    support::write(&builder.finish(), &two);
    let refused = failure(&run(["diff", name_of(&one), name_of(&two)]));
    assert!(
        refused.contains("no profile that both sides have; the first has cpu, the second live"),
        "{refused}"
    );
    // What is in use is of a moment: it has no rate.
    let copy = folder.file("three.pb.gz");
    std::fs::copy(&two, &copy).expect("a copy");
    assert_eq!(diff(&[name_of(&two), name_of(&copy)])["per"], "share");
    let refused = failure(&run([
        "diff",
        name_of(&two),
        name_of(&copy),
        "--per",
        "second",
    ]));
    assert!(refused.contains("--per share"), "{refused}");
}

#[test]
fn a_hostile_name_stays_text() {
    let folder = Folder::new();
    let file = folder.file("hostile.pb.gz");
    foreign(&file, 10, &[(10, "\x1b]0;owned\x07\nrow")]);
    let copy = folder.file("copy.pb.gz");
    std::fs::copy(&file, &copy).expect("a copy");
    let text = stdout(&run(["diff", name_of(&file), name_of(&copy)]));
    assert!(
        !text.contains('\x1b') && text.contains("\\u{1b}]0;owned\\u{7}\\u{a}row"),
        "{text:?}"
    );
}
