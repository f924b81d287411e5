//! `engine=perf`: where the kernel refuses events, in whatever way, there is one line, CPU timers take their place, and
//! the sum holds. Where it hides its own time, that is charged to no method.

use std::time::Duration;

use vtprof_integration::confinement::{
    Confinement, few_descriptors, no_kernel_time, no_perf_events,
};
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::quiet::idle;
use vtprof_integration::recording::{Recording, Sample};
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;

/// A second of it each for chance to matter little.
const SECONDS: &str = "3";
/// Part of a time by which a sum may differ: a period or two, and what a thread used before its event was made.
const SLACK: f64 = 0.03;
/// Methods whose samples are the two halves.
const KERNEL: &str = "KernelTime.inKernel";
const USER: &str = "KernelTime.outsideOfKernel";
/// Stands for time that no signal came for.
const HIDDEN: &str = "[failed: in_kernel]";

struct Run {
    finished: Finished,
    recording: Recording,
}

impl Run {
    fn of(jdk: &Jdk, engine: &str, confinement: Option<Confinement>) -> Run {
        let _machine = Machine::turn();
        let dir = WorkDir::new("perf-events").expect("a folder");
        let options = format!("cpu=1000hz,engine={engine},out=out,every=60s,shim=off,log=warn");
        let mut launch = Launch::new(jdk)
            // Else the JVM takes as many descriptors as it may have.
            .flag("-XX:-MaxFDLimit")
            .agent(&options)
            .expect("the agent")
            .plain_program("KernelTime", [SECONDS])
            .expect("the program");
        if let Some(confinement) = confinement {
            launch = launch.confined(confinement);
        }
        let finished = Running::start(&launch, dir.path(), Duration::from_secs(60))
            .and_then(Running::wait)
            .and_then(Finished::success)
            .expect("a run");
        let recording = Recording::read(&dir.path().join("out")).expect("a profile");
        let run = Run {
            finished,
            recording,
        };
        say(&format!(
            "{engine} on {}: engine={}, {}, kernel {:.0} ms of {:.0}, user {:.0} ms of {:.0}, hidden {:.0} ms",
            jdk.version,
            run.engine(),
            run.finished.agent_lines().join(" "),
            run.sampled(|sample| has(sample, KERNEL)) / 1e6,
            run.truth("kernel_ns") / 1e6,
            run.sampled(|sample| has(sample, USER)) / 1e6,
            run.truth("user_ns") / 1e6,
            run.sampled(|sample| has(sample, HIDDEN)) / 1e6,
        ));
        run
    }

    fn engine(&self) -> &str {
        self.recording.fact("engine").expect("an engine")
    }

    fn truth(&self, key: &str) -> f64 {
        self.finished.figure(key) as f64
    }

    fn sampled(&self, which: impl Fn(&Sample) -> bool) -> f64 {
        let samples = self.recording.samples.iter();
        samples
            .filter(|sample| which(sample))
            .map(|sample| sample.nanos)
            .sum::<u64>() as f64
    }

    fn counter(&self, key: &str) -> u64 {
        self.recording.counter(key).unwrap_or(0)
    }

    /// All that the program's thread did is in the profile, under the one name or the other.
    fn assert_sum_holds(&self) {
        let truth = self.truth("kernel_ns") + self.truth("user_ns");
        let sampled = self.sampled(|sample| {
            sample.thread.as_deref() == Some("main")
                && [KERNEL, USER, HIDDEN, "KernelTime.alternate"]
                    .iter()
                    .any(|name| has(sample, name))
        });
        assert!(
            (sampled / truth - 1.0).abs() < SLACK,
            "{sampled} ns sampled of {truth}"
        );
    }

    fn assert_said_once(&self, part: &str) {
        let lines = self.finished.agent_lines();
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert!(lines[0].contains(part), "{lines:#?}");
    }
}

fn has(sample: &Sample, name: &str) -> bool {
    sample.frames.iter().any(|frame| frame.ends_with(name))
}

/// Whether the kernel lets this process have perf events; CI machines differ.
fn is_permitted(run: &Run) -> bool {
    let permitted = run.engine().starts_with("perf");
    if !permitted {
        say(&format!(
            "SKIPPED, there is the fallback alone: {}",
            run.engine()
        ));
        run.assert_said_once("engine=perf is refused");
        run.assert_sum_holds();
    }
    permitted
}

