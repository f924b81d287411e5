//! Stacks of virtual threads are whole although most of them is frozen, and never wrong.

use vtprof_integration::deep::DeepRun;
use vtprof_integration::jdk;

const G1: &[&str] = &["-XX:+UseG1GC", "-Xmx256m"];
const PARALLEL: &[&str] = &["-XX:+UseParallelGC", "-Xmx256m"];
const SERIAL: &[&str] = &["-XX:+UseSerialGC", "-Xmx256m"];
const WIDE: &[&str] = &["-XX:-UseCompressedOops", "-XX:+UseG1GC", "-Xmx256m"];
const COMPACT: &[&str] = &["-XX:+UseCompactObjectHeaders", "-XX:+UseG1GC", "-Xmx256m"];
// Compact headers are what 27 has unless told otherwise.
const NOT_COMPACT: &[&str] = &["-XX:-UseCompactObjectHeaders", "-XX:+UseG1GC", "-Xmx256m"];
const NOT_COMPACT_WIDE: &[&str] = &[
    "-XX:-UseCompactObjectHeaders",
    "-XX:-UseCompressedOops",
    "-Xmx256m",
];
const SHENANDOAH: &[&str] = &["-XX:+UseShenandoahGC", "-Xmx256m"];
const ZGC: &[&str] = &["-XX:+UseZGC", "-Xmx256m"];

/// The JDKs and flags under which stacks are completed, and the share of them at least. ZGC's depends on how soon
/// the agent's thread runs after a collection: `make stacks` asks for more.
const COMPLETED: &[(u32, &[&str], f64)] = &[
    (25, G1, 0.99),
    (25, PARALLEL, 0.99),
    (25, SERIAL, 0.99),
    (25, WIDE, 0.99),
    (25, COMPACT, 0.99),
    (25, SHENANDOAH, 0.99),
    (25, ZGC, 0.95),
    (26, G1, 0.99),
    (26, PARALLEL, 0.99),
    (26, SERIAL, 0.99),
    (26, WIDE, 0.99),
    (26, COMPACT, 0.99),
    (27, G1, 0.99),
    (27, PARALLEL, 0.99),
    (27, SERIAL, 0.99),
    (27, WIDE, 0.99),
    (27, NOT_COMPACT, 0.99),
    (27, NOT_COMPACT_WIDE, 0.99),
    (21, G1, 0.99),
    (21, PARALLEL, 0.99),
    (21, SERIAL, 0.99),
    (21, WIDE, 0.99),
];

/// Where they are not, and what the agent says of it.
const TRUNCATED: &[(u32, &[&str], &str)] = &[(21, ZGC, "ZGC that is not generational")];

#[test]
fn deep_stacks_of_virtual_threads_are_whole_and_none_is_wrong() {
    for &(feature, flags, whole) in COMPLETED {
        let Some(jdk) = jdk::of_feature(feature, "deep stacks") else {
            continue;
        };
        let run = DeepRun::run(&jdk, 8, 16, flags).expect("a run");
        let tally = &run.tally;
        assert_eq!(tally.wrong, 0, "{flags:?}: {:#?}", tally.quoted);
        // Until the self-test has passed, nothing is completed: the first tenths of a second, more under load.
        let pending = tally.pending();
        assert!(pending * 5 < tally.all(), "{flags:?}: {tally}");
        assert!(tally.all() - pending > 300, "{flags:?}: {tally}");
        // Few samples get the room that chance needs.
        let judged = (tally.all() - pending) as f64;
        let expected = judged * (1.0 - whole);
        let allowed = expected + 3.0 * expected.sqrt() + 1.0;
        assert!(
            judged - tally.whole as f64 <= allowed,
            "{flags:?}: {allowed:.0} may be cut: {tally}"
        );
        // The program is such that most of a stack is frozen, most of the time.
        let completed = run.recording.counter("stacks.completed");
        assert!(
            completed > Some((tally.all() - pending) / 2),
            "{flags:?}: {completed:?}"
        );
    }
}

#[test]
fn where_frozen_frames_are_not_read_stacks_say_so_and_none_is_wrong() {
    for &(feature, flags, said) in TRUNCATED {
        let Some(jdk) = jdk::of_feature(feature, "truncated stacks") else {
            continue;
        };
        let run = DeepRun::run(&jdk, 4, 16, flags).expect("a run");
        let tally = &run.tally;
        assert_eq!(tally.wrong, 0, "{flags:?}: {:#?}", tally.quoted);
        let frozen = tally.truncated.get("frozen frames").copied();
        assert!(frozen > Some(tally.all() / 2), "{flags:?}: {tally}");
        // Of all threads, and a sample may stand for several periods.
        let counted = run.recording.counter("truncated.frozen_frames");
        assert!(counted > Some(tally.all() / 2), "{flags:?}: {counted:?}");
        let lines = run.finished.agent_lines();
        let lines: Vec<_> = lines
            .into_iter()
            .filter(|line| line.contains("frozen frames are not read"))
            .collect();
        assert_eq!(lines.len(), 1, "said once: {lines:?}");
        assert!(lines[0].contains(said), "{lines:?}");
    }
}
