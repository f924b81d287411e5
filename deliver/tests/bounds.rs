//! No request is larger than its server takes, whatever the window; what fits in none is counted.

mod common;

use std::collections::HashSet;

use vtprof_deliver::form::{Form, Formed};
use vtprof_deliver::pyroscope::Pyroscope;
use vtprof_deliver::window::Window;
use vtprof_profile::gzip;
use vtprof_profile::kind::Kind;
use vtprof_profile::pprof::Profile;

use common::{Sample, Sums, add_sums, all_labels, origin, profile, pushed, sums, unzipped, window};

const MOST_BYTES: usize = 4 << 20;

fn tagged(at: usize, stack: Vec<String>) -> Sample {
    let id = at + 1;
    Sample {
        stack,
        values: [1, 10_000_000],
        labels: vec![
            ("trace_id", format!("{id:032x}")),
            ("span_id", format!("{id:016x}")),
            ("local_root_span_id", format!("{id:016x}")),
            ("span_name", format!("GET /{at}")),
            ("thread", format!("worker-{at}")),
        ],
    }
}

fn of(samples: &[Sample]) -> Window {
    window(vec![(Kind::Cpu, profile(Kind::Cpu, samples))])
}

fn even(formed: &Formed, window: &Window) {
    let sent: u64 = formed.requests.iter().map(|request| request.samples).sum();
    let all: usize = window.profiles.iter().map(|(_, p)| p.sample.len()).sum();
    assert_eq!(sent + formed.left_out.samples, all as u64);
}

fn ids(key: &str) -> Option<&'static str> {
    ["trace_id", "span_id"].into_iter().find(|id| *id == key)
}

/// 5,000 requests, each with a method of its own of a name of 2,000 characters: some 10 MiB.
fn large() -> Window {
    let samples: Vec<_> = (0..5_000)
        .map(|at| {
            tagged(
                at,
                vec![format!("{at}{}", "x".repeat(2_000)), "main".to_owned()],
            )
        })
        .collect();
    of(&samples)
}

#[test]
fn a_large_window_goes_in_parts_that_have_what_they_need_alone() {
    let window = large();
    let whole = &window.profiles[0].1;

    let formed = Form::Pyroscope(Pyroscope::default()).requests(&origin(), &window);
    even(&formed, &window);
    assert_eq!(formed.left_out, Default::default());
    let (mut got, mut ids_met) = (Sums::new(), HashSet::new());
    for request in &formed.requests {
        let (_, id, part, bytes) = pushed(request);
        assert!(
            bytes <= MOST_BYTES && part.sample.len() <= 16_000,
            "{bytes} bytes"
        );
        assert!(ids_met.insert(id));
        assert_eq!(part.function.len(), part.sample.len() + 1, "of other parts");
        add_sums(&mut got, &part, ids);
    }
    assert_eq!(got, sums(whole, ids));
    assert!(
        (3..=8).contains(&formed.requests.len()),
        "{}",
        formed.requests.len()
    );

    let formed = Form::Pprof.requests(&origin(), &window);
    even(&formed, &window);
    let mut got = Sums::new();
    for (at, request) in formed.requests.iter().enumerate() {
        let (part, bytes) = unzipped(&request.body);
        assert!(bytes <= MOST_BYTES, "{bytes} bytes");
        assert_eq!(part.comment.len(), if at == 0 { 2 } else { 0 });
        add_sums(&mut got, &part, all_labels);
    }
    assert_eq!(got, sums(whole, all_labels));

    let formed = Form::Otlp.requests(&origin(), &window);
    even(&formed, &window);
    let sent = formed.requests.iter().map(|request| {
        let bytes = gzip::read_bytes(request.body.as_slice(), 1 << 26)
            .expect("gzip")
            .len();
        assert!(bytes <= MOST_BYTES, "{bytes} bytes");
        bytes
    });
    assert!(sent.sum::<usize>() > 2 * MOST_BYTES);
    assert_eq!(formed.left_out, Default::default());
}

#[test]
fn sixteen_thousand_samples_are_one_profile_and_one_more_are_two() {
    for (samples, requests) in [(16_000, 1), (16_001, 2)] {
        let samples: Vec<_> = (0..samples)
            .map(|at| tagged(at, vec!["main".to_owned()]))
            .collect();
        let window = of(&samples);
        let formed = Form::Pyroscope(Pyroscope::default()).requests(&origin(), &window);
        even(&formed, &window);
        assert_eq!(formed.requests.len(), requests);
    }
}

#[test]
fn samples_that_are_one_without_their_labels_count_for_one() {
    // 20,000 threads in one span.
    let samples: Vec<_> = (0..20_000)
        .map(|at| {
            let mut sample = tagged(0, vec!["main".to_owned()]);
            sample.labels[4].1 = format!("worker-{at}");
            sample
        })
        .collect();
    let window = of(&samples);
    let formed = Form::Pyroscope(Pyroscope::default()).requests(&origin(), &window);
    let [request] = &formed.requests[..] else {
        panic!("{} requests", formed.requests.len());
    };
    assert_eq!(request.samples, 20_000, "what is lost with it");
    let (_, _, part, _) = pushed(request);
    assert_eq!(part.sample.len(), 1);
    assert_eq!(part.sample[0].value, [20_000, 200_000_000_000]);
}

