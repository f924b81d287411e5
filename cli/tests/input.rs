//! What is read, and what a user hears when it cannot be.

mod support;

use std::fs;
use std::io::Read;
use std::process::Stdio;

use support::{
    CpuProfile, Folder, command, failure, int, json, local_root, run, run_with_input, stderr,
    stdout,
};
use vtprof_profile::Message;
use vtprof_profile::gzip;
use vtprof_profile::spans::spans_to_traces;

fn profile() -> vtprof_profile::pprof::Profile {
    CpuProfile::window(0).burn(1, &["a"], &[]).build()
}

#[test]
fn gzipped_and_plain_files_folders_and_standard_input_are_read() {
    let folder = Folder::new();
    support::write(&profile(), &folder.file("a.pb.gz"));
    fs::write(folder.file("b.pprof"), profile().encode_to_vec()).expect("a temporary file");
    fs::write(folder.file("notes.txt"), "not a profile").expect("a temporary file");
    fs::write(folder.file(".c.pb.gz"), "half a profile").expect("a temporary file");
    assert_eq!(
        int(&json(["top".as_ref(), folder.path().as_os_str()])["whole"]["samples"]),
        2
    );

    let piped = gzip::write_gz(&profile(), Vec::new()).expect("memory");
    let output = run_with_input(["top", "-"], &piped);
    assert!(
        stdout(&output).starts_with("cpu: 10.0 ms, 1 sample, 1 profile"),
        "{output:?}"
    );
}

#[test]
fn a_file_given_twice_is_counted_once() {
    let folder = Folder::new();
    let file = folder.file("a.pb.gz");
    support::write(&profile(), &file);
    let output = run([
        "top".as_ref(),
        folder.path().as_os_str(),
        file.as_os_str(),
        "--json".as_ref(),
    ]);
    assert!(
        stderr(&output).ends_with("a.pb.gz: given twice, read once\n"),
        "{output:?}"
    );
    let answer: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(int(&answer["whole"]["samples"]), 1);
}

#[test]
fn a_window_without_spans_is_no_error() {
    let folder = Folder::new();
    support::write(&profile(), &folder.file("shop-1-cpu-x.pb.gz"));
    support::write_spans(
        &spans_to_traces("shop", []),
        &folder.file("shop-1-spans-x.pb.gz"),
    );
    support::write_spans(&Default::default(), &folder.file("shop-1-spans-y.pb.gz"));
    let answer = json(["spans".as_ref(), folder.path().as_os_str()]);
    assert_eq!(
        (int(&answer["profiles"]), int(&answer["spans_read"])),
        (1, 0)
    );
}

#[test]
fn each_unreadable_input_is_one_line_with_its_name_and_reason() {
    let folder = Folder::new();
    let gzipped = gzip::write_gz(&profile(), Vec::new()).expect("memory");
    let plain = profile().encode_to_vec();
    let mut spans =
        spans_to_traces("shop", [support::local_root("00000000000000aa", "a", 1)]).encode_to_vec();
    let at = spans.len() - 3;
    spans[at] = 0xff;
    for (name, bytes, reason) in [
        ("empty.pb", &b""[..], "the file is empty"),
        ("shop-1-cpu-x.pb.gz", b"", "the file is empty"),
        ("shop-1-spans-x.pb.gz", b"", "the file is empty"),
        (
            "zeroed.pb.gz",
            &[0; 100],
            "field at byte 0: field number 0: not protobuf",
        ),
        (
            "text.pb",
            b"hello, world",
            "field at byte 2: wire type 4: not a protobuf this reader knows",
        ),
        (
            "trace.json",
            b"{\"data\":[]}",
            "JSON, but neither OTLP traces or profiles nor speedscope",
        ),
        (
            "cut.pb.gz",
            &gzipped[..gzipped.len() - 20],
            "broken gzip stream after",
        ),
        (
            "cut-spans-.pb.gz",
            &gzipped[..12],
            "broken gzip stream after 0 decompressed bytes: ",
        ),
        ("cut.pb", &plain[..plain.len() - 1], "cut short: "),
        (
            "broken-spans-.pb",
            &spans,
            "looks like OTLP spans, but is not: ",
        ),
    ] {
        let file = folder.file(name);
        fs::write(&file, bytes).expect("a temporary file");
        let error = failure(&run(["spans".as_ref(), file.as_os_str()]));
        let start = format!("vtprof: error: {}: ", file.display());
        assert!(
            error.starts_with(&start) && error.contains(reason),
            "{name}: {error}"
        );
    }
    let missing = folder.file("missing.pb.gz");
    let error = failure(&run(["top".as_ref(), missing.as_os_str()]));
    assert_eq!(
        error,
        format!(
            "vtprof: error: {}: cannot open: No such file or directory (os error 2)",
            missing.display()
        )
    );
    assert_eq!(
        failure(&run_with_input(["top", "-"], b"")),
        "vtprof: error: standard input: the file is empty"
    );
}

#[test]
fn a_folder_without_profiles_says_what_was_looked_for() {
    let folder = Folder::new();
    let error = failure(&run(["top".as_ref(), folder.path().as_os_str()]));
    assert!(
        error.ends_with(
            "no profiles in this folder (looked for *.pb, *.pprof, *.otlp, *.binpb, *.json, *.jsonl, *.collapsed, *.folded, *.collapsed.txt, *.folded.txt, and each with .gz)"
        ),
        "{error}"
    );
}

