//! The messages of OTLP profiles: `opentelemetry.proto.profiles.v1development`, as of opentelemetry-proto 1.11 (alpha).
//!
//! All tables are in one dictionary, which all profiles of a message share; index 0 of each is the entry that is not set.
//! A profile has one sample type, so one of pprof with two values a sample is two here. `ExportProfilesServiceRequest`
//! has the fields of [`ProfilesData`].

use super::trace::{AnyValue, InstrumentationScope, Resource};

#[cfg(feature = "formats")]
use super::json;

/// The root message: of a file, and of a request to export.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct ProfilesData {
    /// Profiles by the resource they are of.
    #[prost(message, repeated, tag = "1")]
    pub resource_profiles: Vec<ResourceProfiles>,
    /// What all of them point into.
    #[prost(message, optional, tag = "2")]
    pub dictionary: Option<ProfilesDictionary>,
}

/// The tables.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct ProfilesDictionary {
    /// Address ranges that locations lie in.
    #[prost(message, repeated, tag = "1")]
    pub mapping_table: Vec<Mapping>,
    /// Places in code.
    #[prost(message, repeated, tag = "2")]
    pub location_table: Vec<Location>,
    /// Functions of locations.
    #[prost(message, repeated, tag = "3")]
    pub function_table: Vec<Function>,
    /// Spans of samples.
    #[prost(message, repeated, tag = "4")]
    pub link_table: Vec<Link>,
    /// All texts.
    #[prost(string, repeated, tag = "5")]
    pub string_table: Vec<String>,
    /// Attributes of profiles, samples, mappings and locations.
    #[prost(message, repeated, tag = "6")]
    pub attribute_table: Vec<KeyValueAndUnit>,
    /// Stacks of samples.
    #[prost(message, repeated, tag = "7")]
    pub stack_table: Vec<Stack>,
}

/// Profiles of one resource.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct ResourceProfiles {
    /// The service and process.
    #[prost(message, optional, tag = "1")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub resource: Option<Resource>,
    /// Profiles by what made them.
    #[prost(message, repeated, tag = "2")]
    pub scope_profiles: Vec<ScopeProfiles>,
    /// Schema of the resource.
    #[prost(string, tag = "3")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub schema_url: String,
}

/// Profiles that one profiler made.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct ScopeProfiles {
    /// The profiler.
    #[prost(message, optional, tag = "1")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub scope: Option<InstrumentationScope>,
    /// The profiles.
    #[prost(message, repeated, tag = "2")]
    pub profiles: Vec<Profile>,
    /// Schema of the scope and its profiles.
    #[prost(string, tag = "3")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub schema_url: String,
}

/// Samples of one type.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct Profile {
    /// What is counted.
    #[prost(message, optional, tag = "1")]
    pub sample_type: Option<ValueType>,
    /// The samples.
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Sample>,
    /// Start, ns since the Unix epoch.
    #[prost(fixed64, tag = "3")]
    #[cfg_attr(feature = "formats", serde(with = "json::int"))]
    pub time_unix_nano: u64,
    /// Length, ns.
    #[prost(uint64, tag = "4")]
    #[cfg_attr(feature = "formats", serde(with = "json::int"))]
    pub duration_nano: u64,
    /// What the period counts.
    #[prost(message, optional, tag = "5")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub period_type: Option<ValueType>,
    /// Events between two samples.
    #[prost(int64, tag = "6")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::int", skip_serializing_if = "json::is_default")
    )]
    pub period: i64,
    /// 16 bytes, if it has an id.
    #[prost(bytes = "vec", tag = "7")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::hex", skip_serializing_if = "json::is_default")
    )]
    pub profile_id: Vec<u8>,
    /// Attributes left out.
    #[prost(uint32, tag = "8")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub dropped_attributes_count: u32,
    /// Form of the original payload.
    #[prost(string, tag = "9")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub original_payload_format: String,
    /// What the profile was made from.
    #[prost(bytes = "vec", tag = "10")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::base64", skip_serializing_if = "json::is_default")
    )]
    pub original_payload: Vec<u8>,
    /// Its attributes.
    #[prost(int32, repeated, tag = "11")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub attribute_indices: Vec<i32>,
}

