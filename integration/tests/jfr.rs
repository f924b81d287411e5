//! JFR in the same JVM, started before the agent or after it, with its sampling by CPU time where it has one: both
//! see their samples, and neither complains of the other.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use vtprof_integration::attach::{attach, jcmd};
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::truth::TruthLog;
use vtprof_integration::verdict::Verdict;
use vtprof_integration::workdir::WorkDir;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// Both on the command line.
    Together,
    /// JFR on the command line, the agent attached.
    JfrFirst,
    /// The agent on the command line, JFR by `jcmd`.
    AgentFirst,
}

/// How much CPU time is used while both are there, and how long that takes at least.
const CPU: Duration = Duration::from_secs(4);
const LEAST: Duration = Duration::from_secs(3);
const AGENT: &str = "cpu=1000hz,out=out,every=60s,service=truth,shim=off";

/// The event whose samples are counted.
fn event(jdk: &Jdk) -> &'static str {
    if jdk.feature >= 25 {
        "jdk.CPUTimeSample"
    } else {
        "jdk.ExecutionSample"
    }
}

fn jfr_settings(jdk: &Jdk) -> Vec<String> {
    let mut settings = vec!["filename=jfr.jfr".to_owned(), "dumponexit=true".to_owned()];
    if jdk.feature >= 25 {
        settings.push("jdk.CPUTimeSample#enabled=true".to_owned());
    } else {
        settings.push("settings=profile".to_owned());
    }
    settings
}

fn start_by_jcmd(jdk: &Jdk, pid: u32) {
    let output = jcmd(jdk, pid)
        .expect("jcmd")
        .arg("JFR.start")
        .args(jfr_settings(jdk))
        .output()
        .expect("jcmd runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("Started recording"), "{text}");
}

/// Events of that type in a recording.
fn events(file: &Path, kind: &str) -> u64 {
    // The newest `jfr` reads what older JVMs wrote; small runtimes have none.
    let jdk = jdk::of_feature(25, "jfr").or_else(|| jdk::of_feature(17, "jfr"));
    let tool = jdk.and_then(|jdk| jdk.tool("jfr")).expect("a jfr tool");
    let output = Command::new(tool)
        .arg("summary")
        .arg(file)
        .output()
        .expect("jfr runs");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .find_map(|line| {
            line.trim()
                .strip_prefix(kind)?
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        })
        .unwrap_or_else(|| panic!("no {kind} in {text}"))
}

fn run(jdk: &Jdk, order: Order) {
    let dir = WorkDir::new("jfr").expect("a folder");
    let mut launch = Launch::new(jdk)
        .flag("-Xlog:jfr=info:file=jfr.log")
        .flags((jdk.feature >= 21).then_some("-XX:+EnableDynamicAgentLoading"));
    if order != Order::AgentFirst {
        launch = launch.flag(format!(
            "-XX:StartFlightRecording:{}",
            jfr_settings(jdk).join(",")
        ));
    }
    if order != Order::JfrFirst {
        launch = launch.agent(AGENT).expect("the agent");
    }
    let launch = launch
        .truth_program(["mix", "--seconds=600", "--threads=8", "--log=truth.log"])
        .expect("the program");
    let mut running = Running::start(&launch, dir.path(), Duration::from_secs(180)).expect("a JVM");
    running.line("truth: mix").expect("the load");
    match order {
        Order::Together => {}
        Order::JfrFirst => attach(jdk, running.pid(), AGENT),
        Order::AgentFirst => start_by_jcmd(jdk, running.pid()),
    }
    // From here on both are there, however long their start took.
    let both = Instant::now();
    running.burn(CPU).expect("the load");
    std::thread::sleep(LEAST.saturating_sub(both.elapsed()));
    running.terminate().expect("a signal");
    let finished = running.wait().expect("an end");
    assert_eq!(finished.status.code(), Some(128 + 15), "{finished:#?}");
    let log = TruthLog::read(&dir.path().join("truth.log")).expect("the truth");
    let recording = Recording::read(&dir.path().join("out")).expect("profiles");
    let verdict = Verdict::of(&recording, &log);
    let theirs = events(&dir.path().join("jfr.jfr"), event(jdk));
    say(&format!(
        "JFR on {}, {order:?}: {theirs} {}, ours: {verdict}",
        jdk.version,
        event(jdk)
    ));
    verdict.assert_no_wrong_tag();
    assert!(verdict.right > 50, "{verdict}");
    assert!(theirs > 50, "{theirs} samples of JFR");
    // "Conflicting SIGPROF handler found: …. CPUTimeSample events will not be recorded"
    let jfr_log = std::fs::read_to_string(dir.path().join("jfr.log")).expect("the log of JFR");
    for text in [&jfr_log, &finished.stdout, &finished.stderr] {
        assert!(
            !text.contains("onflicting") && !text.contains("SIGPROF"),
            "{text}"
        );
    }
    let complaints: Vec<_> = finished
        .agent_lines()
        .into_iter()
        .filter(|line| line.contains("warning") || line.contains("error"))
        // JFR's own dump may be in the way of the last profile on a slow disk.
        .filter(|line| !line.contains("was not written within"))
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn jfr_and_the_agent_both_sample_whichever_comes_first() {
    let _machine = Machine::turn();
    for (feature, order) in [
        (25, Order::Together),
        (25, Order::JfrFirst),
        (25, Order::AgentFirst),
        (21, Order::AgentFirst),
        (17, Order::JfrFirst),
    ] {
        if let Some(jdk) = jdk::of_feature(feature, "jfr") {
            run(&jdk, order);
        }
    }
}
