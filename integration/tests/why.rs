//! `vtprof why` and `vtprof diff` on five services, each slow for one reason that the program itself has measured: the part
//! and the frame come first, and what a slow request has more of is what the program says.
//!
//! Needs the command: `VTPROF_TOOL`, else the release build.

use std::path::Path;
use std::process::Command;

use vtprof_integration::artifacts;
use vtprof_integration::jdk;
use vtprof_integration::report::say;
use vtprof_integration::truth_run::{Outcome, Strategy, TruthRun};

const REQUESTS: u32 = 300;
/// Of what the program measured. The slow ones at the 95th percentile are a sample of all slow ones.
const CLOSE: f64 = 0.15;

fn command(out: &Path, words: &[&str]) -> String {
    let program = artifacts::tool().expect("the command");
    let output = Command::new(program)
        .args(words)
        .arg(out)
        .output()
        .expect("vtprof starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The lines of CSV, without its header, cut at commas: no name of these services has one.
fn rows(csv: &str) -> Vec<Vec<&str>> {
    let lines = csv.lines().skip(1);
    lines.map(|line| line.split(',').collect()).collect()
}

fn run(jdk: &jdk::Jdk, mode: &str) -> Outcome {
    TruthRun::new(jdk, &format!("slow-for-{mode}"), Strategy::Auto)
        .carriers(2)
        .every("10m")
        .option("blocked=1ms")
        .option("lock=1ms")
        .option("alloc=64k")
        .flag("--add-opens=java.base/java.lang=ALL-UNNAMED")
        .flags(["-XX:+UseParallelGC", "-Xmx1g"])
        .argument(format!("--count={REQUESTS}"))
        .argument("--threads=2")
        .run()
        .expect("a run")
}

#[test]
fn why_tells_what_each_of_five_services_is_slow_for() {
    if let Some(jdk) = jdk::newest_virtual("why") {
        for mode in ["cpu", "lock", "io", "gc", "runnable"] {
            let run = run(&jdk, mode);
            let out = run.dir.path().join("out");
            let part: String = run.log.fact("slow.part").expect("a fact");
            let frame: String = run.log.fact("slow.frame").expect("a fact");
            let took: f64 = run.log.fact("slow.took").expect("a fact");
            let count: f64 = run.log.fact("slow.count").expect("a fact");
            let text = command(&out, &["why", "request", "--slow", "p95"]);
            let csv = command(&out, &["why", "request", "--slow", "p95", "--csv"]);
            let parts = rows(&csv);
            let verdict: Vec<_> = text
                .lines()
                .skip(2)
                .take_while(|line| !line.is_empty())
                .collect();
            say(&format!("{mode} on {}: {verdict:#?}", jdk.version));
            assert!(
                verdict.iter().take(4).any(|line| line.contains(&frame)),
                "{frame} is not named: {text}"
            );
            if mode == "runnable" {
                // No state has all of it: it is inferred, or told of yields alone.
                assert!(text.contains("carrier"), "{text}");
                continue;
            }
            assert_eq!(parts[0][0], part, "{text}");
            let lost: f64 = parts[0][5].parse().expect("a number");
            let ratio = lost / (took / count);
            assert!((ratio - 1.0).abs() < CLOSE, "{mode}: {ratio:.3}: {text}");
        }
    }
}

#[test]
fn what_slow_requests_alone_do_is_the_first_row_of_a_diff() {
    if let Some(jdk) = jdk::newest_virtual("why") {
        let run = run(&jdk, "cpu");
        let frame: String = run.log.fact("slow.frame").expect("a fact");
        let took: f64 = run.log.fact("slow.took").expect("a fact");
        let count: f64 = run.log.fact("slow.count").expect("a fact");
        let words = ["diff", "--slow", "p95", "--name", "request", "--csv"];
        let csv = command(&run.dir.path().join("out"), &words);
        let first = &rows(&csv)[0];
        assert_eq!(first[0], frame, "{csv}");
        let lost: f64 = first[3].parse().expect("a number");
        let ratio = lost / (took / count);
        say(&format!("diff on {}: {ratio:.3} of the truth", jdk.version));
        assert!((ratio - 1.0).abs() < 0.1, "{ratio:.3}");
    }
}
