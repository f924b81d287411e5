//! `cpu=off` turns off CPU time and nothing else: no timer, no signal of ours, no file of it, while the other kinds
//! are taken under their tags.

use std::path::Path;
use std::time::Duration;

use vtprof_integration::attach::attach;
use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::quiet::hello;
use vtprof_integration::recording::{Recording, files};
use vtprof_integration::report::say;
use vtprof_integration::truth::TruthLog;
use vtprof_integration::truth_run::{Strategy, TruthRun};
use vtprof_integration::verdict::burner_frame;
use vtprof_integration::waits;
use vtprof_integration::workdir::WorkDir;
use vtprof_profile::kind::Kind;

/// Rounds of 256 KiB in small objects and as much in a large one: 6,000 samples of the small ones at one each 64 KiB.
/// One standard deviation of their sum is 1.3 %.
const ROUNDS: u64 = 1_536;
const TOLERANCE: f64 = 0.06;

/// Timers that the process has.
fn timers(pid: u32) -> usize {
    let list = std::fs::read_to_string(format!("/proc/{pid}/timers")).expect("a list of timers");
    list.lines().filter(|line| line.starts_with("ID:")).count()
}

/// Real-time signals for which the process has a handler, of the first sixteen: ours is among them, that of the JDK's
/// channels (SIGRTMAX-2) is not.
fn real_time_handlers(pid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:"))
        .expect("a mask");
    let caught = u64::from_str_radix(mask.trim(), 16).expect("a mask");
    // Signal n is bit n - 1.
    ((caught >> (libc::SIGRTMIN() - 1)) & 0xFFFF).count_ones()
}

fn count(out: &Path, kind: &str) -> usize {
    files(out, kind).expect("files").len()
}

#[test]
fn other_kinds_are_taken_with_their_tags_and_there_is_no_timer_and_no_cpu_time() {
    for jdk in jdk::each("cpu_off") {
        let blocks = jdk.feature >= jdk::VIRTUAL_THREADS;
        let mut run = TruthRun::new(&jdk, "allocation", Strategy::Auto)
            .rate("off")
            .every("1s")
            .option("alloc=64k")
            .argument(format!("--count={ROUNDS}"))
            .argument("--threads=16");
        if blocks {
            run = run.option("blocked=1ms");
        }
        let _machine = Machine::turn();
        let dir = WorkDir::new("cpu-off").expect("a folder");
        let launch = run.launch().expect("a launch");
        let mut running =
            Running::start(&launch, dir.path(), Duration::from_secs(180)).expect("a JVM");
        running.line("truth: allocation").expect("the load");
        assert_eq!(timers(running.pid()), 0, "{jdk:?}");
        // That of the wall engine, which blocked time needs.
        let handlers = u32::from(blocks);
        assert_eq!(real_time_handlers(running.pid()), handlers, "{jdk:?}");
        let finished = running.wait().and_then(Finished::success).expect("an end");

        let out = dir.path().join("out");
        assert_eq!(count(&out, "-cpu-"), 0);
        let log = TruthLog::read(&dir.path().join("truth.log")).expect("the program's account");
        let recording = Recording::read_kind(&out, Kind::Alloc).expect("profiles");
        let (mut bytes, mut tagged) = (0, 0);
        for sample in &recording.samples {
            let found = sample.frames.iter().find_map(|frame| burner_frame(frame));
            let Some((burner, _)) = found else { continue };
            let leaf: &str = &sample.frames[1];
            if leaf.starts_with("io.vtprof.truth.Allocation.") {
                bytes += sample.nanos;
            } else if sample.tag.is_none() {
                continue;
            }
            let tag = sample.tag.as_ref();
            let tag = tag.unwrap_or_else(|| panic!("untagged: {:?}", sample.frames));
            assert_eq!(log.spans[&tag.span].burner, burner, "{:?}", sample.frames);
            tagged += sample.count;
        }
        let truth: u64 = 2 * log.fact::<u64>("bytes_of_each").expect("a figure");
        let ratio = bytes as f64 / truth as f64;
        say(&format!(
            "cpu=off on {}: {ratio:.4} of the bytes, {tagged} objects tagged",
            jdk.version
        ));
        assert!((ratio - 1.0).abs() < TOLERANCE, "{bytes} of {truth}");
        let strategy = recording.fact("context.strategy").expect("a strategy");
        assert_eq!(strategy.starts_with("none"), !blocks, "{strategy}");
        assert_eq!(recording.counter("signals.received"), Some(0));
        if blocks {
            let waits = waits::read(&out).expect("blocked time");
            let flaws: Vec<_> = waits.iter().filter_map(|wait| wait.flaw(&log)).collect();
            assert!(flaws.is_empty(), "{flaws:#?}");
            let tagged = waits.iter().filter(|wait| wait.span.is_some()).count();
            assert!(tagged > 100, "{tagged} of {}", waits.len());
        }
        let said = finished.agent_lines().join("\n");
        let what = if blocks { "alloc and blocked" } else { "alloc" };
        assert!(
            said.contains(&format!("profiles {what} of truth")),
            "{said}"
        );
    }
}

