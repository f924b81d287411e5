//! Whatever a window holds, its requests hold the same, and nothing that a server may not be sent.

mod common;

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;
use vtprof_deliver::form::{Form, Formed};
use vtprof_deliver::pyroscope::{Endpoint, PushSpan, Pyroscope};
use vtprof_deliver::window::Window;
use vtprof_profile::kind::Kind;
use vtprof_profile::model;
use vtprof_profile::otlp::profiles::ProfilesData;
use vtprof_profile::otlp::read_profiles;
use vtprof_profile::pprof::Profile;
use vtprof_profile::{Message, gzip};

use common::{Sample, Sums, add_sums, all_labels, origin, profile, pushed, sums, unzipped, window};

fn ids(digits: usize) -> impl Strategy<Value = String> {
    // Few, so that some are met again.
    (1..4_u128).prop_map(move |id| format!("{id:0digits$x}"))
}

/// Names of functions and threads: what can be in a class file or be set by anybody.
fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-C]\\.[a-c]",
        ".{1,12}",
        Just("[truncated: depth]".to_owned()),
        Just("a\0b\"}\n,=".to_owned()),
        Just("span_id".to_owned()),
    ]
}

fn samples() -> impl Strategy<Value = Sample> {
    let stack = prop::collection::vec(names(), 1..6);
    let values = prop::array::uniform2(0..1_i64 << 40);
    let tag = prop::option::weighted(0.8, (ids(32), ids(16), ids(16), names()));
    (stack, values, tag, names(), prop::bool::ANY).prop_map(
        |(stack, values, tag, thread, has_state)| {
            let mut labels = vec![("thread", thread)];
            if let Some((trace, span, root, name)) = tag {
                labels.push(("trace_id", trace));
                labels.push(("span_id", span));
                labels.push(("local_root_span_id", root));
                labels.push(("span_name", name));
            }
            if has_state {
                labels.push(("state", "lock".to_owned()));
            }
            Sample {
                stack,
                values,
                labels,
            }
        },
    )
}

fn windows() -> impl Strategy<Value = Window> {
    let of = prop::collection::vec(samples(), 0..40);
    prop::collection::vec(of, Kind::ALL.len()).prop_map(|all| {
        let kinds = Kind::ALL.into_iter().zip(&all);
        window(
            kinds
                .map(|(kind, samples)| (kind, profile(kind, samples)))
                .collect(),
        )
    })
}

fn samples_of(window: &Window) -> u64 {
    let profiles = window.profiles.iter();
    profiles
        .map(|(_, profile)| profile.sample.len() as u64)
        .sum()
}

/// The books are even and nothing was left out.
fn whole(formed: &Formed, window: &Window) {
    assert_eq!(formed.left_out.why, None);
    assert_eq!(formed.left_out.samples, 0);
    let sent: u64 = formed.requests.iter().map(|request| request.samples).sum();
    assert_eq!(sent, samples_of(window));
}

fn root_as_span(key: &str) -> Option<&'static str> {
    match key {
        "trace_id" => Some("trace_id"),
        "local_root_span_id" => Some("span_id"),
        _ => None,
    }
}

fn current_as_span(key: &str) -> Option<&'static str> {
    ["trace_id", "span_id"].into_iter().find(|id| *id == key)
}

