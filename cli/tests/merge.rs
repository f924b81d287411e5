//! `vtprof merge`: sums are those of the parts, and what is written is read again.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::{
    CpuProfile, Folder, PERIOD, TRACE, failure, int, json, local_root, run, stderr, stdout, tags,
    write_spans,
};
use vtprof_profile::builder::ProfileBuilder;
use vtprof_profile::gzip;
use vtprof_profile::kind::Kind;
use vtprof_profile::otlp::trace::TracesData;
use vtprof_profile::pprof;
use vtprof_profile::spans::{SpanRecord, left_out, set_left_out, spans_to_traces, traces_to_spans};

const A: &str = "00000000000000aa";
const B: &str = "00000000000000bb";
const CHILD: &str = "00000000000000cc";

/// Of a span below a root.
fn child_tags(name: &str) -> [(&str, &str); 4] {
    let mut tags = tags(A, name);
    tags[1].1 = CHILD;
    tags
}

/// Three windows of two requests; each has one sample of the child span and `thread` labels.
fn windows(folder: &Folder) {
    for number in 0..3 {
        let with = |tags: &[(&'static str, &'static str); 4], thread| {
            let mut labels = tags.to_vec();
            labels.push(("thread", thread));
            labels
        };
        CpuProfile::window(number)
            .burn(
                10,
                &["f@F.java", "main"],
                &with(&tags(A, "GET /a"), "worker"),
            )
            .burn(
                1,
                &["g@G.java", "main"],
                &with(&child_tags("GET /a"), "worker"),
            )
            .burn(5, &["f@F.java", "main"], &with(&tags(B, "GET /b"), "other"))
            .burn(2, &["gc"], &[])
            .write(&folder.file(&format!("shop-1-cpu-{number}.pb.gz")));
    }
}

fn spans(folder: &Folder, number: u64) {
    let child = SpanRecord {
        span: CHILD.parse().expect("an id"),
        parent: Some(A.parse().expect("an id")),
        local_root: A.parse().expect("an id"),
        name: "SELECT".to_owned(),
        ..local_root(A, "", 1)
    };
    let records = match number {
        0 => vec![child],
        1 => vec![local_root(A, "GET /a", 20), local_root(B, "GET /b", 30)],
        _ => Vec::new(),
    };
    let mut traces = spans_to_traces("shop", records);
    set_left_out(&mut traces, number);
    write_spans(
        &traces,
        &folder.file(&format!("shop-1-spans-{number}.pb.gz")),
    );
}

fn alloc(folder: &Folder, name: &str, kind: Kind, window: i64, bytes: i64) {
    let mut builder = ProfileBuilder::new(&[kind.count(), kind.amount()], kind.period(), 524_288);
    builder.default_sample_type(kind.amount().kind);
    builder.set_time(support::START + window * support::WINDOW, support::WINDOW);
    let function = builder.function("byte[]", "", "", 0);
    let location = builder.location(function, 0);
    builder
        .sample(&[location], &[1, bytes], &tags(A, "GET /a"))
        .expect("a good sample");
    support::write(&builder.finish(), &folder.file(name));
}