#[test]
fn time_in_the_kernel_is_of_the_method_that_called_it_or_of_none() {
    let Some(jdk) = jdk::each("perf_events").pop() else {
        return;
    };
    let whole = Run::of(&jdk, "perf", None);
    if !is_permitted(&whole) {
        return;
    }
    let halves = |run: &Run| {
        [(KERNEL, "kernel_ns"), (USER, "user_ns")]
            .map(|(method, key)| run.sampled(|sample| has(sample, method)) / run.truth(key))
    };
    whole.assert_sum_holds();
    if whole.engine() == "perf" {
        for share in halves(&whole) {
            assert!((0.9..1.1).contains(&share), "{share}");
        }
    }
    let blind = Run::of(&jdk, "perf", Some(no_kernel_time));
    // With kernel.perf_event_paranoid above 2 there is nothing for those without privilege.
    if !is_permitted(&blind) {
        return;
    }
    assert_eq!(blind.engine(), "perf, without time in the kernel");
    blind.assert_sum_holds();
    let [_, user] = halves(&blind);
    assert!((0.9..1.1).contains(&user), "{user}");
    assert!(blind.counter("failed.in_kernel") > 100);
    let auto = Run::of(&jdk, "auto", Some(no_kernel_time));
    assert!(auto.engine().starts_with("timer"), "{}", auto.engine());
    assert_eq!(auto.finished.agent_lines(), Vec::<&str>::new());
    auto.assert_sum_holds();
}

#[test]
fn where_events_are_refused_there_is_one_line_and_the_sum_holds() {
    let Some(jdk) = jdk::each("perf_events").pop() else {
        return;
    };
    let run = Run::of(&jdk, "perf", Some(no_perf_events));
    assert!(run.engine().starts_with("timer"), "{}", run.engine());
    run.assert_said_once("engine=perf is refused");
    run.assert_said_once("seccomp");
    run.assert_sum_holds();
    let auto = Run::of(&jdk, "auto", Some(no_perf_events));
    assert!(auto.engine().starts_with("timer"), "{}", auto.engine());
    assert_eq!(auto.finished.agent_lines(), Vec::<&str>::new());
    auto.assert_sum_holds();
}

#[test]
fn where_descriptors_are_few_half_of_them_stay_the_applications() {
    let Some(jdk) = jdk::each("perf_events").pop() else {
        return;
    };
    let run = Run::of(&jdk, "perf", Some(few_descriptors));
    if !is_permitted(&run) {
        return;
    }
    run.assert_said_once("ulimit -n");
    let (refused, seen) = (run.counter("perf.refused"), run.counter("threads.seen"));
    assert!(
        (1..seen).contains(&refused),
        "{refused} refused of {seen} threads"
    );
    run.assert_sum_holds();
}

/// Descriptors of perf events that a process has open.
fn events_of(running: &Running) -> u64 {
    let folder = format!("/proc/{}/fd", running.pid());
    std::fs::read_dir(folder)
        .expect("descriptors")
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter(|target| target.to_string_lossy().contains("[perf_event]"))
        .count() as u64
}

#[test]
fn there_is_an_event_a_thread_where_the_rate_asks_for_it_and_none_elsewhere() {
    const THREADS: u64 = 20;
    let Some(jdk) = jdk::each("perf_events").pop() else {
        return;
    };
    for (options, wanted) in [
        ("cpu=1000hz,engine=perf", true),
        ("cpu=100hz", false),
        ("cpu=1000hz,engine=timer", false),
    ] {
        let _machine = Machine::turn();
        let dir = WorkDir::new("perf-events").expect("a folder");
        let options = format!("{options},out=out,shim=off,log=info");
        let running = idle(&jdk, dir.path(), &options, THREADS).expect("threads");
        let events = events_of(&running);
        let said = running.stderr().expect("its words");
        running.terminate().expect("a signal");
        running.wait().expect("an end");
        say(&format!("{options}: {events} events"));
        if wanted && said.contains("engine=timer") {
            say("SKIPPED: perf events are refused here");
        } else if wanted {
            assert!(events > THREADS, "{events} events: {said}");
        } else {
            assert_eq!(events, 0, "{said}");
        }
    }
}
