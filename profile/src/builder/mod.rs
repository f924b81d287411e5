//! Builds a pprof profile that every reader accepts.
//!
//! Why not fill [`pprof::Profile`] by hand: its rules (interned strings, ids that start at 1, as
//! many values as sample types, unique label keys) are checked by receivers, which throw a whole
//! upload away over one bad sample. Here a bad sample is an error at the place that made it and
//! never reaches the profile.
//!
//! A builder belongs to one thread (`&mut self` throughout) and grows only with distinct stacks:
//! the same stack under the same labels adds up.

mod error;
mod strings;

use std::collections::HashMap;
use std::io::{self, Write};

use prost::Message;

pub use error::{SampleError, is_label_key};

use crate::{gzip, pprof};
use strings::{StringId, Strings};

/// Kind and unit of a sample type or period, such as `cpu` in `nanoseconds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueType<'a> {
    /// What is counted, e.g. `samples`.
    pub kind: &'a str,
    /// Its unit, e.g. `count`.
    pub unit: &'a str,
}

/// A function of the builder that handed it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FunctionId(u32);

/// A line of a function of the builder that handed it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LocationId(u32);

/// What [`ProfileBuilder::location`] returns for a function that is not this builder's; no sample
/// with it is accepted.
const NO_LOCATION: LocationId = LocationId(u32::MAX);

/// Name given to a function without one.
const UNNAMED: &str = "[unnamed]";

/// The id of the next entry of a table. Four billion entries do not fit the memory of a process
/// that keeps at least 16 bytes for each and bounds its windows; the check is here so that ids
/// could never wrap round and name something else.
fn next_id(len: usize) -> u32 {
    u32::try_from(len)
        .ok()
        .filter(|&id| id < u32::MAX)
        .expect("a profile table holds less than 2^32 entries")
}

/// Key of a function: name, system name, file (strings) and first line.
type FunctionKey = (StringId, StringId, StringId, i64);

/// Collects samples; see the module's description.
pub struct ProfileBuilder {
    strings: Strings,
    sample_types: Vec<pprof::ValueType>,
    period_type: pprof::ValueType,
    period: i64,
    functions: HashMap<FunctionKey, u32>,
    locations: HashMap<(FunctionId, i64), u32>,
    /// Stack length, locations, then key and text of each label sorted by key: one flat key, so
    /// that looking a known sample up allocates nothing.
    samples: HashMap<Box<[u32]>, u32>,
    /// Values of sample `i` at `i * sample_types.len()`.
    values: Vec<i64>,
    comments: Vec<StringId>,
    time_nanos: i64,
    duration_nanos: i64,
    default_sample_type: StringId,
    scratch_key: Vec<u32>,
    scratch_labels: Vec<(u32, u32)>,
}

impl ProfileBuilder {
    /// An empty profile with these values in each sample; `period` is in the unit of
    /// `period_type`.
    pub fn new(sample_types: &[ValueType<'_>], period_type: ValueType<'_>, period: i64) -> Self {
        let mut strings = Strings::new();
        let mut value_type = |t: &ValueType<'_>| pprof::ValueType {
            r#type: strings.intern(t.kind).into(),
            unit: strings.intern(t.unit).into(),
        };
        let sample_types = sample_types.iter().map(&mut value_type).collect();
        let period_type = value_type(&period_type);
        ProfileBuilder {
            strings,
            sample_types,
            period_type,
            period,
            functions: HashMap::new(),
            locations: HashMap::new(),
            samples: HashMap::new(),
            values: Vec::new(),
            comments: Vec::new(),
            time_nanos: 0,
            duration_nanos: 0,
            default_sample_type: 0,
            scratch_key: Vec::new(),
            scratch_labels: Vec::new(),
        }
    }

