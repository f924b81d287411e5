//! `vtprof attach` and `vtprof run` with real JVMs: they are profiled, and nothing that is not to be profiled is harmed.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Machine, Running};
use vtprof_integration::launch::{Launch, PATIENCE};
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::tool::{NOBODY, failure, stdout, tool};
use vtprof_integration::workdir::WorkDir;

const LIMIT: Duration = Duration::from_secs(60);

fn attach(dir: &Path, pid: u32, args: &[&str]) -> Output {
    let mut command = tool();
    command.current_dir(dir).arg("attach").arg(pid.to_string());
    if !args.contains(&"--control") {
        command
            .arg("--agent")
            .arg(artifacts::agent().expect("the agent"));
    }
    command.args(args).output().expect("vtprof starts")
}

/// A JVM that burns CPU time, without the agent.
fn load(jdk: &Jdk, dir: &Path) -> Running {
    let launch = Launch::new(jdk)
        .truth_program(["mix", "--seconds=600", "--threads=4", "--log=truth.log"])
        .expect("the program");
    let mut running = Running::start(&launch, dir, LIMIT).expect("a JVM");
    running.line("truth: mix").expect("the load");
    running
}

/// A JVM that waits, with these flags.
fn idle(jdk: &Jdk, dir: &Path, flags: &[&str]) -> Running {
    let launch = Launch::new(jdk)
        .flags(flags)
        .plain_program("Idle", ["600", "2"])
        .expect("the program");
    let mut running = Running::start(&launch, dir, LIMIT).expect("a JVM");
    running.line("idle=").expect("it waits");
    running
}

fn files(text: &str) -> Vec<PathBuf> {
    text.lines().map(PathBuf::from).collect()
}

#[test]
fn a_jvm_is_recorded_for_a_while_then_again_and_has_no_timer_afterwards() {
    for jdk in jdk::each("attach") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("attach-tool").expect("a folder");
        let running = load(&jdk, dir.path());
        let pid = running.pid();
        let options = ["--options", "cpu=100hz,service=truth", "--out", "out"];
        let recorded = attach(dir.path(), pid, &[&options[..], &["--for", "2s"]].concat());
        let first = files(&stdout(&recorded));
        assert!(!first.is_empty(), "{recorded:?}");
        let out = dir.path().join("out");
        for file in &first {
            assert!(
                file.is_file() && file.starts_with(&out),
                "{}",
                file.display()
            );
        }
        let recording = Recording::read(&out).expect("profiles");
        assert!(recording.count() > 20, "{} samples", recording.count());

        let status = stdout(&attach(dir.path(), pid, &["--control", "status"]));
        assert!(
            status.contains(" status=stopped ") && status.contains(" timers=0 "),
            "{status}"
        );

        let refused = failure(&attach(dir.path(), pid, &options));
        assert!(
            refused.contains("is in process") && refused.contains("--control start"),
            "{refused}"
        );

        let again = attach(dir.path(), pid, &["--control", "start", "--for", "1s"]);
        let second = files(&stdout(&again));
        assert!(!second.is_empty(), "{again:?}");
        for file in &second {
            assert!(
                file.is_file() && !first.contains(file),
                "{}",
                file.display()
            );
        }
        running.terminate().expect("a signal");
        let finished = running.wait().expect("an end");
        assert_eq!(finished.status.code(), Some(128 + 15), "{finished:#?}");
    }
}