/// What of each kind is at Pyroscope, by the series' name and its first sample type.
fn pyroscope_sums(formed: &Formed) -> BTreeMap<(String, String), Sums> {
    let mut found: BTreeMap<_, Sums> = BTreeMap::new();
    let mut ids = HashSet::new();
    for request in &formed.requests {
        let (labels, id, profile, bytes) = pushed(request);
        assert!(ids.insert(id), "an id twice");
        assert!(bytes <= 4 << 20, "{bytes} bytes");
        assert!(profile.sample.len() <= 16_000);
        assert!(!profile.sample.is_empty());
        let mut met = HashSet::new();
        for sample in &profile.sample {
            assert!(
                met.insert((&sample.location_id, format!("{:?}", sample.label))),
                "not merged"
            );
            for label in &sample.label {
                let key = profile.text(label.key);
                assert!(
                    key == "span_id" || key == "trace_id",
                    "a series label: {key}"
                );
            }
        }
        let first = profile.text(profile.sample_type[0].r#type).into_owned();
        let sums = found
            .entry((labels["__name__"].clone(), first))
            .or_default();
        add_sums(sums, &profile, |key| {
            ["trace_id", "span_id"].into_iter().find(|id| *id == key)
        });
    }
    found
}

const SERIES: [(Kind, &str, &str); 7] = [
    (Kind::Cpu, "process_cpu", "samples"),
    (Kind::Alloc, "memory", "alloc_objects"),
    (Kind::Live, "memory", "inuse_objects"),
    (Kind::Blocked, "block", "contentions"),
    (Kind::Wall, "wall", "wall_samples"),
    (Kind::Lock, "mutex", "contentions"),
    (Kind::LockOwner, "mutex", "owner_contentions"),
];

fn expected(
    window: &Window,
    keep: fn(&str) -> Option<&'static str>,
) -> BTreeMap<(String, String), Sums> {
    let profiles = window
        .profiles
        .iter()
        .filter(|(_, profile)| !profile.sample.is_empty());
    profiles
        .map(|(kind, profile)| {
            let (_, name, first) = SERIES
                .into_iter()
                .find(|row| row.0 == *kind)
                .expect("a row");
            ((name.to_owned(), first.to_owned()), sums(profile, keep))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pyroscope_gets_each_sum_under_its_ids_and_no_other_label(window in windows()) {
        for (span, keep) in [
            (PushSpan::Root, root_as_span as fn(&str) -> _),
            (PushSpan::Current, current_as_span),
        ] {
            let form = Form::Pyroscope(Pyroscope { span, ..Pyroscope::default() });
            let formed = form.requests(&origin(), &window);
            whole(&formed, &window);
            prop_assert_eq!(pyroscope_sums(&formed), expected(&window, keep));
            prop_assert_eq!(form.requests(&origin(), &window), formed, "again, something else");
        }
    }

    #[test]
    fn pprof_gets_the_window_as_it_is(window in windows()) {
        let formed = Form::Pprof.requests(&origin(), &window);
        whole(&formed, &window);
        prop_assert_eq!(formed.requests.len(), window.profiles.len());
        for ((kind, profile), request) in window.profiles.iter().zip(&formed.requests) {
            let path = format!("?service=shop&profile_type={}", kind.name());
            prop_assert_eq!(&request.path, &path);
            prop_assert!(request.gzip);
            let (got, _) = unzipped(&request.body);
            prop_assert_eq!(sums(&got, all_labels), sums(profile, all_labels));
            let comments = |of: &vtprof_profile::pprof::Profile| {
                of.comment.iter().map(|c| of.text(*c).into_owned()).collect::<Vec<_>>()
            };
            prop_assert_eq!(comments(&got), comments(profile));
            prop_assert_eq!(got.time_nanos, profile.time_nanos);
            prop_assert_eq!(got.period, profile.period);
        }
    }

    #[test]
    fn otlp_gets_the_window_as_it_is_with_spans_as_links(window in windows()) {
        let formed = Form::Otlp.requests(&origin(), &window);
        whole(&formed, &window);
        prop_assert_eq!(formed.requests.len(), window.profiles.len());
        let mut ids = HashSet::new();
        for ((_, profile), request) in window.profiles.iter().zip(&formed.requests) {
            prop_assert_eq!(request.path.as_str(), "/v1development/profiles");
            let data: ProfilesData = gzip::read(request.body.as_slice(), 4 << 20).expect("OTLP");
            for of in data.resource_profiles.iter().flat_map(|r| &r.scope_profiles) {
                for of in &of.profiles {
                    prop_assert_eq!(of.profile_id.len(), 16);
                    prop_assert!(ids.insert(of.profile_id.clone()), "an id twice");
                    prop_assert!(of.samples.iter().all(|s| s.timestamps_unix_nano.is_empty()));
                }
            }
            linked(&data, profile);
            let read = read_profiles(&data).expect("what can be read");
            prop_assert_eq!(read.len(), 1);
            let mut bytes = Vec::new();
            read[0].write_pprof(&mut bytes).expect("memory");
            let back = Profile::decode(bytes.as_slice()).expect("what was just encoded");
            prop_assert_eq!(sums(&back, all_labels), sums(profile, all_labels));
            prop_assert_eq!(&read[0].comments[0], "agent=vtprof");
        }
    }
}

/// As many links as there are spans in the profile, but for the one that is none.
fn linked(data: &ProfilesData, profile: &vtprof_profile::pprof::Profile) {
    let spans: HashSet<_> = sums(profile, current_as_span)
        .into_keys()
        .map(|(_, labels)| labels)
        .filter(|labels| !labels.is_empty())
        .collect();
    let dictionary = data.dictionary.as_ref().expect("a dictionary");
    assert_eq!(dictionary.link_table.len(), spans.len() + 1);
    assert!(
        dictionary.link_table[0]
            .span_id
            .iter()
            .all(|byte| *byte == 0)
    );
}

#[test]
fn an_old_server_gets_the_same_by_ingest_without_trace_ids() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let form = Form::Pyroscope(Pyroscope::default());
    let old = form.fallback().expect("for old servers");
    assert_eq!(old.fallback(), None);
    assert_eq!(
        old,
        Form::Pyroscope(Pyroscope {
            endpoint: Endpoint::Ingest,
            ..Pyroscope::default()
        })
    );
    for fallback in [Form::Otlp, Form::Pprof].map(|form| form.fallback()) {
        assert_eq!(fallback, None);
    }
    runner
        .run(&windows(), |window| {
            let formed = old.requests(&origin(), &window);
            whole(&formed, &window);
            let full = window.profiles.iter().filter(|(_, p)| !p.sample.is_empty());
            let full: Vec<_> = full.collect();
            assert_eq!(full.len(), formed.requests.len());
            for ((_, profile), request) in full.iter().zip(&formed.requests) {
                let name = "shop%7Benv%3Dprod%2Ck8s_pod_name%3Dshop-1%7D";
                assert_eq!(
                    request.path,
                    format!(
                        "/ingest?name={name}&format=pprof&from=1790000000&until=1790000061&spyName=vtprof&sampleRate=100"
                    )
                );
                assert_eq!((request.content_type, request.gzip), ("", false));
                let (got, _) = unzipped(&request.body);
                let keys = |key: &str| (key == "profile_id").then_some("profile_id");
                let root = |key: &str| (key == "local_root_span_id").then_some("profile_id");
                assert!(got.sample.iter().all(|sample| sample.label.len() <= 1));
                assert_eq!(sums(&got, keys), sums(profile, root));
            }
            Ok(())
        })
        .expect("each window");
}

#[test]
fn series_have_their_labels_and_no_host_or_process_that_each_start_changes() {
    let sample = Sample {
        stack: vec!["Shop.pay".to_owned()],
        values: [1, 10_000_000],
        labels: Vec::new(),
    };
    let window = window(vec![(Kind::Blocked, profile(Kind::Blocked, &[sample]))]);
    let formed = Form::Pyroscope(Pyroscope::default()).requests(&origin(), &window);
    let [request] = &formed.requests[..] else {
        panic!("{} requests", formed.requests.len());
    };
    let (labels, _, got, _) = pushed(request);
    let wanted = [
        ("__delta__", "false"),
        ("__name__", "block"),
        ("env", "prod"),
        ("k8s_pod_name", "shop-1"),
        ("service_name", "shop"),
    ];
    let labels: Vec<_> = labels
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    assert_eq!(labels, wanted);
    let period = got.period_type.expect("a type");
    assert_eq!(
        (&*got.text(period.r#type), &*got.text(period.unit)),
        ("contentions", "count")
    );
    assert_eq!(got.period, 1);
    assert_eq!(got.text(got.default_sample_type), "delay");
    assert_eq!(got.comment, [0; 0]);
    assert_eq!(
        (got.time_nanos, got.duration_nanos),
        (1_790_000_000_123_456_789, 60_000_000_000)
    );
    // What vtprof itself reads in it.
    let read = model::Profile::from_bytes(&got.encode_to_vec()).expect("pprof");
    assert_eq!(read.samples.len(), 1);
}

#[test]
fn a_text_that_is_no_id_does_not_go_to_pyroscope_under_the_name_of_one() {
    let texts = [
        "GET /cart",
        "00F067AA0BA902B7",
        "0000000000000000",
        "00f067aa0ba902b",
        "00f067aa0ba902b77",
    ];
    let samples = texts.map(|text| Sample {
        stack: vec!["Shop.pay".to_owned()],
        values: [1, 10_000_000],
        labels: vec![
            ("local_root_span_id", text.to_owned()),
            ("trace_id", text.to_owned()),
        ],
    });
    let window = window(vec![(Kind::Cpu, profile(Kind::Cpu, &samples))]);
    let formed = Form::Pyroscope(Pyroscope::default()).requests(&origin(), &window);
    whole(&formed, &window);
    let (_, _, got, _) = pushed(&formed.requests[0]);
    assert_eq!(got.sample.len(), 1);
    assert_eq!(got.sample[0].label, []);
    assert_eq!(got.sample[0].value, [5, 50_000_000]);
}
