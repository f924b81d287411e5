//! Profiles of OTLP as those of the model. What [`write_profiles`](super::write_profiles) makes of one comes back as it was.

use thiserror::Error;

use super::profiles::{
    KeyValueAndUnit, Link, Location, Profile, ProfilesData, ProfilesDictionary, Sample,
    ScopeProfiles,
};
use super::trace::{AnyValue, any_value};
use super::write_profiles::{COMMENT_ATTRIBUTE, DEFAULT_TYPE_ATTRIBUTE, SPAN_LABEL, TRACE_LABEL};
use crate::ids::{SpanId, TraceId};
use crate::merge::Tables;
use crate::model::{
    self, Flaw, Frame, FunctionIndex, Label, LabelValue, LocationIndex, StringIndex,
};

const UNKNOWN: &str = "[unknown]";

/// A message that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProfilesError {
    /// Profiles, and nothing that they point into.
    #[error("profiles without a dictionary")]
    NoDictionary,
    /// A profile that does not say what its values are.
    #[error("profile {profile}: no sample type")]
    NoSampleType {
        /// Which, counted from 0 over the whole message.
        profile: usize,
    },
    /// Something in a profile points nowhere.
    #[error("profile {profile}: {flaw}")]
    Profile {
        /// Which, counted from 0 over the whole message.
        profile: usize,
        /// What is wrong.
        flaw: Flaw,
    },
    /// Something in a sample points nowhere.
    #[error("profile {profile}, sample {sample}: {flaw}")]
    Sample {
        /// The profile, counted from 0 over the whole message.
        profile: usize,
        /// The sample, counted from 0.
        sample: usize,
        /// What is wrong.
        flaw: Flaw,
    },
}

/// The profiles. Those of one scope and time that count different things of the same become one of several sample types.
///
/// # Errors
/// A message that contradicts itself.
pub fn read_profiles(data: &ProfilesData) -> Result<Vec<model::Profile>, ProfilesError> {
    let scopes = data.resource_profiles.iter();
    let scopes = scopes.flat_map(|resource| &resource.scope_profiles);
    let mut read = Vec::new();
    let mut first = 0;
    for scope in scopes {
        let Some(dictionary) = &data.dictionary else {
            return Err(ProfilesError::NoDictionary);
        };
        read_scope(scope, dictionary, first, &mut read)?;
        first += scope.profiles.len();
    }
    Ok(read)
}

fn read_scope(
    scope: &ScopeProfiles,
    dictionary: &ProfilesDictionary,
    first: usize,
    read: &mut Vec<model::Profile>,
) -> Result<(), ProfilesError> {
    let default = scope.scope.as_ref().and_then(|scope| {
        let mut attributes = scope.attributes.iter();
        let default = attributes.find(|attribute| attribute.key == DEFAULT_TYPE_ATTRIBUTE);
        default?.as_str()
    });
    let mut at = 0;
    while let Some(head) = scope.profiles.get(at) {
        let mut types = Vec::new();
        for (offset, profile) in scope.profiles[at..].iter().enumerate() {
            let number = first + at + offset;
            let Some(sample_type) = &profile.sample_type else {
                return Err(ProfilesError::NoSampleType { profile: number });
            };
            if offset > 0 && (!is_of_one(head, profile) || types.contains(sample_type)) {
                break;
            }
            types.push(*sample_type);
        }
        let columns = &scope.profiles[at..at + types.len()];
        let mut profile = Reader::new(dictionary, columns).read(first + at)?;
        let is_default = |t: &model::ValueType| Some(t.kind.as_str()) == default;
        profile.default_sample_type = profile.sample_types.iter().position(is_default);
        read.push(profile);
        at += columns.len();
    }
    Ok(())
}

/// Whether two profiles can be columns of one.
fn is_of_one(one: &Profile, other: &Profile) -> bool {
    (one.time_unix_nano, one.duration_nano, one.period)
        == (other.time_unix_nano, other.duration_nano, other.period)
        && one.period_type == other.period_type
        && one.attribute_indices == other.attribute_indices
}

/// Reads profiles that are columns of one.
struct Reader<'a> {
    dictionary: &'a ProfilesDictionary,
    columns: &'a [Profile],
    tables: Tables,
    /// Stacks and locations of the dictionary in the tables.
    stacks: Vec<Option<u32>>,
    locations: Vec<Option<LocationIndex>>,
}

impl<'a> Reader<'a> {
    fn new(dictionary: &'a ProfilesDictionary, columns: &'a [Profile]) -> Self {
        Reader {
            dictionary,
            columns,
            tables: Tables::new(columns.len()),
            stacks: vec![None; dictionary.stack_table.len()],
            locations: vec![None; dictionary.location_table.len()],
        }
    }

