//! A profile of tables as pprof again.

use super::{LabelValue, Profile, StringIndex, ValueType};
use crate::pprof;

impl Profile {
    /// The message: what was read, without mappings and addresses, each location under a new id. Samples keep their order.
    #[must_use]
    pub fn to_pprof(&self) -> pprof::Profile {
        let mut texts = Texts::of(self);
        let value_type = |t: &ValueType, texts: &mut Texts| pprof::ValueType {
            r#type: texts.index(&t.kind),
            unit: texts.index(&t.unit),
        };
        let sample_type = self.sample_types.iter();
        let sample_type = sample_type.map(|t| value_type(t, &mut texts)).collect();
        let period_type = self.period_type.as_ref();
        let period_type = period_type.map(|t| value_type(t, &mut texts));
        let comment = self.comments.iter().map(|line| texts.index(line)).collect();
        let default = self.default_sample_type;
        let default_sample_type = default
            .and_then(|index| self.sample_types.get(index))
            .map_or(0, |t| texts.index(&t.kind));
        pprof::Profile {
            sample_type,
            sample: self.samples.iter().map(|sample| message(&sample)).collect(),
            location: self.location_messages(),
            function: self.function_messages(),
            string_table: texts.table,
            time_nanos: self.time_nanos,
            duration_nanos: self.duration_nanos,
            period_type,
            period: self.period,
            comment,
            default_sample_type,
            ..pprof::Profile::default()
        }
    }

    fn location_messages(&self) -> Vec<pprof::Location> {
        let lines = |frames: &[super::Frame]| {
            let line = |frame: &super::Frame| pprof::Line {
                function_id: id(frame.function.as_usize()),
                line: frame.line,
                column: 0,
            };
            frames.iter().map(line).collect()
        };
        self.locations
            .iter()
            .map(|(index, frames)| pprof::Location {
                id: id(index.as_usize()),
                line: lines(frames),
                ..pprof::Location::default()
            })
            .collect()
    }

    fn function_messages(&self) -> Vec<pprof::Function> {
        self.functions
            .iter()
            .map(|(index, function)| pprof::Function {
                id: id(index.as_usize()),
                name: text(function.name),
                system_name: text(function.system_name),
                filename: text(function.file),
                start_line: function.start_line,
            })
            .collect()
    }
}

/// Ids begin with 1.
fn id(index: usize) -> u64 {
    index as u64 + 1
}

fn text(index: StringIndex) -> i64 {
    index.as_usize() as i64
}

fn message(sample: &super::Sample<'_>) -> pprof::Sample {
    let label = |label: &super::Label| {
        let key = text(label.key);
        match label.value {
            LabelValue::Text(value) => pprof::Label {
                key,
                str: text(value),
                ..pprof::Label::default()
            },
            LabelValue::Number { value, unit } => pprof::Label {
                key,
                num: value,
                num_unit: text(unit),
                ..pprof::Label::default()
            },
        }
    };
    pprof::Sample {
        location_id: sample.stack.iter().map(|at| id(at.as_usize())).collect(),
        value: sample.values.to_vec(),
        label: sample.labels.iter().map(label).collect(),
    }
}

/// The table's texts, and those that stand outside of it.
struct Texts {
    table: Vec<Vec<u8>>,
}

impl Texts {
    fn of(profile: &Profile) -> Self {
        let table = profile.strings.iter();
        Texts {
            table: table.map(|text| text.as_bytes().to_vec()).collect(),
        }
    }

    /// Of a text that is no entry of a table: few, so they are just added.
    fn index(&mut self, text: &str) -> i64 {
        if text.is_empty() {
            return 0;
        }
        self.table.push(text.as_bytes().to_vec());
        self.table.len() as i64 - 1
    }
}
