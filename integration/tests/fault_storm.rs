//! Faults in stack walks, by the ten thousand, harm neither the JVM nor what it computes, and none is lost.
//!
//! The agent under test gives AsyncGetCallTrace spoilt contexts and leads its own loads astray, while the
//! program lives on faults of its own, collects garbage and parks virtual threads.

use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::injecting;
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;

/// Contained faults that each JVM must survive.
const FAULTS: u64 = 50_000;
const CPU_SECONDS: u64 = 30;
/// Runs to that end: how many signals come in the CPU time of one is the machine's business.
const MOST_RUNS: u32 = 4;
/// Faults among the walks that came to write frames: every second of those has no room for them.
const FAULTED: f64 = 0.4;

/// Walks that faulted, those of frozen frames with them, and walks that came to write frames.
#[derive(Debug, Default, Clone, Copy)]
struct Storm {
    faults: u64,
    faulted: u64,
    walks: u64,
}

/// Sum of all counters whose names begin so.
fn counters(recording: &Recording, start: &str) -> u64 {
    let facts = recording.windows.iter().flat_map(|window| &window.facts);
    facts
        .filter(|(key, _)| key.starts_with(start))
        .filter_map(|(_, value)| value.parse::<u64>().ok())
        .sum()
}

#[test]
fn a_hundred_thousand_contained_faults_harm_neither_the_jvm_nor_its_results() {
    for feature in [21, 25] {
        let Some(jdk) = jdk::of_feature(feature, "fault storm") else {
            continue;
        };
        let mut sum = Storm::default();
        for _ in 0..MOST_RUNS {
            let one = storm(&jdk);
            sum.faults += one.faults;
            sum.faulted += one.faulted;
            sum.walks += one.walks;
            if sum.faults >= FAULTS {
                break;
            }
        }
        assert!(sum.faults >= FAULTS, "{feature}: {sum:?}");
        assert!(
            sum.faulted as f64 >= FAULTED * sum.walks as f64,
            "{feature}: {sum:?}"
        );
    }
}

/// One run, in which nothing may go wrong.
fn storm(jdk: &Jdk) -> Storm {
    let _machine = Machine::turn();
    let dir = WorkDir::new("storm").expect("a folder");
    let options = "stress=4000hz,out=out,every=60s,service=storm,log=debug";
    let launch = injecting::load(Launch::new(jdk), options, "walks=2,loads=2000")
        .expect("the injecting agent")
        .flags(["-XX:+UseG1GC", "-Xmx256m", "-Xss512k"])
        // Interpreted, so that each null check is a fault.
        .flag("-XX:CompileCommand=quiet")
        .flag("-XX:CompileCommand=exclude,io.vtprof.truth.FaultStorm::dereference")
        // And that there are interpreted frames for walks to go astray in.
        .flag("-XX:CompileCommand=exclude,io.vtprof.truth.FaultStorm::climb")
        .flag("-XX:CompileCommand=exclude,io.vtprof.truth.FaultStorm::triangle")
        .jar(artifacts::truth_program().expect("the program"))
        .program([
            "io.vtprof.truth.FaultStorm".to_owned(),
            CPU_SECONDS.to_string(),
        ]);
    let finished = Running::start(&launch, dir.path(), Duration::from_secs(900))
        .and_then(Running::wait)
        .and_then(Finished::success)
        .expect("the JVM lives");
    let account = finished.stdout.lines().last().unwrap_or_default();
    let recording = Recording::read(&dir.path().join("out")).expect("a profile");
    let counter = |name| recording.counter(name).unwrap_or(0);
    // A sample stands for all periods since the last one.
    let period = u64::try_from(recording.windows[0].period).expect("a period");
    let sampled = recording.nanos() / period;
    let faults = counter("failed.faulted") + counter("truncated.faulted");
    let faulted = counter("failed.faulted");
    let failed = counters(&recording, "failed.");
    let of_java = counter("samples.taken") - counter("samples.native_thread");
    let walks = of_java - failed + faulted;
    let signals = counter("signals.received") + counter("signals.overruns");
    let lost: u64 = [
        "dropped.ring_full",
        "dropped.ring_contended",
        "dropped.disarmed",
        "dropped.nested",
        "signals.stale",
    ]
    .map(counter)
    .iter()
    .sum();
    // Whether a walk meets a fault of HotSpot's own is chance; that it is handed on is a unit test's.
    say(&format!(
        "fault storm on {}: {account}; {} of {walks} walks faulted, {} of frozen frames, {} faults were HotSpot's own; {signals} periods, {} in samples, {lost} lost",
        jdk.version,
        counter("failed.faulted"),
        counter("truncated.faulted"),
        counter("faults.handed_on"),
        sampled,
    ));
    assert!(account.starts_with("storm: right "), "{account}");
    for (name, least) in [
        ("nulls", 1_000),
        ("overflows", 10),
        ("lists", 10),
        ("climbs", 100),
    ] {
        let done: u64 = account
            .split(' ')
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
            .expect("a number");
        assert!(done >= least, "{name}: {account}");
    }
    assert_eq!(
        sampled + lost,
        signals,
        "each period is in a sample or in a counter"
    );
    let said = finished.agent_lines();
    assert!(
        said.iter()
            .any(|line| line.contains("injects faults: walks=2")),
        "{said:#?}"
    );
    assert!(
        !said.iter().any(|line| line.contains("sampling is off")),
        "{said:#?}"
    );
    Storm {
        faults,
        faulted,
        walks,
    }
}
