//! Profiles of the model as OTLP. A sample's trace and span become its link; its other labels stay attributes.

use std::collections::HashMap;
use std::hash::Hash;

use super::profiles::{
    Function, KeyValueAndUnit, Line, Link, Location, Mapping, ProfilesData, ProfilesDictionary,
    ResourceProfiles, Sample, ScopeProfiles, Stack, ValueType,
};
use super::trace::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, Resource, any_value};
use crate::ids::{SpanId, TraceId};
use crate::model::{self, Flaw, Label, LabelValue, LocationIndex, StringIndex};

/// Label, and what it is in a link.
pub(super) const TRACE_LABEL: &str = "trace_id";
/// As above.
pub(super) const SPAN_LABEL: &str = "span_id";
/// Attribute of a profile: lines of free text.
pub(super) const COMMENT_ATTRIBUTE: &str = "pprof.profile.comment";
/// Attribute of a scope: the sample type that is shown first.
pub(super) const DEFAULT_TYPE_ATTRIBUTE: &str = "pprof.scope.default_sample_type";
/// Attribute of a scope: which place each of its profiles has among the sample types of one pprof profile.
pub(super) const TYPE_ORDER_ATTRIBUTE: &str = "pprof.scope.sample_type_order";

/// The message of these profiles, all of one resource.
///
/// # Errors
/// More entries of a table than an index of 31 bits can name.
pub fn write_profiles<'a>(
    resource: Option<Resource>,
    profiles: impl IntoIterator<Item = &'a model::Profile>,
) -> Result<ProfilesData, Flaw> {
    let mut writer = Writer::default();
    let scope_profiles = profiles.into_iter().map(|profile| writer.scope(profile));
    let scope_profiles = scope_profiles.collect::<Result<_, _>>()?;
    Ok(ProfilesData {
        resource_profiles: vec![ResourceProfiles {
            resource,
            scope_profiles,
            schema_url: String::new(),
        }],
        dictionary: Some(writer.into_dictionary()),
    })
}

/// Entries of a table and where they are in it. The first is the one that is not set.
struct Table<K> {
    indices: HashMap<K, i32>,
}

impl<K: Eq + Hash> Table<K> {
    fn index(&mut self, key: K) -> Result<i32, Flaw> {
        let next = i32::try_from(self.indices.len()).map_err(|_| Flaw::TooMany)?;
        Ok(*self.indices.entry(key).or_insert(next))
    }

    /// In the order of their indices.
    fn into_entries(self) -> impl Iterator<Item = K> {
        let mut entries: Vec<_> = self.indices.into_iter().collect();
        entries.sort_unstable_by_key(|(_, index)| *index);
        entries.into_iter().map(|(entry, _)| entry)
    }
}

impl<K: Default + Eq + Hash> Default for Table<K> {
    fn default() -> Self {
        Table {
            indices: HashMap::from([(K::default(), 0)]),
        }
    }
}

/// Value of an attribute, by which equal ones are found.
#[derive(Default, PartialEq, Eq, Hash)]
enum Value {
    #[default]
    None,
    Text(String),
    /// Several of one key, which OTLP has as one attribute.
    Texts(Vec<String>),
    Int(i64),
}

#[derive(Default)]
struct Writer {
    strings: Table<String>,
    functions: Table<(i32, i32, i32, i64)>,
    /// Function and line of each frame.
    locations: Table<Vec<(i32, i64)>>,
    stacks: Table<Vec<i32>>,
    /// Key, value, unit.
    attributes: Table<(i32, Value, i32)>,
    links: Table<Option<(TraceId, SpanId)>>,
}

/// What entries of a profile are called in the dictionary, where they were met.
struct Names {
    strings: Vec<Option<i32>>,
    locations: Vec<Option<i32>>,
    stacks: Vec<Option<i32>>,
    /// Attributes and link of each set of labels.
    label_sets: Vec<Option<(Vec<i32>, i32)>>,
}