/// The span that ran.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct Link {
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    #[cfg_attr(feature = "formats", serde(with = "json::hex"))]
    pub trace_id: Vec<u8>,
    /// 8 bytes.
    #[prost(bytes = "vec", tag = "2")]
    #[cfg_attr(feature = "formats", serde(with = "json::hex"))]
    pub span_id: Vec<u8>,
}

/// Kind and unit of a value.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct ValueType {
    /// Kind (string index).
    #[prost(int32, tag = "1")]
    pub type_strindex: i32,
    /// Unit (string index).
    #[prost(int32, tag = "2")]
    pub unit_strindex: i32,
}

/// What was seen of one stack under one set of attributes and one link.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct Sample {
    /// Its stack.
    #[prost(int32, tag = "1")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub stack_index: i32,
    /// Its attributes.
    #[prost(int32, repeated, tag = "2")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub attribute_indices: Vec<i32>,
    /// Its span.
    #[prost(int32, tag = "3")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub link_index: i32,
    /// One sum, or a value for each of the timestamps; none where each of these counts for 1.
    #[prost(int64, repeated, tag = "4")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::ints", skip_serializing_if = "json::is_default")
    )]
    pub values: Vec<i64>,
    /// When it was seen, ns since the Unix epoch.
    #[prost(fixed64, repeated, tag = "5")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::ints", skip_serializing_if = "json::is_default")
    )]
    pub timestamps_unix_nano: Vec<u64>,
}

/// A range of addresses.
#[derive(Clone, PartialEq, Eq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct Mapping {
    /// First address.
    #[prost(uint64, tag = "1")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::int", skip_serializing_if = "json::is_default")
    )]
    pub memory_start: u64,
    /// Address after the last.
    #[prost(uint64, tag = "2")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::int", skip_serializing_if = "json::is_default")
    )]
    pub memory_limit: u64,
    /// Offset in the file of the first address.
    #[prost(uint64, tag = "3")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::int", skip_serializing_if = "json::is_default")
    )]
    pub file_offset: u64,
    /// Object (string index).
    #[prost(int32, tag = "4")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub filename_strindex: i32,
    /// Its attributes.
    #[prost(int32, repeated, tag = "5")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub attribute_indices: Vec<i32>,
}

/// A stack.
#[derive(Clone, PartialEq, Eq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct Stack {
    /// Its locations, leaf first.
    #[prost(int32, repeated, tag = "1")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub location_indices: Vec<i32>,
}

/// A place in code.
#[derive(Clone, PartialEq, Eq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct Location {
    /// Its mapping.
    #[prost(int32, tag = "1")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub mapping_index: i32,
    /// Its address, 0 when it has none.
    #[prost(uint64, tag = "2")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::int", skip_serializing_if = "json::is_default")
    )]
    pub address: u64,
    /// Its lines, the innermost inlined one first.
    #[prost(message, repeated, tag = "3")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub lines: Vec<Line>,
    /// Its attributes.
    #[prost(int32, repeated, tag = "4")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub attribute_indices: Vec<i32>,
}

/// A line of a function.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct Line {
    /// The function.
    #[prost(int32, tag = "1")]
    pub function_index: i32,
    /// Line number, 0 when unknown.
    #[prost(int64, tag = "2")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::int", skip_serializing_if = "json::is_default")
    )]
    pub line: i64,
    /// Column, 0 when unknown.
    #[prost(int64, tag = "3")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::int", skip_serializing_if = "json::is_default")
    )]
    pub column: i64,
}

/// A function.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct Function {
    /// Name for people (string index).
    #[prost(int32, tag = "1")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub name_strindex: i32,
    /// Name as the system knows it (string index).
    #[prost(int32, tag = "2")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub system_name_strindex: i32,
    /// Source file (string index).
    #[prost(int32, tag = "3")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub filename_strindex: i32,
    /// First line, 0 when unknown.
    #[prost(int64, tag = "4")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::int", skip_serializing_if = "json::is_default")
    )]
    pub start_line: i64,
}

/// An attribute whose key is in the dictionary.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct KeyValueAndUnit {
    /// Key (string index).
    #[prost(int32, tag = "1")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub key_strindex: i32,
    /// Value.
    #[prost(message, optional, tag = "2")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub value: Option<AnyValue>,
    /// Unit (string index), 0 when it has none.
    #[prost(int32, tag = "3")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub unit_strindex: i32,
}
