//! X burns 900 ms in bursts between waits; short requests Y start while X waits. X has its own CPU
//! in the samples, and no Y has more than it lasted.

use vtprof_integration::sums::{by_span, charged_more_than_they_lasted, ratio_by_name};
use vtprof_integration::truth_run::{TruthRun, virtual_configurations};

#[test]
fn a_slow_request_keeps_its_cpu_and_a_short_one_gets_no_more_than_it_lasted() {
    for (jdk, strategy) in virtual_configurations("two_carriers") {
        for carriers in [1, 2] {
            let run = TruthRun::new(&jdk, "two-carriers", strategy)
                .seconds(6)
                .carriers(carriers)
                .run()
                .expect("a run");
            run.verdict.assert_no_wrong_tag();
            run.verdict.assert_all_named();
            run.verdict
                .assert_untagged_at_most(strategy.untagged_limit());
            let stolen = charged_more_than_they_lasted(&run.recording, &run.log);
            assert!(
                stolen.is_empty(),
                "spans with more CPU than they lasted: {stolen:?}"
            );

            let (burnt, sampled) = ratio_by_name(&run.recording, &run.log, "X", "Y");
            assert!(
                (sampled / burnt - 1.0).abs() < 0.1,
                "X burnt {burnt:.3} of what the Ys burnt, and has {sampled:.3} of their samples"
            );
            each_x_has_its_own(&run);
        }
    }
}

/// Every single X has the CPU that its iterations cost on average over all spans.
fn each_x_has_its_own(run: &vtprof_integration::truth_run::Outcome) {
    let sums = by_span(&run.recording);
    let iterations: u64 = run.log.spans.values().map(|span| span.iterations).sum();
    let nanos: u64 = sums.values().map(|charge| charge.nanos).sum();
    let cost = nanos as f64 / iterations as f64;
    let mut found = 0;
    for span in run.log.spans.values().filter(|span| span.name == "X") {
        let burnt = span.iterations as f64 * cost;
        let sampled = sums.get(&span.span).map_or(0, |charge| charge.nanos) as f64;
        assert!(
            (sampled / burnt - 1.0).abs() < 0.15,
            "X {} burnt {burnt:.0} ns and has {sampled:.0}",
            span.span
        );
        found += 1;
    }
    assert!(found > 0, "no X ran");
}
