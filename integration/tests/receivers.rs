//! What other servers' own code reads in the requests is what the window holds: stacks, sums, units, spans; and nothing
//! that they would make a series of.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde_json::Value;
use vtprof_deliver::form::Form;
use vtprof_deliver::origin::Origin;
use vtprof_deliver::pyroscope::{PushSpan, Pyroscope};
use vtprof_deliver::window::Window;
use vtprof_integration::received::{Sums, add_received, add_sent, all_labels, text};
use vtprof_integration::receivers::Receiver;
use vtprof_profile::Message;
use vtprof_profile::builder::ProfileBuilder;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::Profile;

const START: u64 = 1_790_000_000_123_456_789;
const LENGTH: u64 = 60_000_000_000;
const STATES: [&str; 7] = ["lock", "queue", "io", "sleep", "gc", "runnable", "other"];

fn origin() -> Origin {
    Origin {
        service: "shop".to_owned(),
        labels: vec![("env".to_owned(), "prod".to_owned())],
        resource: vec![
            ("k8s.pod.name".to_owned(), "shop-1".to_owned()),
            (
                "process.command_line".to_owned(),
                "java -Dpassword=hunter2".to_owned(),
            ),
        ],
        host: "node-7".to_owned(),
        pid: 4711,
    }
}

/// A minute of a service: all kinds, 200 requests with child spans, threads of the JVM, names as Java and Kotlin have them.
fn window() -> Window {
    let mut state = 7_u64;
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let methods = [
        "io.shop.Cart.add",
        "io.shop.Cart.lambda$total$0",
        "io.shop.Köln.`on sale \u{1f6d2}`",
        "java.util.HashMap.resize",
        "[truncated: gc active]",
        "[libzip.so]",
    ];
    let profiles = Kind::ALL.map(|kind| {
        let mut builder =
            ProfileBuilder::new(&[kind.count(), kind.amount()], kind.period(), 10_000_000);
        builder.default_sample_type(kind.amount().kind);
        builder.set_time(START.cast_signed(), LENGTH.cast_signed());
        builder.comment("agent=vtprof");
        builder.comment("counters (those not named are 0): untagged.span_ended=2");
        for _ in 0..1_500 {
            let depth = 1 + draw(30);
            let stack: Vec<_> = (0..depth)
                .map(|_| {
                    let name = methods[draw(6) as usize];
                    let function = builder.function(name, name, "Cart.java", 0);
                    builder.location(function, draw(90).cast_signed())
                })
                .collect();
            let values = [1 + draw(5).cast_signed(), 1 + draw(1 << 40).cast_signed()];
            let request = 1 + draw(200);
            let (trace, span) = (
                format!("{request:032x}"),
                format!("{:016x}", request * 16 + draw(3)),
            );
            let (root, name) = (
                format!("{:016x}", request * 16),
                format!("GET /{}", request % 7),
            );
            let thread = format!("worker-{}", draw(4));
            let mut labels = vec![("thread", thread.as_str())];
            if draw(10) > 0 {
                labels.extend([
                    ("trace_id", trace.as_str()),
                    ("span_id", &span),
                    ("local_root_span_id", &root),
                    ("span_name", &name),
                ]);
            }
            if let Some(key) = kind.label() {
                labels.push((key, STATES[draw(7) as usize]));
            }
            builder
                .sample(&stack, &values, &labels)
                .expect("a good sample");
        }
        (kind, builder.finish())
    });
    Window {
        start_unix_ns: START,
        duration_ns: LENGTH,
        profiles: profiles.into(),
    }
}

fn sent(window: &Window, kind: Kind, keep: impl Fn(&str) -> Option<&'static str>) -> Sums {
    let (_, profile) = window
        .profiles
        .iter()
        .find(|(of, _)| *of == kind)
        .expect("a kind");
    let profile = Profile::from_bytes(&profile.encode_to_vec()).expect("pprof");
    let mut sums = Sums::new();
    add_sent(&mut sums, &profile, keep);
    sums
}