#[test]
fn waits_for_locks_of_either_kind_are_seen_without_a_timer() {
    let Some(jdk) = jdk::newest_virtual("cpu_off") else {
        return;
    };
    let run = TruthRun::new(&jdk, "contention", Strategy::Auto)
        .carriers(2)
        .rate("off")
        .option("lock=1ms")
        .argument("--threads=64")
        .argument("--count=2");
    let _machine = Machine::turn();
    let dir = WorkDir::new("cpu-off-lock").expect("a folder");
    let launch = run.launch().expect("a launch");
    Running::start(&launch, dir.path(), Duration::from_secs(180))
        .and_then(Running::wait)
        .and_then(Finished::success)
        .expect("an end");
    let log = TruthLog::read(&dir.path().join("truth.log")).expect("the program's account");
    let recording = Recording::read_kind(&dir.path().join("out"), Kind::Lock).expect("profiles");
    for (way, method) in [("monitor", "inMonitor"), ("lock", "inLock")] {
        let method = format!("io.vtprof.truth.Contention.{method}");
        let samples = recording.samples.iter();
        let found: u64 = samples
            .filter(|sample| sample.frames.iter().any(|frame| **frame == *method))
            .map(|sample| sample.nanos)
            .sum();
        let truth: u64 = log.fact(&format!("delay.{way}")).expect("a figure");
        let ratio = found as f64 / truth as f64;
        assert!((0.5..1.5).contains(&ratio), "{way}: {found} of {truth}");
    }
}

#[test]
fn it_stops_and_starts_without_a_timer_too_and_each_stop_writes_a_window() {
    let Some(jdk) = jdk::newest_virtual("cpu_off") else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("cpu-off-stops").expect("a folder");
    let launch = Launch::new(&jdk)
        .flag("-XX:+EnableDynamicAgentLoading")
        .plain_program("AllocationPace", ["8".to_owned(), "600".to_owned()])
        .expect("the program");
    let mut running = Running::start(&launch, dir.path(), Duration::from_secs(600)).expect("a JVM");
    running.line("pace: begun").expect("the load");
    let pid = running.pid();
    let out = dir.path().join("out");
    for options in [
        "cpu=off,alloc=16k,out=out,every=24h,service=pace,shim=off",
        "control=start",
    ] {
        attach(&jdk, pid, options);
        assert_eq!(timers(pid), 0, "{options}");
        // Until something was allocated beyond each thread's first sample.
        let before = running.stdout().expect("notes").lines().count();
        let is_enough = |said: &str| said.lines().count() >= before + 40;
        running.until_said("enough", is_enough).expect("the load");
        attach(&jdk, pid, "control=stop");
    }
    running.terminate().expect("a signal");
    running.wait().expect("an end");
    let recording = Recording::read_kind(&out, Kind::Alloc).expect("profiles");
    assert_eq!(recording.windows.len(), 2, "one a stop");
    assert_eq!(count(&out, "-cpu-"), 0);
    for (n, window) in recording.windows.iter().enumerate() {
        let end = window.monotonic + window.duration;
        let samples = recording.samples.iter().filter(|s| s.window.1 == end);
        assert!(samples.count() > 0, "window {n}");
    }
}

#[test]
fn with_no_kind_on_one_line_says_that_nothing_is_profiled_and_there_is_no_thread_and_no_file() {
    let Some(jdk) = jdk::newest_virtual("cpu_off") else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("all-off").expect("a folder");
    let finished = hello(&jdk, dir.path(), "cpu=off,out=out,shim=off").expect("an end");
    assert_eq!(
        finished.agent_lines(),
        ["vtprof: cpu=off: nothing is profiled"]
    );
    assert_eq!(count(&dir.path().join("out"), "-"), 0);
}
