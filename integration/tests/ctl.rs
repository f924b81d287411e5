//! `vtprof ctl`, the Java API and the budget: what is switched and set while a JVM runs is what happens, its books stay
//! exact, and nobody who may not ask, or asks badly, is heard.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Machine, Running};
use vtprof_integration::launch::{Launch, PATIENCE};
use vtprof_integration::recording::{Recording, files};
use vtprof_integration::report::say;
use vtprof_integration::soak::ledger::Ledger;
use vtprof_integration::tool::{NOBODY, failure, stdout, tool};
use vtprof_integration::workdir::WorkDir;

const LIMIT: Duration = Duration::from_secs(120);
/// CPU time that is burnt under each rate.
const BURN: Duration = Duration::from_secs(4);

fn ctl(pid: u32, words: &[&str]) -> Output {
    let mut command = tool();
    command.arg("ctl").arg(pid.to_string()).args(words);
    command.output().expect("vtprof starts")
}

/// Of a status as JSON, the number under a key, wherever that stands.
fn number(status: &str, key: &str) -> u64 {
    let (_, rest) = status
        .split_once(&format!("\"{key}\": "))
        .unwrap_or_else(|| panic!("no {key} in {status}"));
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..digits].parse().expect("a number")
}

fn load(jdk: &Jdk, dir: &Path, options: &str) -> Running {
    let launch = Launch::new(jdk)
        .agent(options)
        .expect("the agent")
        .truth_program(["mix", "--seconds=600", "--threads=4", "--log=truth.log"])
        .expect("the program");
    let mut running = Running::start(&launch, dir, LIMIT).expect("a JVM");
    running.line("truth: mix").expect("the load");
    running
}

#[test]
fn rates_are_set_and_windows_dumped_under_load_and_every_expiry_stays_in_the_books() {
    for jdk in jdk::ends("ctl") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("ctl").expect("a folder");
        let out = dir.path().join("out");
        let options = "cpu=10ms,wall=20ms,alloc=512k,blocked=10ms,every=24h,out=out,service=truth";
        let mut running = load(&jdk, dir.path(), options);
        let pid = running.pid();
        let mut wanted: Vec<i64> = Vec::new();
        let mut period_ms = 10;
        for (rate, next_ms) in [("cpu=40ms", 40), ("cpu=200hz", 5), ("cpu=20ms", 20)] {
            running.burn(BURN).expect("work");
            wanted.push(period_ms);
            let said = stdout(&ctl(pid, &["set", rate, "wall=30ms", "alloc=1m"]));
            assert!(
                said.contains(&format!("cpu={next_ms}ms (was {period_ms}ms)")),
                "{said}"
            );
            period_ms = next_ms;
        }
        running.burn(BURN).expect("work");
        wanted.push(period_ms);
        let pattern = stdout(&ctl(pid, &["dump"]));
        let dumped = PathBuf::from(pattern.trim_end().replace('*', "cpu"));
        assert!(dumped.is_file() && dumped.starts_with(&out), "{pattern}");
        let status = stdout(&ctl(pid, &["status", "--json"]));
        assert!(status.contains("\"state\": \"running\""), "{status}");
        assert!(number(&status, "samples.taken") > 100, "{status}");

        // Off is off, and nothing else is; on again as if nothing had been.
        stdout(&ctl(pid, &["set", "cpu=off", "every=23h"]));
        // From the dump up to here.
        wanted.push(period_ms);
        let before = number(&stdout(&ctl(pid, &["status", "--json"])), "samples.taken");
        running.burn(BURN).expect("work");
        let after = number(&stdout(&ctl(pid, &["status", "--json"])), "samples.taken");
        assert_eq!(before, after, "samples while cpu=off");
        stdout(&ctl(pid, &["stop"]));
        assert!(stdout(&ctl(pid, &["status"])).contains("stopped"));
        let refused = failure(&ctl(pid, &["dump"]));
        assert!(refused.contains("start goes on"), "{refused}");
        stdout(&ctl(pid, &["set", "cpu=10ms"]));
        stdout(&ctl(pid, &["start"]));
        running.burn(BURN).expect("work");
        wanted.push(10);
        for (words, part) in [
            (&["set", "lock=1ms"][..], "load it with lock="),
            (&["set", "out=/tmp"], "\"out\""),
            (&["set", "cpu=9000hz"], "1000hz"),
            (
                &["set", "cpu=off", "wall=off", "alloc=off", "blocked=off"],
                "stop does that",
            ),
        ] {
            let refused = failure(&ctl(pid, words));
            assert!(refused.contains(part), "{words:?}: {refused}");
        }
        running.terminate().expect("a signal");
        running.wait().expect("an end");

        let mut ledger = Ledger::default();
        let mut seen = Vec::new();
        for file in files(&out, "-cpu-").expect("files") {
            let recording = Recording::read_file(&file).expect("a profile");
            ledger.add(&recording);
            let window = &recording.windows[0];
            let fact = |key: &str| window.facts[key].parse::<f64>().expect("a figure");
            let used = fact("process.cpu_ns") - fact("agent.thread_cpu_ns");
            seen.push(window.period / 1_000_000);
            // Between the dump and the change after it: how much that is, the agent's rest after a request decides.
            if used < BURN.as_nanos() as f64 / 2.0 {
                continue;
            }
            let share = recording.nanos() as f64 / used;
            say(&format!(
                "ctl on {}: period {} ms: {} samples stand for {:.3} of {:.2} s",
                jdk.version,
                window.period / 1_000_000,
                recording.count(),
                share,
                used / 1e9
            ));
            assert!((0.85..1.15).contains(&share), "{}: {share}", file.display());
        }
        // While cpu=off the books stand in the next kind's file.
        assert_eq!(seen, wanted);
        say(&format!("ctl on {}: {ledger}", jdk.version));
        assert_eq!(ledger.faults(), Vec::<String>::new(), "{ledger}");
    }
}

