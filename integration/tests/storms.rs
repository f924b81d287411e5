//! Faults that the JVM turns into exceptions are still its own: stack overflows, null pointers and divisions by
//! zero are all caught in Java, with right results, under thousands of signals a second on each thread.

use std::time::Duration;

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;

#[test]
fn every_overflow_null_and_zero_is_caught_in_java() {
    for jdk in jdk::newest("storms") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("storms").expect("a folder");
        let launch = Launch::new(&jdk)
            .agent("stress=4000hz,out=out,every=60s,service=storms,shim=off")
            .expect("the agent")
            .plain_program("FaultStorms", ["4"])
            .expect("the program");
        let finished = Running::start(&launch, dir.path(), Duration::from_secs(120))
            .and_then(Running::wait)
            .and_then(Finished::success)
            .expect("a run");
        let recording = Recording::read(&dir.path().join("out")).expect("a profile");
        say(&format!(
            "storms on {}: {} overflows, {} rounds of nulls, {} of zeros, {} samples",
            jdk.version,
            finished.figure("overflow_rounds"),
            finished.figure("null_rounds"),
            finished.figure("zero_rounds"),
            recording.count()
        ));
        for kind in ["overflow", "null", "zero"] {
            assert!(finished.figure(&format!("{kind}_rounds")) >= 200);
            assert_eq!(
                finished.figure(&format!("{kind}_wrong")),
                0,
                "{kind}: {finished:#?}"
            );
        }
        assert!(recording.count() > 1_000, "{}", recording.count());
    }
}
