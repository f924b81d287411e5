//! Attached to a running JVM with the same options: the requests that begin afterwards are tagged,
//! none ever wrongly.

use std::time::Duration;

use vtprof_integration::attach::attach;
use vtprof_integration::jdk;
use vtprof_integration::jvm::{Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::truth::TruthLog;
use vtprof_integration::verdict::Verdict;
use vtprof_integration::workdir::WorkDir;
use vtprof_integration::wrote::monotonic_now;

/// What is there to be judged at least: windows, and CPU time that was used while they were open.
const WINDOWS: usize = 4;
const CPU: Duration = Duration::from_secs(6);
/// Longer than any request on a quiet machine, so that those windows are of requests that began afterwards.
const PASSING: Duration = Duration::from_secs(1);

#[test]
fn requests_that_begin_after_a_live_attach_are_tagged() {
    for jdk in jdk::each("live_attach") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("attach").expect("a folder");
        let launch = Launch::new(&jdk)
            .truth_program(["mix", "--seconds=600", "--threads=16", "--log=truth.log"])
            .expect("the program");
        let mut running =
            Running::start(&launch, dir.path(), Duration::from_secs(120)).expect("a JVM");
        running.line("truth: mix").expect("the load");
        std::thread::sleep(PASSING);
        // The JVM attached to resolves `out` by its own working directory.
        attach(
            &jdk,
            running.pid(),
            "cpu=1000hz,lock=10ms,out=out,every=1s,service=truth,log=debug",
        );
        let attached = monotonic_now();
        std::thread::sleep(PASSING);
        let before = running.wrote().expect("lines").len();
        running.burn(CPU).expect("the load");
        running
            .until_wrote("enough windows", |wrote| wrote.len() >= before + WINDOWS)
            .expect("windows");
        running.terminate().expect("a signal");
        let finished = running.wait().expect("an end");
        assert_eq!(finished.status.code(), Some(128 + 15), "{finished:#?}");

        let lines = finished.agent_lines();
        let told = "lock= does not see platform threads wait for locks";
        assert_eq!(
            lines.iter().filter(|line| line.contains(told)).count(),
            1,
            "{lines:#?}"
        );
        let log = TruthLog::read(&dir.path().join("truth.log")).expect("the truth");
        let mut recording = Recording::read(&dir.path().join("out"))
            .unwrap_or_else(|error| panic!("{error:#}; {:#?}", finished.agent_lines()));
        Verdict::of(&recording, &log).assert_no_wrong_tag();
        // No span is left that began before the agent was there.
        let settled = log
            .spans
            .values()
            .filter(|span| span.start <= attached)
            .map(|span| span.end.unwrap_or(i64::MAX))
            .max()
            .expect("spans before the agent");
        recording
            .samples
            .retain(|sample| sample.window.0 >= settled);
        recording
            .windows
            .retain(|window| window.monotonic >= settled);
        let verdict = Verdict::of(&recording, &log);
        say(&format!(
            "attached to {}, once settled, {} ms later: {verdict}",
            jdk.version,
            settled.saturating_sub(attached) / 1_000_000
        ));
        let cpu = verdict.right * recording.grain();
        assert!(
            cpu > 500_000_000 && recording.windows.len() >= 2,
            "{cpu} ns of CPU, {} windows: {verdict}; {:#?}",
            recording.windows.len(),
            finished.agent_lines()
        );
        verdict.assert_untagged_at_most(0.01);
    }
}