/// The JVM's socket.
fn socket(pid: u32) -> Option<PathBuf> {
    let entries = fs::read_dir(format!("/tmp/vtprof-{}", user())).ok()?;
    let start = format!("{pid}-");
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(&start))
        })
}

fn user() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::geteuid() }
}

#[test]
fn who_may_not_ask_or_asks_badly_is_not_heard_and_does_no_harm() {
    let Some(jdk) = jdk::each("ctl_clients").into_iter().next() else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("ctl-clients").expect("a folder");
    let mut running = load(&jdk, dir.path(), "cpu=10ms,every=24h,out=out,service=truth");
    let pid = running.pid();
    stdout(&ctl(pid, &["status"]));
    let path = socket(pid).expect("a socket");
    let folder = path.parent().expect("a folder");
    assert_eq!(
        fs::metadata(folder).expect("it").permissions().mode() & 0o777,
        0o700
    );
    assert!(fs::metadata(&path).expect("it").file_type().is_socket());

    if user() == 0 {
        // A copy that others can start.
        let copied = tempfile::Builder::new()
            .prefix("vtprof-ctl-")
            .tempdir()
            .expect("a folder");
        let mine = copied.path().join("vtprof");
        fs::copy(artifacts::tool().expect("the tool"), &mine).expect("a copy");
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(copied.path(), all).expect("rights");
        let other = Command::new(&mine)
            .args(["ctl", &pid.to_string(), "stop"])
            .uid(NOBODY)
            .gid(NOBODY)
            .output()
            .expect("vtprof starts");
        let refused = failure(&other);
        assert!(refused.contains("run as that user"), "{refused}");
        let direct = Command::new("sh")
            .arg("-c")
            .arg(format!("test -S {}", path.display()))
            .uid(NOBODY)
            .status()
            .expect("sh");
        assert!(!direct.success(), "others look into the folder");
    } else {
        say("SKIPPED another user: this is not root");
    }

    let heard = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(&path).expect("a connection");
        stream.write_all(bytes).expect("a request");
        let mut text = String::new();
        // What was not read of the request resets the connection.
        let _all = stream.read_to_string(&mut text);
        text
    };
    let garbage: Vec<u8> = (0..65_536_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for bytes in [
        &garbage[..1_000],
        b"\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"set cpu=1hz wall\n",
    ] {
        let text = heard(bytes);
        assert!(
            text.starts_with("error ") && text.lines().count() == 1,
            "{text:?}"
        );
    }
    // Silent ones, each of which is waited for in its turn.
    let silent: Vec<_> = (0..3)
        .map(|_| UnixStream::connect(&path).expect("a connection"))
        .collect();
    assert!(stdout(&ctl(pid, &["status"])).contains("running"));
    drop(silent);
    // A flood: the agent's thread takes its time for it, and no more.
    let cpu = |running: &Running| {
        let threads = running.threads_named("vtprof-ctl").expect("it runs");
        assert_eq!(threads.len(), 1);
        let stat = fs::read_to_string(threads[0].join("schedstat")).expect("figures");
        let ns = stat.split(' ').next().expect("a figure");
        Duration::from_nanos(ns.parse().expect("a number"))
    };
    let (before, begun) = (cpu(&running), std::time::Instant::now());
    let mut asked = 0;
    while begun.elapsed() < Duration::from_secs(5) {
        assert!(heard(b"status\n").starts_with("ok\n"));
        asked += 1;
    }
    let used = (cpu(&running) - before).as_secs_f64() / begun.elapsed().as_secs_f64();
    say(&format!(
        "a flood: {asked} requests in 5 s, {:.2} % of a core",
        used * 100.0
    ));
    assert!(used < 0.03, "{used}");
    assert_eq!(running.stderr().expect("lines").matches("error").count(), 0);

    running
        .burn(Duration::from_millis(500))
        .expect("it works on");
    running.terminate().expect("a signal");
    running.wait().expect("an end");
    assert!(!path.exists(), "the socket goes with its JVM");
    let gone = failure(&ctl(pid, &["status"]));
    assert!(gone.contains("there is no process"), "{gone}");
}

