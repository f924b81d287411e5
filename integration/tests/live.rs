//! Objects in use: what a program keeps is there under the method, the span and the thread that allocated it, what it has
//! let go of is not, however few of the objects are followed.

use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::Machine;
use vtprof_integration::quiet::hello;
use vtprof_integration::recording::{Recording, Window, files};
use vtprof_integration::report::say;
use vtprof_integration::truth_run::{Outcome, Strategy, TruthRun};
use vtprof_integration::verdict::burner_frame;
use vtprof_integration::workdir::WorkDir;
use vtprof_profile::kind::Kind;

/// Rounds of 64 objects of 1 KiB in each of two methods, of which one keeps a quarter, and 16 in a third.
const ROUNDS: u64 = 8_192;
const INTERVAL: u64 = 32 << 10;

fn run(jdk: &Jdk, options: &str) -> Outcome {
    TruthRun::new(jdk, "retention", Strategy::Auto)
        .seconds(2)
        .every("1s")
        .rate("100hz")
        .option(&format!("alloc={}k,{options}", INTERVAL >> 10))
        .argument(format!("--count={ROUNDS}"))
        .argument("--threads=32")
        .argument("--work=0")
        .flag("-Xmx1g")
        .run()
        .expect("a run")
}

/// Objects and bytes of that method, in one window.
fn in_use(recording: &Recording, window: &Window, method: &str) -> (u64, u64) {
    let leaf = format!("io.vtprof.truth.Retention.{method}");
    let end = window.monotonic + window.duration;
    let samples = recording.samples.iter().filter(|s| s.window.1 == end);
    samples
        .filter(|sample| *sample.frames[0] == *"byte[]" && *sample.frames[1] == *leaf)
        .fold((0, 0), |(objects, bytes), sample| {
            (objects + sample.count, bytes + sample.nanos)
        })
}

fn live(run: &Outcome) -> Recording {
    Recording::read_kind(&run.dir.path().join("out"), Kind::Live).expect("profiles")
}

/// Each sample has the tag of a span of the class below which it was allocated, and that span's name, though most of
/// the spans ended windows ago.
fn assert_tags_are_right(run: &Outcome, recording: &Recording) {
    let mut judged = 0;
    let mut of_requests = 0;
    for sample in &recording.samples {
        let found = sample.frames.iter().find_map(|frame| burner_frame(frame));
        let Some((burner, _)) = found else { continue };
        let Some(tag) = &sample.tag else {
            assert!(
                !sample.frames[1].starts_with("io.vtprof.truth.Retention."),
                "untagged: {:?}",
                sample.frames
            );
            continue;
        };
        let span = run.log.spans.get(&tag.span);
        let span = span.unwrap_or_else(|| panic!("{tag} is no span of the program"));
        assert_eq!(
            (span.burner.as_str(), span.trace, span.name.as_str()),
            (burner, tag.trace, tag.name.as_str()),
            "{tag}: {:?}",
            sample.frames
        );
        judged += 1;
        of_requests += u32::from(span.name == "retention");
    }
    assert!(of_requests > 500, "{of_requests} of {judged}");
}

/// What stands in the way of books that add up: each object followed is in use at the end, gone, or thinned out.
fn assert_books_are_even(run: &Outcome, most: u64) -> (u64, u64) {
    let counter = |key: &str| run.recording.counter(key).expect("windows");
    let (followed, gone, thinned) = (
        counter("live.samples"),
        counter("live.collected"),
        counter("live.thinned"),
    );
    let left = followed - gone - thinned;
    assert!(left <= most, "{followed} - {gone} - {thinned} > {most}");
    assert_eq!(followed, counter("alloc.samples"));
    for lost in [
        "live.dropped_queue_full",
        "live.dropped_store_full",
        "live.dropped_stopped",
        "live.dropped_no_reference",
    ] {
        assert_eq!(counter(lost), 0, "{lost}");
    }
    (thinned, left)
}

