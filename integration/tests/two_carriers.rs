//! X burns 900 ms in bursts between waits; short requests Y start while X waits. X has its own CPU
//! in the samples, and no Y has more than it lasted.

use vtprof_integration::sums::{by_span, charged_more_than_they_lasted, shares_by_name};
use vtprof_integration::truth::SpanTruth;
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

            let x = &shares_by_name(&run.recording, &run.log, &["X", "Y"])[0];
            assert!(
                (x.excess() - 1.0).abs() < 0.1,
                "the Xs have {:.3} times their part of the Ys' samples: {x:?}",
                x.excess()
            );
            each_x_has_its_own(&run);
        }
    }
}

/// Every single X has the CPU that its iterations cost, by what they and those of the Ys beside it cost in all.
fn each_x_has_its_own(run: &vtprof_integration::truth_run::Outcome) {
    let sums = by_span(&run.recording);
    let sampled = |span: &SpanTruth| sums.get(&span.span).map_or(0, |charge| charge.burnt) as f64;
    let mut found = 0;
    for x in run.log.spans.values().filter(|span| span.name == "X") {
        let beside: Vec<_> = run
            .log
            .spans
            .values()
            .filter(|span| span.start >= x.start && span.end <= x.end)
            .collect();
        let nanos: f64 = beside.iter().map(|span| sampled(span)).sum();
        let iterations: u64 = beside.iter().map(|span| span.iterations).sum();
        let burnt = x.iterations as f64 * nanos / iterations as f64;
        assert!(
            (sampled(x) / burnt - 1.0).abs() < 0.15,
            "X {} burnt {burnt:.0} ns and has {:.0}",
            x.span,
            sampled(x)
        );
        found += 1;
    }
    assert!(found > 1, "{found} Xs ran");
}
