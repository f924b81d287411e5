//! The option string wins over the environment, and that over the file; what nobody sets has its
//! default.

use std::path::Path;
use std::time::Duration;

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::{Recording, files};
use vtprof_integration::workdir::WorkDir;

fn run(launch: Launch, dir: &Path) -> Finished {
    let launch = launch
        .truth_program(["single-core", "--seconds=1", "--kind=platform"])
        .expect("the program");
    Running::start(&launch, dir, Duration::from_secs(60))
        .and_then(Running::wait)
        .and_then(Finished::success)
        .expect("a run")
}

fn service_in(dir: &Path) -> String {
    let path = files(dir, "-cpu-").expect("a folder").remove(0);
    let name = path
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    name.split_once('-').expect("service-pid").0.to_owned()
}

#[test]
fn the_string_wins_over_the_environment_and_that_over_the_file() {
    let Some(jdk) = jdk::each("option_precedence").pop() else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("precedence").expect("a folder");
    let config = dir.path().join("vtprof.toml");
    std::fs::write(
        &config,
        "cpu = \"50hz\"\nout = \"file\"\nservice = \"file\"\n",
    )
    .expect("a file");
    let launch = Launch::new(&jdk)
        .agent(&format!("service=string,config={}", config.display()))
        .expect("the agent")
        .env("VTPROF_OPTS", "out=environment,service=environment");
    run(launch, dir.path());

    let out = dir.path().join("environment");
    assert_eq!(service_in(&out), "string");
    let recording = Recording::read(&out).expect("a profile");
    assert_eq!(recording.windows[0].period, 20_000_000, "50 Hz by the file");
    assert!(!dir.path().join("file").exists());
}

#[test]
fn a_configuration_file_can_be_named_in_the_environment_too() {
    let Some(jdk) = jdk::each("option_precedence").pop() else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("precedence").expect("a folder");
    std::fs::write(
        dir.path().join("vtprof.toml"),
        "service = \"file\"\nout = \"file\"\n",
    )
    .expect("a file");
    let launch = Launch::new(&jdk)
        .agent("")
        .expect("the agent")
        .env("VTPROF_OPTS", "config=vtprof.toml");
    run(launch, dir.path());
    assert_eq!(service_in(&dir.path().join("file")), "file");
}

#[test]
fn without_options_the_folder_is_vtprof_and_the_service_is_opentelemetrys_or_the_main_class() {
    let Some(jdk) = jdk::each("option_precedence").pop() else {
        return;
    };
    let _machine = Machine::turn();
    for (service, expected) in [(Some("shop"), "shop"), (None, "Truth")] {
        let dir = WorkDir::new("defaults").expect("a folder");
        let mut launch = Launch::new(&jdk).agent("").expect("the agent");
        if let Some(name) = service {
            launch = launch.env("OTEL_SERVICE_NAME", name);
        }
        let finished = run(launch, dir.path());
        let out = dir.path().join("vtprof");
        assert_eq!(service_in(&out), expected);
        assert_eq!(
            Recording::read(&out).expect("a profile").windows[0].period,
            10_000_000
        );
        let absolute = out.canonicalize().expect("a path").display().to_string();
        assert!(
            finished
                .agent_lines()
                .iter()
                .any(|line| line.contains(&absolute)),
            "nobody said where the files are: {}",
            finished.stderr
        );
    }
}
