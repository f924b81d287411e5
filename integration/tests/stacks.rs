//! Stacks of virtual threads under everything that is thought to break them, at 3,000 signals a second and
//! thread: whole but for what is named, and never wrong.
//!
//! `make stacks` judges a million samples over all configurations; the everyday suite runs a few of them, once.

use vtprof_integration::deep::{DeepRun, Load, Tally};
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::report::say;
use vtprof_integration::scale;

const CLOCK: &str = "stress=3000hz";
/// Seconds of one run.
const ROUND: u32 = 20;
/// The same in the everyday suite.
const SHORT_ROUND: u32 = 6;
/// Runs of one configuration at most.
const ROUNDS: u32 = 60;

/// A configuration.
struct Case {
    feature: u32,
    flags: &'static [&'static str],
    antagonists: &'static [&'static str],
    /// Share of whole stacks, at least, once the self-test has passed.
    whole: f64,
    /// Whether it is of the everyday suite, which has the plain ones elsewhere.
    everyday: bool,
}

const fn plain(feature: u32, flags: &'static [&'static str], whole: f64) -> Case {
    Case {
        feature,
        flags,
        antagonists: &[],
        whole,
        everyday: false,
    }
}

const fn harsh(
    flags: &'static [&'static str],
    antagonists: &'static [&'static str],
    whole: f64,
    everyday: bool,
) -> Case {
    Case {
        feature: 25,
        flags,
        antagonists,
        whole,
        everyday,
    }
}

const HEAP: &str = "-Xmx256m";
const G1: &str = "-XX:+UseG1GC";
const PARALLEL: &str = "-XX:+UseParallelGC";
const SERIAL: &str = "-XX:+UseSerialGC";
const SHENANDOAH: &str = "-XX:+UseShenandoahGC";
const ZGC: &str = "-XX:+UseZGC";
const COMPACT: &str = "-XX:+UseCompactObjectHeaders";
const DIAGNOSTIC: &str = "-XX:+UnlockDiagnosticVMOptions";
const ALL: &[&str] = &["gc", "monitors", "retransform"];

const CASES: &[Case] = &[
    plain(25, &[HEAP, G1], 0.99),
    plain(25, &[HEAP, PARALLEL], 0.99),
    plain(25, &[HEAP, SERIAL], 0.99),
    plain(25, &[HEAP, G1, "-XX:-UseCompressedOops"], 0.99),
    plain(25, &[HEAP, G1, COMPACT], 0.99),
    plain(25, &[HEAP, SHENANDOAH], 0.99),
    plain(25, &[HEAP, SHENANDOAH, COMPACT], 0.99),
    plain(25, &[HEAP, SHENANDOAH, "-XX:-UseCompressedOops"], 0.99),
    plain(
        25,
        &[HEAP, SHENANDOAH, "-XX:ShenandoahGCMode=generational"],
        0.99,
    ),
    plain(25, &[HEAP, ZGC], 0.98),
    plain(25, &[HEAP, ZGC, COMPACT], 0.98),
    plain(21, &[HEAP, G1], 0.99),
    plain(21, &[HEAP, ZGC, "-XX:+ZGenerational"], 0.90),
    plain(26, &[HEAP, G1], 0.99),
    plain(26, &[HEAP, PARALLEL], 0.99),
    plain(26, &[HEAP, SERIAL], 0.99),
    plain(26, &[HEAP, SHENANDOAH], 0.99),
    plain(27, &[HEAP, G1], 0.99),
    plain(27, &[HEAP, PARALLEL], 0.99),
    plain(27, &[HEAP, SERIAL], 0.99),
    plain(27, &[HEAP, SHENANDOAH], 0.99),
    harsh(&[HEAP, G1, "-Xint"], &[], 0.99, false),
    harsh(&[HEAP, G1, "-XX:TieredStopAtLevel=1"], &[], 0.99, false),
    harsh(&[HEAP, G1, "-XX:-Inline"], &[], 0.99, false),
    harsh(&[HEAP, G1], &["gc"], 0.99, false),
    harsh(&[HEAP, G1], ALL, 0.0, true),
    harsh(&[HEAP, SHENANDOAH], ALL, 0.0, true),
    harsh(&[HEAP, ZGC], ALL, 0.0, true),
    harsh(
        &[HEAP, G1, DIAGNOSTIC, "-XX:+DeoptimizeNMethodBarriersALot"],
        &["monitors"],
        0.0,
        false,
    ),
];

fn jdk_of(case: &Case) -> Option<Jdk> {
    match case.feature {
        21 | 25 => jdk::of_feature(case.feature, "stacks under stress"),
        named => jdk::named(named),
    }
}

/// Whether `VTPROF_STACKS_ONLY`, a part of its flags or antagonists, lets it through.
fn is_wanted(case: &Case) -> bool {
    let Ok(only) = std::env::var("VTPROF_STACKS_ONLY") else {
        return true;
    };
    let name = format!("{} {:?} {:?}", case.feature, case.flags, case.antagonists);
    name.contains(&only)
}

fn judge(case: &Case, jdk: &Jdk, share: u64, seconds: u32) -> Tally {
    let mut tally = Tally::default();
    let (mut completed, mut nanos) = (0, 0);
    for _ in 0..ROUNDS {
        let load = Load {
            flags: case.flags,
            clock: CLOCK,
            antagonists: case.antagonists,
            ..Load::plain(seconds, 16)
        };
        let run = DeepRun::under(jdk, &load).expect("a run");
        completed += run.recording.counter("stacks.completed").unwrap_or(0);
        nanos += run.recording.counter("agent.completion_ns").unwrap_or(0);
        tally.add(run.tally);
        if tally.all() >= share {
            break;
        }
    }
    say(&format!(
        "STACKS {} {:?} {:?}: {:.2} % whole once proven; {tally}; {} ns a completion",
        jdk.version,
        case.flags,
        case.antagonists,
        tally.proven_share() * 100.0,
        nanos / completed.max(1)
    ));
    tally
}

#[test]
fn stacks_under_stress_are_whole_or_say_why_and_none_is_wrong() {
    let samples = scale::stack_samples();
    let cases: Vec<(&Case, Jdk)> = CASES
        .iter()
        .filter(|case| samples.is_some() || case.everyday)
        .filter(|case| is_wanted(case))
        .filter_map(|case| Some((case, jdk_of(case)?)))
        .collect();
    let (share, seconds) = match samples {
        Some(samples) => (samples.div_ceil(cases.len().max(1) as u64), ROUND),
        None => (1, SHORT_ROUND),
    };
    let mut judged = 0;
    for (case, jdk) in &cases {
        let tally = judge(case, jdk, share, seconds);
        let name = format!("{} {:?} {:?}", jdk.version, case.flags, case.antagonists);
        assert_eq!(tally.wrong, 0, "{name}: {:#?}", tally.quoted);
        assert!(tally.all() >= share, "{name}: {tally}");
        assert!(tally.whole > 100, "{name}: {tally}");
        assert!(tally.proven_share() >= case.whole, "{name}: {tally}");
        judged += tally.all();
    }
    say(&format!(
        "STACKS {judged} samples of {} configurations, none wrong",
        cases.len()
    ));
}
