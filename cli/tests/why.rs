//! `vtprof why`: services whose slow requests are slow for one reason each, and whether it is told, with its frame.

mod made;
mod support;

use made::{MS, Made, Who, path};
use serde_json::Value;
use support::{Folder, failure, json, row, run, stderr, stdout};
use vtprof_profile::kind::Kind;
use vtprof_profile::spans::SpanStatus;

const NAME: &str = "GET /note";
const REQUESTS: usize = 1_000;
const HANDLE: &str = "com.acme.Handler.get";
const PARK: [&str; 3] = [
    "jdk.internal.vm.Continuation.yield",
    "java.lang.VirtualThread.park",
    "java.util.concurrent.locks.LockSupport.park",
];

/// Frames of a wait: those that park, `through`, then the handler's.
fn parked<'a>(through: &[&'a str]) -> Vec<&'a str> {
    [&PARK, through, &[HANDLE, "com.acme.Main.run"]].concat()
}

/// Two requests in a hundred are slow: then `slow` adds to what each does, and says how many ms that is.
fn serve(made: &mut Made, mut slow: impl FnMut(&mut Made, &Who, f64)) {
    for at in 0..REQUESTS {
        let is_slow = at % 50 == 7;
        // 15 to 25 ms, of which it burns 8, waits 4 for the lock, 3 sleeping, 2 to 8 for a socket.
        let socket = 2.0 + 6.0 * made.draws.draw();
        let extra = if is_slow {
            400.0 + 200.0 * made.draws.draw()
        } else {
            0.0
        };
        let who = made.request(NAME, 15.0 + socket + extra);
        // The widest frame, which is not where the time went.
        made.burn(
            Some(&who),
            6.0,
            &[
                "java.lang.String.charAt",
                "com.acme.Json.parse",
                HANDLE,
                "com.acme.Main.run",
            ],
        );
        made.burn(
            Some(&who),
            2.0,
            &["com.acme.Note.serialize", HANDLE, "com.acme.Main.run"],
        );
        made.wait(
            &who,
            "lock",
            1,
            4.0,
            &parked(&[
                "java.util.concurrent.locks.ReentrantLock.lock",
                "com.acme.Store.update",
            ]),
        );
        made.wait(
            &who,
            "sleep",
            3,
            1.0,
            &parked(&["java.lang.Thread.sleep", "com.acme.Limit.pause"]),
        );
        made.wait(
            &who,
            "io",
            2,
            socket / 2.0,
            &parked(&["sun.nio.ch.NioSocketImpl.read", "com.acme.Db.query"]),
        );
        if is_slow {
            slow(made, &who, extra);
        }
    }
}

/// By which an agent says that it tells how long a thread was ready to run.
const TOLD: &str = "counters (those not named are 0): blocked.samples=9 agent.blocked_delays_ns=5";

const TIME: [Kind; 2] = [Kind::Cpu, Kind::Blocked];

fn why(folder: &Folder, args: &[&str]) -> Value {
    let mut all = vec!["why"];
    all.extend(args);
    all.push(path(folder));
    json(all)
}

fn nanos(part: &Value) -> (f64, f64) {
    let number = |key: &str| part[key].as_f64().expect("a number");
    (number("difference_nanos"), number("half_width_nanos"))
}

/// Holds that the verdict is that part and names that frame, that it comes first, that requests have it in `place`, and what
/// it adds to a slow one on average.
fn assert_is(answer: &Value, part: &str, frame: &str, place: &str) {
    let verdict = &answer["verdict"];
    assert_eq!(verdict["part"], part, "{verdict}");
    assert_eq!(verdict["frame"], frame, "{verdict}");
    assert_eq!(verdict["is_inferred"], false);
    assert_eq!(
        verdict["beside"].as_array().map(Vec::len),
        Some(0),
        "{verdict}"
    );
    let first = &answer["parts"][0];
    assert_eq!(first["part"], part);
    // All spans at the 99th percentile are of the slow ones, of 400 to 600 ms more.
    let (lost, half) = nanos(first);
    assert!((400.0 * MS..600.0 * MS).contains(&lost), "{lost}");
    assert!(half < 0.2 * lost, "{half} of {lost}");
    let share = first["share"].as_f64().expect("a share");
    assert!((0.9..1.1).contains(&share), "{share}");
    let rows = &answer["frames"][0];
    assert_eq!(rows["part"], part);
    assert_eq!(rows["rows"][0]["frame"], place);
}

