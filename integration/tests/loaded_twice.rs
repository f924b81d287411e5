//! The agent named twice: the second declines in one line, the first works as if alone.

use vtprof_integration::artifacts;
use vtprof_integration::jdk;
use vtprof_integration::truth_run::{Strategy, TruthRun};

#[test]
fn a_second_agent_declines_in_one_line_and_nothing_is_counted_twice() {
    for jdk in jdk::newest("loaded_twice") {
        let second = format!(
            "-agentpath:{}=out=second,cpu=1000hz",
            artifacts::agent().expect("the agent").display()
        );
        let run = TruthRun::new(&jdk, "single-core", Strategy::Auto)
            .seconds(3)
            .argument("--kind=platform")
            .flag(second)
            .run()
            .expect("a run");
        let declined: Vec<&str> = run
            .finished
            .agent_lines()
            .into_iter()
            .filter(|line| line.contains("already") || line.contains("twice"))
            .collect();
        assert_eq!(declined.len(), 1, "{}", run.finished.stderr);
        assert!(
            !run.dir.path().join("second").exists(),
            "the second wrote files"
        );
        let measured: f64 = run.log.fact("thread_cpu_ns").expect("a measurement");
        let sampled: u64 = run
            .recording
            .samples
            .iter()
            .filter(|sample| sample.tag.as_ref().is_some_and(|tag| tag.name == "burn"))
            .map(|sample| sample.nanos)
            .sum();
        // A thread begins and ends somewhere between two samples.
        let allowed = 0.02 * measured + 2.0 * run.recording.grain() as f64;
        assert!(
            (sampled as f64 - measured).abs() <= allowed,
            "{sampled} of {measured} ns on {}",
            jdk.version
        );
    }
}
