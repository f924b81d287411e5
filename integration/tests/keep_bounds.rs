//! `keep` bounds what stays in the output folder by size and by age, oldest windows first, and
//! touches nothing of anybody else's. Never the last window: that is there however little is to stay.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::{Recording, files};
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;
use vtprof_integration::wrote::{assure_gapless, clock_was_set, name};

/// Windows of nothing but the load to be seen, and how many of all must have gone.
const WINDOWS: usize = 4;
const GONE: usize = 2;
/// What a window of CPU time may leave.
const KINDS: [&str; 2] = ["-cpu-", "-spans-"];

/// What one run left.
struct Left {
    dir: WorkDir,
    recording: Recording,
    /// Files of windows that went, by the agent's own list of all.
    gone: Vec<String>,
    /// Size of each file that was ever looked at, by its name.
    sizes: HashMap<String, u64>,
    ended: SystemTime,
}

impl Left {
    fn all(&self) -> Vec<PathBuf> {
        all(&self.dir.path().join("out"))
    }
}

fn all(out: &Path) -> Vec<PathBuf> {
    KINDS
        .iter()
        .flat_map(|kind| files(out, kind).unwrap_or_default())
        .collect()
}

/// Runs until enough windows have been closed and have gone. What is left must be the last of those.
fn windows_left(keep: &str) -> Left {
    let jdk = jdk::each("keep_bounds").pop().expect("a JDK");
    let _machine = Machine::turn();
    let dir = WorkDir::new("keep").expect("a folder");
    let out = dir.path().join("out");
    fs::create_dir(&out).expect("a folder");
    fs::write(out.join("notes.txt"), vec![0; 100_000]).expect("a file");
    let launch = Launch::new(&jdk)
        .agent(&format!("out=out,every=1s,service=s,log=debug,keep={keep}"))
        .expect("the agent")
        .truth_program(["single-core", "--seconds=600", "--kind=platform"])
        .expect("the program");
    let mut running = Running::start(&launch, dir.path(), Duration::from_secs(90)).expect("a JVM");
    running.line("truth: single-core").expect("the load");
    let before = running.wrote().expect("lines").len();
    let mut sizes = HashMap::new();
    running
        .until_wrote("enough windows had gone", |written| {
            let seen: Vec<_> = all(&out)
                .iter()
                .filter_map(|path| Some((name(path), path.metadata().ok()?.len())))
                .collect();
            let there: HashSet<_> = seen.iter().map(|(name, _)| name.clone()).collect();
            sizes.extend(seen);
            let gone = written.iter().filter(|path| !there.contains(&name(path)));
            written.len() > before + WINDOWS && gone.count() >= GONE
        })
        .expect("windows");
    running.terminate().expect("a signal");
    let finished = running.wait().expect("an end");
    let ended = SystemTime::now();
    assert_eq!(finished.status.code(), Some(128 + 15), "{finished:#?}");
    assert!(
        out.join("notes.txt").exists(),
        "a file of somebody else's is gone"
    );
    let recording = Recording::read(&out).expect("profiles");
    let written: Vec<_> = finished.wrote().iter().map(|path| name(path)).collect();
    let windows = &recording.windows;
    let left: Vec<_> = windows.iter().map(|window| name(&window.path)).collect();
    say(&format!(
        "keep={keep}: {} of {} windows left",
        left.len(),
        written.len()
    ));
    assert!(left.len() < written.len(), "none went: {written:#?}");
    assert_eq!(
        left.last(),
        written.last(),
        "the last window is not there: {left:#?}"
    );
    if !clock_was_set(windows) {
        assert!(
            written.ends_with(&left),
            "not the oldest went: {left:#?} of {written:#?}"
        );
        assure_gapless(windows).expect("a window beside the next");
    }
    Left {
        dir,
        gone: written
            .into_iter()
            .filter(|name| !left.contains(name))
            .collect(),
        recording,
        sizes,
        ended,
    }
}

#[test]
fn the_size_of_what_stays_is_bounded() {
    // Some windows of one thread's load; those of a start are larger.
    const LIMIT: u64 = 8 << 10;
    let left = windows_left(&LIMIT.to_string());
    let size = |path: &PathBuf| path.metadata().expect("a file").len();
    let bytes: u64 = left.all().iter().map(size).sum();
    assert!(bytes <= LIMIT, "{bytes} of {LIMIT} bytes");
    assert!(left.recording.windows.len() >= 2, "more went than had to");
    // There was no room for the newest that went.
    let newest = left.gone.last().expect("one that went");
    let time = |name: &String| name.rsplit('-').next().map(str::to_owned);
    let there: HashSet<_> = left.all().iter().map(|path| name(path)).collect();
    let its_files = left
        .sizes
        .iter()
        .filter(|(name, _)| time(name) == time(newest) && !there.contains(*name));
    let would_be = bytes + its_files.map(|(_, size)| size).sum::<u64>();
    assert!(
        would_be > LIMIT
            || !left.sizes.contains_key(newest)
            || clock_was_set(&left.recording.windows),
        "{newest} would have had room: {would_be} of {LIMIT} bytes"
    );
}

#[test]
fn the_last_window_stays_though_it_is_larger_than_what_is_to_stay() {
    let left = windows_left("1");
    assert_eq!(left.recording.windows.len(), 1, "more than the last stayed");
}

#[test]
fn the_age_of_what_stays_is_bounded() {
    const LIMIT: Duration = Duration::from_secs(4);
    let left = windows_left("4s");
    if clock_was_set(&left.recording.windows) {
        return;
    }
    // Pruning comes after the last file, by the same clock.
    let written = left.all().into_iter().map(|path| {
        let written = path.metadata().and_then(|file| file.modified());
        written.expect("a time")
    });
    let written: Vec<SystemTime> = written.collect();
    let (oldest, newest) = (written.iter().min(), written.iter().max());
    let span = newest
        .zip(oldest)
        .map(|(newest, oldest)| newest.duration_since(*oldest).expect("in order"))
        .expect("a file");
    assert!(span <= LIMIT, "windows of {span:?} stayed");
    // What went last was written when the first that stayed had begun, and was too old before the end.
    let begun = u64::try_from(left.recording.windows[0].start).expect("a time");
    let begun = UNIX_EPOCH + Duration::from_nanos(begun);
    assert!(
        begun + LIMIT < left.ended,
        "a window went before its time: the first left is of {begun:?}, the end was at {:?}",
        left.ended
    );
}
