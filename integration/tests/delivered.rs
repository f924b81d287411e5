//! What a JVM under load sends is what it writes into files, at each sort of server; nothing is lost on a good network.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use vtprof_integration::jdk;
use vtprof_integration::received::{Sums, add_received, add_sent, all_labels, text};
use vtprof_integration::receivers::Receiver;
use vtprof_integration::truth_run::{Strategy, TruthRun};
use vtprof_profile::gzip;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::Profile;

/// What all files of a folder hold together, by kind.
fn written(dir: &Path, keep: impl Fn(&str) -> Option<&'static str>) -> BTreeMap<Kind, Sums> {
    let mut all: BTreeMap<Kind, Sums> = BTreeMap::new();
    for file in std::fs::read_dir(dir).expect("a folder") {
        let path = file.expect("a file").path();
        if path.to_string_lossy().contains("-spans-") {
            continue;
        }
        let file = std::fs::File::open(&path).expect("a file");
        let bytes = gzip::read_bytes(file, gzip::DEFAULT_LIMIT).expect("gzip");
        let profile = Profile::from_bytes(&bytes).expect("pprof");
        let kind = Kind::of(&profile).expect("a kind");
        if !profile.samples.is_empty() {
            add_sent(all.entry(kind).or_default(), &profile, &keep);
        }
    }
    all
}

fn lines(receiver: &Receiver) -> Vec<Value> {
    let lines = receiver.lines_until_quiet(Duration::from_secs(3));
    let values = lines.iter().map(|line| serde_json::from_str(line));
    values.collect::<Result<_, _>>().expect("lines of JSON")
}

fn kind_of_series(line: &Value) -> Kind {
    let first = text(&line["profile"]["sample_types"][0]["type"]);
    match (text(&line["labels"]["__name__"]).as_str(), first.as_str()) {
        ("process_cpu", "samples") => Kind::Cpu,
        ("memory", "alloc_objects") => Kind::Alloc,
        ("block", "contentions") => Kind::Blocked,
        ("wall", "wall_samples") => Kind::Wall,
        other => panic!("{other:?}"),
    }
}

#[test]
fn servers_get_what_the_files_have() {
    let start = |receiver: anyhow::Result<Option<Receiver>>| receiver.expect("it starts");
    let (Some(pyroscope), Some(pprof), Some(otlp)) = (
        start(Receiver::pyroscope("delivered", &[])),
        start(Receiver::pyroscope("delivered", &[])),
        start(Receiver::otlp("delivered")),
    ) else {
        return;
    };
    let jdk = jdk::each("delivered").pop().expect("a JDK");
    let push = format!(
        "push=pyroscope+http://{},pprof+http://{},otlp+http://{}",
        pyroscope.address(),
        pprof.address(),
        otlp.address()
    );
    let run = TruthRun::new(&jdk, "two-carriers", Strategy::Auto)
        .seconds(5)
        .every("2s")
        .option("blocked=1ms,alloc=64k,wall=10ms")
        .option("label.zone=eu")
        .option(&push)
        .run()
        .expect("a run");
    run.verdict.assert_no_wrong_tag();
    assert!(run.recording.windows.len() > 1, "one window");
    let out = run.dir.path().join("out");

    let mut got: BTreeMap<Kind, Sums> = BTreeMap::new();
    for line in lines(&pyroscope) {
        assert_eq!(line["labels"]["service_name"], "truth");
        assert_eq!(line["labels"]["zone"], "eu");
        add_received(
            got.entry(kind_of_series(&line)).or_default(),
            &line["profile"]["samples"],
        );
    }
    let as_pyroscope = written(&out, |key| match key {
        "trace_id" => Some("trace_id"),
        "local_root_span_id" => Some("span_id"),
        _ => None,
    });
    assert!(as_pyroscope.len() >= 3, "{:?}", as_pyroscope.keys());
    assert_eq!(got, as_pyroscope);

    let whole = written(&out, all_labels);
    let mut got: BTreeMap<Kind, Sums> = BTreeMap::new();
    for line in lines(&pprof) {
        let kind = Kind::from_name(&text(&line["query"]["profile_type"])).expect("a kind");
        if line["profile"]["samples"]
            .as_array()
            .is_some_and(|samples| !samples.is_empty())
        {
            add_received(got.entry(kind).or_default(), &line["profile"]["samples"]);
        }
    }
    assert_eq!(got, whole);

    // A profile has one sample type there: the amount of each kind.
    let mut got: BTreeMap<Kind, Sums> = BTreeMap::new();
    for line in lines(&otlp) {
        let sample_type = text(&line["sample_type"]["type"]);
        let kind = Kind::with_sample_type(&sample_type).expect("a kind");
        if sample_type == kind.count().kind && line["samples"] != Value::Array(Vec::new()) {
            add_received(got.entry(kind).or_default(), &line["samples"]);
        }
    }
    let counts = whole.into_iter().map(|(kind, sums)| {
        let sums = sums.into_iter().map(|(key, values)| (key, vec![values[0]]));
        (kind, sums.collect())
    });
    assert_eq!(got, counts.collect());
}
