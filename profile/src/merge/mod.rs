//! Adds profiles up: one table of each sort for all of them, so that memory is that of the result and not of the input.
//!
//! Texts, functions and places of a file are looked up once a file. A sample is then a run of numbers, found by its hash
//! among those that are there.

mod comments;
mod error;
mod table;

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

pub use error::MergeError;

use crate::model::{
    Frame, Function, FunctionIndex, Functions, Label, LabelValue, LocationIndex, Locations,
    Profile, Sample, Samples, StringIndex, Strings, ValueType,
};
use comments::Comments;
use table::{find_or_push, unfilled};

/// What all profiles of a sum have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    period: i64,
    time_nanos: i64,
    duration_nanos: i64,
}

/// Adds profiles up; see the module.
#[derive(Debug)]
pub struct Merger {
    hasher: DefaultHashBuilder,
    strings: Strings,
    known_strings: HashTable<u32>,
    functions: Functions,
    known_functions: HashTable<u32>,
    locations: Locations,
    known_locations: HashTable<u32>,
    samples: Samples,
    known_samples: HashTable<u32>,
    sample_types: Vec<ValueType>,
    default_sample_type: Option<usize>,
    period_type: Option<ValueType>,
    times: Times,
    comments: Comments,
    profiles: u64,
    /// The stack and labels of the sample at hand.
    stack: Vec<LocationIndex>,
    labels: Vec<Label>,
}

/// What entries of a file are called in the sum; those not met yet are `u32::MAX`.
struct Names {
    strings: Vec<u32>,
    functions: Vec<u32>,
    locations: Vec<u32>,
}

impl Default for Merger {
    fn default() -> Self {
        Self::new()
    }
}

