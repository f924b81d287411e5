//! A thread that uses no CPU gets no signal: an idle JVM is left in peace.

use std::time::Duration;

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;

const SECONDS: u64 = 5;
const THREADS: u64 = 100;

#[test]
fn an_idle_jvm_gets_signals_for_the_cpu_it_uses_and_not_for_its_threads() {
    for jdk in jdk::each("idle") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("idle").expect("a folder");
        let launch = Launch::new(&jdk)
            .agent("cpu=1000hz,out=out,every=1s,service=idle,shim=off")
            .expect("the agent")
            .plain_program("Idle", [SECONDS.to_string(), THREADS.to_string()])
            .expect("the program");
        Running::start(&launch, dir.path(), Duration::from_secs(60))
            .and_then(Running::wait)
            .and_then(Finished::success)
            .expect("a run");
        let recording = Recording::read(&dir.path().join("out")).expect("profiles");
        // In between start and end.
        let quiet = &recording.windows[1..recording.windows.len() - 1];
        assert!(quiet.len() >= 2, "{} windows", recording.windows.len());
        let sum = |key: &str| -> u64 {
            quiet
                .iter()
                .filter_map(|window| window.facts.get(key)?.parse::<u64>().ok())
                .sum()
        };
        let (signals, cpu, own) = (
            sum("signals.received"),
            sum("process.cpu_ns"),
            sum("agent.thread_cpu_ns"),
        );
        say(&format!(
            "idle on {}: {signals} signals in {} s, {} ms of CPU, {} ms of them the agent's thread",
            jdk.version,
            quiet.len(),
            cpu / 1_000_000,
            own / 1_000_000
        ));
        // A signal for each period of CPU time at the most, and one a thread for the phase it began with.
        let periods = cpu.saturating_sub(own) / 1_000_000;
        assert!(
            signals <= periods + periods / 4 + 5,
            "{signals} signals for {periods} ms of CPU on {}",
            jdk.version
        );
        // By the wall clock it would be one a thread and millisecond.
        let wall = THREADS * quiet.len() as u64 * 1_000;
        assert!(
            signals < wall / 100,
            "{signals} signals, {wall} by the wall clock"
        );
    }
}