    fn read(mut self, first: usize) -> Result<model::Profile, ProfilesError> {
        let mut sample_types = Vec::new();
        for (column, profile) in self.columns.iter().enumerate() {
            let number = first + column;
            let of_profile = |flaw| ProfilesError::Profile {
                profile: number,
                flaw,
            };
            let sample_type = profile.sample_type.as_ref();
            let sample_type = sample_type.ok_or(ProfilesError::NoSampleType { profile: number })?;
            sample_types.push(self.value_type(sample_type).map_err(of_profile)?);
            for (at, sample) in profile.samples.iter().enumerate() {
                self.sample(sample, column)
                    .map_err(|flaw| ProfilesError::Sample {
                        profile: number,
                        sample: at,
                        flaw,
                    })?;
            }
        }
        let of_first = |flaw| ProfilesError::Profile {
            profile: first,
            flaw,
        };
        let head = &self.columns[0];
        let period_type = head.period_type.as_ref();
        let period_type = period_type.map(|t| self.value_type(t)).transpose();
        let period_type = period_type.map_err(of_first)?;
        let comments = self.comments(head).map_err(of_first)?;
        let mut profile = self.tables.into_profile(sample_types);
        profile.period_type = period_type;
        profile.period = head.period;
        profile.time_nanos = head.time_unix_nano.try_into().unwrap_or(i64::MAX);
        profile.duration_nanos = head.duration_nano.try_into().unwrap_or(i64::MAX);
        profile.comments = comments;
        Ok(profile)
    }

