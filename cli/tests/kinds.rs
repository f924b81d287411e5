//! A folder with several kinds of profile: `top` shows one, none are added up.

mod support;

use serde_json::Value;
use support::{
    CpuProfile, Folder, PERIOD, failure, int, json, local_root, run, stderr, stdout, tags,
};
use vtprof_profile::builder::{ProfileBuilder, ValueType};
use vtprof_profile::kind::Kind;
use vtprof_profile::spans::spans_to_traces;

const A: &str = "00000000000000aa";
const B: &str = "00000000000000bb";

/// A profile of one sample with these values in `function`.
fn write(folder: &Folder, kind: Kind, values: [i64; 2], function: &str, root: &str) {
    let types = [kind.count(), kind.amount()];
    let mut builder = ProfileBuilder::new(&types, kind.period(), 524_288);
    builder.default_sample_type(kind.amount().kind);
    builder.set_time(support::START, support::WINDOW);
    let id = builder.function(function, "", "", 0);
    let location = builder.location(id, 1);
    builder
        .sample(&[location], &values, &tags(root, "GET /"))
        .expect("a good sample");
    let name = format!("shop-1-{}-20231114T221320Z.pb.gz", kind.name());
    support::write(&builder.finish(), &folder.file(&name));
}

/// Files in whose order CPU time comes last but one: `alloc`, `blocked`, `cpu`, `spans`.
fn service() -> Folder {
    let folder = Folder::new();
    write(&folder, Kind::Alloc, [3, 3 << 20], "java.lang.String", B);
    write(&folder, Kind::Blocked, [2, 70_000_000], "Object.wait", A);
    CpuProfile::window(0)
        .burn(5, &["Json.write"], &tags(A, "GET /a"))
        .write(&folder.file("shop-1-cpu-20231114T221320Z.pb.gz"));
    support::write_spans(
        &spans_to_traces("shop", [local_root(A, "GET /a", 100)]),
        &folder.file("shop-1-spans-20231114T221320Z.pb.gz"),
    );
    folder
}

fn answer(command: &str, folder: &Folder, args: &[&str]) -> Value {
    let path = folder.path().to_str().expect("a path");
    json([command, path].iter().chain(args))
}

fn rows(answer: &Value) -> Vec<(&str, i64)> {
    let rows = answer["rows"].as_array().expect("rows").iter();
    rows.map(|row| {
        let name = row["name"].as_str().expect("a name");
        (name, int(&row["self"]["value"]))
    })
    .collect()
}

#[test]
fn cpu_is_shown_alone_and_what_was_left_out_is_said() {
    let folder = service();
    let top = answer("top", &folder, &[]);
    assert_eq!(rows(&top), [("Json.write", 5 * PERIOD)]);
    assert_eq!(int(&top["whole"]["value"]), 5 * PERIOD);
    assert_eq!(int(&top["profiles"]), 1);
    let output = run(["top".as_ref(), folder.path().as_os_str()]);
    assert_eq!(
        stderr(&output),
        "vtprof: 1 alloc profile, 1 blocked profile left out, cpu is shown: kinds are not added up, --kind names another\n"
    );
    let text = stdout(&output);
    assert!(
        text.starts_with("cpu: 50.0 ms, 5 samples, 1 profile"),
        "{text}"
    );
}

#[test]
fn another_kind_is_shown_by_its_name_or_by_one_of_its_sample_types() {
    let folder = service();
    for (args, expected) in [
        (["--kind", "alloc"], ("java.lang.String", 3 << 20)),
        (["--sample-type", "alloc_objects"], ("java.lang.String", 3)),
        (["--kind", "blocked"], ("Object.wait", 70_000_000)),
        (["--kind", "cpu"], ("Json.write", 5 * PERIOD)),
    ] {
        let top = answer("top", &folder, &args);
        assert_eq!(rows(&top), [expected], "{args:?}");
        let text = run(["top", folder.path().to_str().expect("a path")]
            .iter()
            .chain(&args));
        assert_eq!(stderr(&text), "", "it was asked for");
    }
    // How many samples that stands on is not known: three objects are no three samples.
    let top = answer("top", &folder, &["--kind", "alloc"]);
    assert!(top["whole"]["samples"].is_null());
    assert!(top["whole"]["relative_error"].is_null());
}