    /// The function of that name, system name, file and first line (0 = unknown); the same one
    /// when asked again. An empty name becomes `[unnamed]`.
    pub fn function(
        &mut self,
        name: &str,
        system_name: &str,
        file: &str,
        start_line: i64,
    ) -> FunctionId {
        let name = if name.is_empty() { UNNAMED } else { name };
        let key = (
            self.strings.intern(name),
            self.strings.intern(system_name),
            self.strings.intern(file),
            start_line,
        );
        let next = next_id(self.functions.len());
        FunctionId(*self.functions.entry(key).or_insert(next))
    }

    /// That line (0 = unknown) of that function; the same one when asked again.
    pub fn location(&mut self, function: FunctionId, line: i64) -> LocationId {
        if function.0 as usize >= self.functions.len() {
            return NO_LOCATION;
        }
        let next = next_id(self.locations.len());
        LocationId(*self.locations.entry((function, line)).or_insert(next))
    }

    /// Adds `values` to the sample of that stack, leaf first, and those labels, in any order. A label with an
    /// empty text is left out: readers would take it for a number (`Label.str` 0 means "not a string").
    /// Sums saturate.
    ///
    /// # Errors
    /// A sample that pprof readers would refuse; the profile is then unchanged.
    pub fn sample(
        &mut self,
        stack: &[LocationId],
        values: &[i64],
        labels: &[(&str, &str)],
    ) -> Result<(), SampleError> {
        self.check(stack, values, labels)?;

        self.scratch_labels.clear();
        for (key, text) in labels.iter().filter(|(_, text)| !text.is_empty()) {
            let pair = (self.strings.intern(key), self.strings.intern(text));
            self.scratch_labels.push(pair);
        }
        self.scratch_labels.sort_unstable();

        self.scratch_key.clear();
        self.scratch_key.push(next_id(stack.len()));
        self.scratch_key
            .extend(stack.iter().map(|location| location.0));
        self.scratch_key.extend(
            self.scratch_labels
                .iter()
                .flat_map(|&(key, text)| [key, text]),
        );

        match self.samples.get(self.scratch_key.as_slice()) {
            Some(&index) => {
                let start = index as usize * self.sample_types.len();
                for (sum, value) in self.values[start..].iter_mut().zip(values) {
                    *sum = sum.saturating_add(*value);
                }
            }
            None => {
                let index = next_id(self.samples.len());
                self.samples
                    .insert(self.scratch_key.as_slice().into(), index);
                self.values.extend_from_slice(values);
            }
        }
        Ok(())
    }

    fn check(
        &self,
        stack: &[LocationId],
        values: &[i64],
        labels: &[(&str, &str)],
    ) -> Result<(), SampleError> {
        if stack.is_empty() {
            return Err(SampleError::EmptyStack);
        }
        if let Some(at) = stack
            .iter()
            .position(|location| location.0 as usize >= self.locations.len())
        {
            return Err(SampleError::UnknownLocation(at));
        }
        if values.len() != self.sample_types.len() {
            return Err(SampleError::ValueCount {
                found: values.len(),
                wanted: self.sample_types.len(),
            });
        }
        for (i, (key, _)) in labels.iter().enumerate() {
            if !is_label_key(key) {
                return Err(SampleError::LabelKey((*key).to_owned()));
            }
            if labels[..i].iter().any(|(earlier, _)| earlier == key) {
                return Err(SampleError::DuplicateLabelKey((*key).to_owned()));
            }
        }
        Ok(())
    }

    /// Distinct samples so far.
    pub fn sample_count(&self) -> usize {
        self.samples.len()
    }

    /// Adds a line of free text that travels with the profile.
    pub fn comment(&mut self, text: &str) {
        let text = self.strings.intern(text);
        self.comments.push(text);
    }

    /// When collection started (ns since the Unix epoch) and how long it took (ns).
    pub fn set_time(&mut self, start_unix_nanos: i64, duration_nanos: i64) {
        self.time_nanos = start_unix_nanos;
        self.duration_nanos = duration_nanos;
    }

    /// The sample type (by its kind) a viewer shows first.
    pub fn default_sample_type(&mut self, kind: &str) {
        self.default_sample_type = self.strings.intern(kind);
    }

