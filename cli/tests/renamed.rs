//! Requests whose name changes while they run: windows that end before have the old name, and mean the same request.

mod support;

use std::path::Path;

use support::{CpuProfile, Folder, PERIOD, int, json, local_root, run, stderr, stdout, tags};
use vtprof_profile::builder::{ProfileBuilder, ValueType};
use vtprof_profile::kind::Kind;
use vtprof_profile::spans::spans_to_traces;

const A: &str = "00000000000000aa";
const B: &str = "00000000000000bb";
/// The names of one request, as time goes.
const NAMES: [&str; 3] = ["GET", "GET /items", "GET /items/{id}"];
const LAST: &str = NAMES[2];

/// Three windows; the name of a file says nothing of its time.
fn windows(folder: &Folder) {
    for (number, name) in (0..).zip(NAMES) {
        CpuProfile::window(number)
            .burn(10, &["f"], &tags(A, name))
            .burn(1, &["g"], &tags(B, "GET /b"))
            .burn(2, &["gc"], &[])
            .write(&folder.file(&format!("{}.pb.gz", 2 - number)));
    }
}

fn ended(folder: &Folder, name: &str) {
    let spans = spans_to_traces("shop", [local_root(A, name, 100)]);
    support::write_spans(&spans, &folder.file("9-spans-.pb.gz"));
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path")
}

/// Samples in focus, as `top` has them and as `merge` leaves them.
fn in_focus(folder: &Folder, focus: &str) -> i64 {
    let answer = json(["top", path(folder.path()), "--focus", focus]);
    assert_eq!(int(&answer["whole"]["samples"]), 39);
    assert_eq!(int(&answer["profiles"]), 3);
    let found = int(&answer["in_focus"]["samples"]);
    let out = Folder::new();
    let file = out.file("out.pb");
    let merge = ["merge", path(folder.path()), "-o", path(&file)];
    let output = run(merge.iter().chain(&["--kind", "cpu", "--focus", focus]));
    assert!(output.status.success(), "{}", stderr(&output));
    let merged = json(["top", path(&file)]);
    assert_eq!(int(&merged["whole"]["samples"]), found, "{focus}");
    found
}

#[test]
fn a_name_in_focus_is_the_last_one_and_takes_the_windows_before() {
    let folder = Folder::new();
    windows(&folder);
    for (name, expected) in [(LAST, 30), (NAMES[0], 0), (NAMES[1], 0), ("GET /b", 3)] {
        assert_eq!(
            in_focus(&folder, &format!("name={name}")),
            expected,
            "{name}"
        );
    }
    assert_eq!(in_focus(&folder, &format!("root={A}")), 30);
}

#[test]
fn a_name_that_a_profile_of_another_kind_has_last_is_the_last_one() {
    let folder = Folder::new();
    CpuProfile::window(0)
        .burn(30, &["f"], &tags(A, NAMES[0]))
        .burn(9, &["g"], &tags(B, "GET /b"))
        .write(&folder.file("cpu.pb.gz"));
    let kind = Kind::Alloc;
    let mut builder = ProfileBuilder::new(&[kind.count(), kind.amount()], kind.period(), 1);
    builder.set_time(support::START + support::WINDOW, support::WINDOW);
    let function = builder.function("f", "", "", 0);
    let location = builder.location(function, 1);
    builder
        .sample(&[location], &[1, 1], &tags(A, LAST))
        .expect("a good sample");
    let profile = builder.finish();
    // Before the other as well as behind it.
    for name in ["a.pb.gz", "x.pb.gz"] {
        let file = folder.file(name);
        support::write(&profile, &file);
        for (name, expected) in [(LAST, 30), (NAMES[0], 0)] {
            let focus = format!("name={name}");
            let args = ["top", path(folder.path()), "--focus", &focus];
            let found = json(args.iter().chain(&["--kind", "cpu"]));
            assert_eq!(int(&found["in_focus"]["samples"]), expected, "{name}");
            let found = json(args);
            assert_eq!(int(&found["in_focus"]["samples"]), expected, "{name}");
            let out = Folder::new();
            let merged = out.file("out.pb");
            let args = ["merge", path(folder.path()), "-o", path(&merged)];
            let output = run(args.iter().chain(&["--kind", "cpu", "--focus", &focus]));
            assert!(output.status.success(), "{}", stderr(&output));
            let found = json(["top", path(&merged)]);
            assert_eq!(int(&found["whole"]["samples"]), expected, "{name}");
        }
        std::fs::remove_file(&file).expect("it is there");
    }
}

#[test]
fn the_name_of_a_span_that_ended_is_final() {
    let folder = Folder::new();
    windows(&folder);
    ended(&folder, "GET /items/{item}");
    for (name, expected) in [("GET /items/{item}", 30), (LAST, 0), ("GET /b", 3)] {
        assert_eq!(
            in_focus(&folder, &format!("name={name}")),
            expected,
            "{name}"
        );
    }
}

