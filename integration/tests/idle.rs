//! A thread that uses no CPU gets no signal: an idle JVM is left in peace. One that is visited by the wall clock is asked
//! once, and then only looked at.

use std::fs;
use std::time::{Duration, Instant};

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::quiet::idle;
use vtprof_integration::recording::{Recording, Window};
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;
use vtprof_integration::wrote::assure_gapless;
use vtprof_profile::kind::Kind;

/// Windows once all is quiet: the first has the start in it.
const WINDOWS: usize = 5;
const THREADS: u64 = 100;

/// Threads that wait, and in how many windows all of them are to stand.
const MANY: u64 = 5_000;
const STANDING: usize = 3;
/// Of a core: what the wall engine takes by its budget is a third of a hundredth and what it takes to wake up. A machine
/// that is shared charges it for cold caches as well.
const ENGINE: f64 = 0.0075;

/// CPU time, ns, of the threads of a process that have that name.
fn cpu_of(running: &Running, name: &str) -> u64 {
    let threads = running.threads_named(name).expect("threads");
    // CPU time, time without a CPU, turns (kernel, `proc_pid_schedstat`).
    threads
        .iter()
        .filter_map(|task| fs::read_to_string(task.join("schedstat")).ok())
        .filter_map(|line| line.split(' ').next()?.parse::<u64>().ok())
        .sum()
}

#[test]
fn five_thousand_idle_threads_are_looked_at_within_the_budget_and_all_their_time_is_accounted_for()
{
    let Some(jdk) = jdk::newest_virtual("idle: many threads") else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("many").expect("a folder");
    let launch = Launch::new(&jdk)
        .agent("wall=10ms,wall_scope=all,out=out,every=5s,service=many,shim=off")
        .expect("the agent")
        .flag("-Xss256k")
        .plain_program("Idle", ["600".to_owned(), MANY.to_string()])
        .expect("the program");
    let mut running = Running::start(&launch, dir.path(), Duration::from_secs(120)).expect("a JVM");
    running.line("idle=").expect("threads");
    let out = dir.path().join("out");
    // All that stand are looked at in each, and hardly anybody is asked.
    let stand = |window: &Window| -> bool {
        let fact = |key: &str| -> u64 {
            let value = window.facts.get(key).and_then(|value| value.parse().ok());
            value.unwrap_or(0)
        };
        fact("wall.repeated") > MANY && fact("wall.signals") < MANY / 50
    };
    let standing = |recording: Recording| -> Vec<Window> {
        recording.windows.into_iter().filter(stand).collect()
    };
    let mut until = |windows: usize| {
        let has_enough = || {
            Recording::read_kind(&out, Kind::Wall)
                .is_ok_and(|recording| standing(recording).len() >= windows)
        };
        running
            .until("enough windows in which all stand", has_enough)
            .expect("windows");
        let cpu = |name| cpu_of(&running, name);
        (Instant::now(), cpu("vtprof-wall"), cpu("vtprof-drain"))
    };
    let (began, engine_before, drain_before) = until(1);
    let (ended, engine, drain) = until(1 + STANDING);
    let share =
        |after: u64, before: u64| (after - before) as f64 / (ended - began).as_nanos() as f64;
    let (engine, drain) = (share(engine, engine_before), share(drain, drain_before));
    running.terminate().expect("a signal");
    running.wait().expect("an end");
    let wall = Recording::read_kind(&out, Kind::Wall).expect("profiles");
    let nanos: u64 = wall
        .windows
        .iter()
        .filter(|window| stand(window))
        .map(|window| {
            Recording::read_one(&window.path, Kind::Wall)
                .expect("a profile")
                .nanos()
        })
        .sum();
    let windows = standing(wall);
    let lasted: i64 = windows.iter().map(|window| window.duration).sum();
    let share = nanos as f64 / (MANY as f64 * lasted as f64);
    say(&format!(
        "{MANY} idle threads on {}: the wall engine takes {:.2} % of a core, the drain {:.2} %; {share:.3} of their time in samples",
        jdk.version,
        100.0 * engine,
        100.0 * drain,
    ));
    assert!(engine < ENGINE, "{engine}");
    // Those of the JVM's own come on top; and what a window lacks or has too much is a round's at the most.
    assert!((0.8..1.2).contains(&share), "{share}");
}

#[test]
fn an_idle_jvm_gets_signals_for_the_cpu_it_uses_and_not_for_its_threads() {
    for jdk in jdk::ends("idle") {
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
