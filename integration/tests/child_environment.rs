//! A child process inherits nothing of ours, and all that the user set.

use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::{Launch, PATIENCE};
use vtprof_integration::workdir::WorkDir;

const VARIABLE: &str = "OTEL_JAVAAGENT_EXTENSIONS";

fn children_of(launch: Launch, dir: &WorkDir) -> Finished {
    let launch = launch
        .jar(artifacts::truth_program().expect("the program"))
        .bare_truth_program(["child-environment"]);
    Running::start(&launch, dir.path(), Duration::from_secs(120))
        .and_then(Running::wait)
        .and_then(Finished::success)
        .expect("a run")
}

fn variable_of_child(finished: &Finished) -> Option<&str> {
    let prefix = format!("child: {VARIABLE}=");
    finished
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix(&prefix))
}

#[test]
fn a_child_process_sees_what_the_user_set_and_nothing_of_ours() {
    for jdk in jdk::newest("child_environment") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("child").expect("a folder");
        let library = artifacts::install(dir.path()).expect("agent and shim");
        let launch = || {
            Launch::new(&jdk)
                .agent_at(&library, "out=out")
                .javaagent()
                .expect("the javaagent")
        };

        let unset = children_of(launch(), &dir);
        assert!(unset.stdout.contains("child: PATH="), "{}", unset.stdout);
        // Of the agent's own variables it sees what the user has set, too.
        let users = format!("child: {}={}", PATIENCE.0, PATIENCE.1);
        assert!(unset.stdout.contains(&users), "{}", unset.stdout);
        let ours: Vec<&str> = unset
            .stdout
            .lines()
            .filter(|line| line.starts_with("child: "))
            .filter(|line| line.to_lowercase().contains("vtprof") || line.contains(VARIABLE))
            // The folder of this test run has our name in it.
            .filter(|line| !line.starts_with("child: PWD=") && !line.starts_with("child: OLDPWD="))
            .filter(|line| !line.starts_with("child: CARGO") && *line != users)
            .collect();
        assert!(ours.is_empty(), "on {}: {ours:#?}", jdk.version);

        let other = artifacts::other_extension().expect("the other extension");
        let set = children_of(launch().env(VARIABLE, &other), &dir);
        assert_eq!(
            variable_of_child(&set),
            Some(other.to_string_lossy().as_ref()),
            "on {}: the user's own value",
            jdk.version
        );
    }
}