#[test]
fn serialising_a_big_note_is_cpu() {
    let mut made = Made::new(&TIME);
    serve(&mut made, |made, who, extra| {
        made.burn(
            Some(who),
            extra,
            &[
                "java.lang.StringBuilder.append",
                "com.acme.Note.serialize",
                HANDLE,
                "com.acme.Main.run",
            ],
        );
    });
    let folder = made.write();
    let answer = why(&folder, &[]);
    assert_is(
        &answer,
        "cpu",
        "com.acme.Note.serialize",
        "com.acme.Note.serialize",
    );
    assert_eq!(answer["verdict"]["leaf"], "java.lang.StringBuilder.append");
    assert_eq!(
        answer["frames"][0]["way"],
        serde_json::json!(["com.acme.Note.serialize", HANDLE, "com.acme.Main.run"])
    );
    // Named or not, it is the only endpoint.
    assert_eq!(why(&folder, &[NAME])["parts"], answer["parts"]);
    assert_eq!(answer["is_chosen"], true);
}

#[test]
fn a_lock_that_is_held_elsewhere_is_told_with_its_owner() {
    let mut made = Made::new(&[Kind::Cpu, Kind::Blocked, Kind::Lock, Kind::LockOwner]);
    const LOCK: &str = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
    let reindex = made.request("POST /reindex", 30_000.0);
    let stack = parked(&[
        "java.util.concurrent.locks.ReentrantLock.lock",
        "com.acme.Store.update",
    ]);
    serve(&mut made, |made, who, extra| {
        made.wait(who, "lock", 1, extra, &stack);
        made.event(
            Kind::Lock,
            Some(who),
            (extra * MS) as i64,
            &[LOCK, "com.acme.Store.update"],
        );
        made.event(
            Kind::LockOwner,
            Some(&reindex),
            (extra * MS) as i64,
            &[
                LOCK,
                "java.util.HashMap.put",
                "com.acme.Index.rebuild",
                "com.acme.Store.reindex",
            ],
        );
    });
    // Another lock, which slow requests do not wait for.
    made.event(
        Kind::LockOwner,
        None,
        1 << 50,
        &["com.acme.Cache", "com.acme.Cache.fill"],
    );
    let folder = made.write();
    let answer = why(&folder, &[NAME]);
    assert_is(
        &answer,
        "lock",
        "com.acme.Store.update",
        "com.acme.Store.update",
    );
    let owners = &answer["others"][0];
    assert_eq!(owners["kind"], "lock_owner");
    let owner = &owners["rows"][0];
    assert_eq!(owner["frame"], "com.acme.Index.rebuild");
    assert_eq!(
        (&owner["endpoint"], &owner["class"]),
        (&"POST /reindex".into(), &LOCK.into())
    );
    assert_eq!(owner["share"], 1.0);
}

#[test]
fn a_slow_socket_is_io_and_no_want_of_carriers() {
    let mut made = Made::new(&TIME);
    let stack = parked(&["sun.nio.ch.NioSocketImpl.read", "com.acme.Db.query"]);
    serve(&mut made, |made, who, extra| {
        made.wait(who, "io", 1, extra, &stack)
    });
    let answer = why(&made.write(), &[]);
    assert_is(&answer, "io", "com.acme.Db.query", "com.acme.Db.query");
    assert!(answer["verdict"]["evenly_longer_waits"].is_null());
    assert_eq!(answer["others"], serde_json::json!([]));
}

#[test]
fn garbage_collection_is_told_with_who_allocates() {
    let mut made = Made::new(&[Kind::Cpu, Kind::Blocked, Kind::Alloc]);
    serve(&mut made, |made, who, extra| {
        // Wherever it was when the world stopped.
        for (part, frame) in [(0.5, "com.acme.Json.parse"), (0.5, "com.acme.Json.parse")] {
            made.wait(
                who,
                "gc",
                1,
                extra * part,
                &["java.util.HashMap.get", frame, HANDLE],
            );
        }
        made.event(
            Kind::Alloc,
            Some(who),
            1 << 20,
            &["byte[]", "com.acme.Json.parse", HANDLE],
        );
    });
    let report = made.request("GET /report", 20.0);
    made.event(
        Kind::Alloc,
        Some(&report),
        1 << 32,
        &["long[]", "java.util.Arrays.copyOf", "com.acme.Report.rows"],
    );
    let answer = why(&made.write(), &[NAME]);
    assert_is(&answer, "gc", "com.acme.Report.rows", "com.acme.Json.parse");
    let most = &answer["others"][0]["rows"][0];
    assert_eq!(most["frame"], "com.acme.Report.rows");
    assert_eq!(
        (&most["class"], &most["endpoint"]),
        (&"long[]".into(), &"GET /report".into())
    );
}

