//! async-profiler in the same JVM: by whichever engine it samples and whichever comes first, both see their samples
//! and ours are right. On one signal for both, ours hands on what is not its own, and says when it is displaced.

use std::path::Path;
use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::truth::TruthLog;
use vtprof_integration::verdict::Verdict;
use vtprof_integration::workdir::WorkDir;

struct Both {
    finished: Finished,
    recording: Recording,
    verdict: Verdict,
    /// Samples of async-profiler.
    theirs: u64,
}

/// Sum of a file of collapsed stacks: `frame;frame count` a line.
fn collapsed(file: &Path) -> u64 {
    let text = std::fs::read_to_string(file).expect("async-profiler's file");
    text.lines()
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

fn run(jdk: &Jdk, event: &str, we_come_first: bool, options: &str) -> Both {
    let dir = WorkDir::new("beside").expect("a folder");
    let agent = format!("cpu=1000hz,out=out,every=60s,service=truth,log=info{options}");
    let other = format!(
        "-agentpath:{}=start,event={event},interval=5ms,collapsed,file=other.txt",
        artifacts::async_profiler()
            .expect("async-profiler")
            .display()
    );
    let launch = Launch::new(jdk);
    let launch = if we_come_first {
        launch.agent(&agent).expect("the agent").flag(other)
    } else {
        launch.flag(other).agent(&agent).expect("the agent")
    };
    let launch = launch
        .truth_program(["mix", "--seconds=4", "--threads=8", "--log=truth.log"])
        .expect("the program");
    let finished = Running::start(&launch, dir.path(), Duration::from_secs(180))
        .and_then(Running::wait)
        .and_then(Finished::success)
        .expect("a run");
    let log = TruthLog::read(&dir.path().join("truth.log")).expect("the truth");
    let recording = Recording::read(&dir.path().join("out")).expect("profiles");
    let verdict = Verdict::of(&recording, &log);
    let theirs = collapsed(&dir.path().join("other.txt"));
    let order = if we_come_first {
        "after us"
    } else {
        "before us"
    };
    say(&format!(
        "async-profiler, {event}, {order}{options}, on {}: {theirs} samples, {} foreign signals, ours: {verdict}",
        jdk.version,
        recording.counter("signals.foreign").unwrap_or(0)
    ));
    verdict.assert_no_wrong_tag();
    Both {
        finished,
        recording,
        verdict,
        theirs,
    }
}

#[test]
fn async_profiler_and_the_agent_both_sample_by_each_engine_and_in_each_order() {
    let _machine = Machine::turn();
    for (feature, event, we_come_first) in [
        (25, "itimer", true),
        (25, "ctimer", false),
        (25, "wall", true),
        (21, "ctimer", true),
        (17, "itimer", false),
    ] {
        let Some(jdk) = jdk::of_feature(feature, "async_profiler") else {
            continue;
        };
        let both = run(&jdk, event, we_come_first, "");
        assert!(both.verdict.right > 100, "{}", both.verdict);
        assert!(both.theirs > 50, "{} samples of theirs", both.theirs);
        assert_eq!(both.recording.counter("signals.foreign"), Some(0));
    }
}

#[test]
fn on_one_signal_what_is_not_ours_goes_on_to_who_was_there_before() {
    let Some(jdk) = jdk::newest_virtual("async_profiler") else {
        return;
    };
    let _machine = Machine::turn();
    for event in ["itimer", "ctimer"] {
        let both = run(&jdk, event, false, ",signal=prof");
        assert!(both.verdict.right > 100, "{}", both.verdict);
        assert!(both.theirs > 50, "{} samples of theirs", both.theirs);
        let foreign = both.recording.counter("signals.foreign").expect("windows");
        // Its first may come before our handler stands, its last after it has stopped to count.
        let theirs = both.theirs;
        assert!(
            foreign * 10 >= theirs * 9 && theirs * 10 >= foreign * 9,
            "{foreign} handed on, {theirs} samples of theirs"
        );
    }
}

#[test]
fn a_handler_that_displaces_ours_is_told_of_in_one_line_and_harms_nobody() {
    let Some(jdk) = jdk::newest_virtual("async_profiler") else {
        return;
    };
    let _machine = Machine::turn();
    let both = run(&jdk, "itimer", true, ",signal=prof");
    assert!(both.theirs > 50, "{} samples of theirs", both.theirs);
    let told: Vec<_> = both
        .finished
        .agent_lines()
        .into_iter()
        .filter(|line| line.contains("installed after") && line.contains("samples are lost"))
        .collect();
    assert_eq!(told.len(), 1, "{:#?}", both.finished.agent_lines());
}
