//! What the tests of forms have in common: windows, and what is in requests, read without the code that made them.

#![allow(dead_code)]

use std::collections::BTreeMap;

use vtprof_deliver::origin::Origin;
use vtprof_deliver::request::Request;
use vtprof_deliver::window::Window;
use vtprof_profile::builder::ProfileBuilder;
use vtprof_profile::kind::Kind;
use vtprof_profile::pprof::Profile;
use vtprof_profile::{Message, gzip};

/// Labels by key.
pub type Labels = BTreeMap<String, String>;
/// Values by stack, leaf first, and labels.
pub type Sums = BTreeMap<(Vec<String>, Labels), Vec<i64>>;

/// A sample to be: stack, values, labels.
#[derive(Clone, Debug)]
pub struct Sample {
    pub stack: Vec<String>,
    pub values: [i64; 2],
    pub labels: Vec<(&'static str, String)>,
}

pub fn origin() -> Origin {
    Origin {
        service: "shop".to_owned(),
        labels: vec![("env".to_owned(), "prod".to_owned())],
        resource: vec![("k8s.pod.name".to_owned(), "shop-1".to_owned())],
        host: "node-7".to_owned(),
        pid: 4711,
    }
}

/// A profile as the agent makes it.
pub fn profile(kind: Kind, samples: &[Sample]) -> Profile {
    let mut builder =
        ProfileBuilder::new(&[kind.count(), kind.amount()], kind.period(), 10_000_000);
    builder.default_sample_type(kind.amount().kind);
    builder.set_time(START.cast_signed(), 60_000_000_000);
    builder.comment("agent=vtprof");
    builder.comment("counters (those not named are 0): dropped.ring_full=3");
    for sample in samples {
        let stack: Vec<_> = sample
            .stack
            .iter()
            .map(|name| {
                let function = builder.function(name, name, "Shop.java", 0);
                builder.location(function, name.len() as i64)
            })
            .collect();
        let labels: Vec<_> = sample
            .labels
            .iter()
            .map(|(k, v)| (*k, v.as_str()))
            .collect();
        builder
            .sample(&stack, &sample.values, &labels)
            .expect("a good sample");
    }
    builder.finish()
}

pub const START: u64 = 1_790_000_000_123_456_789;

pub fn window(profiles: Vec<(Kind, Profile)>) -> Window {
    Window {
        start_unix_ns: START,
        duration_ns: 60_000_000_000,
        profiles,
    }
}

/// What is in a profile; of labels those that `keep` names anew.
pub fn sums(profile: &Profile, keep: impl Fn(&str) -> Option<&'static str>) -> Sums {
    let mut sums = Sums::new();
    add_sums(&mut sums, profile, keep);
    sums
}

pub fn add_sums(sums: &mut Sums, profile: &Profile, keep: impl Fn(&str) -> Option<&'static str>) {
    let function: BTreeMap<_, _> = profile.function.iter().map(|f| (f.id, f)).collect();
    let location: BTreeMap<_, _> = profile.location.iter().map(|l| (l.id, l)).collect();
    for sample in &profile.sample {
        let lines = sample.location_id.iter().flat_map(|id| &location[id].line);
        let stack = lines.map(|line| profile.text(function[&line.function_id].name).into_owned());
        let labels = sample.label.iter().filter_map(|label| {
            assert_eq!(label.num, 0, "a number");
            let key = profile.text(label.key);
            Some((keep(&key)?.to_owned(), profile.text(label.str).into_owned()))
        });
        let at = sums.entry((stack.collect(), labels.collect())).or_default();
        at.resize(sample.value.len(), 0);
        for (sum, value) in at.iter_mut().zip(&sample.value) {
            *sum += value;
        }
    }
}

/// All labels under their own names.
pub fn all_labels(key: &str) -> Option<&'static str> {
    const KEYS: [&str; 6] = [
        "trace_id",
        "span_id",
        "local_root_span_id",
        "span_name",
        "thread",
        "state",
    ];
    KEYS.into_iter().find(|known| *known == key)
}

/// What is pushed to Pyroscope.
#[derive(Clone, PartialEq, Message)]
pub struct PushRequest {
    #[prost(message, repeated, tag = "1")]
    pub series: Vec<RawProfileSeries>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawProfileSeries {
    #[prost(message, repeated, tag = "1")]
    pub labels: Vec<LabelPair>,
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<RawSample>,
}

#[derive(Clone, PartialEq, Message)]
pub struct LabelPair {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawSample {
    #[prost(bytes = "vec", tag = "1")]
    pub raw_profile: Vec<u8>,
    #[prost(string, tag = "2")]
    pub id: String,
}

/// Reads a push of one profile: labels of the series, id, profile, its bytes.
pub fn pushed(request: &Request) -> (Labels, String, Profile, usize) {
    assert_eq!(request.path, "/push.v1.PusherService/Push");
    assert_eq!(request.content_type, "application/proto");
    assert!(!request.gzip);
    let push = PushRequest::decode(request.body.as_slice()).expect("a push");
    let [series] = &push.series[..] else {
        panic!("{} series", push.series.len());
    };
    let [sample] = &series.samples[..] else {
        panic!("{} profiles", series.samples.len());
    };
    let pairs = series.labels.iter();
    let labels: Labels = pairs
        .map(|pair| (pair.name.clone(), pair.value.clone()))
        .collect();
    assert_eq!(labels.len(), series.labels.len(), "a label twice");
    let (profile, bytes) = unzipped(&sample.raw_profile);
    (labels, sample.id.clone(), profile, bytes)
}

/// A gzipped profile, and how many bytes it had.
pub fn unzipped(body: &[u8]) -> (Profile, usize) {
    assert_eq!(body[..2], [0x1f, 0x8b]);
    let bytes = gzip::read_bytes(body, 1 << 26).expect("gzip");
    (
        Profile::decode(bytes.as_slice()).expect("pprof"),
        bytes.len(),
    )
}