#[test]
fn a_folder_is_read_whatever_the_formats_in_it_and_what_is_not_read_is_said_once() {
    let folder = Folder::new();
    let one = Folder::new();
    support::write(&profile(), &one.file("a.pb.gz"));
    let mut files = 0;
    for name in [
        "a.pb",
        "b.pprof.gz",
        "c.otlp",
        "d.otlp.json",
        "e.otlp.jsonl.gz",
        "f.otlp.pb.gz",
        "g.otlp.binpb",
    ] {
        let (from, to) = (one.file("a.pb.gz"), folder.file(name));
        let output = run([
            "convert".as_ref(),
            from.as_os_str(),
            "-o".as_ref(),
            to.as_os_str(),
        ]);
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        files += 1;
        let answer = json(["top".as_ref(), folder.path().as_os_str()]);
        assert_eq!(int(&answer["profiles"]), files, "{name}");
        assert_eq!(int(&answer["whole"]["samples"]), files, "{name}");
    }
    let root = local_root("00000000000000aa", "GET /a", 20);
    let traces = spans_to_traces("shop", [root]);
    let text = serde_json::to_string(&traces).expect("JSON");
    fs::write(folder.file("traces.json"), text).expect("a file");
    let answer = json(["spans".as_ref(), folder.path().as_os_str()]);
    assert_eq!(int(&answer["spans_read"]), 1);

    for (name, text) in [
        ("package.json", "{\"name\": \"shop\"}"),
        ("list.json", "[1, 2]"),
        (
            "log.jsonl",
            "{\"level\": \"info\"}\n{\"level\": \"warn\"}\n",
        ),
        ("notes.md", "#"),
        ("app.log", "x"),
        ("cpu.speedscope.json", "{}"),
        ("page.html", "<"),
        ("cpu.svg", "<"),
        (".hidden", "x"),
    ] {
        fs::write(folder.file(name), text).expect("a file");
    }
    let output = run(["top".as_ref(), folder.path().as_os_str()]);
    assert!(output.status.success(), "{output:?}");
    let path = folder.path().display();
    assert_eq!(
        stderr(&output),
        format!(
            "vtprof: {path}: 3 other files not read, e.g. app.log\nvtprof: 3 files of JSON that is neither OTLP nor speedscope not read, e.g. {path}/list.json\n"
        )
    );
    for (name, text) in [
        ("empty.json", ""),
        (
            "tsconfig.json",
            "{ // as the editor has it\n \"$schema\": \"https://json.schemastore.org/tsconfig\",}",
        ),
        ("console.jsonl", "{\"level\": \"info\"}\nStarted.\n"),
        ("shared.json", "{\"shared\": true}"),
    ] {
        fs::write(folder.file(name), text).expect("a file");
    }
    let output = run(["top".as_ref(), folder.path().as_os_str()]);
    assert!(output.status.success(), "{output:?}");
    let line = "vtprof: 7 files of JSON that is neither OTLP nor speedscope not read, e.g. ";
    assert!(stderr(&output).contains(line), "{output:?}");
    // What was cut short is no file of something else.
    fs::write(folder.file("cut.json"), "{\"resourceSpans\": [").expect("a file");
    let output = run(["spans".as_ref(), folder.path().as_os_str()]);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("cut.json: not the JSON of OTLP"), "{error}");
}

#[test]
fn stacks_as_lines_are_read_from_a_folder() {
    let folder = Folder::new();
    for name in ["a.collapsed", "b.folded", "c.folded.txt"] {
        fs::write(folder.file(name), "main;f 3\nmain;g 1\n").expect("a file");
    }
    let answer = json(["top".as_ref(), folder.path().as_os_str()]);
    assert_eq!(int(&answer["whole"]["value"]), 12);
    let out = folder.file("sum.collapsed");
    let args = ["flame".as_ref(), folder.path().as_os_str(), "-o".as_ref()];
    let output = run(args.into_iter().chain([out.as_os_str()]));
    // It would be read the next time.
    assert!(
        stderr(&output).contains("this folder is read"),
        "{output:?}"
    );
}

#[test]
fn a_bomb_stops_at_the_limit_which_can_be_raised() {
    let folder = Folder::new();
    let file = folder.file("bomb.pb.gz");
    let mut big = profile();
    big.string_table.push(vec![b'x'; 3 << 20]);
    support::write(&big, &file);
    let error = failure(&run([
        "top".as_ref(),
        file.as_os_str(),
        "--max-mib".as_ref(),
        "2".as_ref(),
    ]));
    assert!(
        error
            .ends_with("bomb.pb.gz: more than 2 MiB when decompressed; --max-mib raises the limit"),
        "{error}"
    );
    let read = json([
        "top".as_ref(),
        file.as_os_str(),
        "--max-mib".as_ref(),
        "4".as_ref(),
    ]);
    assert_eq!(int(&read["whole"]["samples"]), 1);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let folder = Folder::new();
    let file = folder.file("many.pb.gz");
    let mut many = CpuProfile::window(0);
    for i in 0..20_000 {
        many = many.burn(1, &[format!("function_{i}").as_str()], &[]);
    }
    many.write(&file);
    for json in [false, true] {
        let mut command = command();
        command
            .arg("top")
            .arg(&file)
            .args(["--limit", "0"])
            .args(json.then_some("--json"));
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("vtprof starts");
        let mut first = [0; 1];
        let mut pipe = child.stdout.take().expect("piped");
        pipe.read_exact(&mut first).expect("some output");
        drop(pipe);
        let output = child.wait_with_output().expect("vtprof ends");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(stderr(&output), "");
    }
}