#[test]
fn a_want_of_carriers_is_told_where_the_profile_has_a_state_for_it() {
    let mut made = Made::new(&TIME);
    made.comment(Kind::Blocked, TOLD);
    let stack = parked(&["java.lang.Thread.sleep", "com.acme.Limit.pause"]);
    serve(&mut made, |made, who, extra| {
        made.wait(who, "runnable", 4, extra / 4.0, &stack)
    });
    let batch = made.open("batch");
    made.burn(
        Some(&batch),
        30_000.0,
        &["com.acme.Batch.crunch", "com.acme.Batch.run"],
    );
    let answer = why(&made.write(), &[]);
    assert_is(
        &answer,
        "runnable",
        "com.acme.Batch.crunch",
        "com.acme.Limit.pause",
    );
    let busy = &answer["others"][0];
    assert_eq!(busy["kind"], "cpu");
    assert_eq!(busy["rows"][0]["frame"], "com.acme.Batch.crunch");
    assert_eq!(busy["rows"][0]["endpoint"], "batch");
}

#[test]
fn waits_of_every_kind_that_are_longer_alike_are_taken_for_a_want_of_carriers_and_said_to_be_inferred()
 {
    let mut made = Made::new(&TIME);
    made.comment(
        Kind::Cpu,
        &format!("window: process.cpu_ns={}", 2 * support::WINDOW),
    );
    let batch = made.open("batch");
    made.burn(
        Some(&batch),
        30_000.0,
        &["com.acme.Batch.crunch", "com.acme.Batch.run"],
    );
    for at in 0..REQUESTS {
        // Six waits, each of which is longer by 70 to 90 ms where carriers are busy.
        let is_slow = at % 50 == 7;
        let millis = 10.0 + 6.0 * 4.0 + if is_slow { 480.0 } else { made.draws.draw() };
        let who = made.request(NAME, millis);
        made.burn(Some(&who), 10.0, &["com.acme.Json.parse", HANDLE]);
        for (state, frame) in [
            ("sleep", "com.acme.Limit.pause"),
            ("io", "com.acme.Db.query"),
            ("lock", "com.acme.Store.update"),
        ] {
            for _ in 0..2 {
                let late = if is_slow {
                    70.0 + 20.0 * made.draws.draw()
                } else {
                    0.0
                };
                made.wait(&who, state, 1, 4.0 + late, &parked(&[frame]));
            }
        }
    }
    let folder = made.write();
    let answer = why(&folder, &[]);
    let verdict = &answer["verdict"];
    assert_eq!(
        (&verdict["part"], &verdict["is_inferred"]),
        (&"runnable".into(), &true.into())
    );
    assert_eq!(verdict["frame"], "com.acme.Batch.crunch");
    let by = verdict["evenly_longer_waits"]["by_nanos"]
        .as_f64()
        .expect("a number");
    assert!((75.0 * MS..85.0 * MS).contains(&by), "{by}");
    assert_eq!(answer["process_cpus"], 2.0);
    let text = stdout(&run(["why", path(&folder)]));
    assert!(
        text.contains("most likely threads that could run had no carrier or CPU"),
        "{text}"
    );
    assert!(text.contains("that is inferred"), "{text}");
}

#[test]
fn waits_that_end_late_for_want_of_a_carrier_are_added_to_those_for_which_that_is_told() {
    let mut made = Made::new(&TIME);
    made.comment(Kind::Blocked, TOLD);
    for at in 0..REQUESTS {
        let is_slow = at % 50 == 7;
        let millis = 20.0 + if is_slow { 150.0 } else { made.draws.draw() };
        let who = made.request(NAME, millis);
        made.burn(Some(&who), 8.0, &["com.acme.Json.parse", HANDLE]);
        for (state, frame, late) in [
            ("sleep", "com.acme.Limit.pause", 1.0),
            ("io", "com.acme.Db.query", 1.0),
            // Its delay is told.
            ("queue", "com.acme.Shop.take", 0.0),
        ] {
            let late = late * (45.0 + 10.0 * made.draws.draw()) * f64::from(u8::from(is_slow));
            made.wait(&who, state, 1, 4.0 + late, &parked(&[frame]));
        }
        if is_slow {
            let late = 45.0 + 10.0 * made.draws.draw();
            made.late(&who, late, &parked(&["com.acme.Shop.take"]));
        }
    }
    let answer = why(&made.write(), &[]);
    let verdict = &answer["verdict"];
    assert_eq!(verdict["part"], "runnable", "{verdict}");
    let evenly = &verdict["evenly_longer_waits"];
    let parts = serde_json::json!(["runnable", "io", "sleep"]);
    assert_eq!(evenly["parts"], parts, "{evenly}");
    let of_a_span = evenly["of_a_span_nanos"].as_f64().expect("a number");
    assert!((140.0 * MS..160.0 * MS).contains(&of_a_span), "{of_a_span}");
}