#[test]
fn an_interrupted_recording_is_stopped_and_written() {
    let Some(jdk) = jdk::newest_virtual("attach_interrupted") else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("attach-interrupt").expect("a folder");
    let mut running = load(&jdk, dir.path());
    let recorder = tool()
        .current_dir(dir.path())
        .args([
            "attach",
            &running.pid().to_string(),
            "--for",
            "10m",
            "--out",
            "out",
            "--agent",
        ])
        .arg(artifacts::agent().expect("the agent"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("vtprof starts");
    let said = format!("/proc/{}/fd/2", running.pid());
    running
        .until("the agent was there", || {
            fs::read_to_string(&said).is_ok_and(|said| said.contains(" profiles CPU "))
        })
        .expect("the agent");
    running.burn(Duration::from_secs(1)).expect("the load");
    // SAFETY: a signal to a child that is not waited for yet.
    unsafe { libc::kill(recorder.id() as libc::pid_t, libc::SIGINT) };
    let recorded = recorder.wait_with_output().expect("an end");
    let written = files(&stdout(&recorded));
    assert!(
        written.iter().all(|file| file.is_file()) && !written.is_empty(),
        "{recorded:?}"
    );
    let status = stdout(&attach(dir.path(), running.pid(), &["--control", "status"]));
    assert!(status.contains(" status=stopped "), "{status}");
}

#[test]
fn what_is_no_jvm_gets_no_signal() {
    let dir = WorkDir::new("attach-refused").expect("a folder");
    let mut sleeper = Command::new("sleep").arg("600").spawn().expect("sleep");
    let refused = failure(&attach(dir.path(), sleeper.id(), &[]));
    assert!(refused.contains("(sleep) is no HotSpot JVM"), "{refused}");
    assert!(lives(&mut sleeper), "it was ended");
    sleeper.kill().expect("a kill");
    // Not reaped yet.
    let zombie = || failure(&attach(dir.path(), sleeper.id(), &[]));
    let mut refused = zombie();
    // The kernel takes its time.
    while refused.contains("is no HotSpot JVM") {
        refused = zombie();
    }
    assert!(refused.contains("has ended"), "{refused}");
    let pid = sleeper.id();
    sleeper.wait().expect("an end");
    let refused = failure(&attach(dir.path(), pid, &[]));
    assert!(
        refused.contains(&format!("there is no process {pid}")),
        "{refused}"
    );
}

fn lives(child: &mut Child) -> bool {
    std::thread::sleep(Duration::from_millis(100));
    child.try_wait().expect("a state").is_none()
}

#[test]
fn a_jvm_that_does_not_catch_the_signal_or_takes_no_requests_gets_none() {
    let Some(jdk) = jdk::newest_virtual("attach_no_signal") else {
        return;
    };
    let _machine = Machine::turn();
    // The first listens from its start and needs no signal, which would end it.
    for (flag, refused) in [
        ("-Xrs", None),
        ("-XX:+DisableAttachMechanism", Some("takes no requests")),
    ] {
        let dir = WorkDir::new("attach-deaf").expect("a folder");
        let mut running = idle(&jdk, dir.path(), &[flag]);
        let output = attach(dir.path(), running.pid(), &[]);
        match refused {
            Some(part) => assert!(failure(&output).contains(part), "{output:?}"),
            None => assert!(stdout(&output).contains("is profiled"), "{output:?}"),
        }
        std::thread::sleep(Duration::from_millis(100));
        assert!(
            !running.has_ended().expect("a state"),
            "{flag}: it was ended"
        );
        let said = running.stdout().expect("its output");
        assert!(!said.contains("Full thread dump"), "{flag}: {said}");
    }
}

#[test]
fn what_the_jvm_or_the_agent_refuses_is_told_in_a_line() {
    let Some(jdk) = jdk::newest_virtual("attach_refused") else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("attach-options").expect("a folder");
    let running = idle(&jdk, dir.path(), &[]);
    let refused = failure(&attach(
        dir.path(),
        running.pid(),
        &["--options", "cpu=fast"],
    ));
    assert!(refused.contains("\"fast\""), "{refused}");
    // It is gone again, and may come with better ones.
    let refused = failure(&attach(dir.path(), running.pid(), &["--control", "stop"]));
    assert!(refused.contains("libvtprof.so is not in"), "{refused}");
    let answer = stdout(&attach(dir.path(), running.pid(), &["--out", "out"]));
    assert!(answer.contains("is profiled"), "{answer}");
    drop(running);
    let running = idle(&jdk, dir.path(), &[]);
    let text = dir.path().join("libvtprof.so");
    fs::write(&text, "no library").expect("a file");
    let output = tool()
        .args(["attach", &running.pid().to_string(), "--agent"])
        .arg(&text)
        .output()
        .expect("vtprof starts");
    assert!(
        failure(&output).contains("cannot load the agent"),
        "{output:?}"
    );
    drop(running);

    let running = idle(&jdk, dir.path(), &["-XX:-EnableDynamicAgentLoading"]);
    let refused = failure(&attach(dir.path(), running.pid(), &[]));
    assert!(refused.contains("EnableDynamicAgentLoading"), "{refused}");
}

#[test]
fn another_user_is_told_whose_process_it_is() {
    // SAFETY: no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        say("SKIPPED another_user_is_told_whose_process_it_is: only root can be another user");
        return;
    }
    let dir = WorkDir::new("attach-user").expect("a folder");
    let mut sleeper = Command::new("sleep").arg("600").spawn().expect("sleep");
    // Copied to where that user may run it.
    let folder = tempfile::Builder::new()
        .tempdir_in("/tmp")
        .expect("a folder");
    let copy = folder.path().join("vtprof");
    fs::copy(artifacts::tool().expect("the tool"), &copy).expect("a copy");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open).expect("permissions");
    let library = folder.path().join("libvtprof.so");
    fs::write(&library, "").expect("a file");
    let output = Command::new(copy)
        .current_dir("/")
        .args(["attach", &sleeper.id().to_string()])
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("vtprof starts");
    let refused = failure(&output);
    assert!(
        refused.contains("belongs to user 0, this is user 65534"),
        "{refused}"
    );
    sleeper
        .kill()
        .and_then(|()| sleeper.wait())
        .expect("an end");
    drop(dir);
}