impl Merger {
    /// The sum of nothing.
    #[must_use]
    pub fn new() -> Self {
        let hasher = DefaultHashBuilder::default();
        let mut strings = Strings::none();
        let mut known_strings = HashTable::new();
        // The first string of a profile is empty.
        let empty = strings.push("");
        known_strings.insert_unique(hasher.hash_one(""), 0, |_| 0);
        debug_assert!(empty.is_ok_and(|index| index == StringIndex::from(0)));
        Merger {
            hasher,
            strings,
            known_strings,
            functions: Functions::none(),
            known_functions: HashTable::new(),
            locations: Locations::none(),
            known_locations: HashTable::new(),
            samples: Samples::none(0),
            known_samples: HashTable::new(),
            sample_types: Vec::new(),
            default_sample_type: None,
            period_type: None,
            times: Times {
                period: 0,
                time_nanos: 0,
                duration_nanos: 0,
            },
            comments: Comments::default(),
            profiles: 0,
            stack: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Adds all samples of `profile`.
    ///
    /// # Errors
    /// Its values are not those of the ones before, or the sum is too large to be told by pprof. In the second case it
    /// may hold a part of `profile`.
    pub fn add(&mut self, profile: &Profile) -> Result<(), MergeError> {
        self.add_some(profile, |_, _| true)
    }

    /// Adds those samples of `profile` for which `keep` is true. It is given the labels of each, of which it may take some
    /// away or change them; whatever it leaves there must be of `profile`.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_some(
        &mut self,
        profile: &Profile,
        mut keep: impl FnMut(&Sample<'_>, &mut Vec<Label>) -> bool,
    ) -> Result<(), MergeError> {
        self.agree(profile)?;
        let mut names = Names {
            strings: unfilled(profile.strings.len()),
            functions: unfilled(profile.functions.len()),
            locations: unfilled(profile.locations.len()),
        };
        let mut labels = Vec::new();
        for sample in profile.samples.iter() {
            labels.clear();
            labels.extend_from_slice(sample.labels);
            if !keep(&sample, &mut labels) {
                continue;
            }
            self.stack.clear();
            for location in sample.stack {
                let location = self.location(profile, *location, &mut names)?;
                self.stack.push(location);
            }
            self.labels.clear();
            for label in &labels {
                let label = self.label(profile, *label, &mut names)?;
                self.labels.push(label);
            }
            // In whatever order a writer has them.
            self.labels.sort_unstable();
            self.sample(sample.values)?;
        }
        self.note_times(profile);
        self.comments.add(&profile.comments);
        self.profiles += 1;
        Ok(())
    }

    /// Profiles added so far.
    #[must_use]
    pub fn profiles(&self) -> u64 {
        self.profiles
    }

    /// The sum; `None` of nothing.
    #[must_use]
    pub fn finish(self) -> Option<Profile> {
        (self.profiles > 0).then(|| Profile {
            strings: self.strings,
            functions: self.functions,
            locations: self.locations,
            samples: self.samples,
            sample_types: self.sample_types,
            default_sample_type: self.default_sample_type,
            period_type: self.period_type,
            period: self.times.period,
            time_nanos: self.times.time_nanos,
            duration_nanos: self.times.duration_nanos,
            comments: self.comments.lines(),
        })
    }

    fn agree(&mut self, profile: &Profile) -> Result<(), MergeError> {
        if self.profiles == 0 && self.samples.is_empty() {
            self.sample_types.clone_from(&profile.sample_types);
            self.samples = Samples::none(self.sample_types.len());
            self.default_sample_type = profile.default_sample_type;
            self.period_type.clone_from(&profile.period_type);
            return Ok(());
        }
        if self.sample_types == profile.sample_types {
            Ok(())
        } else {
            Err(MergeError::types(&profile.sample_types, &self.sample_types))
        }
    }

    /// As `go tool pprof` has them: the first start, all lengths, the longest period.
    fn note_times(&mut self, profile: &Profile) {
        let times = &mut self.times;
        if profile.time_nanos > 0
            && (times.time_nanos == 0 || profile.time_nanos < times.time_nanos)
        {
            times.time_nanos = profile.time_nanos;
        }
        times.duration_nanos = times
            .duration_nanos
            .saturating_add(profile.duration_nanos.max(0));
        times.period = times.period.max(profile.period);
    }

    fn string(
        &mut self,
        profile: &Profile,
        of: StringIndex,
        names: &mut Names,
    ) -> Result<StringIndex, MergeError> {
        let name = &mut names.strings[of.as_usize()];
        if *name == u32::MAX {
            let text = profile.strings.get(of);
            let strings = &mut self.strings;
            let hash = self.hasher.hash_one(text);
            let get = |strings: &Strings, index| strings.get(StringIndex::from(index)) == text;
            let rehash = |strings: &Strings, index| {
                self.hasher.hash_one(strings.get(StringIndex::from(index)))
            };
            *name = find_or_push(
                &mut self.known_strings,
                strings,
                hash,
                get,
                rehash,
                |table| Ok(table.push(text)?.into()),
            )?;
        }
        Ok(StringIndex::from(*name))
    }

    fn function(
        &mut self,
        profile: &Profile,
        of: FunctionIndex,
        names: &mut Names,
    ) -> Result<FunctionIndex, MergeError> {
        if names.functions[of.as_usize()] == u32::MAX {
            let function = profile.functions.get(of);
            let function = Function {
                name: self.string(profile, function.name, names)?,
                system_name: self.string(profile, function.system_name, names)?,
                file: self.string(profile, function.file, names)?,
                start_line: function.start_line,
            };
            let hash = self.hasher.hash_one(function);
            names.functions[of.as_usize()] = find_or_push(
                &mut self.known_functions,
                &mut self.functions,
                hash,
                |table, index| *table.get(FunctionIndex::from(index)) == function,
                |table, index| self.hasher.hash_one(table.get(FunctionIndex::from(index))),
                |table| Ok(table.push(function)?.into()),
            )?;
        }
        Ok(FunctionIndex::from(names.functions[of.as_usize()]))
    }

    fn location(
        &mut self,
        profile: &Profile,
        of: LocationIndex,
        names: &mut Names,
    ) -> Result<LocationIndex, MergeError> {
        if names.locations[of.as_usize()] == u32::MAX {
            let mut frames = Vec::new();
            for frame in profile.locations.frames(of) {
                frames.push(Frame {
                    function: self.function(profile, frame.function, names)?,
                    line: frame.line,
                });
            }
            let hash = self.hasher.hash_one(frames.as_slice());
            names.locations[of.as_usize()] = find_or_push(
                &mut self.known_locations,
                &mut self.locations,
                hash,
                |table, index| table.frames(LocationIndex::from(index)) == frames.as_slice(),
                |table, index| {
                    self.hasher
                        .hash_one(table.frames(LocationIndex::from(index)))
                },
                |table| Ok(table.push(&frames)?.into()),
            )?;
        }
        Ok(LocationIndex::from(names.locations[of.as_usize()]))
    }

    fn label(
        &mut self,
        profile: &Profile,
        label: Label,
        names: &mut Names,
    ) -> Result<Label, MergeError> {
        Ok(Label {
            key: self.string(profile, label.key, names)?,
            value: match label.value {
                LabelValue::Text(text) => LabelValue::Text(self.string(profile, text, names)?),
                LabelValue::Number { value, unit } => LabelValue::Number {
                    value,
                    unit: self.string(profile, unit, names)?,
                },
            },
        })
    }

    /// Adds the values to the sample at hand.
    fn sample(&mut self, values: &[i64]) -> Result<(), MergeError> {
        let (stack, labels) = (self.stack.as_slice(), self.labels.as_slice());
        let before = self.samples.len();
        let index = find_or_push(
            &mut self.known_samples,
            &mut self.samples,
            self.hasher.hash_one((stack, labels)),
            |table, index| {
                let known = table.get(index as usize);
                known.stack == stack && known.labels == labels
            },
            |table, index| {
                let known = table.get(index as usize);
                self.hasher.hash_one((known.stack, known.labels))
            },
            |table| {
                table
                    .append(stack, values, labels)
                    .map_err(MergeError::from)
            },
        )?;
        if self.samples.len() == before {
            self.samples.add_values(index as usize, values);
        }
        Ok(())
    }
}
