//! A profile of tables as pprof again.

use std::io::{self, Write};

use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

use super::{Frame, Function, Label, LabelValue, Profile, StringIndex, ValueType};
use crate::{gzip, pprof};

/// The one mapping, which says that there are names, so that `go tool pprof` does not look for symbols.
const MAPPING_ID: u64 = 1;

/// Field numbers of `Profile` and of `Sample`.
mod field {
    pub const SAMPLE: u32 = 2;
    pub const LOCATION: u32 = 4;
    pub const FUNCTION: u32 = 5;
    pub const STRING: u32 = 6;
    pub const SAMPLE_STACK: u32 = 1;
    pub const SAMPLE_VALUES: u32 = 2;
    pub const SAMPLE_LABEL: u32 = 3;
}

impl Profile {
    /// Writes what was read, without mappings and addresses, each location under a new id; samples keep their order. It goes
    /// out bit by bit, and is at no time in memory a second time.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_pprof(&self, writer: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let mut texts = Texts::of(self);
        let mut out = Fields {
            writer,
            pending: self.head(&mut texts).encode_to_vec(),
        };
        for function in self.function_messages() {
            out.message(field::FUNCTION, &function)?;
        }
        for location in self.location_messages() {
            out.message(field::LOCATION, &location)?;
        }
        let added = texts.added.iter().map(String::as_str);
        for text in self.strings.iter().chain(added) {
            out.bytes(field::STRING, [text.as_bytes()])?;
        }
        let stacks = Encoded::of(self.samples.stacks.runs(), encode_stack);
        let label_sets = Encoded::of(self.samples.label_sets.runs(), encode_labels);
        let mut encoded = Vec::new();
        for (row, values) in self.samples.rows() {
            encoded.clear();
            prost::encoding::int64::encode_packed(field::SAMPLE_VALUES, values, &mut encoded);
            let parts = [
                stacks.get(row.stack),
                encoded.as_slice(),
                label_sets.get(row.labels),
            ];
            out.bytes(field::SAMPLE, parts)?;
        }
        out.flush()
    }

    /// As [`write_pprof`](Self::write_pprof), as one gzip member; the writer is returned.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_gz<W: Write>(&self, writer: W) -> io::Result<W> {
        let mut encoder = gzip::encoder(writer);
        self.write_pprof(&mut encoder)?;
        encoder.finish()
    }

    /// What is in no table but the mapping's.
    fn head(&self, texts: &mut Texts) -> pprof::Profile {
        let mut value_type = |t: &ValueType| pprof::ValueType {
            r#type: texts.index(&t.kind),
            unit: texts.index(&t.unit),
        };
        let sample_type: Vec<_> = self.sample_types.iter().map(&mut value_type).collect();
        let period_type = self.period_type.as_ref().map(value_type);
        let default = self.default_sample_type;
        let default_sample_type = default
            .and_then(|index| sample_type.get(index))
            .map_or(0, |t| t.r#type);
        pprof::Profile {
            sample_type,
            mapping: vec![pprof::Mapping {
                id: MAPPING_ID,
                has_functions: true,
                has_filenames: true,
                has_line_numbers: true,
                has_inline_frames: true,
                ..pprof::Mapping::default()
            }],
            time_nanos: self.time_nanos,
            duration_nanos: self.duration_nanos,
            period_type,
            period: self.period,
            comment: self.comments.iter().map(|line| texts.index(line)).collect(),
            default_sample_type,
            ..pprof::Profile::default()
        }
    }

    fn location_messages(&self) -> impl Iterator<Item = pprof::Location> {
        let line = |frame: &Frame| pprof::Line {
            function_id: id(frame.function.as_usize()),
            line: frame.line,
            column: 0,
        };
        self.locations
            .iter()
            .map(move |(index, frames)| pprof::Location {
                id: id(index.as_usize()),
                mapping_id: MAPPING_ID,
                line: frames.iter().map(line).collect(),
                ..pprof::Location::default()
            })
    }

    fn function_messages(&self) -> impl Iterator<Item = pprof::Function> {
        let message = |(index, function): (super::FunctionIndex, &Function)| pprof::Function {
            id: id(index.as_usize()),
            name: text(function.name),
            system_name: text(function.system_name),
            filename: text(function.file),
            start_line: function.start_line,
        };
        self.functions.iter().map(message)
    }
}