    /// The profile. Samples, locations and functions are in the order of their first use.
    pub fn finish(self) -> pprof::Profile {
        let (mut profile, samples) = self.into_parts();
        profile.sample = samples.collect();
        profile
    }

    /// The profile as one gzip member in `writer`, which is returned.
    /// Samples are encoded one by one: at no time is the whole profile in memory a second time, as
    /// it is with [`Self::finish`]. The file is the same but for the order of its fields, which
    /// protobuf leaves open.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_gz<W: Write>(self, writer: W) -> io::Result<W> {
        /// Key of `Profile.sample`: field 2, length-delimited.
        const SAMPLE_KEY: u8 = 0x12;
        let (profile, samples) = self.into_parts();
        let mut gzip = gzip::encoder(writer);
        gzip.write_all(&profile.encode_to_vec())?;
        drop(profile);
        let mut encoded = Vec::new();
        for sample in samples {
            encoded.clear();
            encoded.push(SAMPLE_KEY);
            sample
                .encode_length_delimited(&mut encoded)
                .map_err(io::Error::other)?;
            gzip.write_all(&encoded)?;
        }
        gzip.finish()
    }

    /// The profile without samples, and the samples.
    fn into_parts(self) -> (pprof::Profile, impl Iterator<Item = pprof::Sample>) {
        let width = self.sample_types.len();
        let values = self.values;
        let mut keys: Vec<_> = self.samples.into_iter().collect();
        keys.sort_unstable_by_key(|&(_, index)| index);
        let samples = keys.into_iter().map(move |(key, index)| {
            let (depth, rest) = key
                .split_first()
                .map_or((0, &[][..]), |(depth, rest)| (*depth as usize, rest));
            let (stack, labels) = rest.split_at(depth.min(rest.len()));
            let start = index as usize * width;
            pprof::Sample {
                location_id: stack.iter().map(|&location| wire_id(location)).collect(),
                value: values[start..start + width].to_vec(),
                label: labels
                    .chunks_exact(2)
                    .map(|pair| pprof::Label {
                        key: pair[0].into(),
                        str: pair[1].into(),
                        num: 0,
                        num_unit: 0,
                    })
                    .collect(),
            }
        });

        let mut location = vec![pprof::Location::default(); self.locations.len()];
        for ((function, line), index) in self.locations {
            location[index as usize] = pprof::Location {
                id: wire_id(index),
                mapping_id: MAPPING_ID,
                line: vec![pprof::Line {
                    function_id: wire_id(function.0),
                    line,
                    column: 0,
                }],
                ..Default::default()
            };
        }

        let mut function = vec![pprof::Function::default(); self.functions.len()];
        for ((name, system_name, filename, start_line), index) in self.functions {
            function[index as usize] = pprof::Function {
                id: wire_id(index),
                name: name.into(),
                system_name: system_name.into(),
                filename: filename.into(),
                start_line,
            };
        }

        let profile = pprof::Profile {
            sample_type: self.sample_types,
            sample: Vec::new(),
            mapping: vec![symbolized_mapping()],
            location,
            function,
            string_table: self.strings.into_table(),
            drop_frames: 0,
            keep_frames: 0,
            time_nanos: self.time_nanos,
            duration_nanos: self.duration_nanos,
            period_type: Some(self.period_type),
            period: self.period,
            comment: self.comments.into_iter().map(i64::from).collect(),
            default_sample_type: self.default_sample_type.into(),
            doc_url: 0,
        };
        (profile, samples)
    }
}

const MAPPING_ID: u64 = 1;

/// The one mapping all locations name. It has neither file nor addresses; it is there to say that
/// names, files and lines are known, or `go tool pprof` and Pyroscope go looking for symbols.
fn symbolized_mapping() -> pprof::Mapping {
    pprof::Mapping {
        id: MAPPING_ID,
        has_functions: true,
        has_filenames: true,
        has_line_numbers: true,
        has_inline_frames: true,
        ..Default::default()
    }
}

/// pprof's ids start at 1: 0 means "none".
fn wire_id(index: u32) -> u64 {
    u64::from(index) + 1
}

#[cfg(test)]
mod tests;
