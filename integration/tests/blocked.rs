//! Blocked time is what the program itself measured around each wait, under the right state, stack and span; and short
//! waits of virtual threads are sampled rarely without being lost.
//!
//! What the program measures has its own CPU time in it, and whatever takes the machine from it there: that is in the
//! sums of few spans, so a typical span is compared, and a sum only with what it cannot be beyond. Platform threads, and
//! pinned virtual ones, are visited now and then: n visits tell a sum to a share of 1/√n at the worst, as if each fell
//! anywhere.

use std::collections::{BTreeMap, HashMap};

use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::truth_run::{Outcome, Strategy, TruthRun};
use vtprof_integration::verdict::Verdict;
use vtprof_integration::waits::{self, Wait};
use vtprof_profile::ids::SpanId;
use vtprof_profile::kind::Kind;

/// How the program waits, in which method and in what state. Monitors pin before JDK 24.
const WAYS: [(&str, &str, &str); 7] = [
    ("sleep", "inSleep", "sleep"),
    ("lock", "inLock", "lock"),
    ("queue", "inQueue", "queue"),
    ("socket", "inSocket", "io"),
    ("park", "inPark", "other"),
    ("yield", "inYield", "runnable"),
    ("monitor", "inMonitor", "lock"),
];
const UNPINNED_MONITORS: u32 = 24;
/// Ways of platform threads.
const VISITED: [(&str, &str, &str); 7] = [
    ("sleep", "inSleep", "sleep"),
    ("lock", "inLock", "lock"),
    ("queue", "inQueue", "queue"),
    ("socket", "inSocket", "io"),
    ("park", "inPark", "other"),
    ("object", "inObject", "queue"),
    ("monitor", "inMonitor", "lock"),
];
/// Ways of virtual threads that are pinned, before JDK 24.
const PINNED: [(&str, &str, &str); 3] = [
    ("sleep", "inSleep", "sleep"),
    ("lock", "inLock", "lock"),
    ("park", "inPark", "other"),
];
/// One in so many ns of a way may be waited elsewhere in its spans.
const ELSEWHERE: u64 = 20;
/// How many standard errors a sum may be off.
const ERRORS: f64 = 4.0;
/// A way on which less was waited, as nobody held what is waited for, says nothing, ns.
const LEAST: u64 = 200_000_000;
/// And beyond that: what the program does itself between its looks at the clock.
const OWN: f64 = 0.04;
/// Those that end when the time asked for is over, and not before.
const TIMED: [&str; 4] = ["sleep", "queue", "socket", "park"];
/// Spans of each way.
const SPANS: u32 = 480;
/// Waits of a span that are worth a comparison, ns.
const LONG: u64 = 5_000_000;

fn blocked(run: &Outcome) -> Vec<Wait> {
    let waits = waits::read(&run.dir.path().join("out")).expect("blocked time");
    let flaws: Vec<_> = waits.iter().filter_map(|w| w.flaw(&run.log)).collect();
    assert!(
        flaws.is_empty(),
        "{} wrong tags: {:#?}",
        flaws.len(),
        &flaws[0]
    );
    assert!(
        waits.iter().any(|wait| wait.span.is_some()),
        "no tag at all"
    );
    assert_eq!(run.recording.counter("blocked.dropped_queue_full"), Some(0));
    waits
}

/// Holds that no wait of that span is in the method of another way, and returns what of it, in that state, is in none:
/// where the span begins and ends, where the thread comes back to its carrier, or its stack is not whole. Without a CPU
/// it may be anywhere.
fn misplaced_of(wait: &Wait, method: &str, state: &str) -> u64 {
    let ways = wait.frames.iter().filter_map(|frame| {
        let method = frame.strip_prefix("io.vtprof.truth.BlockedTime.")?;
        method.starts_with("in").then_some(method)
    });
    let other = ways
        .filter(|way| *way != method && *way != "inside")
        .count();
    assert_eq!(other, 0, "{wait:?}");
    let is_elsewhere = !wait.is_in("BlockedTime", method) && !wait.is_partial();
    if is_elsewhere && wait.state == state && state != "runnable" {
        wait.nanos
    } else {
        0
    }
}