fn parsed(receiver: &Receiver) -> Value {
    let line = receiver.line().expect("a line");
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Series, sample types and period type of each kind at Pyroscope.
const SERIES: [(Kind, &str, [&str; 2], &str); 7] = [
    (
        Kind::Cpu,
        "process_cpu",
        ["samples/count", "cpu/nanoseconds"],
        "cpu/nanoseconds",
    ),
    (
        Kind::Alloc,
        "memory",
        ["alloc_objects/count", "alloc_space/bytes"],
        "space/bytes",
    ),
    (
        Kind::Live,
        "memory",
        ["inuse_objects/count", "inuse_space/bytes"],
        "space/bytes",
    ),
    (
        Kind::Blocked,
        "block",
        ["contentions/count", "delay/nanoseconds"],
        "contentions/count",
    ),
    (
        Kind::Wall,
        "wall",
        ["wall_samples/count", "wall/nanoseconds"],
        "wall/nanoseconds",
    ),
    (
        Kind::Lock,
        "mutex",
        ["contentions/count", "delay/nanoseconds"],
        "contentions/count",
    ),
    (
        Kind::LockOwner,
        "mutex",
        ["owner_contentions/count", "owner_delay/nanoseconds"],
        "contentions/count",
    ),
];

fn unit(of: &Value) -> String {
    format!("{}/{}", text(&of["type"]), text(&of["unit"]))
}

#[test]
fn pyroscopes_own_types_read_each_push_as_it_was_meant() {
    let Some(receiver) = Receiver::pyroscope("receivers", &[]).expect("it starts") else {
        return;
    };
    let window = window();
    for (span, label) in [
        (PushSpan::Root, "local_root_span_id"),
        (PushSpan::Current, "span_id"),
    ] {
        let form = Form::Pyroscope(Pyroscope {
            span,
            ..Pyroscope::default()
        });
        let formed = form.requests(&origin(), &window);
        assert_eq!(formed.left_out, Default::default());
        let keep = |key: &str| match key {
            "trace_id" => Some("trace_id"),
            key if key == label => Some("span_id"),
            _ => None,
        };
        let mut ids = HashSet::new();
        for ((kind, name, types, period), request) in SERIES.into_iter().zip(&formed.requests) {
            receiver.take(request).expect("it is taken");
            let got = parsed(&receiver);
            assert_eq!(got["by"], "push");
            assert_eq!(got["path"], "/push.v1.PusherService/Push");
            let labels = serde_json::json!({
                "__name__": name,
                "__delta__": "false",
                "service_name": "shop",
                "env": "prod",
                "k8s_pod_name": "shop-1",
            });
            assert_eq!(got["labels"], labels);
            let id = text(&got["id"]);
            assert_eq!(id.len(), 36, "{id}");
            assert!(ids.insert(id));
            let profile = &got["profile"];
            let sample_types = profile["sample_types"].as_array().expect("types");
            let sample_types: Vec<_> = sample_types.iter().map(unit).collect();
            assert_eq!(sample_types, types);
            assert_eq!(unit(&profile["period_type"]), period);
            assert_eq!(profile["time_nanos"].as_u64(), Some(START));
            assert_eq!(profile["duration_nanos"].as_u64(), Some(LENGTH));
            let mut sums = Sums::new();
            add_received(&mut sums, &profile["samples"]);
            assert_eq!(sums, sent(&window, kind, keep), "{kind:?}");
            let tagged = sums.keys().filter(|(_, labels)| labels.len() == 2).count();
            assert!(tagged > 800, "{tagged} with both ids");
        }
        assert_eq!(formed.requests.len(), SERIES.len());
        for request in &formed.requests {
            let found = request.body.windows(7).any(|bytes| bytes == b"hunter2");
            assert!(!found, "a command line");
        }
    }
}

#[test]
fn a_server_that_does_not_know_push_says_so_and_takes_the_fallback() {
    let Some(receiver) = Receiver::pyroscope("receivers", &["-old"]).expect("it starts") else {
        return;
    };
    let window = window();
    let form = Form::Pyroscope(Pyroscope::default());
    let refused = &form.requests(&origin(), &window).requests[0];
    assert_eq!(receiver.post(refused).expect("an answer").0, 404);
    let formed = form
        .fallback()
        .expect("another form")
        .requests(&origin(), &window);
    for ((kind, ..), request) in SERIES.into_iter().zip(&formed.requests) {
        receiver.take(request).expect("it is taken");
        let got = parsed(&receiver);
        assert_eq!(got["by"], "ingest");
        assert_eq!(got["content_type"], "");
        assert_eq!(got["query"]["name"], "shop{env=prod,k8s_pod_name=shop-1}");
        assert_eq!(got["query"]["format"], "pprof");
        let mut sums = Sums::new();
        add_received(&mut sums, &got["profile"]["samples"]);
        let keep = |key: &str| (key == "local_root_span_id").then_some("profile_id");
        assert_eq!(sums, sent(&window, kind, keep), "{kind:?}");
    }
    assert_eq!(formed.requests.len(), SERIES.len());
}

#[test]
fn a_collector_of_pprof_gets_each_kind_as_it_is() {
    let Some(receiver) = Receiver::pyroscope("receivers", &[]).expect("it starts") else {
        return;
    };
    let window = window();
    let formed = Form::Pprof.requests(&origin(), &window);
    for (kind, request) in Kind::ALL.into_iter().zip(&formed.requests) {
        receiver.take(request).expect("it is taken");
        let got = parsed(&receiver);
        assert_eq!(got["by"], "pprof");
        assert_eq!(got["content_type"], "application/x-protobuf");
        let query = serde_json::json!({"service": "shop", "profile_type": kind.name()});
        assert_eq!(got["query"], query);
        let profile = &got["profile"];
        assert_eq!(profile["comments"].as_array().map(Vec::len), Some(2));
        let mut sums = Sums::new();
        add_received(&mut sums, &profile["samples"]);
        assert_eq!(sums, sent(&window, kind, all_labels), "{kind:?}");
    }
    assert_eq!(formed.requests.len(), Kind::ALL.len());
}

/// One column of sums, without those that are 0.
fn column(sums: &Sums, at: usize) -> Sums {
    let sums = sums.iter().filter(|(_, values)| at == 0 || values[at] != 0);
    sums.map(|(key, values)| (key.clone(), vec![values[at]]))
        .collect()
}

/// Holds what the receiver on the Collector's types has printed of these requests against the window.
fn assert_read_by_pdata(receiver: &Receiver, window: &Window, before: impl Fn(usize)) {
    let mut ids = HashSet::new();
    for (at, kind) in Kind::ALL.into_iter().enumerate() {
        before(at);
        let wanted = sent(window, kind, all_labels);
        let types = [kind.count(), kind.amount()];
        for (column_at, of) in types.into_iter().enumerate() {
            let got = parsed(receiver);
            let resource = serde_json::json!({
                "service.name": "shop",
                "env": "prod",
                "k8s.pod.name": "shop-1",
                "host.name": "node-7",
                "process.pid": 4711,
            });
            assert_eq!(got["resource"], resource);
            assert_eq!(got["scope"], "vtprof");
            assert_eq!(got["version"], env!("CARGO_PKG_VERSION"));
            assert_eq!(
                unit(&got["sample_type"]),
                format!("{}/{}", of.kind, of.unit)
            );
            let period = kind.period();
            assert_eq!(
                unit(&got["period_type"]),
                format!("{}/{}", period.kind, period.unit)
            );
            assert_eq!(got["period"], 10_000_000);
            assert_eq!(got["time_nanos"].as_u64(), Some(START));
            assert_eq!(got["duration_nanos"].as_u64(), Some(LENGTH));
            assert_eq!(
                got["attributes"]["pprof.profile.comment"][0],
                "agent=vtprof"
            );
            let id = text(&got["id"]);
            assert_eq!(id.len(), 32, "{id}");
            assert!(ids.insert(id));
            let samples = got["samples"].as_array().expect("samples");
            assert!(samples.iter().all(|sample| sample["timestamps"] == 0));
            let linked = samples.iter().filter(|sample| sample["span"] != "").count();
            assert!(linked > 800, "{linked} with a link");
            let mut sums = Sums::new();
            add_received(&mut sums, &got["samples"]);
            assert_eq!(sums, column(&wanted, column_at), "{kind:?}");
        }
    }
}

#[test]
fn the_collectors_own_types_read_stacks_units_and_links() {
    let Some(receiver) = Receiver::otlp("receivers").expect("it starts") else {
        return;
    };
    let window = window();
    let formed = Form::Otlp.requests(&origin(), &window);
    assert_eq!(formed.requests.len(), Kind::ALL.len());
    assert_read_by_pdata(&receiver, &window, |at| {
        receiver.take(&formed.requests[at]).expect("it is taken");
    });
}

#[test]
fn the_opentelemetry_collector_takes_profiles_prints_their_sums_and_sends_them_on() {
    let Some(next) = Receiver::otlp("receivers").expect("it starts") else {
        return;
    };
    let Some(collector) = Receiver::collector("receivers", &next).expect("it starts") else {
        return;
    };
    let window = window();
    let formed = Form::Otlp.requests(&origin(), &window);
    assert_read_by_pdata(&next, &window, |at| {
        collector.take(&formed.requests[at]).expect("it is taken");
    });

    // What its debug exporter prints: of each profile the values of its samples, and of each sample its attributes.
    let printed = collector.lines_until_quiet(Duration::from_secs(5));
    let mut sums: Vec<i64> = Vec::new();
    let mut attributes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut services = 0;
    for line in printed.iter().map(|line| line.trim()) {
        if line.starts_with("Profile #") {
            sums.push(0);
        } else if let Some(value) = line.strip_prefix("Values: [") {
            let value: i64 = value.trim_end_matches(']').parse().expect("one value");
            *sums.last_mut().expect("a profile before") += value;
        } else if let Some(attribute) = line.strip_prefix("-> ") {
            let key = attribute.split(':').next().expect("a key");
            *attributes.entry(key).or_default() += 1;
            services += u64::from(attribute == "service.name: Str(shop)");
        }
    }
    let wanted = Kind::ALL.into_iter().flat_map(|kind| {
        let sent = sent(&window, kind, all_labels);
        [0, 1].map(|at| sent.values().map(|values| values[at]).sum())
    });
    assert_eq!(sums, wanted.collect::<Vec<i64>>());
    assert_eq!(services, Kind::ALL.len() as u64);
    let samples: usize = window.profiles.iter().map(|(_, p)| p.sample.len()).sum();
    // Each sample is there once for each of its values, and has a thread.
    assert_eq!(attributes["thread"], 2 * samples as u64);
    assert!(!attributes.contains_key("span_id") && !attributes.contains_key("trace_id"));
    let names = [
        "io.shop.Köln.`on sale \u{1f6d2}`",
        "[truncated: gc active]",
        "GET /3",
    ];
    for name in names {
        let found = printed.iter().filter(|line| line.contains(name)).count();
        assert!(found > 0, "no {name}");
    }
}