fn read<M: vtprof_profile::Message + Default>(path: &Path) -> M {
    let file = fs::File::open(path).expect("written");
    gzip::read(file, 1 << 30).expect("a message")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names
        .map(|name| name.into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}

/// Runs `merge` with these arguments behind; it must be silent.
fn merge(input: &Path, out: &Path, more: &[&str]) {
    let mut args = vec![
        "merge".as_ref(),
        input.as_os_str(),
        "-o".as_ref(),
        out.as_os_str(),
    ];
    args.extend(more.iter().map(|arg| -> &std::ffi::OsStr { arg.as_ref() }));
    let output = run(args);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    assert_eq!(stdout(&output), "");
}

/// The answer without how many profiles it stands on, which is what differs.
fn without_profiles(mut answer: Value) -> Value {
    assert!(answer["profiles"].take().is_number());
    for kind in answer["kinds"].as_object_mut().into_iter().flatten() {
        kind.1["profiles"].take();
    }
    answer
}

/// Function, labels: samples.
fn samples(path: &Path) -> BTreeMap<String, i64> {
    let profile: pprof::Profile = read(path);
    let mut samples = BTreeMap::new();
    for sample in &profile.sample {
        let function = profile.location[sample.location_id[0] as usize - 1].line[0].function_id;
        let mut key = vec![
            profile
                .text(profile.function[function as usize - 1].name)
                .into_owned(),
        ];
        let labels = sample.label.iter();
        let mut labels: Vec<_> = labels
            .map(|label| format!("{}={}", profile.text(label.key), profile.text(label.str)))
            .collect();
        labels.sort();
        key.extend(labels);
        let before = samples.insert(key.join(" "), sample.value[0]);
        assert_eq!(before, None, "one sample twice");
        assert_eq!(sample.value[1], sample.value[0] * PERIOD);
    }
    samples
}

#[test]
fn a_merged_file_answers_as_its_parts_do() {
    let folder = Folder::new();
    windows(&folder);
    let beside = Folder::new();
    let out = beside.file("out.profile");
    merge(folder.path(), &out, &[]);
    let parts = folder.path().to_str().expect("a path");
    let merged = out.to_str().expect("a path");
    for question in [
        vec!["top"],
        vec!["top", "--by", "file"],
        vec!["top", "--focus", "root=00000000000000aa"],
        vec!["spans"],
    ] {
        let ask = |path| without_profiles(json(question.iter().copied().chain([path])));
        assert_eq!(ask(merged), ask(parts), "{question:?}");
    }
    assert_eq!(int(&json(["top", merged])["whole"]["samples"]), 54);
}

#[test]
fn go_tool_pprof_reads_a_merged_file_and_sees_the_same_sums() {
    let Some(go) = support_go() else {
        eprintln!("SKIPPED: no Go here");
        return;
    };
    let folder = Folder::new();
    windows(&folder);
    let beside = Folder::new();
    let out = beside.file("out.profile");
    merge(folder.path(), &out, &[]);
    let top = |files: &[std::path::PathBuf]| {
        let output = Command::new(&go)
            .args([
                "tool",
                "pprof",
                "-top",
                "-nodecount=0",
                "-sample_index=samples",
            ])
            .args(files)
            .output()
            .expect("Go starts");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let rows = text
            .lines()
            .skip_while(|line| !line.contains("flat%"))
            .skip(1);
        let mut rows: Vec<_> = rows.map(str::to_owned).collect();
        rows.sort();
        rows
    };
    let parts: Vec<_> = (0..3)
        .map(|number| folder.file(&format!("shop-1-cpu-{number}.pb.gz")))
        .collect();
    let merged = top(&[out]);
    assert_eq!(merged.len(), 4, "{merged:?}");
    assert_eq!(merged, top(&parts));
}

/// Go, where it is.
fn support_go() -> Option<std::path::PathBuf> {
    ["go", "/usr/local/go/bin/go"]
        .iter()
        .map(std::path::PathBuf::from)
        .find(|go| Command::new(go).arg("version").output().is_ok())
}

#[test]
fn into_a_folder_goes_a_file_a_kind_and_one_of_spans() {
    let folder = Folder::new();
    windows(&folder);
    (0..3).for_each(|number| spans(&folder, number));
    for (window, bytes) in [(0, 100), (1, 300)] {
        alloc(
            &folder,
            &format!("shop-1-alloc-{window}.pb.gz"),
            Kind::Alloc,
            window,
            bytes,
        );
        alloc(
            &folder,
            &format!("shop-1-live-{window}.pb.gz"),
            Kind::Live,
            window,
            bytes,
        );
    }
    let out = Folder::new();
    let target = out.file("merged/");
    merge(folder.path(), &target, &[]);
    assert_eq!(
        names(&target),
        [
            "all-alloc-merged.pb.gz",
            "all-cpu-merged.pb.gz",
            "all-live-merged.pb.gz",
            "all-spans-merged.pb.gz"
        ]
    );
    let ask = |path: &Path| without_profiles(json(["spans".as_ref(), path.as_os_str()]));
    let merged = ask(&target);
    assert_eq!(merged, ask(folder.path()));
    assert_eq!(int(&merged["whole"]["kinds"]["alloc"]["value"]), 400);
    // What is in use is of a moment.
    assert_eq!(int(&merged["whole"]["kinds"]["live"]["value"]), 300);
    let traces: TracesData = read(&target.join("all-spans-merged.pb.gz"));
    assert_eq!(traces.resource_spans.len(), 1, "one resource");
    assert_eq!(traces.resource_spans[0].scope_spans.len(), 1);
    assert_eq!(traces_to_spans(&traces).spans.len(), 3);
    assert_eq!(left_out(&traces), 3);
    // A folder merged again is what it was.
    let again = out.file("again/");
    merge(&target, &again, &[]);
    assert_eq!(ask(&again), merged);
}

#[test]
fn into_one_file_goes_one_kind_and_the_others_are_said() {
    let folder = Folder::new();
    windows(&folder);
    alloc(&folder, "shop-1-alloc-0.pb.gz", Kind::Alloc, 0, 100);
    let elsewhere = Folder::new();
    let out = elsewhere.file("out.pb.gz");
    let path = |path: &Path| path.to_str().expect("a path").to_owned();
    let (input, output) = (path(folder.path()), path(&out));
    assert_eq!(
        failure(&run(["merge", &input, "-o", &output])),
        "vtprof: error: 2 kinds of profile, whose values have no sum (cpu, alloc): --kind names one, -o DIR/ writes a file for each"
    );
    assert!(!out.exists());
    merge(folder.path(), &out, &["--kind", "alloc"]);
    assert_eq!(int(&json(["top", &output])["whole"]["value"]), 100);
    assert_eq!(
        failure(&run(["merge", &input, "-o", &output, "--kind", "wall"])),
        "vtprof: error: no wall among the inputs, only 1 alloc profile, 3 cpu profiles"
    );
    // One kind and its spans is what a folder of the agent is.
    fs::remove_file(folder.file("shop-1-alloc-0.pb.gz")).expect("there");
    (0..3).for_each(|number| spans(&folder, number));
    let merged = run(["merge", &input, "-o", &output]);
    assert!(merged.status.success());
    assert_eq!(
        stderr(&merged),
        "vtprof: spans left out: one file holds one kind; -o DIR/ writes a file for each, --kind spans them alone\n"
    );
    assert_eq!(int(&json(["top", &output])["whole"]["samples"]), 54);
    merge(folder.path(), &out, &["--kind", "cpu"]);
    merge(folder.path(), &out, &["--kind", "spans"]);
    assert_eq!(traces_to_spans(&read(&out)).spans.len(), 3);
}

#[test]
fn labels_dropped_are_gone_and_what_differed_by_them_alone_is_one() {
    let folder = Folder::new();
    windows(&folder);
    let beside = Folder::new();
    let out = beside.file("out.profile");
    merge(
        folder.path(),
        &out,
        &[
            "--drop-labels",
            "span_id,trace_id,local_root_span_id",
            "--drop-labels",
            "thread",
        ],
    );
    assert_eq!(
        samples(&out),
        BTreeMap::from([
            ("f span_name=GET /a".into(), 30),
            ("f span_name=GET /b".into(), 15),
            ("g span_name=GET /a".into(), 3),
            ("gc".into(), 6)
        ])
    );
    let path = |path: &Path| path.to_str().expect("a path").to_owned();
    let output = run([
        "merge",
        &path(folder.path()),
        "-o",
        &path(&out),
        "--drop-labels",
        "thread,tread",
    ]);
    assert_eq!(
        stderr(&output),
        "vtprof: --drop-labels: no sample has a label 'tread'\n"
    );
}

#[test]
fn a_focus_is_on_the_tags_of_the_files_and_on_spans_as_on_samples() {
    let folder = Folder::new();
    windows(&folder);
    (0..3).for_each(|number| spans(&folder, number));
    let other = local_root("00000000000000dd", "GET /d", 1);
    write_spans(
        &spans_to_traces("other", [other]),
        &folder.file("other-2-spans-0.pb.gz"),
    );
    for (focus, expected_samples, expected_spans) in [
        (vec!["root=00000000000000aa"], 33, vec!["GET /a", "SELECT"]),
        (vec!["span=00000000000000aa"], 30, vec!["GET /a"]),
        (
            vec!["name=GET /a", "span=00000000000000cc"],
            3,
            vec!["SELECT"],
        ),
        (vec!["name=GET /b"], 15, vec!["GET /b"]),
        (
            vec![&format!("trace={TRACE}")[..]],
            48,
            vec!["GET /a", "GET /b", "GET /d", "SELECT"],
        ),
    ] {
        let out = Folder::new();
        let mut args: Vec<_> = focus.iter().flat_map(|focus| ["--focus", focus]).collect();
        args.extend(["--drop-labels", "trace_id"]);
        merge(folder.path(), out.path(), &args);
        let cpu = samples(&out.file("all-cpu-merged.pb.gz"));
        assert_eq!(cpu.values().sum::<i64>(), expected_samples, "{focus:?}");
        let list = traces_to_spans(&read(&out.file("all-spans-merged.pb.gz")));
        let mut names: Vec<_> = list.spans.iter().map(|span| span.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected_spans, "{focus:?}");
    }
    let beside = Folder::new();
    let out = beside.file("out.profile");
    let path = |path: &Path| path.to_str().expect("a path").to_owned();
    let output = run([
        "merge",
        &path(folder.path()),
        "-o",
        &path(&out),
        "--kind",
        "cpu",
        "--focus",
        "name=GET /nothing",
    ]);
    assert_eq!(
        stderr(&output),
        "vtprof: no sample matches the focus; `vtprof spans` lists names and ids\n"
    );
    assert!(samples(&out).is_empty());
}

#[test]
fn rolled_up_the_samples_of_child_spans_are_those_of_their_local_root() {
    let folder = Folder::new();
    windows(&folder);
    let beside = Folder::new();
    let out = beside.file("out.profile");
    merge(
        folder.path(),
        &out,
        &["--roll-up", "--drop-labels", "trace_id,thread,span_name"],
    );
    let tagged = |span: &str| format!("local_root_span_id={span} span_id={span}");
    assert_eq!(
        samples(&out),
        BTreeMap::from([
            (format!("f {}", tagged(A)), 30),
            (format!("f {}", tagged(B)), 15),
            (format!("g {}", tagged(A)), 3),
            ("gc".into(), 6)
        ])
    );
    // What is in focus is told before.
    let focus = format!("span={CHILD}");
    merge(folder.path(), &out, &["--roll-up", "--focus", &focus]);
    assert_eq!(samples(&out).values().sum::<i64>(), 3);
}

#[test]
fn an_input_can_be_the_output_and_is_whole_at_each_moment() {
    let folder = Folder::new();
    windows(&folder);
    let path = |number| folder.file(&format!("shop-1-cpu-{number}.pb.gz"));
    let [zero, one] = [0, 1].map(|number| path(number).into_os_string());
    let args = |out: &std::ffi::OsStr| {
        [
            "merge".as_ref(),
            zero.as_os_str(),
            one.as_os_str(),
            "-o".as_ref(),
            out,
        ]
        .map(|arg| arg.to_owned())
    };
    assert!(run(args(&zero)).status.success());
    assert_eq!(samples(&path(0)).values().sum::<i64>(), 36);
    // One that fails leaves it as it was, and no other file.
    let before = fs::read(path(0)).expect("there");
    fs::write(path(1), b"broken").expect("a temporary file");
    let error = failure(&run(args(&zero)));
    assert!(error.contains("shop-1-cpu-1.pb.gz: "), "{error}");
    assert_eq!(fs::read(path(0)).expect("there"), before);
    assert_eq!(
        names(folder.path()),
        [
            "shop-1-cpu-0.pb.gz",
            "shop-1-cpu-1.pb.gz",
            "shop-1-cpu-2.pb.gz"
        ]
    );
}

#[test]
fn a_folder_that_is_read_is_not_written_to() {
    let folder = Folder::new();
    windows(&folder);
    for out in [
        folder.path().to_owned(),
        folder.file("all.pb.gz"),
        folder.file("./"),
    ] {
        let args = [
            "merge".as_ref(),
            folder.path().as_os_str(),
            "-o".as_ref(),
            out.as_os_str(),
        ];
        let error = failure(&run(args));
        assert_eq!(
            error,
            format!(
                "vtprof: error: {}: this folder is read: whoever reads it again would count everything twice; write to another",
                folder.path().display()
            )
        );
    }
    assert_eq!(names(folder.path()).len(), 3);
    let missing = folder.file("nowhere/out.pb.gz");
    let args = [
        "merge".as_ref(),
        folder.path().as_os_str(),
        "-o".as_ref(),
        missing.as_os_str(),
    ];
    let error = failure(&run(args));
    assert!(
        error.ends_with(
            "nowhere/out.pb.gz: cannot write: No such file or directory (os error 2) at path"
        ) || error.contains("nowhere/out.pb.gz: cannot write: "),
        "{error}"
    );
}

#[test]
fn what_a_pattern_names_is_neither_overwritten_nor_written_beside() {
    let folder = Folder::new();
    windows(&folder);
    let [zero, one, two] = [0, 1, 2].map(|n| folder.file(&format!("shop-1-cpu-{n}.pb.gz")));
    let before = fs::read(&zero).expect("there");
    // `-o *.pb.gz`: the first of them is the output.
    let error = failure(&run([
        "merge".as_ref(),
        "-o".as_ref(),
        zero.as_os_str(),
        one.as_os_str(),
        two.as_os_str(),
    ]));
    assert!(error.contains("is none of it"), "{error}");
    assert_eq!(fs::read(&zero).expect("there"), before);
    // `*.pb.gz -o ./`
    let error = failure(&run([
        "merge".as_ref(),
        zero.as_os_str(),
        one.as_os_str(),
        "-o".as_ref(),
        folder.path().as_os_str(),
    ]));
    assert!(error.contains("this folder is read"), "{error}");
    assert_eq!(names(folder.path()).len(), 3);
}

#[test]
fn standard_output_and_plain_protobuf_are_written_too() {
    let folder = Folder::new();
    windows(&folder);
    let output = run([
        "merge".as_ref(),
        folder.path().as_os_str(),
        "-o".as_ref(),
        "-".as_ref(),
    ]);
    assert!(output.status.success());
    let piped: pprof::Profile = gzip::read(output.stdout.as_slice(), 1 << 20).expect("pprof");
    let plain = Folder::new();
    let out = plain.file("out.pb");
    merge(folder.path(), &out, &[]);
    let bytes = fs::read(&out).expect("written");
    assert_ne!(bytes[..2], [0x1f, 0x8b]);
    assert_eq!(read::<pprof::Profile>(&out), piped);
    assert_eq!(piped.sample.len(), 4);
    assert_eq!(piped.duration_nanos, 3 * support::WINDOW);
}

#[cfg(unix)]
#[test]
fn a_file_written_has_the_rights_of_the_one_it_replaces_or_those_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    windows(&folder);
    let beside = Folder::new();
    let fresh = beside.file("fresh");
    fs::write(&fresh, b"").expect("a temporary file");
    let mode = |path: &Path| {
        let metadata = fs::metadata(path).expect("there");
        metadata.permissions().mode() & 0o777
    };
    let out = beside.file("out.profile");
    merge(folder.path(), &out, &[]);
    assert_eq!(mode(&out), mode(&fresh));
    fs::set_permissions(&out, fs::Permissions::from_mode(0o640)).expect("its owner");
    let link = beside.file("link.profile");
    std::os::unix::fs::symlink(&out, &link).expect("a link");
    merge(folder.path(), &link, &["--drop-labels", "thread"]);
    assert_eq!(mode(&out), 0o640);
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
}
