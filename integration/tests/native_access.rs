//! `--illegal-native-access=deny` (24+) is no obstacle: nothing of ours needs `System.load`.

use vtprof_integration::jdk;
use vtprof_integration::truth_run::{Strategy, TruthRun};

#[test]
fn tags_are_right_where_restricted_native_access_is_denied() {
    for jdk in jdk::each_from(24, "native_access") {
        let run = TruthRun::new(&jdk, "mix", Strategy::Auto)
            .seconds(3)
            .flag("--illegal-native-access=deny")
            .run()
            .expect("a run");
        run.verdict.assert_no_wrong_tag();
        run.verdict.assert_all_named();
        assert!(run.verdict.right > 200, "{}", run.verdict);
        assert!(
            !run.finished.stderr.contains("restricted"),
            "{}",
            run.finished.stderr
        );
    }
}
