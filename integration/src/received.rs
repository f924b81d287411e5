//! What profiles hold, as sums that can be compared: those that were sent, and those that a server says it has got.

use std::collections::BTreeMap;

use serde_json::Value;
use vtprof_profile::model::{LabelValue, Profile};

/// Values by stack, leaf first, and labels.
pub type Sums = BTreeMap<(Vec<String>, BTreeMap<String, String>), Vec<i64>>;

/// Adds the samples of a profile. `keep` says what a label is called there, if it is there.
pub fn add_sent(sums: &mut Sums, profile: &Profile, keep: impl Fn(&str) -> Option<&'static str>) {
    for sample in profile.samples.iter() {
        let frames = profile.frames(&sample);
        let names = frames.map(|frame| profile.functions.get(frame.function).name);
        let stack = names.map(|name| profile.strings.get(name).to_owned());
        let labels = sample.labels.iter().filter_map(|label| {
            let LabelValue::Text(text) = label.value else {
                return None;
            };
            let key = keep(profile.strings.get(label.key))?;
            Some((key.to_owned(), profile.strings.get(text).to_owned()))
        });
        add(sums, (stack.collect(), labels.collect()), sample.values);
    }
}

/// All labels under their own names, for [`add_sent`].
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

fn add(sums: &mut Sums, key: (Vec<String>, BTreeMap<String, String>), values: &[i64]) {
    let sum = sums.entry(key).or_default();
    sum.resize(values.len(), 0);
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += value;
    }
}

/// Adds the samples of a line that a receiver has printed; of one on the Collector's types with the span that a sample
/// is linked to as `trace_id` and `span_id`.
///
/// # Panics
/// It is none.
pub fn add_received(sums: &mut Sums, samples: &Value) {
    for sample in samples.as_array().expect("samples") {
        let stack = sample["stack"].as_array().expect("a stack");
        let stack = stack.iter().map(text);
        let given = [&sample["labels"], &sample["attributes"]];
        let given = given.into_iter().filter_map(Value::as_object).flatten();
        let mut labels: BTreeMap<_, _> = given.map(|(k, v)| (k.clone(), text(v))).collect();
        for (key, id) in [("trace_id", &sample["trace"]), ("span_id", &sample["span"])] {
            if id.as_str().is_some_and(|id| !id.is_empty()) {
                let twice = labels.insert(key.to_owned(), text(id));
                assert_eq!(twice, None, "a link and a label");
            }
        }
        let values = sample["values"].as_array().expect("values");
        let values: Vec<_> = values
            .iter()
            .map(|v| v.as_i64().expect("a number"))
            .collect();
        add(sums, (stack.collect(), labels), &values);
    }
}

/// A text of JSON.
///
/// # Panics
/// It is none.
#[must_use]
pub fn text(value: &Value) -> String {
    let text = value.as_str();
    text.unwrap_or_else(|| panic!("{value} is no text"))
        .to_owned()
}
