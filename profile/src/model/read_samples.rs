//! Reads samples of a file. Most of a file is samples, and most of a sample is the stack and the labels that another has:
//! those are known again by their bytes, before they are decoded.

use super::error::Flaw;
use super::fields::{Fields, decode_into};
use super::locations::Locations;
use super::samples::{Label, LabelValue, Row, Samples};
use super::strings::Strings;
use crate::bounds::{Budget, Of, check_frames};
use crate::pprof;

/// Keys of fields 1 to 3 of `Sample`, all length-delimited.
const STACK_KEY: u8 = 0x0a;
const VALUES_KEY: u8 = 0x12;
const LABEL_KEY: u8 = 0x1a;

/// What was read, by its bytes in the file.
#[cfg(feature = "merge")]
type Seen<'a> = hashbrown::HashMap<&'a [u8], u32>;
#[cfg(not(feature = "merge"))]
type Seen<'a> = std::collections::HashMap<&'a [u8], u32>;

/// See the module.
pub(super) struct Reader<'a> {
    strings: &'a Strings,
    locations: &'a Locations,
    budget: &'a mut Budget,
    samples: Samples,
    /// Frames of each stack, inlined ones included.
    frames: Vec<u32>,
    /// Bytes of the texts of each set of labels.
    texts: Vec<usize>,
    stacks: Seen<'a>,
    label_sets: Seen<'a>,
    values: Vec<i64>,
    /// Of writers that do otherwise.
    message: pprof::Sample,
}

/// A sample as nearly all writers have it: each field once, in order, packed, and the labels last.
struct Parts<'a> {
    stack: &'a [u8],
    values: &'a [u8],
    /// With their keys and lengths.
    labels: &'a [u8],
}

impl<'a> Parts<'a> {
    /// `None` of any other form.
    fn of(payload: &'a [u8]) -> Option<Self> {
        let mut rest = payload;
        let mut take = |key: u8| -> Option<&'a [u8]> {
            if rest.first() != Some(&key) {
                return Some(&[]);
            }
            let (field, after) = delimited(rest)?;
            rest = after;
            Some(field)
        };
        let (stack, values) = (take(STACK_KEY)?, take(VALUES_KEY)?);
        let labels = rest;
        while !rest.is_empty() {
            if rest[0] != LABEL_KEY {
                return None;
            }
            rest = delimited(rest)?.1;
        }
        Some(Parts {
            stack,
            values,
            labels,
        })
    }
}

/// The bytes of a length-delimited field whose key is one byte, and what follows.
fn delimited(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut fields = Fields::new(bytes.get(1..)?);
    let len = usize::try_from(fields.varint().ok()?).ok()?;
    fields.rest().split_at_checked(len)
}

impl<'a> Reader<'a> {
    pub fn new(
        width: usize,
        strings: &'a Strings,
        locations: &'a Locations,
        budget: &'a mut Budget,
    ) -> Self {
        Reader {
            strings,
            locations,
            budget,
            samples: Samples::none(width),
            frames: Vec::new(),
            texts: Vec::new(),
            stacks: Seen::default(),
            label_sets: Seen::default(),
            values: Vec::new(),
            message: pprof::Sample::default(),
        }
    }

    pub fn into_samples(self) -> Samples {
        self.samples
    }

    /// Adds a sample.
    pub fn add(&mut self, payload: &'a [u8]) -> Result<(), Flaw> {
        match Parts::of(payload) {
            Some(parts) => self.add_parts(&parts),
            None => self.add_message(payload),
        }
    }

    fn add_parts(&mut self, parts: &Parts<'a>) -> Result<(), Flaw> {
        self.values.clear();
        let mut values = Fields::new(parts.values);
        while !values.is_at_end() {
            // Two's complement, as protobuf's int64 is.
            self.values.push(values.varint()? as i64);
        }
        self.check_values()?;
        let row = Row {
            stack: self.stack(parts.stack)?,
            labels: self.labels(parts.labels)?,
        };
        self.append(row)
    }

    fn append(&mut self, row: Row) -> Result<(), Flaw> {
        let frames = self.frames.get(row.stack as usize).copied();
        self.budget
            .spend(Of::SampleFrames, frames.unwrap_or(0) as usize)?;
        let text = self.texts.get(row.labels as usize).copied();
        self.budget.spend(Of::SampleText, text.unwrap_or(0))?;
        self.samples.append(row, &self.values)?;
        Ok(())
    }

    /// Ends the stack whose locations, so many, were added.
    fn close_stack(&mut self, locations: usize) -> Result<u32, Flaw> {
        let new = self.samples.stacks.close()?;
        let frames = if self.locations.is_flat() {
            locations
        } else {
            let of = self.samples.stacks.get(new).iter();
            of.map(|at| self.locations.frames(*at).len()).sum()
        };
        check_frames(frames)?;
        self.budget.spend(Of::StackFrames, frames)?;
        self.frames.push(frames as u32);
        Ok(new)
    }

