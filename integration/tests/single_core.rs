//! One core burnt for ten seconds is ten seconds in the profile, within 2 %, at the default rate and
//! at a rate above the kernel's tick; and CPU time is what the periods add up to.

use vtprof_integration::jdk;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::truth_run::{Strategy, TruthRun};
use vtprof_integration::verdict::burner_frame;

#[test]
fn the_cpu_of_one_thread_adds_up_to_what_the_jvm_measured() {
    for jdk in jdk::newest("single_core") {
        for (rate, engine) in [("100hz", "engine=auto"), ("1000hz", "engine=perf")] {
            let run = TruthRun::new(&jdk, "single-core", Strategy::Auto)
                .seconds(10)
                .rate(rate)
                .option(engine)
                .argument("--kind=platform")
                .run()
                .expect("a run");
            run.verdict.assert_no_wrong_tag();
            run.verdict.assert_all_named();
            let measured: f64 = run.log.fact("thread_cpu_ns").expect("a measurement");
            let burnt: Vec<_> = run
                .recording
                .samples
                .iter()
                .filter(|sample| sample.tag.as_ref().is_some_and(|tag| tag.name == "burn"))
                .filter(|sample| {
                    sample
                        .frames
                        .iter()
                        .any(|frame| burner_frame(frame).is_some())
                })
                .collect();
            let sampled: u64 = burnt.iter().map(|sample| sample.nanos).sum();
            say(&format!(
                "one core on {} at {rate}: measured {:.3} s, sampled {:.3} s",
                jdk.version,
                measured / 1e9,
                sampled as f64 / 1e9
            ));
            assert!(
                (sampled as f64 / measured - 1.0).abs() < 0.02,
                "{}, {rate}: the thread used {measured} ns, its samples say {sampled}",
                jdk.version
            );
            each_value_is_a_number_of_periods(&run.recording);
            if rate == "1000hz" {
                let samples: u64 = burnt.iter().map(|sample| sample.count).sum();
                each_period_is_a_sample(&run.recording, samples, measured);
            }
        }
    }
}

/// At the highest rate, finer than the kernel's tick, the rate is real, where the kernel permits perf events.
fn each_period_is_a_sample(recording: &Recording, samples: u64, measured_ns: f64) {
    let engine = recording.fact("engine").expect("an engine");
    let share = samples as f64 / (measured_ns / 1e6);
    say(&format!(
        "{samples} samples, {:.1} % of the periods; engine={engine}",
        share * 100.0
    ));
    if engine == "perf" {
        assert!(share >= 0.98, "{samples} samples of {measured_ns} ns");
    } else {
        say("SKIPPED: the rate is the kernel's tick's, as there are no perf events");
    }
}

fn each_value_is_a_number_of_periods(recording: &Recording) {
    let period = u64::try_from(recording.windows[0].period).expect("a period");
    for sample in &recording.samples {
        assert!(
            sample.count > 0 && sample.nanos % period == 0 && sample.nanos >= sample.count * period,
            "{} samples of {period} ns stand for {} ns",
            sample.count,
            sample.nanos
        );
    }
}