#[test]
fn where_the_profile_tells_of_carriers_nothing_is_inferred() {
    let mut made = Made::new(&TIME);
    made.comment(Kind::Blocked, TOLD);
    serve(&mut made, |made, who, extra| {
        // Both servers are slow, by chance alike.
        made.wait(who, "io", 1, extra / 2.0, &parked(&["com.acme.Db.query"]));
        made.wait(
            who,
            "lock",
            1,
            extra / 2.0,
            &parked(&["com.acme.Store.update"]),
        );
    });
    let answer = why(&made.write(), &[]);
    let verdict = &answer["verdict"];
    assert_eq!(verdict["is_inferred"], false, "{verdict}");
    let mut both = vec![verdict["part"].clone(), verdict["beside"][0].clone()];
    both.sort_by_key(|part| part.to_string());
    assert_eq!(both, ["io", "lock"], "neither is surely the bigger one");
}

#[test]
fn what_no_profile_has_is_said_to_be_unexplained() {
    let mut made = Made::new(&TIME);
    serve(&mut made, |_, _, _| {});
    let folder = made.write();
    let answer = why(&folder, &[]);
    assert_eq!(answer["verdict"]["part"], "unexplained");
    assert!(answer["verdict"]["frame"].is_null());
    let text = stdout(&run(["why", path(&folder)]));
    assert!(text.contains("it is in no profile: "), "{text}");
    assert!(text.contains("could run and had no CPU"), "{text}");
}

#[test]
fn without_a_blocked_profile_waits_are_unexplained_and_the_option_is_named() {
    let mut made = Made::new(&[Kind::Cpu]);
    for at in 0..REQUESTS {
        let millis = if at % 50 == 7 {
            500.0
        } else {
            20.0 + made.draws.draw()
        };
        let who = made.request(NAME, millis);
        made.burn(Some(&who), 15.0, &["com.acme.Json.parse", HANDLE]);
    }
    let folder = made.write();
    let text = stdout(&run(["why", path(&folder)]));
    assert!(text.contains("agent option blocked=1ms"), "{text}");
    assert_eq!(why(&folder, &[])["verdict"]["part"], "unexplained");
}

#[test]
fn three_samples_are_no_evidence_and_what_it_would_take_is_said() {
    let mut made = Made::new(&TIME);
    for at in 0..300 {
        let is_slow = at % 100 == 7;
        let millis = if is_slow {
            60.0
        } else {
            20.0 + made.draws.draw()
        };
        let who = made.request(NAME, millis);
        if is_slow {
            // One sample each.
            made.burn(Some(&who), 10.0, &["com.acme.Note.serialize", HANDLE]);
        }
    }
    let folder = made.write();
    let answer = why(&folder, &["--slow", ">=50ms"]);
    let verdict = &answer["verdict"];
    assert!(verdict["part"].is_null(), "{verdict}");
    let thin = &verdict["too_thin"];
    assert_eq!(thin["slow_spans"], 3);
    // The biggest part is in no profile; that is thin as well.
    assert!(
        thin["slow_spans_needed"].as_u64().expect("a number") >= 5,
        "{thin}"
    );
    let text = stdout(&run(["why", path(&folder)]));
    assert!(
        text.contains("not enough evidence: too few slow spans (4 slow spans"),
        "{text}"
    );
    assert!(text.contains("--slow p95 has about 15 spans"), "{text}");
}