/// What a typical span has of the time that the program measured, among the spans of that name that waited so long,
/// and how many those are.
fn typical(run: &Outcome, name: &str, least: u64, found: &HashMap<SpanId, u64>) -> (f64, usize) {
    let spans = run.log.spans.values().filter(|span| span.name == name);
    let mut ratios: Vec<f64> = spans
        .filter_map(|span| {
            let waited: u64 = run
                .log
                .fact(&format!("waited.{}", span.span))
                .expect("a fact");
            let found = found.get(&span.span).copied().unwrap_or(0);
            (waited >= least).then_some(found as f64 / waited as f64)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2);
    (*median.expect("a span that waited"), ratios.len())
}

#[test]
fn blocked_time_is_what_the_program_measured_by_span_and_state() {
    for jdk in jdk::each_from(jdk::VIRTUAL_THREADS, "blocked") {
        let run = TruthRun::new(&jdk, "blocked", Strategy::Auto)
            .carriers(2)
            .rate("100hz")
            .every("60s")
            .option("blocked=1ms")
            .argument(format!("--count={SPANS}"))
            .run()
            .expect("a run");
        let waits = blocked(&run);
        for (way, method, state) in WAYS {
            if way == "monitor" && jdk.feature < UNPINNED_MONITORS {
                continue;
            }
            let name = format!("wait-{way}");
            let mut by_state: BTreeMap<&str, u64> = BTreeMap::new();
            let mut by_span: HashMap<SpanId, u64> = HashMap::new();
            let mut misplaced = 0;
            for wait in waits.iter().filter(|w| w.name_in(&run.log) == Some(&*name)) {
                *by_state.entry(&wait.state).or_default() += wait.nanos;
                if let (Some(span), true) = (wait.span, wait.is_of(state)) {
                    *by_span.entry(span).or_default() += wait.nanos;
                }
                misplaced += misplaced_of(wait, method, state);
            }
            let truth: u64 = run.log.fact(&format!("blocked.{way}")).expect("a fact");
            let asked: u64 = run.log.fact(&format!("asked.{way}")).expect("a fact");
            let in_state = |state| by_state.get(state).copied().unwrap_or(0);
            let delays = if state == "runnable" {
                0
            } else {
                in_state("runnable")
            };
            let found = in_state(state) + delays;
            assert!(
                misplaced <= truth / ELSEWHERE,
                "{way}: {misplaced} of {truth} ns"
            );
            // A yield is mostly work: that part of the time is on the carrier.
            if way == "yield" {
                assert!(found > 0 && found < truth, "{way}: {found} of {truth} ns");
                continue;
            }
            let (ratio, spans) = typical(&run, &name, LONG, &by_span);
            say(&format!(
                "{}: {way} {:.4}, typically {ratio:.4} of {spans} spans, {:.4} of what was asked for, {by_state:?}",
                jdk.version,
                found as f64 / truth as f64,
                found as f64 / asked as f64,
            ));
            assert!(spans > 50, "{way}: only {spans} spans waited");
            // Between the program's clock and the switch lies its own CPU time, more of it on a busy machine.
            assert!((0.85..1.05).contains(&ratio), "{way}: typically {ratio:.4}");
            assert!(
                found as f64 <= 1.05 * truth as f64,
                "{way}: {found} of {truth} ns"
            );
            if TIMED.contains(&way) {
                assert!(
                    found as f64 >= 0.95 * asked as f64,
                    "{way}: {found} of {asked} ns"
                );
            }
        }
    }
}

/// So many threads, over three windows.
fn three_windows(jdk: &Jdk, scenario: &str, threads: u64) -> Outcome {
    TruthRun::new(jdk, scenario, Strategy::Auto)
        .seconds(3)
        .carriers(2)
        .rate("100hz")
        .every("1s")
        .option("blocked=1ms")
        .argument(format!("--count={threads}"))
        .run()
        .expect("a run")
}

#[test]
fn a_wait_that_goes_on_is_in_each_window_up_to_its_end_and_in_the_last() {
    const THREADS: u64 = 20;
    for jdk in jdk::each_from(jdk::VIRTUAL_THREADS, "blocked: open waits") {
        let run = three_windows(&jdk, "open-waits", THREADS);
        let waits = blocked(&run);
        let sum = |name: &str, is_open: bool| -> u64 {
            let of_that_name = waits.iter().filter(|w| w.name_in(&run.log) == Some(name));
            let of_that_kind = of_that_name.filter(|w| w.is_open() == is_open);
            of_that_kind.map(|wait| wait.nanos).sum()
        };
        let facts = |name: &str, key: &str| -> Vec<i64> {
            let spans = run.log.spans.values().filter(|span| span.name == name);
            spans
                .map(|span| {
                    run.log
                        .fact(&format!("{key}.{}", span.span))
                        .expect("a fact")
                })
                .collect()
        };
        // Those that end: all of it, and the rest under its own stack.
        let waited: i64 = facts("ends", "waited").iter().sum();
        let (open, over) = (sum("ends", true), sum("ends", false));
        let ratio = (open + over) as f64 / waited as f64;
        // The last goes on to the end of the JVM, which is not before the program said that it ended.
        let ended: i64 = run.log.fact("ended").expect("a fact");
        let last = run.recording.windows.last().expect("a window");
        let closed = last.monotonic + last.duration;
        let lasting = |until: i64| -> i64 {
            let began = facts("goes-on", "began");
            assert_eq!(began.len() as u64, THREADS);
            began.iter().map(|began| until - began).sum()
        };
        let goes_on = sum("goes-on", true) as f64;
        say(&format!(
            "{}: {ratio:.4} of waits that end, {} ms of them after the last window's end; {:.4} to {:.4} of those that go on",
            jdk.version,
            over / 1_000_000,
            goes_on / lasting(ended) as f64,
            goes_on / lasting(closed) as f64,
        ));
        assert!((0.97..1.01).contains(&ratio), "{ratio}");
        assert!(over > 0 && open > over, "{open} {over}");
        assert!(goes_on > 0.97 * lasting(ended) as f64, "{goes_on}");
        assert!(goes_on < 1.01 * lasting(closed) as f64, "{goes_on}");
    }
}

#[test]
fn a_thread_that_ends_in_a_scope_that_nobody_closes_waits_no_more_though_its_span_is_open() {
    const THREADS: u64 = 100;
    for jdk in jdk::each_from(jdk::VIRTUAL_THREADS, "blocked: dead threads") {
        let run = three_windows(&jdk, "dead-waits", THREADS);
        let waits = waits::read(&run.dir.path().join("out")).expect("blocked time");
        let of_them = waits.iter().filter(|w| w.name_in(&run.log) == Some("left"));
        let found: u64 = of_them.clone().map(|wait| wait.nanos).sum();
        let open = of_them.filter(|wait| wait.is_open()).count();
        let waited: u64 = run.log.fact("waited").expect("a fact");
        say(&format!(
            "{}: {found} ns of the {waited} that {THREADS} threads waited before they ended; {open} samples of open waits",
            jdk.version
        ));
        // Had they gone on, it were 300 s.
        assert!(found <= 2 * waited, "{found} of {waited} ns");
        assert!(found > waited / 2, "{found} of {waited} ns");
    }
}

/// 100,000 parks for 20 µs each under `blocked={period_ms}ms`; how many there are in that time of the periods, and samples.
fn short_parks(jdk: &Jdk, period_ms: u64) -> (f64, f64) {
    const PARKS: u64 = 100_000;
    let run = TruthRun::new(jdk, "short-parks", Strategy::Auto)
        .seconds(0)
        .carriers(2)
        .rate("1000hz")
        .every("60s")
        .option(&format!("blocked={period_ms}ms"))
        .argument(format!("--count={PARKS}"))
        .run()
        .expect("a run");
    let waits = blocked(&run);
    let parks = || waits.iter().filter(|w| w.is_in("ShortParks", "parks"));
    let found: u64 = parks().map(|wait| wait.nanos).sum();
    let mut by_span: HashMap<SpanId, u64> = HashMap::new();
    for wait in parks() {
        if let Some(span) = wait.span {
            *by_span.entry(span).or_default() += wait.nanos;
        }
    }
    let events: u64 = parks().map(|wait| wait.events).sum();
    let samples = run.recording.counter("blocked.samples").expect("a counter");
    let truth: u64 = run.log.fact("blocked.parks").expect("a fact");
    let ratio = found as f64 / truth as f64;
    let (typical, spans) = typical(&run, "short-parks", 1, &by_span);
    let periods = truth as f64 / (period_ms as f64 * 1e6);
    // Five standard deviations, where each sample stands for a period.
    let error = 5.0 / periods.sqrt();
    say(&format!(
        "{}, {period_ms} ms: {ratio:.4} of {truth} ns, typically {typical:.4} of {spans} spans, {events} events, {samples} samples, {:.2} %",
        jdk.version,
        samples as f64 / PARKS as f64 * 100.0
    ));
    assert!(
        (0.85 - error..1.05 + error).contains(&ratio),
        "{found} of {truth} ns, to {error}"
    );
    if period_ms == 1 {
        assert!((0.85..1.1).contains(&typical), "typically {typical:.4}");
    }
    // Each is one event, and one or two of the JVM's own attempts may come beside it.
    let share = events as f64 / PARKS as f64;
    assert!(
        (0.8 - error..1.2 + error).contains(&share),
        "{events} events"
    );
    (periods, samples as f64)
}

#[test]
fn short_parks_add_up_though_few_of_them_are_sampled() {
    for jdk in jdk::each_from(jdk::VIRTUAL_THREADS, "blocked: short parks") {
        for period_ms in [1, 10] {
            let (periods, samples) = short_parks(&jdk, period_ms);
            // However long they took on this machine: as many samples as there are periods in that time.
            assert!(samples < 1.1 * periods + 50.0, "{samples} of {periods}");
        }
    }
}

#[test]
fn what_a_thread_waits_for_a_carrier_is_told_from_what_it_waited_for_before() {
    const WAITS: u64 = 160;
    for jdk in jdk::each_from(jdk::VIRTUAL_THREADS, "blocked: carriers") {
        let run = TruthRun::new(&jdk, "carrier-delays", Strategy::Auto)
            .seconds(0)
            .carriers(2)
            .rate("100hz")
            .every("60s")
            .option("blocked=1ms")
            .argument("--threads=4")
            .argument(format!("--count={WAITS}"))
            .run()
            .expect("a run");
        let waits = blocked(&run);
        let sum = |state: &str| -> u64 {
            let of_it = waits.iter().filter(|w| w.is_in("CarrierDelays", "inQueue"));
            let of_it = of_it.filter(|wait| wait.state == state);
            of_it.map(|wait| wait.nanos).sum()
        };
        let events: u64 = waits.iter().map(|wait| wait.events).sum();
        let fact = |key: &str| run.log.fact::<u64>(key).expect("a fact");
        let (waited, delayed) = (fact("waited"), fact("delayed"));
        let ratio = |found: u64, truth: u64| found as f64 / truth as f64;
        let (queue, runnable) = (sum("queue"), sum("runnable"));
        say(&format!(
            "{}: queue {:.3} of {} ms, for a carrier {:.3} of {} ms, both {:.4}; {events} events; looks took {} us",
            jdk.version,
            ratio(queue, waited),
            waited / 1_000_000,
            ratio(runnable, delayed),
            delayed / 1_000_000,
            ratio(queue + runnable, waited + delayed),
            run.recording
                .counter("agent.blocked_delays_ns")
                .unwrap_or(0)
                / 1_000
        ));
        // Some twenty looks a wait, each right. What it burns itself on its way to the queue is in neither.
        assert!(
            (0.9..1.1).contains(&ratio(queue, waited)),
            "{queue} of {waited}"
        );
        assert!(
            (0.85..1.15).contains(&ratio(runnable, delayed)),
            "{runnable} of {delayed}"
        );
        let both = ratio(queue + runnable, waited + delayed);
        assert!((0.95..1.02).contains(&both), "{both}");
        assert!(
            delayed > waited / 4,
            "{delayed} of {waited}: carriers were idle"
        );
        assert_eq!(run.recording.counter("blocked.unwatched"), Some(0));
    }
}

/// Holds that each way's sum is what was measured, to `tolerance` of it, and in the right method.
fn assert_sums(run: &Outcome, ways: &[(&str, &str, &str)], mut tolerance: impl FnMut(&str) -> f64) {
    let waits = blocked(run);
    for (way, method, state) in ways {
        let name = format!("wait-{way}");
        let mut by_state: BTreeMap<&str, u64> = BTreeMap::new();
        let (mut partial, mut misplaced) = (0, 0);
        for wait in waits.iter().filter(|w| w.name_in(&run.log) == Some(&*name)) {
            *by_state.entry(&wait.state).or_default() += wait.nanos;
            misplaced += misplaced_of(wait, method, state);
            if wait.is_partial() {
                partial += wait.nanos;
            }
        }
        let truth: u64 = run.log.fact(&format!("blocked.{way}")).expect("a fact");
        if truth < LEAST {
            assert!(!TIMED.contains(way), "{way}: only {truth} ns");
            continue;
        }
        assert!(
            misplaced <= truth / ELSEWHERE,
            "{way}: {misplaced} of {truth} ns"
        );
        let ratio = |nanos: u64| nanos as f64 / truth as f64;
        let found = by_state.get(state).copied().unwrap_or(0);
        // While it waits the world may be stopped, and when it is over it may have no CPU.
        let all: u64 = by_state.values().sum();
        let tolerance = tolerance(&name);
        say(&format!(
            "{}: {way} {:.3}, with all other states {:.3}, to {tolerance:.3}, {:.3} without a whole stack: {by_state:?}",
            run.recording.fact("jvm").unwrap_or("?"),
            ratio(found),
            ratio(all),
            ratio(partial),
        ));
        assert!(
            ratio(found) < 1.0 + tolerance,
            "{way}: {by_state:?} of {truth}"
        );
        assert!(
            ratio(all) > 1.0 - tolerance,
            "{way}: {by_state:?} of {truth}"
        );
        assert!(2 * found > all, "{way}: {by_state:?} of {truth}");
    }
}

/// How many visits there were of spans of that name, and how long they stand for.
fn visits(run: &Outcome, wall: &Recording, name: &str) -> (u64, u64) {
    let of_that_name = wall.samples.iter().filter(|sample| {
        let span = sample
            .tag
            .as_ref()
            .and_then(|tag| run.log.spans.get(&tag.span));
        span.is_some_and(|span| span.name == name)
    });
    of_that_name.fold((0, 0), |(visits, nanos), sample| {
        (visits + sample.count, nanos + sample.nanos)
    })
}

#[test]
fn blocked_time_of_platform_threads_is_what_the_program_measured_and_wall_time_is_the_spans() {
    for jdk in jdk::each("blocked: platform threads") {
        let run = TruthRun::new(&jdk, "blocked", Strategy::Auto)
            .rate("100hz")
            .every("60s")
            .option("blocked=1ms")
            .option("wall=10ms")
            .argument("--kind=platform")
            .argument("--count=96")
            .run()
            .expect("a run");
        let wall = Recording::read_kind(&run.dir.path().join("out"), Kind::Wall).expect("profiles");
        let verdict = Verdict::of(&wall, &run.log);
        verdict.assert_no_wrong_tag();
        verdict.assert_all_named();
        assert_sums(&run, &VISITED, |name| {
            let (visits, nanos) = visits(&run, &wall, name);
            let tolerance = ERRORS / (visits as f64).sqrt() + OWN;
            let spans = run.log.spans.values().filter(|span| span.name == name);
            let lasted: i64 = spans.filter_map(|span| Some(span.end? - span.start)).sum();
            let ratio = nanos as f64 / lasted as f64;
            say(&format!(
                "{name}: {visits} visits, {ratio:.3} of the spans' time"
            ));
            assert!(
                (ratio - 1.0).abs() < tolerance,
                "{name}: {ratio} of {lasted} ns"
            );
            tolerance
        });
        assert_eq!(
            visited_signals(&run.recording),
            0,
            "a signal without an outcome"
        );
    }
}

/// Signals of visits of which it is not told what became of them.
fn visited_signals(recording: &Recording) -> u64 {
    let counter = |key: &str| recording.counter(&format!("wall.{key}")).unwrap_or(0);
    let outcomes: u64 = [
        "samples",
        "no_context",
        "stale",
        "dropped_ring_full",
        "dropped_ring_contended",
        "dropped_disarmed",
        "dropped_nested",
    ]
    .map(counter)
    .iter()
    .sum();
    counter("signals").abs_diff(outcomes)
}

#[test]
fn pinned_or_not_a_wait_of_a_virtual_thread_counts_once() {
    for jdk in jdk::each_from(jdk::VIRTUAL_THREADS, "blocked: pinned") {
        let run = TruthRun::new(&jdk, "pinned", Strategy::Auto)
            .carriers(12)
            .rate("100hz")
            .every("60s")
            .option("blocked=1ms")
            .option("wall=10ms")
            .argument("--count=96")
            .run()
            .expect("a run");
        let wall = Recording::read_kind(&run.dir.path().join("out"), Kind::Wall).expect("profiles");
        assert_sums(&run, &PINNED, |name| {
            let (visits, _) = visits(&run, &wall, name);
            if jdk.feature >= UNPINNED_MONITORS {
                OWN
            } else {
                ERRORS / (visits as f64).sqrt() + OWN
            }
        });
    }
}

#[test]
fn time_in_which_a_collection_stops_the_world_is_gc_of_each_span_that_would_run() {
    const THREADS: u64 = 2;
    for jdk in jdk::each("blocked: pauses") {
        let kinds: &[&str] = match jdk.feature {
            jdk::VIRTUAL_THREADS.. => &["platform", "virtual"],
            _ => &["platform"],
        };
        for kind in kinds {
            let run = TruthRun::new(&jdk, "pauses", Strategy::Auto)
                .rate("100hz")
                .every("60s")
                .flags(["-XX:+UseSerialGC", "-Xmx600m"])
                .option("blocked=1ms")
                .argument(format!("--kind={kind}"))
                .argument(format!("--threads={THREADS}"))
                .argument("--count=15")
                .run()
                .expect("a run");
            let waits = blocked(&run);
            let paused =
                |wait: &&Wait| wait.state == "gc" && wait.name_in(&run.log) == Some("paused");
            let found: u64 = waits.iter().filter(paused).map(|wait| wait.nanos).sum();
            let pauses: u64 = run.log.fact("pauses").expect("a fact");
            let truth = THREADS * pauses * 1_000_000;
            let ratio = found as f64 / truth as f64;
            let tolerance = ERRORS / (truth as f64 / 1e7).sqrt() + OWN;
            say(&format!(
                "{}, {kind}: {ratio:.3} of {truth} ns, to {tolerance:.3}",
                jdk.version
            ));
            assert!((ratio - 1.0).abs() < tolerance, "{found} of {truth} ns");
        }
    }
}

#[test]
fn where_no_virtual_thread_leaves_its_carrier_blocked_time_is_that_of_os_threads() {
    for jdk in jdk::each_from(jdk::VIRTUAL_THREADS, "blocked: no continuations") {
        let run = TruthRun::new(&jdk, "blocked", Strategy::Auto)
            .flags(["-XX:+UnlockExperimentalVMOptions", "-XX:-VMContinuations"])
            .rate("100hz")
            .every("60s")
            .option("blocked=1ms")
            .argument("--count=48")
            .run()
            .expect("a run");
        let sleeps = blocked(&run);
        let sleeps = sleeps
            .iter()
            .filter(|wait| wait.is_in("BlockedTime", "inSleep"));
        assert!(sleeps.map(|wait| wait.nanos).sum::<u64>() > 0);
        let warned = run.finished.agent_lines();
        assert!(
            !warned.iter().any(|line| line.contains("blocked=")),
            "{warned:#?}"
        );
    }
}
