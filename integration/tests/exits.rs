//! A JVM ends as it would without the agent, however short it lives: same status, no crash file,
//! no hang.

use std::time::Duration;

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::workdir::WorkDir;

const EXITS: u32 = 15;

#[test]
fn short_lives_end_with_their_own_status_every_time() {
    for jdk in jdk::ends("exits") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("exits").expect("a folder");
        for i in 0..EXITS {
            let launch = Launch::new(&jdk)
                .agent("cpu=1000hz,out=out,service=s")
                .expect("the agent")
                .truth_program(["hello".to_owned(), format!("--exit={i}")])
                .expect("the program");
            let finished = Running::start(&launch, dir.path(), Duration::from_secs(30))
                .and_then(Running::wait)
                .expect("an end");
            assert_eq!(
                finished.status.code(),
                i32::try_from(i).ok(),
                "{finished:#?}"
            );
            assert_eq!(finished.stdout, "hello\n");
        }
        for entry in std::fs::read_dir(dir.path()).expect("a folder") {
            let name = entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name");
            assert!(!name.starts_with("hs_err"), "a crash on {}", jdk.version);
        }
    }
}
