//! Time in HotSpot's stubs (hashes, ciphers, copies, checksums) is charged to the method that called them, on
//! virtual threads to their whole stack; to a wrong one never.

use std::collections::BTreeMap;
use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;

/// CPU time that the program burns, and how long it may take.
const CPU_SECONDS: u64 = 8;
const LIMIT: Duration = Duration::from_secs(300);
const PROGRAM: &str = "io.vtprof.truth.StubBurner.";
/// Levels of recursion, as in `StubBurner.java`.
const LEVELS: usize = 24;

/// Which method's work a stub is, by its name; `None` for helpers of all: copies, barriers, calls by table.
fn burnt_by(stub: &str) -> Option<&'static str> {
    let stub = stub.to_lowercase();
    [
        ("sha256", "burnSha256"),
        ("sha1", "burnSha1"),
        ("md5", "burnMd5"),
        ("aes", "burnAes"),
        ("updatebytescrc32c", "burnCrc32c"),
        ("updatebytescrc32", "burnCrc32"),
    ]
    .into_iter()
    .find(|(work, _)| stub.contains(work))
    .map(|(_, burn)| burn)
}

/// Whether that stub's code may be run for that method.
fn may_call(burn: &str, stub: &str) -> bool {
    match burnt_by(stub) {
        Some(own) => burn == own,
        // Checksums of an array use nothing else.
        None => !(burn.starts_with("burnCrc32") && stub.contains("copy")),
    }
}

/// What is wrong with the stack of a virtual thread, by the names of its frames.
fn fault(names: &[&str]) -> Option<String> {
    let own: Vec<&str> = names
        .iter()
        .filter_map(|name| name.strip_prefix(PROGRAM))
        .collect();
    let rest = own.iter().find_map(|name| name.strip_prefix("rest"))?;
    let climbs = own.iter().filter(|name| **name == "climb").count();
    if names.last() != Some(&"jdk.internal.vm.Continuation.enter") {
        return names
            .last()
            .filter(|name| !name.starts_with("[truncated"))
            .map(|name| format!("ends in {name}"));
    }
    let is_right = own.contains(&"work")
        && climbs <= LEVELS
        // Level n is called by LEVELS - n others.
        && rest.parse() == Ok((LEVELS + 1 - climbs) % 4);
    (!is_right).then(|| format!("{climbs} levels below rest{rest}"))
}

#[test]
fn time_in_stubs_is_charged_to_the_method_that_called_them_and_to_no_other() {
    for feature in [17, 21, 25] {
        let Some(jdk) = jdk::of_feature(feature, "stubs") else {
            continue;
        };
        let _machine = Machine::turn();
        let dir = WorkDir::new("stubs").expect("a folder");
        let launch = Launch::new(&jdk)
            .agent("cpu=1000hz,out=out,every=60s,service=stubs,log=debug")
            .expect("the agent")
            .flag("-Xmx256m")
            .flag("-XX:CompileCommand=quiet")
            .flag("-XX:CompileCommand=dontinline,io.vtprof.truth.StubBurner::burn*")
            .flag("-XX:CompileCommand=dontinline,io.vtprof.truth.StubBurner::rest*")
            .jar(artifacts::truth_program().expect("the program"))
            .program([
                "io.vtprof.truth.StubBurner".to_owned(),
                CPU_SECONDS.to_string(),
            ]);
        let finished = Running::start(&launch, dir.path(), LIMIT)
            .and_then(Running::wait)
            .and_then(Finished::success)
            .expect("a run");
        let recording = Recording::read(&dir.path().join("out")).expect("a profile");
        let counter = |name| recording.counter(name).unwrap_or(0);
        let (met, walked) = (counter("stubs.interrupted"), counter("stubs.walked"));
        let failed = counter("failed.unknown_java");

        let mut by_stub: BTreeMap<String, u64> = BTreeMap::new();
        let mut failed_on: BTreeMap<String, u64> = BTreeMap::new();
        let (mut whole, mut virtual_all) = (0, 0);
        for sample in &recording.samples {
            let names: Vec<&str> = sample.frames.iter().map(|name| &**name).collect();
            if names[0] == "[failed: unknown_java]" {
                let thread = sample.thread.as_deref().unwrap_or("none");
                *failed_on.entry(thread.to_owned()).or_default() += sample.count;
            }
            let Some(stub) = names[0].strip_prefix("[stub: ") else {
                assert_ne!(names[0], "[stub]", "each stub has a name");
                continue;
            };
            let stub = stub.trim_end_matches(']');
            let burn = names
                .iter()
                .filter_map(|name| name.strip_prefix(PROGRAM))
                .find(|name| name.starts_with("burn"));
            if let Some(burn) = burn {
                assert!(may_call(burn, stub), "{stub} is not {burn}'s: {names:?}");
                *by_stub.entry(format!("{burn} < {stub}")).or_default() += sample.count;
            }
            if names
                .iter()
                .any(|name| name.starts_with("io.vtprof.truth.StubBurner.rest"))
            {
                assert_eq!(fault(&names), None, "{names:?}");
                virtual_all += sample.count;
                if names.last() == Some(&"jdk.internal.vm.Continuation.enter") {
                    whole += sample.count;
                }
            }
        }
        say(&format!(
            "stubs on {}: {met} samples in stubs, {walked} walked from their caller, {failed} still failed {failed_on:?}, of {}; {whole} of {virtual_all} on virtual threads whole; {by_stub:?}",
            jdk.version,
            recording.count()
        ));
        let attributed: u64 = by_stub.values().sum();
        assert!(
            walked * 10 >= met * 9,
            "{walked} of {met}: {:?}",
            finished.agent_lines()
        );
        assert!(failed * 10 <= walked, "{failed} failed, {walked} walked");
        assert!(
            attributed > recording.count() / 4,
            "{attributed} of {}",
            recording.count()
        );
        for burn in ["burnSha256", "burnAes", "burnCopy < jbyte", "burnCrc32 "] {
            assert!(
                by_stub.keys().any(|key| key.starts_with(burn)),
                "{burn}: {by_stub:?}"
            );
        }
        if feature >= 24 {
            assert!(
                virtual_all > 20 && whole * 2 > virtual_all,
                "{whole} of {virtual_all}"
            );
        }
    }
}
