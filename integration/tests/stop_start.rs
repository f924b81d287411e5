//! Stopped, the agent has no timer and gives no signal, and its last window is written; started again, it is as
//! if it had never been stopped. However often: nothing grows.
//!
//! `VTPROF_CYCLES` sets how often: 400 in the everyday suite, 10,000 for the published figure.

use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::attach::{self, attach};
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::{Recording, files};
use vtprof_integration::report::say;
use vtprof_integration::scale::cycles;
use vtprof_integration::truth_run::{Strategy, TruthRun, virtual_configurations};
use vtprof_integration::workdir::WorkDir;

/// Resident bytes that may come with the JVM's own life.
const DRIFT: i64 = 8 << 20;
/// What a JVM keeps of each load of an agent (`JvmtiAgent`, its name and options), and its code on the way.
const KEPT_BY_JVM: i64 = 1_200;

fn stop_and_start(jdk: &Jdk, strategy: Strategy) {
    let library = artifacts::agent().expect("the agent");
    let run = TruthRun::new(jdk, "stop-start", strategy)
        .seconds(8)
        .every("60s")
        .carriers(2)
        .argument(format!("--count={}", cycles()))
        .flag(format!("-Dtruth.agent={}", library.display()))
        .flags([
            "-Xms128m",
            "-Xmx128m",
            "-XX:+AlwaysPreTouch",
            "-XX:+UseSerialGC",
        ])
        .flags((jdk.feature >= 21).then_some("-XX:+EnableDynamicAgentLoading"))
        .quiet()
        .run()
        .expect("a run");
    let fact = |key: &str| run.log.fact::<i64>(key).expect("a figure");
    let grown = |what: &str| fact(&format!("{what}_after")) - fact(&format!("{what}_before"));
    say(&format!(
        "{} cycles on {} by {strategy}, {} µs each: {} KiB, {} threads, {} files, {} timers more; {} cycles under load",
        cycles(),
        jdk.version,
        fact("cycle_us"),
        grown("resident") >> 10,
        grown("threads"),
        grown("files"),
        grown("timers"),
        fact("cycles_under_load"),
    ));

    let cycles = i64::try_from(cycles()).expect("a sane number");
    assert!(grown("resident") <= DRIFT + cycles * KEPT_BY_JVM);
    // The JVM's own compiler threads come and go.
    assert!(grown("threads") <= 3);
    assert!(grown("files") <= 1);
    assert!(grown("timers") <= 3);
    assert_eq!(fact("timers_stopped"), 0, "a timer while stopped");
    assert!(fact("timers_started") > 10, "no timers once started");

    run.verdict.assert_no_wrong_tag();
    run.verdict
        .assert_untagged_at_most(strategy.untagged_limit());
    assert!(run.verdict.right > 100, "{}", run.verdict);
    for two in run.recording.windows.windows(2) {
        assert!(
            two[0].monotonic + two[0].duration <= two[1].monotonic,
            "{} began before the window before it had ended",
            two[1].path.display()
        );
    }
    let (stopped, started) = (fact("stopped_at"), fact("started_at"));
    for window in &run.recording.windows {
        let end = window.monotonic + window.duration;
        assert!(
            end <= stopped || window.monotonic >= started,
            "{} was open while sampling was stopped",
            window.path.display()
        );
    }
    // Each sample taken stands in a profile, or is counted as lost.
    let counter = |key| run.recording.counter(key).expect("windows");
    let (taken, found) = (counter("samples.taken"), run.recording.count());
    assert!(found <= taken, "{found} samples of {taken} taken");
    assert!(
        taken - found <= counter("dropped.disarmed"),
        "{found} samples of {taken} taken, {} counted as lost",
        counter("dropped.disarmed")
    );
}

#[test]
fn nothing_grows_over_many_stops_and_starts_and_tags_are_right_afterwards() {
    for (jdk, strategy) in virtual_configurations("stop_start") {
        stop_and_start(&jdk, strategy);
    }
}

#[test]
fn an_attach_stops_starts_and_tells_and_refuses_in_one_line() {
    for jdk in jdk::each("stop_start") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("stop-start").expect("a folder");
        let out = dir.path().join("out");
        let launch = Launch::new(&jdk)
            .flags((jdk.feature >= 21).then_some("-XX:+EnableDynamicAgentLoading"))
            .truth_program([
                "background",
                "--threads=4",
                "--seconds=600",
                "--log=truth.log",
            ])
            .expect("the program");
        let mut running =
            Running::start(&launch, dir.path(), Duration::from_secs(120)).expect("a JVM");
        running.line("truth: background").expect("the load");
        let pid = running.pid();
        let ask = |options: &str| attach::answer(&jdk, pid, options).expect("an answer");
        let refused = |options: &str, part: &str| {
            let before = running.stderr().expect("lines").lines().count();
            let answer = ask(options);
            assert!(!answer.contains("return code: 0"), "{options}: {answer}");
            let stderr = running.stderr().expect("lines");
            let lines: Vec<_> = stderr.lines().skip(before).collect();
            assert!(
                lines.len() == 1 && lines[0].contains(part),
                "{options}: {lines:#?}"
            );
            assert!(!lines[0].contains("unprofiled"), "{lines:#?}");
        };
        let status = || {
            attach(&jdk, pid, "control=status");
            let stderr = running.stderr().expect("lines");
            let line = stderr.lines().rfind(|line| line.contains(" status="));
            line.expect("a line").to_owned()
        };

        refused("control=stop", "load it first");
        attach(
            &jdk,
            pid,
            "cpu=1000hz,out=out,every=24h,service=truth,log=warn",
        );
        refused("control=pause", "\"pause\"");
        refused("control=stop,cpu=10hz", "alone");
        assert!(status().contains("status=running"));

        std::thread::sleep(Duration::from_secs(2));
        attach(&jdk, pid, "control=stop");
        assert_eq!(
            files(&out, "-cpu-").expect("files").len(),
            1,
            "the window in progress"
        );
        let stopped = status();
        assert!(
            stopped.contains("status=stopped") && stopped.contains(" timers=0 "),
            "{stopped}"
        );
        std::thread::sleep(Duration::from_secs(2));
        let signals = |status: &str| {
            let word = status.split(' ').find(|w| w.starts_with("signals."));
            word.expect("a figure").to_owned()
        };
        assert_eq!(
            signals(&status()),
            signals(&stopped),
            "signals while stopped"
        );
        for _ in 0..2 {
            attach(&jdk, pid, "control=start");
            attach(&jdk, pid, "control=start");
            assert!(status().contains("status=running"));
            std::thread::sleep(Duration::from_millis(300));
            attach(&jdk, pid, "control=stop");
            attach(&jdk, pid, "control=stop");
        }
        assert_eq!(files(&out, "-cpu-").expect("files").len(), 3, "one a stop");
        running.terminate().expect("a signal");
        running.wait().expect("an end");
        let recording = Recording::read(&out).expect("profiles");
        assert_eq!(
            recording.windows.len(),
            3,
            "a stopped agent leaves none at the end"
        );
        assert!(recording.count() > 100);
    }
}