#[test]
fn a_jvm_with_files_of_its_own_is_told_what_to_copy_and_then_profiled() {
    let Some(jdk) = jdk::newest_virtual("attach_container") else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("attach-mounts").expect("a folder");
    // A /tmp of its own, as systemd gives it; where the agent lies, and the JVM works, is another folder.
    let work = tempfile::Builder::new()
        .prefix("vtprof-mounts-")
        .tempdir_in("/var/tmp")
        .expect("a folder");
    let agent = dir.path().join("libvtprof.so");
    fs::copy(artifacts::agent().expect("the agent"), &agent).expect("a copy");
    let program = artifacts::truth_program_in(work.path()).expect("a copy");
    let script = "mount -t tmpfs none /tmp && touch own && exec \"$@\"";
    let mut jvm = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(jdk.home.join("bin/java"))
        .arg("-cp")
        .arg(&program)
        .args(["io.vtprof.truth.Idle", "600", "2"])
        .env(PATIENCE.0, PATIENCE.1)
        .current_dir(work.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("unshare");
    let own = work.path().join("own");
    while !own.exists() {
        if jvm.try_wait().expect("a state").is_some() {
            say("SKIPPED a_jvm_with_files_of_its_own: mounts cannot be unshared here");
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let attach = |agent: &Path, more: &[&str]| {
        tool()
            .current_dir(work.path())
            .args(["attach", &jvm.id().to_string(), "--agent"])
            .arg(agent)
            .args(more)
            .output()
            .expect("vtprof starts")
    };
    let mut refused = failure(&attach(&agent, &[]));
    // Until it is a JVM that has begun.
    while refused.contains("is no HotSpot JVM") || refused.contains("just starting") {
        refused = failure(&attach(&agent, &[]));
    }
    let its_tmp = format!("/proc/{}/root/tmp", jvm.id());
    let named = format!("'{}'", agent.display());
    assert!(
        refused.contains("files of its own")
            && refused.contains(&named)
            && refused.contains("docker cp")
            && !refused.contains(&its_tmp),
        "{refused}"
    );
    fs::copy(&agent, Path::new(&its_tmp).join("libvtprof.so")).expect("a copy");
    let mut recorded = attach(
        Path::new("/tmp/libvtprof.so"),
        &["--for", "2s", "--out", "/tmp/out"],
    );
    while String::from_utf8_lossy(&recorded.stderr).contains("just starting") {
        recorded = attach(
            Path::new("/tmp/libvtprof.so"),
            &["--for", "2s", "--out", "/tmp/out"],
        );
    }
    let written = files(&stdout(&recorded));
    assert!(!written.is_empty(), "{recorded:?}");
    for file in &written {
        assert!(
            file.starts_with(&its_tmp) && file.is_file(),
            "{}",
            file.display()
        );
    }
    jvm.kill().and_then(|()| jvm.wait()).expect("an end");
}

fn run(dir: &Path, args: &[&str], command: &[&Path]) -> Command {
    let mut tool = tool();
    tool.current_dir(dir)
        .arg("run")
        .arg("--agent")
        .arg(artifacts::agent().expect("the agent"))
        .args(args)
        .arg("--")
        .args(command)
        .env(PATIENCE.0, PATIENCE.1)
        .env_remove("JAVA_TOOL_OPTIONS");
    tool
}

#[test]
fn a_jvm_that_is_run_has_its_own_end_and_leaves_its_files_where_that_was_said() {
    for jdk in jdk::ends("run") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("run-tool").expect("a folder");
        let java = jdk.home.join("bin/java");
        let jar = artifacts::truth_program().expect("the program");
        let script = dir.path().join("start.sh");
        fs::write(&script, "exec \"$@\"\n").expect("a script");
        let words = |class: &'static str| {
            [
                java.as_path(),
                Path::new("-cp"),
                jar.as_path(),
                Path::new(class),
                Path::new("1"),
                Path::new("2"),
            ]
        };
        // By argument, and by the variable.
        for prefix in [&[][..], &[Path::new("sh"), script.as_path()]] {
            let out = format!("out{}", prefix.len());
            let command = [prefix, &words("io.vtprof.truth.Idle")].concat();
            let args = ["--options", "cpu=1000hz,service=run", "--out", out.as_str()];
            let output = run(dir.path(), &args, &command)
                .output()
                .expect("it starts");
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{output:?}");
            let out = dir.path().join(out);
            assert!(
                text.contains(&format!("profiles appear in {}", out.display())),
                "{text}"
            );
            let by_variable = text.contains("Picked up JAVA_TOOL_OPTIONS");
            assert_eq!(by_variable, !prefix.is_empty(), "{text}");
            let recording = Recording::read(&out).expect("profiles");
            assert!(recording.count() > 0, "{text}");
        }
        let missing = run(dir.path(), &[], &words("io.vtprof.truth.NotThere"));
        let status = { missing }
            .stderr(Stdio::null())
            .status()
            .expect("it starts");
        assert_eq!(status.code(), Some(1));
    }
    let dir = WorkDir::new("run-nothing").expect("a folder");
    let nothing = run(dir.path(), &[], &[Path::new("/does/not/exist/java")]).output();
    let output = nothing.expect("vtprof starts");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("/does/not/exist/java: No such file"),
        "{text}"
    );
}

#[test]
fn a_signal_to_what_was_run_is_the_jvms() {
    let Some(jdk) = jdk::newest_virtual("run_signal") else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("run-signal").expect("a folder");
    let java = jdk.home.join("bin/java");
    let jar = artifacts::truth_program().expect("the program");
    let words = [
        java.as_path(),
        Path::new("-cp"),
        jar.as_path(),
        Path::new("io.vtprof.truth.Idle"),
        Path::new("600"),
        Path::new("2"),
    ];
    let log = dir.path().join("stdout.txt");
    let mut child = run(dir.path(), &["--out", "out"], &words)
        .stdout(fs::File::create(&log).expect("a file"))
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    while !fs::read_to_string(&log)
        .expect("its output")
        .contains("idle=")
    {
        assert!(child.try_wait().expect("a state").is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    // SAFETY: a signal to a child that is not waited for yet.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    let status = child.wait().expect("an end");
    assert_eq!(status.code(), Some(128 + 15), "{status}");
}
