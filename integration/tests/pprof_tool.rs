//! `go tool pprof` takes the files: `-top`, `-raw`, and `-tagfocus` on one span.

use std::path::{Path, PathBuf};
use std::process::Command;

use vtprof_integration::jdk;
use vtprof_integration::report::say;
use vtprof_integration::sums::by_span;
use vtprof_integration::truth_run::{Strategy, TruthRun};

/// The Go command: on the path, or where its own installer puts it.
fn go() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join("go"))
        .chain([PathBuf::from("/usr/local/go/bin/go")])
        .find(|go| go.is_file())
}

fn pprof(go: &Path, arguments: &[&str], file: &Path) -> String {
    let output = Command::new(go)
        .args(["tool", "pprof"])
        .args(arguments)
        .arg(file)
        .output()
        .expect("go runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn go_tool_pprof_accepts_a_profile_and_finds_one_span_in_it() {
    let Some(go) = go() else {
        say("SKIPPED pprof_tool: no Go here");
        return;
    };
    let jdk = jdk::each("pprof_tool").pop().expect("a JDK");
    let run = TruthRun::new(&jdk, "two-carriers", Strategy::Auto)
        .seconds(3)
        .every("24h")
        .run()
        .expect("a run");
    // One window, however long a slow machine takes, so that each span is in it.
    let [window] = &run.recording.windows[..] else {
        panic!("{} windows", run.recording.windows.len());
    };
    let file = window.path.clone();

    let top = pprof(&go, &["-top"], &file);
    assert!(top.contains("Type: cpu"), "{top}");
    assert!(top.contains("io.vtprof.truth.burn.Root00.burn"), "{top}");
    let raw = pprof(&go, &["-raw"], &file);
    assert!(raw.contains("PeriodType: cpu nanoseconds"), "{raw}");

    let sums = by_span(&run.recording);
    let x = run
        .log
        .spans
        .values()
        .find(|span| span.name == "X")
        .expect("an X");
    let focus = format!("-tagfocus=span_id={}", x.span);
    let focused = pprof(&go, &["-top", "-unit=ns", &focus], &file);
    assert!(
        focused.contains("io.vtprof.truth.burn.Root00.burn"),
        "{focused}"
    );
    let others = (1..64).any(|i| focused.contains(&format!("burn.Root{i:02}.")));
    assert!(!others, "another request under X's span: {focused}");
    assert!(sums[&x.span].count > 0);
}