#[test]
fn one_sample_that_is_too_large_is_counted_and_the_others_are_sent() {
    let frames = |at: usize| {
        (0..900)
            .map(|i| format!("{at}.{i}.{}", "y".repeat(6_000)))
            .collect()
    };
    let samples = [
        tagged(0, vec!["main".to_owned()]),
        tagged(1, frames(1)),
        tagged(2, vec!["main".to_owned()]),
    ];
    let window = of(&samples);
    for form in [
        Form::Pyroscope(Pyroscope::default()),
        Form::Pprof,
        Form::Otlp,
    ] {
        let formed = form.requests(&origin(), &window);
        even(&formed, &window);
        assert_eq!(formed.left_out.samples, 1, "{form:?}");
        let why = formed.left_out.why.expect("a reason");
        assert_eq!(why, "one is larger than 4194304 bytes");
        assert_eq!(
            formed
                .requests
                .iter()
                .map(|request| request.samples)
                .sum::<u64>(),
            2
        );
    }
}

#[test]
fn of_a_stack_too_deep_for_pyroscope_the_leaf_stays_and_the_cut_is_named_and_counted() {
    let deep: Vec<_> = (0..3_000).map(|i| format!("Deep.f{i}")).collect();
    let just: Vec<_> = (0..1_000).map(|i| format!("Just.f{i}")).collect();
    let window = of(&[tagged(0, deep.clone()), tagged(1, just.clone())]);
    let formed = Form::Pyroscope(Pyroscope::default()).requests(&origin(), &window);
    even(&formed, &window);
    assert_eq!(
        (formed.left_out.samples, formed.left_out.cut_stacks),
        (0, 1)
    );
    let (_, _, part, _) = pushed(&formed.requests[0]);
    let stacks: Vec<_> = sums(&part, |_| None)
        .into_keys()
        .map(|(stack, _)| stack)
        .collect();
    let cut = [&deep[..999], &["[truncated: depth]".to_owned()]].concat();
    assert_eq!(stacks, [cut, just]);

    let formed = Form::Pprof.requests(&origin(), &window);
    assert_eq!(formed.left_out.cut_stacks, 0);
}

#[test]
fn names_too_long_for_pyroscope_are_cut_between_characters() {
    let long = "é".repeat(100_000);
    let window = of(&[tagged(0, vec![long.clone(), "main".to_owned()])]);
    let formed = Form::Pyroscope(Pyroscope::default()).requests(&origin(), &window);
    let (_, _, part, _) = pushed(&formed.requests[0]);
    assert!(
        part.string_table
            .iter()
            .all(|text| std::str::from_utf8(text).is_ok())
    );
    let longest = part.string_table.iter().map(Vec::len).max();
    assert_eq!(longest, Some(65_534));
    let formed = Form::Otlp.requests(&origin(), &window);
    let bytes = gzip::read_bytes(formed.requests[0].body.as_slice(), 1 << 26).expect("gzip");
    let whole = bytes
        .windows(long.len())
        .filter(|found| *found == long.as_bytes());
    assert_eq!(whole.count(), 1, "elsewhere it is whole");
}

#[test]
fn samples_that_contradict_their_tables_are_counted_and_the_others_are_sent() {
    let good = tagged(0, vec!["main".to_owned()]);
    let mut broken = profile(
        Kind::Cpu,
        &[good.clone(), tagged(1, vec!["main".to_owned()])],
    );
    broken.sample[1].location_id = vec![77];
    let window = window(vec![(Kind::Cpu, broken)]);
    for form in [
        Form::Pyroscope(Pyroscope::default()),
        Form::Pprof,
        Form::Otlp,
    ] {
        let formed = form.requests(&origin(), &window);
        even(&formed, &window);
        assert_eq!(formed.left_out.samples, 1, "{form:?}");
        assert_eq!(
            formed.left_out.why.as_deref(),
            Some("there is no location 77")
        );
        assert_eq!(formed.requests.len(), 1);
        assert_eq!(formed.requests[0].samples, 1);
    }
}

#[test]
fn a_window_without_samples_tells_its_counters_where_there_is_a_place_for_them() {
    let window = window(vec![(Kind::Cpu, profile(Kind::Cpu, &[]))]);
    let formed = Form::Pyroscope(Pyroscope::default()).requests(&origin(), &window);
    assert_eq!(formed, Formed::default());
    let formed = Form::Pprof.requests(&origin(), &window);
    let (got, _): (Profile, _) = unzipped(&formed.requests[0].body);
    assert_eq!(got.comment.len(), 2);
    assert_eq!(Form::Otlp.requests(&origin(), &window).requests.len(), 1);
}