/// Ids begin with 1.
fn id(index: usize) -> u64 {
    index as u64 + 1
}

fn text(index: StringIndex) -> i64 {
    index.as_usize() as i64
}

fn label_message(label: &Label) -> pprof::Label {
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
}

fn encode_stack(stack: &[super::LocationIndex], out: &mut Vec<u8>) {
    let ids: Vec<_> = stack.iter().map(|at| id(at.as_usize())).collect();
    prost::encoding::uint64::encode_packed(field::SAMPLE_STACK, &ids, out);
}

fn encode_labels(labels: &[Label], out: &mut Vec<u8>) {
    for label in labels {
        prost::encoding::message::encode(field::SAMPLE_LABEL, &label_message(label), out);
    }
}

/// Runs as bytes: each is written as often as samples have it.
struct Encoded {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Encoded {
    fn of<'a, T: 'a>(
        runs: impl Iterator<Item = &'a [T]>,
        encode: impl Fn(&'a [T], &mut Vec<u8>),
    ) -> Self {
        let mut bytes = Vec::new();
        let ends = runs.map(|run| {
            encode(run, &mut bytes);
            bytes.len()
        });
        let ends = ends.collect();
        Encoded { bytes, ends }
    }

    fn get(&self, run: u32) -> &[u8] {
        let run = run as usize;
        let start = run.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[run]]
    }
}

/// Writes fields of a message.
struct Fields<'a, W: ?Sized> {
    writer: &'a mut W,
    /// Written when there is enough.
    pending: Vec<u8>,
}

impl<W: Write + ?Sized> Fields<'_, W> {
    /// A field that is these parts, one after the other.
    fn bytes<const N: usize>(&mut self, number: u32, parts: [&[u8]; N]) -> io::Result<()> {
        encode_key(number, WireType::LengthDelimited, &mut self.pending);
        let len: usize = parts.iter().map(|part| part.len()).sum();
        encode_varint(len as u64, &mut self.pending);
        for part in parts {
            self.pending.extend_from_slice(part);
        }
        self.write_some()
    }

    fn message(&mut self, number: u32, message: &impl Message) -> io::Result<()> {
        prost::encoding::message::encode(number, message, &mut self.pending);
        self.write_some()
    }

    fn write_some(&mut self) -> io::Result<()> {
        const ENOUGH: usize = 64 << 10;
        if self.pending.len() >= ENOUGH {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }
}

/// Texts that stand outside of the tables, beside those of the string table.
struct Texts {
    first: i64,
    added: Vec<String>,
}

impl Texts {
    fn of(profile: &Profile) -> Self {
        Texts {
            first: profile.strings.len() as i64,
            added: Vec::new(),
        }
    }

    /// Of a text that is no entry of a table: few, so they are just added.
    fn index(&mut self, text: &str) -> i64 {
        if text.is_empty() {
            return 0;
        }
        self.added.push(text.to_owned());
        self.first + self.added.len() as i64 - 1
    }
}

#[cfg(all(test, feature = "merge"))]
impl Profile {
    /// What [`write_pprof`](Self::write_pprof) writes, as a whole.
    pub(crate) fn to_pprof(&self) -> pprof::Profile {
        let mut texts = Texts::of(self);
        let head = self.head(&mut texts);
        let table = self.strings.iter();
        let mut string_table: Vec<_> = table.map(|text| text.as_bytes().to_vec()).collect();
        string_table.extend(texts.added.into_iter().map(Vec::from));
        pprof::Profile {
            sample: self.samples.iter().map(|sample| message(&sample)).collect(),
            location: self.location_messages().collect(),
            function: self.function_messages().collect(),
            string_table,
            ..head
        }
    }
}

#[cfg(all(test, feature = "merge"))]
fn message(sample: &super::Sample<'_>) -> pprof::Sample {
    pprof::Sample {
        location_id: sample.stack.iter().map(|at| id(at.as_usize())).collect(),
        value: sample.values.to_vec(),
        label: sample.labels.iter().map(label_message).collect(),
    }
}