#[test]
fn a_wait_for_a_lock_is_shown_by_who_waited_or_by_who_had_it() {
    let folder = Folder::new();
    write(&folder, Kind::Lock, [3, 70_000_000], "Shop.order", A);
    write(&folder, Kind::LockOwner, [2, 60_000_000], "Shop.report", B);
    for (args, expected) in [
        (["--kind", "lock"], ("Shop.order", 70_000_000)),
        (["--kind", "lock_owner"], ("Shop.report", 60_000_000)),
        (["--sample-type", "contentions"], ("Shop.order", 3)),
        (["--sample-type", "owner_contentions"], ("Shop.report", 2)),
    ] {
        let top = answer("top", &folder, &args);
        assert_eq!(rows(&top), [expected], "{args:?}");
    }
}

#[test]
fn roots_of_another_kind_are_no_rows() {
    let folder = service();
    for (kind, root, other, value) in [("cpu", A, B, 5 * PERIOD), ("alloc", B, A, 3 << 20)] {
        let spans = answer("spans", &folder, &["--kind", kind]);
        let rows = spans["spans"]["rows"].as_array().expect("rows");
        let cost = |id: &str| {
            let row = rows.iter().find(|row| row["local_root_span_id"] == id);
            row.map(|row| int(&row["value"]))
        };
        assert_eq!(cost(root), Some(value), "{kind}");
        // The span that ended is there whatever is shown, the other only where it has a sample.
        let ended = (other == A).then_some(0);
        assert_eq!(cost(other), ended, "{kind}");
        assert_eq!(int(&spans["whole"]["value"]), value);
    }
}

#[test]
fn without_cpu_the_next_kind_is_shown_and_one_that_is_not_there_is_missed() {
    let folder = Folder::new();
    write(&folder, Kind::Blocked, [2, 9], "Object.wait", A);
    assert_eq!(rows(&answer("top", &folder, &[])), [("Object.wait", 9)]);
    write(&folder, Kind::Alloc, [1, 16], "byte[]", A);
    assert_eq!(rows(&answer("top", &folder, &[])), [("byte[]", 16)]);
    for command in ["top", "spans"] {
        let path = folder.path().to_str().expect("a path");
        assert_eq!(
            failure(&run([command, path, "--kind", "cpu"])),
            "vtprof: error: no cpu profile among the inputs, only 1 alloc profile, 1 blocked profile"
        );
    }
    let refused = run(["top", "x.pb.gz", "--kind", "heap"]);
    assert_eq!(refused.status.code(), Some(2));
    let names = Kind::ALL.map(Kind::name).join(", ");
    assert!(stderr(&refused).contains(&format!("[possible values: {names}]")));
}

#[test]
fn a_focus_on_what_says_no_number_of_samples_finds_its_samples() {
    let folder = service();
    let path = folder.path().to_str().expect("a path");
    let focus = format!("root={B}");
    let output = run(["top", path, "--kind", "alloc", "--focus", &focus]);
    assert_eq!(stderr(&output), "");
    assert!(
        stdout(&output).contains("in focus: 3.00 MiB (100.0 %)"),
        "{output:?}"
    );
}

#[test]
fn of_a_kind_asked_for_files_of_none_are_left_out_and_counted_where_there_is_no_other() {
    let folder = service();
    let goroutine = ValueType {
        kind: "goroutine",
        unit: "count",
    };
    let builder = ProfileBuilder::new(&[goroutine], goroutine, 1);
    let other = folder.file("other.pb.gz");
    support::write(&builder.finish(), &other);
    let other = other.to_str().expect("a path");
    for command in ["top", "spans"] {
        let answer = answer(command, &folder, &["--kind", "cpu"]);
        assert_eq!(int(&answer["whole"]["value"]), 5 * PERIOD, "{command}");
        assert_eq!(
            failure(&run([command, other, "--kind", "cpu"])),
            "vtprof: error: no cpu profile among the inputs, only 1 other profile"
        );
    }
}
