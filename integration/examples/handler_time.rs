//! How long the signal handler takes where it completes a stack of about 50 frames: medians, which other load
//! on the machine hardly moves. Run by `make bench`.

use anyhow::{Context, Result};
use vtprof_integration::artifacts;
use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::workdir::WorkDir;

/// Steps of the ladder; with the JVM's own frames below and `park` above, up to 80, 50 on average.
const STEPS: &str = "65";
const SECONDS: &str = "15";
const ROUNDS: usize = 3;

fn main() -> Result<()> {
    for feature in [21, 25] {
        let Some(jdk) = jdk::of_feature(feature, "time in the handler") else {
            continue;
        };
        for round in 1..=ROUNDS {
            let dir = WorkDir::new("handler-time")?;
            let launch = Launch::new(&jdk)
                .agent("cpu=1000hz,out=out,every=60s,log=warn")?
                .flags(["-XX:+UseG1GC", "-Xmx256m"])
                .flag(format!("-Dtruth.steps={STEPS}"))
                .jar(artifacts::truth_program()?)
                .program(["io.vtprof.truth.DeepStacks", SECONDS, "8"]);
            let finished =
                Running::start(&launch, dir.path(), std::time::Duration::from_secs(120))?
                    .wait()
                    .and_then(Finished::success)?;
            let recording = Recording::read(&dir.path().join("out"))
                .with_context(|| format!("the agent said {:#?}", finished.agent_lines()))?;
            let frames: u64 = recording
                .samples
                .iter()
                .map(|sample| sample.count * sample.frames.len() as u64)
                .sum();
            println!(
                "JDK {} round {round}: {} signals of {} frames on average, {} stacks completed; handler median {} ns, p99 {} ns; AsyncGetCallTrace alone median {} ns, p99 {} ns; completion median {} ns, p99 {} ns",
                jdk.version,
                recording.counter("signals.received").unwrap_or(0),
                frames / recording.count().max(1),
                recording.counter("stacks.completed").unwrap_or(0),
                recording.fact("handler.median_ns").unwrap_or("-"),
                recording.fact("handler.p99_ns").unwrap_or("-"),
                recording.fact("walk.median_ns").unwrap_or("-"),
                recording.fact("walk.p99_ns").unwrap_or("-"),
                recording.fact("completion.median_ns").unwrap_or("-"),
                recording.fact("completion.p99_ns").unwrap_or("-"),
            );
        }
    }
    Ok(())
}
