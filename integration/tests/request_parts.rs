//! Where the time of a request goes: CPU, sleep, lock, queue and socket of requests on virtual threads, each against what
//! the program measured itself, and all of them together against how long the requests took.
//!
//! `VTPROF_REQUESTS` sets how many: 64 in the everyday suite, 200 for the published figures.

use vtprof_integration::jdk;
use vtprof_integration::recording::Sample;
use vtprof_integration::report::say;
use vtprof_integration::scale::requests;
use vtprof_integration::span_files;
use vtprof_integration::truth_run::{Strategy, TruthRun};
use vtprof_integration::waits;

/// How the program waits, in which method and in what state.
const WAYS: [(&str, &str, &str); 4] = [
    ("sleep", "inSleep", "sleep"),
    ("lock", "inLock", "lock"),
    ("queue", "inQueue", "queue"),
    ("socket", "inSocket", "io"),
];
const NAME: &str = "request";
/// Of each part against what the program measured.
const PART: f64 = 0.05;
/// Of all of them against the durations.
const WHOLE: f64 = 0.03;
/// Of the waits that may be in none of the methods, or in another state than its own: a class that is loaded, the lock of
/// the queue that wakes the others.
const ELSEWHERE: f64 = 0.01;

fn assert_close(what: &str, ratio: f64, tolerance: f64) {
    assert!((ratio - 1.0).abs() <= tolerance, "{what}: {ratio:.4}");
}

#[test]
fn each_part_of_a_request_is_found_and_all_of_them_are_its_duration() {
    for jdk in jdk::each_from(jdk::VIRTUAL_THREADS, "request_parts") {
        let run = TruthRun::new(&jdk, "request-parts", Strategy::Auto)
            .seconds(60)
            .carriers(2)
            .every("60s")
            .option("blocked=1ms")
            .flag("--add-opens=java.base/java.lang=ALL-UNNAMED")
            .argument(format!("--count={}", requests()))
            .argument("--threads=32")
            .run()
            .expect("a run");
        run.verdict.assert_no_wrong_tag();
        let out = run.dir.path().join("out");
        let waits = waits::read(&out).expect("blocked time");
        let flaws: Vec<_> = waits.iter().filter_map(|w| w.flaw(&run.log)).collect();
        assert!(flaws.is_empty(), "{} wrong tags: {flaws:#?}", flaws.len());

        let spans = span_files::read(&out).expect("spans");
        let durations = spans.values().filter(|span| span.name == NAME);
        let durations: Vec<u64> = durations.map(|span| span.end - span.start).collect();
        assert_eq!(durations.len() as u64, requests());
        let duration: u64 = durations.iter().sum();

        let took = |part: &str| {
            run.log
                .fact::<u64>(&format!("took.{part}"))
                .expect("a fact")
        };
        let tagged = run.recording.samples.iter().filter(|sample| {
            let tag = sample.tag.as_ref();
            tag.is_some_and(|tag| tag.name == NAME)
        });
        let is_of_wait = |sample: &&Sample| {
            let is_in = |frame: &str| {
                WAYS.iter()
                    .any(|way| frame == format!("io.vtprof.truth.RequestParts.{}", way.1))
            };
            sample.frames.iter().any(|frame| is_in(frame))
        };
        let (of_waits, of_burns): (Vec<_>, Vec<_>) = tagged.partition(is_of_wait);
        let sum = |samples: &[&Sample]| samples.iter().map(|sample| sample.nanos).sum::<u64>();
        let burnt = sum(&of_burns);
        let cpu = burnt + sum(&of_waits);
        let of_requests = || waits.iter().filter(|w| w.name_in(&run.log) == Some(NAME));
        let blocked: u64 = of_requests().map(|wait| wait.nanos).sum();
        let mut parts = vec![("cpu", burnt as f64 / took("cpu") as f64)];
        let mut in_place = 0;
        for (way, method, state) in WAYS {
            let waits = of_requests().filter(|wait| wait.is_in("RequestParts", method));
            let (mut found, mut in_state) = (0, 0);
            for wait in waits {
                found += wait.nanos;
                in_state += if wait.is_of(state) { wait.nanos } else { 0 };
            }
            in_place += in_state;
            parts.push((way, found as f64 / took(way) as f64));
        }
        // While a carrier that should burn is kept from a CPU by others on this machine, that is not what is judged.
        let without_cpu = took("no_cpu");
        let least = (cpu + blocked) as f64 / (duration - without_cpu) as f64;
        let most = (cpu + blocked) as f64 / duration as f64;
        let elsewhere = (blocked - in_place) as f64 / blocked as f64;
        say(&format!(
            "{} requests on {}: {parts:.4?}; CPU and blocked {most:.4} of {:.1} s, {least:.4} of what is left without {:.4} in which carriers had no CPU; {elsewhere:.5} of the blocked time elsewhere",
            requests(),
            jdk.version,
            duration as f64 / 1e9,
            without_cpu as f64 / duration as f64,
        ));
        for (part, ratio) in parts {
            assert_close(part, ratio, PART);
        }
        assert!(least >= 1.0 - WHOLE, "CPU and blocked: {least:.4}");
        assert!(most <= 1.0 + WHOLE, "CPU and blocked: {most:.4}");
        assert!(elsewhere < ELSEWHERE, "{elsewhere}");
    }
}
