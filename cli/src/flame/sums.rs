//! Values of a document by node and group, for each kind of profile and each side.

use std::collections::HashMap;

use anyhow::Result;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{Flaw, Profile, ValueType};
use vtprof_profile::window::Window;

use super::columns::{ProfileColumns, RowColumns, TypeColumn};
use super::groups::GroupId;
use super::stacks::NodeId;
use crate::figures::widened;
use crate::measure::{Chooser, Reader};
use crate::text::{printable, shortened};

/// Profiles of one kind, or of one set of sample types.
pub struct Measured {
    pub kind: Option<Kind>,
    pub types: Vec<ValueType>,
    default: usize,
    /// For each type, whether it is known how many samples a value stands on.
    pub counted: Vec<bool>,
    pub sides: [Rows; 2],
}

/// Sums by node and group.
#[derive(Default)]
pub struct Rows {
    known: HashMap<(NodeId, GroupId), usize>,
    keys: Vec<(NodeId, GroupId)>,
    /// For each row a value of each type, then the number of samples.
    values: Vec<i64>,
    window: Option<(i64, i64)>,
    pub files: u64,
}

/// How to read the number of samples, and for which types that is what a value stands on.
pub fn sample_counts(profile: &Profile) -> Result<(Option<Reader>, Vec<bool>)> {
    let mut counts = None;
    let mut counted = Vec::new();
    for value_type in &profile.sample_types {
        let mut chooser = Chooser::new(Some(&value_type.kind));
        let reader = chooser.reader(profile)?;
        counted.push(chooser.counted());
        if chooser.counted() && counts.is_none() {
            counts = Some(reader);
        }
    }
    Ok((counts, counted))
}

impl Measured {
    /// Of no sample yet, of profiles such as this, of which that kind is shown.
    pub fn of(kind: Option<Kind>, profile: &Profile, counted: Vec<bool>) -> Self {
        let amount = kind.and_then(|kind| profile.sample_type(kind.amount().kind));
        let last = profile.sample_types.len() - 1;
        Measured {
            kind,
            types: profile.sample_types.clone(),
            default: amount.or(profile.default_sample_type).unwrap_or(last),
            counted,
            sides: Default::default(),
        }
    }

    /// As they are written; `number` are the numbers that nodes are written with.
    pub fn columns(&self, number: &[NodeId]) -> ProfileColumns {
        let width = self.types.len();
        let types = self.types.iter().zip(&self.counted);
        let sides = self.sides.iter().map(|rows| rows.columns(number, width));
        ProfileColumns {
            name: self.kind.map(Kind::name),
            default: self.default,
            types: types
                .map(|(of, counted)| TypeColumn {
                    name: printable(&shortened(&of.kind)),
                    unit: printable(&shortened(&of.unit)),
                    counted: *counted,
                    // Beside another type that stands on them, they are no value of their own.
                    is_count: width > 1 && of.kind == "samples" && of.unit == "count",
                })
                .collect(),
            sides: sides.collect(),
        }
    }
}

impl Rows {
    /// Adds to a row; `width` is the number of types and one.
    ///
    /// # Errors
    /// A sum is beyond what 64 bits hold.
    pub fn add(
        &mut self,
        key: (NodeId, GroupId),
        width: usize,
        values: &[i64],
        samples: i128,
    ) -> Result<()> {
        let next = self.keys.len();
        let row = *self.known.entry(key).or_insert(next);
        if row == next {
            self.keys.push(key);
            self.values.resize(self.values.len() + width, 0);
        }
        let sums = &mut self.values[row * width..][..width];
        let samples = i64::try_from(samples).map_err(|_| Flaw::Sum)?;
        for (sum, value) in sums.iter_mut().zip(values.iter().chain([&samples])) {
            *sum = sum.checked_add(*value).ok_or(Flaw::Sum)?;
        }
        Ok(())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Its time is that of all of them, from the first start to the last end.
    pub fn note_window(&mut self, profile: &Profile) {
        let Some(Window { start, end, .. }) = Window::of(profile) else {
            return;
        };
        self.window = Some(widened(self.window, (start, end)));
    }

    fn columns(&self, number: &[NodeId], types: usize) -> RowColumns {
        let mut order: Vec<(NodeId, GroupId, usize)> = self
            .keys
            .iter()
            .enumerate()
            .map(|(row, (node, group))| (number[*node as usize], *group, row))
            .collect();
        order.sort_unstable();
        let mut columns = RowColumns {
            node: Vec::with_capacity(order.len()),
            group: Vec::with_capacity(order.len()),
            values: vec![Vec::with_capacity(order.len()); types + 1],
            window_millis: self
                .window
                .map(|(start, end)| (start / 1_000_000, end / 1_000_000)),
            files: self.files,
        };
        let mut before = 0;
        for (node, group, row) in order {
            columns.node.push(node - before);
            before = node;
            columns.group.push(group.0);
            let values = &self.values[row * (types + 1)..];
            for (column, value) in columns.values.iter_mut().zip(values) {
                column.push(*value);
            }
        }
        columns
    }
}
