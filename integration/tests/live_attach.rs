//! Attached to a running JVM with the same options: the requests that begin afterwards are tagged,
//! none ever wrongly.

use std::time::Duration;

use vtprof_integration::attach::attach;
use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::truth::TruthLog;
use vtprof_integration::verdict::Verdict;
use vtprof_integration::workdir::WorkDir;

/// Requests last well under a second; after that many ns none is left that began before.
const SETTLED: i64 = 3_000_000_000;

#[test]
fn requests_that_begin_after_a_live_attach_are_tagged() {
    for jdk in jdk::each("live_attach") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("attach").expect("a folder");
        let launch = Launch::new(&jdk)
            .truth_program(["mix", "--seconds=12", "--log=truth.log"])
            .expect("the program");
        let mut running =
            Running::start(&launch, dir.path(), Duration::from_secs(120)).expect("a JVM");
        running.line("truth: mix").expect("the load");
        std::thread::sleep(Duration::from_secs(1));
        // The JVM attached to resolves `out` by its own working directory.
        attach(
            &jdk,
            running.pid(),
            "cpu=1000hz,out=out,every=1s,service=truth,log=debug",
        );
        let finished = running.wait().and_then(Finished::success).expect("an end");

        let log = TruthLog::read(&dir.path().join("truth.log")).expect("the truth");
        let mut recording = Recording::read(&dir.path().join("out"))
            .unwrap_or_else(|error| panic!("{error:#}; {:#?}", finished.agent_lines()));
        Verdict::of(&recording, &log).assert_no_wrong_tag();
        let settled = recording.windows[0].monotonic + SETTLED;
        recording
            .samples
            .retain(|sample| sample.window.0 >= settled);
        let verdict = Verdict::of(&recording, &log);
        say(&format!(
            "attached to {}, once settled: {verdict}",
            jdk.version
        ));
        assert!(
            verdict.right > 500,
            "{verdict}; {:#?}",
            finished.agent_lines()
        );
        verdict.assert_untagged_at_most(0.01);
    }
}
