//! However a JVM ends, and in the middle of whatever: each profile that is there is whole, and the last window is
//! among them.
//!
//! `VTPROF_EXITS` sets how many JVMs end: 30 in the everyday suite, 500 for the published figure.

use std::path::Path;
use std::time::{Duration, Instant};

use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::scale::exits;
use vtprof_integration::workdir::WorkDir;

/// Ways to end, and the status that comes of each.
const WAYS: [(&str, i32); 4] = [
    ("exit", 7),
    ("halt", 8),
    ("SIGTERM", 128 + 15),
    ("SIGINT", 128 + 2),
];
/// JVMs beside each other: they burn little.
const AT_ONCE: u64 = 5;

/// splitmix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Half of the ends come about when the first window closes, after a second; the others whenever.
fn moment(state: &mut u64) -> u64 {
    match random(state) % 2 {
        0 => random(state) % 2_300,
        _ => 850 + random(state) % 200,
    }
}

struct Ending {
    way: &'static str,
    status: i32,
    after: u64,
    signalled: bool,
    started: Option<Instant>,
    dir: WorkDir,
    running: Running,
}

fn begin(jdk: &Jdk, way: (&'static str, i32), after: u64) -> Ending {
    let dir = WorkDir::new("last").expect("a folder");
    let word = if way.0.starts_with("SIG") {
        "wait"
    } else {
        way.0
    };
    let launch = Launch::new(jdk)
        .agent("cpu=1000hz,out=out,every=1s,service=last,shim=off")
        .expect("the agent")
        .flags(["-Xmx64m", "-XX:TieredStopAtLevel=1", "-Xshare:auto"])
        .plain_program("LastMoments", [word.to_owned(), after.to_string()])
        .expect("the program");
    let running = Running::start(&launch, dir.path(), Duration::from_secs(120)).expect("a JVM");
    Ending {
        way: way.0,
        status: way.1,
        after,
        signalled: !way.0.starts_with("SIG"),
        started: None,
        dir,
        running,
    }
}

/// Sends the signals that are due; each counts from when its program was up.
fn signal(endings: &mut [Ending]) {
    while endings.iter().any(|ending| !ending.signalled) {
        for ending in endings.iter_mut().filter(|ending| !ending.signalled) {
            let Some(started) = ending.started else {
                let up = ending.running.stdout().expect("output").contains("up");
                ending.started = up.then(Instant::now);
                continue;
            };
            if started.elapsed() >= Duration::from_millis(ending.after) {
                match ending.way {
                    "SIGINT" => ending.running.interrupt(),
                    _ => ending.running.terminate(),
                }
                .expect("a signal");
                ending.signalled = true;
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Samples and windows it left.
fn end(ending: Ending, version: &str) -> (u64, usize) {
    let what = format!("{} after {} ms on {version}", ending.way, ending.after);
    let finished = ending.running.wait().expect("an end");
    assert_eq!(
        finished.status.code(),
        Some(ending.status),
        "{what}: {finished:#?}"
    );
    let names = |dir: &Path| -> Vec<String> {
        std::fs::read_dir(dir)
            .expect("a folder")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("a name")
            })
            .collect()
    };
    assert!(
        !names(ending.dir.path())
            .iter()
            .any(|name| name.starts_with("hs_err")),
        "a crash: {what}"
    );
    let out = ending.dir.path().join("out");
    for name in names(&out) {
        assert!(
            name.ends_with(".pb.gz") && !name.starts_with('.'),
            "{what}: {name}"
        );
    }
    let recording = Recording::read(&out).unwrap_or_else(|error| {
        panic!("{what}: {error:#}; {:#?}", finished.agent_lines());
    });
    // The window that was open is there: from the first to the last there is no gap up to the end.
    let (Some(first), Some(last)) = (recording.windows.first(), recording.windows.last()) else {
        panic!("{what}: no window");
    };
    let covered = (last.start + last.duration - first.start) / 1_000_000;
    assert!(
        covered >= i64::try_from(ending.after).expect("a time"),
        "{what}: profiles of {covered} ms"
    );
    (recording.count(), recording.windows.len())
}

#[test]
fn the_last_profile_is_whole_whenever_and_however_the_jvm_ends() {
    let Some(jdk) = jdk::newest_virtual("last_moments") else {
        return;
    };
    let _machine = Machine::turn();
    // A shell that starts tests in the background has them ignore SIGINT, and a JVM would inherit that.
    // SAFETY: a plain system call, before this process has started any JVM.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
    let mut state = std::env::var("VTPROF_SEED").map_or(u64::from(std::process::id()), |text| {
        text.parse().expect("a number")
    });
    say(&format!("last_moments: VTPROF_SEED={state}"));
    let (mut samples, mut windows, mut done) = (0, 0, 0);
    while done < exits() {
        let batch = AT_ONCE.min(exits() - done);
        let mut endings: Vec<Ending> = (done..done + batch)
            .map(|i| begin(&jdk, WAYS[i as usize % WAYS.len()], moment(&mut state)))
            .collect();
        signal(&mut endings);
        for ending in endings {
            let (count, files) = end(ending, &jdk.version);
            samples += count;
            windows += files;
        }
        done += batch;
    }
    say(&format!(
        "{done} JVMs ended, {windows} windows and {samples} samples read back"
    ));
    assert!(samples > done, "{samples} samples of {done} JVMs");
}
