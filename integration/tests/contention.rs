//! Waits for locks are what the program measured around each entering, under the lock's class, in the span that waited;
//! and whoever had the lock is charged with them in its share, in its own span. Nothing of it where the option is off.

use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::recording::{Recording, Sample, files};
use vtprof_integration::report::say;
use vtprof_integration::truth_run::{Outcome, Strategy, TruthRun};
use vtprof_integration::verdict::burner_frame;
use vtprof_integration::waits;
use vtprof_profile::kind::Kind;

/// Threads that contend, a carrier for each: before JDK 24 who waits for a monitor keeps its own.
const THREADS: u32 = 500;
/// The same beside them, where virtual threads are what this is about.
const FEW_THREADS: u32 = 100;
/// Since when a virtual thread leaves its carrier to wait for a monitor.
const UNPINNED_MONITORS: u32 = 24;
const TOLERANCE: f64 = 0.1;
/// What a sample stands for where so many contend, ns: the period has doubled a few times by then.
const THINNED: f64 = 8e6;
/// How many standard errors a sum of such samples may be off.
const ERRORS: f64 = 4.0;

const MONITOR: &str = "io.vtprof.truth.Contention$Shelf";
const LOCK: &str = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
const IN_MONITOR: &str = "io.vtprof.truth.Contention.inMonitor";
const IN_LOCK: &str = "io.vtprof.truth.Contention.inLock";

const OWNED_MONITOR: &str = "io.vtprof.truth.LockOwner$Shelf";
const OWNED_LOCK: &str = "java.util.concurrent.locks.ReentrantLock$FairSync";
const HAS_LONG: &str = "io.vtprof.truth.LockOwner.hasLong";
const HAS_SHORT: &str = "io.vtprof.truth.LockOwner.hasShort";

fn read(run: &Outcome, kind: Kind) -> Recording {
    Recording::read_kind(&run.dir.path().join("out"), kind).expect("profiles")
}

fn is_in(sample: &Sample, method: &str) -> bool {
    sample.frames.iter().any(|frame| &**frame == method)
}

/// Time of the samples of that lock in that method.
fn nanos<'a>(samples: impl Iterator<Item = &'a Sample>, class: &str, method: &str) -> u64 {
    samples
        .filter(|sample| &*sample.frames[0] == class && is_in(sample, method))
        .map(|sample| sample.nanos)
        .sum()
}

fn assert_close(what: &str, found: u64, truth: u64, tolerance: f64) {
    let ratio = found as f64 / truth as f64;
    say(&format!("{what}: {ratio:.4} of {truth} ns"));
    assert!(
        (ratio - 1.0).abs() <= tolerance,
        "{what}: {found} of {truth}"
    );
}

/// Each sample below the frame of a request has the tag of a span of that class; all others have none.
fn assert_tags_are_right<'a>(run: &Outcome, samples: impl Iterator<Item = &'a Sample>) -> usize {
    let mut tagged = 0;
    for sample in samples {
        let mut frames = sample.frames.iter().filter_map(|frame| burner_frame(frame));
        let burner = frames.find(|(_, method)| *method == "serve");
        let (Some((burner, _)), Some(tag)) = (burner, &sample.tag) else {
            assert!(
                sample.tag.is_none(),
                "{:?}: {:?}",
                sample.tag,
                sample.frames
            );
            assert!(burner.is_none(), "untagged: {:?}", sample.frames);
            continue;
        };
        run.assert_tag_is_of(tag, burner, sample);
        tagged += 1;
    }
    tagged
}

fn assert_nothing_lost(run: &Outcome, kind: Kind) {
    for lost in ["queue_full", "store_full", "stopped", "too_many"] {
        let key = format!("{}.dropped_{lost}", kind.name());
        assert_eq!(run.recording.counter(&key), Some(0), "{key}");
    }
}

#[test]
fn five_hundred_threads_at_one_monitor_and_one_lock_waited_as_long_as_they_measured() {
    for jdk in jdk::each("contention") {
        if jdk.feature >= jdk::VIRTUAL_THREADS {
            contend(&jdk, "contention", "virtual", THREADS);
            contend(&jdk, "pinned-contention", "virtual", FEW_THREADS);
            contend(&jdk, "contention", "platform", FEW_THREADS);
        } else {
            contend(&jdk, "contention", "platform", THREADS);
        }
    }
}

