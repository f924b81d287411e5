//! The agent's own memory at its defaults: at most 64 MiB above the same service without it.

use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::Machine;
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::service::Service;
use vtprof_integration::workdir::WorkDir;

const LIMIT: u64 = 64 << 20;
const SECONDS: u32 = 15;

/// Service after service: what a JVM holds differs by tens of MiB from one run to the next, and what the agent adds is
/// there in each.
const PAIRS: usize = 3;

/// The demo service after some load.
struct Size {
    /// Its resident bytes that are no file's.
    resident: u64,
    /// What the agent says it holds, where there is one.
    held: Option<u64>,
}

fn size(jdk: &Jdk, with_agent: bool) -> Size {
    let dir = WorkDir::new("memory").expect("a folder");
    // A heap that is all there from the start, so that the collector's mood is no difference.
    let mut launch = Launch::new(jdk)
        .flags(["-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"])
        .javaagent()
        .expect("the javaagent");
    if with_agent {
        let library = artifacts::install(dir.path()).expect("agent and shim");
        launch = launch.agent_at(&library, "");
    }
    let limit = Duration::from_secs(u64::from(SECONDS) + 60);
    let service = Service::start(launch, dir.path(), limit).expect("a service");
    service.load(jdk, dir.path(), SECONDS).expect("answers");
    let resident = service.anonymous_bytes(jdk).expect("a size");
    service.stop().expect("an end");
    let held = with_agent.then(|| {
        let recording = Recording::read(&dir.path().join("vtprof")).expect("profiles");
        let held = recording.fact("agent.heap_bytes").expect("a figure");
        held.parse().expect("a number")
    });
    Size { resident, held }
}

#[test]
fn the_agent_takes_at_most_64_mib() {
    let Some(jdk) = jdk::newest_virtual("memory") else {
        return;
    };
    let _machine = Machine::turn();
    let mut differences = Vec::new();
    while differences.len() < PAIRS {
        let (without, with) = (size(&jdk, false), size(&jdk, true));
        let held = with.held.expect("an agent");
        say(&format!(
            "memory of the demo on {}: {} MiB without the agent, {} MiB with it, which says it holds {}",
            jdk.version,
            without.resident >> 20,
            with.resident >> 20,
            held >> 20
        ));
        assert!(held <= LIMIT, "the agent holds {held} bytes");
        let more = with.resident.saturating_sub(without.resident);
        if more <= LIMIT {
            return;
        }
        differences.push(more);
    }
    panic!("bytes more with the agent, pair by pair: {differences:?}");
}
