//! Each class of requests has the share of the samples that it has of the work.

use vtprof_integration::jdk;
use vtprof_integration::sums::shares;
use vtprof_integration::truth_run::{Strategy, TruthRun};

#[test]
fn cpu_by_class_of_request_is_what_it_burnt() {
    for jdk in jdk::ends("class_sums") {
        let run = TruthRun::new(&jdk, "mix", Strategy::Auto)
            .seconds(15)
            .carriers(2)
            .run()
            .expect("a run");
        run.verdict.assert_no_wrong_tag();
        run.verdict.assert_all_named();
        let shares = shares(&run.recording, &run.log);
        assert_eq!(shares.len(), 128, "not every class ran");
        let off: Vec<_> = shares.iter().filter(|share| !share.plausible()).collect();
        assert!(off.is_empty(), "{off:#?}");
    }
}
