//! The sample table: of each sample its values, and which stack and which labels it has.
//!
//! Samples of one request share their labels and samples of one place their stack. Each of these is held once, however
//! many samples have it, so a sample is two numbers and its values.

use super::error::{Flaw, ModelError};
use super::fields::{Framed, each};
use super::locations::{LocationIndex, Locations};
use super::read_samples::Reader;
use super::runs::Runs;
use super::strings::{KeyIndices, StringIndex, Strings};
use crate::bounds::Budget;

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
    pub fn text(&self, keys: &KeyIndices) -> Option<StringIndex> {
        self.labels.iter().find_map(|label| match label.value {
            LabelValue::Text(text) if keys.contains(&label.key) => Some(text),
            _ => None,
        })
    }
}

/// Where a sample's stack and labels are: two of a file may be equal under two indices, two of a sum may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    pub stack: u32,
    pub labels: u32,
}

/// The samples of a profile.
#[derive(Debug)]
pub struct Samples {
    /// Values of each sample.
    width: usize,
    pub(crate) stacks: Runs<LocationIndex>,
    pub(crate) label_sets: Runs<Label>,
    rows: Vec<Row>,
    values: Vec<i64>,
}

impl Samples {
    /// No sample, of so many values.
    pub(crate) fn none(width: usize) -> Self {
        Samples {
            width,
            stacks: Runs::none(),
            label_sets: Runs::none(),
            rows: Vec::new(),
            values: Vec::new(),
        }
    }

    pub(super) fn read(
        framed: &Framed<'_>,
        width: usize,
        (strings, locations): (&Strings, &Locations),
        budget: &mut Budget,
    ) -> Result<Self, ModelError> {
        let mut reader = Reader::new(width, strings, locations, budget);
        each(framed, SAMPLE, "sample", |_, payload| reader.add(payload))?;
        Ok(reader.into_samples())
    }

    /// Adds a sample whose row is of these tables, with values as many as there are sample types; its index.
    pub(crate) fn append(&mut self, row: Row, values: &[i64]) -> Result<u32, Flaw> {
        let next = super::fields::index(self.rows.len())?;
        self.rows.push(row);
        self.values.extend_from_slice(values);
        Ok(next)
    }

    /// Adds to the values of a sample: all of them, or none where a sum is too large.
    #[cfg(feature = "merge")]
    pub(crate) fn add_values(&mut self, sample: usize, values: &[i64]) -> Result<(), Flaw> {
        let sums = &mut self.values[sample * self.width..][..self.width];
        let mut added = sums.iter().zip(values);
        if added.any(|(sum, value)| sum.checked_add(*value).is_none()) {
            return Err(Flaw::Sum);
        }
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += *value;
        }
        Ok(())
    }

    /// Keeps these values of each sample, below [`width`](Self::width), in this order.
    pub(crate) fn keep_columns(&mut self, columns: &[usize]) {
        let rows = self.values.chunks_exact(self.width.max(1));
        let kept = rows.flat_map(|values| columns.iter().map(|column| values[*column]));
        self.values = kept.collect();
        self.width = columns.len();
    }

    /// Values of each sample.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Where the parts of the sample of that number are.
    #[cfg(feature = "merge")]
    pub(crate) fn row(&self, sample: usize) -> Row {
        self.rows[sample]
    }

    /// All samples as rows with their values, in file order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (Row, &[i64])> {
        // `width` is never 0: a profile without sample types is refused before.
        let values = self.values.chunks_exact(self.width.max(1));
        self.rows.iter().copied().zip(values)
    }

    fn sample<'a>(&'a self, row: Row, values: &'a [i64]) -> Sample<'a> {
        Sample {
            stack: self.stacks.get(row.stack),
            values,
            labels: self.label_sets.get(row.labels),
        }
    }

    /// The sample of that number, below [`len`](Self::len).
    pub fn get(&self, sample: usize) -> Sample<'_> {
        let values = &self.values[sample * self.width..][..self.width];
        self.sample(self.rows[sample], values)
    }

    /// All samples, in file order.
    pub fn iter(&self) -> impl Iterator<Item = Sample<'_>> {
        self.rows().map(|(row, values)| self.sample(row, values))
    }

    /// Number of samples (records of the file, not events counted).
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
