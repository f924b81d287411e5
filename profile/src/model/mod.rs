//! The read side: one pprof file as flat tables.
//!
//! Why not use [`crate::pprof::Profile`] as decoded: three allocations a sample, and ids and string
//! indices that a broken or hostile file may point anywhere. Here every reference is resolved once,
//! a bad one is an error that names the entry and its offset, and what is left can be indexed
//! without a check that fails. Memory stays within a small multiple of the file's bytes (see the table of `bounds`).
//!
//! Files of others are taken as they are where the meaning is clear: locations without a function
//! get a name from mapping and address, frames inlined into one location are kept, samples may have
//! no stack, strings that are no UTF-8 are replaced.

/// Gives an index of a table its conversions.
macro_rules! impl_index {
    ($name:ident) => {
        impl $name {
            /// Position in the table, for side tables with an entry for each of its entries.
            #[must_use]
            pub fn as_usize(self) -> usize {
                self.0 as usize
            }
        }

        #[cfg(feature = "merge")]
        impl From<u32> for $name {
            fn from(index: u32) -> Self {
                $name(index)
            }
        }

        #[cfg(feature = "merge")]
        impl From<$name> for u32 {
            fn from(index: $name) -> u32 {
                index.0
            }
        }
    };
}

mod error;
pub(crate) mod fields;
mod functions;
mod id_map;
mod locations;
mod read_samples;
pub(crate) mod runs;
pub(crate) mod samples;
mod strings;
mod write;

use prost::Message;

pub use error::{Flaw, ModelError};
pub use functions::{Function, FunctionIndex, Functions};
pub use locations::{Frame, LocationIndex, Locations};
pub use samples::{Label, LabelValue, Sample, Samples};
pub use strings::{KeyIndices, StringIndex, Strings};

use crate::bounds::{Budget, MOST_SAMPLE_TYPES, Of};
use fields::Framed;

/// Kind and unit of a value, e.g. `cpu` in `nanoseconds`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ValueType {
    /// What is counted.
    pub kind: String,
    /// Its unit.
    pub unit: String,
}

/// One pprof file, every reference in it checked.
#[derive(Debug)]
pub struct Profile {
    /// Texts.
    pub strings: Strings,
    /// Functions.
    pub functions: Functions,
    /// Locations and the frames they stand for.
    pub locations: Locations,
    /// Samples.
    pub samples: Samples,
    /// What the values of a sample are, in order.
    pub sample_types: Vec<ValueType>,
    /// Index of the sample type the writer wants shown first, when it names one of them.
    pub default_sample_type: Option<usize>,
    /// What `period` counts.
    pub period_type: Option<ValueType>,
    /// Events between two samples, in the unit of `period_type`; 0 when unknown.
    pub period: i64,
    /// Start of collection, ns since the Unix epoch; 0 when unknown.
    pub time_nanos: i64,
    /// Length of collection, ns; 0 when unknown.
    pub duration_nanos: i64,
    /// Free text lines.
    pub comments: Vec<String>,
}

/// The fields of a profile that are not tables. Decoding it also checks the framing of the whole
/// file, since unknown fields are walked over.
#[derive(Clone, PartialEq, Message)]
struct Header {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<crate::pprof::ValueType>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<crate::pprof::ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
    #[prost(int64, repeated, tag = "13")]
    comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

impl Profile {
    /// Reads an uncompressed pprof file (see [`crate::gzip::read_bytes`]).
    ///
    /// # Errors
    /// Bytes that are no pprof profile, or one that contradicts itself; offsets are bytes into the
    /// uncompressed file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        if bytes.is_empty() {
            return Err(ModelError::Empty);
        }
        let mut budget = Budget::of(bytes.len());
        let framed = Framed::check(bytes)?;
        let mut strings = Strings::read(&framed)?;
        let header =
            Header::decode(bytes).map_err(|e| ModelError::header(Flaw::Wire(e.to_string())))?;
        budget
            .spend(Of::Comments, header.comment.len())
            .map_err(ModelError::header)?;
        let mut functions = Functions::read(&framed, &strings, &mut budget)?;
        let locations = Locations::read(&framed, &mut strings, &mut functions, &mut budget)?;

        let mut text = |index: i64, part| {
            let text = strings.resolve(index).map(|index| strings.get(index));
            text.and_then(|text| budget.spend(Of::Text, text.len()).map(|()| text.to_owned()))
                .map_err(|flaw| ModelError::in_header(part, flaw))
        };
        let mut value_type = |t: &crate::pprof::ValueType, part| {
            Ok::<_, ModelError>(ValueType {
                kind: text(t.r#type, part)?,
                unit: text(t.unit, part)?,
            })
        };
        if header.sample_type.len() as u64 > MOST_SAMPLE_TYPES {
            let most = MOST_SAMPLE_TYPES;
            let what = "sample types";
            return Err(ModelError::header(Flaw::Most { most, what }));
        }
        let sample_types = header
            .sample_type
            .iter()
            .map(|t| value_type(t, "sample type"))
            .collect::<Result<Vec<_>, _>>()?;
        if sample_types.is_empty() {
            return Err(ModelError::NoSampleTypes);
        }
        let period_type = header
            .period_type
            .as_ref()
            .map(|t| value_type(t, "period type"))
            .transpose()?;
        let comments = header
            .comment
            .iter()
            .map(|&index| text(index, "comment"))
            .collect::<Result<_, ModelError>>()?;
        let default = text(header.default_sample_type, "default sample type")?;
        let default_sample_type = sample_types
            .iter()
            .position(|t| !default.is_empty() && t.kind == default);
        let samples = Samples::read(
            &framed,
            sample_types.len(),
            (&strings, &locations),
            &mut budget,
        )?;

        Ok(Profile {
            strings,
            functions,
            locations,
            samples,
            sample_types,
            default_sample_type,
            period_type,
            period: header.period,
            time_nanos: header.time_nanos,
            duration_nanos: header.duration_nanos,
            comments,
        })
    }

    /// The frames of a sample, leaf first, inlined ones included.
    pub fn frames<'a>(&'a self, sample: &Sample<'a>) -> impl Iterator<Item = Frame> + use<'a> {
        sample
            .stack
            .iter()
            .flat_map(|&location| self.locations.frames(location))
            .copied()
    }

    /// Leaves of each sample the values of these sample types, in this order. Indices beyond are passed over; where none
    /// is left, all stay.
    pub fn keep_columns(&mut self, columns: &[usize]) {
        let types = self.sample_types.len();
        let columns: Vec<_> = columns.iter().copied().filter(|c| *c < types).collect();
        if columns.is_empty() {
            return;
        }
        self.samples.keep_columns(&columns);
        let default = self.default_sample_type;
        self.default_sample_type = columns.iter().position(|column| Some(*column) == default);
        let kept = columns
            .iter()
            .map(|column| self.sample_types[*column].clone());
        self.sample_types = kept.collect();
    }

    /// The index of the first sample type of that kind.
    pub fn sample_type(&self, kind: &str) -> Option<usize> {
        self.sample_types.iter().position(|t| t.kind == kind)
    }
}