#[test]
fn three_samples_in_many_spans_are_no_evidence_either() {
    let mut made = Made::new(&TIME);
    for at in 0..REQUESTS {
        let is_slow = at % 50 == 7;
        let millis = if is_slow {
            3.0
        } else {
            1.0 + 0.1 * made.draws.draw()
        };
        let who = made.request(NAME, millis);
        if is_slow {
            // A burst of 2 ms is seen in one span of five.
            made.burn(Some(&who), 2.0, &["com.acme.Note.serialize", HANDLE]);
        }
        made.wait(&who, "sleep", 1, 0.9, &parked(&["com.acme.Limit.pause"]));
    }
    let answer = why(&made.write(), &["--slow", "p98"]);
    assert!(answer["verdict"]["part"].is_null(), "{}", answer["verdict"]);
    let thin = &answer["verdict"]["too_thin"];
    let needed = thin["slow_spans_needed"].as_u64().expect("a number");
    // 2 ms of 10 ms a sample: a variance of 16 ms² a span and an interval of ±1 ms need 4² · 1.96² / 1² = 62 spans.
    assert!((40..250).contains(&needed), "{needed}");
}

#[test]
fn threads_side_by_side_are_not_taken_for_a_wait_of_whoever_joins_them() {
    let mut made = Made::new(&TIME);
    for at in 0..REQUESTS {
        let is_slow = at % 50 == 7;
        let each = if is_slow {
            300.0
        } else {
            10.0 + made.draws.draw()
        };
        let who = made.request(NAME, each + 2.0);
        for _ in 0..4 {
            made.burn(
                Some(&who),
                each,
                &["com.acme.Price.quote", "com.acme.Price.run"],
            );
        }
        made.wait(
            &who,
            "queue",
            1,
            each,
            &parked(&[
                "java.util.concurrent.CompletableFuture.join",
                "com.acme.Shop.all",
            ]),
        );
    }
    let folder = made.write();
    let answer = why(&folder, &[]);
    assert_eq!(answer["verdict"]["part"], "cpu", "{}", answer["verdict"]);
    assert_eq!(answer["verdict"]["frame"], "com.acme.Price.quote");
    let queue = answer["parts"]
        .as_array()
        .expect("parts")
        .iter()
        .find(|part| part["part"] == "queue");
    assert!(
        queue.is_none_or(|queue| nanos_of(queue) < 1.0 * MS),
        "{queue:?}"
    );
    let joined = answer["joined_nanos"].as_f64().expect("a number");
    assert!((290.0 * MS..310.0 * MS).contains(&joined), "{joined}");
    let accounted = answer["slow"]["accounted_share"].as_f64().expect("a share");
    assert!((4.7..5.2).contains(&accounted), "{accounted}");
    let text = stdout(&run(["why", path(&folder)]));
    assert!(
        text.contains("several threads work or wait for one span at once"),
        "{text}"
    );
}

fn nanos_of(part: &Value) -> f64 {
    part["difference_nanos"].as_f64().expect("a number")
}

#[test]
fn without_a_name_the_endpoint_that_loses_most_is_looked_at() {
    let mut made = Made::new(&TIME);
    let stack = parked(&["com.acme.Db.query"]);
    serve(&mut made, |made, who, extra| {
        made.wait(who, "io", 1, extra, &stack)
    });
    for at in 0..2 * REQUESTS {
        let late = if at % 50 == 7 { 5.0 } else { made.draws.draw() };
        made.request("GET /health", 1.0 + late);
    }
    // Long, but once: nothing can be said of it.
    made.request("GET /stream", 600_000.0);
    made.request("GET /stream", 1.0);
    let folder = made.write();
    assert_eq!(why(&folder, &[])["endpoint"], NAME);
    assert_eq!(why(&folder, &["GET /health"])["endpoint"], "GET /health");
    assert_eq!(
        why(&folder, &["--name", "GET /health"])["endpoint"],
        "GET /health"
    );
}

#[test]
fn failed_spans_do_not_count_unless_asked_for() {
    let mut made = Made::new(&TIME);
    let stack = parked(&["com.acme.Db.query"]);
    serve(&mut made, |made, who, extra| {
        made.wait(who, "io", 1, extra, &stack)
    });
    // Time-outs, longer than any other.
    for _ in 0..30 {
        let who = made.ended(NAME, 5_000.0, SpanStatus::Error);
        made.wait(&who, "queue", 1, 5_000.0, &parked(&["com.acme.Gate.enter"]));
    }
    let folder = made.write();
    assert_eq!(why(&folder, &[])["verdict"]["part"], "io");
    assert_eq!(why(&folder, &["--with-errors"])["verdict"]["part"], "queue");
}

