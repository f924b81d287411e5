//! An unknown key, a bad value or a folder that cannot be written: one line on stderr names it, and
//! the application runs on as if nothing had been there.

use std::time::Duration;

use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::workdir::WorkDir;

/// Options, and what the line must name.
const FAULTS: [(&str, &[&str]); 18] = [
    ("bogus=1", &["bogus"]),
    ("bogus", &["bogus"]),
    ("cpu", &["cpu"]),
    ("cpu=fast", &["cpu", "fast"]),
    ("cpu=0hz", &["cpu", "0hz"]),
    ("cpu=1001hz", &["cpu", "1001hz"]),
    ("every=soon", &["every", "soon"]),
    ("every=0s", &["every", "0s"]),
    ("flush=0s", &["flush", "0s"]),
    ("context=guess", &["context", "guess"]),
    ("contexts=0", &["contexts", "0"]),
    ("contexts=many", &["contexts", "many"]),
    ("keep=all", &["keep", "all"]),
    ("log=loud", &["log", "loud"]),
    ("service=", &["service"]),
    ("config=missing.toml", &["missing.toml"]),
    ("out=/proc/vtprof", &["/proc/vtprof"]),
    ("out=file/below", &["file/below"]),
];

fn hello(jdk: &Jdk, options: &str, environment: Option<&str>) -> Finished {
    let dir = WorkDir::new("options").expect("a folder");
    std::fs::write(dir.path().join("file"), "no folder").expect("a file");
    // Full, the folder of the JVM's own figures would make it speak, too.
    let mut launch = Launch::new(jdk)
        .flag("-XX:-UsePerfData")
        .agent(options)
        .expect("the agent");
    if let Some(value) = environment {
        launch = launch.env("VTPROF_OPTS", value);
    }
    let launch = launch
        .truth_program(["hello", "--exit=7"])
        .expect("the program");
    Running::start(&launch, dir.path(), Duration::from_secs(60))
        .and_then(Running::wait)
        .expect("a run")
}

fn assert_runs_on_unprofiled(jdk: &Jdk, what: &str, finished: &Finished, parts: &[&str]) {
    let at = format!("{what} on {}: {finished:#?}", jdk.version);
    assert_eq!(finished.stdout, "hello\n", "{at}");
    assert_eq!(finished.status.code(), Some(7), "{at}");
    let lines: Vec<&str> = finished.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{at}");
    assert!(lines[0].starts_with("vtprof: "), "{at}");
    for part in parts {
        assert!(lines[0].contains(part), "no {part}: {at}");
    }
}

#[test]
fn a_fault_in_the_options_is_one_line_and_the_application_runs_on() {
    for jdk in jdk::newest("option_errors") {
        let _machine = Machine::turn();
        for (options, parts) in FAULTS {
            let finished = hello(&jdk, options, None);
            assert_runs_on_unprofiled(&jdk, options, &finished, parts);
        }
        let finished = hello(&jdk, "", Some("cpu=fast"));
        assert_runs_on_unprofiled(
            &jdk,
            "VTPROF_OPTS",
            &finished,
            &["VTPROF_OPTS", "cpu", "fast"],
        );
    }
}
