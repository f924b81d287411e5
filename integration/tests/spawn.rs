//! A process with a large heap starts children under the fastest timer: a fork that is interrupted again and again
//! must end all the same, by each way the JDK knows.

use std::time::Duration;

use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;

const WAYS: [&str; 3] = ["POSIX_SPAWN", "VFORK", "FORK"];
/// Memory that must be there for the large heap, KiB.
const ROOM: u64 = 12 << 20;

fn available_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("/proc/meminfo");
    text.lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok())
        .expect("MemAvailable")
}

fn spawn(jdk: &Jdk, heap: &str, way: &str, count: u32, options: &str) {
    let dir = WorkDir::new("spawn").expect("a folder");
    let launch = Launch::new(jdk)
        .agent(&format!(
            "{options},out=out,every=60s,service=spawn,shim=off"
        ))
        .expect("the agent")
        .flags([format!("-Xms{heap}"), format!("-Xmx{heap}")])
        .flags(["-XX:+AlwaysPreTouch", "-XX:+UseParallelGC"])
        .flag(format!("-Djdk.lang.Process.launchMechanism={way}"))
        .plain_program("Spawner", [count.to_string()])
        .expect("the program");
    let finished = Running::start(&launch, dir.path(), Duration::from_secs(180))
        .and_then(Running::wait)
        .and_then(Finished::success)
        .expect("a run");
    let recording = Recording::read(&dir.path().join("out")).expect("a profile");
    say(&format!(
        "{count} children by {way} from {heap} on {}, {options}: longest start {} µs, {} samples",
        jdk.version,
        finished.figure("longest_us"),
        recording.count()
    ));
    assert_eq!(finished.figure("spawned"), u64::from(count));
    assert!(recording.count() > 5, "{}", recording.count());
}

#[test]
fn children_start_under_the_fastest_timers_by_each_way() {
    let _machine = Machine::turn();
    for (feature, ways) in [(17, &WAYS[2..]), (21, &WAYS[..1]), (25, &WAYS[..])] {
        if let Some(jdk) = jdk::of_feature(feature, "spawn") {
            for way in ways {
                spawn(&jdk, "256m", way, 10, "stress=5000hz");
            }
        }
    }
}

#[test]
fn children_start_from_a_heap_of_8_gib_under_1_khz() {
    let Some(jdk) = jdk::newest_virtual("spawn") else {
        return;
    };
    let _machine = Machine::turn();
    let available = available_kib();
    if available < ROOM {
        say(&format!(
            "SKIPPED children from a heap of 8 GiB: {} MiB of memory available, {} wanted",
            available >> 10,
            ROOM >> 10
        ));
        return;
    }
    for way in WAYS {
        spawn(&jdk, "8g", way, 10, "cpu=1000hz");
    }
    // Beyond what a user can ask for: the wall clock interrupts while the kernel copies page tables.
    spawn(&jdk, "8g", "FORK", 5, "stress=5000hz");
}
