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
use vtprof_integration::wrote::{assure_gapless, monotonic_now};

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
    /// When it got its signal, ns of the monotonic clock; `None` where it ends by itself or has not.
    signalled: Option<i64>,
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
        signalled: None,
        started: None,
        dir,
        running,
    }
}

impl Ending {
    fn awaits_signal(&self) -> bool {
        self.way.starts_with("SIG") && self.signalled.is_none()
    }

    /// Sends the signal when it is due, which counts from when the program was up.
    fn signal_when_due(&mut self) {
        let Some(started) = self.started else {
            let up = self.running.stdout().expect("output").contains("up");
            self.started = up.then(Instant::now);
            // One that is not up has a limit and must not have ended; to wait for what is so already asks both.
            let ended = self.running.has_ended().expect("a state");
            assert!(self.started.is_some() || !ended, "ended before it was up");
            self.running.check_limit().expect("a start");
            return;
        };
        if started.elapsed() >= Duration::from_millis(self.after) {
            self.signalled = Some(monotonic_now());
            match self.way {
                "SIGINT" => self.running.interrupt(),
                _ => self.running.terminate(),
            }
            .expect("a signal");
        }
    }
}

/// Sends the signals.
fn signal(endings: &mut [Ending]) {
    while endings.iter().any(Ending::awaits_signal) {
        for ending in endings.iter_mut().filter(|ending| ending.awaits_signal()) {
            ending.signal_when_due();
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
    // From the first window to the last there is no gap, and the last was open when the end came.
    assure_gapless(&recording.windows).unwrap_or_else(|error| panic!("{what}: {error}"));
    let last = recording.windows.last().expect("a window");
    let left = ending
        .signalled
        .unwrap_or_else(|| i64::try_from(finished.figure("leaving")).expect("a time"));
    let missing = left - (last.monotonic + last.duration);
    assert!(
        missing <= 0,
        "{what}: {missing} ns before the end are in no profile; {:#?}",
        finished.agent_lines()
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