    fn check_values(&self) -> Result<(), Flaw> {
        let (found, wanted) = (self.values.len(), self.samples.width());
        if found == wanted {
            Ok(())
        } else {
            Err(Flaw::ValueCount { found, wanted })
        }
    }

    /// Ends the set whose labels were added.
    fn close_labels(&mut self) -> Result<u32, Flaw> {
        let new = self.samples.label_sets.close()?;
        let labels = self.samples.label_sets.get(new).iter();
        let text = |label: &Label| match label.value {
            LabelValue::Text(text) => self.strings.get(text).len(),
            LabelValue::Number { .. } => 0,
        };
        // One text a million times, and that set a million times, is more than 64 bits hold.
        let bytes = labels.map(text).fold(0, usize::saturating_add);
        self.texts.push(bytes);
        Ok(new)
    }

    fn stack(&mut self, bytes: &'a [u8]) -> Result<u32, Flaw> {
        if let Some(&known) = self.stacks.get(bytes) {
            return Ok(known);
        }
        let mut ids = Fields::new(bytes);
        let mut locations = 0;
        while !ids.is_at_end() {
            let location = self.locations.resolve(ids.varint()?)?;
            self.samples.stacks.item(location);
            locations += 1;
        }
        let new = self.close_stack(locations)?;
        self.stacks.insert(bytes, new);
        Ok(new)
    }

    fn labels(&mut self, bytes: &'a [u8]) -> Result<u32, Flaw> {
        if let Some(&known) = self.label_sets.get(bytes) {
            return Ok(known);
        }
        let mut rest = bytes;
        let mut message = pprof::Label::default();
        while let Some((label, after)) = delimited(rest) {
            decode_into(&mut message, label)?;
            let label = self.label(&message)?;
            self.samples.label_sets.item(label);
            rest = after;
        }
        let new = self.close_labels()?;
        self.label_sets.insert(bytes, new);
        Ok(new)
    }

    fn label(&self, message: &pprof::Label) -> Result<Label, Flaw> {
        let value = match message.str {
            0 => LabelValue::Number {
                value: message.num,
                unit: self.strings.resolve(message.num_unit)?,
            },
            text => LabelValue::Text(self.strings.resolve(text)?),
        };
        Ok(Label {
            key: self.strings.resolve(message.key)?,
            value,
        })
    }

