//! Files that commands write: none is made of itself, and none is lost.

mod support;

use std::fs;
use std::path::Path;

use support::{CpuProfile, Folder, failure, run};

/// Profiles of one sample each.
fn profiles(folder: &Folder, names: &[&str]) {
    for name in names {
        CpuProfile::window(0)
            .burn(3, &["f", "main"], &[])
            .write(&folder.file(name));
    }
}

fn path(folder: &Folder, name: &str) -> String {
    folder.file(name).to_str().expect("a path").to_owned()
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    fs::read(folder.file(name)).expect("there")
}

fn files(folder: &Path) -> usize {
    folder.read_dir().expect("a folder").count()
}

#[test]
fn nothing_is_converted_or_drawn_into_what_it_is_made_of() {
    let folder = Folder::new();
    profiles(&folder, &["x", "x.pb.gz", "y.pb.gz"]);
    std::os::unix::fs::symlink(folder.file("x"), folder.file("link")).expect("a link");
    let [x, gz, y, link] = ["x", "x.pb.gz", "y.pb.gz", "link"].map(|name| path(&folder, name));
    let before = ["x", "x.pb.gz", "y.pb.gz"].map(|name| bytes(&folder, name));
    for args in [
        &["flame", &x, "-o", &x][..],
        &["flame", &x, "--format", "svg", "-o", &link],
        &["flame", &y, "--base", &x, "-o", &x],
        &["convert", &x, "-o", &x, "--to", "collapsed"],
        &["convert", &y, &x, "-o", &link, "--to", "otlp"],
        &["convert", &gz, "-o", &gz, "--to", "speedscope"],
    ] {
        let error = failure(&run(args));
        assert!(
            error.contains(": is read: what is written would take its place; name another file"),
            "{args:?}: {error}"
        );
    }
    let after = ["x", "x.pb.gz", "y.pb.gz"].map(|name| bytes(&folder, name));
    assert!(before == after);
    assert_eq!(files(folder.path()), 4);
}

#[test]
fn a_merge_can_be_run_again_unless_its_output_may_be_the_first_that_a_pattern_names() {
    let folder = Folder::new();
    profiles(&folder, &["a.pb.gz", "b.pb.gz", "c.pb.gz"]);
    let [a, b, c, sum] =
        ["a.pb.gz", "b.pb.gz", "c.pb.gz", "sum.pb.gz"].map(|name| path(&folder, name));
    for args in [
        &["merge", &a, &b, &c, "-o", &sum][..],
        &["merge", "-o", &sum, &a, &b, &c],
        &["merge", &b, &c, "-o", &a],
        &["merge", "--output", &a, "--kind", "cpu", &b, &c],
    ] {
        for turn in 0..2 {
            let output = run(args);
            assert!(output.status.success(), "{turn} {args:?}: {output:?}");
        }
    }
    let before = bytes(&folder, "a.pb.gz");
    for option in ["-o", "--output"] {
        let error = failure(&run(["merge", option, &a, &b, &c]));
        assert!(
            error.ends_with("(a pattern behind -o?): put -o last, or remove it"),
            "{error}"
        );
    }
    assert_eq!(bytes(&folder, "a.pb.gz"), before);
}

#[test]
fn a_folder_that_is_missing_is_named_and_no_other_name_is() {
    let folder = Folder::new();
    profiles(&folder, &["a.pb.gz"]);
    let a = path(&folder, "a.pb.gz");
    let out = path(&folder, "nowhere/x.pb");
    for args in [
        &["merge", &a, "-o", &out][..],
        &["convert", &a, "-o", &out],
        &["flame", &a, "-o", &out],
    ] {
        assert_eq!(
            failure(&run(args)),
            format!(
                "vtprof: error: {out}: cannot write: there is no folder {}",
                path(&folder, "nowhere")
            )
        );
    }
    assert_eq!(
        failure(&run(["merge", &a, "-o", "/proc/x.pb"])),
        "vtprof: error: /proc/x.pb: cannot write: entity not found"
    );
}
