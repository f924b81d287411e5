//! More threads in a span than the table of contexts holds: what does not fit is counted and
//! untagged, never wrong.

use std::collections::HashSet;

use vtprof_integration::report::say;
use vtprof_integration::truth_run::{TruthRun, virtual_configurations};
use vtprof_profile::ids::SpanId;

const CONTEXTS: usize = 16;
/// Threads that are in a span at once, by a barrier.
const THREADS: usize = 48;

#[test]
fn a_full_table_of_contexts_costs_tags_and_makes_none_wrong() {
    for (jdk, strategy) in virtual_configurations("small_table") {
        let run = TruthRun::new(&jdk, "crowd", strategy)
            .seconds(2)
            .carriers(2)
            .argument(format!("--threads={THREADS}"))
            .option(&format!("contexts={CONTEXTS}"))
            .run()
            .expect("a run");
        run.verdict.assert_no_wrong_tag();

        // Of each crowd as many as fit have a tag, and each that does not fit is counted. Members burn several ticks.
        let in_crowd = |span: &SpanId| run.log.spans.get(span).is_some_and(|s| s.name == "crowd");
        let tags = run.recording.samples.iter().filter_map(|s| s.tag.as_ref());
        let tagged: HashSet<_> = tags.map(|tag| tag.span).filter(in_crowd).collect();
        let crowds: usize = run.log.fact("crowds").expect("a count");
        let counted = run.recording.counter("untagged.context_table_full");
        let overflow = counted.expect("a window");
        say(&format!(
            "small table on {} by {strategy}: {} of {} in {crowds} crowds tagged, {overflow} contexts for which there was no room",
            jdk.version,
            tagged.len(),
            crowds * THREADS
        ));
        let room = CONTEXTS * crowds;
        assert!(
            (room / 2..=room).contains(&tagged.len()),
            "{} of {crowds} crowds are tagged",
            tagged.len()
        );
        assert!(run.verdict.right > 50, "{}", run.verdict);
        // Two thirds of each crowd have none, and burn as long as the others.
        assert!(
            run.verdict.untagged > run.verdict.total / 4,
            "nothing overflowed: {}",
            run.verdict
        );
        assert!(
            overflow >= ((THREADS - CONTEXTS) * crowds) as u64,
            "not counted: {overflow} in {crowds} crowds, {}",
            run.verdict
        );
    }
}
