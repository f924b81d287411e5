//! Other collectors, no compiler, the first compiler alone: tags are as right as with the defaults.

use vtprof_integration::truth_run::{Strategy, TruthRun, virtual_configurations};

const MODES: [&[&str]; 6] = [
    &["-XX:+UseZGC"],
    &["-XX:+UseParallelGC"],
    &["-XX:+UseSerialGC", "-XX:-UseCompressedOops"],
    &["-XX:+UseShenandoahGC"],
    &["-XX:TieredStopAtLevel=1"],
    &["-Xint"],
];

#[test]
fn tags_do_not_depend_on_the_jvms_mode() {
    // One strategy a JDK: the modes differ in code and memory, not in how mounts are told.
    let configurations = virtual_configurations("jvm_modes")
        .into_iter()
        .filter(|(jdk, strategy)| jdk.feature < 24 || *strategy == Strategy::Sample);
    for (jdk, strategy) in configurations {
        for mode in MODES {
            let run = mode
                .iter()
                .fold(TruthRun::new(&jdk, "mix", strategy), |run, flag| {
                    run.flag(*flag)
                })
                .seconds(2)
                .carriers(2)
                .run()
                .unwrap_or_else(|error| panic!("{mode:?}: {error:#}"));
            run.verdict.assert_no_wrong_tag();
            run.verdict.assert_all_named();
            run.verdict
                .assert_untagged_at_most(strategy.untagged_limit());
            assert!(run.verdict.right > 100, "{mode:?}: {}", run.verdict);
        }
    }
}
