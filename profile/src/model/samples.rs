//! The sample table: stacks, values and labels of all samples in three flat lists.

use super::error::{Flaw, ModelError};
use super::fields::{decode_into, each, index};
use super::locations::{LocationIndex, Locations};
use super::strings::{StringIndex, Strings};
use crate::pprof;

const SAMPLE: u64 = 2;

/// A label of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// Its key.
    pub key: StringIndex,
    /// Its value.
    pub value: LabelValue,
}

/// The value of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelValue {
    /// A text.
    Text(StringIndex),
    /// A number and its unit.
    Number {
        /// The number.
        value: i64,
        /// Its unit; may be empty.
        unit: StringIndex,
    },
}

/// One sample.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// Locations, leaf first; empty in some files of others.
    pub stack: &'a [LocationIndex],
    /// One value for each sample type.
    pub values: &'a [i64],
    /// Labels.
    pub labels: &'a [Label],
}

impl Sample<'_> {
    /// The text of the first label with one of these keys (see [`Strings::find`]).
    pub fn text(&self, keys: &[StringIndex]) -> Option<StringIndex> {
        self.labels.iter().find_map(|label| match label.value {
            LabelValue::Text(text) if keys.contains(&label.key) => Some(text),
            _ => None,
        })
    }
}

/// The samples of a profile.
#[derive(Debug)]
pub struct Samples {
    /// Values of each sample.
    width: usize,
    locations: Vec<LocationIndex>,
    values: Vec<i64>,
    labels: Vec<Label>,
    /// Ends of each sample's locations and labels.
    ends: Vec<(u32, u32)>,
}

impl Samples {
    /// No sample, of so many values.
    pub(crate) fn none(width: usize) -> Self {
        Samples {
            width,
            locations: Vec::new(),
            values: Vec::new(),
            labels: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a sample whose indices are known to be good; its index.
    #[cfg(feature = "merge")]
    pub(crate) fn append(
        &mut self,
        stack: &[LocationIndex],
        values: &[i64],
        labels: &[Label],
    ) -> Result<u32, Flaw> {
        let next = index(self.ends.len())?;
        let ends = (
            index(self.locations.len() + stack.len())?,
            index(self.labels.len() + labels.len())?,
        );
        self.locations.extend_from_slice(stack);
        self.values.extend_from_slice(values);
        self.labels.extend_from_slice(labels);
        self.ends.push(ends);
        Ok(next)
    }

    /// Adds to the values of a sample; sums saturate.
    #[cfg(feature = "merge")]
    pub(crate) fn add_values(&mut self, sample: usize, values: &[i64]) {
        let sums = &mut self.values[sample * self.width..][..self.width];
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum = sum.saturating_add(*value);
        }
    }

    /// The sample of that number, below [`len`](Self::len).
    pub fn get(&self, sample: usize) -> Sample<'_> {
        let start = sample
            .checked_sub(1)
            .map_or((0, 0), |before| self.ends[before]);
        let end = self.ends[sample];
        Sample {
            stack: &self.locations[start.0 as usize..end.0 as usize],
            values: &self.values[sample * self.width..][..self.width],
            labels: &self.labels[start.1 as usize..end.1 as usize],
        }
    }

    pub(super) fn read(
        bytes: &[u8],
        width: usize,
        strings: &Strings,
        locations: &Locations,
    ) -> Result<Self, ModelError> {
        let mut table = Samples::none(width);
        let mut sample = pprof::Sample::default();
        each(bytes, SAMPLE, "sample", |_, payload| {
            decode_into(&mut sample, payload)?;
            table.push(&sample, strings, locations)
        })?;
        Ok(table)
    }

    fn push(
        &mut self,
        sample: &pprof::Sample,
        strings: &Strings,
        locations: &Locations,
    ) -> Result<(), Flaw> {
        if sample.value.len() != self.width {
            return Err(Flaw::ValueCount {
                found: sample.value.len(),
                wanted: self.width,
            });
        }
        for &id in &sample.location_id {
            self.locations.push(locations.resolve(id)?);
        }
        for label in &sample.label {
            let value = match label.str {
                0 => LabelValue::Number {
                    value: label.num,
                    unit: strings.resolve(label.num_unit)?,
                },
                text => LabelValue::Text(strings.resolve(text)?),
            };
            self.labels.push(Label {
                key: strings.resolve(label.key)?,
                value,
            });
        }
        self.values.extend_from_slice(&sample.value);
        self.ends
            .push((index(self.locations.len())?, index(self.labels.len())?));
        Ok(())
    }

    /// All samples, in file order.
    pub fn iter(&self) -> impl Iterator<Item = Sample<'_>> {
        let starts = std::iter::once((0, 0)).chain(self.ends.iter().copied());
        // `width` is never 0: a profile without sample types is refused before.
        starts
            .zip(&self.ends)
            .zip(self.values.chunks_exact(self.width))
            .map(|((start, end), values)| Sample {
                stack: &self.locations[start.0 as usize..end.0 as usize],
                values,
                labels: &self.labels[start.1 as usize..end.1 as usize],
            })
    }

    /// Number of samples (records of the file, not events counted).
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}
