//! A thread that uses no CPU gets no signal: an idle JVM is left in peace.

use vtprof_integration::jdk;
use vtprof_integration::jvm::Machine;
use vtprof_integration::quiet::idle;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;
use vtprof_integration::wrote::assure_gapless;

/// Windows once all is quiet: the first has the start in it.
const WINDOWS: usize = 5;
const THREADS: u64 = 100;

#[test]
fn an_idle_jvm_gets_signals_for_the_cpu_it_uses_and_not_for_its_threads() {
    for jdk in jdk::each("idle") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("idle").expect("a folder");
        let options = "cpu=1000hz,out=out,every=1s,service=idle,shim=off,log=debug";
        let mut running = idle(&jdk, dir.path(), options, THREADS).expect("threads");
        let before = running.wrote().expect("lines").len();
        running
            .until_wrote("enough windows", |wrote| wrote.len() >= before + WINDOWS)
            .expect("windows");
        running.terminate().expect("a signal");
        let finished = running.wait().expect("an end");
        assert_eq!(finished.status.code(), Some(128 + 15), "{finished:#?}");
        let recording = Recording::read(&dir.path().join("out")).expect("profiles");
        assure_gapless(&recording.windows).expect("a window beside the next");
        // In between start and end.
        let idle = i64::try_from(finished.figure("idle")).expect("a time");
        let (_, but_the_last) = recording.windows.split_last().expect("windows");
        let from = but_the_last.partition_point(|window| window.monotonic < idle);
        let quiet = &but_the_last[from..];
        assert!(
            quiet.len() + 1 >= WINDOWS,
            "{} windows",
            recording.windows.len()
        );
        let lasted: i64 = quiet.iter().map(|window| window.duration).sum();
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
            "idle on {}: {signals} signals in {} ms, {} ms of CPU, {} ms of them the agent's thread",
            jdk.version,
            lasted / 1_000_000,
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
        let wall = THREADS * u64::try_from(lasted / 1_000_000).expect("a time");
        assert!(
            signals < wall / 100,
            "{signals} signals, {wall} by the wall clock"
        );
    }
}