    fn text(&self, index: i32) -> Result<&'a str, Flaw> {
        let len = self.dictionary.string_table.len();
        match of(&self.dictionary.string_table, index) {
            Some(text) => Ok(text),
            // What a file says by leaving it out needs no table.
            None if index == 0 => Ok(""),
            None => Err(Flaw::String {
                index: index.into(),
                len,
            }),
        }
    }

    fn value_type(&self, of: &super::profiles::ValueType) -> Result<model::ValueType, Flaw> {
        Ok(model::ValueType {
            kind: self.text(of.type_strindex)?.to_owned(),
            unit: self.text(of.unit_strindex)?.to_owned(),
        })
    }

    fn comments(&self, profile: &Profile) -> Result<Vec<String>, Flaw> {
        let mut lines = Vec::new();
        for index in &profile.attribute_indices {
            let attribute = self.attribute(*index)?;
            if self.text(attribute.key_strindex)? == COMMENT_ATTRIBUTE {
                self.texts(attribute.value.as_ref(), &mut lines)?;
            }
        }
        Ok(lines)
    }

    fn attribute(&self, index: i32) -> Result<&'a KeyValueAndUnit, Flaw> {
        of(&self.dictionary.attribute_table, index).ok_or(dangling("attribute", index))
    }

    fn sample(&mut self, sample: &Sample, column: usize) -> Result<(), Flaw> {
        let stack = self.stack(sample.stack_index)?;
        let mut labels = Vec::new();
        if sample.link_index != 0 {
            let link = of(&self.dictionary.link_table, sample.link_index);
            self.link(
                link.ok_or(dangling("link", sample.link_index))?,
                &mut labels,
            )?;
        }
        for index in &sample.attribute_indices {
            self.labels(self.attribute(*index)?, &mut labels)?;
        }
        let value = match sample.values.as_slice() {
            // Each point in time counts for one.
            [] => sample.timestamps_unix_nano.len() as i64,
            values => values.iter().copied().fold(0, i64::saturating_add),
        };
        let mut values = vec![0; self.columns.len()];
        values[column] = value;
        let labels = self.tables.labels(&mut labels)?;
        self.tables.add(stack, labels, &values)
    }

    fn link(&mut self, link: &Link, labels: &mut Vec<Label>) -> Result<(), Flaw> {
        if let Some(trace) = TraceId::from_wire(&link.trace_id) {
            self.label(TRACE_LABEL, &trace.to_string(), labels)?;
        }
        if let Some(span) = SpanId::from_wire(&link.span_id) {
            self.label(SPAN_LABEL, &span.to_string(), labels)?;
        }
        Ok(())
    }

    fn label(&mut self, key: &str, text: &str, labels: &mut Vec<Label>) -> Result<(), Flaw> {
        // In pprof an empty text is none.
        if !text.is_empty() {
            let key = self.tables.string(key)?;
            let value = LabelValue::Text(self.tables.string(text)?);
            labels.push(Label { key, value });
        }
        Ok(())
    }

    fn labels(&mut self, attribute: &KeyValueAndUnit, labels: &mut Vec<Label>) -> Result<(), Flaw> {
        let key = self.text(attribute.key_strindex)?;
        let value = attribute
            .value
            .as_ref()
            .and_then(|value| value.value.as_ref());
        if let Some(any_value::Value::Int(number)) = value {
            let unit = self.text(attribute.unit_strindex)?;
            labels.push(Label {
                key: self.tables.string(key)?,
                value: LabelValue::Number {
                    value: *number,
                    unit: self.tables.string(unit)?,
                },
            });
            return Ok(());
        }
        let mut texts = Vec::new();
        self.texts(attribute.value.as_ref(), &mut texts)?;
        for text in texts {
            self.label(key, &text, labels)?;
        }
        Ok(())
    }

    /// A value as text; of a list each of its entries.
    fn texts(&self, value: Option<&AnyValue>, texts: &mut Vec<String>) -> Result<(), Flaw> {
        use any_value::Value;
        match value.and_then(|value| value.value.as_ref()) {
            None => {}
            Some(Value::String(text)) => texts.push(text.clone()),
            Some(Value::StringIndex(index)) => texts.push(self.text(*index)?.to_owned()),
            Some(Value::Bool(is)) => texts.push(is.to_string()),
            Some(Value::Int(number)) => texts.push(number.to_string()),
            Some(Value::Double(number)) => texts.push(number.to_string()),
            Some(Value::Bytes(bytes)) => {
                texts.push(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
            }
            Some(Value::Array(list)) => {
                for value in &list.values {
                    self.texts(Some(value), texts)?;
                }
            }
            Some(Value::KeyValueList(list)) => {
                for entry in &list.values {
                    let mut of_entry = Vec::new();
                    self.texts(entry.value.as_ref(), &mut of_entry)?;
                    texts.extend(of_entry.iter().map(|text| format!("{}={text}", entry.key)));
                }
            }
        }
        Ok(())
    }

    fn stack(&mut self, index: i32) -> Result<u32, Flaw> {
        let known = of(&self.stacks, index).copied();
        if index == 0 && known.is_none() {
            return self.tables.stack(&[]);
        }
        if let Some(stack) = known.ok_or(dangling("stack", index))? {
            return Ok(stack);
        }
        let stack = of(&self.dictionary.stack_table, index).ok_or(dangling("stack", index))?;
        let mut locations = Vec::new();
        for location in &stack.location_indices {
            locations.push(self.location(*location)?);
        }
        let stack = self.tables.stack(&locations)?;
        self.stacks[index as usize] = Some(stack);
        Ok(stack)
    }

    fn location(&mut self, index: i32) -> Result<LocationIndex, Flaw> {
        let known = of(&self.locations, index).copied();
        if let Some(location) = known.ok_or(dangling("location", index))? {
            return Ok(location);
        }
        let location =
            of(&self.dictionary.location_table, index).ok_or(dangling("location", index))?;
        let mut frames = Vec::new();
        for line in &location.lines {
            frames.push(Frame {
                function: self.function(line.function_index)?,
                line: line.line,
            });
        }
        if frames.is_empty() {
            let name = self.address(location)?;
            let function = self.named(&name)?;
            frames.push(Frame { function, line: 0 });
        }
        let location = self.tables.location(&frames)?;
        self.locations[index as usize] = Some(location);
        Ok(location)
    }

    fn function(&mut self, index: i32) -> Result<FunctionIndex, Flaw> {
        if index == 0 {
            return self.named(UNKNOWN);
        }
        let function =
            of(&self.dictionary.function_table, index).ok_or(dangling("function", index))?;
        let system_name = self.text(function.system_name_strindex)?;
        let name = match self.text(function.name_strindex)? {
            "" if system_name.is_empty() => UNKNOWN,
            "" => system_name,
            name => name,
        };
        let file = self.text(function.filename_strindex)?;
        let function = model::Function {
            name: self.tables.string(name)?,
            system_name: self.tables.string(system_name)?,
            file: self.tables.string(file)?,
            start_line: function.start_line,
        };
        self.tables.function(function)
    }

    /// A function of that name, of which nothing else is known.
    fn named(&mut self, name: &str) -> Result<FunctionIndex, Flaw> {
        let name = self.tables.string(name)?;
        let none: StringIndex = self.tables.string("")?;
        self.tables.function(model::Function {
            name,
            system_name: none,
            file: none,
            start_line: 0,
        })
    }

    /// What stands for a location without a function: `object+0xoffset` where the object is known, else the address.
    fn address(&self, location: &Location) -> Result<String, Flaw> {
        if location.address == 0 {
            return Ok(UNKNOWN.to_owned());
        }
        let index = location.mapping_index;
        if index == 0 {
            return Ok(format!("{:#x}", location.address));
        }
        let mapping =
            of(&self.dictionary.mapping_table, index).ok_or(dangling("mapping", index))?;
        let path = self.text(mapping.filename_strindex)?;
        let object = path.rsplit('/').next().unwrap_or(path);
        if object.is_empty() {
            return Ok(format!("{:#x}", location.address));
        }
        let in_file = location
            .address
            .wrapping_sub(mapping.memory_start)
            .wrapping_add(mapping.file_offset);
        Ok(format!("{object}+{in_file:#x}"))
    }
}

/// The entry of that index.
fn of<T>(table: &[T], index: i32) -> Option<&T> {
    table.get(usize::try_from(index).ok()?)
}

fn dangling(table: &'static str, index: i32) -> Flaw {
    Flaw::Index {
        table,
        index: index.into(),
    }
}
