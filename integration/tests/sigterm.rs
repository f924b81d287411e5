//! SIGTERM in the middle of the load leaves the last window behind, whole and under its final name.

use std::time::Duration;

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Machine, Running};
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::truth::TruthLog;
use vtprof_integration::truth_run::{Strategy, TruthRun};
use vtprof_integration::verdict::Verdict;
use vtprof_integration::workdir::WorkDir;

const ON_SIGTERM: i32 = 128 + 15;

#[test]
fn sigterm_leaves_the_last_profile() {
    for jdk in jdk::ends("sigterm") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("sigterm").expect("a folder");
        let launch = TruthRun::new(&jdk, "mix", Strategy::Auto)
            .seconds(600)
            .every("24h")
            .launch()
            .expect("the program");
        let mut running =
            Running::start(&launch, dir.path(), Duration::from_secs(60)).expect("a JVM");
        running.line("truth: mix").expect("the load");
        running.burn(Duration::from_secs(3)).expect("work");
        running.terminate().expect("a signal");
        let finished = running.wait().expect("an end");
        assert_eq!(finished.status.code(), Some(ON_SIGTERM), "{finished:#?}");

        let out = dir.path().join("out");
        let recording = Recording::read(&out).expect("the last window");
        let log = TruthLog::read(&dir.path().join("truth.log")).expect("the truth");
        let verdict = Verdict::of(&recording, &log);
        say(&format!("sigterm on {}: {verdict}", jdk.version));
        verdict.assert_no_wrong_tag();
        verdict.assert_all_named();
        assert!(verdict.right > 300, "{verdict}");
        for entry in std::fs::read_dir(&out).expect("a folder") {
            let name = entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name");
            assert!(name.ends_with(".pb.gz"), "left unfinished: {name}");
        }
    }
}
