//! `-Xcheck:jni` finds nothing of ours: no warning that is not there without the agent.

use std::collections::BTreeSet;
use std::time::Duration;

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::workdir::WorkDir;

/// What is ours in a stack trace.
const OURS: [&str; 2] = ["at io.vtprof.otel.", "libvtprof"];

/// The JVM's lines; the agent's own words are none.
fn lines(finished: &Finished) -> impl Iterator<Item = &str> {
    finished
        .stdout
        .lines()
        .chain(finished.stderr.lines())
        .filter(|line| !line.starts_with("vtprof: "))
}

/// The kinds of its warnings: without how long it had run and how much of something there was.
fn warnings(finished: &Finished) -> BTreeSet<String> {
    lines(finished)
        .filter(|line| {
            let lower = line.to_lowercase();
            lower.contains("warning") || lower.contains("fatal error in native method")
        })
        .map(|line| line.replace(|c: char| c.is_ascii_digit(), ""))
        .collect()
}

#[test]
fn the_jvms_own_check_of_native_code_has_nothing_to_say() {
    for jdk in jdk::each("check_jni") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("check").expect("a folder");
        let run = |launch: Launch| {
            let launch = launch
                .flag("-Xcheck:jni")
                .truth_program(["mix", "--seconds=2", "--log=truth.log"])
                .expect("the program");
            Running::start(&launch, dir.path(), Duration::from_secs(120))
                .and_then(Running::wait)
                .and_then(Finished::success)
                .expect("a run")
        };
        // Twice: which warnings the JDK's own code gets is chance.
        let mut without = warnings(&run(Launch::new(&jdk)));
        without.extend(warnings(&run(Launch::new(&jdk))));
        let finished = run(Launch::new(&jdk)
            .agent("cpu=1000hz,alloc=64k,live=1k,blocked=1ms,out=out,every=1s,service=truth")
            .expect("the agent"));
        let named: Vec<&str> = lines(&finished)
            .filter(|line| OURS.iter().any(|name| line.contains(name)))
            .collect();
        assert!(named.is_empty(), "on {}: {named:#?}", jdk.version);
        let ours: Vec<String> = warnings(&finished).difference(&without).cloned().collect();
        assert!(ours.is_empty(), "on {}: {ours:#?}", jdk.version);
        assert!(
            std::fs::read_dir(dir.path().join("out")).is_ok(),
            "nothing was profiled"
        );
    }
}
