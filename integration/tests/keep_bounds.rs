//! `keep` bounds what stays in the output folder by size and by age, oldest windows first, and
//! touches nothing of anybody else's.

use std::time::Duration;

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::{Recording, files};
use vtprof_integration::workdir::WorkDir;

const SECONDS: u32 = 8;

fn windows_left(keep: &str) -> (WorkDir, Recording) {
    let jdk = jdk::each("keep_bounds").pop().expect("a JDK");
    let _machine = Machine::turn();
    let dir = WorkDir::new("keep").expect("a folder");
    let out = dir.path().join("out");
    std::fs::create_dir(&out).expect("a folder");
    std::fs::write(out.join("notes.txt"), vec![0; 100_000]).expect("a file");
    let launch = Launch::new(&jdk)
        .agent(&format!("out=out,every=1s,service=s,keep={keep}"))
        .expect("the agent")
        .truth_program([
            "single-core".to_owned(),
            format!("--seconds={SECONDS}"),
            "--kind=platform".to_owned(),
        ])
        .expect("the program");
    Running::start(&launch, dir.path(), Duration::from_secs(90))
        .and_then(Running::wait)
        .and_then(Finished::success)
        .expect("a run");
    assert!(
        out.join("notes.txt").exists(),
        "a file of somebody else's is gone"
    );
    let recording = Recording::read(&out).expect("profiles");
    (dir, recording)
}

#[test]
fn the_size_of_what_stays_is_bounded() {
    let (unbounded, all) = windows_left("1GiB,1h");
    assert!(
        all.windows.len() >= 8,
        "{} windows in {SECONDS} s",
        all.windows.len()
    );
    let size = |dir: &WorkDir| -> u64 {
        let out = dir.path().join("out");
        ["-cpu-", "-spans-"]
            .iter()
            .flat_map(|kind| files(&out, kind).expect("a folder"))
            .map(|path| path.metadata().expect("a file").len())
            .sum()
    };
    let limit = size(&unbounded) / 2;
    let (bounded, some) = windows_left(&format!("{limit}"));
    assert!(
        size(&bounded) <= limit,
        "{} of {limit} bytes",
        size(&bounded)
    );
    assert!(some.windows.len() >= 2, "more went than had to");
    assert!(some.windows.len() < all.windows.len(), "none went");
    for pair in some.windows.windows(2) {
        let gap = pair[1].start - (pair[0].start + pair[0].duration);
        assert!(
            gap.abs() < 500_000_000,
            "{gap} ns between windows: not the oldest went"
        );
    }
}

#[test]
fn the_age_of_what_stays_is_bounded() {
    let (_dir, recording) = windows_left("2s");
    let newest = recording.windows.last().expect("a window");
    let oldest = &recording.windows[0];
    // Pruning happens when a window closes, so one more may still be there.
    let span = newest.start - oldest.start;
    assert!(span <= 4_000_000_000, "windows over {span} ns stayed");
}