fn contend(jdk: &Jdk, scenario: &str, kind: &str, threads: u32) {
    // Such waits are sums of few visits for others (`blocked.rs`).
    let has_blocked = kind == "virtual" && scenario == "contention";
    let run = TruthRun::new(jdk, scenario, Strategy::Auto)
        .seconds(0)
        .carriers(THREADS + 12)
        .rate("100hz")
        .every("60s")
        .option("lock=1ms")
        .option(if has_blocked {
            "blocked=1ms"
        } else {
            "blocked=off"
        })
        .argument(format!("--threads={threads}"))
        .argument(format!("--kind={kind}"))
        .argument("--count=2")
        .run()
        .expect("a run");
    let recording = read(&run, Kind::Lock);
    let fact = |key: &str| run.log.fact::<u64>(key).expect("a figure");
    let ways = [("monitor", MONITOR, IN_MONITOR), ("lock", LOCK, IN_LOCK)];
    let of_all: u64 = recording.samples.iter().map(|sample| sample.count).sum();
    say(&format!(
        "{scenario} on {} {kind}: {of_all} contentions, {} samples, {} of them thinned",
        jdk.version,
        run.recording.counter("lock.samples").unwrap_or(0),
        run.recording.counter("lock.samples_thinned").unwrap_or(0),
    ));
    // Where samples are thinned, a sum of short waits is a matter of chance.
    let is_thinned = run.recording.counter("lock.samples_thinned") > Some(0);
    let by_chance = |truth: u64| {
        if is_thinned {
            ERRORS * (THINNED / truth as f64).sqrt()
        } else {
            0.0
        }
    };
    for (way, class, method) in &ways {
        let found = nanos(recording.samples.iter(), class, method);
        let truth = fact(&format!("delay.{way}"));
        assert_close(way, found, truth, TOLERANCE + by_chance(truth));
        let untagged = recording.samples.iter().filter(|s| s.tag.is_none());
        let found = nanos(untagged, class, method);
        let truth = fact(&format!("spanless.{way}"));
        assert_close(
            &format!("{way} without a span"),
            found,
            truth,
            5.0 * TOLERANCE + by_chance(truth),
        );
    }
    // A monitor of the JDK's own, in which one that is pinned is woken.
    let is_waking = |sample: &Sample| sample.frames[1].starts_with("java.lang.VirtualThread.");
    let contends = |sample: &&Sample| {
        (is_in(sample, IN_MONITOR) || is_in(sample, IN_LOCK)) && !is_waking(sample)
    };
    let samples = || recording.samples.iter().filter(contends);
    for sample in samples() {
        let expected = if is_in(sample, IN_MONITOR) {
            MONITOR
        } else {
            LOCK
        };
        assert_eq!(&*sample.frames[0], expected, "{:?}", sample.frames);
    }
    assert!(assert_tags_are_right(&run, samples()) > threads as usize / 2);
    assert_nothing_lost(&run, Kind::Lock);
    run.verdict.assert_no_wrong_tag();
    if has_blocked {
        assert_blocked_time_is_the_same(&run, jdk.feature);
    }
}

/// Both kinds are on: what is off its carrier for a lock is blocked as long as that.
fn assert_blocked_time_is_the_same(run: &Outcome, feature: u32) {
    let blocked = waits::read(&run.dir.path().join("out")).expect("blocked time");
    let fact = |key: &str| run.log.fact::<u64>(key).expect("a figure");
    for way in ["monitor", "lock"] {
        if way == "monitor" && feature < UNPINNED_MONITORS {
            continue;
        }
        let method = if way == "monitor" {
            "inMonitor"
        } else {
            "inLock"
        };
        let waits = blocked
            .iter()
            .filter(|wait| wait.is_in("Contention", method));
        let found = waits
            .filter(|wait| wait.is_of("lock"))
            .map(|wait| wait.nanos);
        let truth = fact(&format!("delay.{way}")) - fact(&format!("spanless.{way}"));
        assert_close(&format!("{way}, blocked"), found.sum(), truth, TOLERANCE);
    }
    let flaws: Vec<_> = blocked
        .iter()
        .filter_map(|wait| wait.flaw(&run.log))
        .collect();
    assert!(flaws.is_empty(), "{flaws:#?}");
}