impl Writer {
    fn scope(&mut self, profile: &model::Profile) -> Result<ScopeProfiles, Flaw> {
        let mut names = Names {
            strings: vec![None; profile.strings.len()],
            locations: vec![None; profile.locations.len()],
            stacks: vec![None; profile.samples.stacks.len()],
            label_sets: vec![None; profile.samples.label_sets.len()],
        };
        let head = super::profiles::Profile {
            // Before 1970 is a time that is not known.
            time_unix_nano: profile.time_nanos.try_into().unwrap_or(0),
            duration_nano: profile.duration_nanos.try_into().unwrap_or(0),
            period_type: profile
                .period_type
                .as_ref()
                .map(|t| self.value_type(t))
                .transpose()?,
            period: profile.period,
            attribute_indices: self.comments(&profile.comments)?,
            ..super::profiles::Profile::default()
        };
        let mut profiles = Vec::new();
        for sample_type in &profile.sample_types {
            profiles.push(super::profiles::Profile {
                sample_type: Some(self.value_type(sample_type)?),
                ..head.clone()
            });
        }
        for (row, values) in profile.samples.rows() {
            let stack_index = self.stack(profile, row.stack, &mut names)?;
            let (attribute_indices, link_index) = self.labels(profile, row.labels, &mut names)?;
            for (at, (value, of)) in values.iter().zip(&mut profiles).enumerate() {
                // One that is 0 says nothing, but in one of them each sample is.
                if *value != 0 || at == 0 {
                    of.samples.push(Sample {
                        stack_index,
                        attribute_indices: attribute_indices.clone(),
                        link_index,
                        values: vec![*value],
                        timestamps_unix_nano: Vec::new(),
                    });
                }
            }
        }
        Ok(ScopeProfiles {
            scope: Some(scope(profile)),
            profiles,
            schema_url: String::new(),
        })
    }

    fn string(&mut self, text: &str) -> Result<i32, Flaw> {
        match self.strings.indices.get(text) {
            Some(index) => Ok(*index),
            None => self.strings.index(text.to_owned()),
        }
    }

    fn named(
        &mut self,
        profile: &model::Profile,
        text: StringIndex,
        names: &mut Names,
    ) -> Result<i32, Flaw> {
        if let Some(index) = names.strings[text.as_usize()] {
            return Ok(index);
        }
        let index = self.string(profile.strings.get(text))?;
        names.strings[text.as_usize()] = Some(index);
        Ok(index)
    }

    fn value_type(&mut self, value_type: &model::ValueType) -> Result<ValueType, Flaw> {
        Ok(ValueType {
            type_strindex: self.string(&value_type.kind)?,
            unit_strindex: self.string(&value_type.unit)?,
        })
    }

    fn comments(&mut self, lines: &[String]) -> Result<Vec<i32>, Flaw> {
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let key = self.string(COMMENT_ATTRIBUTE)?;
        let value = Value::Texts(lines.to_vec());
        Ok(vec![self.attributes.index((key, value, 0))?])
    }

    fn location(
        &mut self,
        profile: &model::Profile,
        location: LocationIndex,
        names: &mut Names,
    ) -> Result<i32, Flaw> {
        if let Some(index) = names.locations[location.as_usize()] {
            return Ok(index);
        }
        let mut lines = Vec::new();
        for frame in profile.locations.frames(location) {
            let function = profile.functions.get(frame.function);
            let key = (
                self.named(profile, function.name, names)?,
                self.named(profile, function.system_name, names)?,
                self.named(profile, function.file, names)?,
                function.start_line,
            );
            lines.push((self.functions.index(key)?, frame.line));
        }
        let index = self.locations.index(lines)?;
        names.locations[location.as_usize()] = Some(index);
        Ok(index)
    }

    fn stack(
        &mut self,
        profile: &model::Profile,
        stack: u32,
        names: &mut Names,
    ) -> Result<i32, Flaw> {
        if let Some(index) = names.stacks[stack as usize] {
            return Ok(index);
        }
        let mut locations = Vec::new();
        for location in profile.samples.stacks.get(stack) {
            locations.push(self.location(profile, *location, names)?);
        }
        let index = self.stacks.index(locations)?;
        names.stacks[stack as usize] = Some(index);
        Ok(index)
    }

    /// Attributes and link of a set of labels.
    fn labels(
        &mut self,
        profile: &model::Profile,
        labels: u32,
        names: &mut Names,
    ) -> Result<(Vec<i32>, i32), Flaw> {
        if let Some(known) = &names.label_sets[labels as usize] {
            return Ok(known.clone());
        }
        let labels_at = labels as usize;
        let labels = profile.samples.label_sets.get(labels);
        let link = link(profile, labels);
        let mut attributes: Vec<(i32, Value, i32)> = Vec::new();
        for label in labels {
            let key = profile.strings.get(label.key);
            if link.is_some() && (key == TRACE_LABEL || key == SPAN_LABEL) {
                continue;
            }
            let key = self.named(profile, label.key, names)?;
            let (value, unit) = match label.value {
                LabelValue::Text(text) => (Value::Text(profile.strings.get(text).to_owned()), 0),
                LabelValue::Number { value, unit } => {
                    (Value::Int(value), self.named(profile, unit, names)?)
                }
            };
            match attributes.iter_mut().find(|known| known.0 == key) {
                Some(known) => known.1.add(value),
                None => attributes.push((key, value, unit)),
            }
        }
        let indices = attributes
            .into_iter()
            .map(|attribute| self.attributes.index(attribute));
        let indices: Vec<_> = indices.collect::<Result<_, _>>()?;
        let known = (indices, self.links.index(link)?);
        names.label_sets[labels_at] = Some(known.clone());
        Ok(known)
    }