#[test]
fn flame_and_diff_take_the_windows_before_too_in_whatever_order_files_are() {
    for turn in 0..3 {
        let folder = Folder::new();
        for (number, name) in (0..).zip(NAMES) {
            CpuProfile::window(number)
                .burn(10, &["f"], &tags(A, name))
                .burn(1, &["g"], &tags(B, "GET /b"))
                .write(&folder.file(&format!("{}.pb.gz", (number + turn) % 3)));
        }
        flame_and_diff_take_all(&folder);
    }
}

fn flame_and_diff_take_all(folder: &Folder) {
    let focus = format!("name={LAST}");
    let flame = ["flame", path(folder.path()), "--format", "collapsed"];
    let lines = stdout(&run(flame.iter().chain(&["--focus", &focus])));
    assert_eq!(lines, "f 300000000\n");
    for (name, samples) in [(LAST, 30), (NAMES[0], 0)] {
        let focus = format!("name={name}");
        let page = ["flame", path(folder.path()), "--format", "html"];
        let page = stdout(&run(page.iter().chain(&["--focus", &focus])));
        let shown = support::page::shown(&support::page::document(&page));
        assert_eq!(shown, samples * PERIOD, "{name}");
    }
    let diff = ["diff", path(folder.path()), path(folder.path())];
    let answer = json(diff.iter().chain(&["--per", "second", "--name", LAST]));
    for side in answer["sides"].as_array().expect("sides") {
        assert_eq!(int(&side["samples"]), 30, "{answer}");
    }
}

#[test]
fn figures_of_cost_and_error_are_those_of_the_windows() {
    let folder = Folder::new();
    windows(&folder);
    let focus = ["--cost", "--focus", "name=GET /b"];
    let args = ["top", path(folder.path())];
    let named = json(args.iter().chain(&focus));
    let root = format!("root={B}");
    let same = json(args.iter().chain(&["--cost", "--focus", &root]));
    assert_eq!(named, same);
}

#[test]
fn a_sum_of_several_periods_that_nothing_counts_tells_no_number_of_samples() {
    let cpu = ValueType {
        kind: "cpu",
        unit: "nanoseconds",
    };
    let space = ValueType {
        kind: "space",
        unit: "bytes",
    };
    let periods = |second: (ValueType<'static>, i64)| [(cpu, PERIOD), second];
    for (periods, samples) in [
        (periods((cpu, PERIOD)), Some(6)),
        (periods((cpu, 2 * PERIOD)), None),
        (periods((space, PERIOD)), None),
    ] {
        let folder = Folder::new();
        for (number, (period_type, period)) in (0..).zip(periods) {
            let mut builder = ProfileBuilder::new(&[cpu], period_type, period);
            builder.set_time(support::START + number * support::WINDOW, support::WINDOW);
            let function = builder.function("f", "", "", 0);
            let location = builder.location(function, 1);
            builder
                .sample(&[location], &[3 * PERIOD], &tags(A, LAST))
                .expect("a good sample");
            let file = folder.file(&format!("{number}.pb.gz"));
            support::write(&builder.finish(), &file);
        }
        let focus = format!("name={LAST}");
        let answer = json(["top", path(folder.path()), "--focus", &focus]);
        assert_eq!(int(&answer["in_focus"]["value"]), 6 * PERIOD);
        let told = &answer["in_focus"]["samples"];
        assert_eq!(told.as_i64(), samples, "{answer}");
    }
}

#[test]
fn the_agents_own_figures_are_added_up_once() {
    let folder = Folder::new();
    for number in 0..2 {
        let cpu = CpuProfile::window(number).burn(1, &["g"], &tags(B, "GET /b"));
        let mut profile = cpu.build();
        let line = profile.string_table.len() as i64;
        profile.string_table.push(b"samples: taken=5".to_vec());
        profile.comment.push(line);
        support::write(&profile, &folder.file(&format!("{number}.pb.gz")));
    }
    let comments = |more: &[&str]| {
        let out = Folder::new();
        let file = out.file("out.pb");
        let merge = ["merge", path(folder.path()), "-o", path(&file)];
        let output = run(merge.iter().chain(more));
        assert!(output.status.success(), "{}", stderr(&output));
        let bytes = std::fs::read(&file).expect("a file");
        let profile: vtprof_profile::pprof::Profile =
            vtprof_profile::Message::decode(&bytes[..]).expect("a profile");
        let text = |at: &i64| profile.string_table[*at as usize].clone();
        let comments: Vec<_> = profile.comment.iter().map(text).collect();
        (comments, profile.duration_nanos, profile.time_nanos)
    };
    assert_eq!(comments(&["--focus", "name=GET /b"]), comments(&[]));
}
