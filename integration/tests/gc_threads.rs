//! Threads that are not Java's are sampled under their own name, with one named frame and no tag,
//! also while they work for a request.

use vtprof_integration::jdk;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::truth_run::{Strategy, TruthRun};

/// Allocated in all; a collection comes each 80 MiB or so.
const MEBIBYTES: u32 = 8 << 10;

#[test]
fn the_collectors_threads_appear_under_their_names_and_without_a_tag() {
    for jdk in jdk::newest("gc_threads") {
        let run = TruthRun::new(&jdk, "garbage", Strategy::Auto)
            .argument(format!("--count={MEBIBYTES}"))
            .flag("-Xmx256m")
            .flag("-XX:+UseParallelGC")
            .run()
            .expect("a run");
        run.verdict.assert_no_wrong_tag();
        run.verdict.assert_all_named();
        let collectors: Vec<_> = run
            .recording
            .samples
            .iter()
            .filter(|sample| {
                sample
                    .thread
                    .as_deref()
                    .is_some_and(|name| name.starts_with("GC Thread"))
            })
            .collect();
        let count: u64 = collectors.iter().map(|sample| sample.count).sum();
        say(&format!(
            "{count} samples of the collector on {}",
            jdk.version
        ));
        assert!(
            count > 100,
            "only {count} samples of the collector on {}",
            jdk.version
        );
        let compiler = count_of(&run.recording, "C2 CompilerThread");
        assert!(compiler > 0, "no sample of the compiler on {}", jdk.version);
        for sample in collectors {
            assert_eq!(sample.tag, None);
            assert_eq!(
                sample.frames.iter().map(|name| &**name).collect::<Vec<_>>(),
                ["GC Thread"]
            );
            assert_eq!(sample.thread.as_deref(), Some("GC Thread#N"));
        }
    }
}

/// Samples of the stack that is this frame alone.
fn count_of(recording: &Recording, root: &str) -> u64 {
    let samples = recording.samples.iter();
    samples
        .filter(|sample| sample.frames.len() == 1 && *sample.frames[0] == *root)
        .map(|sample| sample.count)
        .sum()
}
