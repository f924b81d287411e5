//! Wall-clock samples carry the span that their thread was in, whether it was asked or stood where it stood; and who does
//! not ask for them has no thread for it.

use vtprof_integration::jdk;
use vtprof_integration::jvm::Machine;
use vtprof_integration::quiet::idle;
use vtprof_integration::recording::{Recording, Sample};
use vtprof_integration::report::say;
use vtprof_integration::truth_run::{Strategy, TruthRun};
use vtprof_integration::verdict::Verdict;
use vtprof_integration::workdir::WorkDir;
use vtprof_profile::kind::Kind;

/// What spans burn, ns.
fn burnt(recording: &Recording) -> u64 {
    let is_burning = |sample: &&Sample| {
        let leaf = sample.frames.first();
        sample.tag.is_some() && leaf.is_some_and(|leaf| leaf.starts_with("io.vtprof.truth.burn."))
    };
    let samples = recording.samples.iter().filter(is_burning);
    samples.map(|sample| sample.nanos).sum()
}

#[test]
fn samples_by_the_wall_clock_carry_the_span_of_their_thread() {
    for jdk in jdk::each("wall") {
        let kinds: &[&str] = match jdk.feature {
            jdk::VIRTUAL_THREADS.. => &["platform", "virtual"],
            _ => &["platform"],
        };
        for kind in kinds {
            let scenario = if *kind == "platform" {
                "platform-pool"
            } else {
                "mix"
            };
            let run = TruthRun::new(&jdk, scenario, Strategy::Auto)
                .seconds(4)
                .argument("--work=2000")
                .argument(format!("--kind={kind}"))
                .option("wall=1ms")
                .option("wall_scope=all")
                .option("blocked=1ms")
                .run()
                .expect("a run");
            run.verdict.assert_no_wrong_tag();
            let wall =
                Recording::read_kind(&run.dir.path().join("out"), Kind::Wall).expect("profiles");
            let verdict = Verdict::of(&wall, &run.log);
            let counter = |key| run.recording.counter(key).unwrap_or(0);
            say(&format!(
                "{scenario} on {}: {verdict}; {} asked, {} of them at a signal of CPU time, {} not answered yet, {} repeated, {} repeats lost",
                jdk.version,
                counter("wall.signals"),
                counter("wall.merged"),
                counter("wall.unanswered"),
                counter("wall.repeated"),
                counter("wall.dropped_repeats")
            ));
            verdict.assert_no_wrong_tag();
            assert!(verdict.right > 100, "{verdict}");
            // Who uses CPU is there meanwhile, and may wait for a CPU on top.
            let (cpu, there) = (burnt(&run.recording), burnt(&wall));
            assert!(
                there as f64 > 0.8 * cpu as f64,
                "{there} ns by the wall clock of {cpu} ns of CPU"
            );
            assert_eq!(counter("wall.dropped_repeats"), 0);
            assert!(counter("wall.repeated") > 0);
        }
    }
}

#[test]
fn the_engine_has_a_thread_only_where_somebody_wants_it() {
    let Some(jdk) = jdk::newest_virtual("wall: off") else {
        return;
    };
    for (options, is_there) in [
        ("", false),
        (",wall=off,wall_scope=all", false),
        (",blocked=1ms", true),
        (",wall=1s", true),
    ] {
        let _machine = Machine::turn();
        let dir = WorkDir::new("wall-off").expect("a folder");
        let options = format!("out=out,shim=off{options}");
        let running = idle(&jdk, dir.path(), &options, 1).expect("threads");
        let engines = running.threads_named("vtprof-wall").expect("threads");
        assert_eq!(engines.len(), usize::from(is_there), "{options}");
        running.terminate().expect("a signal");
        running.wait().expect("an end");
    }
}
