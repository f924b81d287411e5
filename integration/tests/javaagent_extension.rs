//! The shim reaches the javaagent by every way a user may choose, and takes nothing away from them:
//! either order of the flags, by hand, beside an extension of their own.

use std::path::Path;
use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::truth::TruthLog;
use vtprof_integration::verdict::Verdict;
use vtprof_integration::workdir::WorkDir;

const OPTIONS: &str = "cpu=1000hz,out=out,service=truth";
const OTHER_LOADED: &str = "other extension: loaded";

/// Runs the truth program with the OpenTelemetry of the javaagent, and holds it to the rule.
fn tagged(what: &str, jdk: &Jdk, prepare: impl FnOnce(Launch, &Path) -> Launch) -> Finished {
    let _machine = Machine::turn();
    let dir = WorkDir::new("extension").expect("a folder");
    let launch = prepare(Launch::new(jdk), dir.path())
        .jar(artifacts::truth_program().expect("the program"))
        .bare_truth_program([
            "mix",
            "--seconds=2",
            "--work=2000",
            "--otel=agent",
            "--log=truth.log",
        ]);
    let finished = Running::start(&launch, dir.path(), Duration::from_secs(120))
        .and_then(Running::wait)
        .and_then(Finished::success)
        .unwrap_or_else(|error| panic!("{what}: {error:#}"));
    let log = TruthLog::read(&dir.path().join("truth.log")).expect("the truth");
    let recording = Recording::read(&dir.path().join("out"))
        .unwrap_or_else(|error| panic!("{what}: {error:#}; {:#?}", finished.agent_lines()));
    let verdict = Verdict::of(&recording, &log);
    say(&format!("{what} on {}: {verdict}", jdk.version));
    verdict.assert_no_wrong_tag();
    verdict.assert_untagged_at_most(0.01);
    assert!(
        verdict.right > 200,
        "{what}: {verdict}\n{}",
        finished.stderr
    );
    finished
}

fn installed(dir: &Path) -> std::path::PathBuf {
    artifacts::install(dir).expect("agent and shim")
}

fn extensions_flag(jar: &Path) -> String {
    format!("-Dotel.javaagent.extensions={}", jar.display())
}

#[test]
fn the_shim_is_found_beside_the_agent_whichever_flag_comes_first() {
    for jdk in jdk::each("javaagent_extension") {
        tagged("agentpath first", &jdk, |launch, dir| {
            launch
                .agent_at(&installed(dir), OPTIONS)
                .javaagent()
                .expect("the javaagent")
        });
        tagged("javaagent first", &jdk, |launch, dir| {
            launch
                .javaagent()
                .expect("the javaagent")
                .agent_at(&installed(dir), OPTIONS)
        });
    }
}

#[test]
fn the_shim_can_be_named_by_hand_where_it_is_not_beside_the_agent() {
    let Some(jdk) = jdk::newest_virtual("javaagent_extension") else {
        return;
    };
    tagged("by hand", &jdk, |launch, _| {
        launch
            .agent(&format!("{OPTIONS},shim=off"))
            .expect("the agent")
            .javaagent()
            .expect("the javaagent")
            .flag(extensions_flag(&artifacts::shim().expect("the shim")))
    });
}

#[test]
fn the_shim_named_by_hand_and_found_beside_the_agent_is_loaded_once() {
    let Some(jdk) = jdk::newest_virtual("javaagent_extension") else {
        return;
    };
    tagged("both ways", &jdk, |launch, dir| {
        let library = installed(dir);
        let shim = dir.join("vtprof-dist/vtprof-otel.jar");
        launch
            .agent_at(&library, OPTIONS)
            .javaagent()
            .expect("the javaagent")
            .flag(extensions_flag(&shim))
    });
}

#[test]
fn an_extension_of_the_users_own_stays_whichever_way_it_is_named() {
    let Some(jdk) = jdk::newest_virtual("javaagent_extension") else {
        return;
    };
    let other = artifacts::other_extension().expect("the other extension");
    let by_property = tagged("other by property", &jdk, |launch, dir| {
        launch
            .agent_at(&installed(dir), OPTIONS)
            .javaagent()
            .expect("the javaagent")
            .flag(extensions_flag(&other))
    });
    assert!(
        by_property.stdout.contains(OTHER_LOADED),
        "{}",
        by_property.stdout
    );

    let by_environment = tagged("other by environment", &jdk, |launch, dir| {
        launch
            .agent_at(&installed(dir), OPTIONS)
            .javaagent()
            .expect("the javaagent")
            .env("OTEL_JAVAAGENT_EXTENSIONS", &other)
    });
    assert!(
        by_environment.stdout.contains(OTHER_LOADED),
        "{}",
        by_environment.stdout
    );
}
