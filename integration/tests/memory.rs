//! The agent's own memory at its defaults: at most 64 MiB above the same service without it.

use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::Machine;
use vtprof_integration::launch::Launch;
use vtprof_integration::report::say;
use vtprof_integration::service::Service;
use vtprof_integration::workdir::WorkDir;

const LIMIT: u64 = 64 << 20;
const SECONDS: u32 = 15;

/// Resident bytes of the demo service after some load.
fn resident(jdk: &Jdk, with_agent: bool) -> u64 {
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
    let bytes = service.resident_bytes().expect("a size");
    service.stop().expect("an end");
    bytes
}

#[test]
fn the_agent_takes_at_most_64_mib() {
    let Some(jdk) = jdk::newest_virtual("memory") else {
        return;
    };
    let _machine = Machine::turn();
    let without = resident(&jdk, false);
    let with = resident(&jdk, true);
    say(&format!(
        "memory of the demo on {}: {} MiB without the agent, {} MiB with it",
        jdk.version,
        without >> 20,
        with >> 20
    ));
    assert!(with <= without + LIMIT, "{with} with, {without} without");
}
