//! A real Helidon SE service under the OpenTelemetry javaagent, with nothing set but the two flags:
//! every sample of an endpoint carries the span of its own request.

use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::jvm::Machine;
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::service::{MOST_SECONDS, Service};
use vtprof_integration::truth::TruthLog;
use vtprof_integration::truth_run::virtual_configurations;
use vtprof_integration::verdict::Verdict;
use vtprof_integration::workdir::WorkDir;

/// Of all endpoints; the one with the fewest samples has then some 70.
const ANSWERS: u32 = 1_600;

#[test]
fn each_endpoint_of_a_helidon_service_is_charged_with_its_own_cpu() {
    for (jdk, strategy) in virtual_configurations("helidon") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("helidon").expect("a folder");
        let library = artifacts::install(dir.path()).expect("the agent and the shim");
        let options = format!("cpu=1000hz,out=out,service=demo,context={strategy}");
        let launch = Launch::new(&jdk)
            .agent_at(&library, &options)
            .javaagent()
            .expect("the javaagent");
        let limit = Duration::from_secs(u64::from(MOST_SECONDS) + 60);
        let service = Service::start(launch, dir.path(), limit).expect("a service");
        let answers = service.answers(&jdk, dir.path(), ANSWERS).expect("answers");
        let finished = service.stop().expect("an end");

        let log = TruthLog::read(&dir.path().join("truth.log")).expect("the truth");
        let recording = Recording::read(&dir.path().join("out"))
            .unwrap_or_else(|error| panic!("{error:#}; {:#?}", finished.agent_lines()));
        let verdict = Verdict::of(&recording, &log);
        say(&format!(
            "helidon on {} by {strategy}: {verdict}",
            jdk.version
        ));
        verdict.assert_no_wrong_tag();
        verdict.assert_all_named();
        verdict.assert_untagged_at_most(strategy.untagged_limit());
        say(&format!("by endpoint: {:?}", verdict.by_burner));
        for burner in [
            "Fast", "Slow", "Stock", "FanOut", "Json", "Report", "Gateway",
        ] {
            assert!(
                verdict.samples_of(burner) > 30,
                "{burner}: {verdict:?}\n{answers}"
            );
        }
    }
}
