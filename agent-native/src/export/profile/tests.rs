use std::sync::Arc;

use vtprof_profile::Message;
use vtprof_profile::builder::ValueType;
use vtprof_profile::model::{LabelValue, Profile};
use vtprof_signal::tag::Tag;

use super::*;
use crate::aggregate::weight::Weight;
use crate::aggregate::window::Bounds;

const WHEN: Span = Span {
    start_unix_ns: 1_700_000_000_000_000_000,
    duration_ns: 60_000_000_000,
};
const TAG: Tag = Tag {
    trace_hi: 1,
    trace_lo: 2,
    span: 3,
    root: 4,
};

fn function(name: &str) -> Arc<Function> {
    Arc::new(Function {
        name: name.into(),
        file: "Shop.java".into(),
    })
}

fn stack(names: &[&str]) -> Vec<Location> {
    let lines = names.iter().zip(1..);
    lines
        .map(|(name, line)| Location {
            function: function(name),
            line,
        })
        .collect()
}

fn built(kind: Kind, window: &Window, period: u64) -> ProfileBuilder {
    let full = function("[stack store full]");
    let name = |_| Arc::from("GET /");
    build(kind, window, WHEN, period, &full, name, &["a=1".to_owned()]).unwrap()
}

/// Values of a sample, and its labels by key.
type Row = (Vec<i64>, Vec<(String, String)>);

/// The samples, in the order of the file.
fn samples(profile: &Profile) -> Vec<Row> {
    let text = |index| profile.strings.get(index).to_owned();
    profile
        .samples
        .iter()
        .map(|sample| {
            let labels = sample.labels.iter().map(|label| match label.value {
                LabelValue::Text(value) => (text(label.key), text(value)),
                LabelValue::Number { .. } => panic!("a number"),
            });
            let mut labels: Vec<_> = labels.collect();
            labels.sort();
            (sample.values.to_vec(), labels)
        })
        .collect()
}

fn read(kind: Kind, window: &Window, period: u64) -> Profile {
    let bytes = built(kind, window, period).finish().encode_to_vec();
    Profile::from_bytes(&bytes).unwrap()
}

fn pairs(labels: &[(&str, &str)]) -> Vec<(String, String)> {
    labels
        .iter()
        .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn a_profile_of_cpu_time_is_byte_by_byte_what_it_was_when_it_was_the_only_kind() {
    let mut window = Window::new(Bounds::DEFAULT);
    let (main, shop) = (Arc::from("main"), stack(&["Shop.sell", "Shop.main"]));
    for (tag, periods) in [(TAG, 1), (Tag::EMPTY, 7), (TAG, 3)] {
        window.add(&shop, &main, tag, None, Weight::of_periods(periods));
    }
    let new = built(Kind::Cpu, &window, 10_000_000).finish();

    // Written out by hand, from what samples/count and cpu/nanoseconds have always meant.
    let cpu = ValueType {
        kind: "cpu",
        unit: "nanoseconds",
    };
    let count = ValueType {
        kind: "samples",
        unit: "count",
    };
    let mut by_hand = ProfileBuilder::new(&[count, cpu], cpu, 10_000_000);
    by_hand.default_sample_type("cpu");
    by_hand.set_time(1_700_000_000_000_000_000, 60_000_000_000);
    by_hand.comment("a=1");
    let stack: Vec<_> = [("Shop.sell", 1), ("Shop.main", 2)]
        .into_iter()
        .map(|(name, line)| {
            let function = by_hand.function(name, name, "Shop.java", 0);
            by_hand.location(function, line)
        })
        .collect();
    by_hand
        .sample(&stack, &[1, 70_000_000], &[("thread", "main")])
        .unwrap();
    let labels = [
        ("trace_id", "00000000000000010000000000000002"),
        ("span_id", "0000000000000003"),
        ("local_root_span_id", "0000000000000004"),
        ("span_name", "GET /"),
        ("thread", "main"),
    ];
    by_hand.sample(&stack, &[2, 40_000_000], &labels).unwrap();
    assert_eq!(new.encode_to_vec(), by_hand.finish().encode_to_vec());
}

#[test]
fn each_kind_has_its_own_sample_types_and_is_counted_in_its_own_unit() {
    let weight = Weight {
        count: 2.0,
        amount: 5.0,
    };
    for (kind, types, period_type, values) in [
        (
            Kind::Cpu,
            ["samples/count", "cpu/nanoseconds"],
            "cpu/nanoseconds",
            [2, 5_000],
        ),
        (
            Kind::Alloc,
            ["alloc_objects/count", "alloc_space/bytes"],
            "space/bytes",
            [2, 5],
        ),
        (
            Kind::Blocked,
            ["events/count", "blocked/nanoseconds"],
            "blocked/nanoseconds",
            [2, 5],
        ),
    ] {
        let mut window = Window::new(Bounds::of(kind));
        window.add(&stack(&["a"]), &Arc::from("main"), TAG, None, weight);
        let profile = read(kind, &window, 1_000);
        let text = |t: &vtprof_profile::model::ValueType| format!("{}/{}", t.kind, t.unit);
        let found: Vec<_> = profile.sample_types.iter().map(text).collect();
        assert_eq!(found, types);
        assert_eq!(profile.period_type.as_ref().map(text).unwrap(), period_type);
        assert_eq!(profile.period, 1_000);
        assert_eq!(profile.default_sample_type, Some(1), "{kind:?}");
        assert_eq!(samples(&profile)[0].0, values);
        assert_eq!(Kind::of(&profile), Some(kind));
    }
}

#[test]
fn a_state_is_a_label_of_the_kind_that_has_one_and_of_no_other() {
    let weight = Weight {
        count: 1.0,
        amount: 1.0,
    };
    for (kind, expected) in [
        (Kind::Alloc, pairs(&[("thread", "main")])),
        (
            Kind::Blocked,
            pairs(&[("state", "lock"), ("thread", "main")]),
        ),
    ] {
        let mut window = Window::new(Bounds::of(kind));
        let main = Arc::from("main");
        window.add(&stack(&["a"]), &main, Tag::EMPTY, Some("lock"), weight);
        assert_eq!(samples(&read(kind, &window, 1)), [(vec![1, 1], expected)]);
    }
}

#[test]
fn what_a_reader_adds_up_over_many_small_sums_is_right() {
    const STACKS: u32 = 20_000;
    let mut window = Window::new(Bounds::of(Kind::Alloc));
    let weight = Weight {
        count: 1.3,
        amount: 681_574.4,
    };
    for n in 0..STACKS {
        let name = format!("f{n}");
        let thread: Arc<str> = Arc::from(["even", "odd"][n as usize % 2]);
        window.add(&stack(&[&name]), &thread, Tag::EMPTY, None, weight);
    }
    let profile = read(Kind::Alloc, &window, 524_288);
    let samples = samples(&profile);
    assert_eq!(samples.len(), STACKS as usize);
    for thread in ["even", "odd"] {
        let of_thread = samples
            .iter()
            .filter(|(_, labels)| labels[0].1 == thread)
            .fold([0, 0], |sum, (values, _)| {
                [sum[0] + values[0], sum[1] + values[1]]
            });
        let half = f64::from(STACKS / 2);
        // 5 standard deviations of so many roundings.
        let bound = 5.0 * (half * 0.25).sqrt();
        for (found, wanted) in of_thread.into_iter().zip([weight.count, weight.amount]) {
            let error = found as f64 - half * wanted;
            assert!(error.abs() <= bound, "{error} in {thread}, at most {bound}");
        }
    }
}
