//! The messages of pprof's `perftools.profiles` package (google/pprof, `profile.proto`).
//!
//! Field numbers and meanings are those of that file. Strings travel as indices into
//! [`Profile::string_table`]; index 0 is the empty string and means "not set".

use std::borrow::Cow;

/// One profile: samples, and the tables they point into.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Profile {
    /// What each value of a sample is, in order.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// The samples.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    /// Address ranges the locations lie in.
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    /// Places in code.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// Functions the locations belong to.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// All strings; the first is empty. Bytes and not `String`: the format asks for UTF-8, but a
    /// single foreign symbol that is not must not make a whole file unreadable.
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub string_table: Vec<Vec<u8>>,
    /// Regular expression of frames a viewer should drop.
    #[prost(int64, tag = "7")]
    pub drop_frames: i64,
    /// Regular expression of frames a viewer should keep although they match `drop_frames`.
    #[prost(int64, tag = "8")]
    pub keep_frames: i64,
    /// Start of collection, ns since the Unix epoch.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    /// Length of collection, ns.
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    /// What `period` counts.
    #[prost(message, optional, tag = "11")]
    pub period_type: Option<ValueType>,
    /// Events between two samples, in the unit of `period_type`.
    #[prost(int64, tag = "12")]
    pub period: i64,
    /// Free text lines.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
    /// Name of the sample type a viewer shows first.
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
    /// Link to documentation.
    #[prost(int64, tag = "15")]
    pub doc_url: i64,
}

impl Profile {
    /// The string at a table index; empty when the index is out of range, bytes that are no UTF-8
    /// replaced. For reading files of others use [`crate::model`], which reports bad indices.
    pub fn text(&self, index: i64) -> Cow<'_, str> {
        usize::try_from(index)
            .ok()
            .and_then(|index| self.string_table.get(index))
            .map_or(Cow::Borrowed(""), |bytes| String::from_utf8_lossy(bytes))
    }
}

/// Kind and unit of a value, such as `cpu` in `nanoseconds`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct ValueType {
    /// Name (string index).
    #[prost(int64, tag = "1")]
    pub r#type: i64,
    /// Unit (string index).
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// Values of one stack under one set of labels.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Sample {
    /// Location ids, leaf first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// One value for each sample type.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// Context of the sample.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// A key with either a text or a number.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Label {
    /// Key (string index).
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// Text (string index), 0 when the label is a number.
    #[prost(int64, tag = "2")]
    pub str: i64,
    /// Number.
    #[prost(int64, tag = "3")]
    pub num: i64,
    /// Unit of the number (string index).
    #[prost(int64, tag = "4")]
    pub num_unit: i64,
}

/// An address range and the object it was loaded from.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Mapping {
    /// Id, not 0, unique.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// First address.
    #[prost(uint64, tag = "2")]
    pub memory_start: u64,
    /// Address after the last.
    #[prost(uint64, tag = "3")]
    pub memory_limit: u64,
    /// Offset in the file of `memory_start`.
    #[prost(uint64, tag = "4")]
    pub file_offset: u64,
    /// Object (string index).
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// Build id (string index).
    #[prost(int64, tag = "6")]
    pub build_id: i64,
    /// Function names are known: a viewer need not look for symbols.
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    /// File names are known.
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    /// Line numbers are known.
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
    /// Inlined frames are known.
    #[prost(bool, tag = "10")]
    pub has_inline_frames: bool,
}

/// A place in code.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Location {
    /// Id, not 0, unique.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Mapping id, 0 when unknown.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// Address, 0 when it has none.
    #[prost(uint64, tag = "3")]
    pub address: u64,
    /// Lines, the innermost inlined one first.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
    /// Several addresses were folded into this location.
    #[prost(bool, tag = "5")]
    pub is_folded: bool,
}

/// A line of a function.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Line {
    /// Function id.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// Line number, 0 when unknown.
    #[prost(int64, tag = "2")]
    pub line: i64,
    /// Column, 0 when unknown.
    #[prost(int64, tag = "3")]
    pub column: i64,
}

/// A function.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Function {
    /// Id, not 0, unique.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Name for people (string index).
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// Name as the system knows it (string index).
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// Source file (string index).
    #[prost(int64, tag = "4")]
    pub filename: i64,
    /// First line.
    #[prost(int64, tag = "5")]
    pub start_line: i64,
}