    fn into_dictionary(self) -> ProfilesDictionary {
        ProfilesDictionary {
            mapping_table: vec![Mapping::default()],
            location_table: self
                .locations
                .into_entries()
                .map(|lines| Location {
                    lines: lines
                        .into_iter()
                        .map(|(function_index, line)| Line {
                            function_index,
                            line,
                            column: 0,
                        })
                        .collect(),
                    ..Location::default()
                })
                .collect(),
            function_table: self
                .functions
                .into_entries()
                .map(|(name, system_name, file, start_line)| Function {
                    name_strindex: name,
                    system_name_strindex: system_name,
                    filename_strindex: file,
                    start_line,
                })
                .collect(),
            link_table: self
                .links
                .into_entries()
                .map(|link| {
                    // All zero, for readers that insist on the lengths.
                    let (trace, span) = link.unwrap_or((TraceId([0; 16]), SpanId(0)));
                    Link {
                        trace_id: trace.0.to_vec(),
                        span_id: span.to_wire().to_vec(),
                    }
                })
                .collect(),
            string_table: self.strings.into_entries().collect(),
            attribute_table: self
                .attributes
                .into_entries()
                .map(|(key, value, unit)| KeyValueAndUnit {
                    key_strindex: key,
                    value: value.into_any(),
                    unit_strindex: unit,
                })
                .collect(),
            stack_table: self
                .stacks
                .into_entries()
                .map(|location_indices| Stack { location_indices })
                .collect(),
        }
    }
}

impl Value {
    /// One more of the same key.
    fn add(&mut self, other: Value) {
        let texts = |value: Value| match value {
            Value::None => Vec::new(),
            Value::Text(text) => vec![text],
            Value::Texts(texts) => texts,
            Value::Int(number) => vec![number.to_string()],
        };
        let mut all = texts(std::mem::take(self));
        all.extend(texts(other));
        *self = Value::Texts(all);
    }

    fn into_any(self) -> Option<AnyValue> {
        let value = match self {
            Value::None => return None,
            Value::Text(text) => any_value::Value::String(text),
            Value::Int(number) => any_value::Value::Int(number),
            Value::Texts(texts) => any_value::Value::Array(ArrayValue {
                values: texts
                    .into_iter()
                    .map(|text| AnyValue {
                        value: Some(any_value::Value::String(text)),
                    })
                    .collect(),
            }),
        };
        Some(AnyValue { value: Some(value) })
    }
}

/// What of the pprof profile is in none of those that it becomes.
fn scope(profile: &model::Profile) -> InstrumentationScope {
    let order = (0..profile.sample_types.len()).map(|at| AnyValue {
        value: Some(any_value::Value::Int(at as i64)),
    });
    let order = any_value::Value::Array(ArrayValue {
        values: order.collect(),
    });
    let mut attributes = vec![KeyValue {
        key: TYPE_ORDER_ATTRIBUTE.to_owned(),
        value: Some(AnyValue { value: Some(order) }),
    }];
    let default = profile.default_sample_type;
    if let Some(default) = default.and_then(|index| profile.sample_types.get(index)) {
        attributes.push(KeyValue::string(
            DEFAULT_TYPE_ATTRIBUTE,
            default.kind.as_str(),
        ));
    }
    InstrumentationScope {
        name: "vtprof".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        attributes,
        dropped_attributes_count: 0,
    }
}

/// The span of these labels, where both of its ids are there, once, and written as ids are: else they stay what they are.
fn link(profile: &model::Profile, labels: &[Label]) -> Option<(TraceId, SpanId)> {
    let only = |key: &str| {
        let mut found = labels
            .iter()
            .filter(|label| profile.strings.get(label.key) == key);
        match (found.next()?.value, found.next()) {
            (LabelValue::Text(text), None) => Some(profile.strings.get(text)),
            _ => None,
        }
    };
    let trace = only(TRACE_LABEL)?;
    let span = only(SPAN_LABEL)?;
    let ids: (TraceId, SpanId) = (trace.parse().ok()?, span.parse().ok()?);
    (ids.0.to_string() == trace && ids.1.to_string() == span).then_some(ids)
}
