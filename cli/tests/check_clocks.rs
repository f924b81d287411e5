//! `vtprof check` where profiles and spans do not mean the same time.

mod support;

use std::process::Output;

use support::{CpuProfile, Folder, local_root, stderr, tags};
use vtprof_profile::spans::spans_to_traces;

fn check(folder: &Folder) -> Output {
    support::run(["check".as_ref(), folder.path().as_os_str()])
}

/// Requests of 50 ms and 3 samples over so many windows of a minute, the spans' clock ahead by so many seconds; samples are
/// tagged with a span of up to `lag` requests before.
fn skewed(windows: i64, seconds: i64, lag: i64) -> Folder {
    const EACH: i64 = 20;
    let folder = Folder::new();
    let id = |number: i64| format!("{:016x}", 0x1000 + number);
    let mut all = Vec::new();
    for window in 0..windows {
        let mut profile = CpuProfile::window(window);
        for number in window * EACH..(window + 1) * EACH {
            let mut span = local_root(&id(number), "GET /a", 50);
            let at = number * support::WINDOW / EACH + seconds * 1_000_000_000;
            span.start_unix_nanos = span.start_unix_nanos.saturating_add_signed(at);
            span.end_unix_nanos = span.end_unix_nanos.saturating_add_signed(at);
            all.push(span);
            let before = number % (1 + lag);
            let tagged = id((number - before).max(0));
            profile = profile.burn(3, &["a"], &tags(&tagged, "GET /a"));
        }
        profile.write(&folder.file(&format!("cpu-{window}.pb.gz")));
    }
    let spans = spans_to_traces("shop", all);
    support::write_spans(&spans, &folder.file("spans.pb.gz"));
    folder
}

#[test]
fn clocks_that_are_apart_are_told_from_wrong_tags_and_nothing_is_checked_then() {
    for (windows, seconds) in [(10, 30), (10, -120), (10, 7200), (2, -7200), (1, 7200)] {
        let folder = skewed(windows, seconds, 0);
        let output = check(&folder);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{seconds}: {output:?}");
        assert_eq!(error.lines().count(), 1, "{error}");
        let (_, told) = error.split_once(" are about ").expect("how far");
        let (told, rest) = told.split_once(" s apart, the spans ").expect("seconds");
        let told: f64 = told.replace(',', "").parse().expect("a number");
        assert!((told - seconds.abs() as f64).abs() < 4.0, "{error}");
        let word = if seconds > 0 { "later:" } else { "earlier:" };
        assert!(rest.starts_with(word), "{error}");
    }
    assert_eq!(check(&skewed(10, 0, 0)).status.code(), Some(0));
    assert_eq!(check(&skewed(10, 1, 0)).status.code(), Some(0));
    // Tags that stay with a thread for some requests are wrong: each in its own window as well as in the next.
    assert_eq!(check(&skewed(10, 0, 12)).status.code(), Some(1));
}

#[test]
fn tags_that_come_late_by_more_or_less_are_wrong_though_no_span_has_more_than_it_lasted() {
    // Of up to 5 s and up to 10 s before, at a window's start and end in each of them another.
    for lag in [17, 19, 21, 23, 27, 33] {
        let folder = late(lag);
        let output = check(&folder);
        assert_eq!(output.status.code(), Some(1), "{lag}: {output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!text.contains("more time than they lasted"), "{text}");
    }
}

/// Requests of 1 s that mostly wait, one begun each 0.3 s; a sample each, tagged with any of the `lag` spans before.
fn late(lag: i64) -> Folder {
    const EACH: i64 = 200;
    const WINDOWS: i64 = 20;
    let folder = Folder::new();
    let id = |number: i64| format!("{:016x}", 0x1000 + number);
    let mut all = Vec::new();
    for window in 0..WINDOWS {
        let mut profile = CpuProfile::window(window);
        for number in window * EACH..(window + 1) * EACH {
            let mut span = local_root(&id(number), "GET /a", 1000);
            let at = number * support::WINDOW / EACH;
            span.start_unix_nanos = span.start_unix_nanos.saturating_add_signed(at);
            span.end_unix_nanos = span.end_unix_nanos.saturating_add_signed(at);
            all.push(span);
            let tagged = id((number - number * 7 % lag).max(0));
            profile = profile.burn(1, &["a"], &tags(&tagged, "GET /a"));
        }
        profile.write(&folder.file(&format!("cpu-{window}.pb.gz")));
    }
    let spans = spans_to_traces("shop", all);
    support::write_spans(&spans, &folder.file("spans.pb.gz"));
    folder
}
