//! The tables of a profile in the making, each entry once: found by its hash among those that are there.

use std::hash::{BuildHasher, Hash};

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::model::runs::Runs;
use crate::model::samples::Row;
use crate::model::{
    Flaw, Frame, Function, FunctionIndex, Functions, Label, LocationIndex, Locations, Profile,
    Samples, StringIndex, Strings, ValueType,
};

/// Indices of a table by the hashes of its entries.
#[derive(Debug, Default)]
struct Known {
    indices: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Known {
    /// The index of an entry like `wanted`, which `push` adds where there is none. `get` has the entries.
    fn find_or_push<T, E>(
        &mut self,
        table: &mut T,
        wanted: &E,
        get: impl for<'t> Fn(&'t T, u32) -> &'t E,
        push: impl FnOnce(&mut T) -> Result<u32, Flaw>,
    ) -> Result<u32, Flaw>
    where
        E: Hash + PartialEq + ?Sized,
    {
        let entry = self.indices.entry(
            self.hasher.hash_one(wanted),
            |index| get(table, *index) == wanted,
            |index| self.hasher.hash_one(get(table, *index)),
        );
        match entry {
            Entry::Occupied(found) => Ok(*found.get()),
            Entry::Vacant(place) => {
                let index = push(table)?;
                place.insert(index);
                Ok(index)
            }
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Tables {
    strings: Strings,
    functions: Functions,
    locations: Locations,
    samples: Samples,
    known_strings: Known,
    known_functions: Known,
    known_locations: Known,
    known_stacks: Known,
    known_label_sets: Known,
    known_samples: KnownRows,
}

/// As [`Known`], of rows, which are hashed as they are.
#[derive(Debug, Default)]
struct KnownRows {
    indices: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Tables {
    /// No entry but the empty text, which is the first of each profile; samples have `width` values.
    pub fn new(width: usize) -> Self {
        let mut tables = Tables {
            strings: Strings::none(),
            functions: Functions::none(),
            locations: Locations::none(),
            samples: Samples::none(width),
            known_strings: Known::default(),
            known_functions: Known::default(),
            known_locations: Known::default(),
            known_stacks: Known::default(),
            known_label_sets: Known::default(),
            known_samples: KnownRows::default(),
        };
        let empty = tables.string("");
        debug_assert!(empty.is_ok_and(|index| index == StringIndex::from(0)));
        tables
    }

    pub fn string(&mut self, text: &str) -> Result<StringIndex, Flaw> {
        let index = self.known_strings.find_or_push(
            &mut self.strings,
            text,
            |table, index| table.get(index.into()),
            |table| table.push(text).map(u32::from),
        )?;
        Ok(index.into())
    }

    pub fn function(&mut self, function: Function) -> Result<FunctionIndex, Flaw> {
        let index = self.known_functions.find_or_push(
            &mut self.functions,
            &function,
            |table, index| table.get(index.into()),
            |table| table.push(function).map(u32::from),
        )?;
        Ok(index.into())
    }

    pub fn location(&mut self, frames: &[Frame]) -> Result<LocationIndex, Flaw> {
        let index = self.known_locations.find_or_push(
            &mut self.locations,
            frames,
            |table, index| table.frames(index.into()),
            |table| table.push(frames).map(u32::from),
        )?;
        Ok(index.into())
    }

    /// The stack's index among those of [`Samples`].
    pub fn stack(&mut self, stack: &[LocationIndex]) -> Result<u32, Flaw> {
        self.known_stacks.find_or_push(
            &mut self.samples.stacks,
            stack,
            |table: &Runs<_>, index| table.get(index),
            |table| table.push(stack),
        )
    }

    /// The index of these labels, in whatever order, which is lost.
    pub fn labels(&mut self, labels: &mut [Label]) -> Result<u32, Flaw> {
        labels.sort_unstable();
        let labels = &*labels;
        self.known_label_sets.find_or_push(
            &mut self.samples.label_sets,
            labels,
            |table: &Runs<_>, index| table.get(index),
            |table| table.push(labels),
        )
    }

    /// Adds the values to the sample of that stack and these labels, which are of these tables.
    pub fn add(&mut self, stack: u32, labels: u32, values: &[i64]) -> Result<(), Flaw> {
        let row = Row { stack, labels };
        let KnownRows { indices, hasher } = &mut self.known_samples;
        let samples = &mut self.samples;
        let entry = indices.entry(
            hasher.hash_one(row),
            |index| samples.row(*index as usize) == row,
            |index| hasher.hash_one(samples.row(*index as usize)),
        );
        match entry {
            Entry::Occupied(known) => samples.add_values(*known.get() as usize, values)?,
            Entry::Vacant(place) => {
                let index = samples.append(row, values)?;
                place.insert(index);
            }
        }
        Ok(())
    }

    /// The profile of these; of its head only the sample types are set, of which there must be as many as values.
    pub fn into_profile(self, sample_types: Vec<ValueType>) -> Profile {
        debug_assert_eq!(sample_types.len(), self.samples.width());
        Profile {
            strings: self.strings,
            functions: self.functions,
            locations: self.locations,
            samples: self.samples,
            sample_types,
            default_sample_type: None,
            period_type: None,
            period: 0,
            time_nanos: 0,
            duration_nanos: 0,
            comments: Vec::new(),
        }
    }
}