#[test]
fn without_a_socket_it_is_told_what_to_do() {
    let Some(jdk) = jdk::each("ctl_off").into_iter().next() else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("ctl-off").expect("a folder");
    let off = load(&jdk, dir.path(), "cpu=10ms,ctl=off,out=out,service=truth");
    let refused = failure(&ctl(off.pid(), &["status"]));
    assert!(
        refused.contains("ctl=off") && refused.contains("--control status"),
        "{refused}"
    );
    drop(off);
    let launch = Launch::new(&jdk)
        .plain_program("Idle", ["600", "2"])
        .expect("the program");
    let mut none = Running::start(&launch, dir.path(), LIMIT).expect("a JVM");
    none.line("idle=").expect("it waits");
    let refused = failure(&ctl(none.pid(), &["stop"]));
    assert!(refused.contains("there is no vtprof"), "{refused}");
}

#[test]
fn a_jvm_in_namespaces_of_its_own_is_found_by_its_number_here() {
    let Some(jdk) = jdk::newest_virtual("ctl_container") else {
        return;
    };
    let _machine = Machine::turn();
    let work = tempfile::Builder::new()
        .prefix("vtprof-ctl-")
        .tempdir_in("/var/tmp")
        .expect("a folder");
    let agent = work.path().join("libvtprof.so");
    fs::copy(artifacts::agent().expect("the agent"), &agent).expect("a copy");
    let program = artifacts::truth_program_in(work.path()).expect("a copy");
    let script = "mount -t proc proc /proc && mount -t tmpfs none /tmp && touch own && exec \"$@\"";
    let mut unshare = Command::new("unshare")
        .args([
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            script,
            "sh",
        ])
        .arg(jdk.home.join("bin/java"))
        .arg(format!(
            "-agentpath:{}=out=/tmp/out,shim=off",
            agent.display()
        ))
        .arg("-cp")
        .arg(&program)
        .args(["io.vtprof.truth.Idle", "600", "2"])
        .env(PATIENCE.0, PATIENCE.1)
        .current_dir(work.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("unshare");
    let children = format!("/proc/{0}/task/{0}/children", unshare.id());
    let own = work.path().join("own");
    while !own.exists() {
        if unshare.try_wait().expect("a state").is_some() {
            say("SKIPPED a_jvm_in_namespaces_of_its_own: they cannot be unshared here");
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let child = fs::read_to_string(children).expect("its child");
    let pid: u32 = child.trim().parse().expect("a number");
    let mut asked = ctl(pid, &["status"]);
    while !asked.status.success() && unshare.try_wait().expect("a state").is_none() {
        std::thread::sleep(Duration::from_millis(50));
        asked = ctl(pid, &["status"]);
    }
    let status = stdout(&asked);
    assert!(
        status.contains(&format!("/proc/{pid}/root/tmp/out")),
        "{status}"
    );
    let pattern = stdout(&ctl(pid, &["dump"]));
    assert!(
        Path::new(&pattern.trim_end().replace('*', "cpu")).is_file(),
        "{pattern}"
    );
    unshare
        .kill()
        .and_then(|()| unshare.wait())
        .expect("an end");
}

#[test]
fn above_its_budget_the_agent_lowers_its_rates_and_says_so() {
    let Some(jdk) = jdk::each("ctl_budget").into_iter().next() else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("ctl-budget").expect("a folder");
    let options = "cpu=1000hz,engine=timer,alloc=16k,every=24h,out=out,service=truth";
    let launch = Launch::new(&jdk)
        .agent(options)
        .expect("the agent")
        .truth_program(["mix", "--seconds=600", "--threads=4", "--log=truth.log"])
        .expect("the program")
        .env(PATIENCE.0, "flush=2m,max_overhead=0.1%");
    let mut running = Running::start(&launch, dir.path(), LIMIT).expect("a JVM");
    running.line("truth: mix").expect("the load");
    let pid = running.pid();
    let mut status = String::new();
    running
        .until("its rates are lower", || {
            let output = ctl(pid, &["status", "--json"]);
            status = String::from_utf8(output.stdout).expect("UTF-8");
            output.status.success() && number(&status, "halvings") > 0
        })
        .expect("a budget");
    let halvings = number(&status, "halvings");
    assert_eq!(number(&status, "period"), 1_000_000 << halvings, "{status}");
    assert_eq!(number(&status, "asked"), 1_000_000, "{status}");
    let stderr = running.stderr().expect("lines");
    let lines: Vec<_> = stderr
        .lines()
        .filter(|line| line.contains("max_overhead="))
        .collect();
    assert!(lines[0].contains("cpu=2ms (was 1ms)"), "{lines:#?}");
    say(lines[0]);
    running.terminate().expect("a signal");
    running.wait().expect("an end");
    let recording = Recording::read(&dir.path().join("out")).expect("profiles");
    assert!(recording.counter("budget.lowered") >= Some(1));
    let periods: Vec<_> = recording
        .windows
        .iter()
        .map(|window| window.period)
        .collect();
    assert_eq!(periods[..2], [1_000_000, 2_000_000]);
}

#[test]
fn java_code_switches_the_agent_without_opentelemetry_and_jmx_does() {
    for jdk in jdk::ends("ctl_java") {
        if jdk.tool("javac").is_none() {
            continue;
        }
        for jmx in ["auto", "on"] {
            let _machine = Machine::turn();
            let dir = WorkDir::new("ctl-java").expect("a folder");
            let program = dir.path().join("Switches.java");
            fs::write(&program, include_str!("ctl/Switches.java")).expect("a program");
            let launch = Launch::new(&jdk)
                .agent(&format!(
                    "cpu=10ms,every=24h,out=out,shim=off,log=debug,jmx={jmx}"
                ))
                .expect("the agent")
                .jar(artifacts::shim().expect("the shim"))
                .program([program.as_os_str()]);
            let running = Running::start(&launch, dir.path(), LIMIT).expect("a JVM");
            let finished = running.wait().expect("an end").success().expect("no fault");
            let said = |key: &str| {
                let start = format!("{key}=");
                let line = finished
                    .stdout
                    .lines()
                    .find_map(|line| line.strip_prefix(&start));
                line.unwrap_or_else(|| panic!("no {key}: {finished:#?}"))
                    .to_owned()
            };
            assert_eq!(said("state"), "running");
            let dumped = said("dumped").replace('*', "cpu");
            assert!(Path::new(&dumped).is_file(), "{dumped}");
            assert_eq!(said("set"), "cpu=20ms (was 10ms) every=10s (was 24h)");
            assert!(said("refused").contains("load it with lock="));
            assert_eq!(said("stopped"), "stopped");
            assert!(said("undumped").contains("sampling is stopped"));
            assert_eq!(said("started"), "running");
            if jmx == "auto" {
                assert_eq!(said("servers"), "0", "the agent makes none");
            }
            assert_eq!(
                (said("running"), said("still")),
                ("true".into(), "false".into())
            );
            assert_eq!(said("state_at_end"), "stopped");
        }
    }
}
