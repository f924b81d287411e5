//! Collapsed stacks of others, and text that is none.

mod support;

use std::fs;

use support::{Folder, failure, int, json, run, run_with_input};

fn path(folder: &Folder, name: &str) -> String {
    folder.file(name).to_str().expect("a path").to_owned()
}

#[test]
fn what_async_profiler_writes_is_read() {
    let folder = Folder::new();
    let text = "\
[main tid=41];java/lang/Thread.run_[j];Shop.serve_[j];java/util/HashMap.get_[i] 12\r
[main tid=41];java/lang/Thread.run_[0];Shop.serve_[1] 3\r
[GC_active];[unknown];entry_SYSCALL_64_after_hwframe_[k] 5\r
Shop.lambda$serve$0 with blanks 1\r
";
    fs::write(folder.file("a.collapsed"), text).expect("a temporary file");
    let answer = json(["top", &path(&folder, "a.collapsed"), "--sort", "total"]);
    assert_eq!(int(&answer["whole"]["samples"]), 21);
    let rows = answer["rows"].as_array().expect("rows");
    let total = |name: &str| {
        let row = rows.iter().find(|row| row["name"] == name);
        int(&row.unwrap_or_else(|| panic!("{name} in {rows:?}"))["total"]["value"])
    };
    assert_eq!(total("java/lang/Thread.run"), 15);
    assert_eq!(total("java/util/HashMap.get"), 12);
    assert_eq!(total("entry_SYSCALL_64_after_hwframe"), 5);
    assert_eq!(total("Shop.lambda$serve$0 with blanks"), 1);
    let piped = run_with_input(
        [
            "convert",
            "-",
            "--from",
            "collapsed",
            "-o",
            "-",
            "--to",
            "collapsed",
        ],
        text.as_bytes(),
    );
    assert!(piped.status.success(), "{piped:?}");
    let piped = String::from_utf8(piped.stdout).expect("UTF-8");
    assert!(
        piped.starts_with(
            "[main tid=41];java/lang/Thread.run;Shop.serve;java/util/HashMap.get 12\n"
        ),
        "{piped}"
    );
}

#[test]
fn numbers_that_cannot_be_samples_are_none_and_have_no_error() {
    let folder = Folder::new();
    for (text, samples) in [
        ("a;b 60000000000\na 240000000000\n", None),
        ("a;b 100000\na 0\n", None),
        ("a;b 99999\na 240000000000\n", Some(240_000_099_999)),
        ("step 3 12\na 9\n", Some(21)),
        ("main;step 3 12\nmain;step 4 9\n", Some(21)),
    ] {
        fs::write(folder.file("a.folded"), text).expect("a temporary file");
        let answer = json(["top", &path(&folder, "a.folded")]);
        let whole = &answer["whole"];
        assert_eq!(whole["samples"].as_i64(), samples, "{text}");
        assert_eq!(whole["relative_error"].is_null(), samples.is_none());
        let kind = samples.map_or("values", |_| "samples");
        assert_eq!(answer["measure"]["kind"], kind, "{text}");
    }
}

#[test]
fn lines_that_are_no_stacks_are_refused_with_their_number() {
    let folder = Folder::new();
    for (text, reason) in [
        (
            "a;b 1\na;b x\n",
            "line 2: no whole number at its end: not collapsed stacks",
        ),
        (
            "a;b\n",
            "line 1: no whole number at its end: not collapsed stacks",
        ),
        (
            "a 99999999999999999999\n",
            "line 1: no whole number at its end: not collapsed stacks",
        ),
        ("\n\n", "no stack in it"),
        (
            "a;b 3 12\n\na 0 9\n",
            "two numbers on each line: the difference of two profiles, which has no one sum; give those it was made of, or, where the first is a part of a name, convert it with --value-type samples/count",
        ),
    ] {
        fs::write(folder.file("a.folded"), text).expect("a temporary file");
        let file = path(&folder, "a.folded");
        let error = failure(&run(["top", &file]));
        assert_eq!(error, format!("vtprof: error: {file}: {reason}"));
    }
    // Without a name or an option it is no text of any kind.
    fs::write(folder.file("a.txt"), "a;b 1\n").expect("a temporary file");
    assert!(!run(["top", &path(&folder, "a.txt")]).status.success());
    let converted = run([
        "convert",
        &path(&folder, "a.txt"),
        "--from",
        "collapsed",
        "-o",
        &path(&folder, "a.pb.gz"),
    ]);
    assert!(converted.status.success(), "{converted:?}");
}

#[test]
fn what_is_told_of_numbers_stands_whatever_they_are() {
    let folder = Folder::new();
    let out = path(&folder, "out.pb.gz");
    for (text, samples) in [("a 100000\n", 100_000), ("a;step 3 12\n", 12)] {
        fs::write(folder.file("a.folded"), text).expect("a temporary file");
        let file = path(&folder, "a.folded");
        let args = ["convert", &file, "-o", &out];
        let converted = run(args.iter().chain(&["--value-type", "samples/count"]));
        assert!(converted.status.success(), "{converted:?}");
        let answer = json(["top", &out]);
        assert_eq!(int(&answer["whole"]["samples"]), samples, "{text}");
        fs::remove_file(&out).expect("it is there");
    }
}

#[test]
fn files_of_small_and_large_numbers_are_not_added_and_the_line_says_what_decides() {
    let folder = Folder::new();
    fs::write(folder.file("a.folded"), "a 3\n").expect("a temporary file");
    fs::write(folder.file("b.folded"), "a 100000\n").expect("a temporary file");
    let error = failure(&run(["top".as_ref(), folder.path().as_os_str()]));
    assert!(
        error.contains(
            "no sample type samples/count, which the files before have; it has values/count: "
        ) && error.contains("100,000 or more")
            && error.contains("convert --value-type"),
        "{error}"
    );
}
