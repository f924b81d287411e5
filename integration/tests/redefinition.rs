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
/// What a quiet machine does in some 8 s.
const STORM: u64 = 1_500;
/// Names of a frame of an old version, which has no id.
const UNNAMED: [&str; 2] = ["[unknown method]", "[unloaded method]"];

/// How often a class is redefined, and under which signals.
struct Pace {
    sampling: &'static str,
    redefinitions: u64,
    /// CPU time that the class burns at least, ms.
    cpu_ms: u64,
    /// At least so long between two, ms, and so many times as long as one takes.
    between_ms: u64,
    times: u64,
}

#[derive(Debug, Default)]
struct Tally {
    /// By version.
    right: [u64; 2],
    line_unknown: u64,
    unnamed: u64,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, callee: &str, name: &str, line: i64, count: u64) {
        let Some(version) = VERSIONS.iter().position(|(version, _)| *version == callee) else {
            return;
        };
        if name == METHOD && VERSIONS[version].1.contains(&line) {
            self.right[version] += count;
        } else if name == METHOD && line == 0 {
            self.line_unknown += count;
        } else if UNNAMED.contains(&name) {
            self.unnamed += count;
        } else {
            self.wrong.push(format!("{callee} < {name}:{line}"));
        }
    }

    fn all_right(&self) -> u64 {
        self.right.iter().sum()
    }

    fn all(&self) -> u64 {
        self.all_right() + self.line_unknown + self.unnamed
    }
}

fn run(feature: u32, pace: &Pace) -> Option<Tally> {
    let jdk = jdk::of_feature(feature, "redefinition")?;
    let _machine = Machine::turn();
    let dir = WorkDir::new("redefinition").expect("a folder");
    let program = artifacts::truth_program().expect("the program");
    let launch = Launch::new(&jdk)
        .agent(&format!("{},out=out,service=redefinition", pace.sampling))
        .expect("the agent")
        .flag(format!("-javaagent:{}", program.display()))
        // Inlined, they could be named for each other (AsyncGetCallTrace, at the leaf).
        .flag("-XX:CompileCommand=quiet")
        .flag("-XX:CompileCommand=dontinline,io.vtprof.truth.Redefine::burn*")
        .jar(&program)
        .program([
            "io.vtprof.truth.Redefine".to_owned(),
            pace.redefinitions.to_string(),
            pace.cpu_ms.to_string(),
            pace.between_ms.to_string(),
            pace.times.to_string(),
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
        "{} redefinitions on {}, {} ms of CPU: {:?} lines right, {} unknown, {} frames unnamed, {} wrong",
        finished.figure("redefinitions"),
        jdk.version,
        finished.figure("worker_ns") / 1_000_000,
        tally.right,
        tally.line_unknown,
        tally.unnamed,
        tally.wrong.len()
    ));
    let shown = &tally.wrong[..tally.wrong.len().min(5)];
    assert!(tally.wrong.is_empty(), "{feature}: {shown:#?}");
    // Each of them is counted.
    assert!(recording.counter("names.unresolved") >= Some(tally.unnamed));
    Some(tally)
}

#[test]
fn lines_are_of_the_version_that_ran() {
    let pace = Pace {
        sampling: "cpu=1000hz,every=60s",
        redefinitions: 20,
        cpu_ms: 2_000,
        between_ms: 400,
        times: 10,
    };
    for feature in [17, 21, 25] {
        if let Some(tally) = run(feature, &pace) {
            assert!(
                tally.all_right() * 10 > tally.all() * 7,
                "{feature}: {tally:?}"
            );
            assert!(
                tally.right.iter().all(|right| *right >= 50),
                "{feature}: {tally:?}"
            );
        }
    }
}

#[test]
fn a_jvm_survives_a_storm_of_redefinitions() {
    let pace = Pace {
        sampling: "stress=1000hz,every=3s",
        redefinitions: STORM,
        cpu_ms: 1_000,
        between_ms: 2,
        times: 0,
    };
    for feature in [17, 21, 25] {
        if let Some(tally) = run(feature, &pace) {
            assert!(tally.all() > 100, "{feature}: {tally:?}");
        }
    }
}