#[test]
fn the_users_own_classes_can_be_named() {
    let mut made = Made::new(&TIME);
    serve(&mut made, |made, who, extra| {
        made.burn(
            Some(who),
            extra,
            &[
                "com.fasterxml.jackson.core.Generator.write",
                "com.acme.Note.serialize",
                HANDLE,
            ],
        );
    });
    let folder = made.write();
    let of = |args: &[&str]| why(&folder, args)["verdict"]["frame"].clone();
    assert_eq!(of(&[]), "com.fasterxml.jackson.core.Generator.write");
    assert_eq!(of(&["--app", "com.acme."]), "com.acme.Note.serialize");
}

#[test]
fn the_answer_for_people_has_the_verdict_first_and_then_what_it_stands_on() {
    let mut made = Made::new(&TIME);
    let stack = parked(&[
        "java.util.concurrent.locks.ReentrantLock.lock",
        "com.acme.Store.update",
    ]);
    serve(&mut made, |made, who, extra| {
        made.wait(who, "lock", 1, extra, &stack)
    });
    let folder = made.write();
    let output = run(["why", NAME, path(&folder)]);
    assert_eq!(stderr(&output), "");
    let text = stdout(&output);
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines[0].starts_with("GET /note: 11 slow spans (p99) of "),
        "{text}"
    );
    assert!(lines[2].starts_with("it is waiting for a lock: "), "{text}");
    assert!(
        lines[3].starts_with("  in com.acme.Store.update at jdk.internal.vm.Continuation.yield, "),
        "{text}"
    );
    assert_eq!(
        row(&text, "OF IT  PART").join(" "),
        "FAST SLOW DIFF ± OF IT PART"
    );
    assert_eq!(row(&text, "  lock")[..2], ["4.00", "ms"]);
    assert!(
        text.contains("agent option lock=1ms"),
        "who has it is not told: {text}"
    );
    assert!(!text.contains('\x1b'));
    assert!(
        lines.iter().all(|line| *line == line.trim_end()),
        "{text:?}"
    );

    let text = stdout(&run(["why", NAME, path(&folder), "--csv"]));
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("part,frame,leaf,fast_nanos,slow_nanos,difference_nanos,half_width_nanos")
    );
    assert!(
        lines.next().expect("a part").starts_with("lock,,,4000000,"),
        "{text}"
    );
    assert!(
        lines
            .next()
            .expect("a frame")
            .starts_with("lock,com.acme.Store.update,"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_answered_is_one_line() {
    let mut made = Made::new(&TIME);
    serve(&mut made, |_, _, _| {});
    let folder = made.write();
    let unknown = failure(&run(["why", "GET /nothing", path(&folder)]));
    assert!(
        unknown.contains("no local root span called 'GET /nothing'"),
        "{unknown}"
    );
    let no_file = failure(&run(["why", "GET /note"]));
    assert!(
        no_file.contains("'GET /note' is no file; if it is an endpoint, name files behind it"),
        "{no_file}"
    );
    let none = failure(&run(["why", path(&folder), "--slow", ">=1h"]
        .map(str::to_owned)
        .map(|arg| {
            if arg == ">=1h" {
                ">=3600s".to_owned()
            } else {
                arg
            }
        })));
    assert!(
        none.contains("no slow span (>=3,600 s) among 1,000 spans"),
        "{none}"
    );

    let mut made = Made::new(&TIME);
    let who = made.open(NAME);
    made.burn(Some(&who), 100.0, &["com.acme.Json.parse"]);
    let no_spans = failure(&run(["why", path(&made.write())]));
    assert!(no_spans.contains("add the -spans- files"), "{no_spans}");
    let mut made = Made::new(&[Kind::Alloc]);
    made.request(NAME, 1.0);
    let no_time = failure(&run(["why", path(&made.write())]));
    assert!(
        no_time.contains("neither a cpu nor a blocked profile"),
        "{no_time}"
    );
}

#[test]
fn hostile_names_stay_text() {
    let mut made = Made::new(&TIME);
    let name = "GET /\x1b[2J\nit is CPU";
    for at in 0..REQUESTS {
        let late = if at % 50 == 7 {
            300.0
        } else {
            made.draws.draw()
        };
        let who = made.request(name, 10.0 + late);
        made.burn(Some(&who), 10.0 + late, &["com.acme.\x1b]0;x\x07.run"]);
    }
    let text = stdout(&run(["why", path(&made.write())]));
    assert!(!text.contains('\x1b'), "{text:?}");
    assert!(
        text.starts_with("GET /\\u{1b}[2J\\u{a}it is CPU: "),
        "{text}"
    );
}