#[test]
fn who_had_the_lock_is_charged_with_the_waits_in_its_share_and_in_its_own_span() {
    for jdk in jdk::each("contention: owners") {
        let run = TruthRun::new(&jdk, "lock-owner", Strategy::Auto)
            .seconds(0)
            .carriers(2)
            .rate("100hz")
            .every("60s")
            .option("lock=1ms")
            .argument("--threads=4")
            .argument("--count=60")
            .run()
            .expect("a run");
        let recording = read(&run, Kind::LockOwner);
        let looks = run.recording.counter("lock_owner.samples").unwrap_or(0);
        let ways = [("monitor", OWNED_MONITOR, 0.4), ("lock", OWNED_LOCK, 0.15)];
        for (way, class, tolerance) in ways {
            let of = |method| nanos(recording.samples.iter(), class, method) as f64;
            let fact = |which| {
                run.log
                    .fact::<f64>(&format!("{way}.{which}"))
                    .expect("a figure")
            };
            let (long, short) = (of(HAS_LONG), of(HAS_SHORT));
            let share = long / (long + short);
            let truth = fact("long") / (fact("long") + fact("short"));
            let samples = recording.samples.iter();
            let all: u64 = samples
                .filter(|sample| &*sample.frames[0] == class)
                .map(|sample| sample.nanos)
                .sum();
            let known = (long + short) / all as f64;
            say(&format!(
                "owners of a {way} on {}: {share:.3} in the one method, {truth:.3} by the program; {known:.3} of {all} ns have an owner of the two; {looks} looks",
                jdk.version
            ));
            assert!((share - truth).abs() <= tolerance, "{way}: {share:.3}");
            assert!(known > 0.6, "{way}: {known:.3}");
            // As long as the others waited.
            let waited: u64 = read(&run, Kind::Lock)
                .samples
                .iter()
                .filter(|sample| &*sample.frames[0] == class)
                .map(|sample| sample.nanos)
                .sum();
            assert_close(&format!("{way}, by owners"), all, waited, 0.4);
        }
        let has = |sample: &&Sample| is_in(sample, HAS_LONG) || is_in(sample, HAS_SHORT);
        // What cannot be known for sure is untagged.
        let sure = |sample: &&Sample| sample.tag.is_some();
        let of_lock = |sample: &&Sample| &*sample.frames[0] == OWNED_LOCK;
        let owners = || recording.samples.iter().filter(has);
        let tagged = assert_tags_are_right(&run, owners().filter(sure));
        let all = owners().filter(of_lock).count();
        assert!(tagged > 50 && tagged * 10 >= all * 9, "{tagged} of {all}");
        assert!(owners().filter(sure).all(|sample| of_lock(&sample)));
        assert_nothing_lost(&run, Kind::LockOwner);
    }
}

#[test]
fn without_the_option_nothing_of_locks_is_seen() {
    let Some(jdk) = jdk::newest_virtual("contention") else {
        return;
    };
    for option in ["context=auto", "lock=off"] {
        let run = TruthRun::new(&jdk, "contention", Strategy::Auto)
            .seconds(0)
            .option(option)
            .argument("--threads=50")
            .argument("--count=2")
            .run()
            .expect("a run");
        let out = run.dir.path().join("out");
        for kind in ["-lock-", "-lock_owner-"] {
            assert_eq!(files(&out, kind).expect("files").len(), 0, "{kind}");
        }
        for window in &run.recording.windows {
            let counted = window.facts.keys().find(|key| key.contains("lock"));
            assert_eq!(counted, None);
        }
        let said = run.finished.agent_lines().join("\n");
        assert!(
            said.contains("profiles CPU") && !said.contains("owners"),
            "{said}"
        );
    }
}
