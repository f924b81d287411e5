//! Where HotSpot is not as the agent believes, the self-test finds out before any stack is completed: stacks stay
//! truncated, are counted by reason, and the JVM is unharmed.

use vtprof_integration::deep::{DeepRun, Load};
use vtprof_integration::jdk;

/// Pieces of the layout without which no walk agrees with the JVM's own: nothing is completed.
const FATAL: [&str; 6] = [
    "in_thread",
    "continuation",
    "sp",
    "stack_base",
    "const_method",
    "method_ids",
];
/// Pieces that only some walks need (those over compiled frames, over interpreted ones, over several chunks): each
/// kind is proven for itself, so what is completed without them is right.
const PARTIAL: [&str; 4] = ["frame_size", "scopes", "parent", "interpreter"];

fn sabotaged(piece: &str) -> Option<(DeepRun, u64)> {
    let jdk = jdk::of_feature(25, "a sabotaged self-test")?;
    let broken = format!("layout={piece}");
    let load = Load {
        broken: Some(&broken),
        ..Load::plain(5, 16)
    };
    let run = DeepRun::under(&jdk, &load).expect("the JVM lives");
    let said = run.finished.agent_lines();
    let injected = format!("injects a wrong layout: {piece}");
    assert!(
        said.iter().any(|line| line.contains(&injected)),
        "{said:#?}"
    );
    let completed = run.recording.counter("stacks.completed").unwrap_or(0);
    let tally = &run.tally;
    assert_eq!(tally.wrong, 0, "{piece}: {:#?}", tally.quoted);
    // By the size of a frame also a leaf is told from one that is not: without, a stack has no frame at all.
    let misread = run.recording.counter("truncated.misread_stack");
    assert!(
        tally.all() + misread.unwrap_or(0) > 100,
        "{piece}: {tally}, {misread:?} misread"
    );
    Some((run, completed))
}

#[test]
fn with_a_wrong_offset_no_stack_is_completed_and_each_says_why() {
    for piece in FATAL {
        let Some((run, completed)) = sabotaged(piece) else {
            return;
        };
        let tally = &run.tally;
        assert_eq!(completed, 0, "{piece}: {tally}");
        // Those of the first moments have nothing frozen; all others are truncated, for want of the test.
        let truncated: u64 = tally.truncated.values().sum();
        assert!(truncated * 2 > tally.all(), "{piece}: {tally}");
        for reason in tally.truncated.keys() {
            assert!(
                ["self test pending", "self test failed", "freeze or thaw"]
                    .contains(&reason.as_str()),
                "{piece}: {tally}"
            );
        }
        let counter = |name| run.recording.counter(name).unwrap_or(0);
        let counted =
            counter("truncated.self_test_pending") + counter("truncated.self_test_failed");
        assert!(counted * 2 > tally.all(), "{piece}: {counted}");
        let said = run.finished.agent_lines();
        let stays = said
            .iter()
            .filter(|line| line.contains("stacks of virtual threads stay truncated"))
            .count();
        // A difference ends the test at once; refusals do after ten thousand, which few mounts do not reach.
        let has_failed = tally.truncated.contains_key("self test failed");
        // It may also be found out after the last sample.
        assert!(
            stays <= 1 && (stays == 1 || !has_failed),
            "{piece}, said once: {said:#?}"
        );
    }
}

#[test]
fn with_an_offset_wrong_that_only_some_walks_need_no_stack_is_wrong() {
    for piece in PARTIAL {
        let Some((run, completed)) = sabotaged(piece) else {
            return;
        };
        let tally = &run.tally;
        // What is made whole is so without that piece.
        assert!(completed < tally.all(), "{piece}: {completed} of {tally}");
        assert!(!tally.truncated.is_empty(), "{piece}: {tally}");
    }
}

/// Were they believed, Java code would count as C code and no thread of any kind would have a stack.
#[test]
fn code_heaps_that_do_not_hold_the_interpreter_are_refused_at_start() {
    let Some((run, completed)) = sabotaged("code_heaps") else {
        return;
    };
    let tally = &run.tally;
    assert_eq!(completed, 0, "{tally}");
    let reasons: Vec<&String> = tally.truncated.keys().collect();
    assert_eq!(reasons, ["frozen frames"], "{tally}");
    let misread = run.recording.counter("truncated.misread_stack");
    assert_eq!(misread, Some(0), "{tally}");
    let said = run.finished.agent_lines();
    let refusals = said
        .iter()
        .filter(|line| {
            line.contains("what would be its code heaps")
                || line.contains("what would be one of its code heaps")
        })
        .count();
    assert_eq!(refusals, 1, "{said:#?}");
}
