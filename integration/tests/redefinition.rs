//! A class that is redefined under load: each frame is named, and its line is of the version that ran.

use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;

const METHOD: &str = "io.vtprof.truth.VersionA.work";
/// Versions, by what the method calls, and their lines.
const VERSIONS: [(&str, std::ops::RangeInclusive<i64>); 2] = [
    ("io.vtprof.truth.Redefine.burnA", 7..=14),
    ("io.vtprof.truth.Redefine.burnB", 105..=118),
];
/// Names of a frame of an old version, which has no id.
const UNNAMED: [&str; 2] = ["[unknown method]", "[unloaded method]"];

#[derive(Debug, Default)]
struct Tally {
    right: u64,
    line_unknown: u64,
    unnamed: u64,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, callee: &str, name: &str, line: i64, count: u64) {
        let Some((_, lines)) = VERSIONS.iter().find(|(version, _)| *version == callee) else {
            return;
        };
        if name == METHOD && lines.contains(&line) {
            self.right += count;
        } else if name == METHOD && line == 0 {
            self.line_unknown += count;
        } else if UNNAMED.contains(&name) {
            self.unnamed += count;
        } else {
            self.wrong.push(format!("{callee} < {name}:{line}"));
        }
    }
}

fn run(feature: u32, between_ms: u32) -> Option<Tally> {
    let jdk = jdk::of_feature(feature, "redefinition")?;
    let _machine = Machine::turn();
    let dir = WorkDir::new("redefinition").expect("a folder");
    let program = artifacts::truth_program().expect("the program");
    let launch = Launch::new(&jdk)
        .agent("stress=1000hz,out=out,every=3s,service=redefinition")
        .expect("the agent")
        .flag(format!("-javaagent:{}", program.display()))
        // Inlined, they could be named for each other (AsyncGetCallTrace, at the leaf).
        .flag("-XX:CompileCommand=quiet")
        .flag("-XX:CompileCommand=dontinline,io.vtprof.truth.Redefine::burn*")
        .jar(&program)
        .program([
            "io.vtprof.truth.Redefine".to_owned(),
            "8".to_owned(),
            between_ms.to_string(),
        ]);
    let finished = Running::start(&launch, dir.path(), Duration::from_secs(120))
        .and_then(Running::wait)
        .and_then(Finished::success)
        .unwrap_or_else(|error| panic!("{feature}: {error:#}"));
    let recording = Recording::read(&dir.path().join("out")).expect("profiles");
    let mut tally = Tally::default();
    for sample in &recording.samples {
        for at in 1..sample.frames.len() {
            tally.add(
                &sample.frames[at - 1],
                &sample.frames[at],
                sample.lines[at],
                sample.count,
            );
        }
    }
    say(&format!(
        "redefinition each {between_ms} ms on {}: {} lines right, {} unknown, {} frames unnamed, {} wrong; {}",
        jdk.version,
        tally.right,
        tally.line_unknown,
        tally.unnamed,
        tally.wrong.len(),
        finished.stdout.trim()
    ));
    let shown = &tally.wrong[..tally.wrong.len().min(5)];
    assert!(tally.wrong.is_empty(), "{feature}: {shown:#?}");
    // Each of them is counted.
    assert!(recording.counter("names.unresolved") >= Some(tally.unnamed));
    Some(tally)
}

#[test]
fn lines_are_of_the_version_that_ran() {
    for feature in [17, 21, 25] {
        if let Some(tally) = run(feature, 100) {
            let all = tally.right + tally.line_unknown + tally.unnamed;
            assert!(tally.right * 10 > all * 7, "{feature}: {tally:?}");
        }
    }
}

#[test]
fn a_jvm_survives_a_storm_of_redefinitions() {
    for feature in [17, 21, 25] {
        if let Some(tally) = run(feature, 2) {
            let all = tally.right + tally.line_unknown + tally.unnamed;
            assert!(all > 100, "{feature}: {tally:?}");
        }
    }
}
