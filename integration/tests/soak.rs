//! Under chaos and at the highest rate no tag and no chain is wrong, nothing crashes, hangs or leaks, and every
//! signal is accounted for.
//!
//! `VTPROF_SOAK_MINUTES` (1), `_JDK` (25), `_GC` (G1), `_SEED` (the clock), `_PACE` (`stress=4000hz`), `_KINDS`
//! (`all` or `cpu`) and `_MALLOC` (`debug` or `plain`; drawn) choose; `make soak` sets them.

use vtprof_integration::jvm::Machine;
use vtprof_integration::report::say;
use vtprof_integration::soak::plan::Plan;
use vtprof_integration::soak::run::soak;
use vtprof_integration::workdir::WorkDir;

#[test]
fn nothing_goes_wrong_under_chaos() {
    let Some(plan) = Plan::from_environment().expect("settings") else {
        return;
    };
    let _machine = Machine::turn();
    // Outlives a failure, and is then kept.
    let dir = WorkDir::new("soak").expect("a folder");
    let outcome = soak(&plan, dir.path()).expect("an end without crash, hang or failure");
    let faults = outcome.faults();
    let verdict = if faults.is_empty() {
        "PASSED"
    } else {
        "FAILED"
    };
    say(&format!("{verdict} {plan}: {outcome}"));
    assert!(faults.is_empty(), "{plan}: {faults:#?}");
}