#[test]
fn what_is_kept_is_in_use_and_what_was_let_go_is_not_under_the_span_that_allocated_it() {
    for jdk in jdk::ends("live") {
        let run = run(&jdk, "live=64k");
        let recording = live(&run);
        let (thinned, _) = assert_books_are_even(&run, 64 << 10);
        assert_eq!(thinned, 0, "there was room for all");
        let last = recording.windows.last().expect("a window");
        let fact = |key: &str| run.log.fact::<u64>(key).expect("a figure");
        let kept = in_use(&recording, last, "keep");
        let wasted = in_use(&recording, last, "waste");
        let lent = in_use(&recording, last, "lend");
        let most_lent = recording
            .windows
            .iter()
            .map(|window| in_use(&recording, window, "lend").1)
            .max();
        let most_lent = most_lent.unwrap_or(0);
        let ratio = |part: u64, key| part as f64 / fact(key) as f64;
        say(&format!(
            "in use on {}: kept {:.4} of {} MiB, wasted {:.5}, lent {:.5} at the end and {:.4} before",
            jdk.version,
            ratio(kept.1, "kept_bytes"),
            fact("kept_bytes") >> 20,
            ratio(wasted.1, "wasted_bytes"),
            ratio(lent.1, "lent_bytes"),
            ratio(most_lent, "lent_bytes"),
        ));
        // One standard deviation: 4,096 samples of 128 MiB.
        let deviation = 1.0 / (fact("kept_bytes") as f64 / INTERVAL as f64).sqrt();
        assert!(deviation < 0.02, "{deviation}");
        for (what, found) in [
            ("kept", ratio(kept.1, "kept_bytes")),
            ("kept objects", ratio(kept.0, "kept_objects")),
            ("lent", ratio(most_lent, "lent_bytes")),
        ] {
            // Draws of the JVM scatter somewhat more than that.
            assert!((found - 1.0).abs() < 6.0 * deviation, "{what}: {found:.4}");
        }
        assert!(ratio(wasted.1, "wasted_bytes") < 0.001, "{wasted:?}");
        assert!(ratio(lent.1, "lent_bytes") < 0.001, "{lent:?}");
        assert_tags_are_right(&run, &recording);
        for window in &recording.windows {
            assert_eq!(window.period, INTERVAL as i64);
        }
    }
}

#[test]
fn few_objects_that_are_followed_stand_for_all() {
    const FOLLOWED: u64 = 1 << 10;
    let Some(jdk) = jdk::newest_virtual("live") else {
        return;
    };
    let run = run(&jdk, "live=1k");
    let recording = live(&run);
    let (thinned, left) = assert_books_are_even(&run, FOLLOWED);
    let last = recording.windows.last().expect("a window");
    let truth: u64 = run.log.fact("kept_bytes").expect("a figure");
    let (_, kept) = in_use(&recording, last, "keep");
    let ratio = kept as f64 / truth as f64;
    say(&format!(
        "1,024 followed on {}: kept {ratio:.4}, {thinned} thinned out, {left} left",
        jdk.version
    ));
    // Thinned down to half of the bound at the least, some more than once: some 7 % for one standard deviation.
    assert!((ratio - 1.0).abs() < 0.3, "{ratio:.4}");
    assert!(thinned > 2 * FOLLOWED, "{thinned}");
    assert_tags_are_right(&run, &recording);
}

#[test]
fn without_allocations_there_is_nothing_to_follow_which_one_line_says() {
    let Some(jdk) = jdk::newest_virtual("live") else {
        return;
    };
    for (options, lines) in [("live=16k", 1), ("alloc=64k,live=off", 0)] {
        let _machine = Machine::turn();
        let dir = WorkDir::new("live-off").expect("a folder");
        let finished = hello(&jdk, dir.path(), &format!("out=out,shim=off,{options}"));
        let finished = finished.expect("an end");
        let out = dir.path().join("out");
        assert_eq!(files(&out, "-live-").expect("files").len(), 0, "{options}");
        let said = finished.agent_lines();
        let about = said.iter().filter(|line| line.contains("live="));
        assert_eq!(about.count(), lines, "{said:#?}");
        for window in Recording::read(&out).expect("profiles").windows {
            let counted = window.facts.keys().find(|key| key.starts_with("live."));
            assert_eq!(counted, None, "{options}");
        }
    }
}