    /// Whatever else protobuf permits: numbers one by one, fields in another order or in pieces.
    fn add_message(&mut self, payload: &[u8]) -> Result<(), Flaw> {
        let mut message = std::mem::take(&mut self.message);
        decode_into(&mut message, payload)?;
        std::mem::swap(&mut self.values, &mut message.value);
        self.check_values()?;
        for id in &message.location_id {
            let location = self.locations.resolve(*id)?;
            self.samples.stacks.item(location);
        }
        for label in &message.label {
            let label = self.label(label)?;
            self.samples.label_sets.item(label);
        }
        let row = Row {
            stack: self.close_stack(message.location_id.len())?,
            labels: self.close_labels()?,
        };
        self.append(row)?;
        self.message = message;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use crate::builder::{ProfileBuilder, ValueType};
    use crate::model::{LabelValue, Profile};
    use crate::pprof;

    /// Two samples of one stack under one set of labels, and one of another.
    fn message() -> pprof::Profile {
        let cpu = ValueType {
            kind: "cpu",
            unit: "nanoseconds",
        };
        let mut builder = ProfileBuilder::new(&[cpu], cpu, 1);
        let function = builder.function("f", "", "", 0);
        let stack: Vec<_> = (0..300)
            .map(|line| builder.location(function, line))
            .collect();
        builder
            .sample(&stack, &[-1], &[("a", "x"), ("b", "y")])
            .unwrap();
        builder
            .sample(&stack[..2], &[1 << 40], &[("a", "x")])
            .unwrap();
        let mut message = builder.finish();
        message.sample.insert(1, message.sample[0].clone());
        message
    }

    /// Stack, values and labels of a sample.
    type Told = (Vec<usize>, Vec<i64>, Vec<(String, String)>);

    fn content(bytes: &[u8]) -> Vec<Told> {
        let profile = Profile::from_bytes(bytes).expect("a profile");
        let text = |index| profile.strings.get(index).to_owned();
        let samples = profile.samples.iter().map(|sample| {
            let labels = sample.labels.iter().map(|label| match label.value {
                LabelValue::Text(value) => (text(label.key), text(value)),
                LabelValue::Number { value, unit } => {
                    (text(label.key), format!("{value} {}", text(unit)))
                }
            });
            (
                sample.stack.iter().map(|at| at.as_usize()).collect(),
                sample.values.to_vec(),
                labels.collect(),
            )
        });
        samples.collect()
    }

    /// The profile with each sample encoded by `encode`.
    fn encoded(message: &pprof::Profile, encode: impl Fn(&pprof::Sample) -> Vec<u8>) -> Vec<u8> {
        let mut rest = message.clone();
        let samples = std::mem::take(&mut rest.sample);
        let mut bytes = rest.encode_to_vec();
        for sample in &samples {
            let sample = encode(sample);
            prost::encoding::encode_key(2, prost::encoding::WireType::LengthDelimited, &mut bytes);
            prost::encoding::encode_varint(sample.len() as u64, &mut bytes);
            bytes.extend(sample);
        }
        bytes
    }

    #[test]
    fn a_stack_and_a_set_of_labels_that_several_samples_have_are_held_once() {
        let profile = Profile::from_bytes(&message().encode_to_vec()).expect("a profile");
        assert_eq!(profile.samples.len(), 3);
        assert_eq!(profile.samples.stacks.len(), 2);
        assert_eq!(profile.samples.label_sets.len(), 2);
    }

    #[test]
    fn however_protobuf_may_write_a_sample_it_is_the_same() {
        let message = message();
        let expected = content(&message.encode_to_vec());
        assert_eq!(expected[0].0.len(), 300);
        assert_eq!(expected[0].1, [-1]);
        assert_eq!(expected[1], expected[0]);
        let part = |sample: &pprof::Sample, part: usize| {
            let mut only = pprof::Sample::default();
            match part {
                0 => only.location_id.clone_from(&sample.location_id),
                1 => only.value.clone_from(&sample.value),
                _ => only.label.clone_from(&sample.label),
            }
            only.encode_to_vec()
        };
        let in_another_order = encoded(&message, |sample| {
            [2, 1, 0].map(|i| part(sample, i)).concat()
        });
        assert_eq!(content(&in_another_order), expected);
        let one_by_one = encoded(&message, |sample| {
            let mut bytes = Vec::new();
            for id in &sample.location_id {
                prost::encoding::uint64::encode(1, id, &mut bytes);
            }
            for value in &sample.value {
                prost::encoding::int64::encode(2, value, &mut bytes);
            }
            bytes.extend(part(sample, 2));
            bytes
        });
        assert_eq!(content(&one_by_one), expected);
        let in_pieces = encoded(&message, |sample| {
            let (head, tail) = sample.location_id.split_at(1);
            let of = |ids: &[u64]| pprof::Sample {
                location_id: ids.to_vec(),
                ..pprof::Sample::default()
            };
            [
                of(head).encode_to_vec(),
                of(tail).encode_to_vec(),
                part(sample, 1),
                part(sample, 2),
            ]
            .concat()
        });
        assert_eq!(content(&in_pieces), expected);
        let with_a_field_of_tomorrow = encoded(&message, |sample| {
            let mut bytes = sample.encode_to_vec();
            prost::encoding::int64::encode(9, &7, &mut bytes);
            bytes
        });
        assert_eq!(content(&with_a_field_of_tomorrow), expected);
    }

    #[test]
    fn a_sample_that_is_cut_or_points_nowhere_is_refused_in_each_form() {
        let good = message();
        let refused = |encode: &dyn Fn(&pprof::Sample) -> Vec<u8>| {
            let bytes = encoded(&good, encode);
            Profile::from_bytes(&bytes).expect_err("broken").to_string()
        };
        let error = refused(&|sample| {
            let bytes = sample.encode_to_vec();
            bytes[..bytes.len() - 1].to_vec()
        });
        assert!(error.starts_with("sample at byte "), "{error}");
        for packed in [true, false] {
            let error = refused(&|sample| {
                let mut bytes = Vec::new();
                match packed {
                    true => prost::encoding::uint64::encode_packed(1, &[1, 301], &mut bytes),
                    false => prost::encoding::uint64::encode_repeated(1, &[1, 301], &mut bytes),
                }
                bytes.extend(
                    pprof::Sample {
                        location_id: Vec::new(),
                        ..sample.clone()
                    }
                    .encode_to_vec(),
                );
                bytes
            });
            assert!(
                error.ends_with(": location 301 is not in the file"),
                "{error}"
            );
        }
        let mut without_values = good.clone();
        without_values.sample[0].value.clear();
        let error = Profile::from_bytes(&without_values.encode_to_vec()).expect_err("no value");
        assert!(
            error.to_string().ends_with(": 0 values for 1 sample types"),
            "{error}"
        );
    }
}
