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

/// Batches of cycles between which `StopStart` notes what there is.
const BATCHES: usize = 4;
/// The first of them whose growth counts.
const SETTLED: usize = 1;
/// Resident bytes that may come with the JVM's own life in each batch.
const DRIFT: i64 = 256 << 10;
/// Samples taken before each stop by an attach.
const SAMPLES_A_WINDOW: u64 = 50;
/// Looks until no signal comes any more after a stop.
const LATE_SIGNALS: u32 = 10;
/// What a JVM keeps of each load of an agent (`JvmtiAgent`, its name and options), and its code on the way.
const KEPT_BY_JVM: i64 = 1_200;

/// A figure of a status line.
fn figure(status: &str, key: &str) -> u64 {
    let word = status
        .split(' ')
        .find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    word.and_then(|value| value.parse().ok())
        .unwrap_or_else(|| panic!("no {key} in {status}"))
}

fn stop_and_start(jdk: &Jdk, strategy: Strategy) {
    let library = artifacts::agent().expect("the agent");
    let run = TruthRun::new(jdk, "stop-start", strategy)
        .seconds(4)
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
    let at = |what: &str, batch: usize| fact(&format!("{what}_{batch}"));
    let grown = |what: &str| at(what, BATCHES) - at(what, 0);
    let resident: Vec<i64> = (1..=BATCHES)
        .map(|batch| at("resident", batch) - at("resident", batch - 1))
        .collect();
    say(&format!(
        "{} cycles on {} by {strategy}, {} µs each: {:?} KiB, {} threads, {} files, {} timers more; {} timers of {} threads, {} cycles under load",
        cycles(),
        jdk.version,
        fact("cycle_us"),
        resident.iter().map(|bytes| bytes >> 10).collect::<Vec<_>>(),
        grown("threads"),
        grown("files"),
        grown("timers"),
        fact("timers_started"),
        fact("threads_started"),
        fact("cycles_under_load"),
    ));

    // A late compilation makes one batch grow; what each cycle leaks is in every one.
    let a_batch = i64::try_from(cycles()).expect("a sane number") / BATCHES as i64;
    let least = *resident[SETTLED..].iter().min().expect("batches");
    assert!(
        least <= DRIFT + a_batch * KEPT_BY_JVM,
        "each {a_batch} cycles {least} bytes"
    );
    // The JVM's own compiler threads come and go.
    assert!(grown("threads") <= 3);
    assert!(grown("files") <= 1);
    assert!(grown("timers") <= 3);
    assert_eq!(fact("timers_stopped"), 0, "a timer while stopped");
    let (timers, threads) = (fact("timers_started"), fact("threads_started"));
    assert!(
        timers >= 6 && 2 * timers > threads,
        "{timers} timers of {threads} threads once started"
    );

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

        // Each window has samples then: one without may leave no file.
        let sampled = || {
            let taken = || figure(&status(), "samples.taken");
            let wanted = taken() + SAMPLES_A_WINDOW;
            // The load ends by itself, and then there is nobody to ask.
            while taken() < wanted {
                std::thread::sleep(Duration::from_millis(100));
            }
        };
        sampled();
        attach(&jdk, pid, "control=stop");
        assert_eq!(
            files(&out, "-cpu-").expect("files").len(),
            1,
            "the window in progress"
        );
        let signals = || {
            let stopped = status();
            assert!(
                stopped.contains("status=stopped") && stopped.contains(" timers=0 "),
                "{stopped}"
            );
            figure(&stopped, "signals.received")
        };
        // A thread that was put aside at the tick may have a signal of before the stop still to take.
        let mut before = signals();
        for _ in 0..LATE_SIGNALS {
            let now = signals();
            if now == before {
                break;
            }
            before = now;
        }
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(signals(), before, "signals while stopped");
        for _ in 0..2 {
            attach(&jdk, pid, "control=start");
            attach(&jdk, pid, "control=start");
            assert!(status().contains("status=running"));
            sampled();
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
        for window in &recording.windows {
            let samples = Recording::read_file(&window.path).expect("a profile");
            assert!(
                samples.count() > SAMPLES_A_WINDOW / 2,
                "{} has {} samples",
                window.path.display(),
                samples.count()
            );
        }
    }
}
