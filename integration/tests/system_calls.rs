//! Signals break no system call: what is read is what was written, and no wait is over early, under thousands of
//! signals a second on each thread, those that wait in the kernel too.

use std::time::Duration;

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;

const CALLS: [&str; 10] = [
    "accept_timeout",
    "read_timeout",
    "datagram_timeout",
    "select_timeout",
    "sleep",
    "queue_timeout",
    "socket_stream",
    "pipe_stream",
    "file",
    "child",
];

#[test]
fn reads_accepts_polls_and_timeouts_give_what_they_would_without_signals() {
    for jdk in jdk::newest("system_calls") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("calls").expect("a folder");
        let launch = Launch::new(&jdk)
            .agent("stress=4000hz,out=out,every=60s,service=calls,shim=off")
            .expect("the agent")
            .plain_program("SystemCalls", ["4"])
            .expect("the program");
        let finished = Running::start(&launch, dir.path(), Duration::from_secs(120))
            .and_then(Running::wait)
            .and_then(Finished::success)
            .expect("a run");
        let failed: Vec<_> = finished
            .stdout
            .lines()
            .filter(|line| line.starts_with("failed"))
            .collect();
        assert!(failed.is_empty(), "on {}: {failed:#?}", jdk.version);
        let rounds: Vec<_> = CALLS
            .iter()
            .map(|call| format!("{call} {}", finished.figure(&format!("{call}_rounds"))))
            .collect();
        for call in CALLS {
            assert!(finished.figure(&format!("{call}_rounds")) > 0, "{call}");
        }
        let recording = Recording::read(&dir.path().join("out")).expect("a profile");
        say(&format!(
            "system calls on {}: {}, {} samples",
            jdk.version,
            rounds.join(", "),
            recording.count()
        ));
        assert!(recording.count() > 1_000, "{}", recording.count());
    }
}
